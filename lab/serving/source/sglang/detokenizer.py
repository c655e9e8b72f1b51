"""The detokenizer process: takes tokens from the scheduler and passes their text on to the server."""

import os

from sglang.processes import become_child, read_settings


def main():
    """Passes lines on until either side is gone."""
    settings = read_settings()
    become_child("sglang::detokenizer")
    with os.fdopen(settings["tokens"], "rb") as tokens, os.fdopen(settings["texts"], "wb", buffering=0) as texts:
        for line in tokens:
            texts.write(line)


if __name__ == "__main__":
    main()
