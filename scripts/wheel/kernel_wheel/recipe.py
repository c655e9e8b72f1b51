"""What is built, as plan/wheel-steps.ts writes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Archive:
    """A source archive; its checksum decides, the address only says where it may be had."""

    name: str
    url: str
    sha256: str
    into: str = ""
    """For a git submodule of another archive: where in that one it belongs, `<name>/<folder>`."""

    @property
    def file_name(self) -> str:
        """The file name at the end of the address."""
        return self.url.split("?")[0].split("#")[0].rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Recipe:
    """One wheel. Patches and locks lie beside the recipe's file."""

    package: str
    version: str
    local_version: str
    digest: str
    source: Archive
    folder: str
    vendored: tuple[Archive, ...]
    environment: dict[str, str]
    cmake: dict[str, str]
    architectures: tuple[str, ...]
    imports: tuple[str, ...]
    patches: tuple[str, ...]
    torch: str
    python: str
    cuda_home: str
    index: str
    jobs: int
    inputs: dict[str, object]
    """What the wheel is made of, for its manifest."""


def read(path: Path) -> Recipe:
    """The recipe in a JSON file."""
    data = json.loads(path.read_text("utf-8"))
    source = data.pop("source")
    vendored = tuple(Archive(**entry) for entry in data.pop("vendored"))
    for name in ("architectures", "imports", "patches"):
        data[name] = tuple(data[name])
    return Recipe(source=Archive(**source), vendored=vendored, **data)
