"""Privileges: roles, paths, tokens, pools, and what only root@pam may change."""

from support import NodeTest

from labpve import container_permissions, permissions, pools, privileges


class PrivilegesTest(NodeTest):
    def test_the_administrator_has_everything_and_the_auditor_only_looks(self):
        roles = privileges.built_in_roles(8)
        self.assertEqual(roles["Administrator"], privileges.all_privileges(8))
        self.assertTrue(all(name.endswith(".Audit") for name in roles["PVEAuditor"]))
        self.assertIn("VM.Audit", roles["PVEAuditor"])

    def test_the_admin_of_machines_may_allocate_but_not_modify_the_system(self):
        role = privileges.built_in_roles(8)["PVEVMAdmin"]
        self.assertTrue({"VM.Allocate", "VM.Config.Disk", "VM.PowerMgmt", "VM.Audit"} <= role)
        self.assertFalse({"Sys.Modify", "Datastore.AllocateSpace", "SDN.Use"} & role)

    def test_the_admin_of_storages_may_use_templates_and_space(self):
        role = privileges.built_in_roles(8)["PVEDatastoreAdmin"]
        wanted = {
            "Datastore.Allocate",
            "Datastore.AllocateSpace",
            "Datastore.AllocateTemplate",
            "Datastore.Audit",
        }
        self.assertEqual(role, wanted)

    def test_version_9_has_no_monitor_privilege(self):
        self.assertIn("VM.Monitor", privileges.all_privileges(8))
        self.assertNotIn("VM.Monitor", privileges.all_privileges(9))


