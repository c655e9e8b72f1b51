"""POST /v1/chat/completions: whole answers and streams, with Qwen's reasoning separated when the server is told to."""

import time
import uuid

from sglang import sampling, tokens
from sglang.generation import THINK_END
from sglang.sampling import BadRequestError


class ReasoningParser:
    """Sorts the tokens of an answer into reasoning and content. Off: all is content, the end-of-thinking mark included."""

    def __init__(self, active):
        self.in_reasoning = active
        self.reasoning_tokens = 0
        self._skip_blank = False

    def take(self, piece):
        """("reasoning_content" or "content", text) of the next token; None for one that belongs to neither."""
        if self.in_reasoning:
            self.reasoning_tokens += 1
            if piece == THINK_END:
                self.in_reasoning, self._skip_blank = False, True
                return None
            return "reasoning_content", piece
        if self._skip_blank and not piece.strip():
            return None
        self._skip_blank = False
        return "content", piece


class Chat:
    """One chat request, checked. Raises BadRequestError for what SGLang refuses."""

    def __init__(self, body, arguments, model):
        if not body["messages"]:
            raise BadRequestError("Messages cannot be empty.")
        self.model_name = body.get("model") or arguments["served_model_name"]
        self.stream, self.choices = bool(body.get("stream")), body.get("n") or 1
        self.include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        wanted = (body.get("chat_template_kwargs") or {}).get("enable_thinking", True)
        self.thinking = bool(wanted) and model.model_type.startswith(("qwen3", "kimi"))
        self.separate = arguments["reasoning_parser"] is not None and body.get("separate_reasoning", True)
        questions = [tokens.text_of(message) for message in body["messages"] if message.get("role") == "user"]
        self.question = questions[-1] if questions else ""
        self.prompt_tokens = tokens.count_prompt(body["messages"])
        context = arguments["context_length"] or model.context_length
        default = model.generation.get("temperature", 1.0)
        self.sampling = sampling.read(body, "max_tokens", None, self.prompt_tokens, context, default)
        self.id, self.created = uuid.uuid4().hex, int(time.time())

    def request(self, choice):
        """The scheduler's request for one choice."""
        shared = sampling.request_of(self.sampling)
        return shared | {"question": self.question, "thinking": self.thinking, "seed": shared["seed"] + choice}

    def parser(self):
        """A fresh reasoning parser for one choice."""
        return ReasoningParser(self.thinking and self.separate)

    def usage(self, completion, reasoning):
        """The usage block."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "total_tokens": self.prompt_tokens + completion,
            "completion_tokens": completion,
            "prompt_tokens_details": None,
            "reasoning_tokens": reasoning,
        }


def matched_stop(finish):
    """The id of the token that ended the text, if one did."""
    return tokens.END_OF_TURN if finish == "stop" else None


def answer(chat, generate):
    """The whole answer as a dictionary. `generate` runs a scheduler request and yields its events."""
    choices, completion, reasoning = [], 0, 0
    for index in range(chat.choices):
        parser, parts, finish = chat.parser(), {"content": [], "reasoning_content": []}, None
        for event in generate(chat.request(index)):
            if "finish" in event:
                finish, completion = event["finish"], completion + event["tokens"]
                break
            taken = parser.take(event["piece"])
            if taken:
                parts[taken[0]].append(taken[1])
        if parser.in_reasoning and finish == "stop":
            parser.reasoning_tokens += 1
        reasoning += parser.reasoning_tokens
        thought = "".join(parts["reasoning_content"])
        message = {
            "role": "assistant",
            "content": "".join(parts["content"]) or None,
            "reasoning_content": thought if thought.strip() else None,
            "tool_calls": None,
        }
        choices.append(
            {
                "index": index,
                "message": message,
                "logprobs": None,
                "finish_reason": finish,
                "matched_stop": matched_stop(finish),
            }
        )
    return {
        "id": chat.id,
        "object": "chat.completion",
        "created": chat.created,
        "model": chat.model_name,
        "choices": choices,
        "usage": chat.usage(completion, reasoning),
        "metadata": {"weight_version": "default"},
    }


def stream(chat, generate):
    """The chunks of a streamed answer: role, deltas, finish, and usage where it was asked for."""

    def chunk(choices, **more):
        head = {"id": chat.id, "object": "chat.completion.chunk", "created": chat.created, "model": chat.model_name}
        return head | {"choices": choices} | more

    def delta(index, change, finish=None):
        inner = {"reasoning_content": None} | change
        return chunk(
            [{"index": index, "delta": inner, "logprobs": None, "finish_reason": finish, "matched_stop": matched_stop(finish)}]
        )

    completion, reasoning = 0, 0
    for index in range(chat.choices):
        parser = chat.parser()
        yield delta(index, {"role": "assistant", "content": ""})
        for event in generate(chat.request(index)):
            if "finish" in event:
                completion += event["tokens"]
                yield delta(index, {}, event["finish"])
                break
            taken = parser.take(event["piece"])
            if taken:
                yield delta(index, {taken[0]: taken[1]})
        reasoning += parser.reasoning_tokens
    if chat.include_usage:
        yield chunk([], usage=chat.usage(completion, reasoning))
