"""The judge of texts: fixtures, the confusion table, questions, programs."""

import collections
import unittest

import support
from sglang_probe import program
from sglang_probe.judge import judge
from sglang_probe.questions import DEFAULT_QUESTIONS

QUESTIONS = {question["id"]: question for question in DEFAULT_QUESTIONS}


def built(value):
    """A text written as {before, unit, times, after}, put together."""
    if isinstance(value, dict):
        units = (value["unit"].replace("{n}", str(number + 1)) for number in range(value["times"]))
        return value.get("before", "") + "".join(units) + value.get("after", "")
    return value


class Texts(unittest.TestCase):
    def test_each_fixture_text_gets_its_verdict(self):
        cases = support.fixture("texts.json")["cases"]
        self.assertGreater(len(cases), 30)
        for case in cases:
            answer = {key: built(value) for key, value in case.items() if key not in ("name", "expect")}
            expect = case["expect"]
            with self.subTest(case["name"]):
                verdict = judge(answer)
                self.assertEqual(verdict["healthy"], expect["healthy"], verdict)
                for key in ("degenerate", "limitTooSmall"):
                    self.assertEqual(verdict[key], expect.get(key, False), verdict)
                if "pattern" in expect:
                    self.assertIn(expect["pattern"], verdict["patterns"], verdict)
                self.assertEqual(bool(verdict["reasons"]), not expect["healthy"])

    def test_a_reason_names_field_and_repeated_text_and_the_excerpt_is_short(self):
        verdict = judge({"reasoning_content": support.LOOP, "content": None, "finish_reason": "length"})
        self.assertRegex(
            verdict["reasons"][0], r"^sentence-loop: reasoning_content: .*the user is asking.* 40 times in a row"
        )
        self.assertLess(len(verdict["excerpt"]), 200)

    def test_reasoning_is_judged_even_when_the_content_is_good(self):
        verdict = judge(
            {"reasoning_content": support.LOOP, "content": "4", "finish_reason": "stop"}, QUESTIONS["arithmetic"]
        )
        self.assertTrue(verdict["degenerate"])


class Recording(unittest.TestCase):
    """Completions of a real server with good, random and dummy weights."""

    def test_confusion_table_of_the_committed_part(self):
        table = collections.Counter()
        for answer in support.fixture("completions.json")["answers"]:
            table[answer["model"], "degenerate" if judge(answer)["degenerate"] else "accepted"] += 1
        self.assertEqual(
            dict(table),
            {
                ("rand", "degenerate"): 6,
                ("dummy", "degenerate"): 7,
                ("good-trained", "accepted"): 20,
                ("good-unseen", "accepted"): 12,
            },
        )

    def test_random_weights_are_found_out_without_their_unreadable_characters_too(self):
        found = checked = 0
        for answer in support.fixture("completions.json")["answers"]:
            text = answer["content"] or answer["reasoning_content"] or ""
            text = "".join(c for c in text if c != "\ufffd" and (c.isprintable() or c == "\n"))
            if answer["model"] in ("rand", "dummy") and len(text.split()) >= 60:
                checked += 1
                found += judge({"content": text, "finish_reason": "stop"})["degenerate"]
        self.assertGreaterEqual(checked, 5)
        self.assertEqual(found, checked)

    def test_fluent_wrong_answers_are_found_out_by_a_known_question(self):
        question = {"prompt": "What is 17 times 23?", "expect": {"kind": "number", "value": 391}}
        wrong = [
            a
            for a in support.fixture("completions.json")["answers"]
            if a["prompt"] == question["prompt"] and a["model"] == "good-unseen"
        ]
        self.assertEqual(len(wrong), 2)
        for answer in wrong:
            self.assertEqual(judge(answer, question)["patterns"], ["wrong-answer"])


