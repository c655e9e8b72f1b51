/** Whether Proxmox VE's API can be reached and lets the stack in. */
import { request } from "node:https";
import type { HostConfig } from "../../config/schema";
import { ok, problem, type Finding } from "./finding";

export interface ApiSecrets {
  readonly apiToken: string | undefined;
  readonly apiPassword: string | undefined;
}

/** A finding of the API, and whether it was reached at all. */
export interface ApiResult {
  readonly finding: Finding;
  readonly reached: boolean;
}

const LIMIT_MS = 15_000;

interface Answer {
  readonly status: number;
  /** Proxmox VE says the reason in the status line. */
  readonly reason: string;
}

function ask(
  host: HostConfig,
  path: string,
  headers: Record<string, string>,
  form?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: host.address,
        port: host.api.port,
        path: `/api2/json${path}`,
        method: form === undefined ? "GET" : "POST",
        rejectUnauthorized: host.api.tls === "verify",
        headers: {
          ...headers,
          ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
        },
        timeout: LIMIT_MS,
      },
      (response) => {
        response.resume();
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, reason: response.statusMessage ?? "" }),
        );
      },
    );
    call.on("timeout", () => call.destroy(new Error(`no answer within ${LIMIT_MS / 1000} seconds`)));
    call.on("error", reject);
    call.end(form);
  });
}

/** Errors of the certificate, not of the way there. */
function isCertificateError(error: NodeJS.ErrnoException): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|SSL|TLS/.test(error.code ?? "");
}

function failure(host: HostConfig, error: NodeJS.ErrnoException): ApiResult {
  const place = `https://${host.address}:${host.api.port}`;
  if (isCertificateError(error))
    return {
      reached: true,
      finding: problem(
        "api",
        `${place}: its certificate cannot be verified: ${error.message}`,
        "give pveproxy a certificate that this machine trusts (NODE_EXTRA_CA_CERTS and the system's store), or set host.api.tls to insecure on a trusted network",
      ),
    };
  return {
    reached: false,
    finding: problem(
      "api",
      `${place} cannot be reached: ${error.message}`,
      "is pveproxy running, and the port open?",
    ),
  };
}

/** Logs in and asks for the version; changes nothing. */
export async function checkApi(host: HostConfig, secrets: ApiSecrets): Promise<ApiResult> {
  const { apiToken, apiPassword } = secrets;
  const way = apiToken === undefined ? `password of ${host.api.user}` : "API token";
  try {
    const answer =
      apiToken === undefined
        ? await ask(
            host,
            "/access/ticket",
            {},
            new URLSearchParams({ username: host.api.user, password: apiPassword ?? "" }).toString(),
          )
        : await ask(host, "/version", { authorization: `PVEAPIToken=${apiToken}` });
    if (answer.status === 200) return { reached: true, finding: ok("api", `the API accepts the ${way}`) };
    return {
      reached: true,
      finding: problem(
        "api",
        `the API refuses the ${way}: ${answer.status} ${answer.reason}`,
        `pulumi config set --secret proxmox-gpu-stack:${apiToken === undefined ? "apiPassword" : "apiToken"}`,
      ),
    };
  } catch (error) {
    return failure(host, error as NodeJS.ErrnoException);
  }
}
