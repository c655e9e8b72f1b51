"""Makes pure wheels for tests: reads [{"name", "version", "requires", "code", "tag"}] from standard input.

usage: make-wheels.py FOLDER. Prints their file names, one a line. The same input gives the same bytes.
"""

import json
import sys
import zipfile
from pathlib import Path


def main():
    for wheel in json.load(sys.stdin):
        module = wheel["name"].replace("-", "_")
        info = f"{module}-{wheel['version']}.dist-info"
        tag = wheel.get("tag", "py3-none-any")
        requires = "".join(f"Requires-Dist: {text}\n" for text in wheel.get("requires", []))
        files = {
            f"{module}.py": wheel.get("code", ""),
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {wheel['name']}\nVersion: {wheel['version']}\n{requires}",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        }
        files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
        path = Path(sys.argv[1], f"{module}-{wheel['version']}-{tag}.whl")
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in files.items():
                archive.writestr(zipfile.ZipInfo(name), text)
        print(path.name)


if __name__ == "__main__":
    main()
