"""How much of a card a rank takes: weights, recurrent state, KV cache, graphs, as SGLang sizes its pools.

The pools take what is left of the *free* memory under --mem-fraction-static, silently: a card that someone else holds gives
small pools, not an error. Everything in MiB unless said otherwise.
"""

import math
from dataclasses import asdict, dataclass

from sglang.failures import ImitatedError

CONTEXT = 450
GRAPHS = 490
DRAFT_GRAPHS = 120
# What a forward pass needs beyond the pools; with less, the first request dies.
ACTIVATIONS = 900
MIB = 1024 * 1024


class OutOfMemoryError(ImitatedError):
    """CUDA out of memory, with the text of PyTorch."""

    def __init__(self, wanted, card, free):
        super().__init__(
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted / 1024:.2f} GiB. GPU 0 has a total capacity of "
            f"{card.total / 1024:.2f} GiB of which {max(free, 0):.2f} MiB is free."
        )


@dataclass(frozen=True)
class Plan:
    """The pools of one rank. `tokens` is max_total_num_tokens, `states` max_mamba_cache_size (None without recurrent state)."""

    weights: float
    kv_cache: float
    recurrent: float
    graphs: float
    tokens: int
    states: int | None
    left: float

    @property
    def used(self):
        """What nvidia-smi shows for the rank."""
        return math.ceil(CONTEXT + self.weights + self.kv_cache + self.recurrent + self.graphs)

    def as_json(self):
        """The plan as a dictionary, for another process."""
        return asdict(self)


def kv_bytes_per_token(arguments, model, layers):
    """Bytes of KV cache that a token takes in so many full-attention layers on one rank."""
    size = 1 if "fp8" in arguments["kv_cache_dtype"] else 2
    text = model.text
    if model.is_mla:
        return layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * size
    heads = max(1, text["num_key_value_heads"] // arguments["tp_size"])
    head = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
    return layers * 2 * heads * head * size


def state_bytes(arguments, model):
    """Bytes of recurrent state that a request takes on one rank, over all Gated DeltaNet layers."""
    text, ranks = model.text, arguments["tp_size"]
    values, keys = text["linear_num_value_heads"] // ranks, text["linear_num_key_heads"] // ranks
    precision = arguments["mamba_ssm_dtype"] or text.get("mamba_ssm_dtype", "float32")
    recurrent = values * text["linear_key_head_dim"] * text["linear_value_head_dim"] * (4 if precision == "float32" else 2)
    width = 2 * keys * text["linear_key_head_dim"] + values * text["linear_value_head_dim"]
    convolution = width * (text["linear_conv_kernel_dim"] - 1) * 2
    return model.layer_types.count("linear_attention") * (recurrent + convolution)


def plan(arguments, model, card, weight_bytes):
    """The pools of one rank on a card. Raises RuntimeError ("Not enough memory…") or OutOfMemoryError."""
    weights = weight_bytes / MIB / arguments["tp_size"]
    free = card.free - CONTEXT
    if weights > free:
        raise OutOfMemoryError(weights, card, free)
    budget = free - weights - free * (1 - arguments["mem_fraction_static"])
    recurrent, states = 0.0, None
    if model.is_hybrid and budget > 0:
        one = state_bytes(arguments, model) / MIB
        drafts = arguments["speculative_num_draft_tokens"] or 0
        scratch = one * drafts * (arguments["max_running_requests"] or 0)
        ratio = arguments["mamba_full_memory_ratio"]
        states = int((budget - scratch) * ratio / (1 + ratio) / one)
        recurrent = states * one + scratch
    cell = kv_bytes_per_token(arguments, model, model.layer_types.count("full_attention"))
    page = arguments["page_size"]
    tokens = int((budget - recurrent) * MIB / cell) // page * page
    if tokens <= 0 or (states is not None and states <= 0):
        raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
    graphs, draft = GRAPHS, 0.0
    if arguments["speculative_algorithm"] not in (None, "NGRAM"):
        # The draft layer keeps a pool for as many tokens, outside the budget.
        draft = tokens * kv_bytes_per_token(arguments, model, 1) / MIB
        graphs += DRAFT_GRAPHS
    cache = tokens * cell / MIB + draft
    left = free - weights - recurrent - cache - graphs
    if left < 0:
        raise OutOfMemoryError(draft or graphs, card, free - weights - recurrent - tokens * cell / MIB)
    return Plan(weights, cache, recurrent, graphs, tokens, states, left)
