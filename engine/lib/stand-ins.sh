# shellcheck shell=bash
# shellcheck disable=SC2034 # what is set here is read by engine/install and the tests
# Builds the two programs that stand in for official plugins. Needs versions.sh and go-build.sh.

# build_stand_ins ROOT: sets LANGUAGE_HOST and COMMAND_PROVIDER to the paths of the two executables. They report the versions
# that read_versions found.
build_stand_ins() {
  local module="$1/engine/stand-ins"
  build_go_program pulumi-language-nodejs "$module" ./cmd/pulumi-language-nodejs \
    "-s -w -X main.version=$PULUMI_VERSION"
  LANGUAGE_HOST="$ARTIFACT"
  build_go_program pulumi-resource-command "$module" ./cmd/pulumi-resource-command \
    "-s -w -X main.version=$COMMAND_VERSION"
  COMMAND_PROVIDER="$ARTIFACT"
}
