"""/nodes/NODE/tasks: what runs and what has run."""

from labpve import permissions, tasks
from labpve.api.router import route

_TASK = "/nodes/{node}/tasks/{upid}"


def _is_own(entry, identity):
    """A user sees the tasks of its tokens too; a token sees its own only."""
    token = f"{entry['user']}!{entry['tokenid']}" if "tokenid" in entry else entry["user"]
    return identity in (token, entry["user"])


def _check_view(request):
    entry = tasks.status(request.path["upid"])
    if not _is_own(entry, request.identity):
        permissions.check(request.identity, f"/nodes/{request.path['node']}", ["Sys.Audit"])
    return entry


@route("GET", "/nodes/{node}/tasks")
def get_tasks(request):
    """Own tasks, or all for who may audit the node."""
    audits = permissions.allows(request.identity, f"/nodes/{request.path['node']}", ["Sys.Audit"])
    first, limit = request.integer("start", 0), request.integer("limit", 50)
    kind, vmid = request.parameters.get("typefilter"), request.parameters.get("vmid")
    found = [
        entry
        for entry in tasks.listing()
        if (audits or _is_own(entry, request.identity))
        and kind in (None, entry["type"])
        and vmid in (None, entry["id"])
    ]
    return found[first : first + limit]


@route("GET", f"{_TASK}/status")
def get_status(request):
    """State and result of a task."""
    return _check_view(request)


@route("GET", f"{_TASK}/log", known=("start", "limit", "download"))
def get_log(request):
    """Lines of a task's log."""
    _check_view(request)
    return tasks.read_log(request.path["upid"], request.integer("start", 0), request.integer("limit", 50))[0]


@route("DELETE", _TASK)
def stop_task(request):
    """Ask a running task to end."""
    entry = tasks.status(request.path["upid"])
    if not _is_own(entry, request.identity):
        permissions.check(request.identity, f"/nodes/{request.path['node']}", ["Sys.Modify"])
    tasks.request_stop(request.path["upid"])
