# Make the host's kernels ready for NVIDIA's modules: compiler, DKMS and headers of the kernel that runs and of those that
# may boot next, nouveau blacklisted in modprobe.d and in every initramfs, and out of memory (a reboot when it is in).
#
# uses: step files packages nvidia gpu-users reboot
# arguments: reboot=allow|never
# facts: kernel (running release), bootId

BLACKLIST=/etc/modprobe.d/blacklist-nouveau.conf
# A file a kernel: what its initramfs looked like when the blacklist was found in it. Gone with the next boot.
SOUND_INITRAMFS=/run/proxmox-gpu-stack/initramfs
# The install line also stops what a blacklist does not: loading by name, by other files' aliases, as a dependency.
BLACKLIST_TEXT='# Managed by proxmox-gpu-stack. The NVIDIA driver cannot drive a card that nouveau holds.
blacklist nouveau
options nouveau modeset=0
install nouveau /bin/false
'

has_headers() {
  [[ -e /lib/modules/$1/build/Makefile ]]
}

# first_offered NAME…: the first of these packages that apt could install or has installed, or nothing. apt-cache show
# would also know names that only other packages mention.
first_offered() {
  local name
  for name in "$@"; do
    # dpkg answers at once, apt reads all its lists.
    if package_installed "$name" || have_candidates "$name"; then
      printf '%s' "$name"
      return
    fi
  done
}

# The package that holds a kernel's headers: PVE 8 and 9 call it proxmox-headers, PVE 7 pve-headers.
headers_package() {
  first_offered "proxmox-headers-$1" "pve-headers-$1" "linux-headers-$1"
}

# The package that brings the headers of every later kernel of the same series, so that DKMS can serve it: 6.8.12-4-pve
# is of the series 6.8.
series_package() {
  local series
  series=$(cut -d. -f1,2 <<<"$1")
  first_offered "proxmox-headers-$series" "pve-headers-$series"
}

