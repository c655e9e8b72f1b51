# Work that takes minutes runs as a transient systemd unit on the machine; this session only follows it.
# A cut connection loses nothing: the next run joins the unit that is still working.

LONG_WORK=/var/lib/proxmox-gpu-stack/work

# long_work NAME DIGEST MINUTES COMMAND…: runs COMMAND as unit proxmox-gpu-stack-NAME and follows it to its end.
# DIGEST says what the work is: a running unit with the same digest is joined, another one is waited for first.
long_work() {
  local name=$1 digest=$2 minutes=$3
  shift 3
  local unit=proxmox-gpu-stack-$name log=$LONG_WORK/$name.log
  install -d -m 755 "$LONG_WORK"
  if systemctl is-active --quiet "$unit" && [[ $(cat "$LONG_WORK/$name.digest" 2>/dev/null) != "$digest" ]]; then
    say "waiting for earlier work of $name to end"
    follow_unit "$unit" "$log" || true
  fi
  if systemctl is-active --quiet "$unit"; then
    say "joining $unit, which is already working"
  else
    systemctl reset-failed "$unit" 2>/dev/null || true
    printf '%s' "$digest" >"$LONG_WORK/$name.digest"
    : >"$log"
    # Programs of a unit complain about a pipe that ends before they do, where a shell's programs end silently.
    systemd-run --quiet --unit="$unit" --description="proxmox-gpu-stack: $name" --property=IgnoreSIGPIPE=no \
      --property=RuntimeMaxSec="${minutes}m" --property=StandardOutput="append:$log" --property=StandardError="append:$log" \
      --setenv=HOME=/root --setenv=LC_ALL=C.UTF-8 --setenv=DEBIAN_FRONTEND=noninteractive \
      --setenv=PATH="$PATH" "$@" || fail "unit $unit could not be started" "see: journalctl -u $unit"
  fi
  follow_unit "$unit" "$log"
}

# show_new LOG OFFSET: prints what the log has beyond OFFSET bytes; sets SHOWN to how far that was.
show_new() {
  local size
  size=$(stat --format=%s "$1" 2>/dev/null || echo 0)
  if ((size > $2)); then
    tail -c "+$(($2 + 1))" "$1" | head -c "$((size - $2))" >&2
  fi
  SHOWN=$size
}

# follow_unit UNIT LOG: shows the log as it grows, at first ten times a second and after some seconds once; 0 when the unit
# ended well.
follow_unit() {
  local unit=$1 log=$2 state tenths=1
  SHOWN=0
  while state=$(systemctl show --property=ActiveState --value "$unit") && [[ $state == active || $state == *activating ]]; do
    show_new "$log" "$SHOWN"
    sleep "$((tenths / 10)).$((tenths % 10))"
    ((tenths == 10)) || tenths=$((tenths + 1))
  done
  show_new "$log" "$SHOWN"
  # A transient unit that ended well is unloaded: its Result then reads "success".
  [[ $(systemctl show --property=Result --value "$unit") == success ]]
}
