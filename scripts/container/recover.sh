# Bring a service that passed its gate before back to health: stop its unit, and only that; see who still holds its cards
# in this container; end what is left of its own control group; start what last passed the gate and hold it to the gate
# again. Processes of other units, and those of nobody known, are named and never touched.
#
# uses: step files inference-service
# arguments: name, unit, python, environment, spec (as of the step container/service), cards=UUID-OR-PCI,…, freeMiB (that
#            each card must have free before the start, or empty), metrics (file of the repeated probe's metric)
# facts: mainPid, state (of the last probe), holders (JSON list, one text a process)

# The kernel needs about six seconds to take back the memory of a killed server.
RELEASE_SECONDS=60

# Paths of the service's cards in this container.
declare -a NODES=()

find_nodes() {
  local card file node
  NODES=()
  for card in $(argument cards | tr ',' ' '); do
    node=""
    for file in /proc/driver/nvidia/gpus/*/information; do
      if grep -qiF -- "$card" "$file" 2>/dev/null; then
        node=/dev/nvidia$(sed -n 's/^Device Minor:[[:space:]]*//p' "$file")
      fi
    done
    [[ -n $node ]] || fail "the driver knows no card $card" "on the host: nvidia-smi -L; is the driver loaded, the card there?"
    NODES+=("$node")
  done
}

# Processes that hold a node of the service's cards.
holding_processes() {
  local node
  for node in "${NODES[@]}"; do
    find /proc/[0-9]*/fd -lname "*${node#/dev}" -printf '%h\n' 2>/dev/null || true
  done | sed 's#^/proc/##; s#/fd$##' | sort -un
}

# is_of_unit PID: is it in the control group of this service, or of a group below?
is_of_unit() {
  grep -q "/$(unit)\(/\|\$\)" "/proc/$1/cgroup" 2>/dev/null
}

# unit_of PID: the unit or scope of a process; "-" for one that none started.
unit_of() {
  local name
  name=$(grep -o '[^/]*\.\(service\|scope\)' "/proc/$1/cgroup" 2>/dev/null | tail -n 1 || true)
  printf '%s' "${name:--}"
}

# describe PID: one text for a person.
describe() {
  local owner
  owner=$(unit_of "$1")
  [[ $owner != - ]] || owner="no unit, so of an unknown owner"
  printf 'process %s (%s) of %s' "$1" "$(cat "/proc/$1/comm" 2>/dev/null || true)" "$owner"
}

# holders own|foreign|all: texts of those who hold the service's cards.
holders() {
  local pid
  while IFS= read -r pid; do
    [[ -e /proc/$pid ]] || continue
    case $1 in
      own) is_of_unit "$pid" || continue ;;
      foreign) ! is_of_unit "$pid" || continue ;;
    esac
    describe "$pid"
    printf '\n'
  done < <(holding_processes)
}

# Processes in the unit's control group, whether they hold a card or not.
unit_processes() {
  local file pid
  for file in /proc/[0-9]*/cgroup; do
    pid=${file#/proc/}
    pid=${pid%/cgroup}
    ! is_of_unit "$pid" || printf '%s\n' "$pid"
  done
}

# State of the service by its own semantic probe, which also tells the metric.
probe_state() {
  PYTHONPATH=$LIBRARY PYTHONDONTWRITEBYTECODE=1 "$(argument python)" -m sglang_probe probe --spec "$(argument spec)" \
    --metrics-file "$(argument metrics)" 2>/dev/null </dev/null | sed -n '$s/.*"state": "\([a-z]*\)".*/\1/p' || true
}

# Files of the last version that passed the gate and are not so any more.
changed_files() {
  local path good
  good=$(record)/good-files
  while IFS= read -r path; do
    cmp -s "$path" "${path#"$good"}" || printf '%s\n' "${path#"$good"}"
  done < <(find "$good" -type f | sort)
}

step_check() {
  local path state
  [[ -d $(record)/good-files ]] ||
    fail "$(unit) has never passed its health gate here: there is nothing to recover" "run \`up\`, which installs and starts it"
  find_nodes
  while IFS= read -r path; do
    differs "$path is not as it was when the service passed its gate"
  done < <(changed_files)
  if [[ $(property ActiveState) != active ]]; then
    differs "$(unit) is $(property ActiveState)"
    return
  fi
  state=$(probe_state)
  fact state "$state"
  [[ $state == healthy ]] || differs "the probe says that $(unit) is ${state:-not to be judged}"
}

# A unit that may not run beside this one would be stopped by its start.
refuse_conflicts() {
  local other
  for other in $(property Conflicts) $(property ConflictedBy); do
    [[ $other == sglang-* ]] || continue
    case $(systemctl show --property=ActiveState --value "$other") in
      inactive | failed) ;;
      *)
        fail "$other runs and may not run beside $(unit)" \
          "stop it first, if that is what you want: systemctl disable --now $other"
        ;;
    esac
  done
}

end_leftovers() {
  local pid
  for pid in $(unit_processes); do
    say "ending $(describe "$pid"): left over from $(unit)"
    kill -KILL "$pid" 2>/dev/null || true
  done
}

# Cards with less free memory than the service needs, one text each.
cards_in_use() {
  local card uuid bus free
  [[ -n $(argument freeMiB) ]] || return 0
  while IFS=', ' read -r uuid bus free; do
    for card in $(argument cards | tr ',' ' '); do
      [[ $uuid == "$card" || ${bus^^} == *"${card^^}" ]] || continue
      ((free >= $(argument freeMiB))) || printf 'card %s has %s MiB free, %s are needed\n' "$card" "$free" "$(argument freeMiB)"
    done
  done < <(timeout 60 nvidia-smi --query-gpu=uuid,pci.bus_id,memory.free --format=csv,noheader,nounits)
}

wait_for_release() {
  local until=$((SECONDS + RELEASE_SECONDS)) text
  while text=$(
    holders own
    cards_in_use
  ) && [[ -n $text ]]; do
    if ((SECONDS >= until)); then
      fail "the cards are not free after $RELEASE_SECONDS seconds: ${text//$'\n'/; }" \
        "what is not to be seen in this container is in another one or on the host: nvidia-smi there"
    fi
    sleep 1
  done
}

step_apply() {
  local foreign
  refuse_conflicts
  say "stopping $(unit)"
  systemctl stop "$(unit)" </dev/null || say "$(unit) did not stop by itself"
  end_leftovers
  foreign=$(holders foreign)
  [[ -z $foreign ]] ||
    fail "others hold the cards of $(unit), which is stopped: ${foreign//$'\n'/; }" \
      "end them if they may be ended, then recover again"
  wait_for_release
  say "the cards are free"
  put_back_good || fail "the environment that $(unit) last ran with is gone" "run \`up\`"
  start_service || give_up_recovery "$(start_problem)"
  pass_gate || give_up_recovery "$(unit) does not pass its health gate: $GATE_REASONS"
}

give_up_recovery() {
  show_journal
  systemctl stop "$(unit)" || true
  fail "$1" "the service is stopped; correct the stack and run \`up\`"
}

step_facts() {
  local lines=()
  mapfile -t lines < <(holders all)
  fact holders "$(json_list ${lines[@]+"${lines[@]}"})"
  fact mainPid "$(property MainPID)"
}
