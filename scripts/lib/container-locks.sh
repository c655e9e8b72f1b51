# Changes of a container that somebody else holds: Proxmox VE refuses them and names the lock, which ends with its task (a
# backup, a snapshot, a start). They are waited for; needs step.

# How long another task may hold a container, in seconds: longer than a backup of a root disk takes.
LOCK_PATIENCE=900
LOCK_LOOK_EVERY=2

# Where Proxmox VE keeps containers' configurations; read as files, because every call of pct starts Perl.
CONTAINER_FILES=/etc/pve/lxc

# lock_of ID: the name of the lock on a container; nothing when it has none or does not exist.
lock_of() {
  [[ -e $CONTAINER_FILES/$1.conf ]] || return 0
  sed -n '/^\[/q; s/^lock: //p' "$CONTAINER_FILES/$1.conf"
}

# tells_of_lock TEXT: is a lock what Proxmox VE refuses something for? The second is its own wait for the file lock.
tells_of_lock() {
  [[ $1 == *"CT is locked ("* || $1 == *"can't lock file "*" - got timeout"* ]]
}

still_locked() {
  fail "container $1 is still held by another task after $((LOCK_PATIENCE / 60)) minutes: $2" \
    "wait for that task to end, or, if none runs (pvesh get /cluster/tasks): pct unlock $1; then run \`up\` again"
}

# wait_until_unlocked ID: returns when no task holds the container.
wait_until_unlocked() {
  local deadline=$((SECONDS + LOCK_PATIENCE)) lock told=""
  while lock=$(lock_of "$1") && [[ -n $lock ]]; do
    ((SECONDS < deadline)) || still_locked "$1" "$lock"
    [[ -n $told ]] || say "container $1 is held by another task ($lock): waiting for its end"
    told=yes
    sleep "$LOCK_LOOK_EVERY"
  done
}

# when_unlocked ID COMMAND…: runs what changes the container, as soon as no lock refuses it.
when_unlocked() {
  local id=$1 deadline=$((SECONDS + LOCK_PATIENCE)) said status
  shift
  while true; do
    wait_until_unlocked "$id"
    status=0
    said=$("$@" 2>&1 </dev/null) || status=$?
    if ((status == 0)) || ! tells_of_lock "$said"; then break; fi
    ((SECONDS < deadline)) || still_locked "$id" "$said"
    say "container $id is held by another task: trying again"
    sleep "$LOCK_LOOK_EVERY"
  done
  [[ -z $said ]] || say "$said"
  return "$status"
}
