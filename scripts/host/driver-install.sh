# Install the pinned NVIDIA driver from its checksummed installer, with DKMS, for the running and every other kernel.
# The build runs as a unit of its own, so that a cut connection or a restart of sshd loses nothing.
#
# uses: step files download packages long-work reboot
# arguments: version, modules=open|proprietary, url, sha256, options (module and loading options of this version's
#            installer, separated by commas), reboot=allow|never
# facts: version, modules

CACHE=/var/cache/proxmox-gpu-stack
WORKER=/usr/local/lib/proxmox-gpu-stack/driver-build

installer() {
  printf '%s/NVIDIA-Linux-x86_64-%s.run' "$CACHE" "$(argument version)"
}

installed_kernels() {
  local image
  for image in /boot/vmlinuz-*; do
    [[ -e $image && -d /lib/modules/${image#/boot/vmlinuz-} ]] && printf '%s\n' "${image#/boot/vmlinuz-}"
  done
  return 0
}

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

loaded_version() {
  sed -n '/^NVRM/s/.*[^0-9.]\([0-9]\{3,\}\.[0-9.]*[0-9]\) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
}

userland_version() {
  local library
  library=$(readlink -f /usr/lib/x86_64-linux-gnu/libcuda.so.1 2>/dev/null) || return 0
  printf '%s' "${library##*/libcuda.so.}"
}

secure_boot_refuses() {
  mokutil --sb-state 2>/dev/null | grep -q 'SecureBoot enabled' &&
    ! mokutil --test-key /var/lib/dkms/mok.pub 2>/dev/null | grep -q 'already enrolled'
}

step_check() {
  local version modules kernel
  version=$(argument version)
  modules=$(argument modules)
  while IFS= read -r kernel; do
    [[ $(module_version "$kernel") == "$version" ]] ||
      differs "kernel $kernel has NVIDIA module '$(module_version "$kernel")', declared is $version"
    [[ $(module_kind "$kernel") == "$modules" ]] ||
      differs "kernel $kernel has $(module_kind "$kernel") modules, declared are $modules"
  done < <(installed_kernels)
  [[ $(userland_version) == "$version" ]] ||
    differs "the driver's libraries are of version '$(userland_version)', declared is $version"
  [[ -z $(loaded_version) || $(loaded_version) == "$version" ]] ||
    differs "the loaded module is of version $(loaded_version), declared is $version"
}

# What the unit runs. Every kernel gets its module; DKMS itself does that for kernels that come later.
worker_text() {
  cat <<'WORKER'
#!/bin/bash
# Managed by proxmox-gpu-stack: builds and installs the NVIDIA driver.
# arguments: INSTALLER VERSION OPTION…
set -euo pipefail
installer=$1 version=$2
shift 2
exec 9>/run/lock/proxmox-gpu-stack-packages.lock
flock --timeout 1800 9
sh "$installer" --silent --no-questions --ui=none --dkms "$@" 9>&-
for image in /boot/vmlinuz-*; do
  kernel=${image#/boot/vmlinuz-}
  [[ -d /lib/modules/$kernel && -e /lib/modules/$kernel/build/Makefile ]] || continue
  if ! dkms status -m nvidia -v "$version" -k "$kernel" | grep -q installed; then
    dkms install -m nvidia -v "$version" -k "$kernel" --force
  fi
done
WORKER
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
  loaded=$(loaded_version)
  ! secure_boot_refuses || fail "Secure Boot is on and the key that signs DKMS modules is not enrolled" \
    "on the host: mokutil --import /var/lib/dkms/mok.pub, reboot, choose 'Enroll MOK' on the console, then run \`up\` again"
  if [[ -n $loaded && $loaded != "$version" && $(argument reboot) != allow ]]; then
    fail "going from driver $loaded to $version needs a reboot and the stack says reboot: never; nothing was changed" \
      "set host.reboot to allow for this \`up\`"
  fi
  download "$(argument url)" "$(installer)" "$(argument sha256)"
  put_text "$WORKER" 755 "$(worker_text)
"
  IFS=, read -r -a options <<<"$(argument options)"
  say "building and installing NVIDIA driver $version ($(argument modules) modules)"
  if ! long_work driver "$version $(argument modules)" 60 "$WORKER" "$(installer)" "$version" "${options[@]}"; then
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
  say "kept on $(machine_name): NVIDIA driver $(userland_version), its DKMS modules, /etc/modprobe.d/blacklist-nouveau.conf, $CACHE"
  say "to take the driver away by hand: nvidia-uninstall"
}
