# Debian packages. One lock for the package database and the initramfs: two steps never change them at once.

PACKAGE_LOCK=/run/lock/proxmox-gpu-stack-packages.lock

# with_package_lock COMMAND…: waits up to 30 minutes for another step to finish.
with_package_lock() {
  local status=0
  exec 8>"$PACKAGE_LOCK"
  flock --timeout 1800 8 || fail "another step has held the package lock for 30 minutes" \
    "look what runs: fuser -v $PACKAGE_LOCK"
  "$@" 8>&- || status=$?
  exec 8>&-
  return "$status"
}

package_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# quietly COMMAND…: shows the command's own last lines only when it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    say "--- last lines of: $*"
    tail -n 25 "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}

apt_get() {
  quietly apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confold --no-install-recommends "$@"
}

# have_candidates NAME…: can apt install them as its lists stand?
have_candidates() {
  local name
  for name in "$@"; do
    [[ $(apt-cache policy "$name") =~ Candidate:\ [^\(] ]] || return 1
  done
}

install_packages_locked() {
  # A dpkg run that was cut off leaves half-configured packages; this finishes them and does nothing otherwise.
  quietly dpkg --configure -a || return 1
  # A package that the lists do not know, or an address that is gone: the lists are old.
  if have_candidates "$@" && apt_get install "$@"; then
    return 0
  fi
  say "refreshing the package lists"
  apt_get update && apt_get install "$@"
}

# install_packages NAME…
install_packages() {
  say "installing packages: $*"
  with_package_lock install_packages_locked "$@" ||
    fail "packages could not be installed: $*" "see apt's own lines above; is the package source reachable from $(machine_name)?"
}
