"""Backups: what is refused, what an archive holds, and how vzdump tells."""

import contextlib
import io
import os
import subprocess
import unittest

from support import NodeTest

from labpve import node, volumes, vzdump


class VzdumpTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.container(129, mp0="/srv/models,mp=/models,ro=1", unprivileged=0)
        disk = volumes.directory("local-lvm:vm-129-disk-0")
        os.makedirs(f"{disk}/root")
        os.makedirs(f"{disk}/tmp/left-over")
        with open(f"{disk}/root/mark", "w", encoding="utf-8") as file:
            file.write("precious")
        os.makedirs(node.path("/var/lib/vz/dump"))

    def vzdump(self, *words):
        """Exit status and all that is printed."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = vzdump.main(["129", "--mode", "stop", *words])
        return status, out.getvalue()

    def archives(self):
        return sorted(os.listdir(node.path("/var/lib/vz/dump")))

    def test_holds_the_disk_and_the_configuration_and_no_bind_mount(self):
        status, text = self.vzdump("--storage", "local", "--compress", "zstd")
        self.assertEqual(status, 0, text)
        self.assertIn("INFO: excluding bind mount point mp0 ('/models') from backup (not a volume)\n", text)
        self.assertIn("INFO: Backup job finished successfully\n", text)
        (name,) = self.archives()
        self.assertRegex(name, r"^vzdump-lxc-129-\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d\.tar\.zst$")
        self.assertIn(f"creating vzdump archive '{node.path('/var/lib/vz/dump')}/{name}'", text)
        archive = f"{node.path('/var/lib/vz/dump')}/{name}"
        listing = subprocess.run(["tar", "tf", archive], capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("./root/mark", listing)
        self.assertIn("./etc/vzdump/pct.conf", listing)
        self.assertNotIn("./tmp/left-over/", listing)

    def test_refuses_a_storage_that_holds_no_backups(self):
        status, text = self.vzdump("--storage", "local-lvm")
        self.assertEqual(status, 255)
        self.assertIn("can't use storage 'local-lvm' for backups - wrong content type", text)
        self.assertEqual(self.vzdump("--storage", "nowhere")[0], 255)
        self.assertEqual(self.archives(), [])

    def test_a_locked_container_fails_the_job_and_leaves_nothing(self):
        self.container(129, lock="backup")
        status, text = self.vzdump("--storage", "local")
        self.assertEqual(status, 255)
        self.assertIn("ERROR: Backup of VM 129 failed - CT is locked (backup)\n", text)
        self.assertIn("job errors", text)
        self.assertEqual(self.archives(), [])

    def test_says_what_it_does_not_cover(self):
        self.assertEqual(self.vzdump("--mode", "snapshot")[0], 255)


if __name__ == "__main__":
    unittest.main()
