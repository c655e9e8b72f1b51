"""Chat answers in the shapes people have them in, made into what the judge takes."""

from .semantic import flatten
from .spec import prompt_problems


class NoChatAnswers(Exception):
    """The content of a file is no set of chat answers; the text says where."""


def read_answers(value):
    """[(answer, question or None)] of parsed JSON.

    Takes an OpenAI chat completion, an array of them, {"answers": […]} or {"completions": […]}, and flat objects
    with content, reasoning_content and finish_reason. An entry may carry its "question" (see questions.py).
    """
    if isinstance(value, dict):
        for key in ("answers", "completions"):
            if isinstance(value.get(key), list):
                value = value[key]
                break
        else:
            value = [value]
    if not isinstance(value, list) or not value:
        raise NoChatAnswers(
            "holds no chat answer: expected a chat completion, an array of them, or an object with answers"
        )
    return [_read_one(entry, f"answer {index + 1}") for index, entry in enumerate(value)]


def _read_one(entry, where):
    if not isinstance(entry, dict):
        raise NoChatAnswers(f"{where} is {type(entry).__name__}, expected an object")
    question = entry.get("question")
    question = {"id": where, **question} if isinstance(question, dict) else None
    for problem in prompt_problems([question] if question else []):
        raise NoChatAnswers(f"{where}: question: {problem}")
    completion = entry.get("response") if isinstance(entry.get("response"), dict) else entry
    if "choices" in completion:
        try:
            return flatten(completion), question
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise NoChatAnswers(f"{where} is no chat completion: choices[0].message is missing") from error
    if "message" in completion and isinstance(completion["message"], dict):
        completion = {**completion, **completion["message"]}
    if "content" not in completion and "reasoning_content" not in completion:
        raise NoChatAnswers(f"{where} has neither choices nor content")
    tokens = completion.get("completion_tokens", (completion.get("usage") or {}).get("completion_tokens"))
    keys = ("content", "reasoning_content", "finish_reason", "tool_calls")
    return {**{key: completion.get(key) for key in keys}, "completion_tokens": tokens}, question
