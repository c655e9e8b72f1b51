/** What the command line asks a model hub for. */
import type { ListedFile } from "../config/model-list";

const TIMEOUT_MILLISECONDS = 60_000;

/** A revision as the hub describes it. */
export interface Revision {
  /** Commit. */
  readonly revision: string;
  readonly files: readonly ListedFile[];
}

interface Sibling {
  readonly rfilename: string;
  readonly size: number;
  readonly blobId: string;
  readonly lfs?: { readonly size: number; readonly sha256: string };
}

/** One repository of a hub. */
export class ModelHub {
  constructor(
    private readonly endpoint: string,
    private readonly repo: string,
    private readonly token: string | undefined,
  ) {}

  private get base(): string {
    return this.endpoint.replace(/\/+$/, "");
  }

  /**
   * The commit behind a branch or commit, and its files with the hashes that the hub has of them.
   *
   * @throws Error that says which address failed and how
   */
  async revision(name: string): Promise<Revision> {
    const address = `${this.base}/api/models/${this.repo}/revision/${encodeURIComponent(name)}?blobs=true`;
    const answer = (await this.json(address)) as { sha: string; siblings: readonly Sibling[] } | undefined;
    if (answer === undefined)
      throw new Error(`${address}: there is no such revision; check repository and revision`);
    // It becomes the name of a file.
    if (!/^[0-9a-f]{40}$/.test(answer.sha)) throw new Error(`${address}: the hub names no commit`);
    const files = answer.siblings.map(({ rfilename: path, lfs, size, blobId }): ListedFile =>
      lfs === undefined
        ? { path, bytes: size, gitBlob: blobId }
        : { path, bytes: lfs.size, sha256: lfs.sha256 },
    );
    return { revision: answer.sha, files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
  }

  /** A JSON file of a revision, or undefined where it has none. */
  async file(revision: string, path: string): Promise<unknown> {
    return this.json(this.address(revision, path));
  }

  address(revision: string, path: string): string {
    return `${this.base}/${this.repo}/resolve/${revision}/${path}`;
  }

  private async json(address: string): Promise<unknown> {
    const headers: Record<string, string> =
      this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
    let response: Response;
    try {
      response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS) });
    } catch (error) {
      const cause =
        error instanceof Error
          ? ((error.cause as Error | undefined)?.message ?? error.message)
          : String(error);
      throw new Error(`${address} cannot be reached: ${cause}`, { cause: error });
    }
    if (response.status === 404) return undefined;
    if (response.status === 401 || response.status === 403) {
      throw new Error(
        `${address}: the model is gated or does not exist (${response.status}); set HF_TOKEN to a token that may read it`,
      );
    }
    if (!response.ok)
      throw new Error(`${address}: the hub answers ${response.status} ${response.statusText}`);
    return response.json() as Promise<unknown>;
  }
}
