"""One request inside the scheduler: its text as tokens, one at a time, until it ends or its budget is spent."""

import itertools

from sglang import degenerate, tokens, voice

THINK_END = "</think>"
NEVER_ENDING = {"loop-sentence", "loop-word", "no-answer", "random-words", "newlines", "nan"}


def pieces_of(request, kind):
    """The tokens of a request's answer: an iterator, endless for text that never comes to an end."""
    if request.get("prefix") is not None:
        # A bare prompt is continued, not answered.
        _, answer = voice.speak(kind, request["prefix"], request["seed"], False)
        answer = answer or ""
        rest = answer[len(request["prefix"]) :] if answer.startswith(request["prefix"]) else f" {answer}"
        pieces = tokens.split(rest)
        return _endless(pieces) if kind in NEVER_ENDING or request["ignore_eos"] else iter(pieces)
    reasoning, answer = voice.speak(kind, request["question"], request["seed"], request["thinking"])
    pieces = []
    if request["thinking"] and reasoning is not None:
        pieces += tokens.split(reasoning)
        if answer is not None:
            pieces += ["\n", THINK_END, "\n", "\n"]
    pieces += tokens.split(answer or "")
    return _endless(pieces) if kind in NEVER_ENDING or request["ignore_eos"] else iter(pieces)


def _endless(pieces):
    return itertools.cycle(pieces or ["\n"])


class Generation:
    """A running request. Every step yields one token; the last one is the end of the turn unless the budget ends it."""

    def __init__(self, request, kind):
        self.id = request["id"]
        self.budget = request["budget"]
        self.count = 0
        self._pieces = pieces_of(request, kind)

    def step(self):
        """The next event for the server: {"id", "piece"} or {"id", "finish", "tokens"}."""
        if self.count >= self.budget:
            return {"id": self.id, "finish": "length", "tokens": self.count}
        piece = next(self._pieces, None)
        self.count += 1
        if piece is None:
            return {"id": self.id, "finish": "stop", "tokens": self.count}
        return {"id": self.id, "piece": piece}


assert set(degenerate.KINDS) == NEVER_ENDING | {"both-null", "wrong"}
