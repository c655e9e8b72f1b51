# shellcheck shell=bash
# A throw-away copy of the toolchain's layers, to build something in. To be sourced by the layer scripts.

source "$(dirname "${BASH_SOURCE[0]}")/overlay.sh"

# scratch_open WORK LAYER...: mounts WORK/scratch/root over the trees of the LAYERs, topmost first.
scratch_open() {
  local work="$1"
  shift
  overlay_open "$work/scratch" "${@/%//tree}"
}

# scratch_close WORK: unmounts it and throws away what was built in it.
scratch_close() {
  overlay_close "$1/scratch"
  rm -rf "$1/scratch"
}
