"""Parameters: what Proxmox VE accepts and refuses."""

from support import NodeTest

from labpve import schema

ACCEPTED = {
    "dev0": "/dev/nvidia0,mode=0666",
    "dev1": "deny-write=0,path=/dev/nvidiactl,uid=0,gid=0,mode=0660",
    "dev255": "/dev/nvidia-uvm",
    "tags": "GPU;ML",
    "features": "nesting=1,keyctl=0,fuse=0,mknod=0",
    "hostname": "ml.example.org",
    "net0": "name=eth0,bridge=vmbr0,ip=10.0.0.2/24,gw=10.0.0.1",
    "mp0": "/srv/models,mp=/models,ro=1",
    "startup": "order=1,up=30",
    "memory": "16",
    "onboot": "yes",
}
REFUSED = {
    "dev0": [
        "/tmp/x",
        "/dev/../etc/x",
        "/dev/null,mode=666",
        "/dev/null,group=1",
        "mode=0660",
        "/dev/a,mode=0888",
    ],
    "dev256": ["/dev/null"],
    "dev01": ["/dev/null"],
    "features": ["nesting=1,gpu=1", "nesting"],
    "hostname": ["a_b", "-a", "a..b", ""],
    "net0": ["bridge=vmbr0", "name=eth0,ip=10.0.0.2", "name=eth0,hwaddr=xx"],
    "mp0": ["/srv/models", "/srv/models,mp=relative", "/srv/models,mp=/a/../b", "mp=/models"],
    "memory": ["15", "abc", "1.5"],
    "tty": ["7"],
    "onboot": ["maybe"],
    "ostype": ["windows"],
    "tags": ["a b!", "-x"],
    "lxc.idmap": ["u 0 1 1"],
    "dev[n]": ["/dev/null"],
}


class SchemaTest(NodeTest):
    def test_good_values_pass(self):
        checked = schema.check(ACCEPTED)
        self.assertEqual(checked["memory"], 16)
        self.assertEqual(checked["onboot"], 1)
        self.assertEqual(checked["dev0"], ACCEPTED["dev0"])

    def test_bad_values_are_refused_by_name(self):
        for name, values in REFUSED.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    error = self.assert_refused(
                        lambda: schema.check({name: value}), "Parameter verification", 400
                    )
                    self.assertEqual(list(error.errors), [name])

    def test_every_problem_is_in_one_error(self):
        bad = {"memory": "x", "tty": "9", "hostname": "a_b"}
        error = self.assert_refused(lambda: schema.check(bad), "", 400)
        self.assertEqual(set(error.errors), set(bad))

    def test_messages_are_those_of_proxmox(self):
        error = self.assert_refused(
            lambda: schema.check({"memory": "x", "dev0": "mode=0660", "cores": "0"}), "", 400
        )
        self.assertEqual(error.errors["memory"], "type check ('integer') failed - got 'x'")
        self.assertIn("dev0.path: property is missing and it is not optional", error.errors["dev0"])
        self.assertEqual(error.errors["cores"], "value must have a minimum value of 1")

    def test_only_version_9_knows_the_entry_point(self):
        self.assert_refused(lambda: schema.check({"entrypoint": "/init"}), "not defined in schema", 400)
        self.play_version("9.1.1")
        self.assertEqual(schema.check({"entrypoint": "/init"}), {"entrypoint": "/init"})

    def test_a_bare_size_is_a_disk_only_at_creation(self):
        self.assertEqual(schema.check({"rootfs": "8"}, schema.CREATE)["rootfs"], "8")
        self.assert_refused(lambda: schema.check({"mp0": "8"}, schema.UPDATE), "mp0.mp", 400)
