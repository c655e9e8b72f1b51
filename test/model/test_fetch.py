"""Downloads: `python3 -m unittest` in this folder."""

import errno
import io
import json
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

from support import NEW, OLD, PROJECT, REPOSITORIES, SHARD, TINY, HubCase, server

from model_snapshot import __main__ as command
from model_snapshot import hub, room, transfer


class FetchTest(HubCase):
    """A hub that answers as it should."""

    def test_every_file_arrives_with_its_content_read_only(self):
        self.fetch()
        self.assert_complete()
        self.assertEqual({path.stat().st_mode & 0o777 for path in self.path.rglob("*") if path.is_file()}, {0o444})
        self.assertEqual({path.stat().st_mode & 0o777 for path in (self.path, self.path / "assets")}, {0o755})
        self.assertEqual(self.check(), [])

    def test_what_is_there_is_not_fetched_again(self):
        self.fetch()
        self.sent()
        self.fetch(self.recorded())
        self.assertEqual(self.sent(), 0)
        self.assert_complete()

    def test_another_revision_fetches_only_what_differs_and_shares_the_rest(self):
        self.fetch(self.spec(OLD))
        inode = (self.path / SHARD).stat().st_ino
        self.sent()
        # Nothing is read again either.
        with mock.patch("model_snapshot.snapshot.has_content", side_effect=AssertionError):
            self.fetch(self.spec(NEW))
        self.assertEqual(self.sent(), (self.path / "generation_config.json").stat().st_size)
        self.assertEqual((self.path / SHARD).stat().st_ino, inode)
        self.assert_complete()
        self.assertEqual([path.name for path in self.path.parent.iterdir()], ["tiny"])

    def test_a_change_of_mind_in_the_middle_keeps_only_what_the_new_revision_has(self):
        self.faulty({"kind": "status", "path": "generation_config", "status": 500})
        self.refused(self.spec(OLD))
        self.faulty()
        self.fetch(self.spec(NEW))
        self.assert_complete()

    def test_one_content_under_two_names_comes_once(self):
        self.fetch()
        plain = self.sent()
        listing = server.Handler.model_info

        def doubled(handler, *arguments):
            value = listing(handler, *arguments)
            twin = next(entry for entry in value["siblings"] if entry["rfilename"] == SHARD)
            value["siblings"].append({**twin, "rfilename": "copy.safetensors"})
            return value

        self.path = self.path.with_name("twin")
        with mock.patch.object(server.Handler, "model_info", doubled):
            self.fetch()
        self.assertEqual(self.sent(), plain)
        self.assertTrue((self.path / "copy.safetensors").samefile(self.path / SHARD))

    def test_a_list_cannot_name_files_outside_the_snapshot(self):
        for path in ("../escape", "/etc/escape", ".snapshot.json"):
            error = self.refused({**self.spec(), "files": [{"path": path, "bytes": 1, "gitBlob": "0" * 40}]})
            self.assertIn(repr(path), str(error))


