"""What lies in a snapshot's folder: checks, repairs, adoption, the switch."""

import os
import shutil
import unittest
from pathlib import Path
from unittest import mock

from support import NEW, OLD, REPOSITORIES, SHARD, TINY, HubCase, repository


class CheckTest(HubCase):
    """What check says, and what a fetch does about it."""

    def setUp(self):
        super().setUp()
        self.fetch()
        self.sent()

    def edit(self, path, data, keep_time=False):
        file = self.path / path
        before = file.stat()
        file.chmod(0o644)
        file.write_bytes(data)
        if keep_time:
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def test_another_revision_is_told(self):
        self.assertEqual(self.check(self.spec(OLD)), [f"{self.path} holds {TINY}@{NEW[:12]}, declared is {TINY}@{OLD[:12]}"])

    def test_a_missing_a_shorter_and_a_strange_file_are_told(self):
        (self.path / "config.json").unlink()
        self.edit("tokenizer_config.json", b"{}")
        (self.path / "extra.safetensors").write_bytes(b"x")
        self.assertEqual(
            self.check(),
            [
                "config.json: missing",
                "extra.safetensors: no part of the snapshot",
                f"tokenizer_config.json: 2 bytes, must be {self.commit('tokenizer_config.json').size}",
            ],
        )

    def commit(self, path):
        return dict(REPOSITORIES[TINY].commits)[NEW].files[path]

    def test_a_damaged_file_is_told_and_alone_fetched_again(self):
        self.edit(SHARD, b"x" * self.commit(SHARD).size)
        self.assertEqual(self.check(), [f"{SHARD}: touched since it was verified"])
        self.fetch()
        self.assertEqual(self.sent(), self.commit(SHARD).size)
        self.assert_complete()

    def test_a_touched_file_with_the_right_content_is_verified_and_not_fetched(self):
        os.utime(self.path / SHARD)
        self.assertEqual(self.check(), [f"{SHARD}: touched since it was verified"])
        self.fetch()
        self.assertEqual((self.sent(), self.check()), (0, []))

    def test_damage_under_the_same_size_and_time_is_found_and_repaired_by_hash(self):
        self.edit(SHARD, b"x" * self.commit(SHARD).size, keep_time=True)
        self.assertEqual(self.check(), [])
        self.assertEqual(
            self.check(by_hash=True),
            [f"{SHARD}: damaged: size and time are as recorded, the content is not (`touch` it and it is repaired)"],
        )
        self.fetch(by_hash=True)
        self.assertEqual(self.check(by_hash=True), [])
        self.assertEqual(self.sent(), self.commit(SHARD).size)

    def test_a_strange_file_is_kept_aside_and_told(self):
        (self.path / "extra.safetensors").write_bytes(b"x")
        self.assertIn(f"1 files are no part of the snapshot and now lie in {self.path}.replaced", self.fetch())
        self.assert_complete()
        self.assertEqual(Path(f"{self.path}.replaced/extra.safetensors").read_bytes(), b"x")

    def test_a_snapshot_of_another_list_than_the_recorded_one_is_told(self):
        spec = self.recorded()
        spec["files"][0] = {**spec["files"][0], "gitBlob": "0" * 40}
        self.assertEqual(
            self.check(spec), [f"{spec['files'][0]['path']}: the recorded list has another content than the snapshot"]
        )

    def test_a_record_of_an_unknown_form_counts_as_none_and_nothing_is_fetched_again(self):
        (self.path / ".snapshot.json").chmod(0o644)
        (self.path / ".snapshot.json").write_text(
            '{"repo": "a/b", "revision": "x", "files": [{"path": "config.json", "size": 1}]}'
        )
        self.assertEqual(self.check(), [f"{self.path} holds no verified snapshot"])
        self.fetch()
        self.assertEqual((self.sent(), self.check()), (0, []))


