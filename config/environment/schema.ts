/** What the files of `environments/<name>/` may hold. */
import { z } from "zod";
import { secretIn } from "../secret-forms";
import { fileUrl, freeText, httpUrl, text } from "../schema/fields";

const sha256 = text(/^[0-9a-f]{64}$/, "64 lower-case hexadecimal digits");
const moduleName = text(/^[A-Za-z_][A-Za-z0-9_.]*$/, "the name of a Python module");
/** PEP 508 name, and whatever follows it. */
const requirement = text(
  /^[A-Za-z0-9][A-Za-z0-9._-]*(\s*[[<>=!~;@(].*)?$/,
  "a requirement such as torch==2.11.0",
  1000,
).refine((requirement) => secretIn(requirement) === undefined, {
  error: "a requirement without user, password or token in its address",
});
const debianPackage = text(/^[a-z0-9][a-z0-9+.-]+$/, "the name of a Debian package, such as libnuma1");
const packageName = text(/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, "the name of a package");

const index = z.strictObject({
  name: text(/^[a-z0-9][a-z0-9-]*$/, "a name of lower-case letters, digits and hyphens"),
  url: httpUrl,
  // Without it, the index would be asked for every package, and whoever owns it could offer any name.
  explicit: z.literal(true, { error: "true: only packages that tool.uv.sources names come from it" }),
});

/** uv's own settings, as far as they keep a lock reproducible. */
const uv = z.strictObject({
  "override-dependencies": z.array(requirement).default([]),
  "constraint-dependencies": z.array(requirement).default([]),
  index: z.array(index).default([]),
  sources: z.record(packageName, z.strictObject({ index: freeText("the name of an index") })).default({}),
  /** RFC 3339 date or time: files that were uploaded later do not exist. */
  "exclude-newer": text(
    /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?$/,
    "a date or time such as 2026-05-05T00:00:00Z",
  ).optional(),
  "index-strategy": z
    .literal("first-index", {
      error: "first-index: a package comes from one index, never the best of several",
    })
    .default("first-index"),
  prerelease: z
    .literal("explicit", { error: "explicit: only packages that are named with a pre-release get one" })
    .default("explicit"),
});

const smokeTest = z.strictObject({
  /** Python modules that must be importable before the environment is switched to. */
  imports: z.array(moduleName).default([]),
  /** What `torch.version.cuda` must be. */
  cuda: text(/^\d+\.\d+$/, 'a CUDA version in quotes, "13.0"').optional(),
  /** GPU architectures whose code the kernels' binary must hold. */
  architectures: z.array(text(/^sm_\d+[af]?$/, "an architecture such as sm_86")).default([]),
});

const python = z.strictObject({
  version: text(/^3\.\d+\.\d+$/, 'a full version of Python in quotes, "3.11.14"'),
  url: fileUrl,
  sha256,
});

/** Our table in pyproject.toml. */
const ownTable = z.strictObject({
  "smoke-test": smokeTest.default({ imports: [], architectures: [] }),
  python: python.optional(),
  /**
   * Debian packages that the environment's programs need and no wheel brings, such as a C compiler. They come from the
   * container's package source.
   */
  "system-packages": z.array(debianPackage).default([]),
});

/** `pyproject.toml` of an environment. */
export const pyprojectSchema = z.looseObject({
  project: z.looseObject({
    name: z.string(),
    "requires-python": text(/^>=\s*3\.\d+/, "the oldest Python that is meant, such as >=3.11").default(
      ">=3.11",
    ),
    dependencies: z.array(requirement),
  }),
  tool: z
    .looseObject({
      uv: uv.prefault({}),
      "proxmox-gpu-stack": ownTable.prefault({}),
    })
    .prefault({}),
});

/** `wheelhouse.json`: the exact files of the lock for x86_64 Linux and the environment's Python. */
export const wheelhouseSchema = z.strictObject({
  files: z.array(
    z.strictObject({
      name: text(/^[A-Za-z0-9_][A-Za-z0-9_.+!%~-]*$/, "a file name"),
      sha256,
      bytes: z.int().min(1),
      /** Normalised name of the package; absent for what is no package, such as an interpreter. */
      package: z.string().optional(),
      /** Name of a `[[tool.uv.index]]`; absent: the default index. */
      index: z.string().optional(),
      /** Address of an upstream project, where the file comes from no index. */
      url: httpUrl.optional(),
    }),
  ),
});

export type Pyproject = z.output<typeof pyprojectSchema>;
export type UvSettings = z.output<typeof uv>;
export type SmokeTest = z.output<typeof smokeTest>;
export type PinnedPython = z.output<typeof python>;
export type WheelhouseFile = z.output<typeof wheelhouseSchema>["files"][number];
