"""The compilation: by the project's own build backend, with no network, a bounded number of compilers, and progress."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import deque
from pathlib import Path

from .environment import BuildEnvironment
from .failure import Failure, say
from .progress import Progress

LAST_LINES = 30


def filled(text: str, cuda_home: str, source: Path) -> str:
    """`{cuda}` and `{source}` of a recipe's values."""
    return text.replace("{cuda}", cuda_home).replace("{source}", str(source))


def settings(environment: BuildEnvironment, source: Path, vendored: dict[str, Path]) -> list[str]:
    """CMake's -D options. FetchContent gets every source as a folder, and is kept from the network."""
    recipe = environment.recipe
    options = {name: filled(value, recipe.cuda_home, source) for name, value in recipe.cmake.items()}
    if vendored:
        options["FETCHCONTENT_FULLY_DISCONNECTED"] = "ON"
    for name, folder in vendored.items():
        options[f"FETCHCONTENT_SOURCE_DIR_{name.upper()}"] = str(folder)
    return [f"-D{name}={value}" for name, value in options.items()]


def variables(environment: BuildEnvironment, source: Path, options: list[str]) -> dict[str, str]:
    """Variables of the compilation; those of the recipe win."""
    recipe = environment.recipe
    result = environment.variables()
    # scikit-build-core and setuptools' CMake helpers read CMAKE_ARGS; a semicolon is a list's separator for some of them.
    result["CMAKE_ARGS"] = " ".join(options)
    result["CMAKE_GENERATOR"] = "Ninja"
    result["CMAKE_BUILD_PARALLEL_LEVEL"] = result["MAX_JOBS"] = str(recipe.jobs)
    if shutil.which("ccache"):
        result["CCACHE_DIR"] = "/var/cache/proxmox-gpu-stack/ccache"
        # Another digest is another work folder: what did not change is found again nevertheless.
        result["CCACHE_BASEDIR"], result["CCACHE_NOHASHDIR"] = str(environment.work), "1"
        result["CMAKE_C_COMPILER_LAUNCHER"] = result["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        result["CMAKE_CUDA_COMPILER_LAUNCHER"] = "ccache"
    for name, value in recipe.environment.items():
        result[name] = filled(value, recipe.cuda_home, source)
    return result


def telling(lines: list[str]) -> str:
    """The lines that say what is wrong, or the last ones."""
    errors = [line for line in lines if re.search(r"\b(error|fatal|FAILED|Killed|could not find)\b", line, re.IGNORECASE)]
    return " | ".join((errors or lines)[:4])


def build(environment: BuildEnvironment, source: Path, vendored: dict[str, Path], log: Path) -> Path:
    """The wheel that the backend made. An interrupted build goes on where it was: its build folder stays."""
    recipe, work = environment.recipe, environment.work
    output = work / "dist"
    shutil.rmtree(output, ignore_errors=True)
    command = [str(environment.uv), "build", "--wheel", "--verbose", "--no-build-isolation", "--python", str(environment.python)]
    command += ["--out-dir", str(output)]
    if recipe.cmake or recipe.vendored:
        command += [f"--config-setting=build-dir={work / 'build'}"]
    command.append(str(source / recipe.folder))
    env = variables(environment, source, settings(environment, source, vendored))
    say(f"compiling {recipe.package} {recipe.version} with {recipe.jobs} compiler{'s' if recipe.jobs > 1 else ''} at once")
    progress = Progress(say)
    last: deque[str] = deque(maxlen=LAST_LINES)
    with log.open("a", encoding="utf-8") as whole:
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=work
        )
        assert process.stdout is not None
        for line in process.stdout:
            whole.write(line)
            text = line.strip().removeprefix("DEBUG ").strip()
            last.append(text[:400])
            progress.line(text)
        status = process.wait()
    wheels = sorted(output.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        say("\n".join(["--- the last lines of the build:", *last]))
        raise Failure(
            f"the build of {recipe.package} ended with {status}: {telling(list(last))}",
            f"the whole output: {log}. What was compiled stays: the next `up` goes on there",
        )
    return wheels[0]
