"""A node in a temporary folder, for tests that need no host."""

import json
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from labpve import config_file, node  # noqa: E402
from labpve.errors import PveError  # noqa: E402

STORAGES = """dir: local
\tpath /var/lib/vz
\tcontent iso,vztmpl,backup,snippets,import

lvmthin: local-lvm
\tthinpool data
\tvgname pve
\tcontent rootdir,images
"""
TEMPLATE = "local:vztmpl/debian.tar.zst"


class NodeTest(unittest.TestCase):
    """Gives each test its own node: storages, accounts, a template; nothing runs on it."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="labpve-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.patch("labpve.node.ROOT", self.root)
        self.patch("os.chown", lambda *arguments, **named: None)
        self.running = set()
        self.patch("labpve.state.is_running", lambda vmid: vmid in self.running)
        self.patch("labpve.state.first_process", lambda vmid: 4242 if vmid in self.running else None)
        for folder in ("etc/lab", "etc/pve/lxc", "var/lib/vz/template/cache", "var/lib/vz/snippets"):
            os.makedirs(f"{self.root}/{folder}")
        os.makedirs(f"{self.root}/var/log/pve/tasks")
        self.write("/etc/pve/storage.cfg", STORAGES)
        self.write("/var/lib/vz/template/cache/debian.tar.zst", "not read")
        shutil.copy(f"{HERE}/../host/api.json", f"{self.root}/etc/lab/api.json")

    def patch(self, target, replacement):
        """Replace a name for the time of the test."""
        patcher = mock.patch(target, replacement)
        patcher.start()
        self.addCleanup(patcher.stop)

    def write(self, path, text):
        """Write a file of the node."""
        with open(node.path(path), "w", encoding="utf-8") as file:
            file.write(text)

    def play_version(self, version):
        """Let the node play a version of Proxmox VE."""
        self.write("/etc/lab/pve-version", version)

    def grant(self, *entries, roles=None, tokens=None):
        """Replace the access entries: (path, to, role) or (path, to, role, propagate)."""
        with open(node.path("/etc/lab/api.json"), encoding="utf-8") as file:
            data = json.load(file)
        names = ("path", "to", "role", "propagate")
        data["acl"] = [dict(zip(names, entry)) for entry in entries]
        data["roles"] = roles or {}
        data["tokens"].update(tokens or {})
        self.write("/etc/lab/api.json", json.dumps(data))

    def container(self, vmid=129, running=False, **options):
        """Write a container's configuration; returns it."""
        base = {
            "hostname": "ml",
            "memory": 1024,
            "ostype": "debian",
            "rootfs": f"local-lvm:vm-{vmid}-disk-0,size=8G",
            "unprivileged": 1,
        }
        config = config_file.ContainerConfig({**base, **options})
        config_file.save(vmid, config)
        if running:
            self.running.add(vmid)
        return config

    def assert_refused(self, call, message, code=500):
        """The call raises a PveError with this message (a part of it) and code; returns the error."""
        with self.assertRaises(PveError) as caught:
            call()
        text = f"{caught.exception.message} {caught.exception.errors}"
        self.assertIn(message, text)
        self.assertEqual(caught.exception.code, code)
        return caught.exception
