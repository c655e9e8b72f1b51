# A reboot is asked for by one step and waited for by the next.

REBOOT_MARK=/run/proxmox-gpu-stack/reboot-requested

# Who goes down with the host, and who stays down: for a person, before it happens.
list_guests_before_reboot() {
  local kind id name start line
  while read -r kind id name start; do
    line="  $kind $id ($name)"
    if is_ours "$id" || [[ -e /etc/proxmox-gpu-stack/claims/$id ]]; then
      line+=", of this stack"
    fi
    [[ $start == onboot ]] || line+=", does not start again by itself: onboot is off"
    printf '%s\n' "$line"
  done < <(running_guests)
}

# request_reboot WHY: schedules the reboot and returns. New SSH connections are refused from now on, so that the next
# step cannot meet the machine on its way down; this session lives on (sshd's KillMode is process). Should the reboot
# not happen, sshd is started again after 15 minutes. Proxmox VE shuts the guests down in their order.
request_reboot() {
  local why=$1 guests
  if [[ $(argument reboot) != allow ]]; then
    fail "a reboot of $(machine_name) is needed ($why) and the stack says reboot: never" \
      "reboot the host when it suits you, then run \`up\` again; it goes on from there. Or set host.reboot to allow"
  fi
  say "$(machine_name) reboots now: $why"
  guests=$(list_guests_before_reboot)
  [[ -z $guests ]] || say "guests that Proxmox VE shuts down with it, in their order:
$guests"
  say "the next step waits for it, at most host.rebootTimeoutMinutes; if that step fails because $(machine_name) cannot be \
dialled, look at its console, then run \`up\` again: it goes on from there"
  reboot_requested "$(cat /proc/sys/kernel/random/boot_id)"
  install -d -m 755 "$(dirname "$REBOOT_MARK")"
  printf '%s %s\n' "$(date -Is)" "$why" >"$REBOOT_MARK"
  systemd-run --quiet --on-active=15min --unit=proxmox-gpu-stack-ssh-again systemctl start ssh.service 2>/dev/null || true
  systemctl stop ssh.socket 2>/dev/null || true
  systemctl stop ssh.service
  systemd-run --quiet --on-active=1s --timer-property=AccuracySec=100ms --unit=proxmox-gpu-stack-reboot systemctl reboot
}
