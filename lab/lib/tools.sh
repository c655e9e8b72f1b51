# shellcheck shell=bash
# Programs of the machine that the lab needs, and the Debian or Ubuntu package of each. To be sourced.

# program:package, in the order in which they are told.
lab_tools=(
  mmdebstrap:mmdebstrap zstd:zstd ssh:openssh-client ip:iproute2 python3:python3 curl:curl
  unshare:util-linux nsenter:util-linux setpriv:util-linux flock:util-linux tar:tar sha256sum:coreutils
)
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# missing_tools: one line "program package" for each program that is not there.
missing_tools() {
  local tool
  for tool in "${lab_tools[@]}"; do
    command -v "${tool%%:*}" >/dev/null || echo "${tool%%:*} ${tool##*:}"
  done
  # The package index finds the machine's own index through pip, which comes with venv.
  python3 -c 'import ensurepip' 2>/dev/null || echo "ensurepip python3-venv"
  [[ -e "$debian_keyring" ]] || echo "$debian_keyring debian-archive-keyring"
}

# install_tools: installs the packages of missing programs with apt-get.
install_tools() {
  local packages
  packages="$(missing_tools | cut -d ' ' -f 2 | sort -u)"
  [[ -n "$packages" ]] || return 0
  [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null || return 0
  step_begin "installing $(paste -sd ' ' <<<"$packages")"
  # shellcheck disable=SC2086 # one package a word
  if ! {
    apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
  } >/dev/null; then
    fail "apt-get cannot install $(paste -sd ' ' <<<"$packages"); its messages are above"
  fi
  step_end
}
