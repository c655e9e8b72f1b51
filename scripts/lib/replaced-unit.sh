# A unit that somebody made by hand and that a service takes the place of (argument replaces, optional). Both want the
# same cards and mostly the same port, so they never run together: it is stopped right before the service starts, started
# again when the service fails before it ever passed its gate, and disabled once the service has passed.
# Uses `unit`, `record` and `recorded` of inference-service.

# The kernel needs about six seconds to take back the memory of a server that ended.
RELEASED_AFTER_SECONDS=10

replaced() {
  argument replaces ""
}

replaced_runs() {
  local state
  state=$(systemctl show --property=ActiveState --value "$(replaced)")
  [[ $state != inactive && $state != failed ]]
}

check_replaced() {
  [[ -n $(replaced) ]] || return 0
  ! systemctl is-enabled --quiet "$(replaced)" 2>/dev/null || differs "$(replaced) is enabled, $(unit) takes its place"
  ! replaced_runs || differs "$(replaced) runs, $(unit) takes its place"
}

# Remembered before it is stopped: a cut connection must not lose that it served.
stop_replaced() {
  [[ -n $(replaced) ]] && replaced_runs || return 0
  put_text "$(record)/replaced" 644 "$(replaced)"
  say "stopping $(replaced): $(unit) takes its place"
  systemctl stop "$(replaced)"
  sleep "$RELEASED_AFTER_SECONDS"
}

# The service has passed its gate: the other one does not come back at the next boot.
retire_replaced() {
  [[ -n $(replaced) ]] || return 0
  systemctl disable --quiet "$(replaced)" 2>/dev/null || true
  # SGLang ends by a signal also when it is asked to: the container would count as degraded from now on.
  systemctl reset-failed "$(replaced)" 2>/dev/null || true
  rm -f "$(record)/replaced"
}

# 0 when it was this step that stopped it, and it was started again.
bring_replaced_back() {
  [[ -n $(replaced) && $(recorded replaced) == "$(replaced)" ]] || return 1
  say "starting $(replaced) again"
  sleep "$RELEASED_AFTER_SECONDS"
  systemctl reset-failed "$(replaced)" 2>/dev/null || true
  systemctl start "$(replaced)" </dev/null || return 1
  rm -f "$(record)/replaced"
}
