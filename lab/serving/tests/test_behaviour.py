"""Misbehaviour by the control file, and the sickness that lies in a release."""

import signal
import time
import unittest

from machine import HYBRID, INSTANT, SPECULATION, Machine, is_alive

PRIME = "Write a Python function is_prime(n)."


class BehaviourTest(unittest.TestCase):
    """A machine for every test."""

    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)
        self.machine.warm_caches()

    def start(self, *arguments, **options):
        """A healthy server."""
        return self.machine.start(*HYBRID, *arguments, **options).wait_until_healthy()

    def test_text_kinds_can_be_switched_while_it_runs(self):
        server = self.start()

        def ask(kind, question, **more):
            self.machine.behave({"text": kind})
            choice = server.chat(question, max_tokens=120, **more)["choices"][0]
            return choice["finish_reason"], choice["message"]["content"], choice["message"]["reasoning_content"]

        finish, content, reasoning = ask("loop-sentence", "What is 2+2?")
        self.assertEqual((finish, content), ("length", None))
        self.assertGreater(reasoning.count("The user is asking for the result of What is 2+2"), 3)
        finish, content, reasoning = ask("loop-word", PRIME)
        self.assertEqual((finish, content), ("length", None))
        self.assertGreater(reasoning.count("prime prime"), 10)
        finish, content, reasoning = ask("no-answer", "What is 2+2?")
        self.assertEqual((finish, content), ("length", None))
        sentences = reasoning.split(". ")
        self.assertEqual(len(set(sentences)), len(sentences))
        off = {"chat_template_kwargs": {"enable_thinking": False}}
        finish, content, _ = ask("random-words", "What is 2+2?", **off)
        self.assertEqual(finish, "length")
        self.assertNotIn("4", content)
        self.assertEqual(ask("newlines", "What is 2+2?"), ("length", None, None))
        self.assertEqual(set(ask("newlines", "What is 2+2?", **off)[1]), {"\n"})
        self.assertEqual(set(ask("nan", "What is 2+2?", **off)[1]), {"!"})
        self.assertEqual(ask("both-null", "What is 2+2?"), ("stop", None, None))
        finish, content, _ = ask("wrong", "What is 2+2?", **off)
        self.assertEqual(finish, "stop")
        self.assertNotIn("4", content)
        self.assertEqual(ask("good", "What is 2+2?", **off)[1], "2 + 2 = 4.")

    def test_health_and_server_info_can_lie(self):
        server = self.start()
        self.machine.behave({"health": 503, "serverInfo": {"attention_backend": "flashmla"}})
        self.assertEqual(server.request("GET", "/health"), (503, ""))
        self.assertEqual(server.get("/server_info")["attention_backend"], "flashmla")

    def test_a_condition_limits_it_to_servers_with_an_argument(self):
        self.machine.behave(
            [
                {"when": {"attention_backend": "flashinfer"}, "text": "both-null"},
                {"when": {"version": "0.5.9"}, "start": "crash"},
            ]
        )
        self.assertEqual(self.start("--attention-backend=triton").say("What is 2+2?"), "2 + 2 = 4.")
        self.assertIsNone(self.start("--attention-backend=flashinfer").say("What is 2+2?"))

    def test_a_crash_while_loading(self):
        self.machine.behave({"start": "crash"})
        status, output = self.machine.run(*HYBRID)
        self.assertEqual(status, -9)
        self.assertIn("CUDA error: an illegal memory access was encountered", output)

    def test_a_crash_after_a_while(self):
        self.machine.behave({"crashAfterSeconds": 1})
        server = self.machine.start(*HYBRID, scale=INSTANT).wait_until_healthy()
        self.assertEqual(server.wait(10), -9)

    def test_a_hang_while_starting(self):
        self.machine.behave({"start": "hang"})
        server = self.machine.start(*HYBRID, scale=INSTANT)
        server.wait_for("Init torch distributed begin.")
        time.sleep(0.5)
        self.assertIsNone(server.process.poll())
        with self.assertRaises(ConnectionRefusedError):
            server.request("GET", "/health")
        children = list(server.children().values())
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(5), -15)
        time.sleep(0.3)
        self.assertEqual([pid for pid in children if is_alive(pid)], [])

    def test_a_slow_load_takes_real_seconds_and_shows_progress(self):
        self.machine.behave({"loadSeconds": 2})
        begun = time.monotonic()
        server = self.machine.start(*HYBRID, scale=INSTANT)
        server.wait_for("Multi-thread loading shards:  50% Completed | 1/2")
        server.wait_until_healthy()
        self.assertGreater(time.monotonic() - begun, 2)

    def test_a_wrong_control_file_is_not_ignored(self):
        self.machine.behave({"text": "nonsense"})
        status, output = self.machine.run(*HYBRID)
        self.assertEqual(status, -9)
        self.assertIn("text is 'nonsense'; allowed: good, loop-sentence", output)

    def test_a_running_server_outlives_the_moment_in_which_its_control_file_is_written(self):
        server = self.start(scale=INSTANT)
        # As `pct push` and a shell's redirection do: first empty, then, a process start later, written.
        for written in ("", '{"text": "bo'):
            self.machine.behaviour_file.write_text(written, encoding="utf-8")
            time.sleep(0.5)
            self.machine.behave({"text": "both-null"})
            self.assertIsNone(server.say("What is 2+2?"))

    def test_a_control_file_that_stays_broken_ends_the_server_and_is_named(self):
        server = self.start(scale=INSTANT)
        self.machine.behaviour_file.write_text("not this", encoding="utf-8")
        self.assertEqual(server.wait(10), -9)
        self.assertIn(f"{self.machine.behaviour_file}: not JSON", server.output())

    def test_0_5_9_repeats_itself_with_a_hybrid_model(self):
        self.machine.warm_caches("0.5.9")
        for backend, text in (("flashinfer", "The user is asking"), ("triton", "lambda lambda")):
            server = self.machine.start(f"--attention-backend={backend}", *SPECULATION, version="0.5.9").wait_until_healthy()
            self.assertGreater(
                server.chat("What is 2+2?", max_tokens=150)["choices"][0]["message"]["reasoning_content"].count(text), 2
            )


if __name__ == "__main__":
    unittest.main()
