# Give a container the driver's libraries of exactly the version that the host's kernel module has. The installer is
# the one the host has verified; it goes into the container by pct push and is verified there again.
#
# uses: step nvidia long-work
# arguments: id, version, sha256
# facts: version

inside() {
  pct exec "$(argument id)" --keep-env 0 -- "$@" </dev/null
}

userland_version() {
  inside sh -c 'readlink -e /usr/lib/x86_64-linux-gnu/libcuda.so.1 || true' | sed -n 's/.*libcuda\.so\.//p'
}

step_check() {
  local found
  [[ $(loaded_driver) == "$(argument version)" ]] ||
    fail "the host's module is '$(loaded_driver)', declared is $(argument version)" "the driver step of this stack must run first"
  found=$(userland_version)
  [[ $found == "$(argument version)" ]] ||
    differs "the driver's libraries in container $(argument id) are of version '${found:-none}', declared is $(argument version)"
}

step_apply() {
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

step_facts() {
  fact version "$(userland_version)"
}
