"""vzdump, Proxmox VE's backups, for what the lab covers: one container, mode stop, to a directory storage."""

import os
import subprocess
import sys
import time

from labpve import (
    config_file,
    lifecycle,
    locks,
    lxc_config,
    node,
    pct_arguments,
    schema,
    state,
    storages,
    tasks,
    volumes,
)
from labpve.errors import PveError
from labpve.pct_arguments import UsageError

_FAILED = 255

_DEFAULTS = {"storage": "local", "mode": "snapshot", "compress": "0", "notes-template": ""}

_SUFFIX = {"0": ("tar", None), "zstd": ("tar.zst", "--zstd"), "gzip": ("tar.gz", "--gzip")}


def _folder(storage):
    entry = storages.load().get(storage)
    if entry is None:
        raise PveError(f"could not get storage information for '{storage}': storage '{storage}' does not exist")
    if "backup" not in storages.contents(entry):
        raise PveError(
            f"could not get storage information for '{storage}': can't use storage '{storage}' for backups - wrong content type"
        )
    return node.path(f"{entry['path']}/{storages.FOLDERS['backup']}")


def _as_container_root(config):
    """Owners in an archive are those that the container sees."""
    if not config.is_unprivileged():
        return []
    ids = f"0:{volumes.FIRST_HOST_ID}:65536"
    return ["lxc-usernsexec", "-m", f"u:{ids}", "-m", f"g:{ids}", "--"]


def _archive(config, path, compression):
    """The disk with everything that is no mount of its own, and the configuration as etc/vzdump/pct.conf."""
    aside = f"{path}.tmp"
    os.makedirs(f"{aside}/etc/vzdump")
    try:
        with open(f"{aside}/etc/vzdump/pct.conf", "w", encoding="utf-8") as file:
            file.write(config_file.render(config))
        os.chmod(aside, 0o755)
        root = lxc_config.root_directory(config)
        command = _as_container_root(config) + ["tar", "cpf", "-", "--numeric-owner", "--sparse", "--one-file-system"]
        command += [f"--directory={aside}", "./etc/vzdump/pct.conf", f"--directory={root}"]
        command += ["--anchored", "--exclude=./tmp/?*", "--exclude=./var/tmp/?*", "--exclude=./var/run/?*.pid", "./"]
        with open(f"{path}.dat", "wb") as target:
            packed = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            program = {"--zstd": ["zstd", "-q"], "--gzip": ["gzip"], None: ["cat"]}[compression]
            subprocess.run(program, stdin=packed.stdout, stdout=target, check=True)
            message = packed.stderr.read().decode()
            if packed.wait() != 0:
                raise PveError(f"command 'tar' failed: {message.strip()}")
        os.rename(f"{path}.dat", path)
    finally:
        subprocess.run(["rm", "-rf", aside, f"{path}.dat"], check=True)


def _say_mounts(config, say):
    say("including mount point rootfs ('/') in backup")
    for _, name, value in config.indexed("mp"):
        source, target = value.split(",")[0], value.split("mp=")[1].split(",")[0]
        if volumes.kind_of(source) == "bind":
            say(f"excluding bind mount point {name} ('{target}') from backup (not a volume)")
        else:
            raise PveError(f"the lab's vzdump does not cover the volume {name}")


def _backup(vmid, options, say):
    config = config_file.load(vmid)
    locks.check_lock(config)
    suffix, compression = _SUFFIX[options["compress"]]
    began = time.localtime()
    path = f"{_folder(options['storage'])}/vzdump-lxc-{vmid}-{time.strftime('%Y_%m_%d-%H_%M_%S', began)}.{suffix}"
    running = state.is_running(vmid)
    say(f"Starting Backup of VM {vmid} (lxc)")
    say(f"Backup started at {time.strftime('%Y-%m-%d %H:%M:%S', began)}")
    say(f"status = {'running' if running else 'stopped'}")
    say(f"backup mode: {options['mode'] if running else 'stop'}")
    say(f"CT Name: {config.options.get('hostname', f'CT{vmid}')}")
    _say_mounts(config, say)
    if running:
        say("stopping virtual guest")
        lifecycle.shutdown(vmid, 600, True)
    try:
        say(f"creating vzdump archive '{path}'")
        _archive(config, path, compression)
        say(f"archive file size: {os.path.getsize(path) // (1 << 20)}MB")
    finally:
        if running:
            say("restarting vm")
            lifecycle.start(vmid, say)
    say(f"Finished Backup of VM {vmid} ({time.strftime('%H:%M:%S', time.gmtime(time.time() - time.mktime(began)))})")


def _run(words):
    if not words or (len(words) > 1 and not words[1].startswith("-")):
        raise UsageError("the lab's vzdump covers one container at a time: vzdump ID --option value …")
    vmid = pct_arguments.vmid(words[0])
    table = {name: schema.Option(schema.STRING) for name in _DEFAULTS}
    options = {**_DEFAULTS, **pct_arguments.options(words[1:], table)}
    if options["mode"] != "stop":
        raise UsageError("the lab's vzdump covers --mode stop only")
    if options["compress"] not in _SUFFIX:
        raise UsageError("400 Parameter verification failed.")

    def say(line):
        print(f"INFO: {line}", flush=True)

    def job(_log):
        say(f"starting new backup job: vzdump {' '.join(words)}")
        try:
            _backup(vmid, options, say)
        except PveError as error:
            print(f"ERROR: Backup of VM {vmid} failed - {error.message}", flush=True)
            raise PveError("job errors") from None
        say("Backup job finished successfully")

    _folder(options["storage"])
    result = tasks.run("vzdump", vmid, job)
    if result != "OK":
        raise PveError(result)


def main(words):
    """Run vzdump; the exit status."""
    try:
        _run(words)
        return 0
    except (PveError, UsageError, OSError) as error:
        print(pct_arguments.error_text(error), file=sys.stderr)
        return _FAILED
