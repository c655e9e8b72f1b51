# Install the pinned NVIDIA driver from its checksummed installer, with DKMS, for the running and every other kernel.
# The build runs as a unit of its own, so that a cut connection or a restart of sshd loses nothing.
#
# uses: step files download packages nvidia long-work reboot
# arguments: version, modules=open|proprietary, url, sha256, options (module and loading options of this version's
#            installer, separated by commas), reboot=allow|never
# texts: driver-build (what the unit runs)
# facts: version, modules

WORKER=/usr/local/lib/proxmox-gpu-stack/driver-build

# The version of the nvidia module that a kernel would load.
module_version() {
  modinfo -k "$1" -F version nvidia 2>/dev/null || true
}

# NVIDIA's open modules carry an MIT license line, the proprietary ones do not.
module_kind() {
  case $(modinfo -k "$1" -F license nvidia 2>/dev/null) in
    *MIT*) printf open ;;
    ?*) printf proprietary ;;
  esac
}

userland_version() {
  local library
  library=$(readlink -e /usr/lib/x86_64-linux-gnu/libcuda.so.1) || return 0
  printf '%s' "${library##*/libcuda.so.}"
}

secure_boot_refuses() {
  mokutil --sb-state 2>/dev/null | grep 'SecureBoot enabled' >/dev/null &&
    ! mokutil --test-key /var/lib/dkms/mok.pub 2>/dev/null | grep 'already enrolled' >/dev/null
}

step_check() {
  local version modules kernel found
  version=$(argument version)
  modules=$(argument modules)
  while IFS= read -r kernel; do
    found=$(module_version "$kernel")
    if [[ $found != "$version" ]]; then
      differs "kernel $kernel: NVIDIA modules ${found:-missing}, declared is $version"
    elif [[ $(module_kind "$kernel") != "$modules" ]]; then
      differs "kernel $kernel has $(module_kind "$kernel") modules, declared are $modules"
    fi
  done < <(installed_kernels)
  found=$(userland_version)
  [[ $found == "$version" ]] ||
    differs "the driver's libraries are ${found:-missing}, declared is $version"
  [[ -z $(loaded_driver) || $(loaded_driver) == "$version" ]] ||
    differs "the loaded module is of version $(loaded_driver), declared is $version"
}

show_build_log() {
  local log
  for log in /var/log/nvidia-installer.log "/var/lib/dkms/nvidia/$(argument version)/build/make.log"; do
    if [[ -f $log ]]; then
      say "--- last lines of $log"
      tail -n 20 "$log" >&2
    fi
  done
}

step_apply() {
  local version options loaded
  version=$(argument version)
  loaded=$(loaded_driver)
  ! secure_boot_refuses || fail "Secure Boot is on and the key that signs DKMS modules is not enrolled" \
    "on the host: mokutil --import /var/lib/dkms/mok.pub, reboot, choose 'Enroll MOK' on the console, then run \`up\` again"
  if [[ -n $loaded && $loaded != "$version" && $(argument reboot) != allow ]]; then
    fail "going from driver $loaded to $version needs a reboot and the stack says reboot: never; nothing was changed" \
      "set host.reboot to allow for this \`up\`"
  fi
  download "$(argument url)" "$(installer_path "$(argument version)")" "$(argument sha256)"
  put_text "$WORKER" 755 "$(file driver-build)
"
  IFS=, read -r -a options <<<"$(argument options)"
  say "building and installing NVIDIA driver $version ($(argument modules) modules)"
  if ! long_work driver "$version $(argument modules)" 60 "$WORKER" "$(installer_path "$(argument version)")" "$version" "${options[@]}"; then
    show_build_log
    fail "the installer of driver $version failed" "the logs above name the cause; the driver that was there is \`$loaded\`"
  fi
  if [[ -n $loaded && $loaded != "$version" ]]; then
    request_reboot "driver $loaded is loaded and $version is installed"
  fi
}

step_facts() {
  fact version "$(argument version)"
  fact modules "$(argument modules)"
}

# The driver outlives the stack: other guests may use it, and taking it away needs a reboot.
step_remove() {
  say "kept on $(machine_name): NVIDIA driver $(userland_version), its DKMS modules, /etc/modprobe.d/blacklist-nouveau.conf, /var/cache/proxmox-gpu-stack"
  say "to take the driver away by hand: nvidia-uninstall"
}
