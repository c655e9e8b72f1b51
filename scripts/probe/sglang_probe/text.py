"""Cutting an answer into the pieces that the judge looks at: code apart from prose, words, sentences, tokens."""

import re

FENCE = re.compile(r"```[^\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]+`")
URL = re.compile(r"\b(?:https?://|www\.)\S+")
TAG = re.compile(r"<[^<>\n]+>")
# A rule of dashes, a row of dots, the line under a table's head: one mark, however long.
RULE = re.compile(r"([-=_*.#~+|:─━═·•…])(?:\s*\1){2,}|(?:\|?\s*:?-{3,}:?\s*)+\|?")
CODE_LINE = re.compile(
    r"[{};]\s*$|=>|\w\(.*\)|^\s*(?:[-+]\s*)?(?:const|let|var|import|from|def|return|function|class|if|for)\b.*[:=({;]"
)
# One CJK character is a token of its own: those scripts put no spaces between words.
TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+(?:['’][^\W_]+)?|[^\w\s]|_")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*|\n+")


def tokens(text):
    """Words, numbers and single punctuation marks, lower case."""
    return [token.lower() for token in TOKEN.findall(RULE.sub(" - ", text))]


def words(text):
    """Runs of letters, as written."""
    return WORD.findall(text)


def code_blocks(text):
    """Contents of the fenced code blocks; a fence that is never closed runs to the end."""
    return FENCE.findall(text)


def without_code(text):
    """The text without fenced code, inline code, URLs and tags."""
    return URL.sub(" ", TAG.sub(" ", INLINE_CODE.sub(" ", FENCE.sub("\n", text))))


def prose_lines(text):
    """The lines that read as prose: no table rows, no code, no line that is mostly digits and symbols."""
    for line in text.split("\n"):
        stripped = line.strip()
        letters = sum(1 for character in stripped if character.isalpha() or character.isspace())
        is_code = len(stripped) < 160 and CODE_LINE.search(stripped)
        if stripped and not stripped.startswith("|") and letters >= 0.6 * len(stripped) and not is_code:
            yield stripped


def sentences(text):
    """Sentences (and lines), white space and case made equal, empty ones left out."""
    parts = (" ".join(part.lower().split()) for part in SENTENCE_END.split(text))
    return [part for part in parts if part]


def excerpt(text, length=160):
    """The beginning and the end of a text on one printable line, at most about `length` characters."""
    printable = "".join(
        character if character.isprintable() else "\ufffd" for character in " ".join((text or "").split())
    )
    if len(printable) <= length:
        return printable
    head = length * 2 // 3
    return f"{printable[:head]} … {printable[-(length - head) :]}"
