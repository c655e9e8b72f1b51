import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { satisfies } from "@renovatebot/pep440";
import { findFlag, loadRelease, NEWEST_RELEASE, readArguments, RELEASES } from "../../catalog";
import { addRelease, RELEASES_FOLDER } from "../../cli/catalog";
import { parseWithRelease, whyUnavailable } from "./wheels";

// The first run downloads the wheels.
jest.setTimeout(300_000);

/** Tests that need the wheels of two releases, the oldest and the newest. */
const REPEATED = ["0.5.9", "0.5.23"];
const reason = REPEATED.map(whyUnavailable).find((why) => why !== undefined);
const withWheels = reason === undefined ? describe : describe.skip;

describe("the releases of the catalog", () => {
  test("are 0.5.9 to 0.5.23 with their post releases, oldest first", () => {
    const plain = [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];
    const withPost = plain.flatMap((patch) =>
      [10, 12, 13, 15].includes(patch) ? [`0.5.${patch}`, `0.5.${patch}.post1`] : [`0.5.${patch}`],
    );
    expect(RELEASES).toEqual(withPost);
    expect(NEWEST_RELEASE).toBe("0.5.23");
  });

  test("have between 331 and 531 flags beside --help, each with one name", () => {
    const counts = RELEASES.map((version) => loadRelease(version).flags.length);
    expect([counts[0], counts.at(-1)]).toEqual([331, 531]);
    for (const version of RELEASES) {
      const names = loadRelease(version).flags.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  // torch, flashinfer, kernels, transformers, xgrammar: as the releases' own project files state them.
  test.each([
    ["0.5.9", "==2.9.1", "==0.6.3", "sgl-kernel", "==0.3.21", "==4.57.1", "==0.1.27"],
    ["0.5.10.post1", "==2.9.1", "==0.6.7.post3", "sglang-kernel", "==0.4.1", "==5.3.0", "==0.1.32"],
    ["0.5.11", "==2.11.0", "==0.6.8.post1", "sglang-kernel", "==0.4.2", "==5.6.0", "==0.1.32"],
    ["0.5.12.post1", "==2.11.0", "==0.6.11.post1", "sglang-kernel", "==0.4.2.post2", "==5.6.0", "==0.2.0"],
    ["0.5.14", "==2.11.0", "[cu13]==0.6.12", "sglang-kernel", "==0.4.4", "==5.8.1", "==0.2.1"],
    ["0.5.18", "==2.13.0", "[cu13]==0.6.17", "sglang-kernel", "==0.4.6.post1", "==5.12.1", "==0.2.1"],
    ["0.5.23", "==2.14.1", "[cu13]==0.7.2", "sglang-kernel", "==0.4.10", "==5.19.0", "==0.2.7"],
  ])("%s has its pins", (version, torch, flashinfer, kernels, kernelVersion, transformers, xgrammar) => {
    const { pins } = loadRelease(version);
    const found = ["torch", "flashinfer-python", kernels, "transformers", "xgrammar"].map(
      (name) => pins[name],
    );
    expect(found).toEqual([torch, flashinfer, kernelVersion, transformers, xgrammar]);
  });

  test("require Python 3.10, from 0.5.22 Python 3.11", () => {
    const with310 = RELEASES.filter((version) => satisfies("3.10.13", loadRelease(version).requiresPython));
    expect(RELEASES.slice(with310.length)).toEqual(["0.5.22", "0.5.23"]);
  });

  test("answer at the endpoints that health gates ask, and no more at those that are gone", () => {
    const having = (path: string) =>
      RELEASES.filter((version) => loadRelease(version).endpoints.includes(path));
    for (const path of ["/health", "/server_info", "/model_info", "/v1/models", "/v1/chat/completions"])
      expect(having(path)).toEqual(RELEASES);
    expect(having("/ready")).toEqual(["0.5.20", "0.5.21", "0.5.22", "0.5.23"]);
    for (const path of ["/get_load", "/weight_version"]) expect(having(path).at(-1)).toBe("0.5.20");
  });

  test("spell the flags of the plans as their parsers do", () => {
    const has = (version: string, name: string) => findFlag(loadRelease(version), name)?.name;
    expect(has("0.5.9", "--tensor-parallel-size")).toBe("--tp-size");
    expect(has("0.5.13", "--mamba-radix-cache-strategy")).toBeUndefined();
    expect(has("0.5.14", "--mamba-radix-cache-strategy")).toBe("--mamba-radix-cache-strategy");
    expect(findFlag(loadRelease("0.5.14"), "--mamba-scheduler-strategy")?.deprecated).toBe(true);
    expect(has("0.5.20", "--mamba-scheduler-strategy")).toBeUndefined();
    expect(findFlag(loadRelease("0.5.11"), "--fp4-gemm-backend")?.dest).toBe("fp4_gemm_runner_backend");
  });
});

// Our reading of a command line is held against the release's own parser on these.
const LINES: readonly string[][] = [
  ["--tp", "2"],
  ["--tp-size=2", "--port", "1"],
  ["--tensor-parallel-size", "two"],
  ["--port"],
  ["--enable-metrics", "--disable-radix-cache"],
  ["--enable-metrics", "yes"],
  ["--attention-backend", "triton"],
  ["--attention-backend", "tritton"],
  ["--attention-backend", "cutlass_mla"],
  ["--speculative", "3"],
  ["--mamba-scheduler-strategy", "extra_buffer"],
  ["--mamba-radix-cache-strategy", "extra_buffer"],
  ["--cuda-graph-max-bs", "8"],
  ["--cuda-graph-bs", "1", "2", "4"],
  ["--cuda-graph-bs-decode", "1", "2", "4"],
  ["--kv-cache-dtype", "fp4_e2m1"],
  ["--mem-fraction-static", "0.8"],
  ["--mem-fraction-static", "most"],
  ["--random-seed", "-1"],
  ["--no-such-flag"],
  ["stray"],
];

withWheels(`reading a release again${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  test.each(REPEATED)("%s gives the committed file, byte by byte", async (version) => {
    const folder = mkdtempSync(join(tmpdir(), "catalog-"));
    const written = readFileSync(await addRelease(version, folder), "utf8");
    rmSync(folder, { recursive: true });
    expect(written).toBe(readFileSync(join(RELEASES_FOLDER, `${version}.json`), "utf8"));
  });

  test("a release that does not exist is refused with pip's words", async () => {
    await expect(addRelease("0.5.999")).rejects.toThrow(
      /pip download .*sglang==0\.5\.999 failed: [^]*No matching distribution/,
    );
  });

  test.each(REPEATED)("command lines are refused as %s refuses them", (version) => {
    const release = loadRelease(version);
    const lines = LINES.map((line) => ["--model-path", "/m", ...line]);
    const parsed = parseWithRelease(version, lines);
    const accepted = (line: string[]) =>
      readArguments(release, line).problems.every(({ kind }) =>
        ["deprecated", "abbreviation"].includes(kind),
      );
    expect(LINES.map((line) => [line.join(" "), accepted(line)])).toEqual(
      LINES.map((line, index) => [line.join(" "), parsed[index]?.ok]),
    );
  });
});

test("a name that is no release number never reaches pip", async () => {
  await expect(addRelease("latest")).rejects.toThrow(
    'release: "latest" is not a release number; write one such as 0.5.23',
  );
});
