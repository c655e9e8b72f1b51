"""Brings contents from the hub into a folder: in parallel, resumed, hashed while they come."""

import concurrent.futures
import errno
import http.client
import os
import threading

from .files import PARTIAL, SnapshotError, content, hash_into, new_digest, size_of
from .hub import Patience
from .parallel import in_parallel
from .progress import Progress
from .room import no_room

BLOCK = 1 << 19


class Transfer:
    """The download of files for the snapshot in PATH; `place(partial, files)` takes each content that is complete."""

    def __init__(self, hub, path, files, place):
        self.hub, self.path, self.place = hub, path, place
        self.folder = os.path.join(f"{path}.incomplete", PARTIAL)
        # The largest first: the last one then is not the longest.
        self.files = sorted(files, key=lambda file: -file["bytes"])
        self.stopped, self.progress = threading.Event(), None

    def partial(self, file):
        return os.path.join(self.folder, content(file))

    def lacking(self):
        """How many bytes are still to come."""
        return sum(max(0, file["bytes"] - size_of(self.partial(file))) for file in unique(self.files))

    def run(self):
        """Brings them all. Raises SnapshotError for the first that cannot be had; what came is kept."""
        places = {}
        for file in self.files:
            places.setdefault(content(file), []).append(file)
        total = sum(file["bytes"] for file in unique(self.files))
        with Progress(self.hub.repo, total, total - self.lacking()) as self.progress:
            for _ in in_parallel(self.bring, places.values(), self.stopped):
                pass

    def bring(self, files):
        """One content, for all files that have it."""
        file = files[0]
        partial, wrong = self.partial(file), 0
        patience = Patience(file["path"], self.stopped)
        while True:
            before = size_of(partial)
            try:
                found = self.receive(partial, file)
            except (OSError, http.client.HTTPException) as error:
                if size_of(partial) > before:
                    patience.start_anew()
                patience.after(error)
                continue
            if found == content(file):
                self.place(partial, files)
                return
            os.unlink(partial)
            self.progress.add(-file["bytes"])
            wrong += 1
            if wrong > 1:
                raise SnapshotError(
                    f"{file['path']}: {self.hub.base} sent it twice with hash {found}, it must be {content(file)}",
                    "something between here and the hub damages it, or the mirror holds another file: try another `endpoint`",
                )
            print(f"{file['path']}: what came does not have its hash; once more", flush=True)

    def receive(self, partial, file):
        """Appends what a partial lacks; returns the hash of all of it. Raises OSError where the transfer broke off."""
        digest = new_digest(file)
        start = hash_into(digest, partial)
        with open(partial, "ab", buffering=0) as stream:
            if start < file["bytes"]:
                with self.hub.content(file["path"], start) as answer:
                    if start and answer.status != 206:
                        # A server without ranges sends it whole.
                        stream.truncate(0)
                        self.progress.add(-start)
                        digest, start = new_digest(file), 0
                    self.copy(answer, stream, digest, file, start)
            # Only now may a record vouch for it: a power loss could leave zeros under the right size and time.
            self.on_disk(os.fsync, stream.fileno(), file)
        return digest.hexdigest()

    def copy(self, answer, stream, digest, file, start):
        """Receives the rest of a file. A second thread hashes one block while the next one comes."""
        left, buffer, other = file["bytes"] - start, memoryview(bytearray(BLOCK)), memoryview(bytearray(BLOCK))
        with concurrent.futures.ThreadPoolExecutor(1) as hashing:
            hashed = None
            while left and (count := answer.readinto(buffer[: min(left, BLOCK)])):
                if self.stopped.is_set():
                    raise SnapshotError(f"{file['path']}: stopped")
                block = buffer[:count]
                before, hashed = hashed, hashing.submit(digest.update, block)
                self.write(stream, block, file)
                self.progress.add(count)
                left -= count
                if before:
                    before.result()
                buffer, other = other, buffer
        if left:
            raise ConnectionError(f"the connection ended after {file['bytes'] - left} of {file['bytes']} bytes")

    def write(self, stream, block, file):
        while block:
            block = block[self.on_disk(stream.write, block, file) :]

    def on_disk(self, action, argument, file):
        """Does something with the disk. Raises SnapshotError where it fails: trying again is no use."""
        try:
            return action(argument)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise no_room(f"{file['path']}: {error.strerror}: {self.hub.repo}", self.path, self.lacking()) from None
            raise SnapshotError(f"{file['path']}: {error.strerror} ({self.folder})") from None


def unique(files):
    """One file for each content."""
    return {content(file): file for file in files}.values()
