# shellcheck shell=bash
# The lab's cgroups: every process that the lab starts is in one, so that none can be overlooked. To be sourced.

# kill_cgroup CGROUP: ends every process in it and below, and waits until they are gone: at most a minute, since one that
# waits for a busy disk ends only after that.
kill_cgroup() {
  local cgroup="$1" attempt pids
  [[ -d "$cgroup" ]] || return 0
  for ((attempt = 0; attempt < 600; attempt++)); do
    pids="$(find "$cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null || true)"
    [[ -n "$pids" ]] || return 0
    # shellcheck disable=SC2086 # one process id a word; some may be gone already
    kill -KILL $pids 2>/dev/null || true
    sleep 0.1
  done
  fail "processes of $cgroup do not end: $pids"
}

# remove_cgroup CGROUP: removes an empty cgroup and what is below. The kernel may need a moment after the last process.
remove_cgroup() {
  local cgroup="$1" attempt
  for ((attempt = 0; attempt < 50; attempt++)); do
    [[ -d "$cgroup" ]] || return 0
    find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
    [[ -d "$cgroup" ]] || return 0
    sleep 0.1
  done
  fail "the cgroup $cgroup cannot be removed: processes in it: $(find "$cgroup" -name cgroup.procs -exec cat {} + | paste -sd ' ')"
}
