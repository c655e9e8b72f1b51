"""A toy tokenizer: pieces of at most five letters whose concatenation is the text again."""

import re
import zlib

PIECE = re.compile(r" ?[^\W\d_]{1,5}| ?\d{1,3}|\s|[^\w\s]|_")
END_OF_TURN = 2
TEMPLATE_TOKENS = 8


def split(text):
    """The pieces of a text, in order."""
    return PIECE.findall(text)


def identifier(piece):
    """A stable token id for a piece, below a vocabulary of a thousand."""
    return 8 + zlib.crc32(piece.encode()) % 1000


def count_prompt(messages):
    """How many tokens the messages of a chat take with the template's own."""
    return TEMPLATE_TOKENS + sum(4 + len(split(text_of(message))) for message in messages)


def text_of(message):
    """The text of one chat message; parts other than text are left out."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return str(content)
