"""Tests of the package index relay: `python3 -m unittest` in this folder. No network: the upstream is a server of the test."""

import base64
import hashlib
import http.client
import io
import json
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import upstream
from server import Handler, IndexServer
from store import Store
from upstream import Upstream

JSON_TYPE = "application/vnd.pypi.simple.v1+json"


def small_wheel(name, version, text="value = 1\n"):
    """A valid wheel with one module."""
    information = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{information}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{information}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return buffer.getvalue()


class FakeUpstream(BaseHTTPRequestHandler):
    """A package index: pages in JSON where asked for, else HTML; files at /packages/."""

    def do_GET(self):
        """Answers from `files` ({name: bytes}) and keeps the requests in `seen`."""
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        parts = self.path.strip("/").split("/")
        if parts[0] == "packages":
            self.send(self.server.files[parts[1]] + self.server.damage, "application/octet-stream")
            return
        found = {n: d for n, d in self.server.files.items() if n.split("-")[0] == parts[1].replace("-", "_")}
        if not found:
            self.send_error(404)
        elif "json" in self.headers.get("Accept", "") and self.server.speaks_json:
            entries = [
                {
                    "filename": n,
                    "url": f"../../packages/{n}",
                    "hashes": {"sha256": hashlib.sha256(d).hexdigest()},
                    "requires-python": ">=3.8",
                }
                for n, d in found.items()
            ]
            self.send(json.dumps({"name": parts[1], "files": entries}).encode(), JSON_TYPE)
        else:
            links = "".join(
                f'<a href="../../packages/{n}#sha256={hashlib.sha256(d).hexdigest()}" data-requires-python="&gt;=3.8">{n}</a>'
                for n, d in found.items()
            )
            self.send((links + '<a href="../../packages/unsigned-1-py3-none-any.whl">unsigned</a>').encode(), "text/html")

    def send(self, body, content_type):
        """A whole answer."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Quiet."""


def start(server):
    """Serves in the background; returns the port."""
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server.server_address[1]


