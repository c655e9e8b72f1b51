import type { LabStack } from "../lab/stack/lab-stack";
import { everyStep, unitsDiskFull } from "./every-step";
import { faults, useFaultLab, type FaultCase } from "./fault-case";
import { changeService } from "./fault-lab";
import { behave } from "./strikes";

useFaultLab();

const AGAIN = "it answers again by itself";
const OLD = "the old version answers again by itself";

faults("every step", "service", [
  ...everyStep({
    step: "qwen-service",
    machine: "ml",
    change: (lab) => {
      // A start that takes long enough to be met in its middle.
      behave(lab, { loadSeconds: 6 });
      changeService(lab);
    },
    atWork: /waiting for sglang-qwen\.service to pass/,
    mend: behave,
    keeps: {
      "connection refused before": "the same process goes on",
      "connection cut during": AGAIN,
      "host rebooted during": AGAIN,
      "power lost during": AGAIN,
      "pulumi killed -9 during": AGAIN,
    },
  }),
  unitsDiskFull("qwen-service", changeService),
]);

const ROLLED_BACK = "the last good version serves again; correct the stack and run `up`";

/** A version that is started and does not pass its gate. */
function bad(fault: string, how: object, cause: string): FaultCase {
  return {
    fault,
    change: changeService,
    strike: (lab) => {
      misbehave(lab, how);
    },
    mend: behave,
    says: { machine: "ml", step: "qwen-service", cause, next: ROLLED_BACK },
    keeps: OLD,
  };
}

/** Only the new version misbehaves: the one that is declared now. */
function misbehave(lab: LabStack, how: object): void {
  let requests: unknown;
  lab.edit((file) => {
    requests = (file.services?.qwen as Record<string, unknown>).maxRunningRequests;
  });
  behave(lab, { when: { max_running_requests: requests }, ...how });
}

faults("single", "service", [
  bad("the new version answers in loops", { text: "loop-sentence" }, "sentence-loop: content: "),
  bad("the new version answers word salad", { text: "random-words" }, "word-salad: content: "),
  bad("the new version answers nothing", { text: "both-null" }, "no-answer: content and reasoning are empty"),
  bad("the new version answers wrongly", { text: "wrong" }, "wrong-answer: expected 4, got "),
  bad(
    "the new version's answers are numbers gone wrong (NaN)",
    { text: "nan" },
    'word-loop: content: "!" 512 times',
  ),
  bad(
    "the new version crashes at its start",
    { start: "crash" },
    "decisive log line: torch.AcceleratorError: CUDA error",
  ),
  bad(
    "the new version's scheduler dies right after the start",
    { crashAfterSeconds: 0 },
    "sglang-qwen.service restarted itself (",
  ),
  bad("the new version stays unhealthy (503)", { health: 503 }, "not healthy within 300 s: /health: 503"),
  bad(
    "the new version runs with another value than declared",
    { serverInfo: { attention_backend: "fa3" } },
    "attention_backend is 'fa3', declared is 'triton'",
  ),
]);
