# A reboot is asked for by one step and waited for by the next.

REBOOT_MARK=/run/proxmox-gpu-stack/reboot-requested

# request_reboot WHY: schedules the reboot and returns. New SSH connections are refused from now on, so that the next
# step cannot meet the machine on its way down; this session lives on (sshd's KillMode is process). Should the reboot
# not happen, sshd is started again after 15 minutes.
request_reboot() {
  local why=$1
  if [[ $(argument reboot) != allow ]]; then
    fail "a reboot of $(machine_name) is needed ($why) and the stack says reboot: never" \
      "reboot the host when it suits you, then run \`up\` again; it goes on from there. Or set host.reboot to allow"
  fi
  say "reboot: $why"
  reboot_requested "$(cat /proc/sys/kernel/random/boot_id)"
  install -d -m 755 "$(dirname "$REBOOT_MARK")"
  printf '%s %s\n' "$(date -Is)" "$why" >"$REBOOT_MARK"
  systemd-run --quiet --on-active=15min --unit=proxmox-gpu-stack-ssh-again systemctl start ssh.service 2>/dev/null || true
  systemctl stop ssh.socket 2>/dev/null || true
  systemctl stop ssh.service
  systemd-run --quiet --on-active=1s --timer-property=AccuracySec=100ms --unit=proxmox-gpu-stack-reboot systemctl reboot
}
