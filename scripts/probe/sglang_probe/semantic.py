"""Ask the known questions and judge the answers."""

import json
import time

from .client import NoAnswer
from .judge import judge
from .server_info import context_limit

DIRECT_TOKENS = 512
THINKING_TOKENS = 2048
MORE_ROOM = 4  # an answer that was cut off is asked for again with this many times the tokens
# The first sampled request on cold caches compiles a kernel: about two minutes on a fast machine.
TIMEOUT_SECONDS = 600


def ask(client, spec, question, think, sampling, server_info, timeout=TIMEOUT_SECONDS):
    """Ask one question and judge the answer.

    think: whether the model is to reason first (only said to models with a reasoning parser).
    sampling: "temperature-0" or "card". Returns a dict for the report; raises NoAnswer when no answer comes.
    """
    parser = bool(server_info.get("reasoning_parser"))
    values = {"temperature": 0}
    if sampling == "card":
        mode = "thinking" if think and parser else "nonThinking"
        if mode == "thinking" and question["expect"]["kind"] == "prime-program" and "coding" in spec["sampling"]:
            mode = "coding"
        values = dict(spec["sampling"].get(mode, {}))
    limit = context_limit(server_info)
    tokens = THINKING_TOKENS if think else DIRECT_TOKENS
    for attempt_tokens in (tokens, tokens * MORE_ROOM):
        if limit:
            # Never above the context: a request that gets a 400 keeps SGLang from ending on SIGTERM.
            attempt_tokens = max(16, min(attempt_tokens, limit - len(question["prompt"]) - 64))
        result = _ask_once(client, spec, question, think and parser, parser, values, attempt_tokens, timeout)
        if not result["limitTooSmall"]:
            break
    else:
        _never_answers(result)
    return {"question": question["id"], "sampling": sampling, "thinking": think, "parameters": values, **result}


def ask_in_turn(ask_one, questions):
    """Call ask_one(question) for each; True when all were asked.

    An answer that ran to its limit ends the round: it takes a minute or more, and the next one would say the same.
    """
    for question in questions:
        answer = ask_one(question)
        if answer["degenerate"] or answer["limitTooSmall"]:
            return False
    return True


def _never_answers(result):
    """Endless reasoning about a question as simple as these is no matter of the limit, once the room was ample."""
    if result["patterns"] == ["no-answer"] and result["maxTokens"] >= DIRECT_TOKENS * MORE_ROOM:
        reason = f"no-answer: content is empty, {result['maxTokens']} tokens of reasoning led to no answer to a simple question"
        result.update(limitTooSmall=False, degenerate=True, reasons=[reason])


def _ask_once(client, spec, question, think, parser, values, max_tokens, timeout):
    body = {
        "model": spec["servedModelName"],
        "messages": [{"role": "user", "content": question["prompt"]}],
        "max_tokens": max_tokens,
        **values,
    }
    if parser:
        # Qwen's template reads the first, Kimi's the second; a template ignores what it does not know.
        body["chat_template_kwargs"] = {"enable_thinking": think, "thinking": think}
    started = time.monotonic()
    status, text = client.request("/v1/chat/completions", body, timeout)
    seconds = time.monotonic() - started
    if status != 200:
        raise NoAnswer("broken", f"/v1/chat/completions: answers {status}: {text[:300]}")
    try:
        answer = flatten(json.loads(text))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise NoAnswer("broken", f"/v1/chat/completions: answers no chat completion: {text[:300]}") from error
    return {
        **judge(answer, question, expect_reasoning=think),
        "finishReason": answer["finish_reason"],
        "completionTokens": answer["completion_tokens"],
        "maxTokens": max_tokens,
        "seconds": round(seconds, 3),
    }


def flatten(completion):
    """The judged fields of an OpenAI chat completion. Raises KeyError, TypeError or IndexError when it is none."""
    choice = completion["choices"][0]
    message = choice["message"]
    return {
        "content": message.get("content"),
        "reasoning_content": message.get("reasoning_content"),
        "tool_calls": message.get("tool_calls"),
        "finish_reason": choice.get("finish_reason"),
        "completion_tokens": (completion.get("usage") or {}).get("completion_tokens"),
    }


def tokens_per_second(answers):
    """Tokens per second over all answers, None when nothing was counted. Speed is no sign of health."""
    counted = [answer for answer in answers if answer.get("completionTokens") and answer.get("seconds")]
    seconds = sum(answer["seconds"] for answer in counted)
    return round(sum(answer["completionTokens"] for answer in counted) / seconds, 1) if seconds else None
