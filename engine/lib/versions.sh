# shellcheck shell=bash
# shellcheck disable=SC2034 # what is set here is read by engine/install and the other files
# The versions of the engine and its plugins. package.json is the one place that pins them; here they are read.

# read_versions ROOT: sets PULUMI_VERSION, COMMAND_VERSION, PROXMOXVE_VERSION and MINIMUM_GO_VERSION.
# Fails when package.json does not pin exactly, when other packages are installed than it pins, or when a Go module takes
# another release of Pulumi than the SDK's.
read_versions() {
  local root="$1"
  PULUMI_VERSION="$(_pinned_version "$root" @pulumi/pulumi)"
  COMMAND_VERSION="$(_pinned_version "$root" @pulumi/command)"
  PROXMOXVE_VERSION="$(_pinned_version "$root" @muhlba91/pulumi-proxmoxve)"
  _check_module "$root/engine/pulumi-cli" github.com/pulumi/pulumi/pkg/v3 -tool github.com/pulumi/pulumi/pkg/v3/cmd/pulumi
  _check_module "$root/engine/stand-ins" github.com/pulumi/pulumi/sdk/v3 github.com/pulumi/pulumi/sdk/v3
  MINIMUM_GO_VERSION="$(_newest_go_directive "$root"/engine/{pulumi-cli,proxmox-provider,stand-ins}/go.mod)"
}

# The version that package.json pins, which must be the installed one.
_pinned_version() {
  local root="$1" package="$2" pinned installed
  pinned="$(node -p 'require(process.argv[1]).dependencies[process.argv[2]] ?? ""' "$root/package.json" "$package")"
  if [[ ! "$pinned" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
    fail "package.json: dependencies: $package is \"$pinned\"; it must be one exact version, such as 1.2.3"
  fi
  installed="$(node -p 'require(process.argv[1]).version' "$root/node_modules/$package/package.json" 2>/dev/null || true)"
  if [[ "$installed" != "$pinned" ]]; then
    fail "npm package $package: installed is ${installed:-none}, package.json pins $pinned; run: npm ci"
  fi
  echo "$pinned"
}

# _check_module MODULE PACKAGE GET…: whether the Go module requires the package in the SDK's release; GET is what `go get` takes
# for that. go.mod cannot read package.json, so the two are compared.
_check_module() {
  local module="$1" package="$2" required
  required="$(awk -v package="$package" '$1 == package { print $2 }' "$module/go.mod")"
  if [[ "$required" != "v$PULUMI_VERSION" ]]; then
    fail "$module/go.mod requires $package $required, package.json pins @pulumi/pulumi $PULUMI_VERSION;" \
      "run there: go get ${*:3}@v$PULUMI_VERSION && go mod tidy"
  fi
}

# The newest of the "go" lines of go.mod files.
_newest_go_directive() {
  awk '$1 == "go" { print $2 }' "$@" | sort --version-sort | tail --lines=1
}
