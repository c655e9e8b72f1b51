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

# fetch_whole URL PARTIAL: what an interrupted run left is gone on with, and what breaks off is, as long as each try brings
# something. 0 when PARTIAL is complete, else 60 for a certificate that is not accepted, or another number; what came then stays
# for the next run.
fetch_whole() {
  local size before=-1 status again=yes
  while true; do
    status=0
    fetch --retry-connrefused --continue-at - --output "$2" "$1" || status=$?
    case $status in
      0) return 0 ;;
      # Not found; or a server that sends no parts: once more from the start.
      22 | 33 | 36)
        [[ $again == yes ]] || return 1
        again="" before=-1
        rm -f "$2"
        ;;
      # No such host, nobody there: tried five times already. A certificate that is not accepted will not be the next time.
      6 | 7 | 60) return "$status" ;;
    esac
    size=$(stat --format=%s "$2" 2>/dev/null || echo 0)
    ((size > before)) || return 1
    before=$size
  done
}

# give_up_download URL STATUS
give_up_download() {
  (($2 != 60)) || fail "$1 could not be downloaded: its server's certificate is not accepted" \
    "curl's line above says why; where it is not valid yet, or has expired: is the clock of $(machine_name) right? (timedatectl) Then run \`up\` again"
  fail "$1 could not be downloaded" "check that this machine reaches the address, then run \`up\` again: what came is kept"
}

# download URL PATH SHA256: does nothing when PATH already has that checksum.
download() {
  local url=$1 path=$2 sha256=$3 partial actual left=""
  ! has_checksum "$path" "$sha256" || return 0
  partial=$path.partial
  install -d -m 755 "$(dirname "$path")"
  say "downloading $url"
  [[ ! -s $partial ]] || left=yes
  while true; do
    fetch_whole "$url" "$partial" || give_up_download "$url" "$?"
    actual=$(sha256sum "$partial" | cut -d' ' -f1)
    [[ $actual != "$sha256" ]] || break
    rm -f "$partial"
    [[ -n $left ]] || fail "$url has sha256 $actual, declared is $sha256; the file was thrown away" \
      "compare the declared checksum with the publisher's; a changed file under the same address is a reason to stop"
    left=""
    say "what an earlier run left is of another file: once more from the start"
  done
  mv -f "$partial" "$path"
}