class IndexTest(unittest.TestCase):
    """The relay between a client and a fake upstream."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        self.local = small_wheel("sglang", "0.5.11", "stand_in = True\n")
        (self.wheels / "sglang-0.5.11-py3-none-any.whl").write_bytes(self.local)
        self.upstream = ThreadingHTTPServer(("127.0.0.1", 0), FakeUpstream)
        self.upstream.files = {
            "some_thing-1.0-py3-none-any.whl": small_wheel("some_thing", "1.0"),
            "sglang-0.5.11-py3-none-any.whl": small_wheel("sglang", "0.5.11", "real = True\n"),
        }
        self.upstream.seen, self.upstream.damage, self.upstream.speaks_json = [], b"", True
        port = start(self.upstream)
        self.addCleanup(self.stop_upstream)
        self.upstream_open = True
        self.start_relay(f"http://user:p%40ss@127.0.0.1:{port}/simple")

    def start_relay(self, url):
        """A relay with the same cache folder."""
        server = IndexServer(("127.0.0.1", 0), Store(self.folder / "cache", Upstream(url), self.wheels))
        server.RequestHandlerClass = type("Quiet", (Handler,), {"log_message": lambda *_: None})
        self.port = start(server)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def stop_upstream(self):
        """Takes the upstream away."""
        if self.upstream_open:
            self.upstream_open = False
            self.upstream.shutdown()
            self.upstream.server_close()

    def get(self, path, headers=None):
        """(status, headers, body, reason) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read(), answer.reason
        finally:
            connection.close()

    def page(self, name, root=""):
        """A project's page in JSON."""
        return json.loads(self.get(f"{root}/simple/{name}/", {"Accept": JSON_TYPE})[2])

    def test_local_wheels_win_over_upstream_for_their_names(self):
        files = self.page("sglang")["files"]
        self.assertEqual([entry["hashes"]["sha256"] for entry in files], [hashlib.sha256(self.local).hexdigest()])
        self.assertEqual(self.upstream.seen, [])
        self.assertEqual(self.get(files[0]["url"])[2], self.local)

    def test_below_upstream_the_real_project_of_a_local_name_is_relayed(self):
        status, headers, _, _ = self.get("/upstream/simple/SGLang/")
        self.assertEqual((status, headers["Location"]), (301, "/upstream/simple/sglang/"))
        entry = self.page("sglang", "/upstream")["files"][0]
        self.assertEqual(self.get(entry["url"])[2], self.upstream.files["sglang-0.5.11-py3-none-any.whl"])
        self.assertEqual(self.get(self.page("sglang")["files"][0]["url"])[2], self.local)

    def test_a_wheel_that_changed_is_served_as_it_is_now(self):
        old = self.page("sglang")["files"][0]
        changed = small_wheel("sglang", "0.5.11", "stand_in = 2\n")
        (self.wheels / "sglang-0.5.11-py3-none-any.whl").write_bytes(changed)
        new = self.page("sglang")["files"][0]
        self.assertEqual(self.get(new["url"])[2], changed)
        self.assertEqual(self.get(old["url"])[0], 404)

    def test_other_projects_are_relayed_with_their_python_requirement(self):
        for speaks_json in (True, False):
            self.upstream.speaks_json = speaks_json
            entry = self.page("some-thing")["files"][0]
            self.assertEqual(entry["requires-python"], ">=3.8")
            self.assertEqual(self.get(entry["url"])[2], self.upstream.files[entry["filename"]])

    def test_html_is_given_to_clients_without_json(self):
        status, headers, body, _ = self.get("/simple/some-thing/", {"Accept": "text/html"})
        self.assertEqual((status, headers.get_content_type()), (200, "text/html"))
        self.assertIn(b'data-requires-python="&gt;=3.8"', body)
        self.assertIn(b"#sha256=", body)

    def test_files_without_a_checksum_are_not_offered(self):
        self.upstream.speaks_json = False
        self.assertEqual([entry["filename"] for entry in self.page("some-thing")["files"]], ["some_thing-1.0-py3-none-any.whl"])

    def test_names_are_normalized_by_redirect(self):
        for name in ("Some_Thing/", "some.thing/", "some-thing"):
            status, headers, _, _ = self.get(f"/simple/{name}")
            self.assertEqual((status, headers["Location"]), (301, "/simple/some-thing/"))

    def test_a_file_that_differs_from_its_checksum_is_refused_and_not_kept(self):
        entry = self.page("some-thing")["files"][0]
        self.upstream.damage = b"x"
        status, _, body, reason = self.get(entry["url"])
        self.assertEqual(status, 502)
        self.assertIn("the index promised", reason)
        self.assertIn(b"nothing was kept", body)
        self.assertEqual(list((self.folder / "cache" / "files").iterdir()), [])

    def test_kept_files_are_served_without_the_upstream(self):
        entry = self.page("some-thing")["files"][0]
        self.get(entry["url"])
        self.stop_upstream()
        self.assertEqual([kept["filename"] for kept in self.page("some-thing")["files"]], [entry["filename"]])
        self.assertEqual(self.get(entry["url"])[0], 200)

    def test_an_upstream_that_is_gone_is_named_in_the_error(self):
        self.page("some-thing")
        self.stop_upstream()
        status, _, body, reason = self.get("/simple/some-thing/")
        self.assertEqual(status, 502)
        self.assertIn("nothing kept", reason)
        self.assertIn(b"cannot be reached", body)

    def test_an_unknown_project_is_404(self):
        self.assertEqual(self.get("/simple/nothing/")[0], 404)

    def test_a_file_that_was_never_listed_is_not_fetched(self):
        self.assertEqual(self.get(f"/files/{'0' * 64}/some_thing-1.0-py3-none-any.whl")[0], 404)
        self.assertEqual(self.upstream.seen, [])

    def test_ranges_of_files(self):
        entry = self.page("some-thing")["files"][0]
        data = self.upstream.files[entry["filename"]]
        status, headers, body, _ = self.get(entry["url"], {"Range": "bytes=10-19"})
        self.assertEqual((status, body), (206, data[10:20]))
        self.assertEqual(headers["Content-Range"], f"bytes 10-19/{len(data)}")
        self.assertEqual(self.get(entry["url"], {"Range": f"bytes={len(data)}-"})[0], 416)

    def test_credentials_go_to_the_index_and_never_into_an_answer(self):
        self.page("some-thing")
        expected = "Basic " + base64.b64encode(b"user:p@ss").decode()
        self.assertEqual(self.upstream.seen[-1][1], expected)
        self.stop_upstream()
        self.assertNotIn(b"p%40ss", self.get("/simple/other/")[2])
        self.assertNotIn(b"p@ss", self.get("/simple/other/")[2])

    def test_pip_installs_from_it(self):
        target = self.folder / "target"
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--isolated",
            "--quiet",
            "--no-cache-dir",
            "--target",
            str(target),
            "--index-url",
            f"http://127.0.0.1:{self.port}/simple/",
            "sglang==0.5.11",
            "some-thing",
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        self.assertEqual((target / "sglang.py").read_text(), "stand_in = True\n")
        self.assertTrue((target / "some_thing.py").exists())


class ConfigurationTest(unittest.TestCase):
    """Which upstream is used."""

    def test_the_environment_decides(self):
        with unittest.mock.patch.dict("os.environ", {"PIP_INDEX_URL": "http://index.example/simple/"}):
            self.assertEqual(upstream.index_url(), "http://index.example/simple")

    def test_pips_configuration_file_decides_without_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("[global]\nindex-url = http://configured.example/simple\n")
            file.flush()
            environment = {"PIP_CONFIG_FILE": file.name, "PIP_INDEX_URL": ""}
            with unittest.mock.patch.dict("os.environ", environment):
                self.assertEqual(upstream.index_url(), "http://configured.example/simple")

    def test_the_pip_of_virtual_environments_will_do(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            environment = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": ""}
            with (
                unittest.mock.patch.dict("os.environ", environment),
                unittest.mock.patch.object(sys, "executable", f"{folder}/bin/python"),
            ):
                self.assertTrue(upstream.index_url().startswith("https://"))

    def test_pips_own_default_is_the_last_resort(self):
        environment = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": ""}
        with unittest.mock.patch.dict("os.environ", environment):
            self.assertTrue(upstream.index_url().startswith("https://"))


if __name__ == "__main__":
    unittest.main()
