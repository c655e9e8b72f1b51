# Back a container up with Proxmox VE's own tool, vzdump: its disks and its configuration; bind mounts are folders of the
# host and are not in it. It runs as a unit, so that a cut connection loses nothing.
#
# uses: step long-work
# arguments: id, storage (that holds backups), run=WORD (names this attempt: the same word joins one that still runs)
# facts: archive

ARCHIVE=""

log() {
  printf '%s/backup-%s.log' "$LONG_WORK" "$(argument id)"
}

step_check() {
  [[ -n $ARCHIVE ]] || differs "container $(argument id) is not backed up"
}

step_apply() {
  command -v vzdump >/dev/null || fail "there is no vzdump on $(machine_name)" "is it a Proxmox VE host?"
  long_work "backup-$(argument id)" "$(argument run)" 1440 \
    vzdump "$(argument id)" --storage "$(argument storage)" --mode stop --compress zstd ||
    fail "container $(argument id) could not be backed up: $(grep -E 'ERROR|storage|wrong' "$(log)" | tail -n 1)" \
      "name a storage that holds backups and has room (pvesm status --content backup), then run the same command again"
  ARCHIVE=$(sed -n "s/^.*creating .*archive '\(.*\)'.*$/\1/p" "$(log)" | tail -n 1)
  [[ -n $ARCHIVE ]] || fail "vzdump ended well but named no archive" "see $(log)"
}

step_facts() {
  fact archive "$ARCHIVE"
}
