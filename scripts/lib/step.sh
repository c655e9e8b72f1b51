# The frame of every step: arguments, modes, progress, errors and the one JSON line of the result.
#
# A step script defines
#   step_check   calls `differs TEXT` for everything that is not as declared; changes nothing
#   step_apply   makes it so; may be run again at any time
# and may define
#   step_facts   calls `fact NAME VALUE` for what others want to know
#   step_remove  takes away what the step put there (mode=remove, at destroy)
#
# Modes (argument mode=…, default apply): apply runs check, then apply when something differs, then check again;
# check only looks; remove undoes. Progress goes to stderr; the last line of stdout is one JSON object.

declare -A ARGS=()
declare -A FACTS=()
# Their names in the order in which they were told.
declare -a FACT_NAMES=()
declare -a DIFFERENCES=()
STEP=""
REBOOT_REQUESTED=""
REPORTED=""
FAILED_COMMAND=""
# Process and start time of each step that is at work.
AT_WORK=/run/proxmox-gpu-stack/steps

# say TEXT…: one line of progress for a person.
say() {
  printf '%s\n' "$*" >&2
}

# fail WHAT [WAY_ON]: end the step with one clear error: machine, step, cause, what to do next.
fail() {
  REPORTED=yes
  {
    printf '\nerror: step %s on %s failed\n' "$STEP" "$(machine_name)"
    printf '  cause: %s\n' "$1"
    [[ -z ${2:-} ]] || printf '  next:  %s\n' "$2"
  } >&2
  exit 1
}

machine_name() {
  uname -n
}

# argument NAME [DEFAULT]: the value of NAME=value from the command line.
argument() {
  if [[ -n ${ARGS[$1]+set} ]]; then
    printf '%s' "${ARGS[$1]}"
  elif (($# > 1)); then
    printf '%s' "$2"
  else
    fail "argument $1 is missing" "this is a fault of the program: report it with the command line shown above"
  fi
}

# file NAME: the text that travelled with the step under that name.
file() {
  [[ -n ${FILES[$1]+set} ]] || fail "the text $1 did not travel with the step"
  printf '%s' "${FILES[$1]}"
}

differs() {
  DIFFERENCES+=("$*")
}

fact() {
  [[ -n ${FACTS[$1]+set} ]] || FACT_NAMES+=("$1")
  FACTS[$1]=$2
}

# reboot_requested BOOT_ID: what is not as declared yet will be after the reboot, so it is not checked again now.
reboot_requested() {
  REBOOT_REQUESTED=$1
}

json_string() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  text=${text//$'\r'/\\r}
  # Other control characters have no place in what steps report.
  text=${text//[$'\001'-$'\037']/}
  printf '"%s"' "$text"
}

json_value() {
  if [[ $1 =~ ^(true|false|null|0|[1-9][0-9]{0,14})$ || $1 == \[* ]]; then
    printf '%s' "$1"
  else
    json_string "$1"
  fi
}

# json_list WORD…: a JSON list of strings.
json_list() {
  local separator="" word
  printf '['
  for word in "$@"; do
    printf '%s' "$separator"
    json_string "$word"
    separator=,
  done
  printf ']'
}

# print_result CHANGED: the last line of stdout. Without a process: a look at a stack prints dozens of them.
print_result() {
  local name
  printf '{"changed":%s' "$1"
  if [[ ${ARGS[mode]:-apply} == check ]]; then
    printf ',"differences":'
    json_list ${DIFFERENCES[@]+"${DIFFERENCES[@]}"}
  fi
  if [[ -n $REBOOT_REQUESTED ]]; then
    printf ',"rebootRequested":'
    json_string "$REBOOT_REQUESTED"
  fi
  for name in ${FACT_NAMES[@]+"${FACT_NAMES[@]}"}; do
    printf ','
    json_string "$name"
    printf ':'
    json_value "${FACTS[$name]}"
  done
  printf '}\n'
}

run_check() {
  DIFFERENCES=()
  step_check
}

run_facts() {
  ! declare -F step_facts >/dev/null || step_facts
}

# started PID: when that process was started; nothing when it is gone.
started() {
  local -a stat
  read -r -a stat 2>/dev/null <"/proc/$1/stat" && printf '%s' "${stat[21]}"
}

# A run whose connection was lost goes on to its end; two at once would be in each other's way.
wait_for_earlier_run() {
  local pid since
  [[ -e $AT_WORK/$STEP ]] || return 0
  read -r pid since <"$AT_WORK/$STEP" || return 0
  [[ $(started "$pid") == "$since" ]] || return 0
  say "an earlier run of $STEP is still at work on $(machine_name) (process $pid): waiting for its end"
  while [[ $(started "$pid") == "$since" ]]; do sleep 0.5; done
}

# A lost connection closes both outputs, and the next word would end the step where it is: perhaps between stopping
# something and starting it again. What is said from now on goes through processes that then take it to nowhere.
outlive_connection() {
  local out err
  install -d -m 755 "$AT_WORK"
  printf '%s %s\n' "$BASHPID" "$(started "$BASHPID")" >"$AT_WORK/$STEP"
  # Pulumi's own words for a lost connection name neither machine nor way on.
  say "step $STEP is at work on $(machine_name); if the connection is lost, run \`up\` again"
  exec {out}>&1 {err}>&2
  exec > >(cat >&"$out" || cat >/dev/null) 2> >(cat >&"$err" || cat >/dev/null) {out}>&- {err}>&-
}

apply_mode() {
  local difference
  wait_for_earlier_run
  run_check
  if ((${#DIFFERENCES[@]} == 0)); then
    run_facts
    print_result false
    return
  fi
  for difference in "${DIFFERENCES[@]}"; do
    say "to do: $difference"
  done
  outlive_connection
  step_apply
  if [[ -z $REBOOT_REQUESTED ]]; then
    run_check
    if ((${#DIFFERENCES[@]} > 0)); then
      fail "still not as declared after applying: $(printf '%s; ' "${DIFFERENCES[@]}")" \
        "see the lines above; run \`up\` again when the cause is gone"
    fi
  fi
  run_facts
  print_result true
}

# No command may fail silently: what nobody answered for is named.
report_unexpected_end() {
  local status=$?
  if ((status != 0)) && [[ -z $REPORTED ]]; then
    {
      printf '\nerror: step %s on %s failed\n' "$STEP" "$(machine_name)"
      printf '  cause: %s ended with %s\n' "${FAILED_COMMAND:-a command}" "$status"
      printf '  next:  %s\n' "see the lines above, then run \`up\` again"
    } >&2
  fi
}

# step_main STEP NAME=VALUE…: called once everything is defined.
step_main() {
  STEP=$1
  shift
  local word
  set -o errtrace
  trap 'FAILED_COMMAND=$BASH_COMMAND' ERR
  trap report_unexpected_end EXIT
  for word in "$@"; do
    [[ $word == *=* ]] || fail "argument '$word' is not of the form name=value"
    ARGS[${word%%=*}]=${word#*=}
  done
  export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root
  export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  # Tools such as pct make folders with it that the container's mapped users must pass.
  umask 022
  case ${ARGS[mode]:-apply} in
    apply) apply_mode ;;
    check)
      run_check
      run_facts
      print_result false
      ;;
    remove)
      wait_for_earlier_run
      outlive_connection
      step_remove
      print_result true
      ;;
    *) fail "unknown mode '${ARGS[mode]}'" "modes are apply, check, remove" ;;
  esac
}
