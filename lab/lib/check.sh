# shellcheck shell=bash disable=SC2154 # settings.sh has the names of places
# Whether this machine can run the lab. Each check tries the thing itself, in namespaces that end with it. To be sourced.

required_memory_mib=3000
required_disk_mib=4000

# complain TEXT: one missing thing, one line.
complain() {
  echo "missing: $*"
}

check_rights() {
  [[ "$(id -u)" == 0 ]] || complain "root: run the lab as root (namespaces, overlay mounts and network bridges need it)"
}

check_machine() {
  [[ "$(uname -m)" == x86_64 ]] || complain "an x86-64 machine: this one is $(uname -m)"
}

check_tools() {
  local program package
  while read -r program package; do
    complain "$program: apt-get install $package"
  done < <(missing_tools)
}

check_namespaces() {
  local kind
  for kind in mount uts ipc pid net cgroup user; do
    if ! unshare "--$kind" --fork true 2>/dev/null; then
      complain "$kind namespaces: \`unshare --$kind true\` fails; in a container, start that one with more rights (docker run --privileged)"
    fi
  done
}

# The lab's disks are overlays over the cache folder, with the writable part on a tmpfs.
check_overlay() {
  mkdir -p "$cache" 2>/dev/null || {
    complain "a writable cache folder: $cache cannot be made; set PROXMOX_GPU_STACK_CACHE to another one"
    return 0
  }
  # shellcheck disable=SC2016 # expanded by the inner shell
  if ! unshare --mount --propagation private bash -ec '
    folder="$(mktemp -d "$1/check.XXXXXX")"
    trap "rm -rf \"$folder\"" EXIT
    mkdir "$folder"/{lower,upper,work,root}
    mount -t overlay overlay -o "lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
    touch "$folder/root/file"
    umount "$folder/root"
    mount -t tmpfs tmpfs "$folder/upper"
    mkdir "$folder/upper"/{disk,work}
    mount -t overlay overlay -o "volatile,lowerdir=$folder/lower,upperdir=$folder/upper/disk,workdir=$folder/upper/work" "$folder/root"
    umount "$folder/root" "$folder/upper"
  ' check "$cache" 2>/dev/null; then
    complain "overlay mounts in $cache: \`mount -t overlay\` fails there; needs Linux 5.10 or newer with overlayfs, and a file system that it can lie on"
  fi
}

check_devices() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  if ! unshare --mount --propagation private bash -ec '
    mount -t tmpfs tmpfs /mnt
    mknod /mnt/null c 1 3
    : >/mnt/null
    mkdir /mnt/pts
    mount -t devpts -o newinstance devpts /mnt/pts
  ' 2>/dev/null; then
    complain "device nodes: mknod or a new devpts is not permitted here"
  fi
}

check_cgroups() {
  local type
  type="$(stat --file-system --format %T "$cgroup_root" 2>/dev/null || true)"
  if [[ "$type" != cgroup2fs ]]; then
    complain "the cgroup v2 hierarchy: $cgroup_root is '$type'; boot with systemd.unified_cgroup_hierarchy=1, or mount cgroup2 there"
  elif ! mkdir "$lab_cgroup-check" 2>/dev/null; then
    complain "a writable cgroup v2 hierarchy: mkdir in $cgroup_root fails"
  else
    rmdir "$lab_cgroup-check"
  fi
}

check_network() {
  if ! unshare --net bash -ec '
    ip link add lab0 type bridge
    ip link add lab1 type veth peer name lab2
  ' 2>/dev/null; then
    complain "network bridges and veth pairs: \`ip link add\` fails; needs the kernel modules bridge and veth"
  fi
  local route
  route="$(ip -4 route show root "$LAB_SUBNET.0/24" 2>/dev/null | grep -v " dev $bridge " | head -n 1 || true)"
  [[ -z "$route" ]] ||
    complain "a free network: this machine has a route to $LAB_SUBNET.0/24 already ($route); set LAB_SUBNET to another private network"
}

check_space() {
  local memory disk
  memory="$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)"
  ((memory >= required_memory_mib)) ||
    complain "memory: $memory MiB are available, $required_memory_mib MiB are needed (hosts' disks are in memory)"
  # An existing build needs no more.
  if [[ -d "$cache" && ! -d "${piece_folder[system]}" ]]; then
    disk="$(df --output=avail --block-size=1M "$cache" | tail -n 1)"
    ((disk >= required_disk_mib)) || complain "disk space: $disk MiB are free in $cache, $required_disk_mib MiB are needed"
  fi
}

# check_all: prints a line for each missing thing; the result is whether nothing is missing.
check_all() {
  local missing
  missing="$(
    check_rights
    check_machine
    check_tools
    # The others try things that only root can, or with programs that may be missing.
    if [[ "$(id -u)" == 0 && -z "$(missing_tools)" ]]; then
      check_namespaces
      check_overlay
      check_devices
      check_cgroups
      check_network
      check_space
    fi
  )"
  [[ -z "$missing" ]] || echo "$missing"
  [[ -z "$missing" ]]
}
