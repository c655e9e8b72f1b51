"""No card is seen."""


def is_available():
    """As torch says it without a driver."""
    return False


def device_count():
    """None."""
    return 0
