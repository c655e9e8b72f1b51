import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { SCRIPTS } from "../../plan/script";
import { PackageIndex } from "../pin/support/package-index";
import { runProgram } from "../run-program";

const ORIGINAL = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

let folder: string;
const write = (name: string, text: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const run = (command: string, ...args: string[]) =>
  spawnSync(command, args, {
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: join(SCRIPTS, "wheel"), PYTHONDONTWRITEBYTECODE: "1" },
  });
const python = (program: string, ...args: string[]) => {
  const result = run("python3", "-c", program, ...args);
  expect(result.stderr).toBe("");
  return result.stdout.trimEnd();
};

/** A patch that turns "four" into "FOUR", around whatever lines it expects. */
const patch = (before: readonly string[], after: readonly string[]) =>
  [
    "Why it is needed.",
    "",
    "--- a/text.txt",
    "+++ b/text.txt",
    `@@ -1,${before.length + after.length + 1} +1,${before.length + after.length + 1} @@`,
    ...before.map((line) => ` ${line}`),
    "-four",
    "+FOUR",
    ...after.map((line) => ` ${line}`),
    "",
  ].join("\n");

/** A project with one recipe, and the archive that it names. */
function project(patches: Record<string, string>): string {
  write("source/thing-1.0/text.txt", `${ORIGINAL.join("\n")}\n`);
  const archive = join(folder, "thing-1.0.tar.gz");
  expect(run("tar", "-C", join(folder, "source"), "-czf", archive, "thing-1.0").status).toBe(0);
  write(
    "environments/one/wheels.toml",
    `[[wheel]]\npackage = "thing"\nversion = "1.0"\nimports = ["thing"]\n[wheel.source]\nurl = "https://github.com/o/thing/archive/v1.0.tar.gz"\nsha256 = "unknown"\n`,
  );
  for (const [name, text] of Object.entries(patches)) write(`environments/one/patches/thing/${name}`, text);
  return archive;
}
const check = (archive: string) => run(join(SCRIPTS, "check-patches"), archive, folder);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kernel-wheel-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("check-patches", () => {
  const good = patch(["one", "two", "three"], ["five", "six", "seven"]);

  it("says that patches apply, each after the one before it", () => {
    const archive = project({
      "01-four.patch": good,
      "02-back.patch": good.replace("-four\n+FOUR", "-FOUR\n+4"),
    });
    const result = check(archive);
    expect(result.stdout).toBe("one, thing 1.0: 01-four.patch, 02-back.patch apply\n");
    expect(result.status).toBe(0);
  });

  it("accepts lines that have only moved", () => {
    const archive = project({ "01-four.patch": good.replace("@@ -1,7 +1,7 @@", "@@ -41,7 +41,7 @@") });
    expect(check(archive).status).toBe(0);
  });

  it("refuses a patch whose context differs, naming patch, file and hunk", () => {
    const archive = project({ "01-four.patch": patch(["ONE", "two", "three"], ["five", "six", "seven"]) });
    const result = check(archive);
    expect(result.status).toBe(1);
    expect(result.stdout).toContain(
      "patch thing/01-four.patch does not apply to text.txt hunk 1 (line 1): its context differs (it would apply only with fuzz)",
    );
  });

  it("refuses a patch for another source, naming patch, file and hunk", () => {
    const archive = project({
      "01-four.patch": patch(["a", "b", "c"], ["d", "e", "f"]).replace("-four", "-five"),
    });
    const result = check(archive);
    expect(result.status).toBe(1);
    expect(result.stdout).toContain(
      "patch thing/01-four.patch does not apply to text.txt hunk 1 (line 1): the source is not what it was made for",
    );
  });

  it("names a file that the source does not have", () => {
    const archive = project({ "01-four.patch": good.replaceAll("text.txt", "gone.txt") });
    expect(check(archive).stdout).toContain(
      "thing/01-four.patch does not apply to gone.txt, which the source does not have",
    );
  });

  it("names an archive that no recipe is built from, and those that are", () => {
    project({ "01-four.patch": good });
    const result = check(write("other.tar.gz", "x"));
    expect(result.status).toBe(3);
    expect(result.stdout).toMatch(
      /other\.tar\.gz .* belongs to no recipe; .* thing-1\.0\.tar\.gz, v1\.0\.tar\.gz/,
    );
  });

  it("without an archive says that nothing is checked, and why", () => {
    const result = run(join(SCRIPTS, "check-patches"));
    expect(result.status).toBe(0);
    expect(result.stdout).toMatch(/^skipped: no SOURCE was given/);
  });

  const source = process.env["SGLANG_SOURCE"] ?? "";
  (source === "" ? it.skip : it)(
    "the real patches apply to the real archive (skipped unless SGLANG_SOURCE names v0.5.9.tar.gz)",
    () => {
      const result = run(join(SCRIPTS, "check-patches"), source);
      expect(result.stdout).toContain(
        "sgl-kernel 0.3.21: 01-import-without-fa3.patch, 02-fa3-as-asked.patch apply",
      );
    },
  );
});

