import { ask, type LabStack, type Result } from "../lab/stack/lab-stack";

/** What a case compares before, during and after: the process that serves, its version, and what belongs to the owner. */
export interface Sight {
  readonly pid: string;
  readonly version: string;
  readonly owned: string;
}

const CONTAINER_MARK = "/root/owners-file";
const MODELS_MARK = "/srv/models/owners-file";

/** What a step leaves behind when it did not end: files written aside, environments without their mark, units at work. */
const LEFT_OVERS = `
find /etc /usr/local/lib/proxmox-gpu-stack /var/lib/proxmox-gpu-stack /srv -xdev \\( -name '*.incomplete' -o -name '*.partial' -o -name '*.next' \\) 2>/dev/null
systemctl list-units --plain --no-legend --state=active,activating 'proxmox-gpu-stack-*.service' | cut -d' ' -f1
pct exec 129 -- sh -c '
find /etc /opt/proxmox-gpu-stack /var/lib/proxmox-gpu-stack \\( -name "*.partial" -o -name "*.next" -o -name "*.qwen" -o -path "/etc/systemd/system/*.??????" \\) | grep -v "[.]target\\|[.]socket\\|[.]timer\\|site-packages" 
for e in /opt/proxmox-gpu-stack/environments/ml-env/*/; do test -e $e.complete || echo $e; done
systemctl list-units --plain --no-legend --state=active,activating "proxmox-gpu-stack-*.service" | cut -d" " -f1'
true`;

/** Everything of the owner's that no step and no fault may lose. */
export function plantOwnersFiles(lab: LabStack, text: string): void {
  lab.onHost(`echo '${text}' >${MODELS_MARK}; pct exec 129 -- sh -c 'echo "${text}" >${CONTAINER_MARK}'`);
}

export function look(lab: LabStack): Sight {
  const inside = lab.inContainer(
    `sh -c 'systemctl show -P MainPID sglang-qwen; { cat /etc/systemd/system/sglang-qwen.service; readlink /opt/ml-env; } | sha256sum; cat ${CONTAINER_MARK} 2>/dev/null || true'`,
  );
  const [pid = "", version = "", mark = ""] = inside.split("\n");
  const models = lab.onHost(`cat ${MODELS_MARK}`);
  return { pid, version, owned: `${mark} ${models}` };
}

const leftOvers = (lab: LabStack): string => lab.onHost(LEFT_OVERS);

/** Whether the service's answer is right. */
export async function answersRight(lab: LabStack): Promise<void> {
  expect(await ask(lab.endpoint(), "What is 2 and 2?")).toMatch(/\b(4|four)\b/i);
}

/** The next `up`, which must go through, and what it leaves. */
export async function expectConverged(lab: LabStack, options: readonly string[] = []): Promise<Result> {
  const result = lab.deploy(...options);
  lab.untilHealthy();
  await answersRight(lab);
  const preview = lab.pulumi("preview", "--expect-no-changes");
  if (preview.status !== 0) throw new Error(`the preview after the next up has changes:\n${preview.output}`);
  expect(leftOvers(lab)).toBe("");
  return result;
}

let requests = 20;

/** Declares another number of requests for the service: the smallest change that restarts it. Returns the number. */
export function changeService(lab: LabStack): number {
  requests += 1;
  lab.edit((file) => {
    (file.services?.qwen as Record<string, unknown>).maxRunningRequests = requests;
  });
  return requests;
}
