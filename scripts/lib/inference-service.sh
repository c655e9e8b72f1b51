# What steps do with an inference service that is installed: start it, hold it to its gate, put back what last passed it.
# They take the arguments name, unit, python, environment and spec.

LIBRARY=/usr/local/lib/proxmox-gpu-stack
STARTED_AT=0
GATE_REASONS=""

record() {
  printf '/var/lib/proxmox-gpu-stack/services/%s' "$(argument name)"
}

unit() {
  argument unit
}

recorded() {
  cat "$(record)/$1" 2>/dev/null || true
}

property() {
  systemctl show --property="$1" --value "$(unit)"
}

# Services that share an environment may be at work at the same time, so that each has a name of its own for what it
# writes aside.
point_environment() {
  local aside
  aside=$(argument environment).$(argument name)
  [[ -e $1/.complete ]] || fail "environment $1 is not there" "its step must run first: \`up\` without --target"
  ln -sfn "$1" "$aside"
  mv -T "$aside" "$(argument environment)"
}

show_journal() {
  say "--- last lines of $(unit)"
  # With --since, --lines would be the first ones. One line of SGLang holds all of its arguments.
  journalctl --no-pager --quiet --output=cat --since="@$STARTED_AT" --unit="$(unit)" | tail -n 20 | sed 's/\x1b\[[0-9;]*m//g' | cut -c -400 >&2 || true
}

start_service() {
  systemctl daemon-reload
  systemctl reset-failed "$(unit)" 2>/dev/null || true
  STARTED_AT=$(date +%s)
  say "starting $(unit)"
  systemctl restart "$(unit)" </dev/null
}

# What the preflight found, for a start that did not succeed.
start_problem() {
  local found
  found=$(journalctl --no-pager --quiet --output=cat --since="@$STARTED_AT" --unit="$(unit)" |
    sed -n 's/^preflight: //p' | paste -sd';' -)
  printf '%s does not start%s' "$(unit)" "${found:+: $found}"
}

# pass_gate: 0 when the service is healthy; else GATE_REASONS says why not.
pass_gate() {
  local output status=0
  output=$(mktemp)
  PYTHONPATH=$LIBRARY PYTHONDONTWRITEBYTECODE=1 "$(argument python)" -u -m sglang_probe gate --spec "$(argument spec)" </dev/null |
    tee "$output" | { grep --line-buffered -v '^{' >&2 || true; }
  status=${PIPESTATUS[0]}
  # shellcheck disable=SC2034 # read by the steps that use this library
  GATE_REASONS=$(sed -n 's/^.*not healthy, //p' "$output" | paste -sd';' -)
  rm -f "$output"
  return "$status"
}

# take_as_good PASSED: what passed its gate, as `keep_as_good` wrote it, is the last good version from now on.
take_as_good() {
  local name
  rm -rf "$(record)/good-files.next"
  cp -a "$1/files" "$(record)/good-files.next"
  rm -rf "$(record)/good-files"
  mv -T "$(record)/good-files.next" "$(record)/good-files"
  for name in environment good-running good; do
    cp --preserve=mode "$1/$name" "$(record)/$name.next"
    mv -f "$(record)/$name.next" "$(record)/$name"
  done
}

# put_back_files FOLDER: the files of a service, below FOLDER as they lie below /, one rename each.
put_back_files() {
  local path target
  while IFS= read -r path; do
    target=${path#"$1"}
    cp --preserve=mode,ownership "$path" "$target.$(argument name)"
    mv -f "$target.$(argument name)" "$target"
  done < <(find "$1" -type f)
}

# Files and environment of the last version that passed its gate; 1 when none is kept.
put_back_good() {
  local good
  good=$(record)/good-files
  [[ -d $good && -e $(record)/environment && -e $(cat "$(record)/environment")/.complete ]] || return 1
  put_back_files "$good"
  point_environment "$(cat "$(record)/environment")"
  put_text "$(record)/running" 600 "$(recorded good-running)"
}
