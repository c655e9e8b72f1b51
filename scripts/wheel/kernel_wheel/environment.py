"""The build environment: the packages of the environment's lock (its torch above all) and the build requirements."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from .failure import Failure, say
from .recipe import Recipe


class BuildEnvironment:
    """A virtual environment in the work folder."""

    def __init__(self, recipe: Recipe, work: Path, uv: Path, wheels: list[Path] | None, index: str) -> None:
        """`wheels`: the files of the wheelhouse; None: packages come from `index`, an address that may hold a password."""
        self.recipe, self.work, self.uv, self.wheels, self.index = recipe, work, uv, wheels, index
        self.folder = work / "environment"
        self.python = self.folder / "bin" / "python3"

    def variables(self) -> dict[str, str]:
        """Variables of every program of the build."""
        path = [str(self.folder / "bin")]
        variables = {**os.environ, "UV_CACHE_DIR": "/var/cache/proxmox-gpu-stack/uv", "UV_NO_PROGRESS": "1", "UV_NO_CONFIG": "1"}
        variables |= {"UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "hardlink", "VIRTUAL_ENV": str(self.folder)}
        if self.wheels is not None:
            variables["UV_OFFLINE"] = "1"
        else:
            variables["UV_DEFAULT_INDEX"] = self.index
        if self.recipe.cuda_home:
            variables["CUDA_HOME"] = variables["CUDA_PATH"] = self.recipe.cuda_home
            variables["CUDACXX"] = f"{self.recipe.cuda_home}/bin/nvcc"
            path.append(f"{self.recipe.cuda_home}/bin")
        variables["PATH"] = ":".join([*path, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
        return variables

    def _uv(self, *arguments: str) -> None:
        command = [str(self.uv), *arguments]
        result = subprocess.run(command, env=self.variables(), text=True, capture_output=True, check=False)
        if result.returncode != 0:
            last = "\n".join((result.stderr or result.stdout).strip().splitlines()[-12:])
            raise Failure(f"the build environment could not be made:\n{last}", "the lines above name the package or the file")

    def _source(self) -> list[str]:
        if self.wheels is None:
            return []
        folders = sorted({str(path.parent) for path in self.wheels if path.suffix == ".whl" or path.name.endswith(".tar.gz")})
        return ["--no-index", *(f"--find-links={folder}" for folder in folders)]

    def make(self, requirements: Path, build_lock: Path) -> None:
        """Packages of both locks, every file by its hash; made anew when an earlier attempt did not get that far."""
        complete = self.folder / ".complete"
        if complete.exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        say("making the build environment")
        self._uv("venv", "--quiet", "--python", self.recipe.python, str(self.folder))
        common = ["--quiet", "--python", str(self.python), "--require-hashes", *self._source()]
        self._uv("pip", "sync", *common, str(requirements))
        self._uv("pip", "install", *common, "--no-deps", "--requirement", str(build_lock))
        complete.touch()

    def torch(self) -> str:
        """The version of torch in it; empty when there is none."""
        program = "import json\ntry:\n  import torch\n  v = torch.__version__\nexcept ImportError:\n  v = ''\nprint(json.dumps(str(v)))"
        result = subprocess.run([str(self.python), "-c", program], env=self.variables(), text=True, capture_output=True, check=False)
        if result.returncode != 0:
            raise Failure(f"torch of the environment cannot be imported: {result.stderr.strip().splitlines()[-1]}")
        return json.loads(result.stdout.strip().splitlines()[-1])
