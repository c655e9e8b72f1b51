"""/nodes/NODE/lxc: containers."""

import urllib.parse

from labpve import change, config_file, create, lifecycle, pending, schema, state, tasks
from labpve.api.nodes import containers
from labpve.api.router import route
from labpve.errors import PveError

_CT = "/nodes/{node}/lxc/{vmid}"
_AUDIT = ("/vms/{vmid}", "VM.Audit")
_POWER = ("/vms/{vmid}", "VM.PowerMgmt")
_ANY_CONFIG = (
    "/vms/{vmid}",
    "VM.Config.Disk",
    "VM.Config.CPU",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
)


def _flag(request, name):
    return bool(schema.boolean(request.parameters.get(name, 0)))


@route("GET", "/nodes/{node}/lxc")
def get_containers(request):
    """Containers that the caller may see."""
    return containers(request.identity)


@route("POST", "/nodes/{node}/lxc")
def create_container(request):
    """Create a container; the task's UPID."""
    parameters = dict(request.parameters)
    keys = parameters.get("ssh-public-keys", "")
    if "%20" in keys:  # some clients encode the keys once more, as the web interface does
        parameters["ssh-public-keys"] = urllib.parse.unquote(keys)
    prepared = create.prepare(parameters, request.identity)
    return tasks.start("vzcreate", prepared[0], request.identity, lambda log: create.run(prepared, log))


@route("GET", _CT)
def get_index(request):
    """Names of what is below a container."""
    config_file.load(request.vmid())
    return [{"subdir": name} for name in ("config", "interfaces", "pending", "resize", "status")]


@route("DELETE", _CT, ("/vms/{vmid}", "VM.Allocate"), known=("force", "purge", "destroy-unreferenced-disks"))
def destroy_container(request):
    """Remove a container and its disks; the task's UPID."""
    vmid, force = request.vmid(), _flag(request, "force")
    lifecycle.check_destroy(vmid, force)
    return tasks.start("vzdestroy", vmid, request.identity, lambda log: lifecycle.destroy(vmid, force))


@route("GET", f"{_CT}/config", _AUDIT, known=("current", "snapshot"))
def get_config(request):
    """Options with pending changes merged in, or as they are now (current=1)."""
    vmid = request.vmid()
    config = config_file.load(vmid)
    options = config.options if _flag(request, "current") else pending.merged(config)
    raw = {"lxc": config.raw} if config.raw else {}
    return {**options, **raw, "digest": config_file.digest(vmid)}


@route("PUT", f"{_CT}/config", _ANY_CONFIG, any_of=True)
def change_config(request):
    """Change options; no task, no data."""
    change.update(request.vmid(), request.parameters, request.identity)


@route("GET", f"{_CT}/pending", _AUDIT)
def get_pending(request):
    """Options with their present and their waiting values."""
    return pending.listing(config_file.load(request.vmid()))


@route("GET", f"{_CT}/status/current", _AUDIT)
def get_current(request):
    """State of a container."""
    return {**state.current(request.vmid()), "ha": {"managed": 0}}


@route("GET", f"{_CT}/interfaces", _AUDIT)
def get_interfaces(request):
    """Addresses of a running container."""
    return state.interfaces(request.vmid())


@route("POST", f"{_CT}/status/start", _POWER, known=("debug", "skiplock"))
def start_container(request):
    """Start a container; the task's UPID."""
    vmid = request.vmid()
    config_file.load(vmid)
    if state.is_running(vmid):
        raise PveError(f"CT {vmid} already running")
    return tasks.start("vzstart", vmid, request.identity, lambda log: lifecycle.start(vmid, log))


def _running(request):
    vmid = request.vmid()
    config_file.load(vmid)
    if not state.is_running(vmid):
        raise PveError(f"CT {vmid} not running")
    return vmid


@route("POST", f"{_CT}/status/stop", _POWER, known=("skiplock", "overrule-shutdown"))
def stop_container(request):
    """End a container at once; the task's UPID."""
    vmid = _running(request)
    return tasks.start("vzstop", vmid, request.identity, lambda log: lifecycle.stop(vmid))


@route("POST", f"{_CT}/status/shutdown", _POWER, known=("timeout", "forceStop"))
def shutdown_container(request):
    """Shut a container down; the task's UPID."""
    vmid, timeout, force = _running(request), request.integer("timeout", 60), _flag(request, "forceStop")
    return tasks.start(
        "vzshutdown", vmid, request.identity, lambda log: lifecycle.shutdown(vmid, timeout, force)
    )


@route("POST", f"{_CT}/status/reboot", _POWER, known=("timeout",))
def reboot_container(request):
    """Shut a container down and start it again; the task's UPID."""
    vmid, timeout = _running(request), request.integer("timeout", 60)
    return tasks.start("vzreboot", vmid, request.identity, lambda log: lifecycle.reboot(vmid, timeout, log))


@route("PUT", f"{_CT}/resize", ("/vms/{vmid}", "VM.Config.Disk"), known=("disk", "size", "digest"))
def resize_disk(request):
    """Grow a disk; the task's UPID."""
    vmid = request.vmid()
    config_file.load(vmid)
    disk, size = request.parameters.get("disk", ""), request.parameters.get("size", "")
    return tasks.start("resize", vmid, request.identity, lambda log: lifecycle.resize(vmid, disk, size))
