"""The folder of one model: what is not as declared, what is taken over, the switch."""

import contextlib
import json
import os
import shutil
import threading

from .facts import CONFIGS, config_problems
from .files import PARTIAL, RECORD, SnapshotError, content, files_below, has_content, is_untouched, load_record, size_of
from .parallel import in_parallel
from .progress import Progress
from .room import human, require_room, size_below

# What `hf download` keeps for itself beside the files; of no use to anybody else.
CLIENT_FOLDER = os.path.join(".cache", "huggingface", "")


class Snapshot:
    """One model as SPEC declares it. With by_hash nothing is believed by its size and time."""

    def __init__(self, spec, by_hash=False):
        self.spec, self.by_hash = spec, by_hash
        self.path = spec["path"].rstrip("/")
        self.aside = f"{self.path}.incomplete"
        self.old = f"{self.path}.old"
        # Verified files of the new folder, by path.
        self.done, self.lock = {}, threading.Lock()

    def check(self):
        """What is not as declared, one line each."""
        record = load_record(self.path)
        if record is None:
            return [f"{self.path} holds no verified snapshot"]
        found, wanted = (f"{one['repo']}@{one['revision']}" for one in (record, self.spec))
        if found != wanted:
            return [f"{self.path} holds {found[:-28]}, declared is {wanted[:-28]}"]
        files = record["files"]
        problems = [
            f"{file['path']}: the recorded list has another content than the snapshot"
            for file in self.spec["files"] or []
            if file["path"] not in files or content(files[file["path"]]) != content(file)
        ]
        problems += filter(None, in_parallel(self.file_problem, files.values()))
        strangers = [path for path in files_below(self.path) if path not in files and path != RECORD]
        problems += [f"{path}: no part of the snapshot" for path in strangers]
        return sorted(problems) + config_problems(self.path, self.spec["facts"])

    def file_problem(self, file):
        full = os.path.join(self.path, file["path"])
        if not os.path.isfile(full):
            return f"{file['path']}: missing"
        if size_of(full) != file["bytes"]:
            return f"{file['path']}: {size_of(full)} bytes, must be {file['bytes']}"
        if not is_untouched(self.path, file):
            return f"{file['path']}: touched since it was verified"
        if self.by_hash and not has_content(full, file):
            return f"{file['path']}: damaged: size and time are as recorded, the content is not (`touch` it and it is repaired)"
        return None

    def fetch(self, token):
        """Brings PATH to the declared revision. Raises SnapshotError; PATH is then as it was."""
        # Here: a check, which every look at a stack runs, loads nothing of HTTP and TLS.
        from .hub import Hub
        from .transfer import Transfer

        self.refuse_odd_place()
        self.finish_switch()
        os.makedirs(os.path.join(self.aside, PARTIAL), exist_ok=True)
        hub = Hub(self.spec, token)
        files = self.spec["files"] or hub.files()
        self.refuse_odd_names(files)
        self.keep_wanted(files)
        missing = self.take_over(files)
        if missing and self.spec["files"]:
            self.refuse_changed(hub.files(), missing)
        rest = [file for file in missing if file["path"] not in CONFIGS]
        if missing:
            lacking = Transfer(hub, self.path, missing, self.take).lacking()
            print(
                f"{hub.repo}@{hub.revision[:12]}: {len(missing)} of {len(files)} files, {human(lacking)} from {hub.base}",
                flush=True,
            )
            require_room(hub.repo, self.path, lacking)
            # First what says which model it is: another one than planned is not worth the download.
            Transfer(hub, self.path, [file for file in missing if file not in rest], self.take).run()
        self.refuse_other_facts()
        if rest:
            Transfer(hub, self.path, rest, self.take).run()
        self.switch(files)

    def refuse_odd_place(self):
        for is_odd, what in ((os.path.islink, "a symbolic link"), (os.path.ismount, "a mount point")):
            if is_odd(self.path):
                raise SnapshotError(
                    f"{self.path} is {what}: it cannot be switched", "give the model another `path`, a folder below it"
                )
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise SnapshotError(f"{self.path} is not a folder", "move it away")

    @staticmethod
    def refuse_odd_names(files):
        for path in (file["path"] for file in files):
            if path.startswith("/") or ".." in path.split("/") or path.split("/")[0] in (RECORD, PARTIAL):
                raise SnapshotError(f"the list names a file that may not be in a snapshot: {path!r}")

    def refuse_changed(self, listed, missing):
        """What the hub lists with another content than the recorded one was changed under the same revision."""
        there = {file["path"]: content(file) for file in listed}
        for file in missing:
            found = there.get(file["path"])
            if found != content(file):
                now = f"lists {found}" if found else "does not list it any more"
                raise SnapshotError(
                    f"{file['path']}: recorded for this revision is {content(file)}, {self.spec['endpoint']} {now}",
                    "it was changed under the same revision, so nothing is fetched. Find out why; another `endpoint` may have "
                    "the recorded file; to take the new one, record the list again with `./stack describe-model`",
                )

    def refuse_other_facts(self):
        problems = config_problems(self.aside, self.spec["facts"])
        if problems:
            raise SnapshotError(
                "; ".join(problems),
                "the stack was checked and planned for another model: correct the model's repo or revision, or those facts",
            )

    def keep_wanted(self, files):
        """Keeps of an earlier run what this revision has too."""
        record = load_record(self.aside)
        known = record["files"] if record else {}
        for file in files:
            before = known.get(file["path"])
            if before and content(before) == content(file) and is_untouched(self.aside, before):
                self.done[file["path"]] = file
        wanted = {os.path.join(PARTIAL, content(file)) for file in files} | set(self.done)
        for path in set(files_below(self.aside)) - wanted:
            os.unlink(os.path.join(self.aside, path))

    def take_over(self, files):
        """Takes what PATH holds of these files, whoever put it there; returns the ones that are missing."""
        record = load_record(self.path)
        recorded = record["files"].values() if record and not self.by_hash else ()
        known = {content(file): file["path"] for file in recorded if is_untouched(self.path, file)}
        paths = set(known.values())
        missing, unsure = [], []
        for file in files:
            source = os.path.join(self.path, known.get(content(file), file["path"]))
            if file["path"] in self.done:
                continue
            if content(file) in known:
                self.place(source, file)
            elif size_of(source) != file["bytes"] or file["path"] in paths:
                missing.append(file)
            else:
                unsure.append(file)
        with Progress(f"verifying what lies in {self.path}", sum(file["bytes"] for file in unsure)) as progress:
            missing += filter(None, in_parallel(lambda file: self.take_verified(file, progress), unsure))
        if unsure:
            print(f"{self.path}: {len(self.done)} of {len(files)} files are there and verified", flush=True)
        return missing

    def take_verified(self, file, progress):
        """Takes a file of PATH where its hash is right; else returns it."""
        source = os.path.join(self.path, file["path"])
        if has_content(source, file, progress):
            return self.take(source, [file])
        print(f"{file['path']}: what lies in {self.path} has another content", flush=True)
        return file

    def take(self, source, files):
        """Puts a verified file into the places of all files with its content, and remembers them."""
        with self.lock:
            for file in files:
                self.place(source, file)
            self.write_record(self.done.values())
        if os.path.dirname(source) == os.path.join(self.aside, PARTIAL):
            os.unlink(source)

    def place(self, source, file):
        """A link: the same bytes are on the disk once, also while the old folder still has them."""
        target = os.path.join(self.aside, file["path"])
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            os.link(os.path.realpath(source), target)
        except OSError:
            shutil.copy2(source, target)
        self.done[file["path"]] = file

    def write_record(self, files):
        entries = [{**file, "mtimeNs": os.stat(os.path.join(self.aside, file["path"])).st_mtime_ns} for file in files]
        full = os.path.join(self.aside, RECORD)
        with open(f"{full}.new", "w", encoding="utf-8") as stream:
            json.dump({"repo": self.spec["repo"], "revision": self.spec["revision"], "files": entries}, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(f"{full}.new", full)

    def switch(self, files):
        """The new folder takes the place of the old one. Containers read it as other users."""
        shutil.rmtree(os.path.join(self.aside, PARTIAL))
        self.write_record(files)
        for parent, _, names in os.walk(self.aside):
            os.chmod(parent, 0o755)
            for name in names:
                os.chmod(os.path.join(parent, name), 0o444)
        if os.path.exists(self.path):
            os.rename(self.path, self.old)
        os.rename(self.aside, self.path)
        self.clear_old()
        print(f"{self.path}: {len(files)} files, {human(sum(file['bytes'] for file in files))}, all verified", flush=True)

    def finish_switch(self):
        """Ends what a power loss cut off between the two renames, or after them."""
        if os.path.exists(self.old):
            if os.path.exists(self.path):
                self.clear_old()
            else:
                os.rename(self.old, self.path)

    def clear_old(self):
        """Removes the old folder, but not what somebody else put there: that is kept in PATH.replaced and told."""
        if not os.path.exists(self.old):
            return
        record = load_record(self.old)
        ours = {RECORD, *(record["files"] if record else ())}
        for path in list(files_below(self.old)):
            full, new = os.path.join(self.old, path), os.path.join(self.path, path)
            same = os.path.exists(new) and os.path.exists(full) and os.path.samefile(full, new)
            if path in ours or same or path.startswith(CLIENT_FOLDER):
                os.unlink(full)
        kept = sorted(files_below(self.old))
        for parent, _, _ in os.walk(self.old, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(parent)
        if not kept:
            return
        replaced, number = f"{self.path}.replaced", 1
        while os.path.exists(replaced):
            number += 1
            replaced = f"{self.path}.replaced-{number}"
        size = human(size_below(self.old))
        os.rename(self.old, replaced)
        names = ", ".join(kept[:5]) + (" …" if len(kept) > 5 else "")
        print(f"{len(kept)} files are no part of the snapshot and now lie in {replaced} ({size}): {names}", flush=True)
