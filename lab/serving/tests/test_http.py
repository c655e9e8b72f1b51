"""Endpoints and answers of a running server, beside the recorded ones of a real 0.5.11."""

import json
import os
import re
import threading
import time
import unittest
from pathlib import Path

from machine import HYBRID, SPECULATION, Machine

NO_THINKING = {"enable_thinking": False}


class HttpTest(unittest.TestCase):
    """One healthy server for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()
        cls.machine.warm_caches()
        cls.server = cls.machine.start("--tp-size=2", "--enable-metrics", "--mem-fraction-static=0.8", *SPECULATION, *HYBRID)
        cls.server.wait_until_healthy()

    @classmethod
    def tearDownClass(cls):
        cls.machine.close()

    def post(self, path, body, **more):
        """(status, JSON) of a POST."""
        status, text = self.server.request("POST", path, body, **more)
        return status, json.loads(text)

    def test_server_info_shows_resolved_arguments(self):
        info = self.server.get("/server_info")
        expected = {
            "version": "0.5.11",
            "speculative_algorithm": "EAGLE",
            "max_running_requests": 48,
            "attention_backend": "flashinfer",
            "mamba_scheduler_strategy": "extra_buffer",
            "tp_size": 2,
            "mem_fraction_static": 0.8,
            "status": "ready",
            "device": "cuda",
            "enable_metrics": True,
            "context_length": None,
            "served_model_name": "tiny",
            "kv_cache_dtype": "auto",
        }
        self.assertEqual({key: info[key] for key in expected}, expected)
        self.assertEqual(info["internal_states"][0]["context_length"], 262144)
        self.assertEqual(info["internal_states"][0]["prefill_attention_backend"], "flashinfer")
        self.assertEqual(info["internal_states"][0]["memory_usage"]["token_capacity"], info["max_total_num_tokens"])
        self.assertGreater(info["max_total_num_tokens"], 1_000_000)

    def test_model_endpoints(self):
        self.assertEqual(self.server.get("/model_info")["architectures"], ["Qwen3_5ForConditionalGeneration"])
        card = self.server.get("/v1/models")["data"][0]
        self.assertEqual((card["id"], card["max_model_len"]), ("tiny", 262144))
        self.assertEqual(self.server.get("/v1/models/tiny")["id"], "tiny")
        status, text = self.server.request("GET", "/v1/models/nope")
        self.assertEqual(status, 404)
        error = {
            "message": "The model 'nope' does not exist",
            "type": "invalid_request_error",
            "param": "model",
            "code": "model_not_found",
        }
        self.assertEqual(json.loads(text), {"error": error})

    def test_the_old_names_answer_and_are_reported(self):
        self.assertEqual(self.server.get("/get_server_info")["version"], "0.5.11")
        self.assertIn("Endpoint '/get_server_info' is deprecated", self.server.output())

    def test_a_wrong_method_is_405_and_a_wrong_path_404(self):
        self.assertEqual(self.server.request("POST", "/health", {}), (405, '{"detail":"Method Not Allowed"}'))
        self.assertEqual(self.server.request("GET", "/nothing"), (404, '{"detail":"Not Found"}'))

    def test_health_is_200_with_an_empty_body(self):
        for path in ("/health", "/health_generate"):
            self.assertEqual(self.server.request("GET", path), (200, ""))

    def test_thinking_comes_apart_from_the_answer(self):
        answer = self.server.chat("What is 17 times 23?")
        message = answer["choices"][0]["message"]
        self.assertIn("391", message["content"])
        self.assertIn("17 × 23", message["reasoning_content"])
        self.assertNotIn("think>", message["content"] + message["reasoning_content"])
        self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        usage = answer["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        self.assertGreater(usage["completion_tokens"], usage["reasoning_tokens"])
        self.assertGreater(usage["reasoning_tokens"], 0)

    def test_without_thinking_reasoning_is_null(self):
        message = self.server.chat("What is 2+2?", chat_template_kwargs=NO_THINKING)["choices"][0]["message"]
        self.assertEqual((message["content"], message["reasoning_content"]), ("2 + 2 = 4.", None))

    def test_reasoning_that_is_not_separated_keeps_its_end_mark(self):
        message = self.server.chat("What is 2+2?", separate_reasoning=False)["choices"][0]["message"]
        self.assertRegex(message["content"], r"gives 4.*\n</think>\n\n2 \+ 2 = 4\.$")
        self.assertIsNone(message["reasoning_content"])

    def test_cut_while_thinking_gives_null_content_and_length(self):
        choice = self.server.chat("What is 2+2?", max_tokens=3)["choices"][0]
        self.assertEqual((choice["finish_reason"], choice["message"]["content"]), ("length", None))
        self.assertTrue(choice["message"]["reasoning_content"])

    def test_max_tokens_zero_is_200_with_null_content(self):
        answer = self.server.chat("What is 2+2?", max_tokens=0, chat_template_kwargs=NO_THINKING)
        self.assertIsNone(answer["choices"][0]["message"]["content"])
        self.assertEqual(answer["usage"]["completion_tokens"], 0)

    def test_an_unknown_model_name_is_accepted_and_echoed(self):
        self.assertEqual(self.server.chat("Say hello.", model="other")["model"], "other")

    def test_ignore_eos_runs_to_the_limit(self):
        answer = self.server.chat("What is 2+2?", max_tokens=60, ignore_eos=True, chat_template_kwargs=NO_THINKING)
        self.assertEqual(answer["usage"]["completion_tokens"], 60)
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def stream(self, **more):
        """The data lines of a streamed chat."""
        body = {
            "model": "tiny",
            "messages": [{"role": "user", "content": "What is 2+2?"}],
            "temperature": 0,
            "stream": True,
        } | more
        _, text = self.server.request("POST", "/v1/chat/completions", body)
        lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        self.assertEqual(lines[-1], "[DONE]")
        return [json.loads(line) for line in lines[:-1]]

    def test_a_stream_has_role_deltas_finish_and_usage(self):
        chunks = self.stream(stream_options={"include_usage": True})
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"reasoning_content": None, "role": "assistant", "content": ""})
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks[1:-2]]
        content = "".join(delta.get("content") or "" for delta in deltas)
        reasoning = "".join(delta["reasoning_content"] or "" for delta in deltas)
        self.assertEqual(content, "2 + 2 = 4.")
        self.assertIn("gives 4", reasoning)
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "stop")
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertGreater(chunks[-1]["usage"]["completion_tokens"], 0)

    def test_without_the_option_a_stream_has_no_usage_chunk(self):
        self.assertEqual(self.stream(chat_template_kwargs=NO_THINKING)[-1]["choices"][0]["finish_reason"], "stop")

    def test_generate_continues_a_prompt(self):
        status, body = self.post("/generate", {"text": "The capital of France is", "sampling_params": {"temperature": 0}})
        self.assertEqual((status, body["text"]), (200, " Paris."))
        self.assertEqual(body["meta_info"]["finish_reason"]["type"], "stop")
        self.assertEqual(len(body["output_ids"]), body["meta_info"]["completion_tokens"])

    def test_completions_continue_a_prompt_and_stop_at_the_limit(self):
        body = {"model": "tiny", "prompt": "The capital of France is", "temperature": 0, "max_tokens": 1}
        _, answer = self.post("/v1/completions", body)
        self.assertEqual((answer["choices"][0]["text"], answer["choices"][0]["finish_reason"]), (" Paris", "length"))

    def test_errors_have_the_recorded_shapes(self):
        messages = [{"role": "user", "content": "x"}]
        chat = "/v1/chat/completions"
        cases = [
            ({"messages": messages, "max_tokens": -1}, "max_new_tokens must be at least 0, got -1.", "BadRequestError"),
            ({"messages": messages, "temperature": -1}, "temperature must be non-negative, got -1.0.", "BadRequestError"),
            ({"messages": []}, "Messages cannot be empty.", "BadRequestError"),
            (
                {"messages": messages, "max_tokens": 10**6},
                "Requested token count exceeds the model's maximum context length of 262144",
                "BadRequestError",
            ),
            ({"model": "tiny"}, "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'messages')", "Bad Request"),
            ("{not json", "1 validation error:\n  {'type': 'json_invalid', 'loc': ('body', 1)", "Bad Request"),
        ]
        for body, message, kind in cases:
            status, error = self.post(chat, body)
            self.assertEqual((status, error["object"], error["type"], error["code"]), (400, "error", kind, 400))
            self.assertTrue(error["message"].startswith(message), error["message"])
        status, error = self.post("/generate", {"sampling_params": {}})
        self.assertEqual(
            (status, error), (400, {"error": {"message": "Either text, input_ids or input_embeds should be provided."}})
        )
        status, error = self.post(chat, "{}", headers={"Content-Type": "text/plain"})
        self.assertIn("Only 'application/json' is allowed", error["message"])

    def test_metrics_have_the_real_names_and_count(self):
        self.server.chat("Say hello.")
        _, text = self.server.request("GET", "/metrics")
        names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
        wanted = (
            "prompt_tokens_total",
            "generation_tokens_total",
            "num_requests_total",
            "time_to_first_token_seconds",
            "e2e_request_latency_seconds",
            "max_total_num_tokens",
            "num_running_reqs",
            "spec_accept_length",
            "token_usage",
            "http_responses_total",
        )
        self.assertEqual([name for name in wanted if f"sglang:{name}" not in names], [])
        counted = float(
            re.search(r'^sglang:num_requests_total\{engine_type="unified",model_name="tiny"\} (\S+)', text, re.MULTILINE)[1]
        )
        self.assertGreaterEqual(counted, 1)

    def test_a_client_that_goes_away_ends_its_request(self):
        body = {"messages": [{"role": "user", "content": "Say hello."}], "temperature": 0, "ignore_eos": True}
        with self.assertRaises(TimeoutError):
            self.server.request("POST", "/v1/chat/completions", body, timeout=0.3)
        deadline = time.monotonic() + 5
        while "sglang:num_running_reqs" not in self.metrics_with_value("sglang:num_running_reqs", 0):
            self.assertLess(time.monotonic(), deadline, "the request still runs")
            time.sleep(0.05)

    def metrics_with_value(self, name, value):
        """The lines of a metric that have this value."""
        _, text = self.server.request("GET", "/metrics")
        return "\n".join(line for line in text.splitlines() if line.startswith(name) and float(line.split()[-1]) == value)

    def test_several_requests_run_side_by_side(self):
        begun, answers = time.monotonic(), []
        threads = [
            threading.Thread(target=lambda: answers.append(self.server.say("Explain tides in detail."))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 6)
        alone = time.monotonic()
        self.server.say("Explain tides in detail.")
        self.assertLess(alone - begun, 5 * (time.monotonic() - alone))


class KeyTest(unittest.TestCase):
    """A server with an API key and without metrics."""

    def test_the_key_guards_all_but_health(self):
        machine = Machine()
        self.addCleanup(machine.close)
        machine.warm_caches()
        server = machine.start("--api-key=s3cret", *HYBRID).wait_until_healthy()
        self.assertEqual(server.request("GET", "/v1/models"), (401, '{"error":"Unauthorized"}'))
        self.assertEqual(server.request("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})[0], 401)
        self.assertEqual(server.request("GET", "/v1/models", headers={"Authorization": "Bearer s3cret"})[0], 200)
        self.assertEqual(server.request("GET", "/metrics", headers={"Authorization": "Bearer s3cret"})[0], 404)
        # The real server tells it to whoever may ask, and to its log.
        info = server.request("GET", "/server_info", headers={"Authorization": "Bearer s3cret"})[1]
        self.assertEqual(json.loads(info)["api_key"], "s3cret")
        self.assertIn("api_key='s3cret'", server.output())
        for pid in server.children().values():
            told = [Path(f"/proc/{pid}/environ"), Path(f"/proc/{pid}/cmdline")]
            told += [fd for fd in Path(f"/proc/{pid}/fd").iterdir() if "memfd" in os.readlink(fd)]
            self.assertEqual(len(told), 3)
            for path in told:
                self.assertNotIn(b"s3cret", path.read_bytes())


if __name__ == "__main__":
    unittest.main()
