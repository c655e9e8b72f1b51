"""Property strings, sizes, stored forms."""

import unittest

import support  # noqa: F401 (lets labpve be found)
from labpve import normalise, property_string, sizes


class PropertyStringTest(unittest.TestCase):
    def test_a_bare_part_belongs_to_the_default_key(self):
        parsed = property_string.parse("local-lvm:8,mp=/data,ro=1", "volume")
        self.assertEqual(parsed, {"volume": "local-lvm:8", "mp": "/data", "ro": "1"})

    def test_a_value_may_hold_an_equals_sign(self):
        self.assertEqual(property_string.parse("volume=local-lvm:8"), {"volume": "local-lvm:8"})

    def test_a_doubled_key_is_refused(self):
        with self.assertRaisesRegex(ValueError, "duplicate key in comma-separated list property: mode"):
            property_string.parse("path=/dev/null,mode=0660,mode=0666")

    def test_a_bare_part_without_default_key_is_refused(self):
        with self.assertRaisesRegex(ValueError, "does not define a default key"):
            property_string.parse("eth0,bridge=vmbr0")

    def test_rendering_puts_the_default_first_then_named_then_sorted(self):
        text = property_string.render(
            {"size": "8G", "mp": "/d", "backup": "1", "volume": "s:v"}, "volume", ("mp",)
        )
        self.assertEqual(text, "s:v,mp=/d,backup=1,size=8G")


class SizesTest(unittest.TestCase):
    def test_units_are_binary(self):
        self.assertEqual(sizes.parse("8G"), 8 << 30)
        self.assertEqual(sizes.parse("0.5G"), 512 << 20)
        self.assertIsNone(sizes.parse("8X"))

    def test_the_largest_whole_unit_is_shown(self):
        self.assertEqual(
            [sizes.render(n) for n in (8 << 30, 512 << 20, 1 << 40, 1000)], ["8G", "512M", "1T", "1000"]
        )


class NormaliseTest(unittest.TestCase):
    def test_tags_are_lowered_sorted_and_unique(self):
        self.assertEqual(normalise.tags("ML;gpu, GPU"), "gpu;ml")

    def test_a_network_keeps_its_hardware_address(self):
        old = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,type=veth"
        new = normalise.network("bridge=vmbr1,name=eth0", old)
        self.assertEqual(new, "name=eth0,bridge=vmbr1,hwaddr=BC:24:11:00:00:01,type=veth")

    def test_a_new_network_gets_a_hardware_address_of_proxmox(self):
        self.assertRegex(
            normalise.network("name=eth0"), r"^name=eth0,hwaddr=BC:24:11(:[0-9A-F]{2}){3},type=veth$"
        )

    def test_name_servers_are_separated_by_single_spaces(self):
        self.assertEqual(normalise.address_list("10.0.0.1, 10.0.0.2;10.0.0.3"), "10.0.0.1 10.0.0.2 10.0.0.3")
