"""python3 -m model_snapshot check SPEC [--hash]       exit 1 says what is not as it must be; changes nothing
python3 -m model_snapshot fetch SPEC [--hash] [--token-file FILE]     makes it so; FILE is read and removed at once

SPEC is a JSON file: repo, revision, path, endpoint, files (the recorded list, or null: the hub's metadata decides) and
facts ({source, config}: what config.json must say, or null). A file of a list is {path, bytes, sha256} or, for small
ones that git itself holds, {path, bytes, gitBlob}. --hash reads every file again instead of trusting size and time.
"""

import argparse
import json
import os
import sys

from .files import SnapshotError
from .snapshot import Snapshot


def main(arguments=None):
    """Runs one verb. The last lines of a failed fetch are `error: …` and `next: …`."""
    parser = argparse.ArgumentParser(
        prog="model_snapshot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=["check", "fetch"])
    parser.add_argument("spec", metavar="SPEC")
    parser.add_argument("--hash", action="store_true")
    parser.add_argument("--token-file", metavar="FILE")
    options = parser.parse_args(arguments)
    token = None
    if options.token_file:
        with open(options.token_file, encoding="utf-8") as stream:
            token = stream.read().strip()
        os.unlink(options.token_file)
    with open(options.spec, encoding="utf-8") as stream:
        snapshot = Snapshot(json.load(stream), by_hash=options.hash)
    try:
        if options.verb == "fetch":
            snapshot.fetch(token)
            return 0
        problems = snapshot.check()
        print("\n".join(problems))
        return 1 if problems else 0
    except SnapshotError as error:
        print(f"error: {error}\nnext: {error.way_on}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
