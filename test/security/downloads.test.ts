/** Every place that fetches something is known, and compares it with a recorded hash. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { PROJECT_DIRECTORY } from "../../config/load";

const SCRIPTS = path.join(PROJECT_DIRECTORY, "scripts");

/** What fetches over a network. */
const FETCHES =
  /\b(curl|wget) +-|"(curl|wget)"|\burlopen\(|\bwith request\(|\bbuild_opener\b|HTTPS?Connection\(|\bgit clone\b|\bpip"?\)?,? "?(install|download|sync)\b|apt-key|add-apt-repository/;

/** The files that fetch, and what in them compares the hash; for those that fetch nothing that is kept, why. */
const KNOWN: Readonly<Record<string, RegExp | string>> = {
  "catalog/release_wheel.py": /sha256/,
  "lib/download.sh": /\$actual != "\$sha256"/,
  "probe/sglang_probe/client.py": "asks the service on its own machine",
  "tools/ml-env-build": /--require-hashes/,
  "tools/model_snapshot/hub.py": "hands bytes to transfer.py and content to files.py, which compare them",
  "tools/package_index.py": /hexdigest\(\) != sha256/,
  "tools/wheelhouse.py": /hexdigest\(\) != |sha256/,
  "wheel/kernel_wheel/archives.py": /actual != archive\.sha256/,
  "wheel/kernel_wheel/environment.py": /--require-hashes/,
};

const texts = readdirSync(SCRIPTS, { recursive: true, encoding: "utf8" })
  .filter((file) => statSync(path.join(SCRIPTS, file)).isFile() && !file.endsWith(".pyc"))
  .map((file) => [file, readFileSync(path.join(SCRIPTS, file), "utf8")] as const);

/** Lines of code that fetch. */
const fetchesIn = (text: string) =>
  text
    .split("\n")
    .filter((line) => FETCHES.test(line) && !/^\s*#/.test(line) && !/^\s*("""|say )/.test(line));

test("only known files fetch anything", () => {
  const found = texts.filter(([, text]) => fetchesIn(text).length > 0).map(([file]) => file);
  expect(found.sort()).toEqual(Object.keys(KNOWN).sort());
});

test.each(Object.entries(KNOWN).filter((entry): entry is [string, RegExp] => entry[1] instanceof RegExp))(
  "%s compares what it fetched",
  (file, comparison) => {
    expect(readFileSync(path.join(SCRIPTS, file), "utf8")).toMatch(comparison);
  },
);

test("pip and uv install nothing whose hash is not in a lock, but wheels that were built and checked here", () => {
  const installs = texts.flatMap(([file, text]) =>
    text
      .split("\n")
      .flatMap((line) =>
        /pip"? (install|sync)\b/.test(line) && !/^\s*#/.test(line) ? [`${file}: ${line.trim()}`] : [],
      ),
  );
  for (const line of installs)
    expect(line).toMatch(/--require-hashes|"\$\{arguments\[@\]\}"|--no-index --no-deps "\$folder\/\$name"/);
});

test("no step trusts a key or a package that apt does not verify", () => {
  for (const [, text] of texts)
    expect(text).not.toMatch(
      /allow-unauthenticated|trusted=yes|apt-key|AllowInsecureRepositories|--insecure\b|curl .*-k\b|verify=False/,
    );
});

test("a template is downloaded with its checksum", () => {
  const text = readFileSync(path.join(PROJECT_DIRECTORY, "components", "gpu-container.ts"), "utf8");
  expect(text).toMatch(/checksum: template\.sha256,\s+checksumAlgorithm: "sha256"/);
});
