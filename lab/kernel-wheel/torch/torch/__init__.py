"""Stand-in for torch in the proxmox-gpu-stack lab. It computes nothing."""

from torch import cuda, version

__version__ = version.__version__
