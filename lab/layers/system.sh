#!/usr/bin/env bash
# system.sh WORK KERNEL HOST TEMPLATE: the topmost layer of a host: the Proxmox stand-ins, the kernel with its
# simulated part, the lab's keys.
set -euo pipefail
layers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
lab="$(dirname "$layers")"
source "$layers/overlay.sh"
work="$1"
kernel="$2"
host="$3"
template="$4"

overlay_open "$work" "$host/tree" "$template/tree"
root="$work/root"
mkdir -p "$root/etc/lab" "$root/usr/local/lib/lab" "$root/var/lib/lab" "$root/etc/systemd/system/sysinit.target.wants"

# Local repository of the kernel packages, and the installed kernel.
cp -r "$kernel/repository" "$root/var/lib/lab/repository"
echo 'deb [trusted=yes] file:/var/lib/lab/repository ./' >"$root/etc/apt/sources.list.d/lab-kernels.list"
mkdir -p "$root/usr/share/initramfs-tools/hooks"
install -m 755 "$lab/gpu/kernel/initramfs-hook" "$root/usr/share/initramfs-tools/hooks/lab-nouveau"

# The simulated part of the kernel.
cp -r "$lab/gpu/labkernel" "$root/usr/local/lib/lab/"
install -m 755 "$lab/gpu/commands/lab-kernel" "$root/usr/local/lib/lab/"
install -m 644 "$kernel/libuname.so" "$root/usr/local/lib/lab/"
install -m 644 "$lab/gpu/kernel/lab-kernel.service" "$root/etc/systemd/system/"
ln -sf ../lab-kernel.service "$root/etc/systemd/system/sysinit.target.wants/"
install -D -m 644 "$lab/gpu/kernel/99-lab-lxc.conf" "$root/usr/share/lxc/config/common.conf.d/99-lab.conf"
install -m 644 "$lab/inventory/2x-a6000.json" "$root/etc/lab/gpus.json"
install -m 755 "$lab/gpu/commands/mokutil" "$root/usr/sbin/"

# Keys: fixed, so that the configuration of a stack can hold them.
rm -f "$root"/etc/ssh/ssh_host_*
install -m 600 "$lab/keys/host_ed25519" "$root/etc/ssh/ssh_host_ed25519_key"
install -m 644 "$lab/keys/host_ed25519.pub" "$root/etc/ssh/ssh_host_ed25519_key.pub"
install -D -m 600 "$lab/keys/client_ed25519.pub" "$root/root/.ssh/authorized_keys"
chmod 700 "$root/root/.ssh"

"$lab/pve/install" "$root"

# shellcheck disable=SC2016 # expanded inside the root
without_services "$root" bash -euc '
  # dmesg, modprobe and the others give way to the lab'\''s, and package upgrades leave them alone.
  for command in /sbin/modprobe /sbin/insmod /sbin/rmmod /bin/lsmod /sbin/lsmod /bin/dmesg; do
    dpkg-divert --quiet --local --rename --add "$command" 2>/dev/null
  done
  for command in sbin/modprobe sbin/insmod sbin/rmmod bin/lsmod sbin/lsmod; do
    ln -sf /usr/local/lib/lab/lab-kernel "/usr/$command"
  done
  python3 -m compileall -q /usr/local/lib/lab
  echo /usr/local/lib/lab/libuname.so >/etc/ld.so.preload
  apt-get update -qq -o Dir::Etc::sourcelist=/dev/null
  apt-get install -y -qq proxmox-default-kernel >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }
  rm -rf /tmp/apt.log /var/lib/apt/lists/*
'
install -m 755 "$lab/gpu/commands/dmesg" "$root/usr/bin/dmesg"

overlay_close "$work"
