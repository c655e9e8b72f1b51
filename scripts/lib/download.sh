# Downloads: to a temporary name, resumed, verified, renamed. Nothing unverified ever has the final name.

# has_checksum PATH SHA256
has_checksum() {
  [[ -f $1 ]] && [[ $(sha256sum "$1" | cut -d' ' -f1) == "$2" ]]
}

# wheelhouse_file SHA256: the path of the one file with that checksum in the wheelhouse, as containers see it; nothing when it is
# not there.
wheelhouse_file() {
  find "/wheelhouse/files/$1" -maxdepth 1 -type f -print -quit 2>/dev/null || true
}

# free_bytes PATH: what the file system that will hold PATH has left.
free_bytes() {
  local folder=$1
  while [[ ! -d $folder ]]; do folder=$(dirname "$folder"); done
  df --output=avail -B1 "$folder" | tail -n 1 | tr -d ' '
}

# How long a server may send nothing before the transfer is given up and tried again, in seconds.
DOWNLOAD_SILENCE=60

# fetch OPTION…: curl as every download uses it. --globoff: brackets and braces of an address are not patterns.
fetch() {
  curl --fail --silent --show-error --location --globoff --retry 5 --retry-delay 2 --connect-timeout 20 \
    --speed-limit 1 --speed-time "$DOWNLOAD_SILENCE" "$@"
}

# download URL PATH SHA256: does nothing when PATH already has that checksum.
download() {
  local url=$1 path=$2 sha256=$3 partial actual
  ! has_checksum "$path" "$sha256" || return 0
  partial=$path.partial
  install -d -m 755 "$(dirname "$path")"
  say "downloading $url"
  # --continue-at resumes what an interrupted run left; a server without ranges sends it whole again.
  if ! fetch --retry-connrefused --continue-at - --output "$partial" "$url"; then
    rm -f "$partial"
    fetch --output "$partial" "$url" ||
      fail "$url could not be downloaded" "check that this machine reaches the address, then run \`up\` again"
  fi
  actual=$(sha256sum "$partial" | cut -d' ' -f1)
  if [[ $actual != "$sha256" ]]; then
    rm -f "$partial"
    fail "$url has sha256 $actual, declared is $sha256; the file was thrown away" \
      "compare the declared checksum with the publisher's; a changed file under the same address is a reason to stop"
  fi
  mv -f "$partial" "$path"
}
