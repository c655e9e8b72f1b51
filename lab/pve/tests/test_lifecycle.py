"""Start, stop, removal and growth, with LXC and systemd replaced."""

import os

from support import NodeTest

from labpve import config_file, lifecycle, pools, tasks, volumes


class LifecycleTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.commands = []
        self.patch("labpve.lifecycle._systemctl", self.systemctl)
        self.patch("labpve.guest_files.write_resolver", lambda root, options: None)
        os.makedirs(volumes.directory("local-lvm:vm-129-disk-0"))
        self.log = tasks.Log()

    def systemctl(self, *words):
        self.commands.append(words)
        if words[0] == "start" and self.starts:
            self.running.add(129)
        if words[0] == "stop":
            self.running.discard(129)
        return 0

    starts = True

    def test_a_start_applies_what_waits_and_then_starts_the_unit(self):
        config = self.container()
        config.pending = {"features": "nesting=1"}
        config_file.save(129, config)
        lifecycle.start(129, self.log)
        after = config_file.load(129)
        self.assertEqual((after.options["features"], after.pending), ("nesting=1", {}))
        self.assertIn(("start", "pve-container@129"), self.commands)
        self.assertTrue(os.path.exists(f"{self.root}/var/lib/lxc/129/config"))

    def test_a_container_without_a_name_starts_under_its_number(self):
        config = self.container()
        del config.options["hostname"]
        config_file.save(129, config)
        lifecycle.start(129, self.log)
        with open(f"{volumes.directory('local-lvm:vm-129-disk-0')}/etc/hostname", encoding="utf-8") as file:
            self.assertEqual(file.read(), "CT129\n")

    def test_a_container_that_does_not_come_up_is_told(self):
        self.starts = False
        self.container()
        self.assert_refused(lambda: lifecycle.start(129, self.log), "startup for container '129' failed")

    def test_what_cannot_start_is_refused(self):
        self.container(lock="backup")
        self.assert_refused(lambda: lifecycle.start(129, self.log), "CT is locked (backup)")
        self.container(template=1)
        self.assert_refused(lambda: lifecycle.start(129, self.log), "you can't start a CT if it's a template")
        self.container(running=True)
        self.assert_refused(lambda: lifecycle.start(129, self.log), "CT 129 already running")
        self.assertEqual(self.commands, [])

    def test_a_stale_device_stops_the_start(self):
        self.container(dev0="/dev/nope0")
        self.assert_refused(lambda: lifecycle.start(129, self.log), "Device /dev/nope0 does not exist")
        self.assertEqual(self.commands, [])

    def test_the_nodes_of_devices_are_made_anew_at_each_start(self):
        made = []
        self.patch("labpve.devices.make_node", lambda vmid, value, config: made.append(value))
        self.container(dev0="/dev/null,mode=0666", dev10="/dev/zero", dev2="/dev/full")
        lifecycle.start(129, self.log)
        self.assertEqual(made, ["/dev/null,mode=0666", "/dev/full", "/dev/zero"])

    def test_only_a_running_container_is_stopped(self):
        self.container()
        self.assert_refused(lambda: lifecycle.stop(129), "CT 129 not running")
        self.assert_refused(lambda: lifecycle.shutdown(129), "CT 129 not running")

    def test_stop_shutdown_and_reboot_ask_lxc_for_different_things(self):
        asked = []

        class Result:
            returncode = 0

        def run(command, **_options):
            asked.append(" ".join(command))
            self.running.discard(129)
            return Result()

        self.patch("labpve.lifecycle.subprocess.run", run)
        for operation in (
            lambda: lifecycle.stop(129),
            lambda: lifecycle.shutdown(129, 5),
            lambda: lifecycle.shutdown(129, 5, force=True),
            lambda: lifecycle.reboot(129, 7, self.log),
        ):
            self.container(running=True)
            operation()
        wanted = ["--kill", "--nokill --timeout 5", "--timeout 5", "--timeout 7"]
        self.assertEqual(asked, [f"lxc-stop -n 129 {words}" for words in wanted])
        self.assertIn(129, self.running)

    def test_a_shutdown_that_fails_leaves_the_container(self):
        class Result:
            returncode = 1

        self.patch("labpve.lifecycle.subprocess.run", lambda command, **options: Result())
        self.container(running=True)
        text = "command 'lxc-stop -n 129 --nokill --timeout 5' failed: exit code 1"
        self.assert_refused(lambda: lifecycle.shutdown(129, 5), text)
        self.assertIn(129, self.running)

    def test_a_removal_takes_disks_configuration_and_pool(self):
        kept = f"{self.root}/kept"
        os.makedirs(kept)
        self.container(unused0="local-lvm:vm-129-disk-1", mp0=f"{kept},mp=/srv")
        for number in (0, 1):
            os.makedirs(volumes.directory(f"local-lvm:vm-129-disk-{number}"), exist_ok=True)
        os.makedirs(f"{self.root}/var/lib/lxc/129")
        pools.create("gpu")
        pools.add("gpu", 129)
        lifecycle.destroy(129)
        self.assertFalse(config_file.exists(129))
        self.assertEqual(os.listdir(f"{self.root}/var/lib/lab-volumes/local-lvm"), [])
        self.assertEqual(os.listdir(f"{self.root}/var/lib/lxc"), [])
        self.assertEqual(pools.load(), {"gpu": []})
        self.assertTrue(os.path.isdir(kept))

    def test_a_running_container_is_removed_only_by_force(self):
        self.container(running=True)
        self.assert_refused(lambda: lifecycle.destroy(129), "container is running")
        self.patch("labpve.lifecycle.stop", self.running.discard)
        lifecycle.destroy(129, force=True)
        self.assertFalse(config_file.exists(129))

    def test_protection_and_locks_keep_it_even_then(self):
        self.container(protection=1)
        text = "can't remove CT 129 - protection mode enabled"
        self.assert_refused(lambda: lifecycle.destroy(129, force=True), text)
        self.container(lock="backup")
        self.assert_refused(lambda: lifecycle.destroy(129, force=True), "CT is locked (backup)")

    def test_a_disk_grows_to_or_by_a_size(self):
        self.container()
        lifecycle.resize(129, "rootfs", "10G")
        self.assertEqual(config_file.load(129).options["rootfs"], "local-lvm:vm-129-disk-0,size=10G")
        lifecycle.resize(129, "rootfs", "+512M")
        self.assertEqual(config_file.load(129).options["rootfs"], "local-lvm:vm-129-disk-0,size=10752M")

    def test_a_disk_does_not_shrink_and_must_be_there(self):
        self.container(unused0="local-lvm:vm-129-disk-1")
        self.assert_refused(lambda: lifecycle.resize(129, "rootfs", "1G"), "unable to shrink disk size")
        self.assert_refused(lambda: lifecycle.resize(129, "mp0", "1G"), "no such disk 'mp0'")
        self.assert_refused(lambda: lifecycle.resize(129, "unused0", "1G"), "no such disk 'unused0'")
        self.assert_refused(lambda: lifecycle.resize(129, "rootfs", "big"), "does not match", 400)
