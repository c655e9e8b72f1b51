"""What LXC is told, and the limits."""

import os

from support import NodeTest

from labpve import cgroups, lxc_config, volumes


class LxcConfigTest(NodeTest):
    def lines(self, **options):
        return lxc_config.render(129, self.container(**options)).splitlines()

    def test_an_unprivileged_container_has_its_own_ids_and_all_devices(self):
        lines = self.lines()
        self.assertIn("lxc.idmap = u 0 100000 65536", lines)
        self.assertIn("lxc.cgroup2.devices.allow = a", lines)

    def test_a_privileged_container_has_neither(self):
        lines = self.lines(unprivileged=0)
        self.assertFalse([line for line in lines if "idmap" in line or line.endswith("= a")])

    def test_a_device_is_allowed_by_its_numbers_without_the_right_to_make_nodes(self):
        lines = self.lines(dev0="/dev/null,mode=0666", dev1="/dev/zero,deny-write=1")
        self.assertIn("lxc.cgroup2.devices.allow = c 1:3 rw", lines)
        self.assertIn("lxc.cgroup2.devices.allow = c 1:5 r", lines)
        source = f"{self.root}/var/lib/lxc/129/passthrough/dev/null"
        self.assertIn(f"lxc.mount.entry = {source} dev/null none bind,create=file", lines)

    def test_a_missing_device_stops_the_rendering(self):
        self.assert_refused(lambda: self.lines(dev0="/dev/nope0"), "Device /dev/nope0 does not exist")

    def test_mounts_are_bound_and_read_only_where_asked(self):
        lines = self.lines(mp0="/srv/models,mp=/models,ro=1", mp1="local-lvm:vm-129-disk-1,mp=/data,size=1G")
        self.assertIn("lxc.mount.entry = /srv/models models none bind,create=dir,ro", lines)
        disk = f"{self.root}/var/lib/lab-volumes/local-lvm/vm-129-disk-1"
        self.assertIn(f"lxc.mount.entry = {disk} data none bind,create=dir", lines)

    def test_a_network_has_its_pair_on_the_bridge(self):
        lines = self.lines(
            net0="name=eth0,bridge=vmbr0,gw=10.0.0.1,hwaddr=BC:24:11:00:00:01,ip=10.0.0.2/24,type=veth"
        )
        for line in (
            "veth.pair = veth129i0",
            "link = vmbr0",
            "ipv4.address = 10.0.0.2/24",
            "ipv4.gateway = 10.0.0.1",
        ):
            self.assertIn(f"lxc.net.0.{line}", lines)

    def test_raw_lines_are_passed_on_unless_their_controller_is_missing(self):
        config = self.container()
        config.raw = [["lxc.cgroup2.memory.max", "1G"], ["lxc.environment", "A=b"]]
        text = lxc_config.render(129, config)
        self.assertIn("lxc.environment = A=b", text)
        self.assertNotIn("memory.max", text)

    def test_a_missing_source_of_a_mount_is_found(self):
        os.makedirs(volumes.directory("local-lvm:vm-129-disk-0"))
        there = self.container(mp0=f"{self.root},mp=/x")
        gone = self.container(mp0=f"{self.root}/gone,mp=/x")
        self.assertIsNone(lxc_config.check_mount_sources(there))
        self.assertEqual(lxc_config.check_mount_sources(gone), f"directory '{self.root}/gone' does not exist")


class LimitsTest(NodeTest):
    def test_limits_are_set_for_the_controllers_that_exist(self):
        options = {"memory": 1024, "swap": 0, "cpulimit": "1.5"}
        limits = cgroups.limits(options, {"memory", "cpu"})
        self.assertEqual(limits["memory.max"], str(1024 << 20))
        self.assertEqual(limits["memory.high"], str(1016 << 20))
        self.assertEqual(limits["memory.swap.max"], "0")
        self.assertEqual(limits["cpu.max"], "150000 100000")
        self.assertNotIn("cpuset.cpus", limits)
        self.assertEqual(cgroups.limits(options, set()), {})

    def test_large_memory_has_its_soft_limit_128_mebibytes_below(self):
        limits = cgroups.limits({"memory": 98304}, {"memory"})
        self.assertEqual(limits["memory.high"], str((98304 - 128) << 20))

    def test_cores_become_processors(self):
        limits = cgroups.limits({"cores": 1}, {"cpuset"})
        self.assertEqual(limits["cpuset.cpus"], str(min(os.sched_getaffinity(0))))

    def test_a_machine_without_the_hierarchy_has_no_controllers(self):
        self.assertEqual(cgroups.controllers(), set())
