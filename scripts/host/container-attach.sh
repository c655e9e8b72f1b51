# Bring a container that the API made to what the plan says of it and the API's token may not do: device nodes of its
# GPUs, bind mounts and nesting (all root@pam only, so they go through pct), then start it and see that it runs as
# planned. The provider never touches these: it would leave stale entries or replace the container.
#
# uses: step files container-locks in-container
# arguments: id, cards=NAME:UUID-OR-ADDRESS,… (may be empty), deviceMode, mounts=SOURCE:TARGET:ro|rw,… (may be empty),
#            unprivileged=1|0, storage (of the root disk); cores, memory, swap (MiB), hostname, address: what the API was
#            asked for and must have done
# texts: guard (drop-in that refuses a start without the declared cards)
# facts: status, address

TOOL=/usr/local/lib/proxmox-gpu-stack/gpu-nodes
CONFIGURATION=/etc/proxmox-gpu-stack/containers

ID=""
# What `pct config` says, asked for once a look: every call of pct starts Perl with all of Proxmox VE. Its lines by name, too.
CURRENT=""
declare -A OPTIONS=()
STATUS=""

read_configuration() {
  local line
  CURRENT=$(pct config "$ID" 2>/dev/null) || return
  OPTIONS=()
  while IFS= read -r line; do
    [[ $line != ?*": "* ]] || OPTIONS[${line%%: *}]=${line#*: }
  done <<<"$CURRENT"
}

# has_its_cards: does its configuration give it exactly the declared cards, by today's numbers?
has_its_cards() {
  [[ ! -x $TOOL ]] || "$TOOL" check "$ID" - <<<"$CURRENT" 2>/dev/null
}

# LXC's own word; one that was never started is unknown to it.
running() {
  STATUS=$(lxc-info --name "$ID" --state --no-humanize 2>/dev/null) || STATUS=STOPPED
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
  printf '/etc/systemd/system/pve-container@%s.service.d/gpu-nodes.conf' "$ID"
}

has_cards() {
  [[ -n $(argument cards "") ]]
}

has_nesting() {
  [[ ,${OPTIONS[features]:-}, == *,nesting=1,* ]]
}

# Other features stay as they are: an adopted container may need them.
features_with_nesting() {
  { tr ',' '\n' <<<"${OPTIONS[features]:-}" | grep -v '^nesting=' || true; } | { cat && echo nesting=1; } | grep . | paste -sd, -
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
  local name
  for name in "${!OPTIONS[@]}"; do
    [[ ! $name =~ ^mp[0-9]+$ || ${OPTIONS[$name]} != /* ]] || printf '%s\n' "${OPTIONS[$name]}"
  done
}

# Only where each appears and whether it may be written to count: an adopted container may have others (backup=0, shared=1).
normal_mounts() {
  local line part target access
  local -a parts
  while IFS= read -r line; do
    target="" access=""
    IFS=, read -r -a parts <<<"$line"
    for part in "${parts[@]:1}"; do
      [[ $part != mp=* ]] || target=$part
      [[ $part != ro=1 ]] || access=,ro=1
    done
    printf '%s\n' "${parts[0]},$target$access"
  done | sort
}

mounts_differ() {
  [[ $(wanted_mounts | normal_mounts) != "$(current_mounts | normal_mounts)" ]]
}

# What makes a container another one. Not repaired here: repairing it would mean building it anew.
check_identity() {
  local declared found=${OPTIONS[unprivileged]:-} storage=${OPTIONS[rootfs]:-}
  declared=$(argument unprivileged)
  [[ $found == "$declared" || ($declared == 0 && -z $found) ]] ||
    fail "container $ID has unprivileged=$found, the plan says $declared; this cannot be changed in place" \
      "keep the value it has, or rebuild it: set protect: false, \`up\`, \`pulumi destroy --target …\`, \`up\` (its root disk is lost, its mounts stay)"
  declared=$(argument storage)
  storage=${storage%%:*}
  [[ $storage == "$declared" ]] ||
    fail "container $ID has its root disk on '$storage', the plan says '$declared'" \
      "write the storage it has into the stack file; to move the disk: pct move-volume $ID rootfs $declared, then \`up\`"
}

# The address in its first network card's settings.
address() {
  [[ ,${OPTIONS[net0]:-}, =~ ,ip=([^,]*), ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# The provider takes a refused change for done and does not try again; here it shows.
check_settings() {
  local name value found
  for name in cores memory swap hostname; do
    value=$(argument "$name")
    found=${OPTIONS[$name]:-}
    [[ $found == "$value" ]] || differs "$name is '$found', the plan says $value: Proxmox VE has not taken that change"
  done
  value=$(argument address)
  found=$(address || true)
  [[ $found == "$value" ]] || differs "its address is '$found', the plan says $value: Proxmox VE has not taken that change"
}

settings_differ() {
  [[ " ${DIFFERENCES[*]} " == *"has not taken that change"* ]]
}

# The old way to pass cards. With it a container can start without its cards, or with others after a reboot.
check_raw_lines() {
  local lines
  [[ $CURRENT == *lxc.* ]] || return 0
  lines=$(grep -E '^lxc\.(mount\.entry: .*/dev/nvidia|cgroup2?\.devices\.allow: c 195:)' <<<"$CURRENT" || true)
  [[ -z $lines ]] ||
    fail "container $ID passes NVIDIA devices by raw lines too: ${lines//$'\n'/; }" \
      "delete these lines from /etc/pve/lxc/$ID.conf, then run \`up\` again: the stack sets devN instead"
}

step_check() {
  ID=$(argument id)
  read_configuration || fail "container $ID does not exist on $(machine_name)" \
    "it was taken away behind the stack's back: \`pulumi up --refresh\` makes it anew and fills it"
  [[ ${OPTIONS[lock]:-} != create ]] || fail "container $ID is only half made (lock: create)" \
    "if nobody is making it (pvesh get /cluster/tasks): pct unlock $ID, pct destroy $ID, then \`up\` makes it anew"
  check_identity
  check_raw_lines
  check_settings
  has_nesting || differs "nesting is off: systemd in the container needs it"
  ! mounts_differ || differs "bind mounts are not as declared"
  if has_cards; then
    check_text "$CONFIGURATION/$ID" "$(devices_text)
"
    check_text "$(guard)" "$(file guard)
"
  fi
  has_its_cards || differs "the device nodes are not those of its cards"
  if ! running; then
    differs "it is not running"
    return
  fi
  inside_as_planned || differs "the running container does not have what its configuration says: it must be restarted"
}

# The running container can lag behind its configuration: changes to devices and mounts wait for a restart.
inside_as_planned() {
  local mount target line mode numbers devices=() inside
  mapfile -t devices < <(sed -n 's/^dev[0-9]*: \(path=\)\{0,1\}\(\/dev\/nvidia[^,]*\).*/\2/p' <<<"$CURRENT")
  inside=$(look_inside ${devices[@]+"${devices[@]}"}) || return 1
  while IFS= read -r mount; do
    [[ -n $mount ]] || continue
    target=${mount#*,mp=}
    [[ $inside == *$'\n'"mount ${target%%,*}"$'\n'* ]] || return 1
  done < <(wanted_mounts)
  # The host's devices under these paths, with the declared mode.
  mode=$(argument deviceMode)
  if ((${#devices[@]} > 0)); then
    numbers=$(stat -c '%n %t:%T' "${devices[@]}" 2>/dev/null) || return 1
    while IFS= read -r line; do
      [[ $inside == *$'\n'"device $line $mode"$'\n'* ]] || return 1
    done <<<"$numbers"
  fi
  # A card that was taken from it must be gone too.
  [[ $inside == *$'\n'"cards $(card_names | wc -l)"$'\n'* ]]
}

# look_inside DEVICE…: mounts, devices and the number of cards in the running container, one a line, at one go.
look_inside() {
  # shellcheck disable=SC2016 # for the container's shell
  in_container "$ID" sh -c '
    echo
    while read -r _ target _; do echo "mount $target"; done </proc/mounts
    [ $# = 0 ] || stat -c "device %n %t:%T 0%a" "$@"
    echo "cards $(ls -d /dev/nvidia[0-9]* 2>/dev/null | wc -l)"' sh "$@" 2>/dev/null && echo end
}

# change VERB WORD…: `pct VERB ID WORD…`
change() {
  when_unlocked "$ID" pct "$1" "$ID" "${@:2}" ||
    fail "\`pct $1\` of container $ID was refused" "the line above says why; run \`up\` again when that is gone"
}

# All in one change: a host that goes down between two would start the container without what the first took away.
set_mounts() {
  local line name number=0 arguments=() set=" " stale=()
  while IFS= read -r line; do
    install -d -m 755 "${line%%,*}"
    # Volumes keep their numbers.
    while [[ ${OPTIONS[mp$number]:-/} != /* ]]; do number=$((number + 1)); done
    arguments+=("--mp$number" "$line")
    set+="mp$number "
    number=$((number + 1))
  done < <(wanted_mounts)
  for name in "${!OPTIONS[@]}"; do
    [[ ! $name =~ ^mp[0-9]+$ || ${OPTIONS[$name]} != /* || $set == *" $name "* ]] || stale+=("$name")
  done
  ((${#stale[@]} == 0)) || arguments+=(--delete "$(printf '%s\n' "${stale[@]}" | sort -V | paste -sd, -)")
  ((${#arguments[@]} == 0)) || change set "${arguments[@]}"
}

wait_for_systemd() {
  local state="" deadline=$((SECONDS + 60))
  while ((SECONDS < deadline)); do
    # Right after the start the service manager does not answer yet.
    state=$(in_container "$ID" timeout 60 systemctl is-system-running --wait 2>/dev/null || true)
    [[ $state == running || $state == degraded ]] && return 0
    sleep 0.1
  done
  state=$(in_container "$ID" systemctl is-system-running 2>/dev/null || true)
  fail "container $ID started, but its systemd is '$state' after a minute" "look inside: pct enter $ID, then systemctl --failed"
}

# What the host needs to give the container its cards at every boot.
declare_devices() {
  if has_cards; then
    put_text "$CONFIGURATION/$ID" 644 "$(devices_text)
"
    put_text "$(guard)" 644 "$(file guard)
"
    systemctl daemon-reload
    "$TOOL" nodes || fail "device nodes of the GPUs could not be made" "see the lines above"
  else
    rm -f "$CONFIGURATION/$ID" "$(guard)"
    systemctl daemon-reload
  fi
}

# 0 when the running container has all that it must have: somebody may be served by it, so it is not restarted.
runs_as_planned() {
  running && has_nesting && ! mounts_differ || return 1
  has_its_cards && inside_as_planned
}

step_apply() {
  ! settings_differ || fail "container $ID: $(printf '%s; ' "${DIFFERENCES[@]}")" \
    "run \`pulumi up --refresh\`: it reads the container anew and sends the change again"
  declare_devices
  # A backup may stop a container and start it again.
  wait_until_unlocked "$ID"
  read_configuration
  if runs_as_planned; then
    say "container $ID has its devices, mounts and nesting: it keeps running"
    return
  fi
  if running; then
    say "stopping container $ID: its devices, mounts or features change"
    change shutdown --timeout 120 --forceStop 1
  fi
  # First: where a card is gone, Proxmox VE refuses every other change with the device's number alone.
  if [[ -x $TOOL ]]; then
    when_unlocked "$ID" "$TOOL" attach "$ID" || fail "container $ID cannot get its GPUs" "see the line above"
  fi
  has_nesting || change set --features "$(features_with_nesting)"
  ! mounts_differ || set_mounts
  say "starting container $ID"
  when_unlocked "$ID" pct start "$ID" || running || fail "container $ID does not start" "see: journalctl -b -u pve-container@$ID"
  wait_for_systemd
}

step_facts() {
  fact id "$ID"
  fact status "${STATUS,,}"
  fact address "$(address | cut -d/ -f1)"
}
