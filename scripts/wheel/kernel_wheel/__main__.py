"""python3 -m kernel_wheel INPUTS WORK RESULT: builds the wheel that INPUTS/recipe.json describes.

INPUTS holds recipe.json, patches/, requirements (the environment's lock), build.lock, uv-wheel (SHA256 BYTES NAME of uv itself),
files (the wheelhouse's list; without it packages come from the index), package_index.py and cuda-architectures.py. WORK stays
until the wheel is there: an interrupted build goes on where it was. RESULT gets the wheel and manifest.json, at once and only
when everything holds.
What is left to a person goes to INPUTS/problem: what, and the way on, a line each.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from . import check, compile as compilation, patches, uv_tool, wheel_file
from .archives import fetch, sha256_of, unpack
from .environment import BuildEnvironment
from .failure import Failure, say
from .recipe import Recipe, read

WHEELHOUSE = Path("/wheelhouse")
DOWNLOADS = Path("/var/cache/proxmox-gpu-stack/sources")


def wheelhouse_files(listing: Path) -> list[Path] | None:
    """The files of the wheelhouse's list; None without one. Raises Failure when one is not there."""
    if not listing.exists() or listing.stat().st_size == 0:
        return None
    paths = []
    for line in listing.read_text("utf-8").splitlines():
        sha256, _bytes, name = line.split(" ", 2)
        paths.append(WHEELHOUSE / "files" / sha256 / name)
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise Failure(
            f"the wheelhouse lacks {', '.join(missing[:8])}{more}", "./stack wheelhouse push STACK sends them to the host; then run up again"
        )
    return paths


def prepare_sources(recipe: Recipe, inputs: Path, work: Path) -> tuple[Path, dict[str, Path]]:
    """The patched source and the third-party sources, unpacked once."""
    source = work / "source"
    if not (work / "source.complete").exists():
        unpack(fetch(recipe.source, WHEELHOUSE, DOWNLOADS), source)
        patches.apply(source, [inputs / "patches" / name for name in recipe.patches], recipe.package)
        if not (source / recipe.folder / "pyproject.toml").exists():
            raise Failure(
                f"{recipe.source.file_name} has no {Path(recipe.folder) / 'pyproject.toml'}",
                "correct source.folder in wheels.toml: the folder below the archive's top folder",
            )
        say(f"unpacked {recipe.source.file_name}, applied {len(recipe.patches)} patches")
        (work / "source.complete").touch()
    return source, vendored_sources(recipe, work)


def vendored_sources(recipe: Recipe, work: Path) -> dict[str, Path]:
    """Third-party sources by the name that the project fetches them under; submodules lie in theirs."""
    folders = {}
    # Those that belong into another one come after it.
    for archive in sorted(recipe.vendored, key=lambda entry: entry.into.count("/")):
        folder = work / "vendored" / (archive.into or archive.name)
        mark = work / f"vendored-{archive.name}.complete"
        if not mark.exists():
            unpack(fetch(archive, WHEELHOUSE, DOWNLOADS), folder)
            mark.touch()
        if not archive.into:
            folders[archive.name] = folder
    return folders


def require_torch(recipe: Recipe, environment: BuildEnvironment) -> None:
    """The torch that is compiled against is the one that the wheel is named after."""
    found = environment.torch()
    if found != recipe.torch:
        raise Failure(
            f"torch in the build environment is {found or 'not there'}, the environment's lock has {recipe.torch or 'none'}",
            "run ./stack pin for this environment, then up again",
        )


def finish(recipe: Recipe, wheel: Path, result: Path) -> None:
    """Puts wheel and manifest in place by one rename."""
    aside = result.with_name(result.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    labelled = wheel_file.relabel(wheel, recipe.local_version, aside)
    manifest = {
        "file": labelled.name,
        "sha256": sha256_of(labelled),
        "bytes": labelled.stat().st_size,
        "inputs": recipe.inputs,
    }
    (aside / "manifest.json").write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", "utf-8")
    for path in (labelled, aside / "manifest.json"):
        path.chmod(0o644)
    aside.chmod(0o755)
    shutil.rmtree(result, ignore_errors=True)
    aside.rename(result)


def run(inputs: Path, work: Path, result: Path) -> None:
    """All of it. Raises Failure."""
    recipe = read(inputs / "recipe.json")
    work.mkdir(parents=True, exist_ok=True)
    wheels = wheelhouse_files(inputs / "files")
    source, vendored = prepare_sources(recipe, inputs, work)
    index = uv_tool.index_of(recipe.index) if wheels is None else ""
    uv = uv_tool.install(inputs / "uv-wheel", index, wheels)
    environment = BuildEnvironment(recipe, work, uv, wheels, index)
    environment.make(inputs / "requirements", inputs / "build.lock")
    require_torch(recipe, environment)
    wheel = compilation.build(environment, source, vendored, work.with_name(work.name + ".log"))
    check.check_name(wheel, recipe.package, recipe.version)
    check.check_architectures(wheel, recipe.architectures, inputs / "cuda-architectures.py", work / "libraries")
    check.check_import(wheel, environment, recipe.imports)
    finish(recipe, wheel, result)
    shutil.rmtree(work)
    say(f"{recipe.package} {recipe.local_version} is ready")


def main() -> int:
    """0 when the wheel is in place."""
    inputs, work, result = (Path(argument) for argument in sys.argv[1:])
    problem = inputs / "problem"
    problem.unlink(missing_ok=True)
    try:
        run(inputs, work, result)
    except Failure as failure:
        say(failure.cause)
        problem.write_text(" ".join(failure.cause.split("\n")) + "\n" + (failure.way_on or "run up again") + "\n", "utf-8")
        return 1
    except OSError as error:
        # A full disk above all: tell it as it is.
        say(f"{error.filename or work}: {error.strerror}")
        problem.write_text(f"{error.filename or work}: {error.strerror}\nmake room or look at that file, then run up again\n", "utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
