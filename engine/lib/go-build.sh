# shellcheck shell=bash
# Builds Go programs into the cache. A program is built once for each digest of what goes into it.
# Needs `fail` of whoever sources it, and scripts/lib/progress.sh.

# So that a build is the same everywhere: the installed compiler, no C, no trace of folder names or of git.
GO_BUILD_FLAGS=(-trimpath -buildvcs=false -tags "osusergo,grpcnotrace")
export GOTOOLCHAIN=local CGO_ENABLED=0

SECONDS_BETWEEN_NOTES=15

# The folder that builds lie in.
engine_cache() {
  echo "${PROXMOX_GPU_STACK_CACHE:-$HOME/.cache/proxmox-gpu-stack}/engine"
}

# require_go MINIMUM: fails, saying what to do, without Go of at least that version.
require_go() {
  local minimum="$1" found
  if ! command -v go >/dev/null; then
    fail "Go $minimum or newer is needed to build the Pulumi engine, and there is no go on PATH." \
      "Install Go (https://go.dev/dl), or the official Pulumi (see engine/README.md)"
  fi
  found="$(go env GOVERSION)"
  found="${found#go}"
  if [[ "$(printf '%s\n' "$minimum" "$found" | sort --version-sort | head --lines=1)" != "$minimum" ]]; then
    fail "Go $minimum or newer is needed to build the Pulumi engine; $(command -v go) is $found." \
      "Install a newer Go (https://go.dev/dl), or the official Pulumi (see engine/README.md)"
  fi
}

# build_go_program NAME MODULE PACKAGE LDFLAGS [EMBEDS]: sets ARTIFACT to the path of the executable NAME, built from the
# main package PACKAGE of the Go module in the folder MODULE, with the linker flags LDFLAGS. EMBEDS is a file EMBEDS.json of
# the module that is empty: the program itself prints what belongs there, and is built again with it.
# Several runs at once build it once. A build that was interrupted starts over with what Go has kept of it.
build_go_program() {
  local name="$1" module="$2" package="$3" ldflags="$4" embeds="${5:-}" cache folder lock
  cache="$(engine_cache)"
  folder="$cache/$name-$(_inputs_digest "$module" "$package" "$ldflags" "$embeds")"
  ARTIFACT="$folder/$name"
  [[ ! -x "$ARTIFACT" ]] || return 0

  mkdir -p "$cache"
  exec {lock}>"$cache/$name.lock"
  if ! flock --nonblock "$lock"; then
    step_note "waiting for another build of $name"
    flock "$lock"
  fi
  if [[ ! -x "$ARTIFACT" ]]; then
    # What is left of builds that were cut off: whoever holds the lock may take it away.
    rm -rf "$cache/$name"-[0-9a-f]*.partial
    step_begin "building $name"
    mkdir "$folder.partial"
    _go_build "$module" "$package" "$ldflags" "$folder.partial/$name" "$cache/$name.log"
    [[ -z "$embeds" ]] || _embed "$embeds" "$module" "$package" "$ldflags" "$folder.partial/$name" "$cache/$name.log"
    rm -rf "$folder"
    mv "$folder.partial" "$folder"
    step_end
  fi
  exec {lock}>&-
}

# A digest of all that decides what a build gives.
_inputs_digest() {
  local module="$1"
  {
    printf '%s\n' "$(go env GOVERSION GOOS GOARCH)" "${GO_BUILD_FLAGS[@]}" "${@:2}"
    cd "$module" || return
    find . -type f \( -name '*.go' -o -name go.mod -o -name go.sum \) -print0 | sort --zero-terminated |
      xargs --null sha256sum
  } | sha256sum | cut --characters=1-16
}

_go_build() (
  local package="$2" ldflags="$3" output="$4" log="$5" total
  local flags=("${GO_BUILD_FLAGS[@]}" "${@:6}")
  cd "$1" || return
  : >"$log"
  # Listing the packages downloads the modules they are in.
  if ! total="$(go list -deps "${flags[@]}" "$package" 2> >(_note_go_lines "$log" "modules downloaded") | wc --lines)"; then
    _fail_with_log "downloading the Go modules of $package" "$log"
  fi
  if ! go build -v "${flags[@]}" -ldflags "$ldflags" -o "$output" "$package" \
    2> >(_note_go_lines "$log" "packages compiled, of $total at most"); then
    _fail_with_log "go build of $package" "$log"
  fi
)

# _embed NAME MODULE PACKAGE LDFLAGS PROGRAM LOG: builds PROGRAM again, with what it prints in the place of NAME.json.
_embed() {
  local printed="$5.$1.json"
  "$5" "$1" >"$printed" 2>>"$6" || _fail_with_log "${5##*/} $1" "$6"
  node -p 'JSON.stringify({ Replace: { [process.argv[1]]: process.argv[2] } })' "$(realpath "$2")/$1.json" "$printed" \
    >"$5.overlay.json"
  _go_build "$2" "$3" "$4" "$5" "$6" -overlay "$5.overlay.json"
  rm "$printed" "$5.overlay.json"
}

# Keeps the lines of standard input in a log, and says now and then how many there were.
_note_go_lines() {
  local log="$1" text="$2" line count=0 next_note=$((SECONDS + SECONDS_BETWEEN_NOTES))
  while IFS= read -r line; do
    echo "$line" >>"$log"
    count=$((count + 1))
    if ((SECONDS >= next_note)); then
      step_note "$count $text"
      next_note=$((SECONDS + SECONDS_BETWEEN_NOTES))
    fi
  done
}

_fail_with_log() {
  local what="$1" log="$2"
  sleep 1 # the last lines are on their way into the log
  tail --lines=20 "$log" >&2
  fail "$what failed; all of its output is in $log"
}
