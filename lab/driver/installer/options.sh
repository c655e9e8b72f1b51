# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # nvidia-installer, which sources this file, uses the variables and sets $version
# The command line of nvidia-installer: which options exist depends on the driver's version.

# Options without a value that change nothing here.
flags_without_effect=(
  -q --no-questions -a --accept-license --no-x-check --no-cc-version-check -b --no-backup --no-drm --no-opengl-files
  --no-install-compat32-libs --install-compat32-libs --no-systemd --systemd --no-wine-files --no-check-for-alternate-installs
  --no-rpms --no-recursion --no-distro-scripts --no-libglvnd --install-libglvnd --no-install-libglvnd --no-nvidia-modprobe
  --no-unified-memory --no-peermem --no-abi-note --no-network -N --no-runlevel-check --run-nvidia-xconfig -X -e --expert
  --skip-depmod --no-process-clobber
)
# Options with a value that change nothing here.
values_without_effect=(
  -l --utility-prefix --opengl-prefix --x-prefix --x-module-path --x-library-path --documentation-prefix
  --application-profile-path -j --concurrency-level --kernel-install-path --kernel-include-path --proc-mount-point
  --module-signing-secret-key --module-signing-public-key --module-signing-hash
)
# First version that has the option; the others are older than any version that the lab offers.
declare -A first_version=(
  ["--kernel-module-build-directory"]=515.43.04
  ["--skip-module-load"]=520.56.06
  ["--allow-installation-with-running-driver"]=545.23.06
  ["--no-allow-installation-with-running-driver"]=545.23.06
  ["--rebuild-initramfs"]=545.23.06
  ["--no-rebuild-initramfs"]=545.23.06
  ["--kernel-module-type"]=555.42.02
  ["--print-recommended-kernel-module-type"]=570.86.16
)
declare -A long_name=(
  ["-s"]=--silent ["-k"]=--kernel-name ["-K"]=--kernel-modules-only ["--kernel-module-only"]=--kernel-modules-only
  ["--no-kernel-module"]=--no-kernel-modules ["-m"]=--kernel-module-build-directory ["-M"]=--kernel-module-type
  ["-Z"]=--disable-nouveau ["-i"]=--driver-info ["-v"]=--version ["-h"]=--help ["-A"]=--help ["--advanced-options"]=--help
)

silent=
action=install
kernel_modules=yes
userland=yes
use_dkms=ask
module_type=
build_directory=
check_nouveau=yes
disable_nouveau=yes
allow_running_driver=
load_modules=yes
rebuild_initramfs=
kernel_source=
kernel_release="$(uname -r)"
log_file=/var/log/nvidia-installer.log

# at_least VERSION: whether this driver is that version or newer.
at_least() {
  [[ "$(printf '%s\n%s\n' "$1" "$version" | sort -V | head -n 1)" == "$1" ]]
}

invalid_command_line() {
  printf '\nERROR: Invalid commandline, please run "nvidia-installer --help" for usage information.\n\n' >&2
  exit 1
}

is_one_of() {
  local wanted="$1" candidate
  shift
  for candidate in "$@"; do
    [[ "$candidate" != "$wanted" ]] || return 0
  done
  return 1
}

parse_options() {
  local option value has_value
  while (($# > 0)); do
    option="$1"
    value=""
    has_value=""
    shift
    if [[ "$option" == --*=* || "$option" == -?=* ]]; then
      value="${option#*=}"
      option="${option%%=*}"
      has_value=yes
    fi
    option="${long_name[$option]:-$option}"
    if [[ -n "${first_version[$option]:-}" ]] && ! at_least "${first_version[$option]}"; then
      invalid_command_line
    fi
    case "$option" in
      --ui | --log-file-name | --kernel-name | --kernel-source-path | --tmpdir | --kernel-module-build-directory | --kernel-module-type) ;;
      *)
        if ! is_one_of "$option" "${values_without_effect[@]}"; then
          [[ -z "$has_value" ]] || invalid_command_line
          apply_flag "$option"
          continue
        fi
        ;;
    esac
    if [[ -z "$has_value" ]]; then
      (($# > 0)) || invalid_command_line
      value="$1"
      shift
    fi
    apply_value "$option" "$value"
  done
}

apply_value() {
  case "$1" in
    --ui) is_one_of "$2" none ncurses || invalid_command_line ;;
    --log-file-name) log_file="$2" ;;
    --kernel-name) kernel_release="$2" ;;
    --kernel-source-path) kernel_source="$2" ;;
    --kernel-module-build-directory) build_directory="$2" ;;
    --kernel-module-type) module_type="$2" ;;
  esac
}

apply_flag() {
  case "$1" in
    --silent) silent=yes ;;
    --dkms) use_dkms=yes ;;
    --no-dkms) use_dkms=no ;;
    --no-kernel-modules) kernel_modules= ;;
    --kernel-modules-only) userland= ;;
    --uninstall) action=uninstall ;;
    --driver-info) action=driver-info ;;
    --print-recommended-kernel-module-type) action=recommend ;;
    --version) action=version ;;
    --help) action=help ;;
    --no-nouveau-check) check_nouveau= ;;
    --disable-nouveau) disable_nouveau=yes ;;
    --no-disable-nouveau) disable_nouveau= ;;
    --allow-installation-with-running-driver) allow_running_driver=yes ;;
    --no-allow-installation-with-running-driver) allow_running_driver= ;;
    --skip-module-load) load_modules= ;;
    --rebuild-initramfs) rebuild_initramfs=yes ;;
    --no-rebuild-initramfs) rebuild_initramfs= ;;
    *) is_one_of "$1" "${flags_without_effect[@]}" || invalid_command_line ;;
  esac
}

print_help() {
  printf '%s\n' "${flags_without_effect[@]}" "${values_without_effect[@]}" "${!first_version[@]}" "${long_name[@]}" \
    --ui --log-file-name --kernel-source-path --tmpdir --dkms --no-dkms --uninstall --no-nouveau-check --no-disable-nouveau |
    grep '^--' | sort -u | sed 's/^/  /'
}
