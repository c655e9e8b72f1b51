# Build one wheel from pinned sources and our patches, or take it from the wheelhouse where another container or host has
# built it. The build is a unit of its own, which a cut connection does not end and the next run joins; what was compiled
# stays until the wheel is there. Nothing counts before its checks hold: version, GPU code, import with the environment's torch.
#
# uses: step files packages download long-work
# arguments: package, version (with the local version that carries the digest), digest (of everything that goes into it),
#            torch, cuda (version or empty), architectures, patches, jobs: the last five so that a preview shows what changed
# texts: recipe.json, patches/NAME…, requirements (the environment's lock), build.lock, uv-wheel (SHA256 BYTES NAME of uv
#        itself), package_index.py, files (the wheelhouse's list; without it packages come from the index),
#        cuda-architectures.py, kernel_wheel/NAME.py…
# facts: digest, file, sha256, from (wheelhouse, build or kept)

WHEELS=/var/cache/proxmox-gpu-stack/wheels
WORK=/var/lib/proxmox-gpu-stack/wheels
SHARED=/wheelhouse/built
FROM=kept

result() {
  printf '%s/%s' "$WHEELS" "$(argument digest)"
}

# manifest_value FOLDER KEY: a text of FOLDER/manifest.json; nothing when it cannot be read.
manifest_value() {
  python3 - "$1/manifest.json" "$2" 2>/dev/null <<'PYTHON' || true
import json
import sys

value = json.load(open(sys.argv[1], encoding="utf-8"))
for key in sys.argv[2].split("."):
    value = value[key]
print(value)
PYTHON
}

# wrong_with FOLDER: why the wheel in it cannot be used; nothing when it can.
wrong_with() {
  local file torch
  file=$(manifest_value "$1" file)
  torch=$(manifest_value "$1" inputs.torch)
  if [[ ! -e $1/manifest.json ]]; then
    printf 'it has no manifest.json'
  elif [[ -z $file || ! -f $1/$file ]]; then
    printf 'it lacks the wheel %s' "$file"
  elif [[ $(manifest_value "$1" inputs.digest) != "$(argument digest)" ]]; then
    printf '%s was made from other inputs (%s)' "$file" "$(manifest_value "$1" inputs.digest)"
  elif [[ $torch != "$(argument torch)" ]]; then
    printf '%s was built for torch %s, this environment has torch %s' "$file" "$torch" "$(argument torch)"
  elif ! has_checksum "$1/$file" "$(manifest_value "$1" sha256)"; then
    printf '%s is damaged: its checksum differs from its manifest' "$file"
  fi
}

step_check() {
  local reason
  reason=$(wrong_with "$(result)")
  [[ -z $reason ]] || differs "wheel $(argument package) $(argument version) is not in $(result): $reason"
}

# take_shared: copies what another container or host has built; a wrong one is refused, never used nor overwritten.
take_shared() {
  local shared reason aside
  shared=$SHARED/$(argument digest)
  [[ -e $shared ]] || return 1
  reason=$(wrong_with "$shared")
  [[ -z $reason ]] || fail "the wheelhouse's built/$(argument digest) cannot be used: $reason" \
    "on the host, remove that folder from the wheelhouse (wheelhouse.path/built/$(argument digest)); the next \`up\` builds the wheel"
  aside=$(result).new
  rm -rf "$aside"
  install -d -m 755 "$aside"
  cp "$shared/manifest.json" "$shared/$(manifest_value "$shared" file)" "$aside/"
  reason=$(wrong_with "$aside")
  [[ -z $reason ]] || fail "copying built/$(argument digest) from the wheelhouse failed: $reason" "run \`up\` again"
  rm -rf "$(result)"
  mv -T "$aside" "$(result)"
  say "$(argument package) $(argument version) comes from the wheelhouse: nothing is built"
}

install_tools() {
  local packages=(g++ patch ccache curl ca-certificates python3 python3-dev) missing=() name
  for name in "${packages[@]}"; do
    package_installed "$name" || missing+=("$name")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
}

put_inputs() {
  local folder=$1 name
  rm -rf "$folder"
  for name in "${!FILES[@]}"; do
    put_text "$folder/$name" 644 "${FILES[$name]}
"
  done
}

step_apply() {
  local inputs work name
  command -v python3 >/dev/null || install_packages python3
  if take_shared; then
    FROM=wheelhouse
    return
  fi
  install_tools
  work=$WORK/$(argument digest)
  inputs=$WORK/$(argument digest).inputs
  # A build that is still running reads its inputs, and the same digest has the same ones.
  name=wheel-$(argument package)
  systemctl is-active --quiet "proxmox-gpu-stack-$name" || put_inputs "$inputs"
  say "building $(argument package) $(argument version), $(argument jobs) at once"
  long_work "$name" "$(argument digest)" 1440 env PYTHONPATH="$inputs" PYTHONDONTWRITEBYTECODE=1 \
    python3 -m kernel_wheel "$inputs" "$work" "$(result)" || report "$inputs"
  rm -rf "$inputs" "$work.log"
  FROM=build
}

report() {
  [[ -s $1/problem ]] || fail "the wheel of $(argument package) could not be built; environments that are in use stay as they are" \
    "run \`up\` again, which goes on where it was; the whole log: $LONG_WORK/wheel-$(argument package).log"
  fail "$(sed -n 1p "$1/problem")" "$(sed -n 2p "$1/problem")"
}

step_facts() {
  fact digest "$(argument digest)"
  fact file "$(manifest_value "$(result)" file)"
  fact sha256 "$(manifest_value "$(result)" sha256)"
  fact from "$FROM"
}
