import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { LabStack } from "../lab/stack/lab-stack";

/** A command on the host without SSH, as from its console. */
export function onConsole(lab: LabStack, command: string): void {
  const init = readFileSync(join(lab.folder, "run/hosts/pve1/init.pid"), "utf8").trim();
  const result = spawnSync("nsenter", ["--target", init, "--all", "bash", "-c", command], {
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`${command}\n${result.stderr}`);
}

/** Nobody can log in any more; sessions that are there go on. */
export function refuseConnections(lab: LabStack): void {
  onConsole(lab, "systemctl stop ssh");
}

export function acceptConnections(lab: LabStack): void {
  onConsole(lab, "systemctl start ssh");
}

/** Ends every session. */
export function cutConnections(lab: LabStack): void {
  onConsole(lab, "systemctl stop ssh; pkill -9 -x sshd; systemctl start ssh");
}

/** The lab fails when units of the host have failed after it; those may be the fault's. */
export function reboot(lab: LabStack): void {
  lab.tryLab("reboot", "pve1");
  lab.onHost("true");
}

export function losePower(lab: LabStack): void {
  lab.lab("kill", "pve1");
  lab.tryLab("start", "pve1");
  lab.onHost("true");
}

/** Tells the server in the container how to behave; nothing for well. */
export function behave(lab: LabStack, how?: object): void {
  lab.onHost(
    how === undefined
      ? "pct exec 129 -- rm -f /etc/lab/sglang.json"
      : `echo '${JSON.stringify(how)}' >/tmp/sglang.json && pct exec 129 -- mkdir -p /etc/lab && pct push 129 /tmp/sglang.json /etc/lab/sglang.json --perms 644`,
  );
}

/** What the model hub does wrong from now on; nothing for a hub without faults. */
export function hub(lab: LabStack, ...rules: object[]): void {
  writeFileSync(join(lab.folder, "hub-faults.json"), JSON.stringify(rules));
}

/** What the API of Proxmox VE does wrong from now on; nothing for an API without faults. */
export function api(lab: LabStack, ...rules: object[]): void {
  lab.onHost(`echo '${JSON.stringify(rules)}' >/etc/lab/api-faults.json`);
}

type Service = "apt-relay" | "package-index" | "model-hub" | "file-server";

/** Lets a service of the lab stand still (SIGSTOP), so that what asks it is met in its middle, and go on. */
export function signalService(lab: LabStack, service: Service, signal: NodeJS.Signals): void {
  process.kill(Number(readFileSync(join(lab.folder, "run/services", `${service}.pid`), "utf8")), signal);
}

/** Ends a service of the lab, on which the network's address then refuses connections. */
export function stopService(lab: LabStack, service: Service): void {
  signalService(lab, service, "SIGKILL");
}

/** Starts again what was ended. The lab also tells of units of the host that have failed: those of the fault. */
export function startServices(lab: LabStack): void {
  lab.tryLab("up");
}

/** Puts a full disk in the place of a folder, with what is in it. `where` is a command that runs a shell there. */
export function fillDisk(lab: LabStack, where: "bash -c" | "pct exec 129 -- bash -c", folder: string): void {
  const script = `mkdir -p ${folder} && cp -a ${folder} /tmp/kept && mount -t tmpfs -o size=8m tmpfs ${folder} && cp -a /tmp/kept/. ${folder}/ && rm -r /tmp/kept && { dd if=/dev/zero of=${folder}/.filler bs=64k 2>/dev/null; true; }`;
  lab.onHost(`${where} "${script}"`);
}

/** What was written to the full disk meanwhile stays. */
export function freeDisk(lab: LabStack, where: Parameters<typeof fillDisk>[1], folder: string): void {
  const script = `rm ${folder}/.filler && cp -a ${folder} /tmp/kept && umount ${folder} && cp -a /tmp/kept/. ${folder}/ && rm -r /tmp/kept`;
  lab.onHost(`${where} "${script}"`);
}
