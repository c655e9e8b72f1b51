"""Changes of a running and a stopped container, on Proxmox VE 8 and 9."""

import os

from support import NodeTest

from labpve import change, config_file, pending, volumes
from labpve.errors import PveError


class PendingTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.live = []
        self.patch("labpve.network.put", lambda vmid, index, value, pid: self.live.append(("net", index)))
        self.patch("labpve.network.remove", lambda vmid, index: self.live.append(("no net", index)))
        self.patch("labpve.mounts.mount_into", lambda pid, *rest: self.live.append(("mount", *rest)))
        self.patch("labpve.cgroups.apply_live", lambda vmid, options: self.live.append(("limits", options)))
        self.patch("labpve.devices.make_node", lambda vmid, value, config: "/made/node")
        self.patch("labpve.lxc_config.write", lambda vmid, config: None)

    def set(self, **parameters):
        change.update(129, {name: str(value) for name, value in parameters.items()})
        return config_file.load(129)

    def test_what_proxmox_applies_at_once_is_not_pending(self):
        self.container(running=True)
        config = self.set(description="new", hostname="other", onboot=1, protection=1, tags="B;a", cores=4)
        self.assertEqual(config.pending, {})
        self.assertEqual(config.options["hostname"], "other")
        self.assertEqual(config.options["tags"], "a;b")

    def test_memory_is_changed_live(self):
        self.container(running=True)
        config = self.set(memory=2048)
        self.assertEqual((config.options["memory"], config.pending), (2048, {}))
        self.assertEqual(self.live[0][0], "limits")
        self.assertEqual(self.live[0][1]["memory"], 2048)

    def test_the_name_server_of_a_running_container_waits(self):
        self.container(running=True)
        config = self.set(nameserver="10.0.0.1, 10.0.0.2")
        self.assertEqual(config.pending, {"nameserver": "10.0.0.1 10.0.0.2"})
        self.assertNotIn("nameserver", config.options)

    def test_features_of_a_running_container_wait(self):
        self.container(running=True, features="nesting=1")
        config = self.set(features="nesting=1,keyctl=0")
        self.assertEqual(config.pending, {"features": "nesting=1,keyctl=0"})
        self.assertEqual(config.options["features"], "nesting=1")

    def test_a_network_is_changed_and_removed_live(self):
        self.container(running=True, net0="name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,type=veth")
        config = self.set(net0="name=eth0,bridge=vmbr1")
        self.assertIn("bridge=vmbr1", config.options["net0"])
        config = self.set(delete="net0")
        self.assertNotIn("net0", config.options)
        self.assertEqual(self.live, [("net", 0), ("no net", 0)])

    def test_a_new_mount_point_is_mounted_live(self):
        self.container(running=True)
        config = self.set(mp0="/srv/models,mp=/models,ro=1")
        self.assertEqual(config.options["mp0"], "/srv/models,mp=/models,ro=1")
        self.assertEqual(self.live, [("mount", "/srv/models", "/models", True)])

    def test_a_changed_or_removed_mount_point_waits(self):
        self.container(running=True, mp0="/srv/a,mp=/a", mp1="/srv/b,mp=/b")
        config = self.set(mp0="/srv/a,mp=/a,ro=1", delete="mp1")
        self.assertEqual(config.pending, {"mp0": "/srv/a,mp=/a,ro=1"})
        self.assertEqual(config.pending_delete, {"mp1"})
        self.assertEqual(self.live, [])

    def test_what_is_set_at_once_is_removed_at_once_and_the_rest_waits(self):
        disk = volumes.directory("local-lvm:vm-129-disk-3")
        os.makedirs(disk)
        self.container(
            running=True, tags="a", description="x", nameserver="10.0.0.1", unused0="local-lvm:vm-129-disk-3"
        )
        config = self.set(delete="tags,description,nameserver,unused0")
        self.assertEqual(config.pending_delete, {"nameserver"})
        self.assertEqual({"tags", "description", "unused0"} & set(config.options), set())
        self.assertFalse(os.path.isdir(disk))

    def test_a_removed_limit_is_lifted_live(self):
        self.container(running=True, cpulimit="2", swap=512)
        config = self.set(delete="cpulimit,swap")
        self.assertEqual({"cpulimit", "swap"} & set(config.options), set())
        self.assertNotIn("cpulimit", self.live[0][1])
        self.assertEqual(self.live[1][1]["swap"], 0)

    def test_a_new_device_waits_on_version_8(self):
        self.container(running=True)
        config = self.set(dev0="/dev/null,mode=0666")
        self.assertEqual(config.pending, {"dev0": "/dev/null,mode=0666"})
        self.assertNotIn("dev0", config.options)

    def test_a_new_device_is_plugged_in_on_version_9(self):
        self.play_version("9.1.1")
        self.container(running=True)
        config = self.set(dev0="/dev/null,mode=0666")
        self.assertEqual(config.options["dev0"], "/dev/null,mode=0666")
        self.assertEqual(self.live, [("mount", "/made/node", "/dev/null")])

    def test_a_changed_or_removed_device_waits_on_both(self):
        for version in ("8.4.1", "9.1.1"):
            with self.subTest(version=version):
                self.play_version(version)
                self.container(running=True, dev0="/dev/null", dev1="/dev/zero")
                config = self.set(dev0="/dev/full", delete="dev1")
                self.assertEqual(config.pending, {"dev0": "/dev/full"})
                self.assertEqual(config.pending_delete, {"dev1"})

    def test_a_failed_hotplug_is_reported_and_the_value_waits(self):
        def fail(*_arguments):
            raise PveError("no room")

        self.container(running=True)
        self.patch("labpve.mounts.mount_into", fail)
        error = self.assert_refused(
            lambda: self.set(mp0="/srv,mp=/srv"), "Parameter verification failed", 400
        )
        self.assertEqual(error.errors, {"mp0": "unable to hotplug mp0: no room\n"})
        self.assertIn("mp0", config_file.load(129).pending)

    def test_a_stopped_container_takes_everything_at_once(self):
        self.container(dev1="/dev/zero")
        config = self.set(dev0="/dev/null", nameserver="10.0.0.1", delete="dev1")
        self.assertEqual((config.pending, config.pending_delete), ({}, set()))
        self.assertEqual(config.options["dev0"], "/dev/null")
        self.assertNotIn("dev1", config.options)

    def test_the_start_applies_what_waits(self):
        config = self.container(dev1="/dev/zero")
        config.pending, config.pending_delete = {"features": "nesting=1"}, {"dev1"}
        pending.apply_stopped(config)
        self.assertEqual(config.options["features"], "nesting=1")
        self.assertNotIn("dev1", config.options)
        self.assertEqual((config.pending, config.pending_delete), ({}, set()))

    def test_a_value_set_back_to_the_present_one_no_longer_waits(self):
        self.container(running=True, features="nesting=1")
        self.set(features="nesting=0")
        self.assertEqual(self.set(features="nesting=1").pending, {})

    def test_revert_takes_back_what_waits(self):
        self.container(running=True, dev1="/dev/zero")
        self.set(features="nesting=1", delete="dev1")
        config = self.set(revert="features,dev1")
        self.assertEqual((config.pending, config.pending_delete), ({}, set()))

    def test_the_merged_view_shows_what_will_be(self):
        config = self.container(dev0="/dev/null", dev1="/dev/zero")
        config.pending, config.pending_delete = {"dev0": "/dev/full"}, {"dev1"}
        merged = pending.merged(config)
        self.assertEqual(merged["dev0"], "/dev/full")
        self.assertNotIn("dev1", merged)
        listing = {entry["key"]: entry for entry in pending.listing(config)}
        self.assertEqual(listing["dev0"], {"key": "dev0", "value": "/dev/null", "pending": "/dev/full"})
        self.assertEqual(listing["dev1"], {"key": "dev1", "value": "/dev/zero", "delete": 1})


class ChangeTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.told_lxc = []
        self.patch("labpve.lxc_config.write", lambda vmid, config: self.told_lxc.append(vmid))

    def set(self, identity=None, **parameters):
        change.update(129, parameters, identity)
        return config_file.load(129)

    def assert_unchanged(self, message, code=500, **parameters):
        before = config_file.digest(129)
        error = self.assert_refused(lambda: self.set(**parameters), message, code)
        self.assertEqual(config_file.digest(129), before)
        return error

    def test_a_device_without_node_is_refused_and_nothing_written(self):
        self.container()
        self.assert_unchanged("Device /dev/nope0 does not exist", dev0="/dev/nope0", cores="2")
        self.assert_unchanged("/dev/shm is not a device", dev0="/dev/shm")

    def test_with_a_stale_device_the_change_is_made_and_the_call_fails(self):
        self.container(dev0="/dev/nope0")
        self.assert_refused(lambda: self.set(cores="3"), "Device /dev/nope0 does not exist")
        self.assertEqual(config_file.load(129).options["cores"], 3)

    def test_removing_the_stale_device_heals(self):
        self.container(dev0="/dev/nope0")
        self.assertNotIn("dev0", self.set(delete="dev0").options)

    def test_lxc_is_told_when_the_container_is_stopped(self):
        self.container()
        self.set(cores="2")
        self.assertEqual(self.told_lxc, [129])
        self.running.add(129)
        self.set(cores="3")
        self.assertEqual(self.told_lxc, [129])

    def test_nothing_to_do_is_refused(self):
        self.container()
        self.assert_unchanged("no options specified")

    def test_unknown_and_contradicting_removals_are_refused(self):
        self.container(cores=2)
        self.assert_unchanged("unknown option 'dev300x'", 400, delete="dev300x")
        self.assert_unchanged("at the same time", 400, delete="cores", cores="4")

    def test_needed_and_read_only_options_stay(self):
        self.container()
        for option in ("memory", "rootfs", "ostype"):
            self.assert_unchanged(f"unable to delete required option '{option}'", delete=option)
        self.assert_unchanged("unable to modify read-only option: 'unprivileged'", unprivileged="0")
        self.assert_unchanged("unable to delete read-only option: 'unprivileged'", delete="unprivileged")

    def test_a_lock_refuses_every_change(self):
        self.container(lock="backup")
        self.assert_unchanged("CT is locked (backup)", cores="2")

    def test_a_changed_digest_is_refused(self):
        self.container()
        self.assert_unchanged("detected modified configuration", digest="0" * 40, cores="2")
        self.assertEqual(self.set(digest=config_file.digest(129), cores="2").options["cores"], 2)

    def test_protection_keeps_the_disks(self):
        self.container(protection=1, mp0="local-lvm:vm-129-disk-1,mp=/d,size=1G")
        self.assert_unchanged("can't remove CT 129 drive 'mp0' - protection mode enabled", delete="mp0")
        self.assert_unchanged("can't update CT 129 drive 'mp1' - protection mode enabled", mp1="/srv,mp=/s")
        self.assertEqual(self.set(cores="2").options["cores"], 2)

    def test_a_removed_disk_is_kept_as_unused(self):
        os.makedirs(volumes.directory("local-lvm:vm-129-disk-1"))
        self.container(mp0="local-lvm:vm-129-disk-1,mp=/d,size=1G")
        config = self.set(delete="mp0")
        self.assertEqual(config.options["unused0"], "local-lvm:vm-129-disk-1")
        self.assertTrue(os.path.isdir(volumes.directory("local-lvm:vm-129-disk-1")))
        self.set(delete="unused0")
        self.assertFalse(os.path.isdir(volumes.directory("local-lvm:vm-129-disk-1")))

    def test_a_removed_bind_mount_leaves_nothing(self):
        self.container(mp0="/srv,mp=/srv")
        config = self.set(delete="mp0")
        self.assertFalse([key for key in config.options if key.startswith("unused")])

    def test_a_new_disk_gets_the_next_number(self):
        self.container(unused0="local-lvm:vm-129-disk-1")
        config = self.set(mp0="local-lvm:2,mp=/d")
        self.assertEqual(config.options["mp0"], "local-lvm:vm-129-disk-2,mp=/d,size=2G")
        self.assertTrue(os.path.isdir(volumes.directory("local-lvm:vm-129-disk-2")))

    def test_the_size_of_a_disk_stays_when_its_options_change(self):
        os.makedirs(volumes.directory("local-lvm:vm-129-disk-0"))
        self.container()
        config = self.set(rootfs="volume=local-lvm:vm-129-disk-0,mountoptions=noatime")
        self.assertEqual(config.options["rootfs"], "local-lvm:vm-129-disk-0,mountoptions=noatime,size=8G")

    def test_a_token_is_refused_before_anything_is_written(self):
        self.container()
        self.assert_unchanged(
            "only allowed for root@pam", 403, identity="root@pam!iac", dev0="/dev/null", cores="2"
        )
