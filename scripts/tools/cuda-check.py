"""Open a CUDA context on every device through the driver API. Argument: how many devices there must be.

Prints "NAME UUID" for each; exits 1 with the driver's own error otherwise. A card whose memory a running server has
taken to the last is fine: only a context that got that far can be refused for memory.
"""

import ctypes
import sys

OUT_OF_MEMORY = 2


def main() -> int:
    wanted = int(sys.argv[1])
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        print(f"libcuda.so.1 cannot be loaded: {error}")
        return 1

    def call(name: str, *arguments: object, allowed: int = 0) -> int:
        status = int(getattr(cuda, name)(*arguments))
        if status not in (0, allowed):
            text = ctypes.c_char_p()
            cuda.cuGetErrorString(status, ctypes.byref(text))
            reason = text.value.decode() if text.value else "unknown"
            print(f"{name}: CUDA error {status}: {reason}")
            sys.exit(1)
        return status

    call("cuInit", 0)
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    if count.value != wanted:
        print(f"CUDA sees {count.value} devices, declared are {wanted}")
        return 1
    for index in range(count.value):
        device, name, uuid = ctypes.c_int(), ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)()
        call("cuDeviceGet", ctypes.byref(device), index)
        call("cuDeviceGetName", name, 256, device)
        call("cuDeviceGetUuid", ctypes.byref(uuid), device)
        context = ctypes.c_void_p()
        if call("cuCtxCreate_v2", ctypes.byref(context), 0, device, allowed=OUT_OF_MEMORY) == 0:
            call("cuCtxDestroy_v2", context)
        digits = bytes(uuid).hex()
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        print(f"{name.value.decode()} GPU-{'-'.join(parts)}")
    return 0


sys.exit(main())
