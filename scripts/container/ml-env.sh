# Build a Python environment from a hashed lock at a content address beside the running one, smoke-test it, and switch
# to it by one rename. The build is a unit of its own; a failed one leaves the running environment as it is.
#
# uses: step files packages long-work
# arguments: name, path (the link that services use), digest (content address), python (version), lock (its name),
#            index (optional package index), imports=MODULE,…, keep (how many earlier ones stay)
# texts: requirements (the lock), uv (the lock of uv itself), ml-env-build (the worker)
# facts: digest, path, target

ROOT=/opt/proxmox-gpu-stack/environments

target() {
  printf '%s/%s/%s' "$ROOT" "$(argument name)" "$(argument digest)"
}

complete() {
  [[ -e $(target)/.complete ]]
}

# A directory that somebody made by hand is never overwritten.
check_path() {
  local path
  path=$(argument path)
  [[ ! -e $path || -L $path ]] || fail "$path in this container is not a link of this stack" \
    "move it away (mv $path $path.by-hand) or give the environment another path"
}

step_check() {
  check_path
  complete || differs "environment $(argument name) $(argument digest) is not built"
  [[ $(readlink "$(argument path)" 2>/dev/null) == "$(target)" ]] ||
    differs "$(argument path) does not point to environment $(argument digest)"
}

step_apply() {
  local folder packages=() requirements uv
  folder=$ROOT/$(argument name)
  install -d -m 755 /opt/proxmox-gpu-stack "$ROOT" "$folder"
  if ! complete; then
    command -v python3 >/dev/null || packages+=(python3)
    # ensurepip comes with python3-venv; uv itself is installed by pip, from its own hashed lock.
    python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
    ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
    requirements=$folder/$(argument digest).lock
    uv=$folder/uv.lock
    put_text "$requirements" 644 "$(file requirements)
"
    put_text "$uv" 644 "$(file uv)
"
    put_text "$folder/build" 755 "$(file ml-env-build)
"
    say "building environment $(argument name) $(argument digest) from lock $(argument lock)"
    long_work "environment-$(argument name)" "$(argument digest)" 240 \
      "$folder/build" "$(target)" "$requirements" "$uv" "$(argument python)" "$(argument index "")" "$(argument imports "")" ||
      fail "environment $(argument name) could not be built; the one in use is untouched" \
        "the last lines above name the package; the whole log: $LONG_WORK/environment-$(argument name).log"
  fi
  install -d -m 755 "$(dirname "$(argument path)")"
  ln -sfn "$(target)" "$(argument path).next"
  mv -T "$(argument path).next" "$(argument path)"
  remove_old
}

# Keeps the one in use and the newest earlier ones; never one that a process or a service's record still uses.
remove_old() {
  local folder keep entry
  folder=$ROOT/$(argument name)
  keep=$(argument keep)
  while IFS= read -r entry; do
    [[ -n $entry && $entry != "$(target)" ]] || continue
    if ((keep > 0)); then
      keep=$((keep - 1))
      continue
    fi
    if in_use "$entry"; then continue; fi
    say "removing old environment ${entry##*/}"
    rm -rf "$entry" "$entry.lock"
  done < <(find "$folder" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn | cut -d' ' -f2-)
}

in_use() {
  grep -qs "$1" /var/lib/proxmox-gpu-stack/services/*/environment && return 0
  find /proc/[0-9]*/maps -maxdepth 0 -exec grep -lqs "$1/" {} + 2>/dev/null
}

step_facts() {
  fact digest "$(argument digest)"
  fact path "$(argument path)"
  fact target "$(target)"
}
