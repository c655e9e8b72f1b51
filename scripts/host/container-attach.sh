# Bring a container that the API made to what the plan says of it and the API's token may not do: device nodes of its
# GPUs, bind mounts and nesting (all root@pam only, so they go through pct), then start it and see that it runs as
# planned. The provider never touches these: it would leave stale entries or replace the container.
#
# uses: step files container-locks
# arguments: id, cards=NAME:UUID-OR-ADDRESS,… (may be empty), deviceMode, mounts=SOURCE:TARGET:ro|rw,… (may be empty),
#            unprivileged=1|0, storage (of the root disk); cores, memory, swap (MiB), hostname, address: what the API was
#            asked for and must have done
# texts: guard (drop-in that refuses a start without the declared cards)
# facts: status, address

TOOL=/usr/local/lib/proxmox-gpu-stack/gpu-nodes
CONFIGURATION=/etc/proxmox-gpu-stack/containers

id() {
  argument id
}

# What `pct config` says, asked for once a look: every call of pct starts Perl with all of Proxmox VE.
CURRENT=""
STATUS=""

read_configuration() {
  CURRENT=$(pct config "$(id)" 2>/dev/null)
}

option() {
  local line
  while IFS= read -r line; do
    [[ $line != "$1: "* ]] || printf '%s\n' "${line#*: }"
  done <<<"$CURRENT"
}

# LXC's own word; one that was never started is unknown to it.
running() {
  STATUS=$(lxc-info --name "$(id)" --state --no-humanize 2>/dev/null) || STATUS=STOPPED
  [[ $STATUS == RUNNING ]]
}

# Names of the declared cards, one a line.
card_names() {
  argument cards "" | tr ',' '\n' | cut -d: -f1 | grep . || true
}

devices_text() {
  argument deviceMode
  printf '\n'
  card_names
}

guard() {
  printf '/etc/systemd/system/pve-container@%s.service.d/gpu-nodes.conf' "$(id)"
}

has_cards() {
  [[ -n $(argument cards "") ]]
}

has_nesting() {
  [[ ,$(option features), == *,nesting=1,* ]]
}

# Other features stay as they are: an adopted container may need them.
features_with_nesting() {
  { option features | tr ',' '\n' | grep -v '^nesting=' || true; } | { cat && echo nesting=1; } | grep . | paste -sd, -
}

# One line a mount, as pct wants it: "/source,mp=/target,ro=1".
wanted_mounts() {
  local mount source target access
  while IFS= read -r mount; do
    [[ -n $mount ]] || continue
    IFS=: read -r source target access <<<"$mount"
    if [[ $access == ro ]]; then
      printf '%s,mp=%s,ro=1\n' "$source" "$target"
    else
      printf '%s,mp=%s\n' "$source" "$target"
    fi
  done < <(argument mounts "" | tr ',' '\n' && printf '\n')
}

# Bind mounts (a source that is a path) as they are, in an order of their own: pct's does not matter.
current_mounts() {
  sed -n 's/^mp[0-9]*: \(\/.*\)$/\1/p' <<<"$CURRENT" | while IFS= read -r mount; do normal_mount "$mount"; done | sort
}