class FaultTest(HubCase):
    """A hub with faults: what is served stays as it was, and the next run finishes."""

    def test_429_is_retried_when_the_hub_says(self):
        self.faulty({"kind": "status", "path": "resolve/.*json$", "status": 429, "retryAfter": 1, "times": 1})
        begun = time.monotonic()
        self.assertIn("429", self.fetch())
        self.assertGreater(time.monotonic() - begun, 1)
        self.assert_complete()

    def test_a_date_to_try_again_at_is_understood_and_nonsense_is_not(self):
        self.assertGreater(hub.retry_after("Wed, 21 Oct 2099 07:28:00 GMT"), 60)
        self.assertEqual((hub.retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), hub.retry_after("soon"), hub.retry_after("")), (0, 0, 0))

    def test_500_of_list_and_files_is_retried(self):
        self.faulty(
            {"kind": "status", "path": "^/api", "status": 500, "times": 2},
            {"kind": "status", "path": SHARD, "status": 503, "times": 2},
        )
        self.fetch()
        self.assert_complete()

    def test_a_file_that_never_comes_is_named_and_the_old_revision_stays(self):
        self.fetch(self.spec(OLD))
        self.faulty({"kind": "status", "path": "generation_config", "status": 500})
        error = self.refused(self.spec(NEW))
        self.assertRegex(str(error), r"^generation_config.json: 500 .*2 more attempts brought nothing")
        self.assertIn("run `up` again", error.way_on)
        self.assert_complete(OLD)
        self.faulty()
        self.fetch(self.spec(NEW))
        self.assert_complete()

    def test_short_reads_are_resumed_and_may_be_more_than_the_attempts(self):
        self.faulty({"kind": "short", "path": f"^/lfs/.*{SHARD}", "bytes": 600_000})
        self.fetch()
        self.assert_complete()
        self.assertEqual(self.sent(), self.size())

    def test_wrong_bytes_are_fetched_once_more(self):
        self.faulty({"kind": "corrupt", "path": "^/lfs/.*00001", "times": 1})
        self.assertIn(f"{SHARD}: what came does not have its hash", self.fetch())
        self.assert_complete()

    def test_bytes_that_stay_wrong_are_refused_with_both_hashes(self):
        self.fetch(self.spec(OLD))
        self.faulty({"kind": "corrupt", "path": "generation_config"})
        error = self.refused(self.spec(NEW))
        wanted = dict(REPOSITORIES[TINY].commits)[NEW].files["generation_config.json"].blob_id
        self.assertRegex(str(error), rf"^generation_config.json: .* twice with hash \w+, it must be {wanted}")
        self.assert_complete(OLD)

    def test_a_file_changed_under_the_same_revision_is_refused_before_anything_comes(self):
        spec = self.recorded()
        self.faulty({"kind": "changed", "repository": TINY, "file": SHARD})
        self.sent()
        error = self.refused(spec)
        recorded = dict(REPOSITORIES[TINY].commits)[NEW].files[SHARD]
        self.assertIn(f"{SHARD}: recorded for this revision is {recorded.sha256}", str(error))
        self.assertIn(f"lists {recorded.altered().sha256}", str(error))
        self.assertIn("./stack describe-model", error.way_on)
        self.assertEqual(self.sent(), 0)

    def test_a_hub_that_lists_right_and_sends_a_changed_file_is_refused_too(self):
        spec = self.recorded()
        self.faulty({"kind": "changed", "repository": TINY, "file": SHARD})
        with mock.patch("model_snapshot.hub.Hub.files", lambda _: spec["files"]):
            error = self.refused(spec)
        self.assertRegex(str(error), f"^{SHARD}: .* sent it twice with hash")
        self.assertFalse(self.path.exists())

    def test_a_hub_that_goes_away_in_the_middle_costs_only_what_was_missing(self):
        self.faulty({"kind": "slow", "path": "^/lfs/", "bytesPerSecond": 2_000_000})
        with mock.patch.object(transfer.Transfer, "write", self.stop_after(1_000_000)):
            error = self.refused()
        self.assertRegex(str(error), "(safetensors|tokenizer.json): .*more attempts brought nothing")
        self.faulty()
        self.settle()
        self.start()
        self.fetch()
        self.assert_complete()
        self.assertLess(self.sent(), self.size() - 900_000)

    def stop_after(self, count):
        """A Transfer.write that ends the hub, and its connections, when so many bytes have come."""
        write, came = transfer.Transfer.write, [0]

        def counting(transfer_, stream, block, file):
            write(transfer_, stream, block, file)
            came[0] += len(block)
            if came[0] > count and self.is_up():
                self.stop()
            if came[0] > count:
                raise ConnectionResetError("Connection reset by peer")

        return counting

    def test_a_killed_download_goes_on_where_it_was(self):
        self.faulty({"kind": "slow", "path": "^/lfs/", "bytesPerSecond": 1_500_000})
        file = self.folder / "spec.json"
        file.write_text(json.dumps(self.spec()))
        tool = subprocess.Popen(
            [sys.executable, "-m", "model_snapshot", "fetch", str(file)], cwd=PROJECT / "scripts/tools", stdout=subprocess.DEVNULL
        )
        partials = Path(f"{self.path}.incomplete") / ".partial"
        while sum(path.stat().st_size for path in partials.glob("*")) < 3_000_000:
            time.sleep(0.05)
        tool.kill()
        tool.wait()
        kept = sum(path.stat().st_size for path in partials.glob("*"))
        self.faulty()
        self.settle()
        self.fetch()
        self.assert_complete()
        self.assertLessEqual(self.sent(), self.size() - kept)

    def test_a_hub_without_ranges_sends_the_file_whole(self):
        self.stop()
        self.start(send_file=lambda handler, data, headers: whole(handler, data, headers))
        self.faulty({"kind": "short", "path": f"^/lfs/.*{SHARD}", "bytes": 600_000, "times": 1})
        self.assertNotIn("does not have its hash", self.fetch())
        self.assert_complete()

    def test_a_token_does_not_follow_a_redirect_to_another_host(self):
        seen = []

        def has_access(handler):
            seen.append((handler.path.split("/")[1], handler.headers.get("Authorization")))
            return True

        def stored(handler, match, query):
            has_access(handler)
            original(handler, match, query)

        original, headers = server.Handler.send_stored, server.Handler.send_headers

        def elsewhere(handler, status, length, values):
            if "Location" in values:
                values["Location"] = values["Location"].replace("127.0.0.1", "localhost")
            headers(handler, status, length, values)

        self.stop()
        self.start(has_access=has_access, send_stored=stored, send_headers=elsewhere)
        self.fetch(token="hf_labreader")
        self.assertEqual({token for place, token in seen if place == "lfs"}, {None})
        self.assertEqual({token for place, token in seen if place == "lab"}, {"Bearer hf_labreader"})