class AdoptionTest(HubCase):
    """A folder that somebody filled by hand."""

    def setUp(self):
        super().setUp()
        repository.write_snapshot(REPOSITORIES[TINY], "main", self.path)

    def test_what_a_person_downloaded_is_verified_and_taken_over(self):
        (self.path / ".cache/huggingface/download").mkdir(parents=True)
        (self.path / ".cache/huggingface/download/config.json.metadata").write_text("etag")
        inode = (self.path / SHARD).stat().st_ino
        self.assertIn("files are there and verified", self.fetch(self.recorded()))
        self.assertEqual((self.sent(), (self.path / SHARD).stat().st_ino), (0, inode))
        self.assert_complete()
        self.assertEqual([path.name for path in self.path.parent.iterdir()], ["tiny"])

    def test_no_hub_is_needed_for_it_where_the_list_is_recorded(self):
        spec = self.recorded()
        self.stop()
        self.fetch(spec)
        self.assert_complete()

    def test_files_of_other_content_are_replaced_and_kept_beside(self):
        (self.path / "config.json").write_text("{}")
        shard = bytearray((self.path / SHARD).read_bytes())
        shard[-1] ^= 1
        (self.path / SHARD).write_bytes(shard)
        (self.path / "notes.txt").write_text("mine")
        output = self.fetch()
        self.assertIn(f"{SHARD}: what lies in {self.path} has another content", output)
        self.assertIn("3 files are no part of the snapshot", output)
        self.assert_complete()
        kept = Path(f"{self.path}.replaced")
        self.assertEqual({path.name for path in kept.iterdir()}, {"config.json", SHARD, "notes.txt"})
        self.assertEqual((kept / "notes.txt").read_text(), "mine")

    def test_links_into_the_client_s_cache_are_followed(self):
        cache = self.folder / "models" / "cache"
        cache.mkdir()
        for path in list(self.path.iterdir()):
            if path.is_file():
                path.rename(cache / path.name)
                path.symlink_to(cache / path.name)
        self.fetch(self.recorded())
        self.assertEqual(self.sent(), 0)
        self.assert_complete()
        self.assertFalse(any(path.is_symlink() for path in self.path.rglob("*")))

    def test_a_failed_adoption_leaves_the_folder_as_it_was(self):
        (self.path / "config.json").write_text("{}")
        self.faulty({"kind": "status", "path": "config.json", "status": 500})
        self.refused()
        self.assertEqual((self.path / "config.json").read_text(), "{}")
        self.assertTrue((self.path / SHARD).exists())

    def test_a_link_is_refused_as_the_folder(self):
        self.path.rename(self.path.with_name("real"))
        self.path.symlink_to("real")
        self.assertIn("is a symbolic link", str(self.refused()))


class SwitchTest(HubCase):
    """Power that fails around the two renames."""

    def test_between_them_the_next_run_puts_the_old_folder_back_first(self):
        self.fetch(self.spec(OLD))
        rename = os.rename

        def once(source, target):
            if source.endswith(".incomplete"):
                raise KeyboardInterrupt
            rename(source, target)

        with mock.patch("os.rename", once), self.assertRaises(KeyboardInterrupt):
            self.fetch(self.spec(NEW))
        self.assertFalse(self.path.exists())
        # Also where that run gets no further.
        self.faulty({"kind": "status", "path": "^/api", "status": 404})
        self.refused(self.spec(NEW))
        self.assert_complete(OLD)
        self.faulty()
        self.sent()
        self.fetch(self.spec(NEW))
        self.assert_complete()
        self.assertEqual(self.sent(), 0)

    def test_after_them_the_next_run_removes_the_old_folder(self):
        self.fetch(self.spec(OLD))
        with mock.patch("model_snapshot.snapshot.Snapshot.clear_old"):
            self.fetch(self.spec(NEW))
        self.assertTrue(Path(f"{self.path}.old").exists())
        self.fetch(self.spec(NEW))
        self.assertEqual([path.name for path in self.path.parent.iterdir()], ["tiny"])

    def test_a_disk_without_links_gets_copies(self):
        self.fetch(self.spec(OLD))
        with mock.patch("os.link", side_effect=OSError("no links")):
            self.fetch(self.spec(NEW))
        self.assert_complete()
        shutil.rmtree(self.path)


if __name__ == "__main__":
    unittest.main()