describe("a wheel with a local version", () => {
  const program = `
import sys, zipfile
from pathlib import Path
from kernel_wheel import wheel_file
folder = Path(sys.argv[1])
with zipfile.ZipFile(folder / "thing-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("thing.py", "x = 1\\n")
    wheel.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0\\n\\nVersion: of the text\\n")
    wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
    wheel.writestr("thing-1.0.dist-info/RECORD", "old")
(folder / "out").mkdir()
made = wheel_file.relabel(folder / "thing-1.0-py3-none-any.whl", "1.0+pgs.abc", folder / "out")
print(made.name, wheel_file.metadata_of(made))
print(zipfile.ZipFile(made).read("thing-1.0+pgs.abc.dist-info/METADATA").decode())
`;

  it("has it in name and metadata, and nowhere else", () => {
    const output = python(program, folder);
    expect(output).toContain("thing-1.0+pgs.abc-py3-none-any.whl ('thing', '1.0+pgs.abc')");
    expect(output).toContain("Version: of the text");
  });

  it("is a wheel that pip installs: its record holds", () => {
    python(program, folder);
    const wheel = join(folder, "out", "thing-1.0+pgs.abc-py3-none-any.whl");
    const target = join(folder, "site");
    const pip = run(
      "python3",
      "-m",
      "pip",
      "install",
      "-q",
      "--no-index",
      "--no-deps",
      "--target",
      target,
      wheel,
    );
    expect(pip.status).toBe(0);
    expect(
      python(
        "import sys; sys.path[:0] = sys.argv[1:]; import importlib.metadata as m; print(m.version('thing'))",
        target,
      ),
    ).toBe("1.0+pgs.abc");
  });
});

describe("uv", () => {
  const UV = "uv-9.8.7-py3-none-any.whl";
  const PROGRAM = `
import sys
from pathlib import Path
from kernel_wheel import failure, uv_tool
folder = Path(sys.argv[1])
uv_tool.STORE = folder / "store"
wheels = [Path(name) for name in sys.argv[3:]] or None
try:
    print(uv_tool.install(folder / "uv-wheel", sys.argv[2], wheels).read_text())
except failure.Failure as error:
    print(error.cause, "|", error.way_on)
`;

  /** A wheel that holds uv, listed as a step sends it; the path of the file. */
  function listed(): { file: string; sha256: string; body: Buffer } {
    const file = join(folder, UV);
    python(
      `import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], "w") as wheel: wheel.writestr("uv-9.8.7.data/scripts/uv", "the program")`,
      file,
    );
    const body = readFileSync(file);
    const sha256 = createHash("sha256").update(body).digest("hex");
    write("uv-wheel", `${sha256} ${body.length} ${UV}\n`);
    return { file, sha256, body };
  }
  const install = async (index: string, ...wheels: string[]) => {
    const outcome = await runProgram("python3", ["-c", PROGRAM, folder, index, ...wheels], {
      env: { ...process.env, PYTHONPATH: `${join(SCRIPTS, "wheel")}:${join(SCRIPTS, "tools")}` },
    });
    expect(outcome.errors).toBe("");
    return outcome.output.trim().split("\n").at(-1);
  };

  it("comes from the index as the one file that is listed, and only once", async () => {
    const { body, sha256 } = listed();
    const index = new PackageIndex();
    await index.start();
    const file = { package: "uv", name: UV, sha256, bytes: body.length, uploaded: "" };
    index.files.push({ ...file, body });
    expect(await install(index.url)).toBe("the program");
    expect(await install(index.url)).toBe("the program");
    await index.stop();
    expect(index.asked).toEqual([UV]);
    expect(readdirSync(join(folder, "store", "uv-9.8.7")).sort()).toEqual([".complete", "bin"]);
  });

  it("is told to be missing with what the index says", async () => {
    listed();
    const index = new PackageIndex();
    await index.start();
    const told = await install(index.url);
    await index.stop();
    expect(told).toBe(
      "uv could not be had: the server answers 404 Not Found | check that this container reaches its package index",
    );
  });

  it("comes from the wheelhouse, where a damaged one is refused", async () => {
    const { file } = listed();
    writeFileSync(file, "something else");
    expect(await install("", file)).toMatch(/^the wheelhouse holds no undamaged wheel of uv \|/);
    listed();
    expect(await install("", file)).toBe("the program");
  });
});

describe("progress", () => {
  const program = `
import sys
from kernel_wheel.progress import Progress
clock = iter([0, 10, 20, 40, 1000, 5000, 5001]).__next__
progress = Progress(print, 15, clock)
for line in ["configuring", "[1/420] a", "[2/420] b", "[3/420] c", "[120/420] d", "[419/420] e", "[420/420] f"]:
    progress.line(line)
`;

  it("counts objects, says what is left, and leaves lines out that come too soon", () => {
    expect(python(program).split("\n")).toEqual([
      "[1/420] objects, 10s",
      "[3/420] objects, 40s, about 1h09m left",
      "[120/420] objects, 16m, about 41m left",
      "[419/420] objects, 1h23m, about 11s left",
      "[420/420] objects, 1h23m",
    ]);
  });
});

describe("a build that failed", () => {
  it("is told by the lines that say why", () => {
    const lines = ["[3/8] nvcc …", "x.cu(3): error: identifier is undefined", "ninja: build stopped"];
    expect(
      python("import sys; from kernel_wheel.compile import telling; print(telling(sys.argv[1:]))", ...lines),
    ).toBe("x.cu(3): error: identifier is undefined");
  });
});
