# shellcheck shell=bash disable=SC2154 # settings.sh has the names of places
# What the lab's hosts are made of, built once and kept in the cache folder:
#
#   template -> host -> toolchain -> kernel, driver
#                 host + kernel -> system
#
# A running host's disk lies over system, host and template. Each piece is a folder <piece>-<digest of its inputs>; it is built aside
# and renamed, so that one that is there is complete. To be sourced.

# shellcheck source=../../scripts/lib/progress.sh
source "$repository/scripts/lib/progress.sh"

pieces=(template host toolchain kernel driver system)
declare -A piece_folder

# digest_of TEXT_OR_PATH...: of the content (and names) of files and folders, and of plain texts.
digest_of() {
  local input
  for input in "$@"; do
    if [[ -e "$input" ]]; then
      (
        cd "$(dirname "$input")" || exit
        find "$(basename "$input")" -type f -not -path '*/__pycache__/*' -not -path '*/test*' -print0 | LC_ALL=C sort --zero-terminated |
          xargs --null sha256sum
      )
    else
      echo "$input"
    fi
  done | sha256sum | cut -c 1-16
}

# name_pieces: fills in piece_folder from the inputs of each piece. The same sources give the same names on every machine.
name_pieces() {
  local layers="$lab_source/layers" common=("$lab_source/layers/in-root" "$lab_source/layers/overlay.sh")
  local digest_template digest_host digest_toolchain digest_kernel digest_driver digest_system
  digest_template="$(digest_of "$layers/template.sh")"
  digest_host="$(digest_of "$digest_template" "${common[@]}" "$layers/host.sh")"
  digest_toolchain="$(digest_of "$digest_host" "$layers/toolchain.sh")"
  digest_kernel="$(digest_of "$digest_toolchain" "$layers/scratch.sh" "$layers/kernel.sh" "$layers/build-kernel-packages" "$lab_source/gpu/kernel" "${kernel_versions[*]}")"
  digest_driver="$(digest_of "$digest_toolchain" "$layers/scratch.sh" "$layers/driver.sh" "$lab_source/driver" "${driver_versions[*]}")"
  digest_system="$(digest_of "$digest_kernel" "$layers/system.sh" "$lab_source/gpu" "$lab_source/pve" "$lab_source/keys" "$lab_source/inventory/2x-a6000.json")"
  piece_folder=(
    [template]="$cache/template-$digest_template"
    [host]="$cache/host-$digest_host"
    [toolchain]="$cache/toolchain-$digest_toolchain"
    [kernel]="$cache/kernel-$digest_kernel"
    [driver]="$cache/driver-$digest_driver"
    [system]="$cache/system-$digest_system"
  )
}

# current_layers: the read-only layers of a host made now, topmost first.
current_layers() {
  echo "${piece_folder[system]}/tree:${piece_folder[host]}/tree:${piece_folder[template]}/tree"
}

# build_piece PIECE TEXT [ARGUMENT...]: runs layers/PIECE.sh with a folder to fill and the ARGUMENTs, unless the piece is there.
build_piece() {
  local piece="$1" text="$2" folder="${piece_folder[$1]}" work="$cache/work"
  shift 2
  [[ ! -d "$folder" ]] || return 0
  step_begin "$text"
  rm -rf "$work"
  mkdir -p "$work"
  # In namespaces that end with this script, however it ends: an interrupted build leaves files to remove, but no mount and no process.
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child=KILL --mount-proc --propagation private \
    bash "$lab_source/layers/$piece.sh" "$work" "$@" ||
    fail "$text failed; what was printed above says why. \`lab build\` tries again from there"
  mv "$work" "$folder"
  step_end
}

# build_layers: makes every piece that is missing, and removes old ones.
build_layers() {
  mkdir -p "$cache"
  exec {build_lock}>"$cache/build.lock"
  if ! flock --nonblock "$build_lock"; then
    echo "lab: another build of the lab is running; waiting for it" >&2
    flock "$build_lock"
  fi
  local template="${piece_folder[template]}" host="${piece_folder[host]}" toolchain="${piece_folder[toolchain]}"
  local kernel="${piece_folder[kernel]}"
  build_piece template "fetching the container template's packages"
  build_piece host "installing the host's packages" "$template"
  if [[ ! -d "$kernel" || ! -d "${piece_folder[driver]}" ]]; then
    build_piece toolchain "installing compiler and kernel headers" "$host" "$template"
  fi
  build_piece kernel "building the kernel packages" "$toolchain" "$host" "$template" "${kernel_versions[@]}"
  build_piece driver "building the driver installers" "$toolchain" "$host" "$template" "${driver_versions[@]}"
  build_piece system "installing the Proxmox and GPU stand-ins" "$kernel" "$host" "$template"
  keep_pieces
  remove_old_pieces
  exec {build_lock}>&-
}

# Keeps the pieces from being removed by another build as long as this command runs; a host that it starts keeps its layers itself.
keep_pieces() {
  local piece lock
  for piece in "${pieces[@]}"; do
    [[ -d "${piece_folder[$piece]}" ]] || continue
    touch "${piece_folder[$piece]}"
    exec {lock}<"${piece_folder[$piece]}"
    flock --shared "$lock"
    held_locks+=("$lock")
  done
}

# Of each piece the one that was used last beside the present one stays, for a second checkout that builds in turn; older ones go.
remove_old_pieces() {
  local piece others folder
  rm -rf "$cache/work" "$cache"/.removed-*
  for piece in "${pieces[@]}"; do
    readarray -t others < <(find "$cache" -maxdepth 1 -name "$piece-*" -not -path "${piece_folder[$piece]}" -printf '%T@ %p\n' | sort -rn | cut -d ' ' -f 2-)
    for folder in "${others[@]:1}"; do
      ! piece_is_in_use "$folder" || continue
      # Renamed first: an interrupted removal must not leave half a piece under a piece's name.
      mv "$folder" "$cache/.removed-$(basename "$folder")"
    done
  done
  remove_stranded_saved_layers
  rm -rf "$cache"/.removed-*
}

# A saved state is of no use without the layers that it was saved on.
remove_stranded_saved_layers() {
  local saved layers
  for saved in "$cache"/saved/*; do
    [[ -f "$saved/lower" ]] || continue
    IFS=: read -r -a layers <"$saved/lower"
    if ! ls -d "${layers[@]}" >/dev/null 2>&1; then
      mv "$saved" "$cache/.removed-saved-$(basename "$saved")"
    fi
  done
}

# By a host of this lab, running or not, or by a lock that a running host or command of another lab holds.
piece_is_in_use() {
  grep --quiet --no-messages --fixed-strings "$1/" "$hosts_folder"/*/lower || ! flock --nonblock --exclusive "$1" true
}

# publish_files: puts what the file server offers, and its checksums, in place.
publish_files() {
  local new="$run_folder/www.new"
  rm -rf "$new"
  mkdir -p "$new/template" "$new/nvidia"
  cp "${piece_folder[template]}/template.tar.zst" "$new/template/$container_template"
  cp "${piece_folder[driver]}"/*.run "$new/nvidia/"
  (
    cd "$new" || exit
    # Names without folders: a stack file names the file, not where the lab's server keeps it.
    sha256sum template/* nvidia/* | sed 's,  .*/,  ,' >"$LAB_DIR/SHA256SUMS.new"
  )
  mv "$LAB_DIR/SHA256SUMS.new" "$LAB_DIR/SHA256SUMS"
  rm -rf "$www_folder"
  mv "$new" "$www_folder"
}
