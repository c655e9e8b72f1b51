"""What a sick model says: the patterns of the real deployment and of random or dummy weights.

Each kind is a function of (question, seed, thinking) that gives (reasoning, answer); None is a part that never comes.
The first three are E-p1, E-p2 and E-p3 of this project's notes; all fill whatever token budget there is.
"""

import random
import re

ENDLESS = 4000
FRAGMENTS = (
    "isclaim",
    "iffer",
    " sequence",
    " att",
    "idring",
    "ITIONS",
    "anceves",
    "RA",
    " These",
    "ANTABILITY",
    "argev",
    "ention",
    " refers",
    " Secondary",
    " impli",
    "edublish",
    " portion",
    "<tool_call>",
    "ine",
    " clearly",
    "here",
    " su",
    "DO",
    "license",
    "ason",
    " sing",
    " patent",
    " pro",
    "OR",
    " PROM",
    " anLAR",
    "duc",
    " electronic",
    "ysiz",
    " others",
    " transl",
    "Opr",
    " version",
    "anently",
    " saying",
    "ftericens",
    "orAR",
    " Jumber",
    "ding",
    " behalf",
    " implied",
    "Fuse",
    " singleg",
    "regate",
    "ach",
    "lication",
    "OLDER",
    " changings",
    "eltic",
    "espon",
    "`",
    " identi",
    "%",
    "      ",
    "Fr",
    "aries",
    "SPL",
    "@ ",
    "g",
    " product.\n\n\n",
    " rem",
    "ModIf",
)


def loop_sentence(question, _seed, _thinking):
    """E-p1: one sentence looped in the reasoning, no answer."""
    asked = re.sub(r"\s+", " ", question).strip().rstrip("?.!")[:60]
    return f"The user is asking for the result of {asked}. " * (ENDLESS // 8), None


def loop_word(question, _seed, thinking):
    """E-p2: one word looped until the token limit."""
    word = "prime " if "prime" in question.lower() else "lambda "
    loop = word * ENDLESS
    return (f"I need to write a {loop}", None) if thinking else (None, loop)


def no_answer(question, seed, _thinking):
    """E-p3: reasoning that never comes to an end, so that the budget is spent and content stays null."""
    chooser = random.Random(f"{seed}/{question}")
    starts = (
        "Let me consider",
        "Perhaps I should weigh",
        "It may help to recall",
        "I could also look at",
        "First I want to check",
    )
    subjects = (
        "the wording",
        "the units",
        "the previous step",
        "another approach",
        "the assumptions",
        "the small cases",
        "the limits",
    )
    thoughts = (f"{chooser.choice(starts)} {chooser.choice(subjects)} number {n}." for n in range(1, ENDLESS // 8))
    return " ".join(thoughts), None


def random_words(question, seed, thinking):
    """Word salad of random weights: no loops, no sense."""
    chooser = random.Random(f"{seed}/{question}")
    salad = "".join(chooser.choice(FRAGMENTS) for _ in range(ENDLESS))
    return (salad, None) if thinking else (None, salad)


def newlines(_question, _seed, thinking):
    """Endless newlines, as dummy weights give at temperature 0: null content once the parser has stripped them."""
    return ("\n" * ENDLESS, None) if thinking else (None, "\n" * ENDLESS)


def nan(_question, _seed, thinking):
    """Token 0 for ever: what sampling from NaN gives."""
    return ("!" * ENDLESS, None) if thinking else (None, "!" * ENDLESS)


def both_null(_question, _seed, _thinking):
    """The end of the text at once: content and reasoning null, finish_reason "stop"."""
    return None, None


def wrong(question, _seed, _thinking):
    """Fluent and wrong, as a small model answers what it was not trained on."""
    sentences = (
        "The sea was calm in the morning, and small waves touched the sand without a sound.",
        "The three primary colours are red, yellow and blue.",
        "Water boils at about one hundred degrees at sea level.",
    )
    return "A short and clear sentence will do.", random.Random(question).choice(sentences)


KINDS = {
    "loop-sentence": loop_sentence,
    "loop-word": loop_word,
    "no-answer": no_answer,
    "random-words": random_words,
    "newlines": newlines,
    "nan": nan,
    "both-null": both_null,
    "wrong": wrong,
}
