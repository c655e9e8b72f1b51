import { request } from "node:https";

/** An answer of the API: the message of an error stands in the status line. */
export interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly body: { data?: unknown; errors?: Record<string, string>; message?: string };
}

/** Headers that say who calls. */
export type Caller = Readonly<Record<string, string>>;

/** Parameters of a call; they are sent form-encoded, as the provider does. */
export type Parameters = Readonly<Record<string, string | number>>;

/** Result of a task and the lines of its log. */
export interface TaskResult {
  readonly status: string;
  readonly log: readonly string[];
}

export const nobody: Caller = {};

/** Calls of one host's Proxmox VE API, over HTTPS with a certificate that nobody signed. */
export class ApiClient {
  constructor(
    private readonly address: string,
    private readonly node: string,
  ) {}

  /** Calls `METHOD /path`; `NODE` in the path stands for `/nodes/<the host's node>`. */
  call(caller: Caller, line: string, parameters?: Parameters): Promise<Answer> {
    const [method = "GET", path = "/"] = line.replace("NODE", `/nodes/${this.node}`).split(" ");
    const form = new URLSearchParams(
      Object.entries(parameters ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const query = method === "GET" && form !== "" ? `?${form}` : "";
    const headers = {
      ...caller,
      ...(method === "GET" ? {} : { "Content-Type": "application/x-www-form-urlencoded" }),
    };
    return new Promise((resolve, reject) => {
      const options = { method, headers, rejectUnauthorized: false, timeout: 120_000 };
      const call = request(`https://${this.address}:8006/api2/json${path}${query}`, options, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          const text = Buffer.concat(parts).toString("utf8");
          resolve({
            status: response.statusCode ?? 0,
            reason: response.statusMessage ?? "",
            body: JSON.parse(text) as Answer["body"],
          });
        });
      });
      call.on("error", reject);
      call.end(method === "GET" ? undefined : form);
    });
  }

  /** The headers of a user with a ticket; they allow writing. */
  async logIn(username: string, password: string): Promise<Caller> {
    const answer = await this.call(nobody, "POST /access/ticket", { username, password });
    const data = answer.body.data as { ticket: string; CSRFPreventionToken: string } | null;
    if (answer.status !== 200 || data === null) {
      throw new Error(`no ticket for ${username}: ${String(answer.status)} ${answer.reason}`);
    }
    return {
      Cookie: `PVEAuthCookie=${data.ticket}`,
      CSRFPreventionToken: data.CSRFPreventionToken,
    };
  }

  /** Makes a call that starts a task, waits for its end and reads its log. */
  async task(caller: Caller, line: string, parameters?: Parameters): Promise<TaskResult> {
    const answer = await this.call(caller, line, parameters);
    if (answer.status !== 200) {
      throw new Error(`${line}: ${String(answer.status)} ${answer.reason} ${JSON.stringify(answer.body)}`);
    }
    const upid = String(answer.body.data);
    for (;;) {
      const state = (await this.call(caller, `GET NODE/tasks/${upid}/status`)).body.data as {
        status: string;
        exitstatus?: string;
      };
      if (state.status === "stopped") {
        const lines = (await this.call(caller, `GET NODE/tasks/${upid}/log`)).body.data as { t: string }[];
        return { status: state.exitstatus ?? "", log: lines.map((entry) => entry.t) };
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** The headers of an API token. */
export function token(id: string, secret: string): Caller {
  return { Authorization: `PVEAPIToken=${id}=${secret}` };
}
