# shellcheck shell=bash
# Progress of long scripts, for a person, on stderr:
#
#   [12s] building the host layer (last time 68s)
#
# that is: seconds since the first script of this run began, what is being done, how long it took last time.
# To be sourced. A step that is not ended (the script failed) leaves the remembered duration as it was.
# Durations are remembered in the cache folder, one small file a step text.

# Handed down to scripts that this one calls, so that the seconds count from the first one's start.
export PROGRESS_STARTED_AT="${PROGRESS_STARTED_AT:-$(date +%s)}"

_progress_step=""
_progress_step_started_at=0

_progress_durations_directory() {
  echo "${PROXMOX_GPU_STACK_CACHE:-$HOME/.cache/proxmox-gpu-stack}/durations"
}

# The file that remembers how long the step with the given text took.
_progress_duration_file() {
  local name="${1//[^A-Za-z0-9._-]/-}"
  echo "$(_progress_durations_directory)/$name"
}

_progress_print() {
  echo "[$(($(date +%s) - PROGRESS_STARTED_AT))s] $1" >&2
}

# step_begin TEXT: ends the step before, if one is open, and announces this one.
# TEXT is also the name under which its duration is remembered.
step_begin() {
  step_end
  local duration_file
  duration_file="$(_progress_duration_file "$1")"
  _progress_step="$1"
  _progress_step_started_at="$(date +%s)"
  if [[ -r "$duration_file" ]]; then
    _progress_print "$1 (last time $(<"$duration_file")s)"
  else
    _progress_print "$1"
  fi
}

# step_note TEXT: says how far the open step is.
step_note() {
  _progress_print "${_progress_step:+$_progress_step: }$1"
}

# step_end: the open step is done; its duration is remembered. Without an open step it does nothing.
step_end() {
  [[ -n "$_progress_step" ]] || return 0
  local duration_file
  duration_file="$(_progress_duration_file "$_progress_step")"
  mkdir -p "$(_progress_durations_directory)"
  # Written aside and renamed: two runs at once may end the same step.
  echo "$(($(date +%s) - _progress_step_started_at))" >"$duration_file.$$"
  mv "$duration_file.$$" "$duration_file"
  _progress_step=""
}
