# Keep a wheelhouse on the host: every file that the stack's locks name, verified by its SHA-256. What is missing comes
# from a mirror, where one is declared; else it is named. Containers see the folder read-only. Where all is there, nothing
# is written to it, so that a read-only NFS mount will do.
#
# uses: step files packages long-work wheelhouse
# arguments: path, mirror (may be empty)
# texts: files (one "SHA256 BYTES NAME" a line), wheelhouse-keep (the worker)
# facts: files, missing (JSON list of "SHA256/NAME" that are not there, or of another size), writable

TOOL=/usr/local/lib/proxmox-gpu-stack/wheelhouse-keep
# What was verified, by size and time: outside of the folder, which may be read-only.
OWN=/var/lib/proxmox-gpu-stack/wheelhouse
declare -a MISSING=()

states() {
  each_state "$(argument path)" "$OWN/verified" <(file files && echo)
}

step_check() {
  local state sha256 name unverified=0
  MISSING=()
  while read -r state sha256 _ name; do
    case $state in
      missing | wrong)
        MISSING+=("$sha256/$name")
        differs "$(argument path) lacks $name"
        ;;
      unverified) unverified=$((unverified + 1)) ;;
    esac
  done < <(states)
  ((unverified == 0)) || differs "$unverified files in $(argument path) were not verified yet"
  [[ -d $(argument path) ]] || differs "$(argument path) is not there"
}

step_apply() {
  local problem=$OWN/problem
  command -v curl >/dev/null || install_packages curl
  [[ -d $(argument path) ]] || install -d -m 755 "$(argument path)"
  put_text "$TOOL" 755 "$(file wheelhouse-keep)
"
  put_text "$OWN/files" 644 "$(file files)
"
  long_work wheelhouse "$(file files | sha256sum | cut -c1-12)" 1440 \
    "$TOOL" "$(argument path)" "$OWN/files" "$OWN/verified" "$(argument mirror "")" "$problem" && return 0
  [[ -s $problem ]] || fail "the wheelhouse could not be completed" "the whole log: $LONG_WORK/wheelhouse.log"
  fail "$(sed -n 1p "$problem")" "$(sed -n 2p "$problem")"
}

step_facts() {
  fact files "$(file files | grep -c .)"
  fact missing "$(json_list ${MISSING[@]+"${MISSING[@]}"})"
  fact writable "$(if [[ ! -e $(argument path) || -w $(argument path) ]]; then echo true; else echo false; fi)"
}

step_remove() {
  say "kept on $(machine_name): the wheelhouse in $(argument path)"
  rm -rf "$TOOL" "$OWN"
}
