# Build a Python environment from a hashed lock at a content address beside the running one, smoke-test it, and switch
# to it by one rename. The build is a unit of its own; a failed one leaves the running environment as it is. With a
# wheelhouse (mounted at /wheelhouse) no network is used. One that another container of the host has built and shared is
# linked instead; where that cannot be, it is built.
#
# uses: step files packages download long-work environments shared-environment
# arguments: name, path (the link that services use), digest (content address), python (version), lock (its name),
#            packages=NAME,… (optional, Debian packages that its programs need),
#            interpreter=VERSION:SHA256:URL (optional, a pinned one), wheels=DIGEST,… (optional, built from source),
#            index (optional package index), keep (how many earlier ones stay)
# texts: requirements (the lock), uv-wheel (SHA256 BYTES NAME of uv itself), package_index.py, files (the wheelhouse's list;
#        without it packages come from the index), smoke-test (JSON), ml-env-build (the worker), ml-env-smoke-test.py,
#        cuda-architectures.py (optional)
# facts: digest, path, target, kept

STORE=/opt/proxmox-gpu-stack

target() {
  printf '%s/%s' "$(environments)" "$(argument digest)"
}

complete() {
  [[ -e $(target)/.complete ]] || return 1
  ! linked || shared_is_sound "$(shared_folder)"
}

linked() {
  [[ -L $(target)/.shared ]]
}

shared_folder() {
  printf '/wheelhouse/environments/%s' "$(argument digest)"
}

offline() {
  [[ -n ${FILES[files]:-} ]]
}

# A directory that somebody made by hand is never overwritten.
check_path() {
  local path
  path=$(argument path)
  [[ ! -e $path || -L $path ]] || fail "$path in this container is not a link of this stack" \
    "move it away (mv $path $path.by-hand) or give the environment another path"
}

# Debian packages that the environment needs and this container lacks, a line each.
missing_packages() {
  local name
  for name in $(argument packages "" | tr , ' '); do
    package_installed "$name" || printf '%s\n' "$name"
  done
}

site_packages() {
  printf '%s\n' "$(target)"/lib/python3*/site-packages
}

# Packages that are not what the build left, a line each: NAME and what is wrong with it. Other versions, packages that
# came or went, and files that were written since. An environment of before this was recorded is not looked into.
changed_packages() {
  local site record
  # What is shared cannot be written to from here; whether it is whole was seen already.
  ! linked || return 0
  site=$(site_packages)
  record=$(target)/.packages
  [[ -e $record ]] || return 0
  {
    LC_ALL=C comm -3 "$record" <(find "$site" -maxdepth 1 -name '*.dist-info' -printf '%f\n' | LC_ALL=C sort) |
      sed -E 's/^(\t?)(.*)-([^-]*)\.dist-info$/\2 \1\3/' |
      awk -F '[ ]' '{ seen[$1]; if (sub(/^\t/, "", $2)) found[$1] = $2; else built[$1] = $2 }
        END { for (name in seen)
          if (!(name in found)) print name " is missing, the lock has " built[name]
          else if (!(name in built)) print name " is " found[name] ", the lock has none"
          else print name " is " found[name] ", the lock has " built[name] }' | LC_ALL=C sort
    edited_packages "$site" "$record"
  } | awk '!seen[$1]++'
}

# edited_packages SITE RECORD: packages with a program file that was written after the record.
edited_packages() {
  local path owner
  while IFS= read -r path; do
    owner=$(grep -lF -- "${path#"$1"/}," "$1"/*.dist-info/RECORD | head -n 1 || true)
    [[ -n $owner ]] || continue
    owner=${owner%.dist-info/RECORD}
    owner=${owner##*/}
    printf '%s has another %s\n' "${owner%-*}" "${path#"$1"/}"
  done < <(find "$1" -type f -newer "$2" \( -name '*.py' -o -name '*.so' -o -name '*.so.*' \) -print)
}

step_check() {
  local missing line
  check_path
  missing=$(missing_packages | paste -sd' ' -)
  [[ -z $missing ]] || differs "packages that environment $(argument name) needs are not installed: $missing"
  if ! complete; then
    if linked; then
      differs "the shared environment $(shared_folder) is gone or not as it was copied"
    else
      differs "environment $(argument name) $(argument digest) is not built"
    fi
  else
    while IFS= read -r line; do
      differs "package $line"
    done < <(changed_packages)
  fi
  [[ $(readlink "$(argument path)" 2>/dev/null) == "$(target)" ]] ||
    differs "$(argument path) does not point to environment $(argument digest)"
}

