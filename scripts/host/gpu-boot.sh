# Install gpu-nodes and the unit that runs it at every boot before Proxmox starts its guests: device nodes vanish with a
# reboot, and minor numbers may have moved. Then see that every declared card is there.
#
# uses: step files
# arguments: cards=NAME:UUID-OR-ADDRESS,…  containers=ID,… (that have GPUs; settings of others are taken away)
# texts: gpu-nodes (the tool), gpu-nodes.service
# facts: cards (JSON list of "NAME NODE")

TOOL=/usr/local/lib/proxmox-gpu-stack/gpu-nodes
UNIT=/etc/systemd/system/gpu-nodes.service
CONFIGURATION=/etc/proxmox-gpu-stack
# "NAME NODE" of each declared card.
NODES=()

cards_text() {
  argument cards | tr ',' '\n' | sed 's/:/ /'
  printf '\n'
}

card_names() {
  cards_text | cut -d' ' -f1
}

# Containers that once had GPUs from this stack and are not declared any more.
forgotten_containers() {
  local file
  for file in "$CONFIGURATION"/containers/*; do
    [[ -e $file ]] || continue
    [[ ,$(argument containers ""), == *",${file##*/},"* ]] || printf '%s\n' "${file##*/}"
  done
}

step_check() {
  local name id found
  NODES=()
  check_text "$TOOL" "$(file gpu-nodes)
"
  check_text "$UNIT" "$(file gpu-nodes.service)
"
  check_text "$CONFIGURATION/cards" "$(cards_text)
"
  systemctl is-enabled --quiet gpu-nodes.service 2>/dev/null || differs "gpu-nodes.service is not enabled"
  while IFS= read -r id; do
    differs "container $id is not declared any more but still has GPU settings here"
  done < <(forgotten_containers)
  [[ -x $TOOL && -e $CONFIGURATION/cards ]] || return 0
  [[ -c /dev/nvidiactl && -c /dev/nvidia-uvm ]] || differs "device nodes are missing"
  while IFS= read -r name; do
    # Prints the node, or why there is none.
    if found=$("$TOOL" card "$name" 2>&1); then
      NODES+=("$name $found")
    else
      NODES+=("$name missing")
      differs "${found#gpu-nodes: }"
    fi
  done < <(card_names)
}

step_apply() {
  local id name problem
  put_text "$TOOL" 755 "$(file gpu-nodes)
"
  put_text "$UNIT" 644 "$(file gpu-nodes.service)
"
  put_text "$CONFIGURATION/cards" 644 "$(cards_text)
"
  while IFS= read -r id; do
    rm -rf "$CONFIGURATION/containers/$id" "/etc/systemd/system/pve-container@$id.service.d/gpu-nodes.conf"
  done < <(forgotten_containers)
  systemctl daemon-reload
  systemctl enable --quiet gpu-nodes.service
  say "making the device nodes"
  "$TOOL" nodes || fail "the device nodes could not be made" "see the lines above; is the driver loaded? cat /proc/driver/nvidia/version"
  while IFS= read -r name; do
    problem=$("$TOOL" card "$name" 2>&1 >/dev/null) ||
      fail "${problem#gpu-nodes: }" "compare \`gpus\` of the stack with: nvidia-smi -L on $(machine_name)"
  done < <(card_names)
}

step_facts() {
  fact cards "$(json_list ${NODES[@]+"${NODES[@]}"})"
}

step_remove() {
  systemctl disable --quiet gpu-nodes.service 2>/dev/null || true
  rm -f "$UNIT" "$TOOL" /etc/systemd/system/pve-container@*.service.d/gpu-nodes.conf
  rmdir /etc/systemd/system/pve-container@*.service.d /usr/local/lib/proxmox-gpu-stack 2>/dev/null || true
  rm -rf "$CONFIGURATION"
  systemctl daemon-reload
  say "taken away from $(machine_name): gpu-nodes, its unit and $CONFIGURATION"
}
