#!/bin/bash
# Real cards in real LXC containers, with the device list that gpu-nodes computes on this machine.
#
#   test/gpu/passthrough.sh [FOLDER]     FOLDER: Debian packages of LXC (*.deb), unpacked over / where LXC is missing;
#                                        only for machines that are thrown away
#
# Needs root, an NVIDIA driver, cgroup v2, LXC 5, and a python3 with PyTorch. Each container has this machine's own files
# (an overlay over /), its own devices, and runs a CUDA computation on every card it sees:
#   all, unprivileged-all     every card: each computes
#   one, unprivileged-one     the second of two cards (or the only one): exactly that one is seen, by its UUID
#   no-uvm                    without the uvm nodes: nvidia-smi lists the card, CUDA fails
#   none                      without any node: nvidia-smi fails
# Prints "ok: …" or "FAILED: …" for each, then cards, driver and kernel. Exit 0 when all are ok, 77 when there is no GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
gpu_nodes=$here/../../scripts/tools/gpu-nodes
packages=${1:-}
failures=0

skip() {
  echo "skipped: $1"
  exit 77
}

[[ $EUID == 0 ]] || skip "needs root"
[[ -e /proc/driver/nvidia/version ]] || skip "there is no NVIDIA driver on this machine"
compgen -G '/proc/driver/nvidia/gpus/*/information' >/dev/null || skip "the NVIDIA driver shows no card"

