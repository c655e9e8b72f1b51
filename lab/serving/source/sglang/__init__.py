"""Stand-in for SGLang in the proxmox-gpu-stack lab: its command line, endpoints and manners without a model.

It is not SGLang. It takes the command line of the release whose version it carries, refuses what that release refuses,
uses GPU memory in the lab's accounting, and answers simple questions from a few rules. See lab/serving/README.md.
"""

from sglang.release import VERSION as __version__

__all__ = ["__version__"]
