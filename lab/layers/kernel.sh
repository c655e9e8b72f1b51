#!/usr/bin/env bash
# kernel.sh WORK TOOLCHAIN HOST TEMPLATE KERNEL...: what makes a lab host run "Proxmox kernels".
#   WORK/repository/    kernel, headers and meta packages, as a local apt repository; the meta packages follow the first KERNEL
#   WORK/libuname.so    preloaded on hosts, so that uname tells the host's kernel
set -euo pipefail
layers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$layers/scratch.sh"
work="$1"
root="$work/scratch/root"

scratch_open "$work" "${@:2:3}"
mkdir "$root/kernel"
cp "$layers/../gpu/kernel/"*.c "$layers/build-kernel-packages" "$root/kernel/"
"$layers/in-root" "$root" /kernel/build-kernel-packages "${@:5}"
mv "$root/kernel/output/"* "$work/"
scratch_close "$work"
