/**
 * One address for several package indexes.
 *
 * uv's `pip compile` asks the default index for a package that `override-dependencies` names, whatever
 * `tool.uv.sources` says. So an environment that overrides a package of a named index is resolved against this router:
 * it sends each package to its own index and to no other.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parse, stringify } from "smol-toml";
import { normalizedName, parseRequirement } from "../../config/environment/requirements";
import type { UvSettings } from "../../config/environment-folder";

/** Index of each package that a source names: normalised name to address. */
function addresses({ index, sources }: UvSettings): Map<string, string> {
  return new Map(
    Object.entries(sources).flatMap(([name, source]) => {
      const url = index.find((entry) => entry.name === source.index)?.url;
      return url === undefined ? [] : [[normalizedName(name), url] as const];
    }),
  );
}

/** Whether an override names a package that does not come from the default index. */
export function needsRouter(uv: UvSettings): boolean {
  const routed = addresses(uv);
  return uv["override-dependencies"].some((text) => routed.has(parseRequirement(text)?.name ?? ""));
}

/** The pyproject without indexes and sources: the router is the only index. */
export function withoutIndexes(pyproject: string): string {
  const content = parse(pyproject) as { tool?: { uv?: Record<string, unknown> } };
  delete content.tool?.uv?.["index"];
  delete content.tool?.uv?.["sources"];
  return stringify(content);
}

/** Runs `work` with the address of a router over the named indexes and the default one. */
export async function withRouter<T>(
  uv: UvSettings,
  defaultIndex: string,
  work: (index: string) => Promise<T>,
): Promise<T> {
  const routed = addresses(uv);
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? "").split("/")[2] ?? "";
    const index = routed.get(normalizedName(name)) ?? defaultIndex;
    response.writeHead(302, { Location: `${index.replace(/\/$/, "")}/${name}/` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
