#!/usr/bin/env bash
# driver.sh WORK TOOLCHAIN HOST TEMPLATE VERSION...: WORK/NVIDIA-Linux-x86_64-VERSION.run for each driver version.
set -euo pipefail
layers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$layers/overlay.sh"
work="$1"
toolchain="$2"
host="$3"
template="$4"
shift 4

scratch="$work/scratch"
overlay_open "$scratch" "$toolchain/tree" "$host/tree" "$template/tree"
cp -r "$layers/../driver" "$scratch/root/driver"
for version in "$@"; do
  "$layers/in-root" "$scratch/root" /driver/build-installer "$version" /driver/output
done
mv "$scratch/root/driver/output/"*.run "$work/"
overlay_close "$scratch"
rm -rf "$scratch"
