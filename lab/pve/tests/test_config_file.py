"""The configuration file: reading and writing."""

from support import NodeTest

from labpve import config_file

FILE = """#first line %C3%BC 100%25
#second
arch: amd64
dev0: /dev/nvidia0,mode=0666
dev10: /dev/nvidiactl,mode=0666
features: nesting=1,keyctl=0
hostname: ml
memory: 98304
onboot: 1
unprivileged: 1
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file

[pve:pending]
delete: dev0,mp1
memory: 4096

[before-upgrade]
arch: amd64
snaptime: 1700000000
"""


class ConfigFileTest(NodeTest):
    def parse(self, text):
        self.warnings = []
        return config_file.parse(text, 129, lambda vmid, line: self.warnings.append((vmid, line)))

    def test_what_was_read_is_written_again_unchanged(self):
        config = self.parse(FILE.replace("features: nesting=1,keyctl=0\n", "features: nesting=1,keyctl=0\n"))
        self.assertEqual(config_file.render(config), FILE)
        self.assertEqual(self.warnings, [])

    def test_values_are_typed(self):
        config = self.parse("memory: 98304\nonboot: yes\ncpulimit: 1.5\n")
        self.assertEqual(config.options, {"memory": 98304, "onboot": 1, "cpulimit": "1.5"})

    def test_the_description_is_decoded_and_ends_with_a_line_break(self):
        self.assertEqual(self.parse(FILE).options["description"], "first line ü 100%\nsecond\n")

    def test_a_comment_written_by_hand_becomes_the_description(self):
        self.assertEqual(self.parse("# by hand\nmemory: 512\n").options["description"], " by hand\n")

    def test_pending_values_and_removals_are_kept_apart(self):
        config = self.parse(FILE)
        self.assertEqual(config.options["memory"], 98304)
        self.assertEqual(config.pending, {"memory": 4096})
        self.assertEqual(config.pending_delete, {"dev0", "mp1"})

    def test_a_saved_state_does_not_reach_the_main_section(self):
        config = self.parse("memory: 512\n\n[snap]\nmemory: 9999\n")
        self.assertEqual(config.options, {"memory": 512})
        self.assertEqual(config.saved, [("snap", "memory: 9999")])

    def test_unknown_keys_are_dropped_with_a_warning(self):
        config = self.parse("memory: 512\nnonsense: 1\ndev300: /dev/null\nno colon\n")
        self.assertEqual(config.options, {"memory": 512})
        self.assertEqual(
            [line for _, line in self.warnings], ["nonsense: 1", "dev300: /dev/null", "no colon"]
        )

    def test_devices_are_ordered_by_number(self):
        config = self.parse("dev10: /dev/c\ndev2: /dev/b\ndev0: /dev/a\n")
        self.assertEqual([entry[1] for entry in config.indexed("dev")], ["dev0", "dev2", "dev10"])

    def test_an_empty_value_is_not_written(self):
        config = config_file.ContainerConfig({"memory": 512, "tags": "", "description": ""})
        self.assertEqual(config_file.render(config), "memory: 512\n")

    def test_a_missing_container_has_the_message_of_proxmox(self):
        self.assert_refused(lambda: config_file.load(999), "/lxc/999.conf' does not exist")

    def test_the_digest_follows_the_content(self):
        self.container(memory=512)
        before = config_file.digest(129)
        self.container(memory=513)
        self.assertNotEqual(config_file.digest(129), before)

    def test_ids_are_numeric_and_sorted(self):
        for name in ("1000.conf", "129.conf", "x.conf", "129.conf.tmp"):
            self.write(f"/etc/pve/lxc/{name}", "")
        self.assertEqual(config_file.vmids(), [129, 1000])
