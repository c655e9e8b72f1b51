"""Whether what a lock resolved to works together: installed versions, and the imports of the smoke test.

usage: import-test.py LOCK [MODULE…], run by the environment's own interpreter

Prints one JSON object: {"versions": [what differs], "imports": [{"module", "state", "message"}]}. State is fine, failed, or
no-gpu where the only cause is that this machine has no GPU or driver.
"""

import importlib.metadata
import json
import re
import subprocess
import sys

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;\\]+)")
# Words of failures that a machine with a driver does not have.
NO_GPU = re.compile(
    r"libcuda\.so|libnvidia-ml\.so|No accelerator|Found no NVIDIA driver|No CUDA GPUs are available|No NVIDIA GPU"
    r"|CUDA_ERROR_NO_DEVICE|NVML Shared Library Not Found|0 active drivers|Torch not compiled with CUDA"
)


def differing(lock):
    """Packages whose installed version is not the lock's."""
    found = []
    with open(lock, encoding="utf-8") as stream:
        pins = [match for line in stream if (match := PIN.match(line))]
    for pin in pins:
        try:
            installed = importlib.metadata.version(pin[1])
        except importlib.metadata.PackageNotFoundError:
            installed = "nothing"
        if installed != pin[2]:
            found.append(f"{pin[1]}: {installed} is installed, the lock says {pin[2]}")
    return found


def tried(module):
    """One import in a process of its own: a crash of one hides none of the others."""
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return {"module": module, "state": "fine", "message": ""}
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    message = lines[-1] if lines else f"ended with {done.returncode}"
    state = "no-gpu" if NO_GPU.search(done.stderr) else "failed"
    return {"module": module, "state": state, "message": message}


def main():
    """Runs both tests."""
    lock, *modules = sys.argv[1:]
    print(json.dumps({"versions": differing(lock), "imports": [tried(module) for module in modules]}))


if __name__ == "__main__":
    main()
