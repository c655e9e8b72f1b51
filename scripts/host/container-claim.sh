# Claim a container id before anything is made or changed under it. The provider takes "already exists" for done when it
# tries a second time (trap f), so an id that somebody else uses must be found out here. So must a root disk that would
# shrink: the provider previews that as an ordinary change and fails in the middle of it. And a container that a task of
# somebody else holds is waited for here: the provider asks once, and what was refused it never sends again.
#
# uses: step files container-locks
# arguments: id, diskGiB (of the root disk), settings (digest of what the API is asked for), adopt=yes|no; with adopt=yes also
#            unprivileged=1|0, storage (of the root disk), mounts=SOURCE:TARGET:ro|rw,…
# facts: id

# What this stack has claimed on this host; a container made later by somebody else under a freed id is not ours.
CLAIMS=/etc/proxmox-gpu-stack/claims

mark() {
  printf '%s/%s' "$CLAIMS" "$(argument id)"
}

# The configuration file of the guest with that id, on any node of the cluster; nothing when the id is free.
guest() {
  local file
  for file in /etc/pve/{lxc,qemu-server} /etc/pve/nodes/*/{lxc,qemu-server}; do
    file=$file/$(argument id).conf
    if [[ -e $file ]]; then
      readlink -f "$file"
      return
    fi
  done
}

# A container that this program attached before it claimed ids.
attached_before() {
  [[ -e /etc/proxmox-gpu-stack/containers/$(argument id) ]]
}

name_of() {
  sed -n '/^\[/q; s/^\(hostname\|name\): //p' "$1"
}

# Of its file: pct takes half a second to start, and what is asked for here is never a change that waits.
option() {
  local file
  file=$(guest)
  [[ -z $file ]] || sed -n "/^\[/q; s/^$1: //p" "$file"
}

check_disk() {
  local size
  size=$(option rootfs | sed -n 's/.*size=\([^,]*\).*/\1/p' || true)
  [[ -n $size ]] || return 0
  (($(numfmt --from=iec "$size") <= $(argument diskGiB) * 1024 ** 3)) ||
    fail "the root disk of container $(argument id) has $size, the stack file says $(argument diskGiB)G; a disk cannot shrink" \
      "write the size that it has; a smaller one needs a new container (docs/how-to/adopt-a-container.md)"
}

step_check() {
  [[ ${ARGS[mode]:-apply} == check ]] || wait_until_unlocked "$(argument id)"
  [[ ! -e $(mark) ]] || check_disk
  [[ -e $(mark) ]] || differs "the id $(argument id) is not claimed"
}

# Nothing of an adopted container may be lost: what cannot be kept as it is must be declared first.
check_adoption() {
  local id found storage source target declared
  id=$(argument id)
  found=$(option unprivileged)
  [[ ${found:-0} == "$(argument unprivileged)" ]] ||
    fail "container $id has unprivileged=${found:-0}, the stack file says $(argument unprivileged)" "write into the stack file what it has"
  storage=$(option rootfs)
  [[ ${storage%%:*} == "$(argument storage)" ]] ||
    fail "container $id has its root disk on '${storage%%:*}', the stack file says '$(argument storage)'" "write into the stack file what it has"
  check_disk
  declared=,$(argument mounts ""),
  while IFS=, read -r source target _; do
    [[ -n $source ]] || continue
    [[ $declared == *",$source:${target#mp=}:"* ]] ||
      fail "container $id has the mount $source on ${target#mp=}, which the stack file does not declare" \
        "declare it in \`mounts\`, or take it away first: pct config $id shows its number, pct set $id --delete mpN removes it (the data stays)"
  done < <(pct config "$id" | sed -n 's/^mp[0-9]*: \(\/.*\)$/\1/p' | sed -E 's/^([^,]*),(.*,)?(mp=[^,]*).*/\1,\3/')
}

step_apply() {
  local guest
  guest=$(guest)
  if [[ -n $guest ]] && ! attached_before; then
    [[ $guest == */lxc/* ]] ||
      fail "the id $(argument id) is a virtual machine's ('$(name_of "$guest")', $guest)" "take an id that is free: pvesh get /cluster/nextid"
    [[ $(argument adopt) == yes ]] ||
      fail "a container with the id $(argument id) exists already ('$(name_of "$guest")', $guest) and is not this stack's" \
        "take another id (pvesh get /cluster/nextid); or, to put this container under the stack, set adopt: true (docs/how-to/adopt-a-container.md)"
    check_adoption
    say "container $(argument id) ('$(name_of "$guest")') is adopted as it is"
  elif [[ -z $guest && $(argument adopt) == yes ]]; then
    fail "there is no container $(argument id) to adopt" "correct vmId, or leave adopt out to have it made"
  fi
  put_text "$(mark)" 644 "claimed $(date -Is)
"
}

step_facts() {
  fact id "$(argument id)"
}

step_remove() {
  rm -f "$(mark)"
  rmdir "$CLAIMS" "$(dirname "$CLAIMS")" 2>/dev/null || true
}
