# See that CUDA works in this container on exactly its cards: nvidia-smi lists them, and a context opens on each through
# libcuda. nvidia-smi alone proves nothing: without the uvm nodes it lists the cards and CUDA fails with error 999.
#
# uses: step packages
# arguments: uuids=UUID,… or empty, count, version (of the driver)
# texts: cuda-check.py
# facts: devices (JSON list of "NAME UUID"), driver

DEVICES=""
NO_PYTHON="python3 is not installed: the CUDA check needs it"

# Debian's python3-minimal has no ctypes.
has_python() {
  python3 -c 'import ctypes' 2>/dev/null
}

step_check() {
  local listed wanted
  DEVICES=""
  if ! listed=$(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>&1 | sort); then
    differs "nvidia-smi fails: ${listed//$'\n'/ }"
    return
  fi
  wanted=$(argument uuids "" | tr ',' '\n' | grep . | sort || true)
  if [[ $(grep -c . <<<"$listed") != "$(argument count)" || (-n $wanted && $wanted != "$listed") ]]; then
    differs "nvidia-smi lists ${listed//$'\n'/ }; declared are $(argument count) cards: ${wanted//$'\n'/ }"
    return
  fi
  if ! DEVICES=$(file cuda-check.py | python3 - "$(argument count)" 2>&1); then
    has_python || DEVICES=$NO_PYTHON
    differs "$DEVICES"
    DEVICES=""
  fi
}

# What to do about what was found.
way_on() {
  case $1 in
    *"CUDA error 999"*)
      printf '%s' "the nvidia-uvm nodes are missing in the container: pct config on the host must list /dev/nvidia-uvm, and the container must have been started since"
      ;;
    *"CUDA error 803"* | *"version mismatch"*)
      printf '%s' "host and container have different drivers: cat /proc/driver/nvidia/version is the host's, the container's libraries must be the same ($(argument version))"
      ;;
    *"declared are"*)
      printf '%s' "the container has other cards than declared: compare devN of pct config on the host with the \`gpus\` of this container"
      ;;
    *)
      printf '%s' "is the driver loaded on the host, and does pct config list the container's devices? On the host: nvidia-smi, journalctl -b -u gpu-nodes"
      ;;
  esac
}

# Nothing can be repaired from in here but the tool that looks.
step_apply() {
  local problem
  if [[ " ${DIFFERENCES[*]} " == *"$NO_PYTHON"* ]]; then
    install_packages python3
    run_check
  fi
  ((${#DIFFERENCES[@]} > 0)) || return 0
  problem=${DIFFERENCES[0]}
  fail "$problem" "$(way_on "$problem")"
}

step_facts() {
  local lines=()
  [[ -n $DEVICES ]] || return 0
  mapfile -t lines <<<"$DEVICES"
  fact devices "$(json_list "${lines[@]}")"
  fact driver "$(argument version)"
}
