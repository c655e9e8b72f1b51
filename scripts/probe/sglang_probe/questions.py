"""Questions with answers that can be checked, and the checks.

A question is a dict: id, prompt, expect {"kind", "value"?}, and think (true: the model is to reason first).
Kinds: "number" (value), "sentence" (value, to be repeated), "contains" (value), "prime-program".
A model that speaks well and knows nothing is found out only here.
"""

import re

from . import text as texts
from .program import check_prime_program

KINDS = ("number", "sentence", "contains", "prime-program")
SENTENCE = "The quick brown fox jumps over the lazy dog."
DEFAULT_QUESTIONS = (
    {
        "id": "arithmetic",
        "prompt": "What is 2+2? Answer with the number only.",
        "expect": {"kind": "number", "value": 4},
        "think": False,
    },
    {
        "id": "program",
        "prompt": "Write a short Python function is_prime(n) that returns True when the integer n is a prime number "
        "and False otherwise. Import nothing. Answer with the code only.",
        "expect": {"kind": "prime-program"},
        "think": False,
    },
    {
        "id": "repeat",
        "prompt": f"Repeat this sentence exactly once and write nothing else: {SENTENCE}",
        "expect": {"kind": "sentence", "value": SENTENCE},
        "think": False,
    },
    {
        "id": "reasoning",
        "prompt": "What is 17 times 23? Think about it, then answer with the number only.",
        "expect": {"kind": "number", "value": 391},
        "think": True,
    },
)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?![\w])")
NUMBER_WORDS = {
    0: "zero",
    1: "one",
    2: "two",
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
}
# How many words a direct answer may have before it counts as runaway.
LONGEST_ANSWER = {"number": 150, "sentence": 150, "contains": 600, "prime-program": 800}


def runaway(question, content):
    """("runaway-length", reason) when an answer is much longer than a direct one can be, else None."""
    kind = question["expect"]["kind"]
    length = len(texts.tokens(content)) if kind == "prime-program" else len(content.split())
    if length <= LONGEST_ANSWER[kind]:
        return None
    return "runaway-length", f"{length} words where a direct answer has at most {LONGEST_ANSWER[kind]}"


def check_answer(question, content):
    """(pattern, reason) of what is wrong with the content as an answer to the question, or None."""
    expect = question["expect"]
    kind = expect["kind"]
    if runaway(question, content):
        return runaway(question, content)
    if kind == "prime-program":
        problem = check_prime_program(content)
        return ("wrong-program", f"the prime test {problem}") if problem else None
    right = {"number": _has_number, "sentence": _repeats, "contains": _contains}[kind](
        content, expect["value"], question["prompt"]
    )
    if right:
        return None
    return "wrong-answer", f'expected {expect["value"]!r}, got "{texts.excerpt(content, 100)}"'


def _has_number(content, value, prompt):
    """The value is the first or the last number of the content that is not part of the question."""
    asked = set(_numbers(prompt)) - {float(value)}
    found = [number for number in _numbers(content) if number not in asked]
    if found:
        return float(value) in (found[0], found[-1])
    return NUMBER_WORDS.get(value, "\0") in [word.lower() for word in texts.words(content)]


def _numbers(text):
    plain = re.sub(r"[*_\\$]|(?<=\d),(?=\d{3}\b)", "", text)
    plain = re.sub(r"(?<=\d)\s*([+×x*/=-])\s*(?=\d)", r" \1 ", plain)
    return [
        float(number.replace(",", ".")) for number in NUMBER.findall(plain) if number.replace(",", ".").count(".") <= 1
    ]


def _normal(text):
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower()).split())


def _repeats(content, value, _prompt):
    return _normal(content).count(_normal(value)) == 1


def _contains(content, value, _prompt):
    return _normal(value) in _normal(content)
