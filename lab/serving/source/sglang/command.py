"""The `sglang` command: `sglang serve …` is the newer spelling of `python -m sglang.launch_server …`."""

import sys

from sglang import launch_server


def main():
    """Runs `serve`; anything else is refused with 2."""
    if sys.argv[1:2] != ["serve"]:
        print("usage: sglang serve --model-path MODEL [options]", file=sys.stderr)
        return 2
    del sys.argv[1]
    return launch_server.main()
