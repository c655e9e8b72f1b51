#!/usr/bin/env bash
# host.sh WORK TEMPLATE: the layer of a Proxmox-like host's ordinary Debian packages and settings, on top of the template.
# As on a fresh Proxmox VE host there is no compiler, no DKMS and no kernel header: the product has to install them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/overlay.sh"
work="$1"
template="$2"

overlay_open "$work" "$template/tree"
root="$work/root"

# Only the modules that are asked for: there is no hardware to boot on, and a small initramfs is made in a second.
mkdir -p "$root/etc/initramfs-tools/conf.d" "$root/etc/dpkg/dpkg.cfg.d"
printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$root/etc/initramfs-tools/conf.d/lab.conf"
# Manuals cost a third of the installation time of a package on the lab; fsync costs more.
printf 'force-unsafe-io\npath-exclude=/usr/share/man/*\npath-exclude=/usr/share/doc/*\npath-exclude=/usr/share/locale/*\n' \
  >"$root/etc/dpkg/dpkg.cfg.d/lab"

install_packages "$root" lxc uidmap initramfs-tools zstd xz-utils bzip2 pciutils openssl bridge-utils rsync

# Units that would touch hardware or a network which the machine underneath, not the host, owns.
units=(
  networking.service lxc-net.service lxc-monitord.service e2scrub_reap.service systemd-udevd.service
  systemd-udev-trigger.service systemd-sysctl.service systemd-remount-fs.service console-getty.service getty@.service
  modprobe@.service sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount dev-hugepages.mount
  sys-fs-fuse-connections.mount apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer
  systemd-udevd-kernel.socket systemd-udevd-control.socket
)
for unit in "${units[@]}"; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

echo 'USE_LXC_BRIDGE="false"' >"$root/etc/default/lxc-net"
printf 'lxc.net.0.type = empty\nlxc.apparmor.profile = unconfined\n' >"$root/etc/lxc/default.conf"
grep -q '^root:100000:' "$root/etc/subuid" || echo root:100000:65536 >>"$root/etc/subuid"
grep -q '^root:100000:' "$root/etc/subgid" || echo root:100000:65536 >>"$root/etc/subgid"

overlay_close "$work"