def whole(handler, data, headers):
    """Answers 200 with everything, whatever range was asked for."""
    handler.send_headers(200, len(data), headers)
    handler.send_body(data)


class GatedTest(HubCase):
    """A model that wants a token."""

    def gated(self):
        repo = "lab/gated-tiny"
        return self.spec(REPOSITORIES[repo].commits[0][0], repo)

    def test_without_a_token_the_page_and_the_setting_are_named(self):
        error = self.refused(self.gated())
        self.assertRegex(str(error), "401: lab/gated-tiny is gated or private")
        self.assertIn(f"http://127.0.0.1:{self.port}/lab/gated-tiny", error.way_on)
        self.assertIn("proxmox-gpu-stack:huggingFaceToken", error.way_on)

    def test_a_token_without_access_is_another_error_than_an_unknown_one(self):
        self.assertRegex(
            str(self.refused(self.gated(), "hf_labstranger")), "403: the account of the huggingFaceToken may not read"
        )
        self.assertRegex(str(self.refused(self.gated(), "hf_wrong")), "401: the hub does not know the token")

    def test_the_right_token_brings_it_and_its_file_is_gone(self):
        spec, token = self.folder / "spec.json", self.folder / "token"
        spec.write_text(json.dumps(self.gated()))
        token.write_text("hf_labreader")
        with mock.patch("sys.stdout", io.StringIO()):
            self.assertEqual(command.main(["fetch", str(spec), "--token-file", str(token)]), 0)
        self.assertFalse(token.exists())
        self.assertTrue((self.path / SHARD).exists())


class RoomTest(HubCase):
    """Too little room, before and in the middle."""

    def test_too_little_room_is_told_before_the_download_with_what_lies_there(self):
        (self.path.parent / "old-model").mkdir()
        (self.path.parent / "old-model" / "weights").write_bytes(b"x" * 3_000_000)
        (self.path.parent / "other.replaced").mkdir()
        (self.path.parent / "other.replaced" / "weights").write_bytes(b"x" * 1_000_000)
        with mock.patch.object(room.shutil, "disk_usage", lambda _: mock.Mock(free=5_000_000)):
            error = self.refused()
        self.assertRegex(str(error), rf"^lab/qwen3.6-tiny needs 7.\d MB more in {self.path.parent}, free are 5.0 MB$")
        self.assertIn(f"{self.path.parent}/old-model 3.0 MB", error.way_on)
        self.assertIn("other.replaced 1.0 MB (files that are no part of a snapshot)", error.way_on)
        self.assertEqual(self.sent(), 0)

    def test_a_disk_that_fills_up_is_told_at_once_and_the_next_run_goes_on(self):
        self.fetch(self.spec(OLD))
        self.path = self.path.with_name("second")
        write = transfer.Transfer.on_disk

        def full(transfer_, action, argument, file):
            def failing(_):
                raise OSError(errno.ENOSPC, "No space left on device")

            return write(
                transfer_, failing if file["path"] == SHARD and action is not transfer.os.fsync else action, argument, file
            )

        with mock.patch.object(transfer.Transfer, "on_disk", full):
            error = self.refused()
        self.assertRegex(str(error), rf"^{SHARD}: No space left on device: lab/qwen3.6-tiny needs .* more in {self.path.parent}")
        self.fetch()
        self.assert_complete()


if __name__ == "__main__":
    unittest.main()
