#!/usr/bin/env bash
# template.sh WORK: builds what every machine of the lab stands on.
#   WORK/template.tar.zst  the container template, as a Proxmox VE host would download it
#   WORK/tree              the same, unpacked: the lowest layer of the hosts
#   WORK/mirrors           URLs of the Debian mirrors it came from, one a line (the only ones that the apt relay lets hosts reach)
set -euo pipefail
work="$1"
release=bookworm

packages=(
  systemd systemd-sysv dbus openssh-server python3 ca-certificates curl wget
  iproute2 iputils-ping procps psmisc kmod netbase less
)

# The machine's own Debian mirror when it has one: it may be the only one that can be reached.
machine_mirror() {
  local file
  for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list; do
    [[ -r "$file" ]] || continue
    sed 's/#.*//' "$file" | grep --only-matching --extended-regexp 'https?://[^] ]+/debian/?( |$)' || true
  done | head -n 1 | tr -d ' ' | sed 's,/$,,'
}

# mmdebstrap unpacks in TMPDIR: in memory that takes a third of the time.
export TMPDIR="$work/temporary"
mkdir "$TMPDIR"
mount -t tmpfs -o mode=1777 tmpfs "$TMPDIR"

# Deterministic: the same packages give the same file, so that its checksum survives a rebuild.
export SOURCE_DATE_EPOCH=1700000000

mirror="$(machine_mirror)"
arguments=()
if [[ -n "$mirror" ]]; then
  arguments=("deb $mirror $release main")
fi

# The file's $1 is the new root. sys-kernel-debug.mount and the apt timers do not work in, or would disturb, a container.
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=minbase --format=tar --dpkgopt=force-unsafe-io \
  --include="$(
    IFS=,
    echo "${packages[*]}"
  )" \
  --customize-hook='rm -rf "$1"/usr/share/man/* "$1"/usr/share/doc/* "$1"/usr/share/locale/*' \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/resolv.conf "$1"/etc/hostname; : >"$1"/etc/machine-id; : >"$1"/etc/resolv.conf' \
  --customize-hook='cd "$1"/etc/systemd/system && ln -sf /dev/null sys-kernel-debug.mount' \
  --customize-hook='cd "$1"/etc/systemd/system && ln -sf /dev/null apt-daily.timer && ln -sf /dev/null apt-daily-upgrade.timer' \
  --customize-hook='sed -i s,https://,http://, "$1"/etc/apt/sources.list' \
  "$release" "$work/template.tar" "${arguments[@]}"

umount "$TMPDIR"
rmdir "$TMPDIR"

mkdir "$work/tree"
# Device nodes are the kernel's or LXC's business.
tar --extract --preserve-permissions --numeric-owner --file "$work/template.tar" --directory "$work/tree" --exclude './dev/*'

if [[ -n "$mirror" ]]; then
  echo "$mirror" >"$work/mirrors"
else
  # mmdebstrap took Debian's own mirrors, those of the updates too.
  grep --only-matching --extended-regexp 'https?://[^] ]+' "$work/tree/etc/apt/sources.list" >"$work/mirrors"
fi

zstd --quiet --threads=0 -3 --rm "$work/template.tar" -o "$work/template.tar.zst"
