# How a stack is: its host, all cards that the driver tells, its containers and the services in them. It only looks; what
# is well and what is not is decided where it can be tested.
#
# uses: step json nvidia
# arguments: containers=ID,…, services=ID:NAME:ENVIRONMENT,… (ENVIRONMENT is the link that the service starts from)
# facts: see cli/status/facts.ts

# A container that hangs must not keep the rest from being told.
LIMIT_SECONDS=60

step_check() {
  :
}

# One line a word of NAME=A,B,…
words_of() {
  argument "$1" "" | tr ',' '\n' | grep . || true
}

# Processes that hold a card: "MINOR CONTAINER" a line, the container "host" for one outside of all.
card_users() {
  local folder link container
  while read -r folder link; do
    container=$(sed -n 's#.*/lxc/\([0-9]\{1,\}\)\(/.*\)\{0,1\}$#\1#p' "${folder%/fd}/cgroup" 2>/dev/null | head -n 1) || true
    # The daemon that keeps the cards initialised holds all of them.
    [[ -n $container || $(cat "${folder%/fd}/comm" 2>/dev/null) != nvidia-persiste* ]] || continue
    printf '%s %s\n' "${link##*/nvidia}" "${container:-host}"
  done < <(find /proc/[0-9]*/fd -lname '*/nvidia[0-9]*' -xtype c -printf '%h %l\n' 2>/dev/null) | sort -u
}

cards() {
  local users uuid bus used total address minor
  users=$(card_users)
  while IFS=, read -r uuid bus used total; do
    # nvidia-smi writes a domain of eight digits, the kernel one of four.
    address=$(tr '[:upper:]' '[:lower:]' <<<"${bus// /}" | sed 's/^0000\(....:\)/\1/')
    minor=$(sed -n 's/^Device Minor:[[:space:]]*//p' "/proc/driver/nvidia/gpus/$address/information" 2>/dev/null) || true
    object uuid "$uuid" pci "$address" minor "$minor" usedMiB "${used// /}" totalMiB "${total// /}" \
      users "$(awk -v minor="$minor" '$1 == minor { print $2 }' <<<"$users" | paste -sd' ' -)"
    printf '\n'
  done < <(timeout "$LIMIT_SECONDS" nvidia-smi --query-gpu=uuid,pci.bus_id,memory.used,memory.total \
    --format=csv,noheader,nounits 2>/dev/null | grep '^GPU-')
}

# The state of a container, or "missing".
container_state() {
  [[ -e /etc/pve/lxc/$1.conf ]] || {
    printf missing
    return
  }
  pct status "$1" 2>/dev/null | cut -d' ' -f2
}

containers() {
  local id
  while IFS= read -r id; do
    object id "$id" state "$(container_state "$id")" \
      address "$(sed -n -e '/^\[/q' -e 's/^net0:.*[ ,]ip=\([^,/]*\).*/\1/p' "/etc/pve/lxc/$id.conf" 2>/dev/null)"
    printf '\n'
  done < <(words_of containers)
}

# Runs in the container: service_state NAME ENVIRONMENT.
service_state() {
  local unit=sglang-$1.service changed
  shown() {
    systemctl show --property="$1" --value "$unit"
  }
  content() {
    cat "$1" 2>/dev/null || true
  }
  changed=$(shown StateChangeTimestamp)
  object name "$1" state "$(shown ActiveState)" enabled "$(shown UnitFileState)" restarts "$(shown NRestarts)" \
    since "$([[ -z $changed ]] || date -d "$changed" +%s)" \
    probe "$(content "/var/lib/proxmox-gpu-stack/probe/$1.json")" \
    environment "$(readlink "$2" || true)" good "$(content "/var/lib/proxmox-gpu-stack/services/$1/good")"
  printf '\n'
}

services() {
  local id name environment
  while IFS=: read -r id name environment; do
    [[ $(container_state "$id") == running ]] || continue
    {
      printf 'export LC_ALL=C.UTF-8\n'
      declare -f json_string object service_state
      printf 'service_state %q %q\n' "$name" "$environment"
    } | timeout "$LIMIT_SECONDS" pct exec "$id" --keep-env 0 -- bash -s || say "container $id does not tell of $name"
  done < <(words_of services)
}

step_facts() {
  fact node "$(uname -n)"
  fact kernel "$(uname -r)"
  fact uptimeSeconds "$(cut -d. -f1 /proc/uptime)"
  fact driver "$(loaded_driver)"
  fact clock "$(date +%s)"
  fact cards "$(list cards)"
  fact containers "$(list containers)"
  fact services "$(list services)"
}
