/**
 * How fast an environment comes to a second container of a host that has it in another: built anew, as each container with a cache of
 * its own, against a link to what the host shares. Variables: environment-lab.ts.
 *
 *   node -r ./cli/typescript.js bench/sharing.ts     prints Markdown; progress is on standard error
 */
import { scriptText, stepCommand, stepInput } from "../plan/script";
import { HOST, step } from "../plan/step";
import {
  BENCH,
  build,
  CACHE,
  folder,
  inContainer,
  inLab,
  lab,
  measure,
  onHostWith,
  STORE,
} from "./environment-lab";

const SHARE = "/wheelhouse/environments/first";

/** The stack's own step, on what the worker built as "first". */
const share = step({
  name: "bench-share",
  target: HOST,
  script: "host/environment-share",
  args: { vmid: "129", name: "bench", digest: "first", wheelhouse: "/srv/wheelhouse", wanted: "" },
  timeoutMinutes: 60,
  summary: "",
});

/** One input of the worker. */
function put(container: number, name: string, text: string): void {
  onHostWith(`${text}\n`, `pct exec ${container} -- tee ${BENCH}/${name} >/dev/null`);
}

function compare(title: string): void {
  const forget = (container: number, what: string): string => inContainer(container, `rm -rf ${what}; sync`);
  measure(title, [
    {
      name: "the first container: built",
      prepare: forget(129, `${STORE}/cold ${CACHE}`),
      command: build("cold").command,
    },
    {
      name: "the second: linked to the share",
      prepare: forget(130, `${STORE}/linked`),
      command: build("linked", 130, SHARE).command,
    },
  ]);
  for (const container of [129, 130])
    lab.onHost(`pct exec ${container} -- rm -rf ${STORE}/cold ${STORE}/linked`);
}

function run(): void {
  const whole = process.env.BENCH_ONLY === undefined;
  if (whole) {
    const packages = folder.systemPackages.join(" ");
    for (const container of [129, 130]) {
      lab.onHost(`pct exec ${container} -- bash -c 'apt-get update -q && apt-get install -q -y ${packages}'`);
      put(container, "smoke-test", JSON.stringify(folder.smokeTest));
      put(container, "cuda-architectures.py", scriptText("tools/cuda-architectures.py"));
    }
  }
  lab.onHost(build("first").line);
  const begun = Date.now();
  onHostWith(stepInput(share), stepCommand(share));
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  const size = lab.onHost(`du -sh /srv/wheelhouse/environments/first`).split("\t")[0] ?? "?";
  process.stdout.write(
    `Shared by the host, once: ${seconds} s, ${size}B (what is not compiled yet, compiled in the container; copied).\n\n`,
  );
  if (whole) compare("With the smoke test, which imports everything");
  for (const container of [129, 130]) {
    put(container, "smoke-test", '{"imports":[],"architectures":[]}');
  }
  compare("Without imports");
}

inLab(run);
