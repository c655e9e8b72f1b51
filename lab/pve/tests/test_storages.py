"""Storages and what is on them."""

from support import NodeTest

from labpve import storages


class StoragesTest(NodeTest):
    def test_the_file_is_read(self):
        entries = storages.load()
        self.assertEqual(entries["local"]["type"], "dir")
        self.assertEqual(storages.contents(entries["local-lvm"]), ["rootdir", "images"])

    def test_an_unknown_storage_is_refused(self):
        self.assert_refused(lambda: storages.get("nope"), "storage 'nope' does not exist")

    def test_content_must_be_allowed(self):
        text = "storage 'local-lvm' is not configured for content-type 'vztmpl'"
        self.assert_refused(lambda: storages.get("local-lvm", "vztmpl"), text)

    def test_a_template_has_a_path(self):
        path = storages.file_path("local:vztmpl/debian.tar.zst")
        self.assertEqual(path, f"{self.root}/var/lib/vz/template/cache/debian.tar.zst")

    def test_no_volume_name_leaves_its_folder(self):
        for name in ("vztmpl/../x.tar.zst", "vztmpl/..", "vztmpl/", "etc/passwd", "vztmpl"):
            with self.subTest(name=name):
                self.assert_refused(
                    lambda: storages.file_path(f"local:{name}"), "unable to parse directory volume"
                )

    def test_the_listing_shows_archives_and_disks(self):
        self.container()
        for name in ("x.txt", ".hidden.tar.zst", "half.tar.zst.tmp_dwnl.1.2"):
            self.write(f"/var/lib/vz/template/cache/{name}", "")
        files = storages.listing("local", "vztmpl")
        self.assertEqual([entry["volid"] for entry in files], ["local:vztmpl/debian.tar.zst"])
        self.assertEqual((files[0]["format"], files[0]["size"]), ("tzst", len("not read")))
        disks = storages.listing("local-lvm")
        self.assertEqual(
            [(d["volid"], d["size"], d["vmid"]) for d in disks], [("local-lvm:vm-129-disk-0", 8 << 30, 129)]
        )
