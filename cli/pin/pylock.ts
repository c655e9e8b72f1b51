/** The files that uv chose, out of its pylock.toml (PEP 751). */
import { parse } from "smol-toml";
import { z } from "zod";
import { normalizedName } from "../../config/environment/requirements";
import type { WheelhouseFile } from "../../config/environment-folder";
import { fileNameOf } from "../../config/checksum";

const pylock = z.object({
  packages: z
    .array(
      z.object({
        name: z.string(),
        version: z.string().optional(),
        wheels: z
          .array(
            z.object({
              url: z.string(),
              size: z.union([z.number(), z.bigint()]).optional(),
              hashes: z.object({ sha256: z.string().optional() }).default({}),
            }),
          )
          .default([]),
      }),
    )
    .default([]),
});

/** A file whose size the index may not have told. */
export type ChosenFile = Omit<WheelhouseFile, "bytes"> & { readonly bytes?: number };

/** How well one wheel's name fits `cp<minor>` on x86_64 Linux: lower is better, in the order of PEP 425's tags. */
function rank(fileName: string, minor: number): number {
  const [python = "", abi = "", platform = ""] = fileName
    .replace(/\.whl$/, "")
    .split("-")
    .slice(-3);
  const newest = Math.max(
    0,
    ...[...python.matchAll(/(?:cp|py)3(\d+)/g)]
      .map((match) => Number(match[1]))
      .filter((found) => found <= minor),
  );
  const native = abi.includes(`cp3${minor}`)
    ? 0
    : abi.includes("abi3")
      ? 1
      : platform.includes("any")
        ? 3
        : 2;
  const libraries = [...platform.matchAll(/manylinux_2_(\d+)/g)].map((match) => Number(match[1]));
  return native * 10_000 - newest * 100 - Math.max(0, ...libraries);
}

/**
 * One file of each package: the best of those that uv lists as fitting.
 *
 * @param text content of pylock.toml
 * @param pythonVersion "3.11"
 * @param indexOf name of the index that a package comes from; undefined: the default one
 * @throws Error naming the packages without a wheel
 */
export function chosenFiles(
  text: string,
  pythonVersion: string,
  indexOf: (name: string) => string | undefined,
): ChosenFile[] {
  const minor = Number(pythonVersion.split(".")[1]);
  const { packages } = pylock.parse(parse(text));
  const files = packages.map(({ name, version, wheels }) => {
    const named = wheels.map((wheel) => ({ ...wheel, fileName: fileNameOf(wheel.url) }));
    const [best] = named
      .filter(({ hashes }) => hashes.sha256 !== undefined)
      .sort((a, b) => rank(a.fileName, minor) - rank(b.fileName, minor));
    if (best === undefined) throw new Error(`${name} ${version ?? ""} has no wheel for this platform`);
    const index = indexOf(normalizedName(name));
    return {
      name: best.fileName,
      sha256: best.hashes.sha256 as string,
      ...(best.size === undefined ? {} : { bytes: Number(best.size) }),
      package: normalizedName(name),
      ...(index === undefined ? {} : { index }),
    };
  });
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}
