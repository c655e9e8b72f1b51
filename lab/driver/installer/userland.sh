# shellcheck shell=bash
# shellcheck disable=SC2154 # $state, $here and $version are set by the scripts that source this one
# Libraries and commands: the part of the driver that a container needs too.

library_folder=/usr/lib/x86_64-linux-gnu
installer_folder=/usr/lib/nvidia/installer

# put SOURCE TARGET MODE: installs a file and remembers it for the removal.
put() {
  install -D -m "$3" "$1" "$2" && echo "$2" >>"$state/files"
}

link() {
  ln -sf "$1" "$2" && echo "$2" >>"$state/files"
}

install_userland() {
  local file library
  for file in "$here/bin/"*; do
    put "$file" "/usr/bin/$(basename "$file")" 755
  done
  for library in libcuda libnvidia-ml; do
    put "$here/lib/$library.so.$version" "$library_folder/$library.so.$version" 755
    link "$library.so.$version" "$library_folder/$library.so.1"
    link "$library.so.1" "$library_folder/$library.so"
  done
  for file in nvidia-installer version.sh options.sh report.sh kernel-modules.sh userland.sh; do
    put "$here/$file" "$installer_folder/$file" 755
  done
  link "$installer_folder/nvidia-installer" /usr/bin/nvidia-installer
  link nvidia-installer /usr/bin/nvidia-uninstall
}
