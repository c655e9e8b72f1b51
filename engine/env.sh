# shellcheck shell=bash
# The environment of the lab's engine, for make, the tests and your own shell (bash). Source it:
#
#   . engine/env.sh
#
# Afterwards `pulumi` is the pinned one, its state lies in the lab's folder (LAB_DIR, default .lab in the checkout), and
# Pulumi's own service is not asked for anything. It fails when engine/install has not been run.

_engine_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
mkdir -p "${LAB_DIR:-$_engine_root/.lab}"
_lab_directory="$(cd "${LAB_DIR:-$_engine_root/.lab}" && pwd -P)"

if [ -r "$_lab_directory/engine/facts.sh" ]; then
  # shellcheck source=/dev/null
  . "$_lab_directory/engine/facts.sh"

  case ":$PATH:" in
    ":$ENGINE_BIN:"*) ;;
    *) export PATH="$ENGINE_BIN:$PATH" ;;
  esac
  export PULUMI_HOME="$ENGINE_PULUMI_HOME"
  export PULUMI_SKIP_UPDATE_CHECK=true
  if [ "$ENGINE_KIND" = built ]; then
    # There is nothing to download: a missing plugin shall be an error at once.
    export PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true
    export PULUMI_DISABLE_REGISTRY_RESOLVE=true
  fi

  mkdir -p "$_lab_directory/pulumi-state"
  export PULUMI_BACKEND_URL="file://$_lab_directory/pulumi-state"
  # The lab's stack file is public and its secrets are the lab's own: everybody has the passphrase.
  export PULUMI_CONFIG_PASSPHRASE=lab
  # The command provider refuses to work beside an agent that does not answer.
  unset SSH_AUTH_SOCK
  unset _engine_root _lab_directory ENGINE_KIND ENGINE_BIN ENGINE_PULUMI_HOME
else
  echo "engine/env.sh: the engine is not installed in $_lab_directory; run: $_engine_root/engine/install" >&2
  unset _engine_root _lab_directory
  return 1
fi
