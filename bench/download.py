#!/usr/bin/env python3
"""How fast a model comes: this program beside plain curl and huggingface_hub, from the lab's hub on the loopback.

  bench/download.py [--files 8] [--megabytes 384] [--runs 3] [--folder DIR] [--limits 0,100] [--json]

The hub makes the files up while it sends them (one block, again and again), so they cost no disk there. The receiving
folder is in memory where there is room (/dev/shm): what is compared is the transfer, not the disk. Without a limit
hub and client share the processors, and the bound is SHA-256 there (1.3 GB/s a core), which plain curl leaves out; with
one each connection has so many MB/s, as from the hubs of the world. Everything is removed afterwards.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import cached_property
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "lab/hub"))

import repository  # noqa: E402
import server  # noqa: E402
from faults import Faults  # noqa: E402

REPO = "bench/large"
CACHE = Path(os.environ.get("PROXMOX_GPU_STACK_CACHE", Path.home() / ".cache/proxmox-gpu-stack")) / "bench"
CLIENT = "huggingface_hub==2.4.0"
BLOCK = 1 << 20


class Repeated:
    """So many bytes of one block, again and again; slices of up to a block are views of it."""

    def __init__(self, twice, start, length):
        self.twice, self.start, self.length = twice, start, length

    def __len__(self):
        return self.length

    def __getitem__(self, wanted):
        start, stop, _ = wanted.indices(self.length)
        if stop - start > BLOCK:
            return Repeated(self.twice, self.start + start, stop - start)
        begin = (self.start + start) % BLOCK
        return self.twice[begin : begin + stop - start]


class LargeFile(repository.File):
    """A file whose content is made up as it is sent."""

    @cached_property
    def sha256(self):
        digest = hashlib.sha256()
        for start in range(0, self.size, BLOCK):
            digest.update(self.data[start : start + BLOCK])
        return digest.hexdigest()


def serve(count, size, limit):
    """The hub as a process of its own: prints its port and the commit, and runs until it is ended."""
    commit = repository.Commit({}, repository.COMMIT_DATES[0])
    for number in range(count):
        block = hashlib.shake_256(str(number).encode()).digest(BLOCK)
        path = f"model-{number + 1:05d}-of-{count:05d}.safetensors"
        commit.files[path] = LargeFile(path, Repeated(memoryview(block + block), 0, size))
    large = repository.Repository(REPO, commits=[(commit.id, commit)])
    faults = Faults(None)
    if limit:
        faults.rules = lambda: [{"kind": "slow", "path": "/lfs/", "bytesPerSecond": limit}]
    hub = server.HubServer(("127.0.0.1", 0), {REPO: large}, faults)
    hub.RequestHandlerClass = type("Quiet", (server.Handler,), {"log_message": lambda *_: None})
    print(hub.server_address[1], commit.id, flush=True)
    hub.serve_forever()


def run(*command, **environment):
    done = subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


class Bench:
    """The ways to bring the files, each into an empty folder."""

    def __init__(self, endpoint, revision, names, folder):
        self.endpoint, self.revision, self.names, self.folder = endpoint, revision, names, folder

    def curl(self, target, parallel=8):
        """Every file as it comes, eight at once; nothing is verified."""
        target.mkdir()
        urls = [
            word
            for name in self.names
            for word in (f"{self.endpoint}/{REPO}/resolve/{self.revision}/{name}", "-o", target / name)
        ]
        run("curl", "--silent", "--fail", "--location", "--parallel", "--parallel-max", parallel, *urls)

    def curl_one(self, target):
        """The same, one after the other."""
        self.curl(target, parallel=1)

    def curl_verified(self, target):
        """What a careful person does: curl, then sha256sum."""
        self.curl(target)
        run("sha256sum", *(target / name for name in self.names))

    def hf(self, target):
        """huggingface_hub's snapshot_download; it does not verify either."""
        code = "import sys, huggingface_hub as h; h.snapshot_download(sys.argv[1], revision=sys.argv[2], local_dir=sys.argv[3])"
        environment = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HOME": str(self.folder / "hf"),
        }
        run(client(), "-c", code, REPO, self.revision, target, **environment)

    def ours(self, target):
        """model_snapshot: every byte verified, on the disk, switched into place."""
        spec = {
            "repo": REPO,
            "revision": self.revision,
            "path": str(target),
            "endpoint": self.endpoint,
            "files": None,
            "facts": None,
        }
        (self.folder / "spec.json").write_text(json.dumps(spec))
        run(sys.executable, "-m", "model_snapshot", "fetch", self.folder / "spec.json", PYTHONPATH=str(PROJECT / "scripts/tools"))


