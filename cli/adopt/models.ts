/** From a folder in a container to an entry of `models`. */
import { MODELS } from "../../catalog";
import { UNKNOWN } from "../../config/schema";
import type { ModelFolder } from "./facts";

export interface Mount {
  readonly source: string;
  readonly target: string;
}

export interface ModelBlock {
  readonly value: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** Where the host has a path of the container, by its bind mounts; undefined when it lies on the container's own disk. */
export function pathOnHost(inside: string, mounts: readonly Mount[]): string | undefined {
  const reaching = mounts
    .filter(({ target }) => inside === target || inside.startsWith(`${target.replace(/\/$/, "")}/`))
    .sort((a, b) => b.target.length - a.target.length);
  const mount = reaching[0];
  return mount === undefined ? undefined : mount.source + inside.slice(mount.target.length);
}

/** Owner and name in a cache folder of the hub's tools, `models--OWNER--NAME`. */
function repoInPath(path: string): string | undefined {
  const match = /\/models--([^/]+?)--([^/]+)\//.exec(`${path}/`);
  return match === null ? undefined : `${match[1]}/${match[2]}`;
}

/** The catalog's repository whose name the folder has. */
function repoByName(path: string): string | undefined {
  const base = (path.split("/").at(-1) ?? "").toLowerCase();
  return MODELS.flatMap(({ name, repos }) => repos.map((repo) => ({ name, repo }))).find(
    ({ name, repo }) => base === name || base === repo.split("/")[1]?.toLowerCase(),
  )?.repo;
}

/** The entry of a model that a server loads from `path` (as the container sees it). */
export function modelBlock(
  path: string,
  folders: readonly ModelFolder[],
  mounts: readonly Mount[],
): ModelBlock {
  const clean = path.replace(/\/+$/, "");
  if (!clean.startsWith("/")) {
    return {
      value: {
        repo: /^[\w.-]+\/[\w.-]+$/.test(clean) ? clean : `${UNKNOWN}/${UNKNOWN}`,
        revision: UNKNOWN,
        path: `/srv/models/${clean.split("/").at(-1)?.toLowerCase() ?? "model"}`,
      },
      notes: [
        "was loaded from the hub by its name: the stack fetches a pinned commit of it into this folder",
      ],
    };
  }
  const notes: string[] = [];
  const host = pathOnHost(clean, mounts);
  const repo = repoInPath(clean) ?? repoByName(clean);
  const revision = folders.find((folder) => folder.path === clean)?.revision ?? "";
  const name = clean.split("/").at(-1) ?? "model";
  if (host === undefined)
    notes.push(
      `lies on the container's own disk (${clean}): move it to this folder on the host, or let \`up\` fetch it`,
    );
  if (repoInPath(clean) !== undefined)
    notes.push(
      "lies in a cache of the hub's tools, as links: another folder beside the cache is needed, or `up` fetches it",
    );
  if (repo === undefined)
    notes.push("the catalog knows no model of that name: write its repository, OWNER/NAME");
  if (!/^[0-9a-f]{40}$/.test(revision))
    notes.push(
      `its commit is not noted beside it: ./stack describe-model ${repo ?? "OWNER/NAME"} prints the newest`,
    );
  return {
    value: {
      repo: repo ?? `${UNKNOWN}/${name}`,
      revision: /^[0-9a-f]{40}$/.test(revision) ? revision : UNKNOWN,
      path:
        host !== undefined && repoInPath(clean) === undefined ? host : `/srv/models/${name.toLowerCase()}`,
    },
    notes: [...notes, "files that lie there already are verified and taken over"],
  };
}
