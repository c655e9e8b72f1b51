# shellcheck shell=bash
# A layer in the making: an overlay mount whose upper folder becomes the layer. To be sourced by the layer scripts, which run in a
# mount namespace of their own, so that no mount outlives them.

# overlay_open WORK LOWER...: mounts WORK/root over the LOWER trees, topmost first; changes land in WORK/tree.
overlay_open() {
  local work="$1"
  shift
  mkdir -p "$work/tree" "$work/overlay-work" "$work/root"
  local lower
  lower="$(
    IFS=:
    echo "$*"
  )"
  # volatile: no flush to the disk at unmount. An interrupted build is thrown away anyway.
  mount -t overlay overlay -o "volatile,lowerdir=$lower,upperdir=$work/tree,workdir=$work/overlay-work" "$work/root"
}

# overlay_close WORK: unmounts; WORK/tree is the layer.
overlay_close() {
  umount "$1/root"
  rm -rf "$1/overlay-work" "$1/root"
}

# without_services ROOT COMMAND...: runs COMMAND in ROOT with services kept from starting, as package scripts would do.
without_services() {
  local root="$1"
  shift
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  local resolv_conf=/etc/resolv.conf
  cp "$resolv_conf" "$root/etc/resolv.conf"
  "$(dirname "${BASH_SOURCE[0]}")/in-root" "$root" "$@"
  rm -f "$root/usr/sbin/policy-rc.d"
  : >"$root/etc/resolv.conf"
}

# install_packages ROOT PACKAGE...: installs Debian packages in ROOT from the mirror in ROOT/etc/apt.
install_packages() {
  local root="$1"
  shift
  # shellcheck disable=SC2016 # expanded inside the root
  without_services "$root" sh -c '
    set -e
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { tail -n 30 /tmp/apt.log >&2; exit 1; }
    apt-get clean
    rm -rf /var/lib/apt/lists/* /tmp/apt.log
  ' install "$@"
}
