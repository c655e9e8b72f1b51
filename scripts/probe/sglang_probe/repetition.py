"""Loops: one word, one phrase, one sentence or white space over and over, exact or nearly so.

Repetition alone is no fault. Tables, number lists, code and verses repeat too, so a loop must fill a run
without a gap (or nearly all of a long passage), and code and tables are given four times the room.
"""

import zlib
from collections import Counter

from . import text as texts

MAX_TOKENS = 16_000  # the end of a longer text is looked at: loops do not stop
LONGEST_UNIT = 200  # tokens
CODE_MARKS = set("(){}[]=;<>|+*/#_&$@\\")


def find_loop(text):
    """The worst loop of a text as {"pattern", "reason"}, or None."""
    return (
        endless_newlines(text)
        or endless_character(text)
        or periodic(text)
        or repeated_sentence(text)
        or few_distinct_phrases(text)
        or compresses_to_nothing(text)
    )


def endless_newlines(text):
    """White space only, a gap of 24 and more line breaks, or white space that runs to the end."""
    trailing = len(text) - len(text.rstrip())
    if text and trailing == len(text):
        return {"pattern": "endless-newlines", "reason": f"only white space, {trailing} characters"}
    if trailing >= 120:
        return {"pattern": "endless-newlines", "reason": f"ends in {trailing} characters of white space"}
    longest = run = 0
    for character in text:
        run = run + 1 if character == "\n" else run if character in " \t\r" else 0
        longest = max(longest, run)
    if longest >= 24:
        return {"pattern": "endless-newlines", "reason": f"{longest} line breaks with nothing between"}
    return None


def endless_character(text):
    """One to three characters repeated without a space, such as "!!!!" (token 0, the face of NaN logits) or "icenicen"."""
    best = None
    for size in range(1, 9):
        run = 0
        for index in range(size, len(text)):
            run = run + 1 if text[index] == text[index - size] else 0
            repeats = run // size + 1
            unit = text[index - size + 1 : index + 1]
            if size > 1 and len(set(unit)) == 1:
                continue  # counted with size 1
            if repeats >= _character_limit(unit) and (best is None or run > best[0]):
                best = (run, repeats, unit)
        if best:
            break
    if not best:
        return None
    _, repeats, unit = best
    return {"pattern": "word-loop", "reason": f'"{unit}" {repeats} times without a space'}


def _character_limit(unit):
    """How often characters may follow each other: rules, dot leaders and long numbers are legitimate."""
    if unit.isspace() or any(character.isspace() for character in unit):
        return 10**9  # words with spaces are judged as tokens
    if set(unit) <= set("-=_*.#~+|:─━═·•…"):
        return 400
    if unit.isdigit():
        return 250
    return 30 if len(unit) == 1 else 12


def periodic(text):
    """One unit of 1 to 200 tokens that follows itself again and again without a gap."""
    stream = texts.tokens(text)[-MAX_TOKENS:]
    best = None
    for size in range(1, min(LONGEST_UNIT, len(stream) // 3) + 1):
        run = longest = end = 0
        for index in range(size, len(stream)):
            run = run + 1 if stream[index] == stream[index - size] else 0
            if run > longest:
                longest, end = run, index
        repeats = longest // size + 1
        unit = stream[end - size + 1 : end + 1]
        if longest and repeats >= _repeats_allowed(unit) and (best is None or longest + size > best[0]):
            best = (longest + size, repeats, unit)
    if not best:
        return None
    covered, repeats, unit = best
    pattern = "word-loop" if len(unit) <= 2 else "sentence-loop"
    share = round(100 * covered / len(stream))
    return {
        "pattern": pattern,
        "reason": f'"{texts.excerpt(" ".join(unit), 80)}" {repeats} times in a row, {share} % of the text',
    }


def _repeats_allowed(unit):
    """The number of repeats of this unit that makes a loop."""
    size = len(unit)
    limit = 12 if size == 1 else 8 if size == 2 else 6 if size < 20 else 4
    if not any(any(character.isalpha() for character in token) for token in unit):
        return 64 if size > 1 or unit[0].isdigit() else 200
    marks = sum(1 for token in unit if token in CODE_MARKS)
    if marks / size >= 0.15:
        return max(4 * limit, 120 // size)
    return limit


def repeated_sentence(text):
    """One sentence of five and more words, six times and more, that makes up most of the prose."""
    parts = [part for line in texts.prose_lines(texts.FENCE.sub("\n", text)) for part in texts.sentences(line)]
    counts = Counter(part for part in parts if len(part.split()) >= 5)
    if not counts:
        return None
    sentence, count = counts.most_common(1)[0]
    share = count * len(sentence) / max(1, sum(len(part) for part in parts))
    if count >= 6 and share >= 0.4:
        return {
            "pattern": "sentence-loop",
            "reason": f'"{texts.excerpt(sentence, 80)}" {count} times, {round(100 * share)} % of the text',
        }
    return None


def few_distinct_phrases(text):
    """A passage of prose that says little new: loops with a counter or small changes in them.

    Of the four-word phrases of a passage, sensible prose repeats a few in a hundred, songs with verses about half.
    """
    prose = " ".join(texts.prose_lines(texts.TAG.sub(" ", texts.FENCE.sub("\n", text))))
    stream = [token for token in texts.tokens(prose) if token[0].isalnum()][-MAX_TOKENS:]
    for size, least_words, new_share in ((200, 50, 0.2), (600, 250, 0.3)):
        for start in range(0, max(1, len(stream) - size // 2), size // 2):
            window = stream[start : start + size]
            if len(window) < least_words:
                continue
            phrases = [tuple(window[index : index + 4]) for index in range(len(window) - 3)]
            share = len(set(phrases)) / len(phrases)
            if share < new_share:
                phrase, count = Counter(phrases).most_common(1)[0]
                reason = f'"{" ".join(phrase)}" {count} times in {len(window)} words'
                return {"pattern": "phrase-loop", "reason": f"{reason}, {round(100 * share)} % of the phrases are new"}
    return None


def compresses_to_nothing(text):
    """A long text that deflate takes to a fortieth: whatever repeats, something does."""
    raw = text.encode("utf-8", "replace")
    if len(raw) < 2000:
        return None
    share = len(zlib.compress(raw, 6)) / len(raw)
    if share < 0.025:
        return {
            "pattern": "phrase-loop",
            "reason": f"{len(raw)} bytes hold the information of {round(share * len(raw))}",
        }
    return None
