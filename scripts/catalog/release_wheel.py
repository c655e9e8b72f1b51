"""One SGLang release's wheel: download, hash, unpacked files, metadata, environment variables, endpoints."""

import ast
import email.parser
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# One build of each release is read, whatever machine reads it: the argument parser is the same in all.
WHEEL_TARGET = ["--python-version", "3.11", "--platform", "manylinux_2_34_x86_64"]
ENVIRONMENT_NAME = re.compile(r"\bSGL(?:ANG)?_[A-Z0-9_]*[A-Z0-9]\b")
# Requirements for other machines than the Linux x86_64 servers that this project builds.
OTHER_MACHINE = re.compile(r'sys_platform == "linux" and \(platform_machine == "aarch64"|python_version <')


class WheelError(Exception):
    """A wheel that cannot be had or is not what the catalog says it is."""


def cache_folder():
    """Where wheels are kept between runs."""
    default = pathlib.Path.home() / ".cache" / "proxmox-gpu-stack"
    return pathlib.Path(os.environ.get("PROXMOX_GPU_STACK_CACHE") or default) / "catalog"


def pip_download(folder, arguments):
    """Run pip's download into `folder` aside, then move the files in; returns the new files' paths."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary=:all:", "--retries", "1", "--dest", aside, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip()
            if "No module named pip" in words:
                raise WheelError(f"{sys.executable} has no pip, which fetches the wheel: apt install python3-pip")
            raise WheelError(f"pip download {' '.join(arguments)} failed: {words[-600:]}")
        moved = []
        for name in sorted(os.listdir(aside)):
            os.replace(os.path.join(aside, name), folder / name)
            moved.append(folder / name)
        return moved


def sha256(path):
    """The file's SHA-256 in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def obtain(version, expected_sha256=None):
    """The path of the release's wheel, from the cache or the configured index (pip checks the index's hash).

    Raises WheelError when the release does not exist, or when its hash is not `expected_sha256`.
    """
    folder = cache_folder() / "wheels"
    cached = sorted(folder.glob(f"sglang-{version}-*.whl"))
    path = cached[0] if cached else pip_download(folder, [*WHEEL_TARGET, f"sglang=={version}"])[0]
    found = sha256(path)
    if expected_sha256 and found != expected_sha256:
        path.unlink()
        raise WheelError(
            f"sglang {version}: {path.name} has SHA-256 {found}, the catalog says {expected_sha256}; "
            "it was removed from the cache, run again to fetch it anew"
        )
    return path


def unpack(wheel):
    """The folder that holds the wheel's Python files, unpacked once into the cache."""
    target = cache_folder() / "unpacked" / f"{wheel.stem}-{sha256(wheel)[:12]}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = pathlib.Path(tempfile.mkdtemp(dir=target.parent))
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith((".py", ".dist-info/METADATA"))]
        archive.extractall(aside, names)
    try:
        os.rename(aside, target)
    except OSError:
        # Another run was faster.
        shutil.rmtree(aside)
    return target


def msgspec_folder():
    """msgspec for this interpreter, unpacked; its hashes are pinned in requirements.txt."""
    folder = cache_folder() / f"msgspec-{sys.implementation.cache_tag}"
    if (folder / "msgspec").is_dir():
        return folder
    requirements = pathlib.Path(__file__).parent / "requirements.txt"
    with tempfile.TemporaryDirectory() as aside:
        files = pip_download(pathlib.Path(aside), ["--require-hashes", "--requirement", str(requirements)])
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(files[0]) as archive:
            archive.extractall(folder)
    return folder


def metadata(unpacked):
    """`(requires_python, pins)`: the release's own requirements on a Linux x86_64 server, without extras."""
    (path,) = unpacked.glob("sglang-*.dist-info/METADATA")
    message = email.parser.Parser().parsestr(path.read_text(encoding="utf-8"), headersonly=True)
    pins = {}
    for requirement in message.get_all("Requires-Dist", []):
        text, _, marker = requirement.partition(";")
        if "extra ==" in marker or OTHER_MACHINE.search(marker):
            if not marker.strip().startswith('sys_platform != "linux" or'):
                continue
        name = re.match(r"[A-Za-z0-9._-]+", text.strip()).group()
        rest = text.strip()[len(name) :]
        pins[re.sub(r"[-_.]+", "-", name).lower()] = rest.replace(" ", "").strip()
    return message["Requires-Python"], dict(sorted(pins.items()))


def environment_names(unpacked):
    """Every SGLANG_… and SGL_… name that the release's Python files mention, sorted."""
    names = set()
    for path in (unpacked / "sglang").rglob("*.py"):
        names.update(ENVIRONMENT_NAME.findall(path.read_text(encoding="utf-8", errors="replace")))
    return sorted(names)


ROUTE_FILES = ("http_server.py", "v1_loads.py")
ROUTE_METHODS = ("get", "post", "put", "delete", "api_route", "websocket")


def endpoints(unpacked):
    """The paths of the HTTP server: first arguments of the route decorators, sorted."""
    paths = set()
    for name in ROUTE_FILES:
        source = (unpacked / "sglang" / "srt" / "entrypoints" / name).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for call in node.decorator_list:
                is_route = isinstance(call, ast.Call) and getattr(call.func, "attr", None) in ROUTE_METHODS
                if is_route and call.args and isinstance(call.args[0], ast.Constant):
                    paths.add(call.args[0].value)
    return sorted(paths)
