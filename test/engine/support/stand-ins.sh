#!/usr/bin/env bash
# Builds the stand-ins of this checkout, where they are not built yet, and prints two lines: the paths of the language host
# and of the command provider. Exit status 3: there is no Go to build them with.
set -euo pipefail
shopt -s inherit_errexit

root="$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")"
# shellcheck source=../../../scripts/lib/progress.sh
. "$root/scripts/lib/progress.sh"
# shellcheck source=../../../engine/lib/versions.sh
. "$root/engine/lib/versions.sh"
# shellcheck source=../../../engine/lib/go-build.sh
. "$root/engine/lib/go-build.sh"
# shellcheck source=../../../engine/lib/stand-ins.sh
. "$root/engine/lib/stand-ins.sh"

status=1
fail() {
  echo "$*" >&2
  exit "$status"
}

read_versions "$root"
status=3
require_go "$MINIMUM_GO_VERSION"
status=1
build_stand_ins "$root"
printf '%s\n' "$LANGUAGE_HOST" "$COMMAND_PROVIDER"
