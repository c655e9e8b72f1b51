"""Downloads into a storage, from a server of the test."""

import hashlib
import http.server
import os
import threading

from support import NodeTest

from labpve import downloads

CONTENT = b"a template" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file; /short announces more than it sends."""

    def do_GET(self):
        if self.path == "/missing.tar.zst":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/zstd")
        self.send_header("Content-Length", str(len(CONTENT) + (self.path == "/short.tar.zst")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(CONTENT)

    do_HEAD = do_GET

    def log_message(self, format, *arguments):
        pass


class DownloadsTest(NodeTest):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.log = []

    def parameters(self, file="t.tar.zst", **more):
        return {"url": f"{self.url}/{file}", "content": "vztmpl", "filename": "new.tar.zst", **more}

    def download(self, **more):
        parameters = self.parameters(**more)
        target = downloads.check("local", parameters)
        downloads.run(target, parameters, True, self.log.append)
        return target

    def in_cache(self):
        return sorted(os.listdir(f"{self.root}/var/lib/vz/template/cache"))

    def test_the_server_tells_name_type_and_size(self):
        found = downloads.metadata(f"{self.url}/t.tar.zst")
        wanted = {"filename": "t.tar.zst", "mimetype": "application/zstd", "size": len(CONTENT)}
        self.assertEqual(found, wanted)

    def test_a_missing_file_is_told_as_by_proxmox(self):
        call = lambda: downloads.metadata(f"{self.url}/missing.tar.zst")  # noqa: E731
        self.assert_refused(call, "invalid server response: '404 Not Found'")
        self.assert_refused(lambda: downloads.metadata("file:///etc/passwd"), "regex pattern", 400)

    def test_a_file_with_the_right_checksum_arrives(self):
        target = self.download(checksum=SHA256.upper(), **{"checksum-algorithm": "sha256"})
        with open(target, "rb") as file:
            self.assertEqual(file.read(), CONTENT)

    def test_a_wrong_checksum_leaves_nothing(self):
        call = lambda: self.download(checksum="00", **{"checksum-algorithm": "sha256"})  # noqa: E731
        self.assert_refused(call, f"checksum mismatch: got '{SHA256}' != expect '00'")
        self.assertEqual(self.in_cache(), ["debian.tar.zst"])

    def test_a_short_answer_leaves_nothing(self):
        self.assert_refused(lambda: self.download(file="short.tar.zst"), "download failed")
        self.assertEqual(self.in_cache(), ["debian.tar.zst"])

    def test_an_existing_file_is_kept_unless_its_checksum_fits(self):
        self.download()
        self.assert_refused(self.download, "refusing to override existing file")
        self.download(checksum=SHA256, **{"checksum-algorithm": "sha256"})
        self.assertIn("OK, got correct file already, no need to download", self.log)

    def test_bad_parameters_are_refused_before_a_task_starts(self):
        cases = [
            ({"filename": "x.zip"}, "invalid filename or wrong extension"),
            ({"filename": "../x.tar.zst"}, "invalid filename or wrong extension"),
            ({"url": "ftp://x/y.tar.zst"}, "value does not match the regex pattern"),
            ({"content": "rootdir"}, "does not have a value in the enumeration"),
            ({"checksum": "00"}, "'checksum' requires this property"),
            ({"checksum": "00", "checksum-algorithm": "crc32"}, "enumeration"),
            ({"url": ""}, "property is missing"),
        ]
        for change, message in cases:
            with self.subTest(change=change):
                parameters = {**self.parameters(), **change}
                self.assert_refused(lambda: downloads.check("local", parameters), message, 400)

    def test_only_file_storages_take_downloads(self):
        call = lambda: downloads.check("local-lvm", self.parameters())  # noqa: E731
        self.assert_refused(call, "can't upload to storage type 'lvmthin', not a file based storage!")
