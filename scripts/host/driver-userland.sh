# Give a container the driver's libraries of exactly the version that the host's kernel module has. The installer is
# the one the host has verified; it goes into the container by pct push and is verified there again. Packages that would
# bring another version are kept out.
#
# uses: step files driver-packages nvidia long-work in-container
# arguments: id, version, sha256, replace=true|false (may packages with another driver be removed?)
# facts: version

inside() {
  in_container "$(argument id)" "$@" </dev/null
}

# What the container has, asked for once a look: version of the libraries; the preferences of its apt.
VERSION=""
PREFERENCES=""
NO_APT="no apt"

look_inside() {
  local found
  # shellcheck disable=SC2016 # for the container's shell
  found=$(inside sh -c '
    basename "$(readlink -e /usr/lib/x86_64-linux-gnu/libcuda.so.1)"
    if [ -d /etc/apt/preferences.d ]; then cat "$1" 2>/dev/null || true; else echo "$2"; fi' sh "$DRIVER_PREFERENCES" "$NO_APT") ||
    fail "nothing can be run in container $(argument id)" "is it running? pct status $(argument id)"
  VERSION=$(sed -n '1s/.*libcuda\.so\.//p' <<<"$found")
  PREFERENCES=$(tail -n +2 <<<"$found")
}

# Containers of other systems than Debian and its children have no apt to be kept from anything.
has_apt() {
  [[ $PREFERENCES != "$NO_APT" ]]
}

step_check() {
  [[ $(loaded_driver) == "$(argument version)" ]] ||
    fail "the host's module is '$(loaded_driver)', declared is $(argument version)" "the driver step of this stack must run first"
  look_inside
  [[ $VERSION == "$(argument version)" ]] ||
    differs "the driver's libraries in container $(argument id) are of version '${VERSION:-none}', declared is $(argument version)"
  ! has_apt || [[ $PREFERENCES == "$(driver_preferences_text)" ]] ||
    differs "driver packages are not held back in container $(argument id)"
}

hold_back_packages() {
  local copy
  copy=$(mktemp)
  driver_preferences_text >"$copy"
  pct push "$(argument id)" "$copy" "$DRIVER_PREFERENCES" --perms 644
  rm -f "$copy"
}

remove_foreign_packages() {
  local packages
  has_apt || return 0
  mapfile -t packages < <(installed_driver_packages inside)
  ((${#packages[@]} > 0)) || return 0
  [[ $(argument replace) == true ]] ||
    fail "container $(argument id) has the driver from packages: ${packages[*]}" \
      "take them away there, or set driver.replaceExisting to true: then this step removes them. Nothing was changed"
  say "removing packages in container $(argument id): ${packages[*]}"
  inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y purge "${packages[@]}" >&2 ||
    fail "the packages could not be removed in container $(argument id)" "see apt's lines above"
}

install_libraries() {
  local target installer
  installer=$(installer_path "$(argument version)")
  target=/var/tmp/${installer##*/}
  say "copying the installer into container $(argument id)"
  pct push "$(argument id)" "$installer" "$target"
  # pct push may end well although its worker failed: only the content counts.
  [[ $(inside sha256sum "$target" | cut -d' ' -f1) == "$(argument sha256)" ]] ||
    fail "the installer did not arrive whole in container $(argument id)" "is its disk full? pct exec $(argument id) -- df -h /var/tmp"
  say "installing the driver's libraries $(argument version) in container $(argument id)"
  if ! long_work "userland-$(argument id)" "$(argument version)" 30 \
    pct exec "$(argument id)" --keep-env 0 -- sh "$target" --silent --no-questions --ui=none --no-kernel-modules; then
    inside tail -n 20 /var/log/nvidia-installer.log >&2 || true
    fail "the installer failed in container $(argument id)" "its last lines stand above"
  fi
  inside rm -f "$target"
}

step_apply() {
  if [[ $VERSION != "$(argument version)" ]]; then
    remove_foreign_packages
    install_libraries
  fi
  ! has_apt || hold_back_packages
}

step_facts() {
  fact version "$VERSION"
}
