# What is known of kernels and of NVIDIA's driver on a host.

# Kernels that have modules and an image on this machine.
installed_kernels() {
  local image
  for image in /boot/vmlinuz-*; do
    [[ -e $image && -d /lib/modules/${image#/boot/vmlinuz-} ]] && printf '%s\n' "${image#/boot/vmlinuz-}"
  done
  return 0
}

newest_kernel() {
  installed_kernels | sort -V | tail -n 1
}

# Is the running kernel still there? An upgrade may have removed it; then no module can be built for it.
running_kernel_installed() {
  [[ -e /boot/vmlinuz-$(uname -r) && -d /lib/modules/$(uname -r) ]]
}

# Kernels that must have the driver: the running one, and those that may boot next (the newest, and a pinned one). Older
# ones that lie beside them need nothing, and often nobody offers their headers any more.
kernels_that_matter() {
  {
    uname -r
    newest_kernel
    cat /etc/kernel/proxmox-boot-pin /etc/kernel/next-boot-pin 2>/dev/null || true
  } | awk 'NF && !seen[$0]++' | grep -Fx -f <(installed_kernels) || true
}

# module_loaded NAME, spelled as the kernel does: with underscores. Only what was loaded has that file, nothing built in.
module_loaded() {
  [[ -e /sys/module/$1/initstate ]]
}

nouveau_loaded() {
  module_loaded nouveau
}

# Lines of configuration that load nouveau although it is blacklisted: a blacklist only covers the aliases that the
# module itself brings. One line each, as FILE:NUMBER:TEXT.
nouveau_loaders() {
  local first='^[[:space:]]*'
  {
    grep -HnsE "${first}nouveau([[:space:]]|\$)" /etc/modules /etc/modules-load.d/*.conf /usr/lib/modules-load.d/*.conf \
      /etc/initramfs-tools/modules || true
    grep -HnsE "${first}(alias[[:space:]]+[^[:space:]]+[[:space:]]+nouveau|install[[:space:]].*nouveau|softdep[[:space:]].*nouveau)" \
      /etc/modprobe.d/*.conf /usr/lib/modprobe.d/*.conf /run/modprobe.d/*.conf || true
  } | grep -vE 'install[[:space:]]+nouveau[[:space:]]+(/usr)?/bin/(false|true)[[:space:]]*$' || true
}

# The version of the loaded module, or nothing. The line has two formats; only the version's own pattern is in both.
loaded_driver() {
  sed -n '/^NVRM/s/.*[^0-9.]\([0-9]\{3,\}\.[0-9.]*[0-9]\) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
}

# Which kind of module is loaded: open, proprietary, or nothing.
loaded_kind() {
  case $(cat /proc/driver/nvidia/version 2>/dev/null) in
    *'Open Kernel Module'*) printf open ;;
    ?*) printf proprietary ;;
  esac
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

# The version of the driver's libraries.
userland_version() {
  local library
  library=$(readlink -e /usr/lib/x86_64-linux-gnu/libcuda.so.1) || return 0
  printf '%s' "${library##*/libcuda.so.}"
}

# Where the verified installer of a version is kept.
installer_path() {
  printf '/var/cache/proxmox-gpu-stack/NVIDIA-Linux-x86_64-%s.run' "$1"
}
