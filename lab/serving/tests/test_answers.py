"""The rules by which a healthy model answers."""

import sys
import unittest

from machine import unpacked

sys.path.append(str(unpacked("0.5.11")))
from sglang import answers, arithmetic, tokens  # noqa: E402


class AnswerTest(unittest.TestCase):
    """The rules by which a healthy model answers."""

    def answer(self, question):
        """Only the answer."""
        return answers.answer(question)[1]

    def test_arithmetic(self):
        cases = {
            "What is 2+2? Answer with the number only.": "4",
            "What is 17 times 23? Only the number.": "391",
            "What is the sum of 12 and 30? Only the number.": "42",
            "What is seven times eight? Only the number.": "56",
            "Compute (3 + 4) * 5, number only.": "35",
            "What is 144 divided by 12? Only the number.": "12",
            "What is 15% of 200? Only the number.": "30",
            "What is 1,024 - 24? Only the number.": "1000",
            "What is 5 minus 8? Only the number.": "-3",
            "What is 2 and 2? Only the number.": "4",
            "What is 7 / 2? Only the number.": "3.5",
        }
        self.assertEqual({question: self.answer(question) for question in cases}, cases)

    def test_dates_and_division_by_zero_are_no_sums(self):
        for question in ("What happened in 1969?", "What is 1 / 0?", "Name 3 cities."):
            self.assertIsNone(arithmetic.find(question), question)

    def test_the_prime_program_is_right_and_named_as_asked(self):
        code = self.answer("Write a Python function check_prime(n) that tells primes. Code only.")
        names = {}
        exec(code.removeprefix("```python\n").removesuffix("```"), names)
        self.assertEqual([n for n in range(-2, 40) if names["check_prime"](n)], [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37])

    def test_a_sentence_is_repeated_as_it_stands(self):
        sentence = "The quick brown fox jumps over the lazy dog."
        self.assertEqual(self.answer(f"Repeat this sentence exactly once and write nothing else: {sentence}"), sentence)
        self.assertEqual(self.answer(f'Repeat the following sentence: "{sentence}"'), sentence)

    def test_prose_is_fluent_and_does_not_repeat_itself(self):
        for question in ("Explain photosynthesis.", "Tell me a story about a fox.", "How does a diesel engine work in detail?"):
            sentences = self.answer(question).split(". ")
            self.assertGreaterEqual(len(sentences), 5)
            self.assertEqual(len(set(sentences)), len(sentences))

    def test_tokens_put_together_are_the_text(self):
        for text in (
            "Hello, Wörld! 12345 + x_1\n\n```python\ndef f():\n    return 'é'\n```",
            "  two  spaces ",
            "日本語 テスト",
        ):
            self.assertEqual("".join(tokens.split(text)), text)


if __name__ == "__main__":
    unittest.main()
