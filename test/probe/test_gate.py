"""The health gate against a stand-in server: what passes, what fails, how soon, and with which words."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import support
from sglang_probe import unit
from support import free_port

GOOD = support.good_answer
CARD = {
    "thinking": {"temperature": 1.0, "top_p": 0.95, "top_k": 20},
    "coding": {"temperature": 0.6, "top_p": 0.95, "top_k": 20},
    "nonThinking": {"temperature": 0.7, "presence_penalty": 1.5},
}


class GateTestCase(support.ProbeTestCase):
    def gate(self, service, **spec):
        """(exit code, progress lines, report) of a gate that looks every 0.05 s."""
        path = self.spec(service, **spec)
        code, lines, err = self.run_verb("gate", "--spec", path, "--poll-seconds", "0.05")
        self.assertEqual(err, "")
        return code, lines[:-1], json.loads(lines[-1])

    def fails(self, stage, pattern, service, **spec):
        """The report of a gate that fails in this stage with a reason of this pattern."""
        code, _, report = self.gate(service, **spec)
        self.assertEqual((code, report["healthy"], report["stage"]), (1, False, stage), report)
        self.assertRegex("\n".join(report["reasons"]), pattern)
        return report


class Healthy(GateTestCase):
    def test_a_good_service_passes_with_all_questions_at_both_samplings(self):
        service = self.service()
        code, lines, report = self.gate(service, sampling=CARD)
        self.assertEqual((code, report["healthy"]), (0, True), report)
        self.assertEqual(len(report["answers"]), 8)
        self.assertEqual({answer["sampling"] for answer in report["answers"]}, {"temperature-0", "card"})
        self.assertGreater(report["tokensPerSecond"], 0)
        self.assertRegex(lines[-1], r"^\[\d+s\] healthy$")
        bodies = [request["body"] for request in service.requests]
        self.assertEqual([body.get("temperature") for body in bodies], [0] * 4 + [1.0, 0.6, 1.0, 1.0])
        self.assertEqual((bodies[4]["top_p"], bodies[4]["top_k"]), (0.95, 20))
        self.assertTrue(all("n" not in body and 0 < body["max_tokens"] < 32768 for body in bodies))

    def test_without_card_sampling_the_servers_own_defaults_are_used(self):
        service = self.service()
        self.gate(service)
        self.assertNotIn("temperature", service.requests[-1]["body"])

    def test_refused_and_503_while_loading_are_waited_out_and_the_phases_shown_once(self):
        service = self.service()
        service.health = [503, 503, 503, 200]
        self.set_journal(
            "[2026-11-29] Load weight begin. avail mem=139.13 GB",
            "Multi-thread loading shards:  42% Completed | 3/7",
            "Capturing batches (bs=8):  12%|#| 1/8 [00:07]\rCapturing batches (bs=2):  62%|##| 5/8 [00:08]",
        )
        code, lines, _ = self.gate(service)
        self.assertEqual(code, 0)
        text = "\n".join(lines)
        self.assertEqual(text.count("capturing CUDA graphs 60 %"), 1)
        self.assertEqual(text.count("503 (not yet)"), 1)
        self.assertIn("/health answers 200", text)

    def test_the_key_is_sent_and_never_printed(self):
        key = self.folder / "key"
        key.write_text("sk-very-secret\n")
        service = self.service()
        path = self.spec(service, apiKeyFile=str(key), expectedServerInfo={"api_key": "another"})
        _, lines, _ = self.run_verb("gate", "--spec", path)
        self.assertNotIn("sk-very-secret", "\n".join(lines))
        self.assertIn("api_key", lines[-1])
        _, _, report = self.gate(service, apiKeyFile=str(key))
        self.assertTrue(report["healthy"])
        self.assertEqual(service.requests[0]["authorization"], "Bearer sk-very-secret")


class Loading(GateTestCase):
    def test_a_failed_unit_ends_the_gate_at_once_with_the_decisive_line_and_its_rule(self):
        service = self.service()
        service.health = [503]
        self.set_unit(ActiveState="failed", SubState="failed", Result="exit-code", ExecMainStatus="2", ExecMainCode="1")
        self.set_journal(
            "usage: launch_server.py [-h]",
            "launch_server.py: error: unrecognized arguments: --mamba-scheduler-strategy auto",
        )
        started = time.monotonic()
        report = self.fails(
            "unit", r"failed .*exit 2: the argument parser.*unrecognized arguments.*R40", service, deadlineSeconds=60
        )
        self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(report["rules"][0]["rule"], "R40")

    def test_a_fatal_log_line_ends_the_gate_while_the_unit_is_still_activating(self):
        self.set_unit(ActiveState="activating", SubState="start")
        self.set_journal(
            "Scheduler hit an exception: Traceback (most recent call last):",
            "AssertionError: triton or trtllm_mha or fa4 backend are the only supported backends on Blackwell GPUs for hybrid GDN models, use --attention-backend triton",
            "Received sigquit from a child process. It usually means the child failed.",
        )
        self.fails("unit", r"only supported backends on Blackwell.*R1: ", free_port(), deadlineSeconds=60)

    def test_a_restart_ends_the_gate(self):
        service = self.service()
        service.health = [503]

        def restart():
            self.until_shown("InvocationID=aaaa")
            self.set_unit(NRestarts="1", InvocationID="bbbb")

        self.beside(restart)
        self.set_journal("RuntimeError: something new that no table knows", "Received sigquit from a child process.")
        self.fails("unit", "restarted itself.*RuntimeError: something new", service, deadlineSeconds=60)

    def test_a_unit_waiting_to_be_restarted_ends_the_gate(self):
        self.set_unit(ActiveState="activating", SubState="auto-restart", ExecMainCode="2", ExecMainStatus="9")
        self.fails("unit", "restarted itself.*killed by signal 9", free_port(), deadlineSeconds=60)

    def test_a_unit_that_does_not_exist_is_said_to_be_missing(self):
        self.set_unit(LoadState="not-found", ActiveState="inactive")
        self.fails("unit", "there is no such unit", free_port())

    def test_the_last_log_line_is_shown_without_colours(self):
        service = self.service()
        service.health = [503]
        self.set_journal("\x1b[2m10:31:02\x1b[0m \x1b[33m WARN\x1b[0m Step failed")
        self.fails("health", "last log line: 10:31:02  WARN Step failed", service, deadlineSeconds=0.5)

    def test_the_deadline_names_the_last_state_phase_and_log_line(self):
        service = self.service()
        service.health = [503]
        self.set_journal("Init torch distributed begin.")
        self.fails(
            "health", r"not healthy within 0\.5 s: .*503.*joining the GPUs.*Init torch", service, deadlineSeconds=0.5
        )

    def test_nothing_listening_ends_at_the_deadline_as_refused(self):
        self.fails("health", "connection refused", free_port(), deadlineSeconds=0.3)

    def test_a_server_that_is_no_sglang_is_refused(self):
        service = self.service()
        service.health = [404]
        self.fails("health", "answers 404", service)


class Phases(support.ProbeTestCase):
    def test_a_phase_is_told_when_it_changes_and_in_steps_of_ten_percent(self):
        watch = unit.UnitWatch("sglang-qwen.service")
        told = []
        lines = []
        for line in (
            "Load weight begin.",
            "shards: 12%|",
            "shards: 19%|",
            "shards: 20%|",
            "some other line",
            "Load weight end.",
        ):
            lines.append(line)
            self.set_journal(*lines)
            told.append(watch.check())
        self.assertEqual(
            told, ["loading weights", "loading weights 10 %", None, "loading weights 20 %", None, "weights loaded"]
        )


class Port(GateTestCase):
    def test_a_port_that_another_process_holds_is_no_proof_though_it_answers_well(self):
        sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.addCleanup(lambda: (sleeper.kill(), sleeper.wait()))
        self.set_unit(MainPID=str(sleeper.pid))
        self.set_journal("The server is fired up and ready to roll!")
        report = self.fails("port", rf"held by PID {os.getpid()} .*not by sglang-qwen.service", self.service())
        self.assertEqual(report["answers"], [])

    def test_a_child_of_the_main_process_may_hold_the_port(self):
        port = free_port()
        code = "import http.server,sys; http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind='127.0.0.1')"
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.addCleanup(lambda: (child.send_signal(signal.SIGKILL), child.wait()))
        self.fails("health", "answers 404", port)  # past the owner check: this test process is the main process


class Declared(GateTestCase):
    def test_every_difference_to_the_declared_values_is_listed(self):
        report = self.fails(
            "server_info",
            "attention_backend is 'triton', declared is 'flashinfer'",
            self.service(),
            version="0.5.12",
            expectedServerInfo={"attention_backend": "flashinfer", "tp_size": "2", "moe_runner_backend": "triton"},
        )
        self.assertEqual(
            [one["key"] for one in report["differences"]], ["attention_backend", "moe_runner_backend", "version"]
        )
        self.assertIn("not reported", report["reasons"][1])

    def test_a_pool_that_was_silently_sized_to_a_held_card_is_found(self):
        self.fails(
            "memory", "KV pool holds 100000 tokens, planned were 500000", self.service(), plannedMaxTotalTokens=500_000
        )
        self.assertEqual(self.gate(self.service(), plannedMaxTotalTokens=105_000)[0], 0)


class Semantic(GateTestCase):
    def degenerate(self, answer):
        return self.fails("semantic probe", ".", self.service(answer))

    def test_a_looped_sentence_fails_with_text_judgement_rules_and_the_missing_control_run(self):
        report = self.degenerate(lambda body: (None, support.LOOP, "length"))
        self.assertRegex(
            report["reasons"][0],
            r"arithmetic \(temperature-0\): sentence-loop: reasoning_content: .*; text: \"The user is asking",
        )
        self.assertEqual([rule["rule"] for rule in report["rules"]], ["R30", "R28", "R29"])
        self.assertIn("restart", report["controlRun"])

    def test_fp4_models_get_the_fp4_rules_in_order(self):
        service = self.service(lambda body: ("prime " * 60, None, "length"))
        service.info["quantization"] = "modelopt_fp4"
        report = self.fails("semantic probe", "word-loop", service)
        self.assertEqual([rule["rule"] for rule in report["rules"]], ["R30", "R21", "R25", "R28", "R29"])

    def test_each_way_of_failing_fails(self):
        for name, answer, pattern in (
            ("one word", lambda body: ("lambda " * 200, None, "length"), "word-loop"),
            ("both null, stop", lambda body: (None, None, "stop"), "no-answer"),
            ("both null, length", lambda body: (None, None, "length"), "no-answer"),
            ("line breaks", lambda body: ("\n" * 400, None, "length"), "endless-newlines"),
            (
                "fluent and wrong",
                lambda body: ("The sea was calm in the morning.", "A thought.", "stop"),
                "wrong-answer",
            ),
        ):
            with self.subTest(name):
                report = self.degenerate(answer)
                self.assertRegex("\n".join(report["reasons"]), pattern)
                self.assertTrue(report["rules"])

    def test_a_round_ends_with_the_first_answer_that_ran_to_its_limit(self):
        service = self.service(lambda body: (support.LOOP, None, "length"))
        report = self.fails("semantic probe", "sentence-loop", service)
        self.assertEqual([answer["sampling"] for answer in report["answers"]], ["temperature-0", "card"])
        self.assertEqual(len(service.requests), 2)

    def test_an_endless_coherent_answer_to_a_short_question_is_runaway(self):
        talk = " ".join(f"Here I look at case {n} of the many that there are." for n in range(60))
        report = self.degenerate(lambda body: (talk, None, "length"))
        self.assertRegex(report["reasons"][0], "runaway-length: 720 words where a direct answer has at most 150")

    def test_degeneration_only_when_sampled_fails(self):
        def answer(body):
            return GOOD(body) if body.get("temperature") == 0 else (None, support.LOOP, "length")

        report = self.degenerate(answer)
        self.assertEqual(
            {bool(one["healthy"]) for one in report["answers"] if one["sampling"] == "temperature-0"}, {True}
        )

    def test_a_cut_answer_is_asked_for_again_with_more_room(self):
        def answer(body):
            content, reasoning, _ = GOOD(body)
            return (
                (content[:1] or "4", reasoning, "length") if body["max_tokens"] <= 512 else (content, reasoning, "stop")
            )

        service = self.service(answer)
        self.assertEqual(self.gate(service)[0], 0)
        self.assertEqual([request["body"]["max_tokens"] for request in service.requests[:2]], [512, 2048])

    def test_a_coherent_answer_that_stays_cut_is_a_limit_too_small_and_no_rule_is_blamed(self):
        report = self.degenerate(lambda body: ("The sum of these two numbers", None, "length"))
        self.assertTrue(report["limitTooSmall"])
        self.assertNotIn("rules", report)
        self.assertIn("limit too small", report["reasons"][0])

    def test_endless_coherent_reasoning_without_an_answer_is_degenerate(self):
        thoughts = " ".join(f"Perhaps I should look at case {n} before I answer." for n in range(40))
        report = self.degenerate(lambda body: (None, thoughts, "length"))
        self.assertRegex(report["reasons"][0], "no-answer: content is empty, 2048 tokens of reasoning led to no answer")
        self.assertNotIn("limitTooSmall", report)
        self.assertEqual(report["rules"][0]["rule"], "R30")

    def test_a_small_context_is_never_exceeded(self):
        service = self.service()
        service.info["context_length"] = 1024
        self.assertEqual(self.gate(service)[0], 0)
        self.assertTrue(all(request["body"]["max_tokens"] < 1024 for request in service.requests))

    def test_no_question_at_all_is_a_failure(self):
        self.fails("semantic probe", "proves nothing", self.service(), prompts=[])

    def test_own_questions_replace_the_built_in_ones(self):
        question = {
            "id": "capital",
            "prompt": "What is the capital of France?",
            "expect": {"kind": "contains", "value": "Paris"},
        }
        service = self.service(lambda body: ("The capital of France is Paris.", "A thought.", "stop"))
        code, _, report = self.gate(service, prompts=[question])
        self.assertEqual((code, len(report["answers"])), (0, 2))

    def test_a_server_that_dies_while_it_answers_is_reported_by_its_own_last_words(self):
        def answer(body):
            self.set_unit(
                ActiveState="failed", SubState="failed", Result="signal", ExecMainCode="2", ExecMainStatus="9"
            )
            self.set_journal("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
            return None

        self.fails("unit", "killed by signal 9.*CUDA out of memory", self.service(answer))

    def test_a_server_that_dies_after_its_last_answer_is_reported_by_its_own_last_words(self):
        def die():
            self.set_journal("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
            self.set_unit(
                ActiveState="failed", SubState="failed", Result="signal", ExecMainCode="2", ExecMainStatus="9"
            )

        def answer(body):
            if len(service.requests) == 8:
                # It listens no more; systemd is told a moment later.
                service.server.socket.shutdown(socket.SHUT_RDWR)
                threading.Timer(0.1, die).start()
            return GOOD(body)

        service = self.service(answer)
        self.fails("unit", "killed by signal 9.*CUDA out of memory", service)

    def test_log_lines_about_nan_are_shown(self):
        self.set_journal("[2026-11-29] WARNING: nan detected in logits")
        report = self.degenerate(lambda body: ("!" * 300, None, "length"))
        self.assertEqual(report["nanLines"], ["[2026-11-29] WARNING: nan detected in logits"])


class Specification(GateTestCase):
    def test_every_problem_of_a_specification_is_in_one_error(self):
        path = self.spec(
            1,
            url="localhost",
            deadlineSeconds=-1,
            nonsense=1,
            servedModelName=None,
            prompts=[{"id": "x", "prompt": "y"}],
            sampling={"thinking": {"topK": 1}},
        )
        code, lines, err = self.run_verb("gate", "--spec", path)
        self.assertEqual((code, lines), (3, []))
        for words in (
            "url: must be like",
            "deadlineSeconds: must be",
            "nonsense: unknown key",
            "servedModelName: missing",
            "expect.kind",
            "sampling.thinking.topK",
        ):
            self.assertIn(words, err)

    def test_a_missing_specification_is_a_wrong_use(self):
        code, _, err = self.run_verb("gate", "--spec", "/nowhere/spec.json")
        self.assertEqual(code, 3)
        self.assertIn("/nowhere/spec.json: cannot be read", err)


if __name__ == "__main__":
    unittest.main()
