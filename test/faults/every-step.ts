import type { LabStack } from "../lab/stack/lab-stack";
import type { Keeps, Said } from "./case-name";
import type { FaultCase } from "./fault-case";
import { cancel } from "./watched-up";
import {
  acceptConnections,
  cutConnections,
  fillDisk,
  freeDisk,
  losePower,
  reboot,
  refuseConnections,
} from "./strikes";

/** Something that makes the steps of one component work, and how one knows that they do. */
export interface Work {
  readonly step: string;
  readonly machine: "pve1" | "ml";
  /** Edits the stack, and makes the work slow enough to be met in its middle. */
  readonly change: (lab: LabStack) => unknown;
  readonly atWork: RegExp;
  /** Makes the work fast again. */
  readonly mend?: (lab: LabStack) => unknown;
  /** What becomes of the service in each fault; a fault that is not here is not tried. */
  readonly keeps: Readonly<Partial<Record<StepFault, Keeps>>>;
  /** The step before it, where that one has something to do too and is refused first. */
  readonly preceding?: string;
  /** The step that follows, for `connection refused after`. */
  readonly following?: string;
}

export type StepFault =
  | "connection refused before"
  | "connection cut during"
  | "connection refused after"
  | "host rebooted during"
  | "power lost during"
  | "pulumi killed -9 during";

/** Of a session that ends with its connection, and of one that a host on its way down ends in order. */
const CUT = ["remote command exited without exit status or exit signal", "Process exited with status"];
const CUT_NEXT = "if the connection is lost, run `up` again";

/** Pulumi's own words, at the next `up`. */
export const LOCKED: Said = {
  machine: "the stack is currently locked by 1 lock(s)",
  cause: "created by root@",
  next: "delete the lock file with `pulumi cancel`",
};

/** The cases of one component in the table: every fault that its work names. */
export function everyStep(work: Work): FaultCase[] {
  const cut: Said = { machine: work.machine, step: work.step, cause: CUT, next: CUT_NEXT };
  const refused = (step: string): Said => ({ machine: "{host}:22", step, cause: "connection refused" });
  const during = { change: work.change, moment: work.atWork, mend: work.mend };
  const cases: Record<StepFault, Omit<FaultCase, "fault" | "keeps">> = {
    "connection refused before": {
      change: work.change,
      strike: refuseConnections,
      reach: acceptConnections,
      mend: work.mend,
      says: refused(work.preceding ?? work.step),
    },
    "connection cut during": { ...during, strike: cutConnections, says: cut },
    "connection refused after": {
      ...during,
      strike: refuseConnections,
      reach: acceptConnections,
      says: refused(work.following ?? ""),
    },
    "host rebooted during": { ...during, strike: reboot, says: cut },
    "power lost during": { ...during, strike: losePower, says: cut },
    "pulumi killed -9 during": {
      ...during,
      strike: (_lab, up) => up?.kill(),
      again: true,
      says: LOCKED,
      before: cancel,
    },
  };
  return Object.entries(work.keeps).map(([fault, keeps]) => ({ fault, keeps, ...cases[fault as StepFault] }));
}

const UNITS = "/etc/systemd/system";
const IN_CONTAINER = "pct exec 129 -- bash -c";

/** A full disk under the unit of a service that `change` alters: the unit is written before anything is stopped. */
export function unitsDiskFull(step: string, change: (lab: LabStack) => unknown): FaultCase {
  return {
    fault: "disk full",
    change,
    strike: (lab) => {
      fillDisk(lab, IN_CONTAINER, UNITS);
    },
    mend: (lab) => {
      freeDisk(lab, IN_CONTAINER, UNITS);
    },
    says: {
      machine: "ml",
      step,
      cause: "No space left on device",
      next: `is the disk full? (df -h ${UNITS}). Then run \`up\` again`,
    },
    keeps: "the same process goes on",
  };
}