# The file that keeps nouveau away: ours, or on a host that somebody prepared already, theirs.
blacklist_file() {
  if [[ -e $BLACKLIST ]]; then
    printf '%s' "$BLACKLIST"
  else
    grep -lsE '^[[:space:]]*blacklist[[:space:]]+nouveau([[:space:]]|$)' /etc/modprobe.d/*.conf /usr/lib/modprobe.d/*.conf | head -n 1
  fi
}

check_blacklist() {
  local file
  file=$(blacklist_file || true)
  if [[ -z $file || $file == "$BLACKLIST" ]]; then
    check_text "$BLACKLIST" "$BLACKLIST_TEXT"
  elif nouveau_loaded || [[ -n $(nouveau_loaders) ]]; then
    differs "$file blacklists nouveau, which is not enough here: $BLACKLIST is missing"
  fi
}

# A kernel's initramfs must hold the blacklist as it is now: it loads modules before /etc is there.
initramfs_blacklists() {
  local file listing print image=/boot/initrd.img-$1
  file=$(blacklist_file || true)
  [[ -n $file && -e $image && ! $file -nt $image ]] || return 1
  # Unpacking one takes seconds: what was found in it holds until the file changes.
  print="$file $(stat --format='%i %s %y %z' "$image")"
  ! same_text "$SOUND_INITRAMFS/$1" "$print" || return 0
  # Read whole: a reader that stops at the first match would end lsinitramfs by a signal, which counts as a failure.
  listing=$(lsinitramfs "$image" 2>/dev/null) || return 1
  [[ $listing$'\n' == *"/modprobe.d/$(basename "$file")"$'\n'* ]] || return 1
  install -d -m 755 "$SOUND_INITRAMFS"
  printf '%s' "$print" >"$SOUND_INITRAMFS/$1"
}

# Kernels with an initramfs that would load nouveau.
stale_initramfs() {
  local kernel
  while IFS= read -r kernel; do
    initramfs_blacklists "$kernel" || printf '%s\n' "$kernel"
  done < <(installed_kernels)
}

step_check() {
  local tool kernel package
  for tool in gcc make dkms; do
    command -v "$tool" >/dev/null || differs "$tool is not installed"
  done
  running_kernel_installed || differs "the running kernel $(uname -r) is not installed any more, $(newest_kernel) boots next"
  while IFS= read -r kernel; do
    has_headers "$kernel" || differs "headers of kernel $kernel are not installed"
    package=$(series_package "$kernel")
    [[ -z $package ]] || package_installed "$package" || differs "$package, for the kernels that come later, is not installed"
  done < <(kernels_that_matter)
  check_blacklist
  while IFS= read -r kernel; do
    differs "the initramfs of kernel $kernel does not blacklist nouveau"
  done < <(stale_initramfs)
  ! nouveau_loaded || differs "nouveau is loaded"
}

# Another file that says how to load nouveau contradicts ours, and which of the two wins is not defined.
refuse_contradiction() {
  local lines
  lines=$(nouveau_loaders | grep -E ':[[:space:]]*install[[:space:]]+nouveau[[:space:]]' || true)
  [[ -z $lines ]] || fail "modprobe's configuration says to load nouveau: $lines" "take that line out, then run \`up\` again"
  lines=$(nouveau_loaders)
  [[ -z $lines ]] || say "asks for nouveau, and is overruled by $BLACKLIST:
$lines"
}

# A boot into the next kernel helps where the running one can have no headers.
next_kernel_can_build() {
  local next
  next=$(newest_kernel)
  [[ $next != "$(uname -r)" ]] && { has_headers "$next" || [[ -n $(headers_package "$next") ]]; }
}

# Sets BOOT_NEXT where the host must boot its next kernel before anything can be built.
install_build_tools() {
  local kernel package wanted=()
  for package in gcc make dkms; do
    command -v "$package" >/dev/null || wanted+=("$package")
  done
  [[ -n $(headers_package "$(newest_kernel)") ]] || with_package_lock apt_get update ||
    fail "the package lists could not be refreshed" "check /etc/apt/sources.list.d and the network of $(machine_name)"
  running_kernel_installed || BOOT_NEXT="the running kernel $(uname -r) is not installed any more"
  while IFS= read -r kernel; do
    package=$(series_package "$kernel")
    [[ -z $package ]] || package_installed "$package" || wanted+=("$package")
    has_headers "$kernel" && continue
    package=$(headers_package "$kernel")
    if [[ -n $package ]]; then
      wanted+=("$package")
    elif [[ $kernel == "$(uname -r)" ]] && next_kernel_can_build; then
      BOOT_NEXT="no package offers the headers of the running kernel $kernel any more"
    else
      fail "no package offers the headers of kernel $kernel" \
        "check the package sources of $(machine_name): apt policy proxmox-headers-$kernel"
    fi
  done < <(kernels_that_matter)
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

# Not a reason to stop, but nobody should learn it from a dark screen.
warn_of_console() {
  local device
  for device in /sys/bus/pci/devices/*; do
    if [[ $(cat "$device/boot_vga" 2>/dev/null) == 1 && $(cat "$device/vendor") == 0x10de ]]; then
      say "warning: the console of $(machine_name) is on the NVIDIA card ${device##*/}: without nouveau its screen keeps the \
firmware's text mode and may stay dark once the NVIDIA driver holds the card; SSH and the web interface are not affected"
    fi
  done
}

step_apply() {
  local why=""
  BOOT_NEXT=""
  refuse_contradiction
  install_build_tools
  if [[ $(blacklist_file || true) == "$BLACKLIST" || " ${DIFFERENCES[*]} " == *"$BLACKLIST"* ]]; then
    same_text "$BLACKLIST" "$BLACKLIST_TEXT" || put_text "$BLACKLIST" 644 "$BLACKLIST_TEXT"
  fi
  # With nouveau loaded, the boot partitions may hold an older initramfs than /boot.
  if nouveau_loaded || [[ -n $(stale_initramfs) ]]; then
    renew_initramfs
  fi
  [[ -z $BOOT_NEXT ]] || why="$BOOT_NEXT; $(newest_kernel) boots next"
  if nouveau_loaded; then
    warn_of_console
    why=${why:+$why; }"nouveau holds the GPUs"
  fi
  [[ -z $why ]] || request_reboot "$why"
}

step_facts() {
  fact kernel "$(uname -r)"
  fact bootId "$(cat /proc/sys/kernel/random/boot_id)"
}
