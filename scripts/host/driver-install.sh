# Install the pinned NVIDIA driver from its checksummed installer, with DKMS, for the kernel that runs and those that may
# boot next. The build runs as a unit of its own, so that a cut connection or a restart of sshd loses nothing.
#
# Where another driver is loaded, what our containers run on the GPUs is stopped first. If the old module can then be
# unloaded, no reboot is needed.
#
# uses: step files download packages driver-packages nvidia driver-origin secure-boot container-locks in-container gpu-users long-work reboot
# arguments: version, modules=open|proprietary, url, sha256, options (module and loading options of this version's
#            installer, separated by commas), reboot=allow|never, replace=true|false (may another driver be removed?)
# texts: driver-build (what the unit runs)
# facts: version, modules

WORKER=/usr/local/lib/proxmox-gpu-stack/driver-build

check_modules() {
  local kernel found
  while IFS= read -r kernel; do
    found=$(module_version "$kernel")
    if [[ $found != "$(argument version)" ]]; then
      differs "kernel $kernel: NVIDIA modules ${found:-missing}, declared is $(argument version)"
    elif [[ $(module_kind "$kernel") != "$(argument modules)" ]]; then
      differs "kernel $kernel has $(module_kind "$kernel") modules, declared are $(argument modules)"
    fi
  done < <(kernels_that_matter)
  found=$(userland_version)
  [[ $found == "$(argument version)" ]] ||
    differs "the driver's libraries are ${found:-missing}, declared is $(argument version)"
}

installed_as_declared() {
  local DIFFERENCES=()
  check_modules
  ((${#DIFFERENCES[@]} == 0))
}

# Is a driver loaded that is not the declared one?
another_is_loaded() {
  [[ -n $(loaded_driver) && "$(loaded_driver) $(loaded_kind)" != "$(argument version) $(argument modules)" ]]
}

step_check() {
  check_modules
  ! another_is_loaded ||
    differs "the loaded module is $(loaded_driver) ($(loaded_kind)), declared is $(argument version) ($(argument modules))"
  check_text "$DRIVER_PREFERENCES" "$(driver_preferences_text)
"
}

# Everything that can be refused or fetched before anything stops.
prepare() {
  refuse_foreign_driver
  require_enrolled_key
  download "$(argument url)" "$(installer_path "$(argument version)")" "$(argument sha256)"
  put_text "$WORKER" 755 "$(file driver-build)
"
}

# Frees the GPUs of the loaded driver. Sets REBOOT_WHY where only a reboot can do that.
release_gpus() {
  local others
  others=$(other_gpu_users)
  if [[ -n $others ]]; then
    say "use the GPUs, are not of this stack and are left alone:
$others"
    [[ $(argument reboot) == allow ]] ||
      fail "driver $(loaded_driver) cannot be replaced while it is used by $(paste -sd ';' - <<<"$others" | sed 's/;/; /g'), and the stack says reboot: never; nothing was changed" \
        "stop them, or set host.reboot to allow, then run \`up\` again"
  fi
  stop_our_gpu_users
  [[ -z $others ]] && unload_driver && return
  REBOOT_WHY="driver $(loaded_driver) is loaded and in use, $(argument version) replaces it"
  [[ $(argument reboot) != allow ]] || return 0
  start_our_gpu_users
  fail "driver $(loaded_driver) cannot be unloaded although nobody is seen to use it, and the stack says reboot: never; nothing was changed" \
    "see: lsmod | grep nvidia; find what holds it, or set host.reboot to allow, then run \`up\` again"
}

show_build_logs() {
  local log
  while IFS= read -r log; do
    say "--- last lines of $log"
    tail -n 25 "$log" >&2
  done < <(find /var/log/nvidia-installer.log "/var/lib/dkms/nvidia/$(argument version)" -name '*.log' 2>/dev/null)
}

install_driver() {
  local options version kernels was
  version=$(argument version)
  was=$(userland_version)
  remove_foreign_driver
  record_driver "$version $(argument modules)"
  IFS=, read -r -a options <<<"$(argument options)"
  kernels=$(kernels_that_matter | paste -sd, -)
  say "building and installing NVIDIA driver $version ($(argument modules) modules) for $kernels"
  if ! long_work driver "$version $(argument modules) $kernels" 60 \
    "$WORKER" "$(installer_path "$version")" "$version" "$kernels" "${options[@]}"; then
    show_build_logs
    fail "the driver $version could not be installed; before it was ${was:-none}" \
      "the logs above name the cause. When it is gone, run \`up\` again; to go back, declare the version that was there"
  fi
}

step_apply() {
  REBOOT_WHY=""
  STOPPED=()
  put_text "$DRIVER_PREFERENCES" 644 "$(driver_preferences_text)
"
  installed_as_declared || prepare
  ! another_is_loaded || release_gpus
  installed_as_declared || install_driver
  if [[ -n $REBOOT_WHY ]]; then
    request_reboot "$REBOOT_WHY"
  elif ((${#STOPPED[@]} > 0)); then
    modprobe nvidia || fail "driver $(argument version) is installed but cannot be loaded" "see: dmesg | grep -i nvrm"
    ! systemctl is-enabled --quiet nvidia-persistenced.service 2>/dev/null || systemctl start nvidia-persistenced.service
    start_our_gpu_users
  fi
}

step_facts() {
  fact version "$(argument version)"
  fact modules "$(argument modules)"
}

# The driver outlives the stack: other guests may use it, and taking it away needs a reboot.
step_remove() {
  say "kept on $(machine_name): NVIDIA driver $(userland_version), its DKMS modules, /etc/modprobe.d/blacklist-nouveau.conf, $DRIVER_PREFERENCES, /var/cache/proxmox-gpu-stack"
  say "to take the driver away by hand: nvidia-uninstall"
}
