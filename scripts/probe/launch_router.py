"""launch_router.py KEY-FILE ARGUMENT…: SGLang's router with the API key from a file.

The router takes its key as an argument only, and everybody on a machine can read command lines. Here it joins the
arguments inside of the process.
"""

import sys

from sglang_router.launch_router import main

with open(sys.argv[1], encoding="utf-8") as file:
    key = file.read().strip()
sys.argv = [sys.argv[0], *sys.argv[2:], "--api-key", key]
main()
