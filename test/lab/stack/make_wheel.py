"""Makes a wheel of the test's own: NAME VERSION OUT MODULES_JSON ({path: text}). Prints nothing."""

import base64
import hashlib
import json
import sys
import zipfile
from pathlib import Path

name, version, out, modules = sys.argv[1:]
info = f"{name}-{version}.dist-info"
files = {
    **json.loads(modules),
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
record = [
    f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text.encode())}"
    for path, text in files.items()
]
with zipfile.ZipFile(Path(out, f"{name}-{version}-py3-none-any.whl"), "w") as wheel:
    for path, text in {**files, f"{info}/RECORD": "\n".join([*record, f"{info}/RECORD,,"]) + "\n"}.items():
        wheel.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), text)
