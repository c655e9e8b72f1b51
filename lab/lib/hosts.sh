# shellcheck shell=bash disable=SC2154 # settings.sh has the names of places
# Life of the lab's hosts. A host is a folder in $hosts_folder:
#   name's folder/address   its IPv4 address
#   .../disk, .../work      the writable part of its overlay; links into LAB_DISKS where that was set when the host was made
#   .../lower               its read-only layers
#   .../netns               its network namespace
#   .../supervisor.pid      process that keeps it running
#   .../init.pid            its process 1, as the machine numbers it; absent while it is off
#   .../log, .../console    what the supervisor said; what systemd printed
# To be sourced.

first_host_octet=5
last_host_octet=99

require_host_name() {
  [[ "$1" =~ ^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$ ]] ||
    fail "'$1' is no host name; it must be of small letters, digits and '-', at most 32"
}

require_host() {
  require_host_name "$1"
  [[ -d "$hosts_folder/$1" ]] || fail "there is no host '$1' in this lab; \`lab up $1\` makes it, \`lab status\` lists them"
}

host_names() {
  [[ ! -d "$hosts_folder" ]] || ls "$hosts_folder"
}

host_address() {
  cat "$hosts_folder/$1/address"
}

host_cgroup() {
  echo "$lab_cgroup/host-$1"
}

host_interface() {
  local address
  address="$(host_address "$1")"
  echo "$veth_prefix-${address##*.}"
}

# process_is_alive PID_FILE: whether the file names a living process.
process_is_alive() {
  local pid status
  [[ -s "$1" ]] || return 1
  pid="$(<"$1")"
  status="$(cat "/proc/$pid/stat" 2>/dev/null)" || return 1
  # After the program's name in parentheses; Z is a dead process that its parent has not looked at yet.
  [[ "${status##*) }" != Z* ]]
}

host_is_running() {
  process_is_alive "$hosts_folder/$1/supervisor.pid"
}

# The first address from .5 on that no host has.
free_host_octet() {
  local octet
  for ((octet = first_host_octet; octet <= last_host_octet; octet++)); do
    if ! grep --quiet --line-regexp --no-messages "$LAB_SUBNET.$octet" "$hosts_folder"/*/address; then
      echo "$octet"
      return
    fi
  done
  fail "no free address for another host: $LAB_SUBNET.$first_host_octet to .$last_host_octet are taken"
}

# create_host NAME OCTET|"" LAYER|"": makes a host's disk. Without OCTET the first free address; LAYER is one of `lab save`.
create_host() {
  local name="$1" octet="$2" layer="$3" host="$hosts_folder/$1" lower
  require_host_name "$name"
  [[ -n "$octet" ]] || octet="$(free_host_octet)"
  if ! [[ "$octet" =~ ^[0-9]+$ ]] || ((octet < first_host_octet || octet > last_host_octet)); then
    fail "'$octet' is no last octet of a host; it must be $first_host_octet to $last_host_octet"
  fi
  if grep --quiet --line-regexp --no-messages "$LAB_SUBNET.$octet" "$hosts_folder"/*/address; then
    fail "address $LAB_SUBNET.$octet is another host's"
  fi
  lower="$(current_layers)"
  if [[ -n "$layer" ]]; then
    lower="$(saved_layer "$layer" "$lower"):$lower"
  fi

  # Made aside: an interrupted creation leaves no half a host.
  local new="$run_folder/new-$name"
  rm -rf "$new"
  mkdir -p "$new/root"
  make_disk "$name" "$new"
  : >"$new/console"
  echo "$LAB_SUBNET.$octet" >"$new/address"
  echo "$lower" >"$new/lower"
  write_host_files "$new/disk/etc" "$name" "$LAB_SUBNET.$octet"
  [[ -z "$layer" ]] || move_to_this_network "$cache/saved/$layer" "$new/disk"
  mv "$new" "$host"
}

# move_to_this_network SAVED DISK: writes the saved state's files that name addresses of the lab where it was saved to the DISK over
# it, with this lab's: what Proxmox VE and the stack know, and what containers know of their network and their packages.
move_to_this_network() {
  local saved="$1" disk="$2" network file
  network="$(<"$saved/subnet")"
  [[ "$network" != "$LAB_SUBNET" ]] || return 0
  (
    cd "$saved/tree" || exit
    shopt -s nullglob # and a * at what may be missing
    # No match is no failure.
    # shellcheck disable=SC2016 # for the shell that find starts
    find etc/ var/lib/lxc*/ var/lib/proxmox-gpu-stack*/ var/lib/lab-volumes/*/*/etc/ -type f -exec bash -c \
      'grep --files-with-matches --null --binary-files=without-match --fixed-strings "$0" "$@" || (($? == 1))' "$network." {} + |
      while IFS= read -r -d '' file; do
        cp --archive --parents "$file" "$disk"
        sed --in-place "s/${network//./\\.}\\./$LAB_SUBNET./g" "$disk/$file"
      done
  )
}

