# Make the host's kernels ready for NVIDIA's modules: compiler, DKMS and headers of the running and of every other
# installed kernel, nouveau blacklisted in modprobe.d and in every initramfs, and out of memory (a reboot when it is in).
#
# uses: step files packages nvidia reboot
# arguments: reboot=allow|never
# facts: kernel (running release), bootId

BLACKLIST=/etc/modprobe.d/blacklist-nouveau.conf
BLACKLIST_TEXT='# Managed by proxmox-gpu-stack. The NVIDIA driver cannot drive a card that nouveau holds.
blacklist nouveau
options nouveau modeset=0
'

has_headers() {
  [[ -e /lib/modules/$1/build/Makefile ]]
}

# The package that holds a kernel's headers: PVE 8 and 9 call it proxmox-headers, PVE 7 pve-headers.
headers_package() {
  local name
  for name in "proxmox-headers-$1" "pve-headers-$1" "linux-headers-$1"; do
    if apt-cache show "$name" >/dev/null 2>&1; then
      printf '%s' "$name"
      return
    fi
  done
}

# A kernel's initramfs must hold the blacklist: it loads modules before /etc is there.
initramfs_blacklists() {
  lsinitramfs "/boot/initrd.img-$1" 2>/dev/null | grep "etc/modprobe.d/$(basename "$BLACKLIST")\$" >/dev/null
}

step_check() {
  local tool kernel
  for tool in gcc make dkms; do
    command -v "$tool" >/dev/null || differs "$tool is not installed"
  done
  while IFS= read -r kernel; do
    has_headers "$kernel" || differs "headers of kernel $kernel are not installed"
  done < <(installed_kernels)
  check_text "$BLACKLIST" "$BLACKLIST_TEXT"
  while IFS= read -r kernel; do
    initramfs_blacklists "$kernel" || differs "the initramfs of kernel $kernel does not blacklist nouveau"
  done < <(installed_kernels)
  ! nouveau_loaded || differs "nouveau is loaded"
}

install_build_tools() {
  local kernel package wanted=()
  for package in gcc make dkms; do
    command -v "$package" >/dev/null || wanted+=("$package")
  done
  [[ -n $(apt-cache show "proxmox-headers-$(uname -r)" 2>/dev/null) ]] || with_package_lock apt_get update ||
    fail "the package lists could not be refreshed" "check /etc/apt/sources.list.d and the network of $(machine_name)"
  while IFS= read -r kernel; do
    has_headers "$kernel" && continue
    package=$(headers_package "$kernel")
    [[ -n $package ]] || fail "no package offers the headers of kernel $kernel" \
      "if that kernel was replaced by a newer one, reboot into the newer one first; else check the package sources"
    wanted+=("$package")
  done < <(installed_kernels)
  ((${#wanted[@]} == 0)) || install_packages "${wanted[@]}"
}

renew_initramfs() {
  say "renewing the initramfs of every kernel"
  with_package_lock quietly update-initramfs -u -k all ||
    fail "update-initramfs failed" "see its lines above; is there room in /boot?"
  if command -v proxmox-boot-tool >/dev/null && proxmox-boot-tool status >/dev/null 2>&1; then
    say "copying kernels and initramfs to the boot partitions"
    with_package_lock quietly proxmox-boot-tool refresh ||
      fail "proxmox-boot-tool refresh failed" "see its lines above"
  fi
}

step_apply() {
  local kernel stale=""
  install_build_tools
  if ! same_text "$BLACKLIST" "$BLACKLIST_TEXT"; then
    put_text "$BLACKLIST" 644 "$BLACKLIST_TEXT"
    stale=yes
  fi
  while IFS= read -r kernel; do
    initramfs_blacklists "$kernel" || stale=yes
  done < <(installed_kernels)
  [[ -z $stale ]] || renew_initramfs
  ! nouveau_loaded || request_reboot "nouveau holds the GPUs"
}

step_facts() {
  fact kernel "$(uname -r)"
  fact bootId "$(cat /proc/sys/kernel/random/boot_id)"
}
