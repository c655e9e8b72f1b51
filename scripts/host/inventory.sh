# What a Proxmox VE host has: versions, kernels, driver, cards, guests, storages, bridges. It only looks. Configuration
# files travel as they are; what they mean is decided where it can be tested.
#
# uses: step json packages nvidia driver-packages driver-origin secure-boot gpu-users
# arguments: addresses=A,… (optional: does anybody have them?), paths=/P,… (optional: how much room is there?)
# facts: see cli/inventory/host-facts.ts

step_check() {
  :
}

# One line a word of NAME=A,B,…
words_of() {
  argument "$1" "" | tr ',' '\n' | grep . || true
}

readable() {
  cat "$1" 2>/dev/null || true
}

boot_loader() {
  if [[ -s /etc/kernel/proxmox-boot-uuids ]]; then
    printf proxmox-boot-tool
  else
    printf grub
  fi
}

# yes_or_no COMMAND…
yes_or_no() {
  if "$@"; then
    printf yes
  else
    printf no
  fi
}

# Whether a kernel's headers are there, or a package of its name is known to apt.
headers_of() {
  local name
  if [[ -e /lib/modules/$1/build/Makefile ]]; then
    printf installed
    return
  fi
  for name in "proxmox-headers-$1" "pve-headers-$1" "linux-headers-$1"; do
    if have_candidates "$name"; then
      printf available
      return
    fi
  done
  if compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
    printf unavailable
  else
    printf 'lists missing'
  fi
}

matters() {
  [[ $'\n'$(kernels_that_matter)$'\n' == *$'\n'"$1"$'\n'* ]]
}

kernels() {
  local kernel
  while IFS= read -r kernel; do
    object release "$kernel" matters "$(yes_or_no matters "$kernel")" headers "$(headers_of "$kernel")" \
      module "$(module_version "$kernel")" kind "$(module_kind "$kernel")"
    printf '\n'
  done < <(installed_kernels)
}

# The link's last part: the kernel driver that holds a PCI device.
bound_driver() {
  local link
  link=$(readlink "$1/driver") || return 0
  printf '%s' "${link##*/}"
}

# NVIDIA's display and 3D controllers; their audio functions are no cards.
cards() {
  local device address information
  for device in /sys/bus/pci/devices/*; do
    [[ $(readable "$device/vendor") == 0x10de && $(readable "$device/class") == 0x03* ]] || continue
    address=${device##*/}
    information=$(readable "/proc/driver/nvidia/gpus/$address/information")
    object pci "$address" id "10de:$(sed 's/^0x//' "$device/device")" driver "$(bound_driver "$device")" \
      uuid "$(sed -n 's/^GPU UUID:[[:space:]]*//p' <<<"$information")" \
      minor "$(sed -n 's/^Device Minor:[[:space:]]*//p' <<<"$information")" \
      name "$(lspci -s "$address" 2>/dev/null | sed 's/^[^:]*:[^:]*: //')"
    printf '\n'
  done
}

# Did a stack make this container, or adopt it, or is about to?
managed() {
  [[ -e /etc/proxmox-gpu-stack/claims/$1 || -e /etc/proxmox-gpu-stack/containers/$1 ]]
}

containers() {
  local file id
  for file in /etc/pve/lxc/*.conf; do
    [[ -e $file ]] || continue
    id=$(basename "$file" .conf)
    object id "$id" status "$(pct status "$id" 2>/dev/null | cut -d' ' -f2)" configuration "$(readable "$file")" \
      managed "$(yes_or_no managed "$id")"
    printf '\n'
  done
}

virtual_machines() {
  local file
  for file in /etc/pve/qemu-server/*.conf; do
    [[ -e $file ]] || continue
    object id "$(basename "$file" .conf)" configuration "$(readable "$file")"
    printf '\n'
  done
}

# Guests of other nodes of the cluster: their ids are taken too.
guests_elsewhere() {
  local file node
  for file in /etc/pve/nodes/*/{lxc,qemu-server}/*.conf; do
    [[ -e $file ]] || continue
    node=${file#/etc/pve/nodes/}
    [[ ${node%%/*} != "$(uname -n)" ]] || continue
    object id "$(basename "$file" .conf)" node "${node%%/*}"
    printf '\n'
  done
}

bridges() {
  local bridge name
  for bridge in /sys/class/net/*/bridge; do
    [[ -e $bridge ]] || continue
    name=$(basename "$(dirname "$bridge")")
    object name "$name" address "$(ip -o -4 addr show dev "$name" | awk '{ print $4; exit }')"
    printf '\n'
  done
}

answers() {
  ping -c 1 -W 1 "$1" >/dev/null 2>&1 || ip neigh show "$1" | grep ' lladdr ' >/dev/null
}

used_addresses() {
  local address
  while IFS= read -r address; do
    ! answers "$address" || json_string "$address"
    printf '\n'
  done < <(words_of addresses) | grep . || true
}

# Free room where a path lies or will lie, and what is there already; a download that was cut off is resumed.
room() {
  local path place
  while IFS= read -r path; do
    place=$path
    while [[ ! -e $place ]]; do place=$(dirname "$place"); done
    object path "$path" freeKiB "$(df -Pk "$place" | awk 'NR == 2 { print $4 }')" \
      mount "$(df -Pk "$place" | awk 'NR == 2 { print $6 }')" \
      usedKiB "$(du -sck --apparent-size "$path" "$path.incomplete" 2>/dev/null | tail -n 1 | cut -f1)"
    printf '\n'
  done < <(words_of paths)
}

step_facts() {
  fact user "$(id -un)"
  fact node "$(uname -n)"
  fact hostKey "$(readable /etc/ssh/ssh_host_ed25519_key.pub | cut -d' ' -f1,2)"
  fact sshPort "$(cut -d' ' -f4 <<<"${SSH_CONNECTION:-}")"
  fact pve "$(pveversion 2>/dev/null | sed -n 's/^pve-manager\/\([^/]*\).*/\1/p')"
  fact ownCertificate "$(yes_or_no test -e /etc/pve/local/pveproxy-ssl.pem)"
  fact kernel "$(uname -r)"
  fact kernelInstalled "$(yes_or_no running_kernel_installed)"
  fact kernels "$(list kernels)"
  fact bootLoader "$(boot_loader)"
  fact secureBoot "$(yes_or_no secure_boot_enabled)"
  fact signingKeyEnrolled "$(yes_or_no signing_key_enrolled)"
  fact nouveau "$(yes_or_no nouveau_loaded)"
  fact nouveauLoaders "$(nouveau_loaders)"
  fact driverLoaded "$(loaded_driver)"
  fact driverLoadedKind "$(loaded_kind)"
  fact driverLibraries "$(userland_version)"
  fact foreignDriver "$(foreign_driver)"
  fact gpuUsers "$(other_gpu_users)"
  fact cards "$(list cards)"
  fact cores "$(nproc)"
  fact memoryKiB "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)"
  fact containers "$(list containers)"
  fact virtualMachines "$(list virtual_machines)"
  fact guestsElsewhere "$(list guests_elsewhere)"
  fact storages "$(readable /etc/pve/storage.cfg)"
  fact storageStatus "$(pvesm status 2>/dev/null || true)"
  fact bridges "$(list bridges)"
  fact gateway "$(ip -4 route show default | awk '{ print $3; exit }')"
  fact clock "$(date +%s)"
  fact clockSynchronized "$(timedatectl show --property=NTPSynchronized --value 2>/dev/null || true)"
  fact usedAddresses "$(list used_addresses)"
  fact room "$(list room)"
}
