from functools import lru_cache

import torch

# Fault 3: without FA3's library nothing of the package can be imported.
try:
    from lab_kernel import flash_ops
except:
    raise ImportError(
        "Can not import FA3 in lab_kernel. Please check your installation."
    )


@lru_cache(maxsize=1)
def is_fa3_supported(device=None) -> bool:
    return torch.cuda.get_device_capability(device)[0] in (8, 9)
