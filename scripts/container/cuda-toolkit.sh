# Install the parts of one CUDA toolkit that compiling needs, from NVIDIA's Linux installer, beside other versions.
#
# The installer is not run as an installer: that would install everything (more than 5 GiB), write to /usr/local/cuda, the
# loader's configuration and /var/log. Its archive holds a folder for each component below builds/, and `--tar` hands it
# to tar, as distributions' packages use it. /usr/local/cuda is never touched.
#
# uses: step packages files download
# arguments: version, path (CUDA_HOME: a link), url, sha256 (of the installer), components=NAME,…, digest
# facts: version, path, bytes

INSTALLERS=/var/cache/proxmox-gpu-stack/installers
INSTALLER=""

# The folder behind the link: another choice of components is another folder.
content() {
  printf '%s/.%s-%s' "$(dirname "$(argument path)")" "$(basename "$(argument path)")" "$(argument digest)"
}

step_check() {
  local path
  path=$(argument path)
  [[ ! -e $path || -L $path ]] || fail "$path in this container is not a link of this stack" "move it away: mv $path $path.by-hand"
  if [[ ! -e $(content)/.complete ]]; then
    differs "CUDA toolkit $(argument version) ($(argument digest)) is not installed"
  elif [[ $(readlink "$path" 2>/dev/null) != "$(basename "$(content)")" ]]; then
    differs "$path does not point to toolkit $(argument digest)"
  fi
}

# find_installer: sets INSTALLER to the verified installer, from the wheelhouse or downloaded.
find_installer() {
  local url sha256
  url=$(argument url)
  sha256=$(argument sha256)
  INSTALLER=$(wheelhouse_file "$sha256")
  if [[ -n $INSTALLER ]]; then
    has_checksum "$INSTALLER" "$sha256" || fail "$INSTALLER in the wheelhouse does not have its checksum" \
      "on the host, remove that file and bring it again: ./stack wheelhouse push STACK"
  else
    INSTALLER=$INSTALLERS/${url##*/}
    download "$url" "$INSTALLER" "$sha256"
  fi
}

# require_room FOLDER: an unpacked toolkit of all components is less than 8 GiB.
require_room() {
  local free
  free=$(free_bytes "$1")
  ((free > 2 << 30)) || fail "only $((free >> 20)) MiB are free for $1; a toolkit needs up to 8 GiB" \
    "make room, or a larger root disk for this container"
}

# unpack INSTALLER FOLDER: the components' folders, below FOLDER/builds.
unpack() {
  local installer=$1 folder=$2 component patterns=() missing=()
  local -a components
  IFS=, read -ra components <<<"$(argument components)"
  for component in "${components[@]}"; do
    patterns+=("./builds/$component/*")
  done
  # tar's status is not 0 when a component is not in the archive; which one is said below.
  (cd "$folder" && sh "$installer" --tar xf --no-same-owner --wildcards "${patterns[@]}") >"$folder/log" 2>&1 || true
  for component in "${components[@]}"; do
    [[ -d $folder/builds/$component ]] || missing+=("$component")
  done
  ((${#missing[@]} == 0)) || fail "the installer of CUDA $(argument version) has no component ${missing[*]}: $(tail -n 3 "$folder/log" | paste -sd ' ' -)" \
    "it has $(sh "$installer" --tar tf 2>/dev/null | sed -n 's,^\./builds/\([^/]*\)/$,\1,p' | sort -u | paste -sd ' ' -); name what you need in toolkits.<name>.components"
}

# merge FROM TO: one tree of all components, with the names that nvcc and CMake look for.
merge() {
  local from=$1 to=$2 component
  mkdir -p "$to"
  for component in "$from"/*/; do
    # tar, not cp: components share folders and links, and the later one's link may replace the earlier one's.
    tar --directory "$component" --create . | tar --directory "$to" --extract --keep-directory-symlink --no-same-owner
  done
  [[ -e $to/include || ! -d $to/targets/x86_64-linux/include ]] || ln -s targets/x86_64-linux/include "$to/include"
  [[ -e $to/lib64 || ! -d $to/targets/x86_64-linux/lib ]] || ln -s targets/x86_64-linux/lib "$to/lib64"
}

# verify FOLDER: the compiler runs and is of the declared version; without cuda_nvcc there is none to ask.
verify() {
  local said version
  [[ ,$(argument components), == *,cuda_nvcc,* ]] || return 0
  said=$("$1/bin/nvcc" --version 2>&1) || fail "nvcc of the unpacked toolkit does not run: $(tail -n 1 <<<"$said")"
  version=$(argument version)
  grep -q "release ${version%.*}," <<<"$said" ||
    fail "the installer holds $(sed -n 's/.*\(release [0-9.]*\).*/\1/p' <<<"$said") of nvcc, declared is CUDA $version" \
      "correct toolkits.<name>.version or its installer"
}

step_apply() {
  local path folder aside packages=() old
  path=$(argument path)
  folder=$(content)
  if [[ ! -e $folder/.complete ]]; then
    command -v curl >/dev/null || packages+=(curl ca-certificates)
    ((${#packages[@]} == 0)) || install_packages "${packages[@]}"
    aside=$folder.new
    rm -rf "$folder" "$aside"
    install -d -m 755 "$aside"
    require_room "$aside"
    find_installer
    say "unpacking $(argument components) of CUDA $(argument version)"
    unpack "$INSTALLER" "$aside"
    merge "$aside/builds" "$aside/toolkit"
    verify "$aside/toolkit"
    chmod -R go+rX "$aside/toolkit"
    touch "$aside/toolkit/.complete"
    mv "$aside/toolkit" "$folder"
    rm -rf "$aside"
    rm -f "$INSTALLERS/${INSTALLER##*/}"
  fi
  ln -sfn "$(basename "$folder")" "$path.next"
  mv -T "$path.next" "$path"
  # Earlier choices of components of this version.
  for old in "$(dirname "$path")/.$(basename "$path")"-*; do
    [[ ! -d $old || $old == "$folder" ]] || rm -rf "$old"
  done
}

# Only when the configuration no longer has it: never because nothing seems to use it.
step_remove() {
  local path user
  path=$(argument path)
  user=$(grep -lsF "$(content)/" /proc/[0-9]*/maps 2>/dev/null | cut -d/ -f3 | head -n 1 || true)
  [[ -z $user ]] || fail "process $user still uses CUDA toolkit $(argument version) in $path: $(tr '\0' ' ' <"/proc/$user/cmdline")" \
    "stop it, then run \`up\` again"
  rm -rf "$path" "$(dirname "$path")/.$(basename "$path")"-*
}

step_facts() {
  fact version "$(argument version)"
  fact path "$(argument path)"
  [[ ! -d $(content) ]] || fact bytes "$(du -sb "$(content)" | cut -f1)"
}
