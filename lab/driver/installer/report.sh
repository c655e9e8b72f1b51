# shellcheck shell=bash
# shellcheck disable=SC2154 # version, silent and log_file are set by the scripts that source this one
# What nvidia-installer tells: on the terminal and in its log.

begin_log() {
  {
    echo "nvidia-installer log file '$log_file'"
    echo "creation time: $(date)"
    echo "installer version: $version"
    echo
    echo "nvidia-installer command line:"
    echo "    ./nvidia-installer $1"
    echo
  } >"$log_file"
}

say() {
  [[ -n "$silent" ]] || echo "$*"
  echo "-> $*" >>"$log_file"
}

warn() {
  printf '\nWARNING: %s\n\n' "$*" >&2
  echo "WARNING: $*" >>"$log_file"
}

error() {
  printf '\nERROR: %s\n\n' "$*" >&2
  echo "ERROR: $*" >>"$log_file"
}

# fail_with TEXT...: the end of an installation that cannot go on.
fail_with() {
  error "$*"
  error "Installation has failed.  Please see the file '$log_file' for details."
  exit 1
}
