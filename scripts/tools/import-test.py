"""Whether what a lock resolved to works together, as far as a machine without a GPU can tell.

usage: import-test.py LOCK SMOKE_TEST_JSON, run by the environment's own interpreter

Versions, CUDA and architectures are those of ml-env-smoke-test.py beside it. Imports run in processes of their own, and a
failure whose only cause is that there is no GPU or driver here is told apart. Prints one JSON object:
{"wrong": [what differs], "imports": [{"module", "state": "fine" | "failed" | "no-gpu", "message"}]}.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What a driver brings; a container with GPUs has it from its host.
DRIVER_LIBRARY = re.compile(r"lib(cuda|nvidia-ml|nvcuvid|nvidia-\w+)\.so")
MISSING_LIBRARY = re.compile(r"(lib[^\s:]+\.so[^\s:]*): cannot open shared object file")
NO_GPU = re.compile(
    r"No accelerator|Found no NVIDIA driver|No CUDA GPUs are available|CUDA_ERROR_NO_DEVICE|NVML Shared Library Not Found"
    r"|0 active drivers"
)


def smoke_test():
    """The module of the test that containers run."""
    spec = importlib.util.spec_from_file_location("ml_env_smoke_test", HERE / "ml-env-smoke-test.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge(module, words):
    """What a failed import's words mean: the line that names the cause, and whether only a GPU or its driver is missing."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    libraries = MISSING_LIBRARY.findall(words)
    foreign = [name for name in libraries if not DRIVER_LIBRARY.match(name)]
    if foreign:
        return {"module": module, "state": "failed", "message": f"there is no {', '.join(sorted(set(foreign)))}"}
    cause = next((line for line in reversed(lines) if MISSING_LIBRARY.search(line) or NO_GPU.search(line)), None)
    if cause is not None:
        return {"module": module, "state": "no-gpu", "message": cause.lstrip("- ")}
    return {"module": module, "state": "failed", "message": lines[-1] if lines else "it ended without a word"}


def tried(module):
    """One import in a process of its own: a crash of one hides none of the others."""
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return {"module": module, "state": "fine", "message": ""}
    return judge(module, done.stderr)


def main():
    """Runs all tests."""
    lock, declared = sys.argv[1:]
    test = json.loads(Path(declared).read_text(encoding="utf-8"))
    smoke = smoke_test()
    wrong = [
        *smoke.wrong_versions(Path(lock).read_text(encoding="utf-8"), []),
        *smoke.wrong_cuda(test.get("cuda")),
        *smoke.missing_architectures(test.get("architectures", []), str(HERE / "cuda-architectures.py")),
    ]
    print(json.dumps({"wrong": wrong, "imports": [tried(module) for module in test.get("imports", [])]}))


if __name__ == "__main__":
    main()
