# shellcheck shell=bash disable=SC2154 # settings.sh has the names of places
# SSH to the lab's hosts, with the lab's fixed keys: the host's key is checked. To be sourced.

# ssh wants a private key that nobody else can read, which a checkout does not promise: the key is copied.
prepare_ssh() {
  install -m 600 "$lab_source/keys/client_ed25519" "$LAB_DIR/client_ed25519"
  local type key _
  read -r type key _ <"$lab_source/keys/host_ed25519.pub"
  echo "$LAB_SUBNET.* $type $key" >"$LAB_DIR/known_hosts"
}

# lab_ssh NAME [ARGUMENT...]: ssh to a host as root; ARGUMENTs are options and command of ssh. Ends when the host vanishes.
lab_ssh() {
  local name="$1"
  shift
  ssh -F none -i "$LAB_DIR/client_ed25519" -o IdentitiesOnly=yes -o IdentityAgent=none -o UserKnownHostsFile="$LAB_DIR/known_hosts" \
    -o GlobalKnownHostsFile=none -o StrictHostKeyChecking=yes -o LogLevel=ERROR -o ConnectTimeout=2 \
    -o ServerAliveInterval=10 -o ServerAliveCountMax=3 "root@$(host_address "$name")" "$@"
}

# wait_for_host NAME [OLD_BOOT_ID]: waits until systemd of the host is up (after another boot than OLD_BOOT_ID); prints the boot id.
wait_for_host() {
  local name="$1" old="${2:-}" boot_id state deadline=$((SECONDS + 300))
  while ((SECONDS < deadline)); do
    host_is_running "$name" || fail "host '$name' is off; its log: $hosts_folder/$name/log"
    boot_id="$(lab_ssh "$name" cat /proc/sys/kernel/random/boot_id 2>/dev/null || true)"
    if [[ -n "$boot_id" && "$boot_id" != "$old" ]]; then
      # No answer, or "stopping": it is on its way down, perhaps to the next boot.
      state="$(lab_ssh "$name" systemctl is-system-running --wait 2>/dev/null || true)"
      case "$state" in
        running)
          echo "$boot_id"
          return
          ;;
        degraded)
          fail "host '$name' has failed units: $(lab_ssh "$name" systemctl list-units --failed --plain --no-legend | cut -d ' ' -f 1 | paste -sd ' ')"
          ;;
      esac
    fi
    sleep 0.1
  done
  fail "host '$name' did not come up on SSH within five minutes; its log: $hosts_folder/$name/log, its console: $hosts_folder/$name/console"
}

# require_services_reachable NAME: a firewall of this machine may drop what its hosts send; better told here than by a time-out later.
require_services_reachable() {
  local port
  for port in "$file_server_port" "$apt_relay_port"; do
    lab_ssh "$1" timeout 5 bash -c "': </dev/tcp/$lab_address/$port'" 2>/dev/null ||
      fail "host '$1' cannot reach $lab_address:$port on this machine: a firewall drops it; allow what comes in on the interface $bridge"
  done
}
