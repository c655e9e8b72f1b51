# shellcheck shell=bash
# Lays out in the lab's folder what a shell needs to use the engine; engine/env.sh reads it.

# lay_out_official LAB_DIRECTORY
lay_out_official() {
  _lock_engine_folder "$1"
  _write_engine_facts "$1" official "$OFFICIAL_BIN" "$OFFICIAL_PULUMI_HOME"
}

# lay_out_built LAB_DIRECTORY CLI LANGUAGE_HOST COMMAND_PROVIDER PROXMOX_PROVIDER: the CLI with the language host beside it,
# as the engine wants it, and a Pulumi home with the two plugins.
lay_out_built() {
  local lab_directory="$1" cli="$2" language_host="$3" command_provider="$4" proxmox_provider="$5"
  local bin="$lab_directory/engine/bin" plugins="$lab_directory/pulumi-home/plugins"
  _lock_engine_folder "$lab_directory"
  mkdir -p "$bin" "$plugins"
  _place_executable "$cli" "$bin/pulumi"
  ln --symbolic --force "$language_host" "$bin/pulumi-language-nodejs"
  _place_plugin "$plugins" command "$COMMAND_VERSION" "$command_provider"
  _place_plugin "$plugins" proxmoxve "$PROXMOXVE_VERSION" "$proxmox_provider"
  _write_engine_facts "$lab_directory" built "$bin" "$lab_directory/pulumi-home"
}

# One run at a time lays out; the lock is held to the end of the process.
_lock_engine_folder() {
  local lock
  mkdir -p "$1/engine"
  exec {lock}>"$1/engine/lock"
  flock "$lock"
}

# The engine looks for the language host beside the real file, so a symbolic link will not do: it is a hard link, or
# a copy where the cache is on another file system. A pulumi that runs just now keeps its old file.
_place_executable() {
  local source="$1" target="$2"
  [[ ! "$source" -ef "$target" ]] || return 0
  cp --link --force "$source" "$target.new" 2>/dev/null || cp --force "$source" "$target.new"
  mv "$target.new" "$target"
}

_place_plugin() {
  local directory="$1/resource-$2-v$3"
  mkdir -p "$directory"
  ln --symbolic --force "$4" "$directory/pulumi-resource-$2"
}

_write_engine_facts() {
  local lab_directory="$1" file="$1/engine/facts.sh"
  {
    echo "# Written by engine/install."
    printf 'ENGINE_KIND=%q\nENGINE_BIN=%q\nENGINE_PULUMI_HOME=%q\n' "${@:2}"
  } >"$file.new"
  mv "$file.new" "$file"
}
