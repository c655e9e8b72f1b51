"""Tests of the model hub: `python3 -m unittest` in this folder."""

import hashlib
import http.client
import json
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import repository
import server
from faults import Faults

TINY = "lab/qwen3.6-tiny"
REPOSITORIES = repository.build()


def git(folder, *arguments, stdin=None):
    """Runs git in a folder and returns its output."""
    done = subprocess.run(["git", "-C", folder, *arguments], input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


class RepositoryTest(unittest.TestCase):
    """Contents and ids."""

    def test_two_builds_are_equal(self):
        again = repository.build()
        self.assertEqual(
            [commit_id for found in REPOSITORIES.values() for commit_id, _ in found.commits],
            [commit_id for found in again.values() for commit_id, _ in found.commits],
        )

    def test_blob_and_tree_ids_are_what_git_computes(self):
        _, commit = REPOSITORIES[TINY].find("main")
        with tempfile.TemporaryDirectory() as folder:
            git(folder, "init", "-q")
            for path, file in commit.files.items():
                blob = git(folder, "hash-object", "-w", "--stdin", stdin=file.pointer if file.is_lfs else file.data)
                self.assertEqual(blob, file.blob_id)
                git(folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
            self.assertEqual(git(folder, "write-tree"), repository.tree_id({p: f.blob_id for p, f in commit.files.items()}))

    def test_shards_are_valid_safetensors_and_cover_the_index(self):
        _, commit = REPOSITORIES[TINY].find("main")
        index = json.loads(commit.files["model.safetensors.index.json"].data)
        for shard in sorted(set(index["weight_map"].values())):
            data = commit.files[shard].data
            length = struct.unpack("<Q", data[:8])[0]
            header = json.loads(data[8 : 8 + length])
            tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
            self.assertEqual(max(entry["data_offsets"][1] for entry in tensors.values()), len(data) - 8 - length)
            self.assertEqual(set(tensors), {name for name, path in index["weight_map"].items() if path == shard})

    def test_the_configuration_is_a_hybrid_with_speculation(self):
        _, commit = REPOSITORIES[TINY].find("main")
        text = json.loads(commit.files["config.json"].data)["text_config"]
        self.assertIn("linear_attention", text["layer_types"])
        self.assertEqual(text["mtp_num_hidden_layers"], 1)

    def test_a_snapshot_can_be_written_to_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            commit_id = repository.write_snapshot(REPOSITORIES[TINY], "main", folder)
            self.assertRegex(commit_id, "^[0-9a-f]{40}$")
            self.assertTrue((Path(folder) / "assets/shape.txt").exists())


class HubTest(unittest.TestCase):
    """The HTTP API, over a socket."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fault_file = Path(folder.name) / "faults.json"
        self.hub = server.HubServer(("127.0.0.1", 0), REPOSITORIES, Faults(str(self.fault_file)))
        self.hub.RequestHandlerClass = type("Quiet", (server.Handler,), {"log_message": lambda *_: None})
        threading.Thread(target=self.hub.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.hub.server_close)
        self.addCleanup(self.hub.shutdown)
        self.commit_id, self.commit = REPOSITORIES[TINY].find("main")

    def request(self, method, path, headers=None):
        """(status, headers, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.hub.server_address[1], timeout=10)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def storage_path(self, file):
        """The path that the hub redirects an LFS file's download to."""
        status, headers, _ = self.request("GET", f"/{TINY}/resolve/{self.commit_id}/{file}")
        self.assertEqual(status, 302)
        return headers["Location"].split(str(self.hub.server_address[1]), 1)[1]

    def faulty(self, *rules):
        """Writes the fault file."""
        self.fault_file.write_text(json.dumps(rules))

    def test_model_information_holds_sizes_and_checksums_with_blobs(self):
        _, _, body = self.request("GET", f"/api/models/{TINY}/revision/{self.commit_id}?blobs=true")
        info = json.loads(body)
        self.assertEqual(info["sha"], self.commit_id)
        files = {sibling["rfilename"]: sibling for sibling in info["siblings"]}
        shard = files["model-00001-of-00002.safetensors"]
        data = self.commit.files["model-00001-of-00002.safetensors"].data
        self.assertEqual(shard["lfs"]["sha256"], hashlib.sha256(data).hexdigest())
        self.assertEqual(shard["lfs"]["size"], len(data))
        self.assertNotIn("lfs", files["config.json"])

    def test_the_branch_main_resolves_to_the_newest_commit(self):
        _, headers, body = self.request("GET", f"/api/models/{TINY}")
        self.assertEqual(json.loads(body)["sha"], self.commit_id)
        self.assertEqual(headers["X-Repo-Commit"], self.commit_id)

    def test_tree_lists_folders_or_everything_below(self):
        _, _, body = self.request("GET", f"/api/models/{TINY}/tree/main")
        self.assertIn(("directory", "assets"), [(e["type"], e["path"]) for e in json.loads(body)])
        _, _, body = self.request("GET", f"/api/models/{TINY}/tree/main?recursive=true")
        self.assertIn(("file", "assets/shape.txt"), [(e["type"], e["path"]) for e in json.loads(body)])

    def test_a_small_file_comes_at_once_with_its_git_id_as_etag(self):
        status, headers, body = self.request("GET", f"/{TINY}/resolve/{self.commit_id}/config.json")
        self.assertEqual(status, 200)
        self.assertEqual(headers["ETag"], f'"{repository.git_id("blob", body)}"')
        self.assertEqual(headers["X-Repo-Commit"], self.commit_id)

    def test_head_of_a_large_file_names_size_and_checksum_without_a_body(self):
        file = self.commit.files["model-00002-of-00002.safetensors"]
        status, headers, body = self.request("HEAD", f"/{TINY}/resolve/main/{file.path}")
        self.assertEqual((status, body), (302, b""))
        self.assertEqual(headers["X-Linked-Etag"], f'"{file.sha256}"')
        self.assertEqual(headers["X-Linked-Size"], str(file.size))

    def test_a_large_file_is_resumable(self):
        file = self.commit.files["model-00001-of-00002.safetensors"]
        path = self.storage_path(file.path)
        status, headers, rest = self.request("GET", path, {"Range": "bytes=1000-"})
        self.assertEqual(status, 206)
        self.assertEqual(headers["Content-Range"], f"bytes 1000-{file.size - 1}/{file.size}")
        self.assertEqual(rest, file.data[1000:])
        self.assertEqual(self.request("GET", path, {"Range": "bytes=-10"})[2], file.data[-10:])

    def test_a_range_outside_the_file_is_refused(self):
        status, headers, _ = self.request("GET", self.storage_path("tokenizer.json"), {"Range": "bytes=99999999-"})
        self.assertEqual(status, 416)
        self.assertTrue(headers["Content-Range"].startswith("bytes */"))

    def test_storage_opens_only_with_the_redirects_signature(self):
        path = self.storage_path("tokenizer.json").split("?")[0]
        self.assertEqual(self.request("GET", path)[0], 403)
        self.assertEqual(self.request("GET", f"{path}?signature={'0' * 64}")[0], 403)

    def test_unknown_revision_file_and_repository_have_different_codes(self):
        cases = {
            f"/{TINY}/resolve/{'0' * 40}/config.json": (404, "RevisionNotFound"),
            f"/{TINY}/resolve/main/nothing.json": (404, "EntryNotFound"),
            f"/api/models/{TINY}/revision/{'0' * 40}": (404, "RevisionNotFound"),
            "/lab/nothing/resolve/main/config.json": (401, "RepoNotFound"),
        }
        for path, expected in cases.items():
            status, headers, _ = self.request("GET", path)
            self.assertEqual((status, headers["X-Error-Code"]), expected, path)

    def test_a_gated_model_wants_a_token_with_access(self):
        path = "/lab/gated-tiny/resolve/main/config.json"
        status, headers, body = self.request("GET", path)
        self.assertEqual((status, headers["X-Error-Code"]), (401, "GatedRepo"))
        self.assertIn("restricted", json.loads(body)["error"])
        self.assertEqual(self.request("GET", path, {"Authorization": "Bearer hf_labstranger"})[0], 403)
        self.assertEqual(self.request("GET", path, {"Authorization": "Bearer wrong"})[0], 401)
        self.assertEqual(self.request("GET", path, {"Authorization": "Bearer hf_labreader"})[0], 200)

    def test_injected_status_ends_after_its_times(self):
        self.faulty({"kind": "status", "path": "resolve", "status": 429, "retryAfter": 2, "times": 2})
        answers = [self.request("GET", f"/{TINY}/resolve/main/config.json") for _ in range(3)]
        self.assertEqual([status for status, _, _ in answers], [429, 429, 200])
        self.assertEqual(answers[0][1]["Retry-After"], "2")

    def test_injected_short_read_breaks_off(self):
        path = self.storage_path("tokenizer.json")
        self.faulty({"kind": "short", "path": "^/lfs/", "bytes": 100, "times": 1})
        with self.assertRaises(http.client.IncompleteRead):
            self.request("GET", path)
        self.assertEqual(len(self.request("GET", path)[2]), self.commit.files["tokenizer.json"].size)

    def test_injected_slowness_takes_its_time(self):
        file = self.commit.files["config.json"]
        self.faulty({"kind": "slow", "path": "config.json", "bytesPerSecond": 2 * file.size})
        begun = time.monotonic()
        self.assertEqual(self.request("GET", f"/{TINY}/resolve/main/config.json")[2], file.data)
        self.assertGreater(time.monotonic() - begun, 0.4)

    def test_injected_corruption_keeps_size_and_etag(self):
        self.faulty({"kind": "corrupt", "path": "config.json", "times": 1})
        _, headers, body = self.request("GET", f"/{TINY}/resolve/main/config.json")
        file = self.commit.files["config.json"]
        self.assertEqual((headers["ETag"], len(body)), (f'"{file.etag}"', file.size))
        self.assertNotEqual(body, file.data)

    def test_changed_content_is_consistent_under_the_same_revision(self):
        shard = "model-00001-of-00002.safetensors"
        self.faulty({"kind": "changed", "repository": TINY, "file": shard})
        _, _, body = self.request("GET", f"/api/models/{TINY}/revision/{self.commit_id}?blobs=true")
        info = json.loads(body)
        listed = next(sibling for sibling in info["siblings"] if sibling["rfilename"] == shard)
        _, _, data = self.request("GET", self.storage_path(shard))
        self.assertEqual(info["sha"], self.commit_id)
        self.assertEqual(listed["lfs"]["sha256"], hashlib.sha256(data).hexdigest())
        self.assertNotEqual(data, self.commit.files[shard].data)

    def test_a_wrong_fault_file_is_reported_and_not_ignored(self):
        self.faulty({"kind": "explode"})
        status, _, body = self.request("GET", f"/{TINY}/resolve/main/config.json")
        self.assertEqual(status, 500)
        self.assertIn("allowed: status, short, slow, corrupt, changed", json.loads(body)["error"])


if __name__ == "__main__":
    unittest.main()
