import { TestLab } from "./test-lab";

jest.setTimeout(900_000);

const version = "580.105.08";
const installer = `NVIDIA-Linux-x86_64-${version}.run`;
const firstUuid = "GPU-3c1f7a52-6a0e-4d1b-9f57-0b8d2e41a6c1";
const secondUuid = "GPU-8e05d9b4-21c7-4f3a-a2e8-5d6b90f7c3d2";
const template = "debian-12-standard_12.12-1_amd64.tar.zst";

// One host from bare to a container with a GPU; the tests depend on each other and run in order, as a person would go.
describe("the driver on a lab host", () => {
  const lab = new TestLab();
  const host = (script: string) => lab.shell("pve1", script);
  const files = `http://${lab.subnet}.1:8080`;

  beforeAll(() => lab.ok("up"));
  afterAll(() => {
    lab.end();
  });

  test("starts with nouveau on both cards, and without driver, compiler and headers", () => {
    const result = host(
      "lsmod; lspci -nnk -d 10de:2230; nvidia-smi; which gcc dkms; ls /lib/modules/*/build",
    );
    expect(result.stdout).toMatch(/^nouveau /m);
    expect(result.stdout.match(/Kernel driver in use: nouveau/g)).toHaveLength(2);
    expect(result.stdout).toContain("nvidia-smi: command not found");
    expect(result.stdout).not.toContain("/usr/bin/gcc");
    expect(result.stdout).toContain("build': No such file");
  });

  test("the installer file is offered with its checksum and is intact", () => {
    const result = host(
      `cd /root && curl -sfO ${files}/nvidia/${installer} && sha256sum ${installer} && sh ${installer} --check`,
    );
    expect(result.stdout).toContain("OK");
    const offered = lab.ok("shell", "pve1", `cat /root/${installer} | sha256sum`).slice(0, 64);
    expect(result.stdout).toContain(offered);
  });

  test("a damaged installer file is refused", () => {
    const result = host(`cp /root/${installer} /tmp/x.run && printf x >>/tmp/x.run && sh /tmp/x.run --check`);
    expect(result.status).toBe(2);
    expect(result.stdout).toContain("Error in MD5 checksums");
  });

  test("the installer refuses without a compiler", () => {
    const result = host(`sh /root/${installer} --silent --ui=none`);
    expect(result.status).toBe(1);
    expect(result.stdout).toContain("please make sure that you have the package 'gcc' installed");
  });

  test("apt installs headers of the running kernel and DKMS through the relay", () => {
    const result = host(
      "apt-get update -qq && apt-get install -y -qq --no-install-recommends dkms proxmox-headers-$(uname -r) && ls -d /lib/modules/*/build/",
    );
    expect(result.status).toBe(0);
    expect(result.stdout).toContain("/lib/modules/6.8.12-4-pve/build/");
  });

  test("the installer refuses while nouveau is loaded, and leaves nothing installed", () => {
    const result = host(
      `sh /root/${installer} --silent --dkms --no-questions --ui=none; echo status $?; dkms status`,
    );
    expect(result.stdout).toContain("Nouveau kernel driver is in use");
    expect(result.stdout).toContain("status 1");
    expect(result.stdout).not.toContain("nvidia/");
  });

  test("a blacklist outside the initramfs does not keep nouveau away", () => {
    host("rm -f /etc/modprobe.d/nvidia-installer-*.conf /usr/lib/modprobe.d/nvidia-installer-*.conf");
    host("printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' >/etc/modprobe.d/blacklist-nouveau.conf");
    lab.ok("reboot", "pve1");
    expect(host("lsmod").stdout).toMatch(/^nouveau /m);
  });

  test("a blacklist inside the initramfs does", () => {
    expect(host("update-initramfs -u -k all").status).toBe(0);
    lab.ok("reboot", "pve1");
    expect(host("lsmod").stdout).not.toContain("nouveau");
  });

  test.each(["--kernel-module-types=open", "-M", "--ui=qt", "--silent=yes"])(
    "the installer refuses the command line %s",
    (option) => {
      const result = host(`sh /root/${installer} ${option}`);
      expect(result.status).toBe(1);
      expect(result.stdout).toContain("Invalid commandline");
    },
  );

  test("an installer before 555 does not know --kernel-module-type, but -m", () => {
    const old = "NVIDIA-Linux-x86_64-550.163.01.run";
    const result = host(
      `cd /root && curl -sfO ${files}/nvidia/${old} && sh ${old} --silent --kernel-module-type=open; echo type $?
       sh ${old} --silent --ui=none -m=kernel-closed; echo directory $?`,
    );
    expect(result.stdout).toContain("Invalid commandline");
    expect(result.stdout).toContain("type 1");
    expect(result.stdout).toContain("unknown kernel module build directory 'kernel-closed'");
  });

  test("the installer builds the modules through DKMS and loads them", () => {
    const result = host(
      `sh /root/${installer} --silent --dkms --no-questions --ui=none --kernel-module-type=open && dkms status && lsmod`,
    );
    expect(result.status).toBe(0);
    expect(result.stdout).toContain(`nvidia/${version}, 6.8.12-4-pve, x86_64: installed`);
    expect(result.stdout).toMatch(/^nvidia_uvm /m);
    expect(host("cat /proc/driver/nvidia/version /sys/module/nvidia/version").stdout).toMatch(
      new RegExp(`Open Kernel Module for x86_64 {2}${version}[^]*\n${version}`),
    );
  });

  test("after a reboot the module is there and every device node is gone", () => {
    host("nvidia-smi -L; nvidia-modprobe -u -c0");
    expect(host("ls /dev").stdout).toContain("nvidia-uvm-tools");
    lab.ok("reboot", "pve1");
    const result = host("lsmod; ls /dev; cat /proc/driver/nvidia/gpus/*/information");
    expect(result.stdout).toMatch(/^nvidia /m);
    expect(result.stdout).not.toMatch(/^nvidia-uvm$|^nvidia0$|^nvidiactl$/m);
    expect(result.stdout).toContain("GPU-????????");
  });

  test("nvidia-smi makes the cards' nodes, not those of uvm, and then the UUIDs are known", () => {
    const query = "index,uuid,name,pci.bus_id,memory.total,driver_version";
    const result = host(`nvidia-smi --query-gpu=${query} --format=csv,noheader; ls /dev`);
    expect(result.stdout).toContain(
      `0, ${firstUuid}, NVIDIA RTX A6000, 00000000:41:00.0, 49140 MiB, ${version}`,
    );
    expect(result.stdout).toMatch(/^nvidia1$/m);
    expect(result.stdout).not.toMatch(/^nvidia-uvm$/m);
    expect(host("cat /proc/driver/nvidia/gpus/0000:41:00.0/information").stdout).toContain(firstUuid);
  });

  test("a program that holds a card is accounted for and keeps the module in use", () => {
    const result = host(
      `lab-cuda 4000 5 & sleep 1
       nvidia-smi --query-compute-apps=gpu_uuid,used_memory --format=csv,noheader,nounits
       nvidia-smi --query-gpu=memory.used --format=csv,noheader
       modprobe -r nvidia-uvm; echo remove $?
       sh /root/${installer} --silent --dkms --ui=none; echo install $?
       kill %1`,
    );
    expect(result.stdout).toContain(`${secondUuid}, 4000`);
    expect(result.stdout).toContain("4000 MiB");
    expect(result.stdout).toContain("Module nvidia_uvm is in use");
    expect(result.stdout).toContain("remove 1");
    expect(result.stdout).toContain("appears to be loaded and in use");
    expect(result.stdout).toContain("install 1");
  });

  test("a container with one card's nodes sees that card alone", () => {
    const create = host(
      `curl -sf -o /var/lib/vz/template/cache/${template} ${files}/template/${template} &&
       nvidia-modprobe -u -c0 &&
       pct create 129 local:vztmpl/${template} --hostname ml --unprivileged 1 --features nesting=1 \
         --rootfs local-lvm:8 --net0 name=eth0,bridge=vmbr0,ip=${lab.subnet}.129/24,gw=${lab.subnet}.1 \
         --dev0 /dev/nvidia1,mode=0666 --dev1 /dev/nvidiactl,mode=0666 --dev2 /dev/nvidia-uvm,mode=0666 \
         --dev3 /dev/nvidia-uvm-tools,mode=0666 >/dev/null &&
       pct start 129 &&
       for attempt in $(seq 100); do
         # A booting container empties its /tmp.
         pct exec 129 -- systemctl is-system-running --wait 2>&1 | grep -qx running && break
         sleep 0.1
       done &&
       pct push 129 /root/${installer} /root/driver.run &&
       pct exec 129 -- sh /root/driver.run --silent --ui=none --no-kernel-modules`,
    );
    expect(create.stdout + create.status).toMatch(/0$/);
    const list = host("pct exec 129 -- nvidia-smi -L");
    expect(list.stdout).toBe(`GPU 0: NVIDIA RTX A6000 (UUID: ${secondUuid})\n`);
    expect(host("pct exec 129 -- lab-cuda").stdout).toBe(`cuda:0 NVIDIA RTX A6000 ${secondUuid}\n`);
  });

  test("CUDA in the container fails as the real one does: 100, 999 and 803", () => {
    const hidden = host("pct exec 129 -- env CUDA_VISIBLE_DEVICES=-1 lab-cuda");
    expect(hidden.stdout).toContain("CUDA error 100");
    const withoutUvm = host(
      "pct exec 129 -- bash -c 'umount /dev/nvidia-uvm && rm -f /dev/nvidia-uvm; lab-cuda'",
    );
    expect(withoutUvm.stdout).toContain("CUDA error 999");
    const other = host(
      `pct push 129 /root/NVIDIA-Linux-x86_64-550.163.01.run /root/other.run &&
       pct exec 129 -- sh /root/other.run --silent --ui=none --no-kernel-modules
       pct exec 129 -- lab-cuda; pct exec 129 -- nvidia-smi; echo status $?`,
    );
    expect(other.stdout).toContain("CUDA error 803");
    expect(other.stdout).toContain("Driver/library version mismatch");
    expect(other.stdout).toContain("status 18");
  });

  test("a newer kernel gets the modules through DKMS and is booted", () => {
    const newer = "6.8.12-8-pve";
    const result = host(
      `apt-get install -y -qq --no-install-recommends proxmox-headers-${newer} proxmox-kernel-${newer} && dkms status`,
    );
    expect(result.stdout).toContain(`nvidia/${version}, ${newer}, x86_64: installed`);
    lab.ok("reboot", "pve1");
    expect(host("uname -r").stdout).toBe(`${newer}\n`);
    expect(host("lsmod").stdout).toMatch(/^nvidia /m);
  });

  test("another driver version takes the place of the installed one, and the uninstaller leaves nothing", () => {
    const next = "NVIDIA-Linux-x86_64-590.48.01.run";
    const result = host(
      `pct stop 129; cd /root && curl -sfO ${files}/nvidia/${next} &&
       sh ${next} --silent --dkms --no-questions --ui=none --kernel-module-type=proprietary && dkms status && cat /proc/driver/nvidia/version`,
    );
    expect(result.status).toBe(0);
    expect(result.stdout).toContain("nvidia/590.48.01, 6.8.12-8-pve, x86_64: installed");
    expect(result.stdout).not.toContain(`nvidia/${version}`);
    expect(result.stdout).toContain("NVIDIA UNIX x86_64 Kernel Module  590.48.01");
    const removed = host(
      "nvidia-uninstall --silent; dkms status; lsmod; ls /usr/bin/nvidia* /usr/lib/x86_64-linux-gnu/libcuda*",
    );
    expect(removed.stdout).not.toMatch(/nvidia\/|^nvidia /m);
    expect(removed.stdout).toContain("cannot access '/usr/bin/nvidia*'");
  });

  test("Secure Boot refuses the unsigned module", () => {
    const result = host(
      `touch /etc/lab/secureboot; mokutil --sb-state; sh /root/${installer} --silent --dkms --ui=none; echo status $?; dmesg | tail -n 1`,
    );
    expect(result.stdout).toContain("SecureBoot enabled");
    expect(result.stdout).toContain("unable to load the kernel module");
    expect(result.stdout).toContain("status 1");
    expect(result.stdout).toContain("Loading of unsigned module is rejected");
  });

  test("Blackwell cards refuse the proprietary modules and take the open ones", () => {
    host("rm /etc/lab/secureboot");
    lab.ok("inventory", "pve1", "8x-rtxpro6000");
    lab.ok("reboot", "pve1");
    const options = "--silent --dkms --no-questions --ui=none";
    const refused = host(
      `sh /root/${installer} ${options} --kernel-module-type=proprietary; echo status $?; cat /var/log/nvidia-installer.log; dkms status`,
    );
    expect(refused.stdout).toContain("status 1");
    expect(refused.stdout).toContain("requires use of the NVIDIA open kernel modules");
    expect(refused.stdout).not.toContain("x86_64: installed");
    const taken = host(`sh /root/${installer} ${options} --kernel-module-type=open && nvidia-smi -L`);
    expect(taken.stdout.match(/RTX PRO 6000 Blackwell/g)).toHaveLength(8);
  });
});
