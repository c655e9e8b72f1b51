# Commands in a running container, for steps of the host.

# in_container ID COMMAND…: runs it there with nothing of the host's environment. It is what `pct exec` itself ends in, without
# what comes before: Perl with all of Proxmox VE, half a second of a host for each look.
in_container() {
  lxc-attach --name "$1" --clear-env -- "${@:2}"
}
