# Python environments in a container: ROOT/<name>/<digest>, a link that services use, the newest earlier ones kept.
# Steps that use this take the arguments name and path.

ROOT=/opt/proxmox-gpu-stack/environments
PACKAGE_CACHE=/var/cache/proxmox-gpu-stack
RECORDS=/var/lib/proxmox-gpu-stack/services

environments() {
  printf '%s/%s' "$ROOT" "$(argument name)"
}

# current: digest of the environment that the link points to; nothing when there is none.
current() {
  local found
  found=$(readlink "$(argument path)" 2>/dev/null) || return 0
  [[ $found != "$(environments)"/* ]] || printf '%s' "${found##*/}"
}

# kept: digests of the complete environments, the last used first. One with links to a share that is gone is none.
kept() {
  find "$(environments)" -mindepth 2 -maxdepth 2 -name .complete -printf '%T@ %h\n' 2>/dev/null | sort -rn |
    while read -r _ folder; do
      [[ -L $folder/.shared && ! -e $folder/.shared ]] || printf '%s\n' "${folder##*/}"
    done
}

# switch_to DIGEST: one rename. The time of .complete says when an environment was last put into use.
switch_to() {
  local next
  next=$(argument path).next
  touch "$(environments)/$1/.complete"
  ln -sfn "$(environments)/$1" "$next"
  mv -T "$next" "$(argument path)"
}

# in_use FOLDER: does a service's record name it, a link point to it, or a process have files of it? The files of one that
# is shared lie elsewhere.
in_use() {
  local found folder folders=("$1")
  [[ ! -L $1/.shared ]] || folders+=("$(dirname "$(readlink "$1/.shared")")")
  grep -qs "$1" "$RECORDS"/*/environment && return 0
  [[ $(readlink "$(argument path)" 2>/dev/null) != "$1" ]] || return 0
  for folder in "${folders[@]}"; do
    # Processes that end meanwhile make these fail; only what they print counts.
    found=$(grep -lsF -- "$folder/" /proc/[0-9]*/maps /proc/[0-9]*/cmdline || true)
    [[ -z $found ]] || return 0
    found=$(find /proc/[0-9]*/fd /proc/[0-9]*/cwd /proc/[0-9]*/exe \( -lname "$folder" -o -lname "$folder/*" \) -print -quit 2>/dev/null || true)
    [[ -z $found ]] || return 0
  done
  return 1
}

# remove_old KEEP: takes away what is half built, and complete ones beyond the newest KEEP that nobody uses.
remove_old() {
  local keep=$1 digest entry removed=""
  while IFS= read -r digest; do
    [[ -n $digest && $digest != "$(current)" ]] || continue
    entry=$(environments)/$digest
    if ((keep > 0)); then
      keep=$((keep - 1))
    elif ! in_use "$entry"; then
      say "removing old environment $digest"
      rm -rf "$entry" "$RECORDS"/*/passed/"$digest"
      removed=yes
    fi
  done < <(kept)
  find "$(environments)" -mindepth 1 -maxdepth 1 -type d ! -exec test -e '{}/.complete' \; -exec rm -rf {} +
  # With -L, a link that has no target is still one.
  find -L "$(environments)" -mindepth 2 -maxdepth 2 -name .shared -type l -printf '%h\n' 2>/dev/null | xargs -r rm -rf
  [[ -z $removed ]] || prune_packages
}

# Unpacked packages that no environment links to any more. Left for another time while something is being built.
prune_packages() (
  [[ -d $PACKAGE_CACHE ]] || return 0
  exec 7>"$PACKAGE_CACHE/in-use"
  flock --exclusive --nonblock 7 || return 0
  for archive in "$PACKAGE_CACHE"/uv/archive-v*/*; do
    [[ -d $archive && -z $(find "$archive" -type f -links +1 -print -quit) ]] || continue
    # What points to it must go first: uv takes an entry for good without looking at the files.
    { grep -rlF -- "${archive##*/}" "$PACKAGE_CACHE"/uv/wheels-v* "$PACKAGE_CACHE"/uv/sdists-v* 2>/dev/null || true; } | xargs -r rm -f
    rm -rf "$archive"
  done
)
