"""Open CUDA on every visible device, as a program would. Run on its own: a call into a broken driver may hang.

Prints one JSON object {"devices", "error"}. nvidia-smi can list a GPU that CUDA cannot open (no nvidia-uvm node).
"""

import ctypes
import json


def open_all():
    """(number of devices opened, text of the first failure or None)."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return 0, f"libcuda.so.1 cannot be loaded: {error}"
    code = cuda.cuInit(0)
    if code:
        return 0, f"cuInit: {_name(cuda, code)}"
    count = ctypes.c_int(0)
    code = cuda.cuDeviceGetCount(ctypes.byref(count))
    if code:
        return 0, f"cuDeviceGetCount: {_name(cuda, code)}"
    for index in range(count.value):
        device = ctypes.c_int(0)
        context = ctypes.c_void_p()
        code = cuda.cuDeviceGet(ctypes.byref(device), index) or cuda.cuDevicePrimaryCtxRetain(
            ctypes.byref(context), device
        )
        if code:
            return index, f"device {index} cannot be opened: {_name(cuda, code)}"
        release = getattr(cuda, "cuDevicePrimaryCtxRelease_v2", None) or cuda.cuDevicePrimaryCtxRelease
        release(device)
    return count.value, None


def _name(cuda, code):
    known = {
        100: "no device",
        803: "driver and library versions differ",
        999: "unknown error (is /dev/nvidia-uvm there?)",
    }
    name = ctypes.c_char_p()
    if hasattr(cuda, "cuGetErrorName"):
        cuda.cuGetErrorName(code, ctypes.byref(name))
    text = name.value.decode() if name.value else "CUDA error"
    return f"{text} ({code}){': ' + known[code] if code in known else ''}"


if __name__ == "__main__":
    devices, problem = open_all()
    print(json.dumps({"devices": devices, "error": problem}))
