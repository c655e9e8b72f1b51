"""What is refused before a container is made, and what is reserved."""

import os
import tarfile

from support import TEMPLATE, NodeTest

from labpve import config_file, create, pools, tasks, volumes


class _Preparing(NodeTest):
    def prepare(self, identity=None, **parameters):
        base = {"vmid": "150", "ostemplate": TEMPLATE, "rootfs": "local-lvm:8", "unprivileged": "1"}
        given = {**base, **{name.replace("_", "-"): str(value) for name, value in parameters.items()}}
        return create.prepare({k: v for k, v in given.items() if v != "None"}, identity)

    def assert_not_made(self, message, code=500, **parameters):
        self.assert_refused(lambda: self.prepare(**parameters), message, code)
        self.assertFalse(config_file.exists(150))


class CreateTest(_Preparing):
    def test_the_id_is_reserved_with_a_lock(self):
        self.prepare()
        self.assertEqual(config_file.load(150).options, {"lock": "create"})
        self.assert_refused(self.prepare, "CT 150 already exists on node")

    def test_the_configuration_is_in_its_stored_form(self):
        config = self.prepare(tags="gpu;ML", net0="bridge=vmbr0,name=eth0", mp0="local-lvm:2,mp=/d")[1]
        self.assertEqual(config.options["rootfs"], "local-lvm:vm-150-disk-0,size=8G")
        self.assertEqual(config.options["mp0"], "local-lvm:vm-150-disk-1,mp=/d,size=2G")
        self.assertEqual(config.options["tags"], "gpu;ml")
        self.assertTrue(config.options["net0"].startswith("name=eth0,bridge=vmbr0,hwaddr="))

    def test_defaults_are_those_of_proxmox(self):
        options = self.prepare()[1].options
        wanted = {"arch": "amd64", "hostname": "CT150", "memory": 512, "ostype": "debian", "swap": 512}
        self.assertEqual({key: options[key] for key in wanted}, wanted)

    def test_a_protected_container_can_be_created_with_disks(self):
        self.assertEqual(self.prepare(protection=1, mp0="local-lvm:2,mp=/d")[1].options["protection"], 1)

    def test_a_bare_size_lands_on_the_default_storage(self):
        config = self.prepare(rootfs="6", storage="local-lvm")[1]
        self.assertEqual(config.options["rootfs"], "local-lvm:vm-150-disk-0,size=6G")

    def test_version_8_makes_privileged_containers_by_default_and_9_does_not(self):
        self.assertFalse(self.prepare(unprivileged=None)[1].is_unprivileged())
        config_file.remove(150)
        self.play_version("9.1.1")
        self.assertTrue(self.prepare(unprivileged=None)[1].is_unprivileged())

    def test_bad_requests_reserve_nothing(self):
        self.assert_not_made("Device /dev/nope0 does not exist", dev0="/dev/nope0")
        self.assert_not_made("storage 'nope' does not exist", ostemplate="nope:vztmpl/x.tar.zst")
        self.assert_not_made("storage 'nope' does not exist", rootfs="volume=nope:8")
        self.assert_not_made("content type needs to be 'vztmpl'", ostemplate="local:iso/x.iso")
        self.assert_not_made("'rootfs' not set", rootfs=None, mp0="/srv,mp=/srv")
        self.assert_not_made("does not support container directories", 400, rootfs="local:8")
        self.assert_not_made("property is missing", 400, ostemplate=None)
        self.assert_not_made("not defined in schema", 400, bogus="1")
        self.assert_not_made("pool 'nope' does not exist", 403, pool="nope")
        self.assert_not_made("does not exist", hookscript="local:snippets/none.sh")


