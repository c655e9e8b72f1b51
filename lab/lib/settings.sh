# shellcheck shell=bash
# Names and places of one lab, all derived from LAB_SUBNET, LAB_DIR and the cache folder. To be sourced.
#
#   LAB_SUBNET  first three octets of the lab's network, default 10.77.0; another one gives a second lab beside the first
#   LAB_DIR     state of this lab, default <repository>/.lab; two labs never share one
#   LAB_DISKS   folder for the disks of hosts made from now on, such as /var/tmp/lab-disks; default: memory (a tmpfs of LAB_DIR)
#
# shellcheck disable=SC2034 # the variables are used by the scripts that source this file

lab_source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
repository="$(dirname "$lab_source")"

# fail TEXT...: one clear error and the end.
fail() {
  echo "lab: $*" >&2
  exit 1
}

# File descriptors of the locks that this command holds.
held_locks=()

# release_locks: to be called in a process that outlives this command, which would hold the locks as long as it runs.
release_locks() {
  local lock
  for lock in "${held_locks[@]}"; do
    exec {lock}<&-
  done
}

LAB_SUBNET="${LAB_SUBNET:-10.77.0}"
LAB_DIR="$(realpath --canonicalize-missing "${LAB_DIR:-$repository/.lab}")"
LAB_DISKS="${LAB_DISKS:+$(realpath --canonicalize-missing "$LAB_DISKS")}"
export LAB_SUBNET LAB_DIR LAB_DISKS

# A private range only: hosts of a public one would be cut off from this machine.
[[ "$LAB_SUBNET" =~ ^(10\.[0-9]{1,3}|192\.168|172\.(1[6-9]|2[0-9]|3[01]))\.[0-9]{1,3}$ ]] ||
  fail "LAB_SUBNET is '$LAB_SUBNET'; it must be the first three octets of a private network, such as 10.77.0"
for octet in ${LAB_SUBNET//./ }; do
  ((10#$octet <= 255)) || fail "LAB_SUBNET is '$LAB_SUBNET'; '$octet' is more than 255"
done
unset octet

cache="${PROXMOX_GPU_STACK_CACHE:-${HOME:-/root}/.cache/proxmox-gpu-stack}/lab"

# On the machine's side of the lab's network.
lab_address="$LAB_SUBNET.1"
apt_relay_port=3142
package_index_port=3141
file_server_port=8080
model_hub_port=8090

# Interface names have at most 15 characters: the bridge in decimal, the hosts' ends in hexadecimal plus the last octet.
bridge="lab${LAB_SUBNET//./-}"
# shellcheck disable=SC2086 # one octet a word
veth_prefix="lab$(printf '%02x%02x%02x' ${LAB_SUBNET//./ })"

# Everything that exists only while the lab runs lies here, on a tmpfs: hosts' disks, the file server's files, process ids.
run_folder="$LAB_DIR/run"
hosts_folder="$run_folder/hosts"
services_folder="$run_folder/services"
www_folder="$run_folder/www"

# The writable cgroup v2 hierarchy: the only one, or the one beside cgroup v1.
if [[ -d /sys/fs/cgroup/unified ]]; then
  cgroup_root=/sys/fs/cgroup/unified
else
  cgroup_root=/sys/fs/cgroup
fi
lab_cgroup="$cgroup_root/$bridge"

# What the lab's file server offers.
container_template=debian-12-standard_12.12-1_amd64.tar.zst
driver_versions=(550.163.01 570.133.07 580.105.08 590.48.01)

# Kernels of a lab host: the first one is installed, the others can be installed from the host's local repository.
kernel_versions=(6.8.12-4-pve 6.8.12-8-pve)
