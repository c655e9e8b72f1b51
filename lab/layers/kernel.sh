#!/usr/bin/env bash
# kernel.sh WORK TOOLCHAIN HOST TEMPLATE KERNEL...: what makes a lab host run "Proxmox kernels".
#   WORK/repository/    kernel, headers and meta packages, as a local apt repository; the meta packages follow the first KERNEL
#   WORK/libuname.so    preloaded on hosts, so that uname tells the host's kernel
set -euo pipefail
layers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$layers/overlay.sh"
work="$1"
toolchain="$2"
host="$3"
template="$4"
shift 4

# Everything happens in a throw-away copy of the toolchain.
scratch="$work/scratch"
overlay_open "$scratch" "$toolchain/tree" "$host/tree" "$template/tree"
mkdir "$scratch/root/kernel"
cp "$layers/../gpu/kernel/"*.c "$layers/build-kernel-packages" "$scratch/root/kernel/"
"$layers/in-root" "$scratch/root" /kernel/build-kernel-packages "$@"
mv "$scratch/root/kernel/output/"* "$work/"
overlay_close "$scratch"
rm -rf "$scratch"