if ! command -v lxc-execute >/dev/null; then
  [[ -n $packages ]] || skip "LXC is not installed, and no folder with its packages was named"
  for package in "$packages"/*.deb; do
    # Through links such as /lib, which a plain unpack would replace.
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C /
  done
  ldconfig
fi
command -v lxc-execute >/dev/null || skip "LXC could not be installed"

work=$(mktemp -d)
finish() {
  umount -R "$work" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
mount -t tmpfs tmpfs "$work"
mkdir -p "$work"/{up,overlay,root,configuration/containers} /var/lib/lxc
# Mapped users must pass the folders above the root.
chmod 755 "$work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/up,workdir=$work/overlay" "$work/root"

# What the product would write: cards by UUID, and the cards of each container.
export GPU_NODES_CONFIGURATION=$work/configuration
mapfile -t uuids < <(nvidia-smi --query-gpu=uuid --format=csv,noheader)
for index in "${!uuids[@]}"; do
  echo "card-$index ${uuids[$index]}"
done >"$work/configuration/cards"
last=$((${#uuids[@]} - 1))
{
  echo 0666
  for index in "${!uuids[@]}"; do echo "card-$index"; done
} >"$work/configuration/containers/all"
printf '0666\ncard-%s\n' "$last" >"$work/configuration/containers/one"

cat >"$work/up/compute.py" <<'PYTHON'
import torch

print("devices", torch.cuda.device_count())
for index in range(torch.cuda.device_count()):
    device = torch.device("cuda", index)
    left = torch.arange(4096 * 4096, dtype=torch.float32, device=device).reshape(4096, 4096) % 7
    total = (left @ torch.ones(4096, 1, device=device)).sum().item()
    expected = float((torch.arange(4096 * 4096, dtype=torch.float64) % 7).sum())
    print("computed", index, torch.cuda.get_device_name(index), abs(total - expected) / expected < 1e-3)
PYTHON

# configuration NAME MAPPED NODE…: what Proxmox VE writes for devN, in LXC's own words.
configuration() {
  local name=$1 mapped=$2 node major minor
  shift 2
  cat <<CONFIGURATION
lxc.rootfs.path = dir:$work/root
lxc.uts.name = $name
lxc.net.0.type = empty
lxc.net.0.flags = up
lxc.mount.auto = proc:mixed sys:mixed cgroup:mixed
lxc.autodev = 1
lxc.apparmor.profile = unconfined
lxc.cgroup.relative = 1
lxc.mount.entry = shm dev/shm tmpfs rw,create=dir 0 0
CONFIGURATION
  # The driver's libraries and PyTorch may be mounts of their own, which an overlay does not show.
  for node in /usr/local/nvidia /opt; do
    [[ ! -d $node ]] || echo "lxc.mount.entry = $node ${node#/} none rbind,ro,optional,create=dir"
  done
  if [[ $mapped == yes ]]; then
    echo "lxc.idmap = u 0 100000 65536"
    echo "lxc.idmap = g 0 100000 65536"
  else
    echo "lxc.cgroup2.devices.deny = a"
    for node in 1:* 5:* 136:*; do echo "lxc.cgroup2.devices.allow = c $node rwm"; done
  fi
  for node in "$@"; do
    # stat prints major and minor in hexadecimal.
    major=$((16#$(stat -c %t "$node"))) minor=$((16#$(stat -c %T "$node")))
    [[ $mapped == yes ]] || echo "lxc.cgroup2.devices.allow = c $major:$minor rw"
    echo "lxc.mount.entry = $node ${node#/} none bind,create=file"
  done
}

# inside NAME MAPPED NODE…: nvidia-smi and a computation in a container; the output is in $output.
inside() {
  local name=$1
  configuration "$@" >"$work/$name.conf"
  output=$(timeout 300 lxc-execute -n "passthrough-$name" -f "$work/$name.conf" -o "$work/$name.log" -l INFO -- \
    /bin/sh -c "PATH='$PATH' LD_LIBRARY_PATH='${LD_LIBRARY_PATH:-}' HOME=/tmp; export PATH LD_LIBRARY_PATH HOME
      nvidia-smi --query-gpu=uuid --format=csv,noheader; echo nvidia-smi-exit \$?
      '$(command -v python3)' /compute.py" 2>&1) || true
}

# expect WHAT PATTERN…: every pattern must be in the output.
expect() {
  local what=$1 pattern
  shift
  for pattern in "$@"; do
    if ! grep -qE -- "$pattern" <<<"$output"; then
      failures=$((failures + 1))
      printf 'FAILED: %s: no %s in:\n%s\n' "$what" "$pattern" "$output"
      # shellcheck disable=SC2012  # the newest log, for a person
      tail -n 5 "$(ls -t "$work"/*.log 2>/dev/null | head -n 1)" 2>/dev/null || true
      return
    fi
  done
  echo "ok: $what"
}

# A machine that is itself a container has its nodes already, and no tool to make them.
! command -v nvidia-modprobe >/dev/null || "$gpu_nodes" nodes
mapfile -t all < <("$gpu_nodes" paths all)
mapfile -t one < <("$gpu_nodes" paths one)
for mapped in no yes; do
  prefix=$(if [[ $mapped == yes ]]; then echo unprivileged-; fi)
  inside "${prefix}all" "$mapped" "${all[@]}"
  expect "${prefix}all: ${#uuids[@]} cards, each computes" "^devices ${#uuids[@]}\$" "^computed $last .*True\$"
  inside "${prefix}one" "$mapped" "${one[@]}"
  expect "${prefix}one: exactly ${uuids[$last]}, and it computes" "^devices 1\$" "^${uuids[$last]}\$" "^computed 0 .*True\$"
  if ((last > 0)) && grep -q "${uuids[0]}" <<<"$output"; then
    failures=$((failures + 1))
    echo "FAILED: ${prefix}one sees ${uuids[0]} too"
  fi
done
inside no-uvm no "${one[0]}" /dev/nvidiactl
expect "no-uvm: nvidia-smi lists the card, CUDA does not work" "^${uuids[$last]}\$" "nvidia-smi-exit 0" "^devices 0\$|CUDA unknown error|999"
inside none no
expect "none: nvidia-smi fails" "nvidia-smi-exit [1-9]" "^devices 0\$"

echo "cards: $(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | sed 's/^ *//' | paste -sd, -)"
echo "driver: $(sed -n 's/.*  \([0-9]\{3,\}\.[0-9.]*\)  .*/\1/p' /proc/driver/nvidia/version | head -n 1), kernel: $(uname -r), LXC: $(lxc-execute --version)"
((failures == 0))
