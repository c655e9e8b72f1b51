import type { LabStack } from "../lab/stack/lab-stack";
import type { Said } from "./case-name";
import { faults, useFaultLab } from "./fault-case";
import { changeService } from "./fault-lab";
import { behave } from "./strikes";

useFaultLab();

const OLD = "the old version answers again by itself";

const said = (cause: string, next: string): Said => ({ machine: "ml", step: "qwen-service", cause, next });
const ROLLED_BACK = "the last good version serves again; correct the stack and run `up`";

/** The lab has no limits of memory: this is what systemd sees when the kernel ends a process for want of it. */
const killForMemory = (lab: LabStack) =>
  lab.inContainer("systemctl kill --signal=KILL --kill-whom=all sglang-qwen");

const port = (lab: LabStack, value: number) => {
  lab.edit((file) => {
    (file.services?.qwen as Record<string, unknown>).port = value;
  });
};

faults("single", "server's process", [
  {
    fault: "the new version is killed for memory while it starts",
    change: (lab) => {
      behave(lab, { when: { max_running_requests: changeService(lab) }, loadSeconds: 15 });
    },
    moment: /waiting for sglang-qwen\.service to pass/,
    strike: killForMemory,
    mend: behave,
    says: said("sglang-qwen.service does not pass its health gate: ", ROLLED_BACK),
    keeps: OLD,
  },
  {
    fault: "the server is killed for memory while it serves",
    change: killForMemory,
    strike: () => undefined,
    says: "nothing: the up goes through",
    keeps: OLD,
  },
  {
    fault: "its new port is taken",
    change: (lab) => {
      port(lab, 30_005);
    },
    strike: (lab) =>
      lab.inContainer("systemd-run --quiet --unit=other-server /opt/ml-env/bin/python3 -m http.server 30005"),
    mend: (lab) => lab.inContainer("systemctl stop other-server"),
    says: said("port 30005 is taken by", ROLLED_BACK),
    keeps: OLD,
    before: (lab) => {
      port(lab, 30_000);
    },
  },
  {
    fault: "a file of its model is gone",
    change: changeService,
    strike: (lab) => lab.onHost("mv /srv/models/qwen3.6-tiny/config.json /root/"),
    mend: (lab) => lab.onHost("mv /root/config.json /srv/models/qwen3.6-tiny/"),
    says: said("config.json does not exist: fetch the model", "and: journalctl -u sglang-qwen.service"),
    keeps: "not before the next up: without its model no version can start",
  },
]);