# make_disk NAME HOST_FOLDER: the empty writable part of the host's disk, in memory or in LAB_DISKS.
make_disk() {
  local place="$2"
  if [[ -n "$LAB_DISKS" ]]; then
    place="$LAB_DISKS/$bridge-$1"
    rm -rf "$place"
    mkdir -p "$place"
    ln -s "$place/disk" "$place/work" "$2"
  fi
  mkdir "$place/disk" "$place/work"
}

# remove_host_folder NAME: forgets a host that is off, with its disk, wherever that lies.
remove_host_folder() {
  local host="${hosts_folder:?}/$1"
  if [[ -L "$host/disk" ]]; then
    rm -rf "$(dirname "$(readlink "$host/disk")")"
  fi
  rm -rf "$host"
}

# write_host_files ETC NAME ADDRESS: what tells this host from another, and how it reaches packages. Containers made on the host get
# copies of the files about packages.
write_host_files() {
  local etc="$1" name="$2" address="$3" index="http://$lab_address:$package_index_port/simple/"
  mkdir -p "$etc/apt/apt.conf.d" "$etc/uv"
  echo "Acquire::http::Proxy \"http://$lab_address:$apt_relay_port\";" >"$etc/apt/apt.conf.d/99labproxy"
  printf '[global]\nindex-url = %s\ntrusted-host = %s\n' "$index" "$lab_address" >"$etc/pip.conf"
  printf '[[index]]\nurl = "%s"\ndefault = true\n' "$index" >"$etc/uv/uv.toml"
  echo "$name" >"$etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost\n%s %s.lab %s\n' "$address" "$name" "$name" >"$etc/hosts"
}

# The host's own network: a bridge vmbr0, as Proxmox VE makes it, with the host's address and its cable to the lab's bridge.
connect_host() {
  local name="$1" host="$hosts_folder/$1" interface address mac
  interface="$(host_interface "$name")"
  address="$(host_address "$name")"
  # An address always comes with the same MAC, so that no neighbour has to forget the one of the boot or host before.
  # shellcheck disable=SC2086 # one octet a word
  mac="$(printf '02:1a:%02x:%02x:%02x:%02x' ${address//./ })"
  disconnect_host "$name"
  touch "$host/netns"
  unshare --net="$host/netns" true
  ip link add "$interface" type veth peer name eth0 netns "$host/netns"
  ip link set "$interface" master "$bridge" up
  nsenter --net="$host/netns" ip -batch - <<X
link set lo up
link set eth0 address $mac
link add vmbr0 address $mac type bridge
link set eth0 master vmbr0 up
addr add $address/24 dev vmbr0
link set vmbr0 up
route add default via $lab_address
X
}

disconnect_host() {
  local host="$hosts_folder/$1" interface
  interface="$(host_interface "$1")"
  ! ip link show "$interface" >/dev/null 2>&1 || ip link delete "$interface"
  if mountpoint --quiet "$host/netns"; then
    umount "$host/netns"
  fi
  rm -f "$host/netns"
}

# start_host NAME: powers an existing host on. Nothing happens when it runs.
start_host() {
  local name="$1" host="$hosts_folder/$1" cgroup layer
  host_is_running "$name" && return 0
  for layer in $(tr : ' ' <"$host/lower"); do
    [[ -d "$layer" ]] || fail "what host '$name' was made of is gone ($layer), by a newer build; \`lab down $name\` and \`lab up $name\` make it anew"
  done
  cgroup="$(host_cgroup "$name")"
  remove_cgroup "$cgroup"
  mkdir -p "$cgroup"
  connect_host "$name"
  rm -f "$host/init.pid"
  (
    release_locks
    exec setsid "$lab_source/host/supervise" "$host" "$name" "$cgroup"
  ) >>"$host/log" 2>&1 </dev/null &
  echo $! >"$host/supervisor.pid"
}

