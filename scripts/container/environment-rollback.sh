# Bring an earlier environment back: the link is switched by one rename, then the services that run on it are started again
# with the files that passed their gate with that environment, and held to the gate. When one does not pass, everything is
# put back as it was.
#
# uses: step files environments inference-service
# arguments: name, path (the link), to (digest; empty: the one that was in use before), services=NAME:UNIT:SPECIFICATION,…
# facts: current, kept (JSON list of "DIGEST LOCK LAST-USED"), before, switchMs

WANTED=""
BEFORE=""
SWITCH_MS=0
declare -a TOUCHED=()
# File with what was wrong: functions that run in a subshell leave it there.
PROBLEM=""

find_wanted() {
  local digest
  WANTED=$(argument to "")
  [[ -z $WANTED ]] || return 0
  while IFS= read -r digest; do
    if [[ $digest != "$(current)" ]]; then
      WANTED=$digest
      return 0
    fi
  done < <(kept)
}

step_check() {
  [[ -n $WANTED ]] || find_wanted
  [[ -z $WANTED || $WANTED == "$(current)" ]] || differs "environment $(argument name) is $(current), not $WANTED"
}

# The arguments of the functions for services, for one of them; to be called in a subshell.
as_service() {
  local name unit specification path
  IFS=: read -r name unit specification <<<"$1"
  path=$(argument path)
  ARGS+=([name]="$name" [unit]="$unit" [spec]="$specification" [environment]="$path" [python]="$path/bin/python3")
}

running_services() {
  local service
  for service in $(argument services "" | tr ',' ' '); do
    case $(systemctl show --property=ActiveState --value "$(cut -d: -f2 <<<"$service")") in
      inactive | failed) ;;
      *) printf '%s\n' "$service" ;;
    esac
  done
}

# with_earlier SERVICE: starts it on the environment that the link points to now; 0 when it passes its gate.
with_earlier() (
  as_service "$1"
  passed=$(record)/passed/$WANTED
  if [[ -d $passed ]]; then
    put_back_files "$passed/files"
    put_text "$(record)/running" 600 "$(cat "$passed/good-running")"
  else
    say "$(unit) never served with $WANTED: it starts with the files that it has"
    put_text "$(record)/running" 600 "rolled back to $WANTED"
  fi
  if ! start_service; then
    start_problem >"$PROBLEM"
    return 1
  fi
  say "waiting for $(unit) to pass its health gate"
  if ! pass_gate; then
    printf '%s does not pass its health gate: %s' "$(unit)" "$GATE_REASONS" >"$PROBLEM"
    return 1
  fi
)

# keep_earlier SERVICE: what passed is the last good version, so that a recovery comes back to it.
keep_earlier() (
  as_service "$1"
  [[ ! -d $(record)/passed/$WANTED ]] || take_as_good "$(record)/passed/$WANTED"
)

# with_good SERVICE: as it was before.
with_good() (
  as_service "$1"
  put_back_good || true
  start_service && pass_gate
)

go_back() {
  local service again="" reason
  reason=$(<"$PROBLEM")
  rm -f "$PROBLEM"
  say "putting environment $(argument name) back to $BEFORE"
  switch_to "$BEFORE"
  for service in ${TOUCHED[@]+"${TOUCHED[@]}"}; do
    with_good "$service" || again="; and it does not pass with $BEFORE any more either"
  done
  fail "environment $(argument name) stays $BEFORE: with $WANTED, $reason$again" \
    "choose another one (./stack rollback STACK $(argument name) --list), or correct the stack and run \`up\`"
}

step_apply() {
  local service services=() started
  BEFORE=$(current)
  [[ -e $(environments)/$WANTED/.complete ]] || fail "environment $(argument name) $WANTED is not kept; there are: $(kept | paste -sd' ' -)" \
    "its lock brings it back: set it in the stack file and run \`up\`"
  mapfile -t services < <(running_services)
  started=$(date +%s%N)
  switch_to "$WANTED"
  SWITCH_MS=$((($(date +%s%N) - started) / 1000000))
  say "environment $(argument name) is $WANTED"
  PROBLEM=$(mktemp)
  for service in ${services[@]+"${services[@]}"}; do
    TOUCHED+=("$service")
    with_earlier "$service" || go_back
  done
  rm -f "$PROBLEM"
  for service in ${services[@]+"${services[@]}"}; do keep_earlier "$service"; done
}

step_facts() {
  local digest lines=()
  while IFS= read -r digest; do
    [[ -n $digest ]] || continue
    lines+=("$digest $(head -n 1 "$(environments)/$digest/.complete" | grep . || echo -) $(date -u -r "$(environments)/$digest/.complete" +%FT%TZ)")
  done < <(kept)
  fact current "$(current)"
  fact before "$BEFORE"
  fact kept "$(json_list ${lines[@]+"${lines[@]}"})"
  fact switchMs "$SWITCH_MS"
}
