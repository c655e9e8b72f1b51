"""Short Python programs that the stand-in can write when asked for one."""

import re

PRIME = '''def {name}(n):
    """Return True if n is a prime number."""
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True
'''
FACTORIAL = '''def {name}(n):
    """Return the factorial of n."""
    result = 1
    for factor in range(2, n + 1):
        result *= factor
    return result
'''
FIBONACCI = '''def {name}(n):
    """Return the n-th Fibonacci number."""
    previous, current = 0, 1
    for _ in range(n):
        previous, current = current, previous + current
    return previous
'''
REVERSE = '''def {name}(text):
    """Return the text with its characters in reverse order."""
    return text[::-1]
'''
PALINDROME = '''def {name}(text):
    """Return True if the text reads the same backwards."""
    letters = [letter.lower() for letter in text if letter.isalnum()]
    return letters == letters[::-1]
'''
DIVISOR = '''def {name}(a, b):
    """Return the greatest common divisor of a and b."""
    while b:
        a, b = b, a % b
    return abs(a)
'''
# (what the question speaks of, default name, program, one sentence about it)
KNOWN = (
    (r"\bprime", "is_prime", PRIME, "It tries every divisor up to the square root of n, which is enough to find a factor."),
    (r"\bfactorial", "factorial", FACTORIAL, "It multiplies the numbers from two to n."),
    (r"\bfibonacci", "fibonacci", FIBONACCI, "It keeps only the last two numbers of the sequence."),
    (
        r"\bpalindrome",
        "is_palindrome",
        PALINDROME,
        "It compares the letters with their reverse and ignores case and punctuation.",
    ),
    (r"\breverse", "reverse_text", REVERSE, "A slice with a step of minus one walks the text backwards."),
    (r"greatest common divisor|\bgcd\b", "greatest_common_divisor", DIVISOR, "This is the algorithm of Euclid."),
)
ASKS_FOR_CODE = re.compile(r"\b(python|function|program|code|script)\b", re.IGNORECASE)
NAMED = re.compile(r"\b([a-z_][a-z0-9_]*)\((?:[a-z_]+(?:, ?[a-z_]+)*)?\)|\b(?:named|called) `?([a-z_][a-z0-9_]*)")


def find(question):
    """(program, explanation) for a question that asks for a known program, or None."""
    if not ASKS_FOR_CODE.search(question):
        return None
    for pattern, default, program, explanation in KNOWN:
        if re.search(pattern, question, re.IGNORECASE):
            named = NAMED.search(question)
            name = (named.group(1) or named.group(2)) if named else default
            return program.format(name=name), explanation
    return None
