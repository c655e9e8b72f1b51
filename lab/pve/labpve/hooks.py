"""The hook script of a container, called with its id and a phase: {pre,post}-{start,stop}."""

import os
import subprocess

from labpve import storages
from labpve.errors import PveError


def check(volume):
    """Refuse a hook script that is no snippet, not there, or not executable."""
    if storages.split_file(volume)[1] != "snippets":
        raise PveError(f"hook script '{volume}' is not in the snippets directory")
    path = storages.file_path(volume)
    if not os.path.isfile(path):
        raise PveError(f"hook script '{volume}' does not exist")
    if not os.access(path, os.X_OK):
        raise PveError(f"script '{volume}' is not executable")


def run(vmid, config, phase, stop_on_error=False):
    """Run the hook script, if there is one; its failure counts in pre-start only."""
    volume = config.options.get("hookscript")
    if not volume:
        return
    check(volume)
    result = subprocess.run([storages.file_path(volume), str(vmid), phase], check=False)
    if result.returncode and stop_on_error:
        raise PveError(f"hookscript error for {vmid} on {phase}: failed with exit code {result.returncode}")
