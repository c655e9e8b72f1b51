"""The wheel and the lock that holds its checksum."""

import hashlib
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from machine import REPOSITORY, SERVING, wheel


class WheelTest(unittest.TestCase):
    """The builder."""

    def test_two_builds_are_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            sums = []
            for folder in (one, two):
                output = subprocess.run(
                    [SERVING / "build-wheel", "0.5.11", folder], check=True, capture_output=True, text=True
                ).stdout
                sums.append(output.split()[0])
                self.assertEqual(sums[-1], hashlib.sha256((Path(folder) / wheel.file_name("0.5.11")).read_bytes()).hexdigest())
            self.assertEqual(*sums)

    def test_every_release_of_the_catalog_can_be_built_and_is_a_valid_wheel(self):
        self.assertGreaterEqual(set(wheel.releases()), {"0.5.9", "0.5.10", "0.5.11", "0.5.14", "0.5.20", "0.5.23"})
        with tempfile.TemporaryDirectory() as folder:
            for version in wheel.releases():
                with zipfile.ZipFile(wheel.write(version, folder)) as archive:
                    record = archive.read(f"sglang-{version}.dist-info/RECORD").decode().splitlines()
                    self.assertEqual([line.split(",")[0] for line in record], archive.namelist())
                    self.assertIn(f"Version: {version}\n", archive.read(f"sglang-{version}.dist-info/METADATA").decode())

    def test_an_unknown_release_is_refused_with_the_known_ones(self):
        done = subprocess.run([SERVING / "build-wheel", "0.4.0", "/nowhere"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are 0.5.9, 0.5.10", done.stderr)

    def test_the_committed_lock_holds_the_wheel_that_the_sources_make(self):
        lock = (REPOSITORY / "environments" / "lab-sglang-0.5.11" / "requirements.lock").read_text()
        digest = hashlib.sha256(wheel.build("0.5.11")).hexdigest()
        self.assertTrue(f"--hash=sha256:{digest}" in lock, "run lab/serving/lock and commit the result")

    def test_locks_name_no_place(self):
        for path in (REPOSITORY / "environments").glob("lab-*/requirements.lock"):
            self.assertNotIn("://", path.read_text())

    def test_uv_is_pinned_for_both_kinds_of_machine(self):
        lines = (REPOSITORY / "environments" / "uv.lock.txt").read_text().splitlines()
        self.assertRegex(lines[1], r"^uv==\d+\.\d+\.\d+ \\$")
        self.assertGreaterEqual(len([line for line in lines if "--hash=sha256:" in line]), 2)


if __name__ == "__main__":
    unittest.main()
