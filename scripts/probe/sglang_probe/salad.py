"""Text that is none: unreadable characters, and words strung together without sense (random or damaged weights).

No dictionary is used: an answer may be in any language. Independent signs are counted, and two of them, or a
clear share of unreadable characters, make a finding.
"""

import itertools
import re
import unicodedata

from . import text as texts

SPECIAL_TOKEN = re.compile(r"</?(?:tool_call|tool_response|think)>|<\|[a-z_]{2,30}\|>")
SEGMENT_END = re.compile(r"[.,;:!?()\[\]|\"“”—–…。，、！？：；]+|\s-\s|\n")
INNER_CAPITAL = re.compile(r"[^\W\d_A-Z][A-Z]|[A-Z]{2,}[a-z]{2,}")
BROKEN_PAIR = re.compile(
    r"\b(?:the|a|an|of|your|our|their)\s+(?:the|a|an|of|is|are|was|and|or|to|with|that|if|by|from)\b", re.IGNORECASE
)
# The commonest words of the languages most answers are in: a passage of prose cannot do without them.
FUNCTION_WORDS = frozenset(
    """the a an of to in is are was were be been and or but if for with on at by from as it its this that these those i you
    he she we they not no do does can will would so let what which there have has my your our their then than also
    der die das und ist nicht ein eine den dem des zu von mit auf für sich es er sie wir ich im als auch wie wenn
    le la les un une et est de du des en que qui dans pour pas sur il elle nous vous je ce se au avec son plus
    el los las y es del por con para no una que se lo su al como más o pero
    il lo gli e è di che non per una sono con da si della nel ma come
    o os as e é do da dos das em um uma não para com que por se mais
    het een van en is dat niet op te zijn voor met aan ook
    i w na z do nie to że się jest a v je se na s to
    och att det som en på är av för med""".split()
)
IDEOGRAPHIC = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "FULLWIDTH", "IDEOGRAPHIC"}


def unreadable(text):
    """A finding when control characters and U+FFFD are more than a cut multi-byte character can explain."""
    body = text.rstrip("\ufffd")
    bad = sum(1 for character in body if character == "\ufffd" or _is_control(character))
    if bad >= 2 and bad / len(body) >= 0.002:
        return {"pattern": "non-text", "reason": f"{bad} unreadable characters in {len(body)}"}
    tokens = texts.tokens(text)
    if tokens and all(token in ("nan", "inf", "null", "none", "undefined") for token in tokens):
        return {"pattern": "non-text", "reason": f'nothing but "{tokens[0]}"'}
    return None


def _is_control(character):
    return unicodedata.category(character) == "Cc" and character not in "\n\t\r"


def find_salad(text):
    """A finding when at least two signs of senseless text come together, else None."""
    lines = [line for line in texts.prose_lines(texts.without_code(text)) if len(texts.words(line)) >= 6]
    prose = "\n".join(lines)
    words = texts.words(prose)
    signs = [sign for sign in _signs(text, prose, words) if sign]
    if len(signs) >= 2:
        return {"pattern": "word-salad", "reason": "; ".join(signs)}
    return None


def _signs(text, prose, words):
    count = len(words)
    if count < 12:
        return
    segments = [len(texts.words(part)) for part in SEGMENT_END.split(prose)]
    # Languages that write without spaces have few "words" per segment, so the sign cannot fire for them.
    if max(segments) >= 45:
        yield f"{max(segments)} words without any punctuation"
    capitals = sum(1 for word in words if INNER_CAPITAL.search(word))
    if capitals / count >= 0.08:
        yield f"{capitals} of {count} words with capitals inside"
    latin = [word for word in words if _script(word[0]) == "LATIN"]
    common = sum(1 for word in latin if word.lower() in FUNCTION_WORDS)
    if len(latin) >= 30 and len(latin) / count > 0.5 and common / len(latin) < 0.12:
        yield f"only {common} of {len(latin)} words are common ones"
    long_words = sum(1 for word in words if len(word) >= 25 and _script(word[0]) == "LATIN")
    if long_words >= 2 and long_words / count >= 0.01:
        yield f"{long_words} words of 25 and more letters"
    pairs = len(BROKEN_PAIR.findall(prose))
    if pairs >= 2 and pairs / count >= 0.03:
        yield f"{pairs} word pairs that no sentence has"
    if len(SPECIAL_TOKEN.findall(texts.without_code(text))) >= 1:
        yield "control tokens of the chat format inside the text"
    yield _script_mix(words)


def _script_mix(words):
    """A sign when the script changes all the time, or inside words, as it does with random tokens of a large vocabulary."""
    scripts = [_script(word[0]) for word in words]
    changes = sum(1 for left, right in itertools.pairwise(scripts) if left != right)
    inside = sum(1 for word in words if len({_script(c) for c in word if c.isalpha()} - {"GREEK", "IDEOGRAPHIC"}) > 1)
    if inside >= 2 and inside / len(words) >= 0.02:
        return f"{inside} words mix scripts"
    if len(set(scripts)) >= 4 and changes / len(words) >= 0.25:
        return f"{len(set(scripts))} scripts take turns"
    return None


def _script(character):
    name = unicodedata.name(character, "UNKNOWN").split()[0]
    return "IDEOGRAPHIC" if name in IDEOGRAPHIC else name
