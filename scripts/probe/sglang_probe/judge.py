"""The judgement of one chat answer: a pure function of the answer and, where known, its question.

Without a question it finds degeneration only: a fluent wrong answer is healthy text. Patterns, with the cases of
the deployments they were first seen in:

  sentence-loop (E-p1)     one sentence or phrase over and over       word-loop (E-p2)   one word or character
  phrase-loop              nearly a loop, with small changes          no-answer (E-p3)   nothing to read
  endless-newlines         white space only                           non-text (E-p4)    unreadable, NaN, not a text
  word-salad               words without sense                        aborted            the server gave up
  limit-too-small          coherent, but cut off: not degenerate
  wrong-answer, wrong-program, runaway-length, missing-reasoning, reasoning-leak: only with a question
"""

import re

from . import text as texts
from .questions import check_answer, runaway
from .repetition import find_loop
from .salad import find_salad, unreadable

FIELDS = ("reasoning_content", "content")
THINK_TAG = re.compile(r"</?think>|<\|(?:begin|end)_of_thought\|>")
DEGENERATE = frozenset(
    "sentence-loop word-loop phrase-loop endless-newlines non-text word-salad no-answer runaway-length".split()
)


def judge(answer, question=None, expect_reasoning=False):
    """Judge one answer.

    answer: content, reasoning_content, finish_reason, completion_tokens, tool_calls (all may be missing or None).
    question: a question of questions.py, or None when what was asked is not known.
    expect_reasoning: the server separates reasoning and the model was to think.
    Returns {healthy, degenerate, limitTooSmall, patterns, reasons, excerpt}.
    """
    findings = _field_findings(answer)
    cut = answer.get("finish_reason") == "length"
    limit_too_small = False
    if not findings:
        findings, limit_too_small = _missing_or_cut(answer, cut, question)
    if not findings and question is not None:
        findings = _question_findings(answer, question, expect_reasoning)
    patterns = [pattern for pattern, _ in findings]
    return {
        "healthy": not findings,
        "degenerate": not limit_too_small and any(pattern in DEGENERATE for pattern in patterns),
        "limitTooSmall": limit_too_small,
        "patterns": patterns,
        "reasons": [f"{pattern}: {reason}" for pattern, reason in findings],
        "excerpt": _excerpt(answer, findings),
    }


def _field_findings(answer):
    """Degeneration, looked for in both fields: loops were seen in the reasoning while the content was empty."""
    findings = []
    for field in FIELDS:
        value = answer.get(field)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            findings.append(("non-text", f"{field} is no text but {type(value).__name__}"))
            continue
        loop = find_loop(value)
        for finding in [loop] if loop else [unreadable(value), find_salad(value)]:
            if finding:
                findings.append((finding["pattern"], f"{field}: {finding['reason']}"))
    return findings


def _missing_or_cut(answer, cut, question):
    """Findings about an answer that is absent or cut off, and whether a higher token limit is the remedy."""
    content, reasoning = (answer.get(field) for field in ("content", "reasoning_content"))
    spent = answer.get("completion_tokens")
    finish = answer.get("finish_reason")
    if finish in ("abort", "error", "content_filter"):
        return [("aborted", f"finish_reason is {finish}")], False
    if content and cut:
        if question is not None and runaway(question, content):
            return [runaway(question, content)], False
        return [("limit-too-small", f"coherent, but cut off after {_count(spent)}: limit too small")], True
    if content or answer.get("tool_calls"):
        return [], False
    if reasoning:
        if finish == "stop":
            return [], False  # ended in its reasoning: no degeneration; a question makes it a missing answer
        reason = f"content is empty, all of {_count(spent)} went into coherent reasoning: limit too small"
        return [("no-answer", reason)], True
    if cut and spent == 0:
        return [("no-answer", "a limit of 0 tokens leaves no room for an answer: limit too small")], True
    if cut:
        return [
            ("no-answer", f"content and reasoning are empty though {_count(spent)} were spent: white space only")
        ], False
    return [("no-answer", "content and reasoning are empty: the model ended at once")], False


def _count(spent):
    return "the limit" if spent is None else f"{spent} tokens"


def _question_findings(answer, question, expect_reasoning):
    content, reasoning = answer.get("content"), answer.get("reasoning_content")
    if not content:
        return [("no-answer", "content is empty: the model stopped inside its reasoning")]
    findings = []
    if THINK_TAG.search(content):
        findings.append(
            ("reasoning-leak", "the content holds the reasoning's own tags: wrong or missing reasoning parser")
        )
        content = THINK_TAG.split(content)[-1]
    elif expect_reasoning and not (reasoning and reasoning.strip()):
        findings.append(("missing-reasoning", "the model was to reason, and reasoning_content is empty"))
    problem = check_answer(question, content)
    return findings + ([problem] if problem else [])


def _excerpt(answer, findings):
    """A short piece of the field that the first finding speaks of, or of the first field with text."""
    order = FIELDS if findings and findings[0][1].startswith("reasoning_content") else FIELDS[::-1]
    for field in order:
        value = answer.get(field)
        if isinstance(value, str) and value.strip():
            return texts.excerpt(value)
    return ""
