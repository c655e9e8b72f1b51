# Files that steps keep on a machine: written aside, compared, renamed.

# same_text PATH TEXT: is the file exactly that text? Without a process: a look at a stack compares dozens of files.
same_text() {
  local content=""
  [[ -f $1 ]] || return 1
  # A file of text is read to its end, which read answers with a failure; one with a zero byte is not that text.
  ! IFS= read -r -d '' content <"$1" && [[ $content == "$2" ]]
}

# put_text PATH MODE TEXT: write the text aside and rename it into place; prints nothing.
put_text() {
  local path=$1 mode=$2 text=$3 aside=""
  if ! { install -d -m 755 "$(dirname "$path")" && aside=$(mktemp "$path.XXXXXX") &&
    printf '%s' "$text" >"$aside" && chmod "$mode" "$aside" && mv -f "$aside" "$path"; }; then
    [[ -z $aside ]] || rm -f "$aside"
    fail "$path could not be written" "the line above says why; is the disk full? (df -h $(dirname "$path")). Then run \`up\` again"
  fi
}

# check_text PATH TEXT: a difference unless the file is that text.
check_text() {
  if [[ ! -e $1 ]]; then
    differs "$1 is missing"
  elif ! same_text "$1" "$2"; then
    differs "$1 differs from what is declared"
  fi
}