class Questions(unittest.TestCase):
    def verdict(self, name, content, reasoning="A thought.", **more):
        return judge(
            {"content": content, "reasoning_content": reasoning, "finish_reason": "stop", **more}, QUESTIONS[name]
        )

    def test_right_answers_in_many_forms_pass(self):
        for name, content in (
            ("arithmetic", "4"),
            ("arithmetic", "2 + 2 = 4."),
            ("arithmetic", "The answer is **four**."),
            ("arithmetic", "2+2 equals $4$"),
            ("reasoning", "391"),
            ("reasoning", "17 × 23 = 391"),
            ("reasoning", "17 * 23 = 17*20 + 17*3 = 340 + 51 = 391"),
            ("repeat", "The quick brown fox jumps over the lazy dog."),
            ("repeat", '"The quick brown fox jumps over the lazy dog"'),
        ):
            with self.subTest(content):
                self.assertEqual(self.verdict(name, content)["reasons"], [])

    def test_wrong_answers_fail(self):
        for name, content in (
            ("arithmetic", "5"),
            ("arithmetic", "2+2 equals 5."),
            ("arithmetic", "2 + 2"),
            ("arithmetic", "44"),
            ("reasoning", "2+2 equals 4."),
            ("reasoning", "17 times 23 is 381."),
            ("repeat", "The quick brown fox."),
            ("repeat", "The sea was calm in the morning."),
        ):
            with self.subTest(content):
                self.assertEqual(self.verdict(name, content)["patterns"], ["wrong-answer"])

    def test_content_missing_after_reasoning_is_no_answer_to_a_question(self):
        self.assertEqual(self.verdict("reasoning", None)["patterns"], ["no-answer"])

    def test_a_long_talk_where_a_number_was_asked_for_is_runaway(self):
        talk = " ".join(f"Step {n}: here we look at case {n} and find that it is not the one." for n in range(30))
        self.assertEqual(self.verdict("arithmetic", talk)["patterns"], ["runaway-length"])

    def test_reasoning_that_is_expected_must_be_there_and_apart(self):
        answer = {"content": "391", "reasoning_content": None, "finish_reason": "stop"}
        self.assertEqual(
            judge(answer, QUESTIONS["reasoning"], expect_reasoning=True)["patterns"], ["missing-reasoning"]
        )
        self.assertEqual(judge(answer, QUESTIONS["reasoning"])["patterns"], [])
        leaked = {**answer, "content": "17 times 20 and 3 more.\n</think>\n\n391"}
        self.assertEqual(judge(leaked, QUESTIONS["reasoning"], expect_reasoning=True)["patterns"], ["reasoning-leak"])


class Programs(unittest.TestCase):
    def test_correct_programs_pass(self):
        for source in (
            support.PRIME,
            "def is_prime(n: int) -> bool:\n    return n > 1 and all(n % i for i in range(2, n))",
            "Sure!\n```python\nimport math\n\ndef is_prime(n):\n    if n < 2: return False\n    for i in range(2, math.isqrt(n) + 1):\n        if n % i == 0: return False\n    return True\n\nif __name__ == '__main__':\n    print(is_prime(7), input())\n```\nIt tries divisors.",
            "```python\nis_prime = lambda n: n > 1 and all(n % i for i in range(2, int(n**0.5) + 1))\n```",
            "```python\nfrom typing import List\nfrom math import isqrt\ndef is_prime(n):\n    return n > 1 and all(n % i for i in range(2, isqrt(n) + 1))\ndef primes(limit) -> List[int]:\n    return [n for n in range(limit) if is_prime(n)]\n```",
        ):
            with self.subTest(source):
                self.assertIsNone(program.check_prime_program(source))

    def test_wrong_programs_are_named_with_what_is_wrong(self):
        for source, reason in (
            ("def is_prime(n):\n    return n % 2 == 1", "wrong results: is_prime"),
            ("def is_prime(n)\n    return True", "does not compile"),
            ("prime prime prime prime", "does not compile"),
            ("The prime numbers are 2, 3 and 5.", "does not compile"),
            ("x = 3", "defines no function"),
            ("def is_prime(n):\n    return undefined(n)", "fails: NameError"),
        ):
            with self.subTest(source):
                self.assertRegex(program.check_prime_program(source), reason)

    def test_programs_that_reach_outside_are_refused_unrun(self):
        for source in (
            "import os\ndef is_prime(n):\n    os.system('id')",
            "def is_prime(n):\n    return ().__class__.__bases__[0].__subclasses__()",
            "def is_prime(n):\n    return '{0.__class__}'.format(n)",
            "def is_prime(n):\n    return __builtins__",
            "def is_prime(n):\n    return (lambda f: f.__globals__)(is_prime)",
            "class A:\n    pass\ndef is_prime(n):\n    class B: pass\n    return B",
            "def is_prime(n):\n    match n:\n        case int(__class__=c):\n            return c",
            "from math import __loader__ as loader\ndef is_prime(n):\n    return loader",
            "def is_prime(n):\n    import subprocess\n    return True",
        ):
            with self.subTest(source):
                self.assertRegex(program.check_prime_program(source), "not allowed")
        self.assertRegex(program.check_prime_program("def is_prime(n):\n    return open('/etc/passwd')"), "NameError")

    def test_a_program_that_does_not_end_is_stopped(self):
        previous, program.TIME_LIMIT_SECONDS = program.TIME_LIMIT_SECONDS, 1
        self.addCleanup(setattr, program, "TIME_LIMIT_SECONDS", previous)
        self.assertRegex(program.check_prime_program("def is_prime(n):\n    while True:\n        pass"), "does not end")

    def test_a_program_that_eats_memory_is_stopped(self):
        self.assertRegex(
            program.check_prime_program("def is_prime(n):\n    return [0] * 10**10"), "MemoryError|does not end"
        )


if __name__ == "__main__":
    unittest.main()
