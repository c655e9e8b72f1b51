# See that CUDA works in this container on exactly its cards: nvidia-smi lists them, and a context opens on each through
# libcuda. nvidia-smi alone proves nothing: without the uvm nodes it lists the cards and CUDA fails with error 999.
#
# uses: step packages
# arguments: uuids=UUID,… or empty, count, version (of the driver)
# texts: cuda-check.py
# facts: devices (JSON list of "NAME UUID"), driver

DEVICES=""

# Debian's python3-minimal has no ctypes.
has_python() {
  python3 -c 'import ctypes' 2>/dev/null
}

step_check() {
  local listed wanted
  DEVICES=""
  if ! has_python; then
    differs "python3 is not installed: the CUDA check needs it"
    return
  fi
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
    differs "$DEVICES"
    DEVICES=""
  fi
}

# Nothing can be repaired from in here but the tool that looks.
step_apply() {
  if ! has_python; then
    install_packages python3
    return
  fi
  fail "$(printf '%s; ' "${DIFFERENCES[@]}")" \
    "error 999: the nvidia-uvm nodes are missing; 803 or 'version mismatch': host and container have different drivers; other cards: compare \`pct config\` with the stack"
}

step_facts() {
  local lines=()
  [[ -n $DEVICES ]] || return 0
  mapfile -t lines <<<"$DEVICES"
  fact devices "$(json_list "${lines[@]}")"
  fact driver "$(argument version)"
}
