"""Finds and works out the arithmetic in a question: "What is 17 times 23?", "the sum of 2 and 2", "(3 + 4) * 5"."""

import ast
import operator
import re

WORDS = dict(zip("zero one two three four five six seven eight nine ten eleven twelve".split(), range(13), strict=True))
PHRASES = (
    (r"\bsum of ([\d.]+) and ([\d.]+)", r"\1 + \2"),
    (r"\bproduct of ([\d.]+) and ([\d.]+)", r"\1 * \2"),
    (r"\bdifference (?:of|between) ([\d.]+) and ([\d.]+)", r"\1 - \2"),
    (r"\bwhat is ([\d.]+) and ([\d.]+)", r"what is \1 + \2"),
    (r"\bmultiply ([\d.]+) (?:by|and|with) ([\d.]+)", r"\1 * \2"),
    (r"\bdivide ([\d.]+) by ([\d.]+)", r"\1 / \2"),
    (r"\badd ([\d.]+) (?:and|to) ([\d.]+)", r"\1 + \2"),
    (r"\bsubtract ([\d.]+) from ([\d.]+)", r"\2 - \1"),
    (r"([\d.]+) ?(?:%|percent) of ([\d.]+)", r"\1 * \2 / 100"),
    (r"(?<=\d) squared", " ** 2"),
    (r"(?<=\d) (?:times|multiplied by) (?=[\d(])", " * "),
    (r"(?<=\d) ?[×x·] ?(?=\d)", " * "),
    (r"(?<=\d) (?:plus|added to) (?=[\d(])", " + "),
    (r"(?<=\d) (?:minus|less) (?=[\d(])", " - "),
    (r"(?<=\d) (?:divided by|over) (?=[\d(])", " / "),
    (r"(?<=\d) ?÷ ?(?=\d)", " / "),
    (r"(?<=\d) ?\^ ?(?=\d)", " ** "),
)
EXPRESSION = re.compile(r"[(\d][\d\s.()+*/-]*[\d)]")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def find(question):
    """(expression, value) of the first sum that a question holds, or None. The value is an int where it is whole."""
    text = question.lower().replace(",", "")
    for word, number in WORDS.items():
        text = re.sub(rf"\b{word}\b", str(number), text)
    for pattern, replacement in PHRASES:
        text = re.sub(pattern, replacement, text)
    for match in EXPRESSION.finditer(text):
        expression = " ".join(re.findall(r"\*\*|[\d.]+|[()+*/-]", match.group()))
        if not re.search(r"\d\)? [+*/-]", expression):
            continue
        try:
            value = evaluate(ast.parse(expression, mode="eval").body)
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
            continue
        return expression, tidy(value)
    return None


def evaluate(node):
    """The value of a syntax tree of numbers and the four operations. Raises ValueError for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = evaluate(node.left), evaluate(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > 64:
            raise ValueError("too large")
        return OPERATORS[type(node.op)](left, right)
    raise ValueError("not arithmetic")


def tidy(value):
    """A whole number as int, any other rounded to six places."""
    return int(value) if value == int(value) else round(value, 6)
