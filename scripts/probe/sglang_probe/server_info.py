"""Compare what a server says about itself with what was declared."""

import re

SECRET = re.compile(r"api_key|secret|password|auth_token", re.IGNORECASE)
SAME = {
    "speculative_algorithm": {"NEXTN": "EAGLE"},  # the server resolves the alias
    "kv_cache_dtype": {"bfloat16": "bf16"},
}
POOL_SHARE = 0.9  # of the planned tokens: the plan estimates, a card that is held by someone else takes more than that


def differences(info, expected, version=None):
    """[{"key", "expected", "actual"}] of every declared value that the server does not report; no secret is shown."""
    wanted = dict(expected)
    if version is not None:
        wanted["version"] = version
    found = []
    for key in sorted(wanted):
        actual = info.get(key, "not reported") if key in info or wanted[key] is not None else None
        if _normal(key, actual) != _normal(key, wanted[key]):
            shown = ("not shown", "not shown") if SECRET.search(key) else (wanted[key], actual)
            found.append({"key": key, "expected": shown[0], "actual": shown[1]})
    return found


def _normal(key, value):
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
        return SAME.get(key, {}).get(value, value)
    return value


def pool_problem(info, planned):
    """A text when the KV pool is much smaller than planned, else None. A held card is not refused but shrinks the pool."""
    if planned is None:
        return None
    actual = info.get("max_total_num_tokens")
    if not isinstance(actual, (int, float)):
        return "/server_info does not report max_total_num_tokens"
    if actual >= POOL_SHARE * planned:
        return None
    return (
        f"the KV pool holds {int(actual)} tokens, planned were {int(planned)}: the server sized it to the memory that was free; "
        "look for another holder of the GPUs (nvidia-smi)"
    )


def context_limit(info):
    """The most tokens that a request may have, or None when the server does not say."""
    values = [info.get(key) for key in ("max_req_input_len", "context_length", "max_total_num_tokens")]
    numbers = [int(value) for value in values if isinstance(value, (int, float)) and value > 0]
    return min(numbers) if numbers else None
