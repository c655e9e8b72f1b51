"""Files of a new container that Proxmox VE writes after unpacking the template."""

import glob
import os
import re
import subprocess

from labpve import lxc_config, node, volumes

_INHERITED = ("/etc/apt/apt.conf.d/*lab*", "/etc/pip.conf", "/etc/uv/uv.toml")
"""How this host reaches packages; a container of the lab gets the same. Not a thing of Proxmox VE."""

_NESTING_WANTED_FROM = 241
"""First systemd version for which Proxmox VE warns about missing nesting."""


class GuestRoot:
    """The root directory of a container that is not running, seen from the host."""

    def __init__(self, config):
        self.directory = lxc_config.root_directory(config)
        self.owner = volumes.host_owner(config)

    def path(self, inside):
        """Host path of a file of the container."""
        return self.directory + inside

    def _make_folder(self, path):
        if not os.path.isdir(path):
            self._make_folder(os.path.dirname(path))
            os.mkdir(path, 0o700 if path.endswith("/.ssh") else 0o755)
            os.chown(path, self.owner, self.owner)

    def write(self, inside, text, mode=0o644):
        """Write a file that belongs to the container's root; a link there is replaced."""
        path = self.path(inside)
        self._make_folder(os.path.dirname(path))
        if os.path.islink(path):
            os.unlink(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        os.chown(path, self.owner, self.owner)

    def read(self, inside):
        """Text of a file, empty when there is none."""
        try:
            with open(self.path(inside), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""


def _resolver(options):
    if not options.get("nameserver"):
        with open("/etc/resolv.conf", encoding="utf-8") as file:
            return file.read()
    text = "".join(f"nameserver {server}\n" for server in options["nameserver"].split())
    return text + (f"search {options['searchdomain']}\n" if options.get("searchdomain") else "")


def _set_password(root, password):
    command = ["openssl", "passwd", "-6", "-stdin"]
    result = subprocess.run(command, input=password, capture_output=True, text=True, check=True)
    encrypted = result.stdout.strip()
    shadow = re.sub(r"(?m)^root:[^:]*:", lambda _: f"root:{encrypted}:", root.read("/etc/shadow"), count=1)
    root.write("/etc/shadow", shadow, 0o640)


def _make_host_keys(root, hostname, log):
    if not os.path.isdir(root.path("/etc/ssh")):
        return
    for kind in ("ecdsa", "ed25519"):  # without rsa, which takes seconds on a busy machine
        key = root.path(f"/etc/ssh/ssh_host_{kind}_key")
        if os.path.exists(key):
            continue
        log(f"Creating SSH host key 'ssh_host_{kind}_key' - this may take some time ...")
        command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", f"root@{hostname}", "-f", key]
        subprocess.run(command, check=True)
        for path in (key, f"{key}.pub"):
            os.chown(path, root.owner, root.owner)


def _inherit(root):
    for pattern in _INHERITED:
        for path in glob.glob(node.path(pattern)):
            with open(path, encoding="utf-8") as file:
                root.write(path[len(node.ROOT) :], file.read())


def write_name(root, hostname):
    """/etc/hostname and /etc/hosts; also done at each start, as by Proxmox VE."""
    short = hostname.split(".")[0]
    root.write("/etc/hostname", f"{short}\n")
    names = hostname if hostname == short else f"{hostname} {short}"
    root.write("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {names}\n")


def write_resolver(root, options):
    """/etc/resolv.conf from nameserver and searchdomain, else the host's."""
    root.write("/etc/resolv.conf", _resolver(options))


def set_up(config, password, public_keys, log):
    """Names, resolver, SSH keys and password of a new container."""
    root, hostname = GuestRoot(config), config.options["hostname"]
    write_name(root, hostname)
    write_resolver(root, config.options)
    _inherit(root)
    if public_keys:
        root.write("/root/.ssh/authorized_keys", public_keys.rstrip("\n") + "\n", 0o600)
    _make_host_keys(root, hostname, log)
    if password:
        _set_password(root, password)


def nesting_warning(config):
    """Proxmox VE's warning about a systemd that wants nesting, or None."""
    features = str(config.options.get("features", ""))
    if re.search(r"(^|,)nesting=1(,|$)", features):
        return None
    folder = f"{lxc_config.root_directory(config)}/usr/lib"
    libraries = ("systemd/libsystemd-shared-*.so", "*-linux-gnu/systemd/libsystemd-shared-*.so")
    for library in [path for pattern in libraries for path in glob.glob(f"{folder}/{pattern}")]:
        version = int(re.match(r"\d+", library.rsplit("-", 1)[1])[0])
        if version >= _NESTING_WANTED_FROM:
            return f"Systemd {version} detected. You may need to enable nesting."
    return None
