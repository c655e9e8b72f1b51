"""The lab's model of a Proxmox VE node: containers, storages, permissions, tasks and the HTTP API.

It drives real LXC. Behaviour and messages follow Proxmox VE 8 and 9 as far as they are known; what is
left out stands in lab/pve/README.md.
"""
