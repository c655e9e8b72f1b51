"""The HTTP API of a Proxmox VE node on port 8006."""