class PathsTest(NodeTest):
    def test_an_entry_reaches_the_paths_below_unless_it_does_not_propagate(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"), ("/vms", "b@pve", "PVEVMAdmin", 0))
        self.assertTrue(permissions.allows("a@pve", "/vms/150", ["VM.Allocate"]))
        self.assertFalse(permissions.allows("b@pve", "/vms/150", ["VM.Allocate"]))
        self.assertTrue(permissions.allows("b@pve", "/vms", ["VM.Allocate"]))

    def test_a_deeper_entry_replaces_the_one_above(self):
        self.grant(("/", "a@pve", "Administrator"), ("/vms/150", "a@pve", "PVEAuditor"))
        self.assertFalse(permissions.allows("a@pve", "/vms/150", ["VM.Allocate"]))
        self.assertTrue(permissions.allows("a@pve", "/vms/151", ["VM.Allocate"]))

    def test_no_access_takes_everything(self):
        self.grant(("/", "a@pve", "Administrator"), ("/vms/150", "a@pve", "NoAccess"))
        self.assertEqual(permissions.privileges_on("a@pve", "/vms/150"), set())

    def test_a_role_of_the_file_has_its_list(self):
        self.grant(("/vms", "a@pve", "Starter"), roles={"Starter": ["VM.PowerMgmt"]})
        self.assertEqual(permissions.privileges_on("a@pve", "/vms/150"), {"VM.PowerMgmt"})

    def test_a_pool_passes_its_privileges_to_its_containers(self):
        self.grant(("/pool/gpu", "a@pve", "PVEVMAdmin"))
        pools.create("gpu")
        self.assertFalse(permissions.allows("a@pve", "/vms/150", ["VM.Audit"]))
        pools.add("gpu", 150)
        self.assertTrue(permissions.allows("a@pve", "/vms/150", ["VM.Audit"]))

    def test_the_refusal_names_path_and_privilege(self):
        self.grant()
        check = permissions.check
        self.assert_refused(lambda: check("a@pve", "/vms/1", ["VM.Audit"]), "(/vms/1, VM.Audit)", 403)
        several = ["Datastore.Audit", "Datastore.AllocateSpace"]
        text = "(/storage/local, Datastore.Audit|Datastore.AllocateSpace)"
        self.assert_refused(lambda: check("a@pve", "/storage/local", several, True), text, 403)


class TokensTest(NodeTest):
    def test_a_token_without_separation_may_what_its_user_may(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"), tokens={"a@pve!t": {"secret": "s", "privsep": 0}})
        self.assertEqual(
            permissions.privileges_on("a@pve!t", "/vms/1"), permissions.privileges_on("a@pve", "/vms/1")
        )

    def test_a_separated_token_may_what_both_may(self):
        self.grant(
            ("/vms", "a@pve", "PVEVMUser"),
            ("/vms", "a@pve!t", "PVEVMAdmin"),
            tokens={"a@pve!t": {"secret": "s", "privsep": 1}},
        )
        held = permissions.privileges_on("a@pve!t", "/vms/1")
        self.assertIn("VM.PowerMgmt", held)
        self.assertNotIn("VM.Allocate", held)

    def test_separation_is_the_default(self):
        self.grant(("/", "a@pve", "Administrator"), tokens={"a@pve!t": {"secret": "s"}})
        self.assertEqual(permissions.privileges_on("a@pve!t", "/"), set())

    def test_a_token_of_root_is_not_root(self):
        self.assertTrue(permissions.allows("root@pam!iac", "/", ["Sys.Modify"]))
        self.assertFalse(permissions.is_root("root@pam!iac"))


class ContainerPermissionsTest(NodeTest):
    def check(self, new, identity="root@pam!iac", old=None, deletes=(), unprivileged=True):
        container_permissions.check_change(identity, 150, old or {}, new, deletes, unprivileged=unprivileged)

    def assert_denied(self, message, *arguments, **named):
        self.assert_refused(lambda: self.check(*arguments, **named), message, 403)

    def test_root_with_a_password_may_everything(self):
        everything = {"dev0": "/dev/null", "mp0": "/srv,mp=/srv", "features": "keyctl=1", "hookscript": "x"}
        self.check(everything, identity="root@pam")
        self.check(everything, identity=None)

    def test_devices_are_for_root_only(self):
        text = "(configuring device passthrough is only allowed for root@pam)"
        self.assert_denied(text, {"dev0": "/dev/null"})
        self.assert_denied(text, {}, deletes=["dev3"])

    def test_bind_and_raw_device_mounts_are_for_root_only(self):
        self.assert_denied("(mount point type bind is only allowed for root@pam)", {"mp0": "/srv,mp=/srv"})
        self.assert_denied(
            "(mount point type device is only allowed for root@pam)", {"mp0": "/dev/sda,mp=/srv"}
        )

    def test_the_hook_script_is_for_root_only(self):
        self.assert_denied(
            "(changing the hookscript is only allowed for root@pam)", {"hookscript": "local:snippets/x"}
        )

    def test_a_token_may_switch_nesting(self):
        self.check({"features": "nesting=1"})
        self.check({"features": "nesting=0,keyctl=1"}, old={"features": "nesting=1,keyctl=1"})

    def test_explicit_zeros_are_a_change_of_flags(self):
        text = "(changing feature flags (except nesting) is only allowed for root@pam)"
        self.assert_denied(text, {"features": "nesting=1,keyctl=0"})
        self.assert_denied(text, {"features": "nesting=1,keyctl=0"}, old={"features": "nesting=1"})
        self.assert_denied(text, {}, old={"features": "nesting=1,fuse=1"}, deletes=["features"])

    def test_the_same_zeros_again_are_no_change(self):
        self.check({"features": "keyctl=0,nesting=1"}, old={"features": "nesting=1,keyctl=0"})

    def test_flags_of_a_privileged_container_are_for_root_only(self):
        text = "(changing feature flags for privileged container is only allowed for root@pam)"
        self.assert_denied(text, {"features": "nesting=1"}, unprivileged=False)

    def test_each_option_needs_its_privilege(self):
        self.grant(("/vms", "a@pve", "PVEAuditor"))
        wanted = {
            "cores": "VM.Config.CPU",
            "memory": "VM.Config.Memory",
            "swap": "VM.Config.Memory",
            "hostname": "VM.Config.Network",
            "nameserver": "VM.Config.Network",
            "onboot": "VM.Config.Options",
            "tags": "VM.Config.Options",
            "protection": "VM.Config.Options",
        }
        for option, privilege in wanted.items():
            with self.subTest(option=option):
                self.assert_denied(f"(/vms/150, {privilege})", {option: "1"}, identity="a@pve")
        self.assert_denied("(/vms/150, VM.Config.Disk)", {"mp0": "local-lvm:1,mp=/d"}, identity="a@pve")
        self.assert_denied("(/vms/150, VM.Config.Network)", {"net0": "name=eth0"}, identity="a@pve")

    def test_a_bridge_needs_use_of_its_zone(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"))
        text = "(/sdn/zones/localnetwork/vmbr0, SDN.Use)"
        self.assert_denied(text, {"net0": "name=eth0,bridge=vmbr0"}, identity="a@pve")

    def test_a_new_disk_needs_space_on_the_storage(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"))
        text = "(/storage/local-lvm, Datastore.AllocateSpace)"
        self.assert_denied(text, {"mp0": "local-lvm:4,mp=/d"}, identity="a@pve")

    def test_a_disk_of_another_container_needs_allocation(self):
        self.grant(("/vms", "a@pve", "PVEVMAdmin"), ("/storage", "a@pve", "PVEDatastoreUser"))
        text = "(/storage/local-lvm, Datastore.Allocate)"
        self.assert_denied(text, {"mp0": "local-lvm:vm-7-disk-0,mp=/d"}, identity="a@pve")
        self.check({"mp0": "local-lvm:vm-150-disk-1,mp=/d"}, identity="a@pve")
