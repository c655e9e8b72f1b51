"""The lab's simulated kernel, as far as NVIDIA cards are concerned.

Real kmod resolves names, aliases, dependencies and blacklists, and real `.ko` files are built by DKMS; only the last step,
handing a module to the kernel, is simulated: a table of loaded modules, and what a loaded driver would show below /sys/bus/pci
and /proc. Everything lies in /run/labkernel and is gone after a reboot.
"""
