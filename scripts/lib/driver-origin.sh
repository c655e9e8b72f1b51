# Whose driver is it? A stack replaces what it put there itself; anything else only where the owner said so.

# What this program installed last, or was about to: written before the installer runs.
DRIVER_RECORD=/var/lib/proxmox-gpu-stack/driver

record_driver() {
  put_text "$DRIVER_RECORD" 644 "$1
"
}

# Modules that DKMS knows, as "NAME/VERSION".
dkms_driver_modules() {
  command -v dkms >/dev/null || return 0
  dkms status 2>/dev/null | sed -n 's#^\(nvidia[^/,]*\)[/,] *\([^,: ]*\).*#\1/\2#p' | sort -u
}

# Parts of a driver that somebody else put here, one line each.
foreign_driver() {
  installed_driver_packages | sed 's/^/package /'
  if [[ ! -e $DRIVER_RECORD ]]; then
    [[ ! -x /usr/bin/nvidia-uninstall ]] || printf 'driver %s, put there by NVIDIA'\''s installer but not by this program\n' "$(userland_version)"
    dkms_driver_modules | sed 's/^/DKMS module /'
  else
    # The installer's own module is called nvidia; packages call theirs nvidia-current and the like.
    dkms_driver_modules | grep -v '^nvidia/' | sed 's/^/DKMS module /' || true
  fi
}

refuse_foreign_driver() {
  local found
  found=$(foreign_driver)
  [[ -n $found && $(argument replace) != true ]] || return 0
  fail "another driver is here: $(paste -sd ';' - <<<"$found" | sed 's/;/; /g')" \
    "take it away yourself, or set driver.replaceExisting to true: then this step removes it. Nothing was changed"
}

# Takes away what foreign_driver names. Called when nothing uses the GPUs any more, or a reboot follows.
remove_foreign_driver() {
  local packages module
  [[ -n $(foreign_driver) ]] || return 0
  mapfile -t packages < <(installed_driver_packages)
  if ((${#packages[@]} > 0)); then
    say "removing packages, and what depends on them:"
    apt-get -q -y --simulate purge "${packages[@]}" | sed -n 's/^\(Remv\|Purg\) /  /p' >&2
    with_package_lock apt_get purge "${packages[@]}" ||
      fail "the packages could not be removed" "see apt's lines above"
  fi
  if [[ -x /usr/bin/nvidia-uninstall ]]; then
    say "removing driver $(userland_version) with its own nvidia-uninstall"
    with_package_lock quietly /usr/bin/nvidia-uninstall --silent ||
      fail "nvidia-uninstall failed" "see its lines above and /var/log/nvidia-uninstall.log"
  fi
  while IFS= read -r module; do
    say "removing the DKMS module $module"
    with_package_lock quietly dkms remove "$module" --all || fail "dkms remove $module failed" "see its lines above"
  done < <(dkms_driver_modules)
}
