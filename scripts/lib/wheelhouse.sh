# A wheelhouse: files/<sha256>/<name>. A list names what must be in it, one "SHA256 BYTES NAME" a line. A file is hashed
# once; a record outside the wheelhouse, which may be read-only, remembers its size and time.

# file_stamp PATH: size and time of change; fails when it is no file.
file_stamp() {
  [[ -f $1 ]] && stat --dereference --printf='%s %.9Y' "$1"
}

# file_state FOLDER RECORD SHA256 BYTES NAME: prints verified, unverified (looks right, must be hashed), wrong or missing.
file_state() {
  local path=$1/files/$3/$5 stamp
  if ! stamp=$(file_stamp "$path"); then
    echo missing
  elif [[ ${stamp%% *} != "$4" ]]; then
    echo wrong
  elif grep -qsxF "$3/$5 $stamp" "$2"; then
    echo verified
  else
    echo unverified
  fi
}

# each_state FOLDER RECORD LIST: one "STATE SHA256 BYTES NAME" a line.
each_state() {
  local sha256 bytes name
  while read -r sha256 bytes name; do
    [[ -n $name ]] || continue
    printf '%s %s %s %s\n' "$(file_state "$1" "$2" "$sha256" "$bytes" "$name")" "$sha256" "$bytes" "$name"
  done <"$3"
}