def client():
    """The Python of a virtual environment with the client library."""
    folder = CACHE / CLIENT.replace("==", "-")
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin/pip", "install", "--quiet", CLIENT)
        (folder / "complete").touch()
    return folder / "bin/python"


def measure(options, limit, folder):
    """Seconds of every way, in turns, so that a busy moment of the machine hits all."""
    size = options.megabytes * 1_000_000
    command = [sys.executable, __file__, "--serve", str(limit), "--files", str(options.files)]
    hub = subprocess.Popen([*command, "--megabytes", str(options.megabytes)], stdout=subprocess.PIPE, text=True)
    try:
        port, revision = hub.stdout.readline().split()
        names = [f"model-{number + 1:05d}-of-{options.files:05d}.safetensors" for number in range(options.files)]
        bench = Bench(f"http://127.0.0.1:{port}", revision, names, folder)
        client()
        ways = [bench.curl, bench.hf, bench.ours]
        if not limit:
            ways += [bench.curl_one, bench.curl_verified]
        seconds = {way.__name__: [] for way in ways}
        for turn in range(options.runs):
            for way in ways:
                target = folder / "files"
                begun = time.monotonic()
                way(target)
                seconds[way.__name__].append(time.monotonic() - begun)
                if any((target / name).stat().st_size != size for name in names):
                    raise SystemExit(f"{way.__name__} did not bring every byte")
                shutil.rmtree(target)
                print(f"{turn + 1}/{options.runs} {way.__name__}: {seconds[way.__name__][-1]:.2f} s", file=sys.stderr, flush=True)
    finally:
        hub.terminate()
        hub.wait()
    return seconds


def report(options, limit, seconds):
    """One table, with every way beside the faster of the two plain ones."""
    total = options.files * options.megabytes * 1_000_000
    speeds = {name: total / statistics.median(values) / 1e6 for name, values in seconds.items()}
    plain = max(speed for name, speed in speeds.items() if name in ("curl", "curl_one"))
    if options.json:
        value = {"bytes": total, "limit": limit, "seconds": seconds, "megabytesPerSecond": speeds, "ratio": speeds["ours"] / plain}
        print(json.dumps(value))
        return
    link = f"{limit} MB/s a connection" if limit else "as fast as the hub sends"
    print(f"{options.files} files of {options.megabytes} MB, {link}, median of {options.runs} runs")
    for name, speed in speeds.items():
        words = getattr(Bench, name).__doc__.split("\n")[0]
        print(f"{name:14} {speed:7.0f} MB/s  {speed / plain:5.2f} of plain curl   {words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=384, help="of each file")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", help="where the files are received (default: memory where it has room)")
    parser.add_argument("--limits", default="0,100", help="MB/s of each connection, one table each; 0: as fast as the hub sends")
    parser.add_argument("--json", action="store_true", help="print {bytes, limit, seconds, megabytesPerSecond, ratio}")
    parser.add_argument("--serve", type=int, metavar="LIMIT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        # Ended with its parent, whatever becomes of that.
        threading.Thread(target=lambda: (time.sleep(3600), os._exit(0)), daemon=True).start()
        return serve(options.files, options.megabytes * 1_000_000, options.serve * 1_000_000)
    memory = Path("/dev/shm")
    total = options.files * options.megabytes * 1_000_000
    place = options.folder or (memory if shutil.disk_usage(memory).free > 2 * total else None)
    for limit in map(int, options.limits.split(",")):
        with tempfile.TemporaryDirectory(prefix="bench-download-", dir=place) as folder:
            report(options, limit, measure(options, limit, Path(folder)))
    return None


if __name__ == "__main__":
    sys.exit(main())
