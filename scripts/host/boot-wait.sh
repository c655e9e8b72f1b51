# Wait until the host is up again after the reboot that an earlier step asked for, and see that it came up as that step
# needs it. Where no reboot was needed it only looks.
#
# uses: step nvidia reboot
# arguments: after=DIGEST (of the step before: a change there runs this again),
#            driver=VERSION (optional: the loaded NVIDIA module)
# facts: bootId, kernel

step_check() {
  local driver
  [[ ! -e $REBOOT_MARK ]] ||
    differs "the reboot asked for at $(cat "$REBOOT_MARK") has not happened"
  ! nouveau_loaded || differs "nouveau is loaded"
  driver=$(argument driver "")
  [[ -z $driver || $(loaded_driver) == "$driver" ]] ||
    differs "the loaded NVIDIA module is '$(loaded_driver)', declared is $driver"
}

fail_with_nouveau() {
  local lines
  lines=$(nouveau_loaders)
  fail "nouveau is loaded although this boot was to keep it out" \
    "${lines:+look at these lines of configuration: $lines; }look whether the kernel was started with an old initramfs (lsinitramfs /boot/initrd.img-$(uname -r) | grep modprobe.d; on boot partitions: proxmox-boot-tool refresh), then run \`up\` again"
}

# Nothing is made here: the machine is as declared once it has booted, or an earlier step must run again.
step_apply() {
  local state
  if [[ -e $REBOOT_MARK ]]; then
    fail "$(machine_name) has not rebooted: $(cat "$REBOOT_MARK")" "look at its console, reboot it, then run \`up\` again"
  fi
  say "waiting for systemd to finish booting"
  state=$(timeout 600 systemctl is-system-running --wait || true)
  say "system is $state"
  ! nouveau_loaded || fail_with_nouveau
  if [[ -n $(argument driver "") && -z $(loaded_driver) ]]; then
    say "loading the NVIDIA module"
    modprobe nvidia ||
      fail "the NVIDIA module cannot be loaded on kernel $(uname -r)" \
        "see: dmesg | grep -i nvrm; dkms status; with Secure Boot the module's key must be enrolled"
  fi
}

step_facts() {
  fact kernel "$(uname -r)"
  fact bootId "$(cat /proc/sys/kernel/random/boot_id)"
}
