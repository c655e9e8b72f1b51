"""What a healthy model says: (reasoning, answer) for a question. Rules, not a model: sums, short programs, sentences to
repeat, a few facts, and prose for the rest."""

import re

from sglang import arithmetic, fluent, programs

CAPITALS = {
    "france": "Paris",
    "germany": "Berlin",
    "italy": "Rome",
    "spain": "Madrid",
    "austria": "Vienna",
    "japan": "Tokyo",
    "norway": "Oslo",
    "portugal": "Lisbon",
    "greece": "Athens",
    "poland": "Warsaw",
    "sweden": "Stockholm",
    "canada": "Ottawa",
}
REPEAT = re.compile(
    r"\b(?:repeat|say|write|copy)\b[^:\"]*(?:sentence|following|exactly|text|phrase|words)[^:\"]*[:\"]\s*\"?(?P<text>[^\"]+?)\"?\s*$",
    re.IGNORECASE | re.DOTALL,
)
CAPITAL = re.compile(r"capital (?:city )?of (\w+)|(\w+)'s capital", re.IGNORECASE)
GREETING = re.compile(r"^\s*(?:say\s+)?(?:hello|hi|good (?:morning|evening))\b", re.IGNORECASE)
SHORT = re.compile(r"\b(?:only|just) (?:with )?the (?:number|result|answer)|number only|only the number", re.IGNORECASE)
CODE_ONLY = re.compile(r"code only|only (?:the |python )?code|nothing (?:else|but (?:the )?code)", re.IGNORECASE)
COUNT = re.compile(r"(?:numbers|count)\D{0,20}(\d+) (?:to|through) (\d+)", re.IGNORECASE)


def repeat(question):
    """A sentence that is to be repeated."""
    match = REPEAT.search(question)
    if match:
        text = match["text"].strip()
        return "The user wants a sentence repeated as it stands. I will write it once and add nothing.", text
    return None


def program(question):
    """A short Python program."""
    found = programs.find(question)
    if not found:
        return None
    code, explanation = found
    block = f"```python\n{code}```"
    reasoning = f"The user asks for a short Python function. {explanation} I should check the small cases as well."
    return reasoning, block if CODE_ONLY.search(question) else f"Here is the function:\n\n{block}\n\n{explanation}"


def sum_of(question):
    """The result of an arithmetic question."""
    found = arithmetic.find(question)
    if not found:
        return None
    expression, value = found
    shown = expression.replace("**", "^").replace("*", "×")
    reasoning = f"The user asks for {shown}. Working it out gives {value}, so that is the answer."
    return reasoning, str(value) if SHORT.search(question) else f"{shown} = {value}."


def counting(question):
    """A run of numbers: repetition that is legitimate."""
    match = COUNT.search(question)
    if not match:
        return None
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first <= 500:
        return None
    return f"The user wants the numbers from {first} to {last}.", ", ".join(str(n) for n in range(first, last + 1))


def fact(question):
    """A capital or a greeting."""
    match = CAPITAL.search(question)
    country = (match[1] or match[2]).lower() if match else ""
    if country in CAPITALS:
        name = country.capitalize()
        return (
            f"The user asks for the capital of {name}. That is {CAPITALS[country]}.",
            f"The capital of {name} is {CAPITALS[country]}.",
        )
    if GREETING.search(question):
        return "The user greets me. A short and friendly reply is enough.", "Hello! How can I help you today?"
    return None


def prose(question, seed):
    """A paragraph for anything else; longer where detail is asked for."""
    length = 18 if re.search(r"\b(detail|long|essay|story|thorough)", question, re.IGNORECASE) else 7
    topic = fluent.topic_of(question)
    reasoning = (
        f"The user wants to hear about {topic}. A structured reply with an introduction, a few main points and a short ending "
        "will serve best. The tone should be plain and the sentences not too long."
    )
    return reasoning, fluent.write(question, length, seed)


def answer(question, seed=0):
    """(reasoning, answer) to a question. `seed` varies prose, as sampling does."""
    for rule in (repeat, program, sum_of, counting, fact):
        found = rule(question)
        if found:
            return found
    return prose(question, seed)