# wait_until_off NAME SECONDS: whether the host is off within that time.
wait_until_off() {
  local tenths
  for ((tenths = $2 * 10; tenths > 0; tenths--)); do
    host_is_running "$1" || return 0
    sleep 0.1
  done
  return 1
}

# power_off_host NAME: shuts the host down cleanly; its disk stays.
power_off_host() {
  local name="$1" host="$hosts_folder/$1" attempt
  for ((attempt = 0; attempt < 24; attempt++)); do
    host_is_running "$name" || break
    # systemd takes it as "power off"; a host that has only just been started does not listen yet.
    [[ ! -s "$host/init.pid" ]] || kill -s RTMIN+4 "$(<"$host/init.pid")" 2>/dev/null || true
    ! wait_until_off "$name" 5 || break
  done
  host_is_running "$name" && fail "host '$name' did not shut down within 120 s; \`lab kill $name\` ends it"
  remove_cgroup "$(host_cgroup "$name")"
  disconnect_host "$name"
}

# kill_host NAME: a power loss. No process of it gets a chance to do anything; its disk stays as it is.
kill_host() {
  local name="$1"
  kill_cgroup "$(host_cgroup "$name")"
  wait_until_off "$name" 10 || fail "host '$name' does not end"
  remove_cgroup "$(host_cgroup "$name")"
  disconnect_host "$name"
  rm -f "$hosts_folder/$name/init.pid"
}

# destroy_host NAME: ends a host and throws its disk away.
destroy_host() {
  kill_host "$1"
  remove_host_folder "$1"
}

# set_inventory NAME FILE: other cards in the host, seen from its next boot on. FILE is a path or a name in lab/inventory.
set_inventory() {
  local name="$1" file="$2" target
  if [[ ! -f "$file" ]]; then
    file="$lab_source/inventory/$2.json"
    [[ -f "$file" ]] ||
      fail "no inventory '$2': neither a file nor one of $(basename -s .json -a "$lab_source"/inventory/*.json | paste -sd ' ')"
  fi
  python3 "$lab_source/gpu/labkernel/inventory.py" "$file" || fail "the inventory '$2' is not valid; see above"
  target="$hosts_folder/$name/disk/etc/lab"
  if host_is_running "$name"; then
    # Through the host's own view: a file put below a mounted overlay may never show.
    target="/proc/$(<"$hosts_folder/$name/init.pid")/root/etc/lab"
  fi
  mkdir -p "$target"
  cp "$file" "$target/gpus.json"
}

# save_host NAME LAYER: powers the host off and keeps its disk in the cache, for `lab up --from LAYER`. The host is gone then.
save_host() {
  local name="$1" layer="$2" host="$hosts_folder/$1" saved="$cache/saved/$2"
  require_host_name "$layer"
  power_off_host "$name"
  rm -rf "$saved.new" "$cache/saved/.old-$layer"
  mkdir -p "$saved.new/tree"
  cp -a "$host/disk/." "$saved.new/tree"
  # What belongs to this host, not to the state.
  local file
  for file in var/log/journal etc/lab/gpus.json etc/hostname etc/hosts etc/pve/local etc/pve/priv etc/apt/apt.conf.d/99labproxy \
    etc/pip.conf etc/uv/uv.toml; do
    rm -rf "$saved.new/tree/${file:?}"
  done
  cp "$host/lower" "$saved.new/lower"
  echo "$LAB_SUBNET" >"$saved.new/subnet"
  [[ ! -e "$saved" ]] || mv "$saved" "$cache/saved/.old-$layer"
  mv "$saved.new" "$saved"
  rm -rf "$cache/saved/.old-$layer"
  remove_host_folder "$name"
}

# saved_layer LAYER LOWER: the tree of a saved layer, refused when it was saved on top of other layers than LOWER.
saved_layer() {
  local saved="$cache/saved/$1"
  [[ -d "$saved" ]] || fail "there is no saved layer '$1'; saved are: $(find "$cache/saved" -mindepth 1 -maxdepth 1 -name '[!.]*' -printf '%f ' 2>/dev/null)"
  [[ "$(<"$saved/lower")" == "$2" ]] ||
    fail "the saved layer '$1' belongs to an older build of the lab; prepare the state anew and save it again"
  echo "$saved/tree"
}

# The states of all hosts as a table.
print_status() {
  local name state
  printf '%-20s %-16s %s\n' HOST ADDRESS STATE
  for name in $(host_names); do
    state=off
    ! host_is_running "$name" || state=running
    printf '%-20s %-16s %s\n' "$name" "$(host_address "$name")" "$state"
  done
}
