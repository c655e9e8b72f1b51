#!/usr/bin/env bash
# driver.sh WORK TOOLCHAIN HOST TEMPLATE VERSION...: WORK/NVIDIA-Linux-x86_64-VERSION.run for each driver version.
set -euo pipefail
layers="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$layers/scratch.sh"
work="$1"
root="$work/scratch/root"

scratch_open "$work" "${@:2:3}"
cp -r "$layers/../driver" "$root/driver"
for version in "${@:5}"; do
  "$layers/in-root" "$root" /driver/build-installer "$version" /driver/output
done
mv "$root/driver/output/"*.run "$work/"
scratch_close "$work"
