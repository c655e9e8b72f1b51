"""Starts: phases, failures after child processes exist (-9), memory, and what the port's holder does to them."""

import http.server
import os
import re
import subprocess
import threading
import time
import unittest

from machine import FAST, HYBRID, INSTANT, SPECULATION, Machine


class StartTest(unittest.TestCase):
    """Every test has a machine of its own."""

    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)
        self.machine.warm_caches()

    def dies(self, text, *arguments, version="0.5.11"):
        """Asserts that a start ends by its own SIGKILL, the cause standing above the generic line."""
        status, output = self.machine.run(*arguments, version=version)
        self.assertEqual(status, -9, output[-2000:])
        self.assertIn(text, output)
        self.assertLess(output.index(text), output.index("Received sigquit from a child process"))

    def test_first_refused_then_503_and_200_then_healthy(self):
        server = self.machine.start(*HYBRID, scale=0.03)
        seen = []
        while not seen or seen[-1] != 200:
            try:
                state = server.request("GET", "/health")[0]
                if state == 503 and state not in seen:
                    self.assertEqual(server.request("GET", "/health"), (503, ""))
                    self.assertEqual(server.request("GET", "/model_info")[0], 200)
                    self.assertEqual(server.request("GET", "/v1/models")[0], 200)
            except ConnectionRefusedError:
                state = "refused"
            if not seen or seen[-1] != state:
                seen.append(state)
            time.sleep(0.01)
        self.assertEqual(seen, ["refused", 503, 200])
        self.assertIn("The server is fired up and ready to roll!", server.output())

    def test_newer_releases_serve_and_show_their_own_names(self):
        arguments = ["--mamba-radix-cache-strategy=extra_buffer", *SPECULATION]
        for version in ("0.5.14", "0.5.23"):
            self.machine.warm_caches(version)
            server = self.machine.start(*arguments, version=version).wait_until_healthy()
            info = server.get("/server_info")
            self.assertEqual((info["version"], info["mamba_radix_cache_strategy"]), (version, "extra_buffer"))
            self.assertNotIn("mamba_scheduler_strategy", info)
            self.assertEqual(server.request("GET", "/ready")[0], 200 if version == "0.5.23" else 404)
            self.assertEqual(server.say("What is 2+2?"), "2 + 2 = 4.")

    def test_without_a_loopback_interface_it_never_gets_further(self):
        if subprocess.run(["unshare", "--user", "--map-root-user", "--net", "true"], capture_output=True).returncode != 0:
            self.skipTest("this machine allows no network namespaces: unshare --user --net fails")
        server = self.machine.start(*HYBRID, scale=INSTANT, wrapper=["unshare", "--user", "--map-root-user", "--net"])
        server.wait_for("Network is unreachable")
        self.assertIsNone(server.process.poll())
        self.assertNotIn("Init torch distributed ends", server.output())

    def test_server_info_waits_while_the_server_warms_up(self):
        server = self.machine.start(*HYBRID, scale=0.03)
        server.wait_for("Uvicorn running")
        with self.assertRaises(TimeoutError):
            server.request("GET", "/server_info", timeout=0.2)

    def test_processes_have_the_real_names_and_hold_their_cards(self):
        server = self.machine.start("--tp-size=2", *HYBRID).wait_until_healthy()
        children = server.children()
        self.assertEqual(sorted(children), ["sglang::detoken", "sglang::schedul"])
        with open(f"/proc/{children['sglang::schedul']}/environ", "rb") as file:
            used = int(re.search(rb"LAB_GPU_MIB=(\d+)", file.read())[1])
        self.assertGreater(used, 30000)
        self.assertLess(used, 49000)
        held = [
            os.readlink(f"/proc/{children['sglang::schedul']}/fd/{fd}")
            for fd in os.listdir(f"/proc/{children['sglang::schedul']}/fd")
        ]
        self.assertEqual(len([path for path in held if "/dev/nvidia" in path]), 1)

    def test_more_ranks_than_cards(self):
        self.dies("CUDA error: invalid device ordinal", "--tp-size=4", *HYBRID)

    def test_heads_that_the_ranks_do_not_divide(self):
        self.machine.set_cards(cards=2)
        # Three ranks on two cards would fail for the cards first, so the model gets an odd number of heads instead.
        config = self.machine.model / "config.json"
        config.write_text(config.read_text().replace('"num_attention_heads": 8', '"num_attention_heads": 7'))
        self.dies("AssertionError", "--tp-size=2", *HYBRID)

    def test_missing_and_truncated_weights(self):
        shard = self.machine.model / "model-00001-of-00002.safetensors"
        data = shard.read_bytes()
        shard.write_bytes(data[:-100])
        self.dies("incomplete metadata, file not fully covered", *HYBRID)
        shard.write_bytes(data[:1000])
        self.dies("invalid header length", *HYBRID)
        for path in self.machine.model.glob("*.safetensors"):
            path.unlink()
        self.dies("Cannot find any model weights with", *HYBRID)

    def test_a_missing_shard_is_not_noticed_and_gives_word_salad(self):
        (self.machine.model / "model-00002-of-00002.safetensors").unlink()
        server = self.machine.start(*HYBRID).wait_until_healthy()
        choice = server.chat("What is 2+2?", max_tokens=50, chat_template_kwargs={"enable_thinking": False})["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")
        self.assertNotIn("2 + 2", choice["message"]["content"])

    def test_too_small_a_memory_fraction(self):
        self.dies("Not enough memory. Please try to increase --mem-fraction-static.", "--mem-fraction-static=0.00001", *HYBRID)

    def test_hybrid_attention_backends_on_blackwell(self):
        self.machine.set_cards(capability="12.0", total=97887, free=97000)
        text = "triton or trtllm_mha backend are the only supported backends on Blackwell GPUs for hybrid GDN models"
        self.dies(text, "--attention-backend=flashinfer", version="0.5.9")
        arguments = ["--mamba-radix-cache-strategy=extra_buffer", "--attention-backend=fa4"]
        self.dies(
            "backends are supported on Blackwell GPUs for hybrid GDN models. Got prefill=fa4, decode=fa4.",
            *arguments,
            version="0.5.18",
        )

    def test_all_reduce_fusion_on_the_wrong_card(self):
        self.dies(
            "FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.",
            "--enable-flashinfer-allreduce-fusion",
            "--mamba-radix-cache-strategy=extra_buffer",
            version="0.5.14",
        )

    def test_pools_are_silently_sized_to_what_is_free(self):
        arguments = ["--mem-fraction-static=0.8", *HYBRID, *SPECULATION]
        whole = self.machine.start(*arguments).wait_until_healthy().get("/server_info")["max_total_num_tokens"]
        self.machine.set_cards(free=24500)
        shared = self.machine.start(*arguments).wait_until_healthy().get("/server_info")["max_total_num_tokens"]
        self.assertAlmostEqual(shared / whole, 0.5, delta=0.05)

    def test_a_card_that_is_almost_full_opens_http_and_dies_in_the_warm_up(self):
        self.machine.set_cards(free=5000)
        server = self.machine.start("--mem-fraction-static=0.8", *HYBRID)
        self.assertEqual(server.wait(), -9)
        self.assertIn("Uvicorn running", server.output())
        self.assertIn("torch.OutOfMemoryError: CUDA out of memory.", server.output())
        self.assertNotIn("fired up", server.output())

    def test_a_port_held_by_another_server(self):
        first = self.machine.start(*HYBRID).wait_until_healthy()
        second = self.machine.start(*HYBRID, port=first.port)
        self.assertEqual(second.wait(), 3)
        output = second.output()
        # The warm-up talked to the other server and believed it.
        self.assertLess(output.index("The server is fired up and ready to roll!"), output.index("address already in use"))
        self.assertEqual(second.children(), {})
        self.assertEqual(first.say("What is 2+2?"), "2 + 2 = 4.")

    def test_a_port_held_by_something_else(self):
        other = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        other.RequestHandlerClass.log_message = lambda *_: None
        threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(other.server_close)
        self.addCleanup(other.shutdown)
        server = self.machine.start(*HYBRID, port=other.server_address[1])
        self.assertEqual(server.wait(), 3)
        self.assertNotIn("fired up", server.output())

    def test_cold_caches_cost_a_longer_start_and_the_first_sampled_request(self):
        cold, scale = Machine(), 2 * FAST
        self.addCleanup(cold.close)
        begun = time.monotonic()
        server = cold.start(*HYBRID, scale=scale).wait_until_healthy()
        self.assertGreater(time.monotonic() - begun, 130 * scale)
        begun = time.monotonic()
        asked = threading.Thread(target=server.say, args=("Say hello.",), kwargs={"temperature": 0.7})
        asked.start()
        time.sleep(0.1)
        self.assertEqual(server.request("GET", "/health"), (503, ""))
        asked.join()
        self.assertGreater(time.monotonic() - begun, 121 * scale)
        begun = time.monotonic()
        server.say("Say hello.", temperature=0.7)
        self.assertLess(time.monotonic() - begun, 100 * scale)


if __name__ == "__main__":
    unittest.main()