class CreateRightsTest(_Preparing):
    def test_machines_storage_and_bridge_rights_are_enough(self):
        self.grant(
            ("/vms", "a@pve", "PVEVMAdmin"),
            ("/storage", "a@pve", "PVEDatastoreUser"),
            ("/sdn", "a@pve", "PVESDNUser"),
        )
        self.prepare(identity="a@pve", net0="name=eth0,bridge=vmbr0", features="nesting=1")
        self.assertTrue(config_file.exists(150))

    def test_a_disk_that_nobody_named_needs_the_right_to_space_too(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"), ("/storage", "a@pve", "PVEAuditor"))
        for disk in ({"rootfs": None, "storage": "local-lvm"}, {"rootfs": "4", "storage": "local-lvm"}):
            with self.subTest(disk=disk):
                self.assert_not_made("/storage/local-lvm, Datastore.AllocateSpace", 403, identity="a@pve", **disk)

    def test_each_missing_right_is_refused(self):
        rights = {
            "/vms": ("PVEVMAdmin", "Permission check failed"),
            "/storage": ("PVEDatastoreUser", "/storage/local-lvm, Datastore.AllocateSpace"),
            "/sdn": ("PVESDNUser", "/sdn/zones/localnetwork/vmbr0, SDN.Use"),
        }
        for missing, (_, message) in rights.items():
            with self.subTest(missing=missing):
                self.grant(*[(path, "a@pve", role) for path, (role, _) in rights.items() if path != missing])
                self.assert_not_made(message, 403, identity="a@pve", net0="name=eth0,bridge=vmbr0")

    def test_a_pool_can_give_the_right(self):
        pools.create("gpu")
        self.grant(("/pool/gpu", "a@pve", "PVEVMAdmin"), ("/storage", "a@pve", "PVEDatastoreUser"))
        self.assert_not_made("Permission check failed", 403, identity="a@pve")
        self.prepare(identity="a@pve", pool="gpu")

    def test_only_version_9_asks_for_more_for_a_privileged_container(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"), ("/storage", "a@pve", "PVEDatastoreUser"))
        self.prepare(identity="a@pve", unprivileged=0)
        config_file.remove(150)
        self.play_version("9.1.1")
        self.assert_not_made("(/, Sys.Modify)", 403, identity="a@pve", unprivileged=0)
        self.prepare(identity="root@pam!iac", unprivileged=0)

    def test_a_path_as_template_is_for_root_only(self):
        self.assert_not_made(
            "Only root can pass arbitrary", identity="root@pam!iac", ostemplate="/tmp/x.tar.zst"
        )


class RunTest(_Preparing):
    """The creation itself, of a privileged container: its files belong to who runs the test."""

    def setUp(self):
        super().setUp()
        os.makedirs(f"{self.root}/content/etc")
        with open(f"{self.root}/content/etc/template", "w", encoding="utf-8") as file:
            file.write("from the template")
        with tarfile.open(f"{self.root}/var/lib/vz/template/cache/t.tar.gz", "w:gz") as archive:
            archive.add(f"{self.root}/content", ".")
        self.write("/var/lib/vz/template/cache/broken.tar.gz", "no archive")

    def run_creation(self, **parameters):
        base = {"unprivileged": 0, "ostemplate": "local:vztmpl/t.tar.gz"}
        create.run(self.prepare(**{**base, **parameters}), tasks.Log())

    def assert_nothing_left(self):
        self.assertFalse(config_file.exists(150))
        self.assertFalse(os.path.exists(f"{self.root}/var/lib/lxc/150"))
        self.assertFalse(os.path.exists(volumes.directory("local-lvm:vm-150-disk-0")))

    def test_a_container_has_its_template_its_disks_and_its_names(self):
        pools.create("gpu")
        self.run_creation(mp0="local-lvm:1,mp=/d", hostname="ml", pool="gpu")
        self.assertNotIn("lock", config_file.load(150).options)
        root = volumes.directory("local-lvm:vm-150-disk-0")
        with open(f"{root}/etc/template", encoding="utf-8") as file:
            self.assertEqual(file.read(), "from the template")
        with open(f"{root}/etc/hostname", encoding="utf-8") as file:
            self.assertEqual(file.read(), "ml\n")
        self.assertTrue(os.path.isdir(volumes.directory("local-lvm:vm-150-disk-1")))
        self.assertTrue(os.path.exists(f"{self.root}/var/lib/lxc/150/config"))
        self.assertEqual(pools.of(150), "gpu")

    def test_it_is_started_only_when_asked_for(self):
        started = []
        self.patch("labpve.lifecycle.start", lambda vmid, log: started.append(vmid))
        self.run_creation()
        self.assertEqual(started, [])
        config_file.remove(150)
        self.run_creation(start=1)
        self.assertEqual(started, [150])

    def test_a_missing_template_leaves_nothing(self):
        text = "unable to create CT 150 - volume 'local:vztmpl/no.tar.zst' does not exist"
        self.assert_refused(lambda: self.run_creation(ostemplate="local:vztmpl/no.tar.zst"), text)
        self.assert_nothing_left()

    def test_a_broken_template_leaves_nothing(self):
        call = lambda: self.run_creation(ostemplate="local:vztmpl/broken.tar.gz")  # noqa: E731
        self.assert_refused(call, "unable to create CT 150 - command 'tar")
        self.assert_nothing_left()
