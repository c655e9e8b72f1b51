# Compiler and headers; nouveau out of every initramfs. On the host, before a reboot.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends gcc make dkms "proxmox-headers-$(uname -r)" proxmox-headers-6.8
cat >/etc/modprobe.d/blacklist-nouveau.conf <<'END'
blacklist nouveau
options nouveau modeset=0
install nouveau /bin/false
END
update-initramfs -u -k all
