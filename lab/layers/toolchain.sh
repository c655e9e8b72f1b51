#!/usr/bin/env bash
# toolchain.sh WORK HOST TEMPLATE: the host layer plus compiler and kernel headers. Never part of a host: the lab's kernel packages,
# modules and libraries are built in it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/overlay.sh"
work="$1"
host="$2"
template="$3"

overlay_open "$work" "$host/tree" "$template/tree"
install_packages "$work/root" gcc make libc6-dev linux-headers-amd64 dpkg-dev
overlay_close "$work"
