"""Files that are written into a container."""

import os

from support import NodeTest

from labpve import guest_files, lxc_config, volumes


class GuestFilesTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.config = self.container(
            hostname="ml.example.org", nameserver="10.0.0.1 10.0.0.2", searchdomain="lab"
        )
        self.directory = volumes.make("local-lvm:vm-129-disk-0", self.config)
        self.guest = guest_files.GuestRoot(self.config)

    def test_the_name_stands_in_both_files(self):
        guest_files.write_name(self.guest, "ml.example.org")
        self.assertEqual(self.guest.read("/etc/hostname"), "ml\n")
        self.assertIn("127.0.1.1 ml.example.org ml\n", self.guest.read("/etc/hosts"))

    def test_the_resolver_follows_the_options(self):
        guest_files.write_resolver(self.guest, self.config.options)
        self.assertEqual(
            self.guest.read("/etc/resolv.conf"), "nameserver 10.0.0.1\nnameserver 10.0.0.2\nsearch lab\n"
        )

    def test_a_link_of_the_template_is_replaced_and_not_followed(self):
        outside = f"{self.root}/outside"
        os.makedirs(f"{self.directory}/etc")
        os.symlink(outside, f"{self.directory}/etc/resolv.conf")
        guest_files.write_resolver(self.guest, self.config.options)
        self.assertFalse(os.path.exists(outside))
        self.assertFalse(os.path.islink(f"{self.directory}/etc/resolv.conf"))

    def test_keys_and_password_are_set_and_private(self):
        os.makedirs(f"{self.directory}/etc")
        with open(f"{self.directory}/etc/shadow", "w", encoding="utf-8") as file:
            file.write("root:*:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n")
        guest_files.set_up(self.config, "secret", "ssh-ed25519 AAAA me", lambda line: None)
        shadow = self.guest.read("/etc/shadow").splitlines()
        self.assertRegex(shadow[0], r"^root:\$6\$[^:]+:19000:0:99999:7:::$")
        self.assertEqual(shadow[1], "daemon:*:19000:0:99999:7:::")
        self.assertEqual(self.guest.read("/root/.ssh/authorized_keys"), "ssh-ed25519 AAAA me\n")
        self.assertEqual(os.stat(f"{self.directory}/root/.ssh").st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(f"{self.directory}/root/.ssh/authorized_keys").st_mode & 0o777, 0o600)

    def test_a_container_inherits_how_its_host_reaches_packages(self):
        os.makedirs(f"{self.root}/etc/apt/apt.conf.d")
        for name in ("99labproxy", "01other"):
            self.write(f"/etc/apt/apt.conf.d/{name}", name)
        guest_files.set_up(self.config, None, None, lambda line: None)
        self.assertEqual(os.listdir(f"{self.directory}/etc/apt/apt.conf.d"), ["99labproxy"])

    def test_a_new_systemd_without_nesting_is_warned_about(self):
        self.assertIsNone(guest_files.nesting_warning(self.config))
        folder = f"{lxc_config.root_directory(self.config)}/usr/lib/x86_64-linux-gnu/systemd"
        os.makedirs(folder)
        open(f"{folder}/libsystemd-shared-257.so", "w", encoding="utf-8").close()
        warning = "Systemd 257 detected. You may need to enable nesting."
        self.assertEqual(guest_files.nesting_warning(self.config), warning)
        self.config.options["features"] = "keyctl=1,nesting=1"
        self.assertIsNone(guest_files.nesting_warning(self.config))
