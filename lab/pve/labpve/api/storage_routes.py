"""/storage and /nodes/NODE/storage: storages, their content, downloads."""

import os
import time

from labpve import downloads, permissions, schema, storages, tasks
from labpve.api.nodes import visible_storages
from labpve.api.router import route
from labpve.errors import PveError, permission_error

_STORAGE = "/nodes/{node}/storage/{storage}"
_SEE = ("/storage/{storage}", "Datastore.Audit", "Datastore.AllocateSpace")


@route("GET", "/storage")
def get_storages(request):
    """Configured storages that the caller may see."""
    return [{"storage": name, "digest": "0", **entry} for name, entry in visible_storages(request.identity)]


@route("GET", "/nodes/{node}/storage")
def get_node_storages(request):
    """Storages with their space, by content type or name where asked for."""
    wanted = set(request.parameters.get("content", "").split(",")) - {""}
    only = request.parameters.get("storage")
    return [
        {**storages.space(entry), "storage": name}
        for name, entry in visible_storages(request.identity)
        if only in (None, name) and (not wanted or wanted & set(storages.contents(entry)))
    ]


@route("GET", f"{_STORAGE}/status", _SEE, any_of=True)
def get_storage_status(request):
    """Space of one storage."""
    return storages.space(storages.get(request.path["storage"]))


@route("GET", f"{_STORAGE}/content", _SEE, any_of=True)
def get_content(request):
    """Files and disks on a storage."""
    return storages.listing(request.path["storage"], request.parameters.get("content"))


def _volume(request):
    volume = request.path["volume"]
    return volume if ":" in volume else f"{request.path['storage']}:{volume}"


@route("GET", f"{_STORAGE}/content/{{volume}}", _SEE, any_of=True)
def get_volume(request):
    """Path, size and format of a file."""
    volume = _volume(request)
    path = storages.file_path(volume)
    for entry in storages.listing(request.path["storage"]):
        if entry["volid"] == volume:
            return {"path": path, "format": entry["format"], "size": entry["size"], "used": entry["size"]}
    raise PveError(f"volume '{volume}' does not exist")


@route(
    "DELETE", f"{_STORAGE}/content/{{volume}}", ("/storage/{storage}", "Datastore.Allocate"), known=("delay",)
)
def delete_volume(request):
    """Remove a file; the task's UPID, after waiting up to `delay` seconds for its end."""
    volume = _volume(request)
    path = storages.file_path(volume)

    def remove(log):
        if not os.path.exists(path):
            raise PveError(f"volume '{volume}' does not exist")
        os.unlink(path)
        log(f"Removed volume '{volume}'")

    ident = f"{volume.split('/')[-1]}@{request.path['storage']}"
    upid = tasks.start("imgdel", ident, request.identity, remove)
    deadline = time.monotonic() + request.integer("delay", 0)
    while time.monotonic() < deadline and tasks.status(upid)["status"] == "running":
        time.sleep(0.1)
    return upid


def _check_network_access(request):
    """Sys.Audit and Sys.Modify on /, or Sys.AccessNetwork on the node."""
    node_path = f"/nodes/{request.path['node']}"
    if permissions.allows(request.identity, "/", ["Sys.Audit", "Sys.Modify"]):
        return
    if not permissions.allows(request.identity, node_path, ["Sys.AccessNetwork"]):
        raise permission_error()


def _verify(request):
    return schema.boolean(request.parameters.get("verify-certificates", 1)) != 0


@route("GET", "/nodes/{node}/query-url-metadata", known=("url", "verify-certificates"))
def get_metadata(request):
    """What the server of a URL says about a file."""
    _check_network_access(request)
    return downloads.metadata(request.parameters.get("url", ""), _verify(request))


@route(
    "POST",
    f"{_STORAGE}/download-url",
    ("/storage/{storage}", "Datastore.AllocateTemplate"),
    known=(
        "url",
        "content",
        "filename",
        "checksum",
        "checksum-algorithm",
        "compression",
        "verify-certificates",
    ),
)
def download(request):
    """Download a file into a storage; the task's UPID."""
    _check_network_access(request)
    target = downloads.check(request.path["storage"], request.parameters)
    parameters, verify = dict(request.parameters), _verify(request)
    return tasks.start(
        "download",
        parameters["filename"],
        request.identity,
        lambda log: downloads.run(target, parameters, verify, log),
    )
