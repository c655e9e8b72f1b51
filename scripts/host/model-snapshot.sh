# Keep a model's files of one pinned revision on the host: fetched resumably, every file verified by its hash, switched
# into place as a whole, read-only. Containers mount them.
#
# uses: step files packages long-work
# arguments: name, repo, revision, path, endpoint, hash (yes: check reads every file instead of trusting size and time)
# secrets: huggingFaceToken (optional, for gated models)
# texts: snapshot.json (what is declared: see model_snapshot/__main__.py), the package's files under their paths here
# facts: revision, files, bytes

LIBRARY=/usr/local/lib/proxmox-gpu-stack
SPECIFICATIONS=/var/lib/proxmox-gpu-stack/models

specification() {
  printf '%s/%s.json' "$SPECIFICATIONS" "$(argument name)"
}

# Only root reads it, memory holds it, and the download removes it as soon as it runs: a unit's properties, environment
# and command line are open to everybody.
token_file() {
  printf '/run/proxmox-gpu-stack/model-%s.token' "$(argument name)"
}

# snapshot VERB SPECIFICATION
snapshot() {
  local options=()
  [[ $(argument hash no) != yes ]] || options=(--hash)
  PYTHONPATH=$LIBRARY PYTHONDONTWRITEBYTECODE=1 python3 -m model_snapshot "$@" ${options[@]+"${options[@]}"}
}

package_files() {
  printf '%s\n' "${!FILES[@]}" | grep '^/' | sort
}

# Is the tool that looks at models here as it travelled, and what runs it?
has_tool() {
  local path
  command -v python3 >/dev/null || return 1
  for path in "${!FILES[@]}"; do
    [[ $path != /* ]] || same_text "$path" "${FILES[$path]}" || return 1
  done
}

step_check() {
  local line problems
  if ! has_tool; then
    differs "the snapshot of $(argument repo) cannot be looked at: the tool for it, $LIBRARY/model_snapshot, is not as declared"
    return
  fi
  problems=$(snapshot check <(file snapshot.json) 2>&1) && return
  # A way on is told when the step is applied and fails.
  while IFS= read -r line; do
    [[ $line == "next: "* ]] || differs "${line#error: }"
  done <<<"$problems"
}

# What identifies a download: a running one of something else is stopped, not waited for; what it fetched is kept.
stop_other_download() {
  local unit
  unit=proxmox-gpu-stack-model-$(argument name)
  systemctl is-active --quiet "$unit" || return 0
  [[ $(cat "$LONG_WORK/model-$(argument name).digest" 2>/dev/null) != "$1" ]] || return 0
  say "stopping the download of what was declared before"
  systemctl stop "$unit"
}

step_apply() {
  local path digest arguments log cause way_on
  command -v python3 >/dev/null || install_packages python3
  while IFS= read -r path; do
    same_text "$path" "${FILES[$path]}" || put_text "$path" 644 "${FILES[$path]}"
  done < <(package_files)
  put_text "$(specification)" 644 "$(file snapshot.json)
"
  if snapshot check "$(specification)" >/dev/null 2>&1; then
    return
  fi
  digest=$(sha256sum <"$(specification)" | cut -d' ' -f1)
  stop_other_download "$digest"
  arguments=(fetch "$(specification)")
  [[ $(argument hash no) != yes ]] || arguments+=(--hash)
  rm -f "$(token_file)"
  if [[ -n ${SECRETS[huggingFaceToken]:-} ]] && ! systemctl is-active --quiet "proxmox-gpu-stack-model-$(argument name)"; then
    install -d -m 755 "$(dirname "$(token_file)")"
    (
      umask 077
      printf '%s' "${SECRETS[huggingFaceToken]}" >"$(token_file)"
    )
    arguments+=(--token-file "$(token_file)")
  fi
  log=$LONG_WORK/model-$(argument name).log
  if ! long_work "model-$(argument name)" "$digest" 1430 \
    env "PYTHONPATH=$LIBRARY" PYTHONDONTWRITEBYTECODE=1 python3 -u -m model_snapshot "${arguments[@]}"; then
    rm -f "$(token_file)"
    cause=$(sed -n 's/^error: //p' "$log" | tail -n 1)
    way_on=$(sed -n 's/^next: //p' "$log" | tail -n 1)
    fail "the snapshot of $(argument repo) is not complete: ${cause:-the download was ended; the lines above are its last}" \
      "${way_on:-run \`up\` again; what was fetched is kept and resumed}"
  fi
  rm -f "$(token_file)"
}

step_facts() {
  [[ -d $(argument path) ]] || return 0
  fact revision "$(argument revision)"
  fact files "$(find "$(argument path)" -type f ! -name '.snapshot.json' | wc -l)"
  fact bytes "$(du -sb "$(argument path)" | cut -f1)"
}

step_remove() {
  say "kept on $(machine_name): the model files in $(argument path)"
  rm -f "$(specification)"
  # Other models of the stack use the same tool.
  if [[ -z $(find "$SPECIFICATIONS" -name '*.json' 2>/dev/null) ]]; then
    rm -rf "$LIBRARY/model_snapshot"
  fi
}
