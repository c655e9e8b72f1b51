# Copy a complete Python environment out of the container that built it into the host's wheelhouse, where other containers
# link to it. Packed in the container, unpacked aside, compared, renamed. Where it cannot be shared, the reason is told
# and every container builds its own. What nobody uses any more is removed.
#
# uses: step shared-environment in-container
# arguments: vmid, name (of the environment), digest, wheelhouse (folder on the host), wanted=DIGEST,… (all that the stack
#            shares: another container may be about to link to it)
# facts: path, shared, reason

REASON=""
IN_CONTAINERS=/opt/proxmox-gpu-stack/environments

shares() {
  printf '%s/environments' "$(argument wheelhouse)"
}

share() {
  printf '%s/%s' "$(shares)" "$(argument digest)"
}

source_folder() {
  printf '%s/%s/%s' "$IN_CONTAINERS" "$(argument name)" "$(argument digest)"
}

# inside COMMAND…: in the container that built it. Its files are only ever read there: a link in it cannot point into the host.
inside() {
  in_container "$(argument vmid)" "$@"
}

# Why the environment cannot be shared; nothing when it can.
why_not() {
  local folder needed free
  folder=$(source_folder)
  if [[ ! -w $(argument wheelhouse) ]]; then
    echo "$(argument wheelhouse) cannot be written to"
  elif inside test -L "$folder/.shared"; then
    echo "container $(argument vmid) has only links to it"
  elif ! inside grep -qsx 'relocatable = true' "$folder/pyvenv.cfg"; then
    echo "the environment in container $(argument vmid) was built to stay where it is"
  else
    needed=$(inside du -s --block-size=1M "$folder" | cut -f1)
    free=$(df --output=avail --block-size=1M "$(argument wheelhouse)" | tail -n 1 | tr -d ' ')
    ((free > needed + needed / 10)) ||
      echo "$(argument wheelhouse) has $free MiB free, the environment has $needed MiB"
  fi
}

step_check() {
  REASON=""
  ! shared_is_sound "$(share)" || return 0
  inside true || fail "container $(argument vmid) does not answer" "start it: pct start $(argument vmid)"
  REASON=$(why_not)
  if [[ -n $REASON ]]; then
    say "not shared, so that each container builds its own: $REASON"
  else
    differs "environment $(argument digest) of container $(argument vmid) is not in the wheelhouse"
  fi
}

# Imports of other containers find everything compiled: they cannot write to it. A file of another Python is no failure.
compile_in_container() {
  say "compiling what is not compiled yet"
  inside nice "$(source_folder)/bin/python3" -m compileall -q -q -j 0 "$(source_folder)/lib" >/dev/null || true
}

# copy_to FOLDER
copy_to() {
  local strange
  install -d -m 700 "$1"
  # 1: a file changed meanwhile; what that means is seen below.
  { inside tar --create --format=posix --directory "$(source_folder)" --exclude=./.complete . || (($? == 1)); } |
    tar --extract --no-same-owner --no-same-permissions --directory "$1" ||
    fail "the environment could not be copied from container $(argument vmid)" "see the lines above, then run \`up\` again"
  strange=$(find "$1" ! -type f ! -type d ! -type l -print -quit)
  [[ -z $strange ]] || fail "$strange has no place in a Python environment" "look into $(source_folder) of container $(argument vmid)"
  chmod -R u=rwX,go=rX "$1"
}

# same_as_source FOLDER: all of it came over, and nobody wrote to it meanwhile.
same_as_source() {
  [[ $(environment_listing "$1") == "$(inside bash -c "$(declare -f environment_listing); environment_listing '$(source_folder)'")" ]]
}

# edited FOLDER: the first program file that was written after the build recorded its packages.
edited() {
  find "$1/lib" -type f -newer "$1/.packages" \( -name '*.py' -o -name '*.so' -o -name '*.so.*' \) -printf '%P\n' -quit
}

step_apply() {
  local aside changed
  lock_shares
  aside=$(share).new
  inside test -e "$(source_folder)/.complete" || fail "environment $(argument name) $(argument digest) is not complete in container $(argument vmid)" \
    "its own step must run first: \`up\` without --target"
  compile_in_container
  say "copying the environment out of container $(argument vmid)"
  copy_to "$aside"
  same_as_source "$aside" || fail "the environment in container $(argument vmid) changed while it was copied" "run \`up\` again"
  changed=$(edited "$aside")
  [[ -z $changed ]] || fail "$changed in container $(argument vmid) is not what was built" "./stack drift STACK --repair puts it back"
  listing_digest "$aside" >"$aside/.complete"
  if [[ -e $(share) ]]; then
    say "in the place of one that was not as it had been copied"
    mv -T "$(share)" "$(share).gone"
  fi
  mv -T "$aside" "$(share)"
  rm -rf "$(share).gone"
  remove_unused "$(argument wanted),$(argument digest)"
}

# One at a time on this host. What an earlier run left half done goes.
lock_shares() {
  install -d -m 755 "$(shares)"
  exec 9>/run/lock/proxmox-gpu-stack-environments
  flock 9
  rm -rf "$(shares)"/*.new "$(shares)"/*.gone
}

# used DIGEST: does a container of this host link to it, or a process have files of it? A container that is stopped may.
used() {
  local configuration id links found
  for configuration in $(grep -lsF "$(argument wheelhouse)" /etc/pve/lxc/*.conf || true); do
    id=$(basename "$configuration" .conf)
    links=$(in_container "$id" bash -c \
      "[[ ! -d $IN_CONTAINERS ]] || find $IN_CONTAINERS -mindepth 3 -maxdepth 3 -name .shared -lname '/wheelhouse/environments/$1/*'" \
      </dev/null) || return 0
    [[ -z $links ]] || return 0
  done
  found=$(grep -lsF "/wheelhouse/environments/$1/" /proc/[0-9]*/maps || true)
  [[ -n $found ]]
}

# Another host's containers cannot be seen from here.
on_own_disk() {
  case $(stat --file-system --format=%T "$(shares)") in
    ext2/ext3 | xfs | btrfs | zfs | tmpfs | overlayfs) ;;
    *) return 1 ;;
  esac
}

# remove_unused DIGEST,…: all but these, where nobody uses them.
remove_unused() {
  local folder digest
  on_own_disk || return 0
  for folder in "$(shares)"/*/; do
    digest=$(basename "$folder")
    [[ -d $folder && ,$1, != *",$digest,"* ]] || continue
    if used "$digest"; then
      say "kept: $folder, which a container uses or may use"
    else
      say "removing $folder, which no container uses"
      mv -T "${folder%/}" "${folder%/}.gone"
      rm -rf "${folder%/}.gone"
    fi
  done
}

step_facts() {
  fact path "$(share)"
  fact shared "$(if [[ -z $REASON ]]; then echo true; else echo false; fi)"
  fact reason "$REASON"
}

step_remove() {
  [[ -d $(shares) && -w $(shares) ]] || return 0
  lock_shares
  remove_unused "$(argument wanted "" | tr ',' '\n' | grep -vxF "$(argument digest)" | paste -sd, -)"
}
