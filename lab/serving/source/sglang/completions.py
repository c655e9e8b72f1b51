"""POST /generate and POST /v1/completions: continuations of a bare prompt."""

import time
import uuid

from sglang import sampling, tokens
from sglang.chat import matched_stop
from sglang.sampling import BadRequestError


def read_sampling(body, key, text, arguments, model):
    """(sampling, number of prompt tokens) of a request for a continuation. Raises BadRequestError."""
    prompt = 1 + len(tokens.split(text))
    context = arguments["context_length"] or model.context_length
    default = model.generation.get("temperature", 1.0)
    return sampling.read(body, key, sampling.DEFAULT_NEW_TOKENS, prompt, context, default), prompt


class NativeRequest:
    """One request to /generate. Raises BadRequestError for what SGLang refuses."""

    def __init__(self, body, arguments, model):
        if not any(key in body for key in ("text", "input_ids", "input_embeds")):
            raise BadRequestError("Either text, input_ids or input_embeds should be provided.")
        self.text, self.stream = str(body.get("text", "")), bool(body.get("stream"))
        settings = body.get("sampling_params") or {}
        self.sampling, self.prompt_tokens = read_sampling(settings, "max_new_tokens", self.text, arguments, model)
        self.id, self.received = uuid.uuid4().hex, time.time()

    def events(self, generate):
        """The states of the answer, each with the whole text so far, as SGLang streams them."""
        request = sampling.request_of(self.sampling) | {"prefix": self.text}
        text, identifiers = "", []
        for event in generate(request):
            if "piece" in event:
                text += event["piece"]
                identifiers.append(tokens.identifier(event["piece"]))
                yield self.state(text, identifiers, None)
                continue
            if event["finish"] == "stop":
                identifiers.append(tokens.END_OF_TURN)
                reason = {"type": "stop", "matched": tokens.END_OF_TURN}
            else:
                reason = {"type": "length", "length": self.sampling.budget}
            yield self.state(text, identifiers, reason)

    def state(self, text, identifiers, reason):
        """One state."""
        information = {
            "id": self.id,
            "finish_reason": reason,
            "prompt_tokens": self.prompt_tokens,
            "weight_version": "default",
            "total_retractions": 0,
            "reasoning_tokens": 0,
            "completion_tokens": len(identifiers),
            "cached_tokens": 0,
            "cached_tokens_details": None,
            "dp_rank": None,
        }
        if reason:
            information["e2e_latency"] = time.time() - self.received
        return {"text": text, "output_ids": list(identifiers), "meta_info": information}


class CompletionRequest:
    """One request to /v1/completions. Raises BadRequestError for what SGLang refuses."""

    def __init__(self, body, arguments, model):
        prompt = body.get("prompt")
        if not prompt:
            raise BadRequestError("Prompt cannot be empty")
        self.text = prompt if isinstance(prompt, str) else str(prompt[0])
        self.model_name, self.stream = body.get("model") or arguments["served_model_name"], bool(body.get("stream"))
        # Without max_tokens the completions API stops after 16 tokens.
        limited = {"max_tokens": 16} | {key: value for key, value in body.items() if value is not None}
        self.sampling, self.prompt_tokens = read_sampling(limited, "max_tokens", self.text, arguments, model)
        self.id, self.created = uuid.uuid4().hex, int(time.time())

    def chunks(self, generate):
        """The chunks of the answer, the finish reason in the last one."""
        request = sampling.request_of(self.sampling) | {"prefix": self.text}
        held = None
        for event in generate(request):
            if held is not None:
                yield self.body(held, event.get("finish"))
            held = event.get("piece")
            if "finish" in event:
                self.completion_tokens = event["tokens"]

    def answer(self, generate):
        """The whole answer."""
        text, finish = "", "length"
        for chunk in self.chunks(generate):
            text += chunk["choices"][0]["text"]
            finish = chunk["choices"][0]["finish_reason"] or finish
        usage = {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "completion_tokens": self.completion_tokens,
            "prompt_tokens_details": None,
            "reasoning_tokens": 0,
        }
        return self.body(text, finish) | {"usage": usage, "metadata": {"weight_version": "default"}}

    def body(self, text, finish):
        """One chunk, or the frame of a whole answer."""
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish, "matched_stop": matched_stop(finish)}
        head = {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model_name}
        return head | {"choices": [choice], "usage": None}
