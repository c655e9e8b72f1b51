# A Python environment that containers share: <wheelhouse>/environments/<digest>, written by the host, read-only in the
# containers. Its .complete holds a digest of the listing below, so that everybody sees within a second whether all of it
# is as it was copied. A container that uses it has a folder of links, among them .shared to that .complete.

# environment_listing FOLDER: files by size and time, the rest by kind and target. Compiled files come and go.
environment_listing() {
  (cd "$1" && find . -mindepth 1 \( -name __pycache__ -o -path ./.complete \) -prune \
    -o -type f -printf '%P %s %T@\n' -o -printf '%y %P %l\n') | LC_ALL=C sort
}

listing_digest() {
  environment_listing "$1" | sha256sum | cut -d' ' -f1
}

# shared_is_sound FOLDER
shared_is_sound() {
  [[ -s $1/.complete && $(<"$1/.complete") == "$(listing_digest "$1")" ]]
}
