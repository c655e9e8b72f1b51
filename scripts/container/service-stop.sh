# Stop a service for good: first what would start it again, then the server itself, which ends the requests it is
# answering before it goes. Its files stay.
#
# uses: step
# arguments: unit, timers=UNIT,… (that start or repeat something of it)
# facts: state

timers() {
  argument timers "" | tr ',' '\n' | grep . || true
}

state() {
  systemctl show --property=ActiveState --value "$1"
}

step_check() {
  local name
  while IFS= read -r name; do
    [[ $(state "$name") == inactive || $(state "$name") == failed ]] || differs "$name is $(state "$name")"
    ! systemctl is-enabled --quiet "$name" 2>/dev/null || differs "$name is enabled"
  done < <(timers && argument unit && printf '\n')
}

step_apply() {
  local timer
  while IFS= read -r timer; do
    systemctl disable --quiet --now "$timer" 2>/dev/null || true
    systemctl stop "${timer%.timer}.service" 2>/dev/null || true
  done < <(timers)
  say "stopping $(argument unit): it ends the requests that it is answering"
  systemctl disable --quiet "$(argument unit)" 2>/dev/null || true
  systemctl stop "$(argument unit)" </dev/null ||
    fail "$(argument unit) does not stop" "see in the container: systemctl status $(argument unit)"
}

step_facts() {
  fact state "$(state "$(argument unit)")"
}
