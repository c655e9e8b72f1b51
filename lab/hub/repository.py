"""The hub's repositories: files, git object ids, commits. Everything is computed from the contents, as git does."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import checkpoint

LFS_SUFFIXES = (".safetensors", "tokenizer.json")
GIT_ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LFS_SUFFIXES).encode()
COMMIT_DATES = (1780000000, 1785000000)


class MissingError(Exception):
    """Something that the hub does not have. `code` is the hub's X-Error-Code: RepoNotFound, RevisionNotFound or EntryNotFound."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class File:
    """One file of a commit. Large files are kept outside git (LFS): git holds a pointer with their SHA-256."""

    path: str
    data: bytes

    @property
    def size(self):
        return len(self.data)

    @property
    def is_lfs(self):
        return self.path.endswith(LFS_SUFFIXES)

    @cached_property
    def sha256(self):
        return hashlib.sha256(self.data).hexdigest()

    @property
    def pointer(self):
        """What git holds instead of an LFS file."""
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n".encode()

    @property
    def blob_id(self):
        """Git's id of what git holds: the file, or the pointer of an LFS file."""
        return git_id("blob", self.pointer if self.is_lfs else self.data)

    @property
    def etag(self):
        """The hub's ETag: SHA-256 of an LFS file, git blob id of any other."""
        return self.sha256 if self.is_lfs else self.blob_id

    def altered(self):
        """The same file with other contents: still valid where the format allows it."""
        if self.path.endswith(".safetensors"):
            return File(self.path, self.data[:-1] + bytes([self.data[-1] ^ 1]))
        return File(self.path, self.data + b"\n")


def git_id(kind, data):
    """The id git gives an object: SHA-1 over its kind, length and contents."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest()


def tree_id(entries):
    """The id of a git tree: `entries` maps paths to blob ids; paths with a slash make sub-trees."""
    folders, lines = {}, []
    for path, blob in entries.items():
        name, _, rest = path.partition("/")
        if rest:
            folders.setdefault(name, {})[rest] = blob
        else:
            lines.append((name, b"100644 %s\0" % name.encode() + bytes.fromhex(blob)))
    for name, inner in folders.items():
        # Git sorts a folder as if its name ended with a slash.
        lines.append((name + "/", b"40000 %s\0" % name.encode() + bytes.fromhex(tree_id(inner))))
    return git_id("tree", b"".join(line for _, line in sorted(lines)))


@dataclass(frozen=True)
class Commit:
    """One state of a repository. `id` is what a stack pins as the model's revision."""

    files: dict
    date: int
    parent: str | None = None

    @property
    def id(self):
        tree = tree_id({path: file.blob_id for path, file in self.files.items()})
        lines = [f"tree {tree}"]
        if self.parent:
            lines.append(f"parent {self.parent}")
        who = f"lab <lab@localhost> {self.date} +0000"
        lines += [f"author {who}", f"committer {who}", "", "Upload checkpoint", ""]
        return git_id("commit", "\n".join(lines).encode())


@dataclass
class Repository:
    """A model repository: its commits, oldest first. `main` is the last one. A gated one wants a token with access."""

    name: str
    gated: bool = False
    commits: list = field(default_factory=list)

    def add_commit(self, contents):
        """Adds a commit with these {path: bytes}; the dates are fixed, so that commit ids are too."""
        files = {path: File(path, data) for path, data in {".gitattributes": GIT_ATTRIBUTES, **contents}.items()}
        parent = self.commits[-1][0] if self.commits else None
        commit = Commit(dict(sorted(files.items())), COMMIT_DATES[len(self.commits)], parent)
        self.commits.append((commit.id, commit))

    def find(self, revision):
        """The (id, commit) of a branch name or a full commit id. Raises MissingError for anything else."""
        if revision in ("main", "refs/heads/main"):
            return self.commits[-1]
        for commit_id, commit in self.commits:
            if revision == commit_id:
                return commit_id, commit
        raise MissingError("RevisionNotFound", f"Invalid rev id: {revision}")


def build():
    """All repositories, by name: {name: Repository}."""
    tiny = Repository("lab/qwen3.6-tiny")
    tiny.add_commit(checkpoint.qwen_files(tiny.name, temperature=0.6))
    tiny.add_commit(checkpoint.qwen_files(tiny.name, temperature=1.0))
    gated = Repository("lab/gated-tiny", gated=True)
    gated.add_commit(checkpoint.qwen_files(gated.name, temperature=1.0))
    draft = Repository("lab/eagle3-draft-tiny")
    draft.add_commit(checkpoint.draft_files(draft.name))
    return {repository.name: repository for repository in (tiny, gated, draft)}


def write_snapshot(repository, revision, folder):
    """Writes every file of a revision below `folder`, as a download would leave them. Returns the commit id."""
    commit_id, commit = repository.find(revision)
    for path, file in commit.files.items():
        target = Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    return commit_id
