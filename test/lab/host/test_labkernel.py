"""The simulated kernel's rules, without a host: which cards take which driver, which files show what."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "lab" / "gpu"))

from labkernel import files, inventory, modules, nvidia, pci  # noqa: E402

CARD = {
    "pci": "0000:41:00.0",
    "id": "10de:2bb1",
    "subsys": "10de:204b",
    "class": "030000",
    "rev": "a1",
    "audio": "10de:22e8",
    "name": "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    "uuid": "GPU-6f1e2d00-5b1d-4c2e-8a90-1f2e3d4c5b00",
    "minor": 3,
    "memory": 97887,
    "cc": "12.0",
    "open_only": True,
    "min_driver": "570.133.07",
}


class RefusalTest(unittest.TestCase):
    def test_a_blackwell_card_takes_open_modules_from_its_first_driver_on(self) -> None:
        self.assertIsNone(nvidia.refusal(CARD, "570.133.07", True))
        self.assertIn("not supported by the NVIDIA 570.124.04", str(nvidia.refusal(CARD, "570.124.04", True)))
        self.assertIn("requires use of the NVIDIA open", str(nvidia.refusal(CARD, "590.48.01", False)))

    def test_versions_are_compared_as_numbers(self) -> None:
        self.assertIsNone(nvidia.refusal({**CARD, "min_driver": "570.86.15"}, "570.133.07", True))

    def test_a_card_without_support_in_the_open_modules_refuses_them(self) -> None:
        old = {"pci": "0000:01:00.0", "id": "10de:1b06", "open_never": True}
        self.assertIsNone(nvidia.refusal(old, "580.105.08", False))
        self.assertIn("not supported by open nvidia.ko", str(nvidia.refusal(old, "580.105.08", True)))


class InventoryTest(unittest.TestCase):
    def test_every_inventory_of_the_lab_is_valid(self) -> None:
        folder = Path(inventory.__file__).parents[2] / "inventory"
        found = list(folder.glob("*.json"))
        self.assertGreaterEqual(len(found), 5)
        for file in found:
            self.assertEqual(inventory.main([str(file)]), 0, file)

    def test_all_problems_are_told(self) -> None:
        other = {**CARD, "minor": "x"}
        del other["name"]
        self.assertEqual(
            inventory.problems({"gpus": [CARD, other]}),
            [
                "gpus[1].name: is missing",
                r"gpus[1].minor: 'x' does not match \d{1,3}",
                "pci 0000:41:00.0: more than one card has it",
                "uuid %s: more than one card has it" % CARD["uuid"],
            ],
        )
        self.assertEqual(inventory.problems([]), ['must be an object {"gpus": [...]}'])


class PciTest(unittest.TestCase):
    def test_the_modalias_is_the_one_that_module_files_are_matched_with(self) -> None:
        aliases = [pci.modalias(function) for function in pci.functions(CARD)]
        self.assertEqual(
            aliases,
            [
                "pci:v000010DEd00002BB1sv000010DEsd0000204Bbc03sc00i00",
                "pci:v000010DEd000022E8sv000010DEsd0000204Bbc04sc03i00",
            ],
        )


class ShowTest(unittest.TestCase):
    """A kernel in a temporary folder instead of /run, /sys and /proc."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        places = {
            "PCI": "pci",
            "NVIDIA_PROC": "proc-nvidia",
            "KERNEL_MESSAGES": "dmesg",
            "PROC_DEVICES": "devices",
            "PROC_DEVICES_BASE": "devices.base",
        }
        for name, place in places.items():
            self.replace(files, name, self.root / place)
        self.replace(nvidia, "_MAJORS", self.root / "majors")
        self.replace(nvidia, "_OPENED", self.root / "opened")
        self.replace(inventory, "load", lambda: [CARD])
        files.PROC_DEVICES_BASE.write_text("Character devices:\n  1 mem\n236 rtc\n\nBlock devices:\n  7 loop\n")
        nvidia.choose_majors()
        pci.populate([CARD])

    def replace(self, target: object, name: str, value: object) -> None:
        patch = mock.patch.object(target, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def table(self, *names: str, version: str = "580.105.08", is_open: bool = True) -> "dict[str, modules.Module]":
        return {name: {"version": version, "open": is_open, "depends": [], "size": 1, "path": ""} for name in names}

    def information(self) -> str:
        return (files.NVIDIA_PROC / "gpus" / CARD["pci"] / "information").read_text()

    def test_uuid_and_firmware_are_known_after_a_client_opened_the_card(self) -> None:
        table = self.table("nvidia")
        nvidia.show(table)
        self.assertIn("GPU UUID: \t GPU-????????-", self.information())
        self.assertIn("Device Minor: \t 3\n", self.information())
        nvidia.opened(table)
        self.assertIn("GPU UUID: \t %s\n" % CARD["uuid"], self.information())

    def test_unloading_takes_everything_away_and_forgets_the_uuid(self) -> None:
        nvidia.show(self.table("nvidia", "nvidia_uvm"))
        nvidia.opened(self.table("nvidia"))
        nvidia.show({})
        self.assertFalse(files.NVIDIA_PROC.exists())
        self.assertNotIn("nvidia", files.PROC_DEVICES.read_text())
        self.assertFalse((files.PCI / "devices" / CARD["pci"] / "driver").is_symlink())
        nvidia.show(self.table("nvidia"))
        self.assertIn("GPU-????????-", self.information())

    def test_a_card_that_the_driver_refuses_is_bound_to_nothing(self) -> None:
        nvidia.show(self.table("nvidia", is_open=False))
        self.assertFalse((files.PCI / "devices" / CARD["pci"] / "driver").is_symlink())
        self.assertFalse((files.NVIDIA_PROC / "gpus").exists())
        self.assertFalse(nvidia.probe("580.105.08", False, False))
        self.assertIn("requires use of the NVIDIA open kernel modules", files.KERNEL_MESSAGES.read_text())

    def test_nouveau_keeps_the_driver_from_its_cards(self) -> None:
        nvidia.show(self.table("nouveau"))
        driver = files.PCI / "devices" / CARD["pci"] / "driver"
        self.assertEqual(str(driver.readlink()), "../../drivers/nouveau")
        self.assertFalse(nvidia.probe("580.105.08", True, True))
        self.assertTrue(nvidia.probe("580.105.08", True, False))

    def test_device_numbers_never_collide_with_the_machines(self) -> None:
        for _ in range(50):
            nvidia.choose_majors()
            nvidia.show(self.table("nvidia", "nvidia_uvm"))
            lines = files.PROC_DEVICES.read_text().partition("\nBlock devices:")[0].splitlines()[1:]
            numbers = [line.split()[0] for line in lines if "nvidia" not in line or "uvm" in line or "caps" in line]
            self.assertEqual(len(numbers), len(set(numbers)))
            self.assertIn("195 nvidia", lines)


if __name__ == "__main__":
    unittest.main()
