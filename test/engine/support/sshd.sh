#!/usr/bin/env bash
# An OpenSSH server for tests.
#
# usage: sshd.sh prepare        makes sure that there is one; exit code 1, with the reason on stderr, when there cannot be
#        sshd.sh run ARGUMENT…  becomes sshd with these arguments
#        sshd.sh client NAME ARGUMENT…  becomes one of OpenSSH's programs for users, such as ssh-keygen
#
# An installed sshd is taken. Otherwise the distribution's package is unpacked into the cache: installing it would
# start a server on this machine, now and at every boot.
set -euo pipefail
shopt -s inherit_errexit

INSTALLED=/usr/sbin/sshd
UNPACKED="${PROXMOX_GPU_STACK_CACHE:-$HOME/.cache/proxmox-gpu-stack}/openssh-server"

# As root, sshd wants a user of its own and a folder in /run. It gets them in a mount namespace.
# shellcheck disable=SC2016 # for the inner shell
WITH_USER_SSHD='
  set -e
  mount -t tmpfs tmpfs /run
  mkdir -m 755 /run/sshd
  { cat /etc/passwd; echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"; } >/run/passwd
  mount --bind /run/passwd /etc/passwd
  exec "$@"
'

unpack() {
  local partial package
  if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    echo "no $INSTALLED, and no apt-get to get it with: install an OpenSSH server" >&2
    return 1
  fi
  mkdir -p "$(dirname "$UNPACKED")"
  partial="$(mktemp -d "$UNPACKED.XXXXXX")"
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$partial'" EXIT
  mkdir -p "$partial/archives/partial" "$partial/tree"
  # With all packages that it needs and that are not installed. Nothing is installed, so no lock is needed.
  apt-get install --quiet=2 --download-only --no-install-recommends -o Debug::NoLocking=true \
    -o APT::Sandbox::User=root -o Dir::Cache::archives="$partial/archives" openssh-server >&2
  for package in "$partial"/archives/*.deb; do
    dpkg-deb --extract "$package" "$partial/tree"
  done
  # Another run may have been faster.
  [[ -d "$UNPACKED" ]] || mv "$partial/tree" "$UNPACKED"
}

prepare() {
  [[ ! -x "$INSTALLED" ]] || return 0
  [[ -x "$UNPACKED/usr/sbin/sshd" ]] || unpack
  if ((EUID == 0)) && ! unshare --mount true; then
    echo "no $INSTALLED, and no right to make a mount namespace for an unpacked one: install an OpenSSH server" >&2
    return 1
  fi
}

use_unpacked_libraries() {
  LD_LIBRARY_PATH="$(find "$UNPACKED" -name '*.so.*' -printf '%h\n' | sort --unique | paste --serial --delimiters=:)"
  export LD_LIBRARY_PATH
}

run_unpacked() {
  local parts="$UNPACKED/usr/lib/openssh" options=()
  # From OpenSSH 9.8 on the server has parts in programs of their own.
  [[ ! -x "$parts/sshd-session" ]] || options+=(-o "SshdSessionPath=$parts/sshd-session")
  [[ ! -x "$parts/sshd-auth" ]] || options+=(-o "SshdAuthPath=$parts/sshd-auth")
  use_unpacked_libraries
  if ((EUID == 0)); then
    exec unshare --mount bash -c "$WITH_USER_SSHD" sshd "$UNPACKED/usr/sbin/sshd" "${options[@]}" "$@"
  fi
  exec "$UNPACKED/usr/sbin/sshd" "${options[@]}" "$@"
}

run() {
  if [[ ! -x "$INSTALLED" ]]; then
    run_unpacked "$@"
  fi
  # As root, sshd does not start without this folder, which its service makes otherwise.
  ((EUID != 0)) || mkdir -p /run/sshd
  exec "$INSTALLED" "$@"
}

client() {
  local program
  if ! program="$(command -v "$1")"; then
    program="$UNPACKED/usr/bin/$1"
    use_unpacked_libraries
  fi
  exec "$program" "${@:2}"
}

case "${1:-}" in
  prepare) prepare ;;
  client) client "${@:2}" ;;
  run) run "${@:2}" ;;
  *)
    echo "usage: sshd.sh prepare | sshd.sh run ARGUMENT… | sshd.sh client NAME ARGUMENT…" >&2
    exit 2
    ;;
esac