# Only where it appears and whether it may be written to count: an adopted container may have others (backup=0, shared=1).
normal_mount() {
  local source=${1%%,*}
  printf '%s,%s\n' "$source" "$(printf '%s' "${1#*,}" | tr ',' '\n' | grep -E '^(mp=|ro=1$)' | sort | paste -sd, -)"
}

mounts_differ() {
  [[ $(wanted_mounts | while IFS= read -r mount; do normal_mount "$mount"; done | sort) != "$(current_mounts)" ]]
}

# What makes a container another one. Not repaired here: repairing it would mean building it anew.
check_identity() {
  local storage
  [[ $(option unprivileged || true) == "$(argument unprivileged)" || ($(argument unprivileged) == 0 && -z $(option unprivileged)) ]] ||
    fail "container $(id) has unprivileged=$(option unprivileged), the plan says $(argument unprivileged); this cannot be changed in place" \
      "keep the value it has, or rebuild it: set protect: false, \`up\`, \`pulumi destroy --target …\`, \`up\` (its root disk is lost, its mounts stay)"
  storage=$(option rootfs)
  [[ ${storage%%:*} == "$(argument storage)" ]] ||
    fail "container $(id) has its root disk on '${storage%%:*}', the plan says '$(argument storage)'" \
      "write the storage it has into the stack file; to move the disk: pct move-volume $(id) rootfs $(argument storage), then \`up\`"
}

# The provider takes a refused change for done and does not try again; here it shows.
check_settings() {
  local name value found
  for name in cores memory swap hostname; do
    value=$(argument "$name")
    found=$(option "$name")
    [[ $found == "$value" ]] || differs "$name is '$found', the plan says $value: Proxmox VE has not taken that change"
  done
  found=$(option net0 | tr ',' '\n' | sed -n 's/^ip=//p')
  [[ $found == "$(argument address)" ]] || differs "its address is '$found', the plan says $(argument address): Proxmox VE has not taken that change"
}

settings_differ() {
  [[ " ${DIFFERENCES[*]} " == *"has not taken that change"* ]]
}

# The old way to pass cards. With it a container can start without its cards, or with others after a reboot.
check_raw_lines() {
  local lines
  lines=$(grep -E '^lxc\.(mount\.entry: .*/dev/nvidia|cgroup2?\.devices\.allow: c 195:)' <<<"$CURRENT" || true)
  [[ -z $lines ]] ||
    fail "container $(id) passes NVIDIA devices by raw lines too: ${lines//$'\n'/; }" \
      "delete these lines from /etc/pve/lxc/$(id).conf, then run \`up\` again: the stack sets devN instead"
}

step_check() {
  read_configuration || fail "container $(id) does not exist on $(machine_name)" \
    "it was taken away behind the stack's back: \`pulumi up --refresh\` makes it anew and fills it"
  [[ $(option lock) != create ]] || fail "container $(id) is only half made (lock: create)" \
    "if nobody is making it (pvesh get /cluster/tasks): pct unlock $(id), pct destroy $(id), then \`up\` makes it anew"
  check_identity
  check_raw_lines
  check_settings
  has_nesting || differs "nesting is off: systemd in the container needs it"
  ! mounts_differ || differs "bind mounts are not as declared"
  if has_cards; then
    check_text "$CONFIGURATION/$(id)" "$(devices_text)
"
    check_text "$(guard)" "$(file guard)
"
  fi
  if [[ -x $TOOL ]]; then
    "$TOOL" check "$(id)" 2>/dev/null || differs "the device nodes are not those of its cards"
  fi
  if ! running; then
    differs "it is not running"
    return
  fi
  inside_as_planned || differs "the running container does not have what its configuration says: it must be restarted"
}

# The running container can lag behind its configuration: changes to devices and mounts wait for a restart.
inside_as_planned() {
  local mount target path devices=() inside
  mapfile -t devices < <(sed -n 's/^dev[0-9]*: \(path=\)\{0,1\}\(\/dev\/nvidia[^,]*\).*/\2/p' <<<"$CURRENT")
  inside=$(look_inside ${devices[@]+"${devices[@]}"}) || return 1
  while IFS= read -r mount; do
    [[ -n $mount ]] || continue
    target=${mount#*,mp=}
    [[ $inside == *$'\n'"mount ${target%%,*}"$'\n'* ]] || return 1
  done < <(wanted_mounts)
  # The host's devices under these paths, with the declared mode.
  for path in ${devices[@]+"${devices[@]}"}; do
    [[ $inside == *$'\n'"device $path $(stat -c %t:%T "$path") $(argument deviceMode)"$'\n'* ]] || return 1
  done
  # A card that was taken from it must be gone too.
  [[ $inside == *$'\n'"cards $(card_names | grep -c .)"$'\n'* ]]
}

# look_inside DEVICE…: mounts, devices and the number of cards in the running container, one a line, at one go.
look_inside() {
  # shellcheck disable=SC2016 # for the container's shell
  pct exec "$(id)" --keep-env 0 -- sh -c '
    echo
    while read -r _ target _; do echo "mount $target"; done </proc/mounts
    for path; do stat -c "device %n %t:%T 0%a" "$path"; done
    echo "cards $(ls -d /dev/nvidia[0-9]* 2>/dev/null | wc -l)"' sh "$@" 2>/dev/null && echo end
}

# change VERB WORD…: `pct VERB ID WORD…`
change() {
  when_unlocked "$(id)" pct "$1" "$(id)" "${@:2}" ||
    fail "\`pct $1\` of container $(id) was refused" "the line above says why; run \`up\` again when that is gone"
}

set_mounts() {
  local line number=0 arguments=() stale
  while IFS= read -r line; do
    install -d -m 755 "${line%%,*}"
    while grep -q "^mp$number: [^/]" <<<"$CURRENT"; do number=$((number + 1)); done
    arguments+=("--mp$number" "$line")
    number=$((number + 1))
  done < <(wanted_mounts)
  stale=$(sed -n 's/^\(mp[0-9]*\): \/.*$/\1/p' <<<"$CURRENT")
  if [[ -n $stale ]]; then
    change set --delete "$(paste -sd, - <<<"$stale")"
  fi
  ((${#arguments[@]} == 0)) || change set "${arguments[@]}"
}

wait_for_systemd() {
  local state="" attempt
  for attempt in $(seq 1 120); do
    # Right after the start the service manager does not answer yet.
    state=$(pct exec "$(id)" --keep-env 0 -- systemctl is-system-running 2>/dev/null || true)
    [[ $state == running || $state == degraded ]] && return 0
    sleep 0.5
  done
  fail "container $(id) started, but its systemd is '$state' after a minute" "look inside: pct enter $(id), then systemctl --failed (attempt $attempt)"
}

# What the host needs to give the container its cards at every boot.
declare_devices() {
  if has_cards; then
    put_text "$CONFIGURATION/$(id)" 644 "$(devices_text)
"
    put_text "$(guard)" 644 "$(file guard)
"
    systemctl daemon-reload
    "$TOOL" nodes || fail "device nodes of the GPUs could not be made" "see the lines above"
  else
    rm -f "$CONFIGURATION/$(id)" "$(guard)"
    systemctl daemon-reload
  fi
}

# 0 when the running container has all that it must have: somebody may be served by it, so it is not restarted.
runs_as_planned() {
  running && has_nesting && ! mounts_differ || return 1
  if [[ -x $TOOL ]]; then
    "$TOOL" check "$(id)" 2>/dev/null || return 1
  fi
  inside_as_planned
}

step_apply() {
  ! settings_differ || fail "container $(id): $(printf '%s; ' "${DIFFERENCES[@]}")" \
    "run \`pulumi up --refresh\`: it reads the container anew and sends the change again"
  declare_devices
  # A backup may stop a container and start it again.
  wait_until_unlocked "$(id)"
  read_configuration
  if runs_as_planned; then
    say "container $(id) has its devices, mounts and nesting: it keeps running"
    return
  fi
  if running; then
    say "stopping container $(id): its devices, mounts or features change"
    change shutdown --timeout 120 --forceStop 1
  fi
  # First: where a card is gone, Proxmox VE refuses every other change with the device's number alone.
  if [[ -x $TOOL ]]; then
    when_unlocked "$(id)" "$TOOL" attach "$(id)" || fail "container $(id) cannot get its GPUs" "see the line above"
  fi
  has_nesting || change set --features "$(features_with_nesting)"
  ! mounts_differ || set_mounts
  say "starting container $(id)"
  when_unlocked "$(id)" pct start "$(id)" || running || fail "container $(id) does not start" "see: journalctl -b -u pve-container@$(id)"
  wait_for_systemd
}

step_facts() {
  fact id "$(id)"
  fact status "${STATUS,,}"
  fact address "$(option net0 | sed -n 's/.*,ip=\([^,/]*\).*/\1/p')"
}
