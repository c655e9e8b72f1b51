# shellcheck shell=bash disable=SC2154 # settings.sh has the names of places
# The lab's network on the machine's side: a bridge without a way out, and the services on its address. To be sourced.

# The bridge belongs to one lab: its alias says to which.
bridge_owner() {
  ip -details -json link show "$bridge" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)[0].get("ifalias", ""))'
}

bridge_exists() {
  ip link show "$bridge" >/dev/null 2>&1
}

require_own_bridge() {
  bridge_exists || return 0
  local owner
  owner="$(bridge_owner)"
  [[ "$owner" == "$LAB_DIR" ]] ||
    fail "the network $LAB_SUBNET.0/24 is in use by the lab in '$owner'; take that one down or set LAB_SUBNET to another network"
}

start_network() {
  require_own_bridge
  if ! bridge_exists; then
    ip link add "$bridge" type bridge
    ip link set "$bridge" alias "$LAB_DIR"
  fi
  ip address replace "$lab_address/24" dev "$bridge"
  ip link set "$bridge" up
}

stop_network() {
  ! bridge_exists || ip link delete "$bridge"
}

# start_service NAME COMMAND...: runs a daemon of the lab unless it runs already. Its output goes to its log.
start_service() {
  local name="$1" pid_file="$services_folder/$1.pid"
  shift
  process_is_alive "$pid_file" && return 0
  mkdir -p "$services_folder" "$lab_cgroup/services"
  (
    release_locks
    echo "$BASHPID" >"$lab_cgroup/services/cgroup.procs"
    exec setsid "$@"
  ) >>"$services_folder/$name.log" 2>&1 </dev/null &
  echo $! >"$pid_file"
}

# wait_for_service NAME PORT: until it accepts connections; at most a minute, which a busy machine may need.
wait_for_service() {
  local attempt
  for ((attempt = 0; attempt < 600; attempt++)); do
    if (: <"/dev/tcp/$lab_address/$2") 2>/dev/null; then
      return 0
    fi
    process_is_alive "$services_folder/$1.pid" || break
    sleep 0.1
  done
  fail "the lab's $1 does not answer on $lab_address:$2; it said: $(tail -n 5 "$services_folder/$1.log")"
}

start_services() {
  local network="$lab_source/network" mirrors
  readarray -t mirrors <"${piece_folder[template]}/mirrors"
  start_service apt-relay "$network/apt-relay" "$lab_address" "$apt_relay_port" "$cache/apt" "${mirrors[@]}"
  start_service file-server "$network/file-server" "$lab_address" "$file_server_port" "$www_folder"
  wait_for_service apt-relay "$apt_relay_port"
  wait_for_service file-server "$file_server_port"
  # Only where they are part of this checkout.
  if [[ -x "$lab_source/index/serve" ]]; then
    start_service package-index "$lab_source/index/serve" "$lab_address" "$package_index_port"
    wait_for_service package-index "$package_index_port"
  fi
  if [[ -x "$lab_source/hub/serve" ]]; then
    start_service model-hub "$lab_source/hub/serve" "$lab_address" "$model_hub_port" --faults "$LAB_DIR/hub-faults.json"
    wait_for_service model-hub "$model_hub_port"
  fi
}

stop_services() {
  kill_cgroup "$lab_cgroup/services"
  rm -rf "$services_folder"
}
