# JSON that steps report, beyond the frame's texts and lists of texts.

# object NAME VALUE…: a JSON object of texts.
object() {
  local separator=""
  printf '{'
  while (($# > 1)); do
    printf '%s%s:%s' "$separator" "$(json_string "$1")" "$(json_string "$2")"
    separator=,
    shift 2
  done
  printf '}'
}

# list COMMAND…: the lines that it prints, each a JSON value, as a JSON list.
list() {
  printf '[%s]' "$("$@" | paste -sd, -)"
}
