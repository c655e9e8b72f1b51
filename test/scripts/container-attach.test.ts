import { existsSync, readFileSync, symlinkSync } from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

const CONFIGURATION = [
  "cores: 2",
  "features: nesting=1",
  "hostname: ml",
  "memory: 4096",
  "mp0: /srv/models,mp=/models,backup=0",
  "net0: name=eth0,bridge=vmbr0,firewall=1,ip=192.0.2.129/24,gw=192.0.2.1",
  "rootfs: local-lvm:vm-129-disk-0,size=16G",
  "swap: 512",
  "unprivileged: 1",
];

let host: Sandbox;

/** A running container as somebody made it; `inside` is what it has of what it was given. */
function container(lines: readonly string[], inside: readonly string[]): void {
  host.write("129.conf", `${lines.join("\n")}\n`);
  host.write("inside", `${inside.join("\n")}\n`);
}

beforeEach(() => {
  host = new Sandbox();
  host.command(
    "pct",
    `cd ${host.folder}
case $1 in
  config) cat 129.conf ;;
  *) echo "$*" >>log; cp after 129.conf 2>/dev/null; sed -i 's/^mount .*/mount \\/models/' inside ;;
esac`,
  );
  host.command("lxc-info", "echo RUNNING");
  host.command(
    "lxc-attach",
    `cd ${host.folder}; if [[ $* == *is-system-running* ]]; then echo running; else echo; cat inside; fi`,
  );
  host.command("systemctl", "exit 0");
});
afterEach(() => {
  host.remove();
});

const log = () => (existsSync(host.path("log")) ? readFileSync(host.path("log"), "utf8") : "");

/** The step as a stack runs it for that container. */
function attach(access: "rw" | "ro" = "rw", cards = "") {
  const script = scriptText("host/container-attach.sh")
    .replace("/usr/local/lib/proxmox-gpu-stack/gpu-nodes", host.path("gpu-nodes"))
    .replace("/etc/systemd/system/", host.path("units/"))
    .replace(/^CONFIGURATION=.*$/m, `CONFIGURATION=${host.path("containers")}`);
  const args = [
    "id=129",
    `cards=${cards}`,
    "deviceMode=0666",
    `mounts=/srv/models:/models:${access}`,
    "unprivileged=1",
    "storage=local-lvm",
    "cores=2",
    "memory=4096",
    "swap=512",
    "hostname=ml",
    "address=192.0.2.129/24",
  ];
  const prelude = `declare -A SECRETS=() FILES=([guard]=guard)
install() { [[ $1 != -d ]] || mkdir -p "\${@: -1}"; }`;
  return host.step(["step", "files", "container-locks", "in-container"], script, args, prelude);
}

it("leaves a container alone that has all that is declared, and more", () => {
  container(CONFIGURATION, ["mount /models", "cards 0"]);
  expect(attach()).toMatchObject({ status: 0, json: { changed: false } });
  expect(log()).toBe("");
});

it("declares the cards of one that runs with them, without a restart", () => {
  container(
    [...CONFIGURATION, "dev0: /dev/nvidia0,mode=0666"],
    ["mount /models", "device /dev/nvidia0 c3:0 0666", "cards 1"],
  );
  host.write("units/pve-container@129.service.d/keep", "");
  host.write("containers/keep", "");
  host.command("stat", "echo /dev/nvidia0 c3:0");
  host.command("gpu-nodes-tool", "exit 0");
  symlinkSync(host.path("bin/gpu-nodes-tool"), host.path("gpu-nodes"));
  const { status, stderr, json } = attach("rw", "left:GPU-1");
  expect({ status, json }).toMatchObject({ status: 0, json: { changed: true } });
  expect(stderr).toContain("container 129 has its devices, mounts and nesting: it keeps running");
  expect(log()).toBe("");
  expect(readFileSync(host.path("containers/129"), "utf8")).toBe("0666\nleft\n");
});

it("restarts one whose mount is to be read-only, once, and says so before", () => {
  container(CONFIGURATION, ["mount /models", "cards 0"]);
  host.write("after", CONFIGURATION.join("\n").replace(",backup=0", ",ro=1"));
  const { status, stderr } = attach("ro");
  expect(status).toBe(0);
  expect(stderr).toContain("stopping container 129: its devices, mounts or features change");
  expect(log().match(/^(shutdown|start) /gm)).toEqual(["shutdown ", "start "]);
});

it("changes all mounts by one command, so that a host that goes down leaves it with the old or with the new", () => {
  const others = [
    "mp1: local-lvm:vm-129-disk-1,mp=/data,size=8G",
    "mp2: /srv/old,mp=/old",
    "mp10: /srv/older,mp=/older",
  ];
  container([...CONFIGURATION, ...others], ["mount /models", "cards 0"]);
  host.write("after", [...CONFIGURATION, others[0]].join("\n").replace(",backup=0", ",ro=1"));
  expect(attach("ro").status).toBe(0);
  expect(log().match(/^set .*/gm)).toEqual(["set 129 --mp0 /srv/models,mp=/models,ro=1 --delete mp2,mp10"]);
});

it("restarts one that does not have yet what its configuration says", () => {
  container(CONFIGURATION, ["mount /other", "cards 0"]);
  expect(attach().status).toBe(0);
  expect(log().match(/^(shutdown|start) /gm)).toEqual(["shutdown ", "start "]);
});

it("refuses settings that Proxmox VE has not taken before anything is stopped", () => {
  container(
    CONFIGURATION.map((line) => line.replace("memory: 4096", "memory: 2048")),
    ["mount /models", "cards 0"],
  );
  const { status, stderr } = attach();
  expect(status).toBe(1);
  expect(stderr).toContain("memory is '2048', the plan says 4096");
  expect(log()).toBe("");
});
