# Keep a model's files of one pinned revision on the host: fetched resumably, every file verified against the hub's
# own hashes, switched into place as a whole, read-only. Containers mount them.
#
# uses: step files packages long-work
# arguments: name, repo, revision, path, endpoint
# secrets: huggingFaceToken (optional, for gated models)
# texts: model-snapshot.py
# facts: revision, files, bytes

TOOL=/usr/local/lib/proxmox-gpu-stack/model-snapshot

snapshot() {
  python3 "$TOOL" "$1" --repo "$(argument repo)" --revision "$(argument revision)" --path "$(argument path)"
}

step_check() {
  local problem
  check_text "$TOOL" "$(file model-snapshot.py)
"
  if [[ ! -e $TOOL ]] || ! command -v python3 >/dev/null; then
    differs "the snapshot of $(argument repo) has not been looked at"
    return
  fi
  problem=$(snapshot check 2>&1) || differs "${problem//$'\n'/; }"
}

step_apply() {
  local arguments token_file=""
  command -v python3 >/dev/null || install_packages python3
  put_text "$TOOL" 755 "$(file model-snapshot.py)
"
  if ! snapshot check >/dev/null 2>&1; then
    arguments=(fetch --repo "$(argument repo)" --revision "$(argument revision)" --path "$(argument path)" --endpoint "$(argument endpoint)")
    if [[ -n ${SECRETS[huggingFaceToken]:-} ]]; then
      # A file that only root reads: the unit's properties and its command line are open to everybody.
      token_file=$(mktemp /run/proxmox-gpu-stack-token.XXXXXX)
      printf '%s' "${SECRETS[huggingFaceToken]}" >"$token_file"
      arguments+=(--token-file "$token_file")
    fi
    if ! long_work "model-$(argument name)" "$(argument repo)@$(argument revision)" 1440 python3 -u "$TOOL" "${arguments[@]}"; then
      [[ -z $token_file ]] || rm -f "$token_file"
      fail "the snapshot of $(argument repo) is not complete; what was fetched is kept and will be resumed" \
        "the line above names the file and the cause; run \`up\` again when it is gone"
    fi
    [[ -z $token_file ]] || rm -f "$token_file"
  fi
}

step_facts() {
  fact revision "$(argument revision)"
  fact files "$(find "$(argument path)" -type f ! -name '.snapshot.json' | wc -l)"
  fact bytes "$(du -sb "$(argument path)" | cut -f1)"
}

step_remove() {
  say "kept on $(machine_name): the model files in $(argument path)"
  rm -f "$TOOL"
}
