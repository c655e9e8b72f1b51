"""Mounting into a running container, with the kernel calls that Proxmox VE uses for it.

A copy of the source mount is taken outside, then a child enters the container's mount namespace and puts it
in place: mounting directly would need the source inside the container.
"""

import ctypes
import os

from labpve.errors import PveError

_OPEN_TREE = 428
_MOVE_MOUNT = 429
_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_OPEN_TREE_CLONE = 1
_OPEN_TREE_CLOEXEC = os.O_CLOEXEC
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY = 1
_CLONE_NEWNS = 0x20000

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd")]


def _call(what, result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def _copy_of(source, read_only):
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC
    tree = _call("open_tree", _libc.syscall(_OPEN_TREE, _AT_FDCWD, source.encode(), flags))
    if read_only:
        attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY)
        size = ctypes.sizeof(attributes)
        result = _libc.syscall(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, ctypes.byref(attributes), size)
        _call("mount_setattr", result)
    return tree


def _place(tree, namespace, root, target, is_file):
    """In the child: enter the container's mount namespace and move the copy to the target.

    The target is made as the container's root: the host's has no name in a container's file systems.
    """
    owner = os.stat(root).st_uid
    _call("setns", _libc.setns(namespace, _CLONE_NEWNS))
    os.fchdir(root)
    os.chroot(".")
    _libc.setfsgid(owner)
    _libc.setfsuid(owner)
    os.makedirs(os.path.dirname(target) if is_file else target, exist_ok=True)
    if is_file:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o644))
    move = (tree, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH)
    _call("move_mount", _libc.syscall(_MOVE_MOUNT, *move))


def mount_into(pid, source, target, read_only=False):
    """Mount a directory or file (a device node) of the host at `target` in the container of process `pid`."""
    tree = namespace = root = None
    try:
        tree = _copy_of(source, read_only)
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _place(tree, namespace, root, target, is_file=not os.path.isdir(source))
                status = 0
            finally:
                os._exit(status)
        failed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except OSError as error:
        raise PveError(f"failed to mount '{source}' to '{target}': {error}") from error
    finally:
        for descriptor in (tree, namespace, root):
            if descriptor is not None:
                os.close(descriptor)
    if failed:
        raise PveError(f"failed to mount '{source}' to '{target}' in the container")