# Unpacks the pinned interpreter once and prints its folder.
pinned_interpreter() {
  local version sha256 url archive folder
  IFS=: read -r version sha256 url <<<"$(argument interpreter)"
  folder=$STORE/python-$version-${sha256:0:12}
  if [[ ! -e $folder/.complete ]]; then
    archive=$(wheelhouse_file "$sha256")
    if [[ -z $archive ]]; then
      ! offline || fail "the wheelhouse lacks the interpreter ${url##*/}" "./stack wheelhouse push STACK sends it to the host; then run \`up\` again"
      command -v curl >/dev/null || install_packages curl ca-certificates
      archive=$PACKAGE_CACHE/interpreters/$sha256/${url##*/}
      download "$url" "$archive" "$sha256"
    fi
    has_checksum "$archive" "$sha256" || fail "damaged in the wheelhouse: $archive" \
      "remove the file on the host; ./stack wheelhouse push STACK sends it again; then run \`up\`"
    say "unpacking Python $version"
    rm -rf "$folder.partial"
    install -d -m 755 "$folder.partial"
    tar --extract --file "$archive" --directory "$folder.partial" --strip-components 1 --no-same-owner ||
      fail "${archive##*/} could not be unpacked" "see tar's line above; is the disk full? (df -h $STORE)"
    [[ -x $folder.partial/bin/python3 ]] || fail "${archive##*/} holds no bin/python3" "take an archive of python-build-standalone's kind install_only"
    touch "$folder.partial/.complete"
    rm -rf "$folder"
    mv -T "$folder.partial" "$folder"
  fi
  printf '%s' "$folder"
}

# What unpacks uv and runs the environment, where no interpreter is pinned: the container's own.
need_system_python() {
  ! command -v python3 >/dev/null || return 0
  ! offline || say "this container has no Python: it comes from its package source; a pinned interpreter would come from the wheelhouse"
  install_packages python3
}

# What Python trusts of those who sign for an index; uv and pip bring their own.
need_certificates() {
  offline || [[ $(argument index "") == http://* || -e /etc/ssl/certs/ca-certificates.crt ]] || install_packages ca-certificates
}

# Everything that the worker reads, in a folder of its own.
put_inputs() {
  local folder=$1 name
  install -d -m 755 "$folder"
  rm -f "$folder/files" "$folder/cuda-architectures.py"
  for name in "${!FILES[@]}"; do
    put_text "$folder/$name" 755 "${FILES[$name]}
"
  done
  put_text "$folder/lock" 644 "$(argument lock)
"
  put_text "$folder/interpreter" 644 "$2"
}

# build [REINSTALL [SHARE]]: builds the environment, puts these packages of a complete one back, or links to a shared one.
build() {
  local inputs interpreter="" what="building" share=${2:-}
  [[ -z ${1:-} ]] || what="putting packages back in"
  [[ -z $share ]] || what="linking to $share as"
  inputs=/var/lib/proxmox-gpu-stack/environments/$(argument name)
  if [[ -n $(argument interpreter "") ]]; then
    interpreter=$(pinned_interpreter)
  else
    need_system_python
  fi
  need_certificates
  put_inputs "$inputs" "$interpreter"
  say "$what environment $(argument name) $(argument digest) from lock $(argument lock)"
  long_work "environment-$(argument name)" "$(argument digest)${1:+ $1}${share:+ shared}" 240 \
    "$inputs/ml-env-build" "$inputs" "$(target)" "$(argument python)" "$(argument index "")" "$(argument wheels "")" "${1:-}" "$share" && return 0
  if [[ -n $share ]]; then
    say "the shared environment is of no use here, so that it is built: $(sed -n 1p "$inputs/problem" 2>/dev/null)"
    build
    return
  fi
  if [[ -s $inputs/problem ]]; then
    fail "environment $(argument name) from lock $(argument lock) could not be built, the one in use is untouched: $(sed -n 1p "$inputs/problem")" \
      "$(sed -n 2p "$inputs/problem")"
  fi
  fail "environment $(argument name) could not be built; the one in use is untouched" \
    "the last lines above name the package; the whole log: $LONG_WORK/environment-$(argument name).log"
}

# What was started after the first change runs with it: its own step finds no record of its start, and restarts it.
forget_starts_since_change() {
  local changed record started
  changed=$(find "$(site_packages)" -newer "$(target)/.packages" ! -name '*.pyc' ! -name __pycache__ -printf '%T@\n' | sort -n | head -n 1)
  for record in "$RECORDS"/*; do
    [[ $(cat "$record/environment" 2>/dev/null) == "$(target)" ]] || continue
    started=$(systemctl show --property=ExecMainStartTimestamp --value "sglang-${record##*/}.service")
    [[ -n $started ]] || continue
    if (($(date -d "$started" +%s) >= ${changed%%.*})); then
      say "sglang-${record##*/}.service was started with the changed packages and will be restarted by its own step"
      rm -f "$record/running"
    fi
  done
}

repair() {
  local changed=("$@")
  [[ ! -d $RECORDS ]] || forget_starts_since_change
  build "$(printf '%s\n' "${changed[@]%% *}" | paste -sd, -)"
}

# usable_share: the folder that another container's environment was shared in; nothing when there is none, or none that is whole.
usable_share() {
  if [[ ! -e $(shared_folder) ]]; then
    return
  elif shared_is_sound "$(shared_folder)"; then
    shared_folder
  else
    say "$(shared_folder) is not as it was copied, so that the environment is built here too; ./stack drift STACK --repair copies it again"
  fi
}

step_apply() {
  local missing changed
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  install -d -m 755 "$STORE" "$ROOT" "$(environments)"
  if ! complete; then
    build "" "$(usable_share)"
  else
    mapfile -t changed < <(changed_packages)
    ((${#changed[@]} == 0)) || repair "${changed[@]}"
  fi
  install -d -m 755 "$(dirname "$(argument path)")"
  switch_to "$(argument digest)"
  remove_old "$(argument keep)"
}

step_facts() {
  fact digest "$(argument digest)"
  fact path "$(argument path)"
  fact target "$(target)"
  fact kept "$(kept | paste -sd' ' -)"
}
