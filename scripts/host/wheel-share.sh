# Copy a wheel that a container has built into the host's wheelhouse, so that other containers and hosts take it from there.
# Copied aside, verified by its content against its manifest, renamed.
#
# uses: step download
# arguments: vmid, digest, wheelhouse (folder on the host)
# facts: path

CACHE=/var/cache/proxmox-gpu-stack/wheels

built() {
  printf '%s/built/%s' "$(argument wheelhouse)" "$(argument digest)"
}

# complete FOLDER: the wheel is there and is what its manifest says.
complete() {
  local file sha256
  [[ -f $1/manifest.json ]] || return 1
  read -r sha256 file < <(python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["sha256"], m["file"])' "$1/manifest.json") || return 1
  has_checksum "$1/$file" "$sha256"
}

step_check() {
  complete "$(built)" || differs "the wheelhouse does not hold the built wheel $(argument digest)"
}

step_apply() {
  local aside source file
  aside=$(built).new
  source=$CACHE/$(argument digest)
  if ! install -d -m 755 "$(dirname "$aside")" || [[ ! -w $(dirname "$aside") ]]; then
    fail "$(argument wheelhouse) cannot be written to, so that the wheel that was built cannot be shared" \
      "make the folder writable for this host, or copy $source of container $(argument vmid) to built/ on the server that it comes from"
  fi
  rm -rf "$aside"
  install -d -m 755 "$aside"
  pct pull "$(argument vmid)" "$source/manifest.json" "$aside/manifest.json" ||
    fail "container $(argument vmid) does not give $source/manifest.json" "run \`up\` again: its own step builds the wheel first"
  file=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["file"])' "$aside/manifest.json")
  pct pull "$(argument vmid)" "$source/$file" "$aside/$file" || fail "container $(argument vmid) does not give $source/$file"
  # pct pull is said to end with 0 although its worker failed.
  complete "$aside" || fail "$file came damaged from container $(argument vmid)" "is the disk of the wheelhouse full? Then run \`up\` again"
  chmod 644 "$aside"/*
  rm -rf "$(built)"
  mv -T "$aside" "$(built)"
}

step_facts() {
  fact path "$(built)"
}
