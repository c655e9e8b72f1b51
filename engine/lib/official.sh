# shellcheck shell=bash
# shellcheck disable=SC2034 # what is set here is read by engine/install and the other files
# Finds an official Pulumi that can be used as it is.

# find_official LAB_DIRECTORY: looks for `pulumi`, its language host for Node.js and the two plugins, all of the pinned
# versions. Returns 0 and sets OFFICIAL_BIN and OFFICIAL_PULUMI_HOME, or returns 1 and sets OFFICIAL_LACKS to why not.
find_official() {
  local lab_directory="$1" pulumi version plugin
  OFFICIAL_LACKS=""
  pulumi="$(_installed_executable pulumi "$lab_directory")"
  if [[ -z "$pulumi" ]]; then
    OFFICIAL_LACKS="no pulumi is installed"
    return 1
  fi
  version="$("$pulumi" version 2>/dev/null || true)"
  if [[ "$version" != "v$PULUMI_VERSION" ]]; then
    OFFICIAL_LACKS="$pulumi is ${version:-of no known version}, needed is v$PULUMI_VERSION"
    return 1
  fi
  OFFICIAL_BIN="$(dirname "$pulumi")"
  OFFICIAL_PULUMI_HOME="$(_user_pulumi_home "$lab_directory")"
  if [[ -z "$(_language_host "$pulumi" "$lab_directory")" ]]; then
    OFFICIAL_LACKS="$pulumi has no pulumi-language-nodejs beside it"
    return 1
  fi
  for plugin in "command $COMMAND_VERSION" "proxmoxve $PROXMOXVE_VERSION"; do
    # shellcheck disable=SC2086 # two words
    if ! _plugin_is_installed "$OFFICIAL_PULUMI_HOME" $plugin; then
      OFFICIAL_LACKS="$pulumi has no plugin $plugin in $OFFICIAL_PULUMI_HOME"
      return 1
    fi
  done
}

# The first executable of that name on PATH that is not one of our own.
_installed_executable() {
  local name="$1" lab_directory="$2" candidate
  while read -r candidate; do
    if [[ "$candidate" != "$lab_directory"/* ]]; then
      echo "$candidate"
      return
    fi
  done < <(type -aP "$name" || true)
}

# As the engine looks for it: on PATH, then beside the executable.
_language_host() {
  local pulumi="$1" lab_directory="$2" beside
  beside="$(dirname "$(realpath "$pulumi")")/pulumi-language-nodejs"
  if [[ -x "$beside" ]]; then
    echo "$beside"
  else
    _installed_executable pulumi-language-nodejs "$lab_directory"
  fi
}

# PULUMI_HOME, unless it is the lab's: engine/env.sh may have been sourced before.
_user_pulumi_home() {
  local lab_directory="$1"
  if [[ -n "${PULUMI_HOME:-}" && "$PULUMI_HOME" != "$lab_directory"/* ]]; then
    echo "$PULUMI_HOME"
  else
    echo "$HOME/.pulumi"
  fi
}

# A plugin whose download was cut off has a ".partial" beside it.
_plugin_is_installed() {
  local pulumi_home="$1" name="$2" version="$3"
  local directory="$pulumi_home/plugins/resource-$name-v$version"
  [[ -x "$directory/pulumi-resource-$name" && ! -e "$directory.partial" ]]
}
