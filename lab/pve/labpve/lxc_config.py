"""/var/lib/lxc/ID/config: what LXC is told, made from the container's configuration."""

import os
import re

from labpve import cgroups, devices, node, property_string, storages, volumes


def container_directory(vmid):
    """LXC's own directory of a container."""
    return node.path(f"/var/lib/lxc/{vmid}")


def root_directory(config):
    """Directory of a container's root disk."""
    return volumes.directory(property_string.parse(config.options["rootfs"], "volume")["volume"])


def _basics(vmid, config):
    lines = [
        "lxc.cgroup.relative = 0",
        f"lxc.cgroup.dir.monitor = lxc.monitor/{vmid}",
        f"lxc.cgroup.dir.container = lxc/{vmid}",
        "lxc.cgroup.dir.container.inner = ns",
        f"lxc.arch = {config.options.get('arch', 'amd64')}",
        "lxc.include = /usr/share/lxc/config/common.conf",
    ]
    if config.is_unprivileged():
        # As Proxmox VE's lxc-pve-userns.conf: the device list is reset and everything is allowed.
        lines += [
            "lxc.include = /usr/share/lxc/config/userns.conf",
            "lxc.cgroup2.devices.deny =",
            "lxc.cgroup2.devices.allow =",
            "lxc.cgroup2.devices.allow = a",
            "lxc.mount.auto = sys:mixed",
        ]
        if not any(key == "lxc.idmap" for key, _ in config.raw):
            lines += [f"lxc.idmap = {kind} 0 {volumes.FIRST_HOST_ID} 65536" for kind in "ug"]
    lines += [
        "lxc.apparmor.profile = unconfined",
        "lxc.monitor.unshare = 1",
        f"lxc.tty.max = {config.options.get('tty', 2)}",
        "lxc.environment = TERM=linux",
        f"lxc.uts.name = {config.options.get('hostname', f'CT{vmid}')}",
        f"lxc.rootfs.path = dir:{root_directory(config)}",
    ]
    return lines


def _devices(vmid, config):
    lines = []
    for _, _, value in config.indexed("dev"):
        path = property_string.parse(value, "path")["path"]
        lines.append(f"lxc.cgroup2.devices.allow = {devices.cgroup_rule(value)}")
        source = devices.node_path(vmid, path)
        lines.append(f"lxc.mount.entry = {source} {path.lstrip('/')} none bind,create=file")
    return lines


def _networks(vmid, config):
    lines = []
    for index, _, value in config.indexed("net"):
        properties = property_string.parse(value)
        prefix = f"lxc.net.{index}"
        lines += [
            f"{prefix}.type = veth",
            f"{prefix}.veth.pair = veth{vmid}i{index}",
            f"{prefix}.name = {properties['name']}",
        ]
        if properties.get("link_down") != "1":
            lines.append(f"{prefix}.flags = up")
        for key, name in (("bridge", "link"), ("hwaddr", "hwaddr"), ("mtu", "mtu")):
            if properties.get(key):
                lines.append(f"{prefix}.{name} = {properties[key]}")
        for key, gateway, family in (("ip", "gw", "ipv4"), ("ip6", "gw6", "ipv6")):
            if "/" in properties.get(key, ""):
                lines.append(f"{prefix}.{family}.address = {properties[key]}")
            if properties.get(gateway):
                lines.append(f"{prefix}.{family}.gateway = {properties[gateway]}")
    return lines


def _mounts(config):
    lines = []
    for _, _, value in config.indexed("mp"):
        properties = property_string.parse(value, "volume")
        volume = properties["volume"]
        source = volumes.directory(volume) if volumes.kind_of(volume) == "volume" else volume
        read_only = ",ro" if properties.get("ro") == "1" else ""
        target = properties["mp"].lstrip("/")
        lines.append(f"lxc.mount.entry = {source} {target} none bind,create=dir{read_only}")
    return lines


def _raw(config, available):
    lines = []
    for key, value in config.raw:
        controller = re.match(r"lxc\.cgroup2\.(memory|cpu|cpuset|io|pids|hugetlb)\.", key)
        if not controller or controller[1] in available:
            lines.append(f"{key} = {value}")
    return lines


def render(vmid, config):
    """LXC's configuration as text; PveError when a devN has no node on the host."""
    available = cgroups.controllers()
    lines = _basics(vmid, config) + _devices(vmid, config) + _networks(vmid, config) + _mounts(config)
    limits = cgroups.limits(config.options, available)
    lines += [f"lxc.cgroup2.{name} = {value}" for name, value in sorted(limits.items())]
    return "\n".join(lines + _raw(config, available)) + "\n"


def write(vmid, config):
    """Write LXC's configuration."""
    os.makedirs(container_directory(vmid), exist_ok=True)
    node.write_atomically(f"{container_directory(vmid)}/config", render(vmid, config))


def check_mount_sources(config):
    """Message about the first bind mount whose directory is missing, or None."""
    for _, _, value in config.indexed("mp"):
        volume = property_string.parse(value, "volume")["volume"]
        if volumes.kind_of(volume) != "volume" and not os.path.exists(volume):
            return f"directory '{volume}' does not exist"
    for _, properties in storages.container_volumes(config):
        if not os.path.isdir(volumes.directory(properties["volume"])):
            return f"no such logical volume pve/{properties['volume'].split(':', 1)[1]}"
    return None
