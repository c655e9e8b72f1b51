"""Kernels for the lab."""

import torch
from lab_kernel import common_ops
from lab_kernel.flash_attn import is_fa3_supported

__version__ = "0.1.0"
