# Packages that bring an NVIDIA driver or its libraries. The driver of a stack comes from NVIDIA's installer, in exactly
# one version on the host and in its containers; a package that brings another one breaks both.

# Names as apt and dpkg-query take them. Not nvidia-container-toolkit and its libraries: they belong to no version.
DRIVER_PACKAGES=(
  'nvidia-driver*' 'nvidia-kernel*' 'nvidia-open*' 'nvidia-dkms*' 'nvidia-legacy*' 'nvidia-tesla*' 'nvidia-alternative*'
  'nvidia-utils*' 'nvidia-compute-utils*' 'nvidia-smi' 'nvidia-persistenced' 'nvidia-modprobe' 'cuda-drivers*'
  'libcuda1*' 'libnvidia-ml1*' 'libnvidia-compute*' 'libnvidia-cfg*' 'libnvidia-gl*' 'libnvidia-decode*' 'libnvidia-encode*'
  'xserver-xorg-video-nvidia*' 'firmware-nvidia-gsp*'
)

# shellcheck disable=SC2034 # read by the steps that use this library
DRIVER_PREFERENCES=/etc/apt/preferences.d/proxmox-gpu-stack-nvidia

# Keeps these packages as they are, installed or not, whoever runs apt: a person, a dependency, unattended-upgrades.
driver_preferences_text() {
  printf '# Managed by proxmox-gpu-stack: the NVIDIA driver comes from its installer, in one version on the host and in\n'
  printf '# the containers. A package that brings another one would break both until the next boot or for good.\n'
  printf 'Package: %s\nPin: release *\nPin-Priority: -1\n' "${DRIVER_PACKAGES[*]}"
}

# installed_driver_packages [COMMAND…]: driver packages where COMMAND runs (here without one), one name a line; also
# those that an interrupted removal left half installed.
installed_driver_packages() {
  # shellcheck disable=SC2016 # dpkg-query's own fields
  "$@" dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${DRIVER_PACKAGES[@]}" 2>/dev/null |
    sed -n 's/^\(installed\|half-installed\|unpacked\|half-configured\|triggers-[a-z]*\) //p' || true
}
