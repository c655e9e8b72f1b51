"""Property strings: `local-lvm:8,mp=/data,ro=1`, the values of most container options."""


def parse(value, default_key=None):
    """Split into a dictionary; a part without `=` belongs to default_key.

    Raises ValueError with Proxmox VE's message for a doubled key or a part without a key.
    """
    result = {}
    for part in str(value).split(","):
        if not part:
            continue
        key, equals, content = part.partition("=")
        if not equals:
            if default_key is None:
                raise ValueError("value without key, but schema does not define a default key")
            key, content = default_key, part
        if key in result:
            raise ValueError(f"duplicate key in comma-separated list property: {key}")
        result[key] = content
    return result


def render(properties, default_key=None, first=()):
    """The reverse: the default key's value bare, then the keys in `first`, then the rest sorted."""
    parts = []
    if default_key in properties:
        parts.append(properties[default_key])
    named = [key for key in first if key in properties]
    named += sorted(key for key in properties if key != default_key and key not in first)
    parts += [f"{key}={properties[key]}" for key in named]
    return ",".join(str(part) for part in parts)
