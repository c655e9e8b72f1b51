import { spawn, type ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { LabStack } from "../lab/stack/lab-stack";
import { futureCertificate } from "../security/future-certificate";
import { everyStep } from "./every-step";
import type { Keeps, Said } from "./case-name";
import { faults, useFaultLab, type FaultCase } from "./fault-case";
import { hub, startServices, stopService } from "./strikes";

const SAME: Keeps = "the same process goes on";
const OLD: Keeps = "the old version answers again by itself";
const TOKEN = "hf_labreader";

useFaultLab();

/** Models with which each case is at work: small ones of the lab's hub. */
const OPEN = { repo: "lab/qwen3.6-tiny", revision: "94ac6c0143eefcb6e8e108fb472487647514c3a3" };
const GATED = { repo: "lab/gated-tiny", revision: "a0a2edcf60ea372f7edbd0ba03fd0c23e81d780d" };

let number = 0;
const folder = () => `/srv/models/extra-${number}`;

/** Declares a model in a new folder, beside the one that serves. */
function declare(lab: LabStack, model: object = OPEN, token?: string, path?: string): void {
  number += 1;
  lab.edit((file) => {
    Object.assign(file["models"] as object, {
      extra: { path: path ?? folder(), endpoint: `http://${lab.subnet}.1:8090`, ...model },
    });
    delete file["huggingFaceToken"];
    if (token !== undefined) Object.assign(file, { huggingFaceToken: token });
  });
}

const well = (lab: LabStack) => {
  hub(lab);
};

faults("every step", "model", [
  ...everyStep({
    step: "extra-snapshot",
    machine: "pve1",
    change: (lab) => {
      hub(lab, { kind: "slow", path: "^/lfs/", bytesPerSecond: 500_000 });
      declare(lab);
    },
    atWork: /step extra-snapshot is at work/,
    mend: well,
    keeps: {
      "connection refused before": SAME,
      "connection cut during": SAME,
      "host rebooted during": OLD,
      "power lost during": OLD,
      "pulumi killed -9 during": SAME,
    },
  }),
  {
    fault: "disk full",
    change: (lab) => {
      lab.onHost(
        "umount /srv/small 2>/dev/null; mkdir -p /srv/small && mount -t tmpfs -o size=9m tmpfs /srv/small",
      );
      hub(lab, { kind: "slow", path: "^/lfs/", bytesPerSecond: 500_000 });
      declare(lab, OPEN, undefined, "/srv/small/extra");
    },
    moment: /step extra-snapshot is at work/,
    strike: async (lab) => {
      await lab.until(
        "test $(du -sm /srv/small/extra.incomplete | cut -f1) -ge 1 && echo enough",
        /^enough/m,
      );
      lab.tryOnHost("dd if=/dev/zero of=/srv/small/filler bs=1M 2>/dev/null");
    },
    mend: (lab) => {
      lab.onHost("rm /srv/small/filler");
      well(lab);
    },
    says: {
      machine: "pve1",
      step: "extra-snapshot",
      cause: "No space left on device: lab/qwen3.6-tiny needs",
      next: "run `up` again",
    },
    keeps: SAME,
  },
]);

/** A hub that does something wrong while the model is fetched. */
function bad(fault: string, rule: object, cause: Said["cause"], next: string): FaultCase {
  return {
    fault,
    change: (lab) => {
      declare(lab);
    },
    strike: (lab) => {
      hub(lab, rule);
    },
    mend: well,
    says: { machine: "pve1", step: "extra-snapshot", cause, next },
    keeps: SAME,
  };
}

const passes = (fault: string, rule: object): FaultCase => ({
  ...bad(fault, rule, "", ""),
  says: "nothing: the up goes through",
});

const first = "model-00001-of-00002.safetensors";

/** A name of the hub that the host knows from a file, and does not know any more when the file lacks it. */
const HUB_NAME = "hub.lab.test";
const learnName = (lab: LabStack) => lab.onHost(`echo ${lab.subnet}.1 ${HUB_NAME} >>/etc/hosts`);
const forgetName = (lab: LabStack) =>
  lab.onHost(`sed '/ ${HUB_NAME}$/d' /etc/hosts >/tmp/hosts && cat /tmp/hosts >/etc/hosts`);

/**
 * What a clock that is behind does to a host: no certificate is valid yet. Its clock is the machine's and stays; a server's
 * certificate is of the next century instead, signed by one that the host trusts.
 */
const FUTURE_PORT = 8443;
let future: ChildProcess | undefined;

async function serveFromTheFuture(lab: LabStack): Promise<void> {
  const address = `${lab.subnet}.1`;
  const { key, certificate, hashName } = futureCertificate(address);
  lab.onHost(`echo ${Buffer.from(certificate).toString("base64")} | base64 -d >/etc/ssl/certs/${hashName}`);
  const file = join(lab.folder, "future.pem");
  writeFileSync(file, key + certificate, { mode: 0o600 });
  // A process of its own: this one waits for `up`.
  const words = [
    "s_server",
    "-quiet",
    "-www",
    "-accept",
    `${address}:${FUTURE_PORT}`,
    "-cert",
    file,
    "-key",
    file,
  ];
  future = spawn("openssl", words, { stdio: "ignore" });
  await lab.until(`timeout 1 bash -c '</dev/tcp/${address}/${FUTURE_PORT}' && echo listens`, /^listens/m);
}
afterAll(() => future?.kill());

faults("single", "model", [
  bad(
    "the hub does not have the repository",
    { kind: "status", path: "^/api/", status: 404 },
    "404: no such repository, revision or file",
    "run `up` again",
  ),
  bad(
    "a file changed under the same revision",
    { kind: "changed", repository: OPEN.repo, file: first },
    "recorded for this revision is",
    "Find out why; another `endpoint` may have the recorded file",
  ),
  {
    ...bad("the hub is gone", {}, "refused", "run `up` again"),
    strike: (lab) => {
      stopService(lab, "model-hub");
    },
    mend: startServices,
  },
  {
    ...bad(
      "names are not resolved any more",
      {},
      ["Temporary failure in name resolution", "Name or service not known"],
      "run `up` again",
    ),
    change: (lab) => {
      learnName(lab);
      declare(lab, { ...OPEN, endpoint: `http://${HUB_NAME}:8090` });
    },
    strike: forgetName,
    mend: learnName,
  },
  {
    ...bad(
      "the host's clock is behind",
      {},
      "is not accepted: certificate is not yet valid",
      "is this machine's clock right? (timedatectl)",
    ),
    change: (lab) => {
      declare(lab, { ...OPEN, endpoint: `https://${lab.subnet}.1:${FUTURE_PORT}` });
    },
    strike: serveFromTheFuture,
    mend: (lab) => {
      declare(lab, OPEN, undefined, folder());
    },
  },
  passes("the hub closes the connection in the middle of a file, once", {
    kind: "short",
    path: `^/lfs/.*${first}`,
    bytes: 100_000,
    times: 1,
  }),
  passes("the hub asks to be left alone for a moment (429)", {
    kind: "status",
    path: `resolve/.*${first}`,
    status: 429,
    retryAfter: 1,
    times: 2,
  }),
  passes("the hub sends wrong bytes, once", { kind: "corrupt", path: first, times: 1 }),
  {
    ...bad(
      "the model is gated and the stack has no token",
      {},
      "401: lab/gated-tiny is gated or private",
      "pulumi config set --secret proxmox-gpu-stack:huggingFaceToken",
    ),
    change: (lab) => {
      declare(lab, GATED);
    },
    strike: () => undefined,
    before: (lab) => {
      declare(lab, GATED, TOKEN, folder());
    },
  },
  {
    ...bad(
      "the token's account may not read the model",
      {},
      "403: the account of the huggingFaceToken may not read",
      "ask for access at",
    ),
    change: (lab) => {
      declare(lab, GATED, "hf_labstranger");
    },
    strike: () => undefined,
    before: (lab) => {
      declare(lab, GATED, TOKEN, folder());
    },
  },
]);
