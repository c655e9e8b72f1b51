import { existsSync, readFileSync, utimesSync } from "node:fs";

import { scriptText } from "../../plan/script";
import { Sandbox } from "./bash";

let sandbox: Sandbox;
beforeEach(() => {
  sandbox = new Sandbox();
});
afterEach(() => {
  sandbox.remove();
});

/** What a function of the kernel step prints on a host whose apt offers these packages. */
function printed(call: string, offered: readonly string[]): string {
  sandbox.command(
    "apt-cache",
    `case " ${offered.join(" ")} " in *" $2 "*) echo "  Candidate: 1.0" ;; *) echo "  Candidate: (none)" ;; esac`,
  );
  const script = `${scriptText("host/kernel.sh")}
step_check() { :; }
step_facts() { fact answer "$(${call})"; }`;
  const result = sandbox.step(["step", "files", "packages", "nvidia", "gpu-users", "reboot"], script);
  return String(result.json.answer);
}

describe("names of header packages", () => {
  it.each([
    ["Proxmox VE 7", "5.15.158-2-pve", "pve-headers-5.15.158-2-pve", "pve-headers-5.15"],
    ["Proxmox VE 8", "6.8.12-4-pve", "proxmox-headers-6.8.12-4-pve", "proxmox-headers-6.8"],
    [
      "Proxmox VE 8, opt-in kernel",
      "6.14.8-2-bpo12-pve",
      "proxmox-headers-6.14.8-2-bpo12-pve",
      "proxmox-headers-6.14",
    ],
    ["Proxmox VE 9", "6.17.2-1-pve", "proxmox-headers-6.17.2-1-pve", "proxmox-headers-6.17"],
    ["Proxmox VE 9.2", "7.0.14-1-pve", "proxmox-headers-7.0.14-1-pve", "proxmox-headers-7.0"],
  ])("of %s: those of kernel %s, and those of its series", (_, kernel, headers, series) => {
    const offered = [headers, series];
    expect(printed(`headers_package ${kernel}`, offered)).toBe(headers);
    expect(printed(`series_package ${kernel}`, offered)).toBe(series);
  });

  it("are none where apt only mentions them", () => {
    expect(printed("headers_package 6.8.12-4-pve", [])).toBe("");
  });
});

describe("lines that load nouveau in spite of a blacklist", () => {
  it.each([
    ["modprobe.d", "alias pci:v000010DEd*sv*sd*bc03sc*i* nouveau", true],
    ["modprobe.d", "install nouveau /sbin/modprobe --ignore-install nouveau", true],
    ["modprobe.d", "softdep snd_hda_intel pre: nouveau", true],
    ["modprobe.d", "install nouveau /bin/false", false],
    ["modprobe.d", "install nouveau /usr/bin/true", false],
    ["modprobe.d", "options nouveau modeset=1", false],
    ["modprobe.d", "# alias display nouveau", false],
    ["modules-load.d", "nouveau", true],
    ["modules-load.d", "  nouveau modeset=1", true],
    ["modules-load.d", "#nouveau", false],
    ["modules-load.d", "nouveau_other", false],
  ])("in %s: %s", (folder, line, found) => {
    const path = sandbox.write(`etc/${folder}/a.conf`, `${line}\n`);
    const library = scriptText("lib/nvidia.sh").replaceAll("/etc/", `${sandbox.folder}/etc/`);
    const result = sandbox.step(
      ["step"],
      `${library}\nstep_check() { :; }\nstep_facts() { fact lines "$(nouveau_loaders)"; }`,
    );
    expect(result.json.lines).toBe(found ? `${path}:1:${line}` : "");
  });
});

describe("a kernel's initramfs", () => {
  const KERNEL = "6.8.12-4-pve";

  beforeEach(() => {
    sandbox.write("etc/modprobe.d/blacklist-nouveau.conf", "blacklist nouveau\n");
    sandbox.write(`boot/initrd.img-${KERNEL}`, "an image");
    holds("main/etc/modprobe.d/blacklist-nouveau.conf");
    age("etc/modprobe.d/blacklist-nouveau.conf", 100);
  });

  /** What is packed into the image. */
  const holds = (...paths: string[]) =>
    sandbox.command("lsinitramfs", `echo read >>${sandbox.path("log")}; printf '%s\\n' ${paths.join(" ")}`);

  function age(name: string, seconds: number): void {
    const then = Date.now() / 1000 - seconds;
    utimesSync(sandbox.path(name), then, then);
  }

  function looked(): { blacklists: boolean; unpacked: number } {
    const script = scriptText("host/kernel.sh").replaceAll(
      /\/(boot|etc|run|usr\/lib)\//g,
      (folder) => `${sandbox.folder}${folder}`,
    );
    const answer = `step_check() { :; }
step_facts() { fact answer "$(initramfs_blacklists ${KERNEL} && echo yes || echo no)"; }`;
    const { json } = sandbox.step(
      ["step", "files", "packages", "nvidia", "gpu-users", "reboot"],
      `${script}\n${answer}`,
    );
    const log = sandbox.path("log");
    const unpacked = existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0;
    return { blacklists: json.answer === "yes", unpacked };
  }

  it("that blacklists nouveau is unpacked once, and again when it is another one", () => {
    expect(looked()).toEqual({ blacklists: true, unpacked: 1 });
    expect(looked()).toEqual({ blacklists: true, unpacked: 1 });
    sandbox.write(`boot/initrd.img-${KERNEL}`, "a new one");
    holds("main/etc/modprobe.d/other.conf");
    expect(looked()).toEqual({ blacklists: false, unpacked: 2 });
  });

  it("that does not blacklist nouveau is unpacked at every look", () => {
    holds("main/etc/modprobe.d/other.conf");
    expect(looked()).toEqual({ blacklists: false, unpacked: 1 });
    holds("main/etc/modprobe.d/blacklist-nouveau.conf");
    expect(looked()).toEqual({ blacklists: true, unpacked: 2 });
  });

  it("that is older than the blacklist is not believed, whatever was found in it", () => {
    expect(looked().blacklists).toBe(true);
    age("etc/modprobe.d/blacklist-nouveau.conf", -100);
    expect(looked()).toEqual({ blacklists: false, unpacked: 1 });
  });
});
