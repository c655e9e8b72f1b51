# Who uses the GPUs of a host: guests and processes, ours and others'.

GPU_NODES=/usr/local/lib/proxmox-gpu-stack/gpu-nodes

# Running guests, one a line: "container 130 web onboot" or "machine 100 desktop -".
running_guests() {
  local kind file id name start
  for file in /etc/pve/lxc/*.conf /etc/pve/qemu-server/*.conf; do
    [[ -e $file ]] || continue
    id=$(basename "$file" .conf)
    if [[ $file == */lxc/* ]]; then
      kind=container
      [[ $(pct status "$id" 2>/dev/null) == 'status: running' ]] || continue
    else
      kind=machine
      [[ $(qm status "$id" 2>/dev/null) == 'status: running' ]] || continue
    fi
    # Below the first section are snapshots.
    name=$(sed -n -e '/^\[/q' -e 's/^\(hostname\|name\): //p' "$file")
    start=$(sed -n -e '/^\[/q' -e 's/^onboot: 1/onboot/p' "$file")
    printf '%s %s %s %s\n' "$kind" "$id" "${name:--}" "${start:--}"
  done
}

# Did a stack give this container its GPUs?
is_ours() {
  [[ -e /etc/proxmox-gpu-stack/containers/$1 ]]
}

# Running containers that have a node of a GPU, by whatever way: devN or a raw line.
gpu_containers() {
  local kind id
  while read -r kind id _; do
    [[ $kind == container ]] || continue
    [[ -z $(sed -n -e '/^\[/q' -e '/^\(dev\|lxc\.\).*\/dev\/nvidia/p' "/etc/pve/lxc/$id.conf") ]] || printf '%s\n' "$id"
  done < <(running_guests)
}

our_gpu_containers() {
  local id
  while IFS= read -r id; do
    ! is_ours "$id" || printf '%s\n' "$id"
  done < <(gpu_containers)
}

# Processes that hold a node of the driver: "PID NAME CONTAINER", the last one "-" on the host itself. Seen from here,
# the path of a container's node may begin at its own mount.
gpu_processes() {
  local pid name container
  while IFS= read -r pid; do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    container=$(sed -n 's#.*/lxc/\([0-9]\{1,\}\)\(/.*\)\{0,1\}$#\1#p' "/proc/$pid/cgroup" 2>/dev/null | head -n 1)
    printf '%s %s %s\n' "$pid" "${name// /_}" "${container:--}"
  done < <(find /proc/[0-9]*/fd -lname '*/nvidia*' -xtype c -printf '%h\n' 2>/dev/null | sed 's#^/proc/##; s#/fd$##' | sort -un)
}

# Users of the GPUs that no stack may stop, one line each for a person.
other_gpu_users() {
  local id pid name container listed=" "
  while IFS= read -r id; do
    listed+="$id "
    is_ours "$id" || printf 'container %s (%s)\n' "$id" "$(sed -n -e '/^\[/q' -e 's/^hostname: //p' "/etc/pve/lxc/$id.conf")"
  done < <(gpu_containers)
  while read -r pid name container; do
    [[ $name != nvidia-persiste* && $listed != *" $container "* ]] || continue
    if [[ $container == - ]]; then
      printf 'process %s (%s) on the host\n' "$pid" "$name"
    else
      printf 'process %s (%s) in container %s\n' "$pid" "$name" "$container"
    fi
  done < <(gpu_processes)
}

# Stops what stacks run on the GPUs: first the services, which may need minutes, then their containers. Sets STOPPED. Needs container-locks and in-container.
stop_our_gpu_users() {
  local id
  STOPPED=()
  while IFS= read -r id; do
    say "stopping the services of container $id, then the container: they use the driver that is replaced"
    in_container "$id" systemctl stop 'sglang-*' </dev/null ||
      say "container $id: its services did not stop by themselves"
    when_unlocked "$id" pct shutdown "$id" --timeout 120 --forceStop 1 ||
      fail "container $id, which uses the driver that is replaced, does not stop" "the line above says why; then run \`up\` again"
    STOPPED+=("$id")
  done < <(our_gpu_containers)
}

# Starts again what stop_our_gpu_users stopped. Whether their cards are there is the boot unit's to refuse.
start_our_gpu_users() {
  local id
  ((${#STOPPED[@]} > 0)) || return 0
  "$GPU_NODES" boot || say "see the lines above: a container without its cards stays stopped"
  for id in "${STOPPED[@]}"; do
    say "starting container $id again"
    pct start "$id" </dev/null || say "container $id does not start yet"
  done
}

# Takes NVIDIA's modules out of the kernel; false when somebody holds them.
unload_driver() {
  local module
  systemctl stop nvidia-persistenced.service 2>/dev/null || true
  for module in nvidia_drm nvidia_modeset nvidia_uvm nvidia_peermem nvidia; do
    module_loaded "$module" || continue
    modprobe -r "$module" || return 1
  done
}
