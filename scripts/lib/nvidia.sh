# What is known of kernels and of NVIDIA's driver on a host.

# Kernels that have modules and an image on this machine.
installed_kernels() {
  local image
  for image in /boot/vmlinuz-*; do
    [[ -e $image && -d /lib/modules/${image#/boot/vmlinuz-} ]] && printf '%s\n' "${image#/boot/vmlinuz-}"
  done
  return 0
}

nouveau_loaded() {
  lsmod | grep '^nouveau ' >/dev/null
}

# The version of the loaded module, or nothing. The line has two formats; only the version's own pattern is in both.
loaded_driver() {
  sed -n '/^NVRM/s/.*[^0-9.]\([0-9]\{3,\}\.[0-9.]*[0-9]\) .*/\1/p' /proc/driver/nvidia/version 2>/dev/null || true
}

# Where the verified installer of a version is kept.
installer_path() {
  printf '/var/cache/proxmox-gpu-stack/NVIDIA-Linux-x86_64-%s.run' "$1"
}
