"""/cluster, /nodes and /pools: the node and what is on it."""

import os

from labpve import config_file, node, node_facts, permissions, pools, state, storages
from labpve.api.access import version_facts
from labpve.api.router import route
from labpve.errors import parameter_error


@route("GET", "/cluster/nextid", known=("vmid",))
def get_next_id(request):
    """The lowest free id, or the given one when it is free."""
    if "vmid" in request.parameters:
        wanted = request.integer("vmid", 0)
        if config_file.exists(wanted):
            raise parameter_error({"vmid": f"VM {wanted} already exists"})
        return str(wanted)
    return str(next(number for number in range(100, 10**9) if not config_file.exists(number)))


def _visible_containers(identity):
    return [
        vmid for vmid in config_file.vmids() if permissions.allows(identity, f"/vms/{vmid}", ["VM.Audit"])
    ]


def visible_storages(identity):
    """(id, entry) of the storages that the caller may see."""
    wanted = ["Datastore.Audit", "Datastore.AllocateSpace"]
    entries = storages.load().items()
    return [
        (name, e) for name, e in entries if permissions.allows(identity, f"/storage/{name}", wanted, True)
    ]


def containers(identity):
    """status/current of each container that the caller may see."""
    return [state.current(vmid) for vmid in _visible_containers(identity)]


@route("GET", "/cluster/resources", known=("type",))
def get_resources(request):
    """Containers, the node and its storages."""
    wanted, result = request.parameters.get("type"), []
    if wanted in (None, "vm"):
        for entry in containers(request.identity):
            extra = {"id": f"lxc/{entry['vmid']}", "node": node.name(), "maxcpu": entry["cpus"]}
            pool = pools.of(entry["vmid"])
            result.append({**entry, **extra, **({"pool": pool} if pool else {})})
    if wanted in (None, "node"):
        result.append({"id": f"node/{node.name()}", "node": node.name(), "type": "node", "status": "online"})
    if wanted in (None, "storage"):
        for name, entry in visible_storages(request.identity):
            result.append(
                {
                    "id": f"storage/{node.name()}/{name}",
                    "node": node.name(),
                    "storage": name,
                    "type": "storage",
                    "status": "available",
                    "content": entry.get("content"),
                    "plugintype": entry["type"],
                    "shared": 0,
                }
            )
    return result


@route("GET", "/cluster/status", ("/", "Sys.Audit"))
def get_cluster_status(_request):
    """One node without a cluster."""
    facts = {"online": 1, "local": 1, "nodeid": 0, "ip": node_facts.address(), "level": ""}
    return [{"id": f"node/{node.name()}", "name": node.name(), "type": "node", **facts}]


@route("GET", "/nodes")
def get_nodes(_request):
    """This node."""
    memory, disk = node_facts.memory(), os.statvfs("/")
    return [
        {
            "node": node.name(),
            "id": f"node/{node.name()}",
            "type": "node",
            "status": "online",
            "maxcpu": os.cpu_count(),
            "maxmem": memory["total"],
            "mem": memory["used"],
            "cpu": 0.01,
            "disk": (disk.f_blocks - disk.f_bfree) * disk.f_frsize,
            "maxdisk": disk.f_blocks * disk.f_frsize,
            "uptime": node_facts.uptime(),
            "level": "",
            "ssl_fingerprint": "",
        }
    ]


@route("GET", "/nodes/{node}/status", ("/nodes/{node}", "Sys.Audit"))
def get_node_status(_request):
    """Version, kernel, processors and memory."""
    release, disk = os.uname().release, os.statvfs("/")
    total, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    kernel = {"release": release, "sysname": "Linux", "machine": "x86_64", "version": os.uname().version}
    count = os.cpu_count()
    return {
        "pveversion": f"pve-manager/{node.version()}/lab",
        "kversion": f"Linux {release} {os.uname().version}",
        "current-kernel": kernel,
        "uptime": node_facts.uptime(),
        "cpuinfo": {"cpus": count, "cores": count, "sockets": 1, "model": "lab"},
        "memory": node_facts.memory(),
        "rootfs": {"total": total, "used": total - free, "avail": free, "free": free},
        "loadavg": [f"{load:.2f}" for load in os.getloadavg()],
    }


@route("GET", "/nodes/{node}/network")
def get_network(_request):
    """The bridge and its interface."""
    return node_facts.network()


@route("GET", "/nodes/{node}/dns", ("/nodes/{node}", "Sys.Audit"))
def get_dns(_request):
    """Name servers of the node."""
    return node_facts.resolver()


@route("GET", "/nodes/{node}/version")
def get_node_version(_request):
    """Version of the node."""
    return version_facts()


@route("GET", "/nodes/{node}/hardware/pci")
def get_pci(_request):
    """PCI devices, the GPUs among them."""
    return node_facts.pci_devices()


@route("GET", "/pools")
def get_pools(request):
    """Pools that the caller may see."""
    names = sorted(pools.load())
    return [
        {"poolid": name}
        for name in names
        if permissions.allows(request.identity, f"/pool/{name}", ["Pool.Audit"])
    ]


@route("POST", "/pools", known=("poolid", "comment"))
def create_pool(request):
    """Add a pool."""
    name = request.parameters.get("poolid", "")
    if not name:
        raise parameter_error({"poolid": "property is missing and it is not optional"})
    permissions.check(request.identity, f"/pool/{name}", ["Pool.Allocate"])
    pools.create(name)
