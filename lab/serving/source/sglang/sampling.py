"""Limits and switches of a request, checked as SGLang checks them, with its texts."""

import random
from dataclasses import dataclass

DEFAULT_NEW_TOKENS = 128


class BadRequestError(Exception):
    """A request that gets status 400; the text is the message of the answer."""


@dataclass(frozen=True)
class Sampling:
    """What a request asks for. `budget` is the number of tokens that it may take."""

    budget: int
    temperature: float
    ignore_eos: bool
    seed: int


def read(body, limit_key, default_limit, prompt_tokens, context_length, default_temperature):
    """The sampling of a request body. Raises BadRequestError for what SGLang refuses."""
    limit = body.get(limit_key)
    if limit is None and limit_key == "max_tokens":
        limit = body.get("max_completion_tokens")
    temperature = body.get("temperature")
    temperature = float(default_temperature if temperature is None else temperature)
    if limit is not None and limit < 0:
        raise BadRequestError(f"max_new_tokens must be at least 0, got {limit}.")
    if temperature < 0:
        raise BadRequestError(f"temperature must be non-negative, got {temperature}.")
    room = context_length - prompt_tokens
    if room <= 0:
        raise BadRequestError(
            f"The input ({prompt_tokens} tokens) is longer than the model's context length ({context_length} tokens)."
        )
    if limit is not None and limit > room:
        raise BadRequestError(
            f"Requested token count exceeds the model's maximum context length of {context_length} tokens. You requested a total "
            f"of {prompt_tokens + limit} tokens: {prompt_tokens} tokens from the input messages and {limit} tokens for the "
            "completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit."
        )
    if limit is None:
        limit = min(default_limit, room) if default_limit else room
    seed = body.get("seed")
    if seed is None:
        # Only sampling varies the text.
        seed = 0 if temperature == 0 else random.randrange(1000)
    return Sampling(limit, temperature, bool(body.get("ignore_eos")), seed)


def request_of(sampling):
    """The part of a scheduler request that every endpoint shares."""
    return {
        "budget": sampling.budget,
        "sampled": sampling.temperature > 0,
        "ignore_eos": sampling.ignore_eos,
        "seed": sampling.seed,
    }
