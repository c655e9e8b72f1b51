"""Log lines and rules: the real texts, the cause above the generic end, the compatibility of the package itself."""

import ast
import unittest

import support
from sglang_probe import fatal_lines, server_info
from sglang_probe.explanations import explain

# What releases 0.5.9 to 0.5.23 and a real 0.5.11 server print.
LINES = (
    ("Only {'triton', 'fa4'} backends are supported on Blackwell GPUs for hybrid GDN models. Got prefill=x", "R1"),
    ("ValueError: TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100).", "R2"),
    (
        "ValueError: Speculative decoding for Qwen3_5ForConditionalGeneration is not compatible with radix cache when using --mamba-scheduler-strategy no_buffer",
        "R7",
    ),
    ("ValueError: mamba extra_buffer is not compatible with --disable-radix-cache", "R8"),
    ("AssertionError: no_buffer do not support overlap schedule.", "R10"),
    ("ValueError: FlashInfer allreduce fusion requires SM90 or SM10X NVIDIA GPUs.", "R19"),
    ("ValueError: Current platform does not support NVFP4 quantization. Please use Blackwell and above", "R24"),
    ("launch_server.py: error: unrecognized arguments: --x", "R40"),
    ("launch_server.py: error: argument --attention-backend: invalid choice: 'cutlass_mla'", "R41"),
    ("NotImplementedError: Unsupported moe_runner_backend for NVFP4 MoE: FLASHINFER_TRTLLM", "R43"),
    ("AssertionError: extra_buffer is not supported for X; use no_buffer.", "R49"),
    ("huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name'", None),
    ("RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available.", None),
    ("ERROR: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use", None),
    (
        "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
        None,
    ),
    ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", None),
)


class FatalLines(unittest.TestCase):
    def test_each_known_line_is_matched_with_its_rule(self):
        for line, rule in LINES:
            with self.subTest(line):
                found = fatal_lines.match(line)
                self.assertIsNotNone(found)
                self.assertEqual(found["rule"], rule)

    def test_a_line_that_an_optional_module_may_print_explains_a_failure_but_ends_no_start(self):
        line = "ImportError: common_ops.abi3.so: undefined symbol: _ZN3c10"
        self.assertIsNone(fatal_lines.match(line))
        self.assertEqual(fatal_lines.decisive([line, "Received sigquit from a child process."])["rule"], "R36")

    def test_lines_of_a_good_start_are_not_fatal(self):
        for line in (
            "Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
            "Max running requests is reset to 48 for speculative decoding.",
            "Using KV cache dtype: torch.bfloat16",
            "The server is fired up and ready to roll!",
            "UserWarning: tl.where with a non-boolean condition is deprecated and will error out in a future triton release.",
            "Memory pool end. avail mem=96.20 GB",
        ):
            self.assertIsNone(fatal_lines.match(line), line)
            self.assertFalse(fatal_lines.is_nan_report(line), line)

    def test_the_cause_stands_above_the_generic_end(self):
        lines = [
            "Traceback (most recent call last):",
            "KeyError: 'model.layers.0'",
            "Received sigquit from a child process.",
            "ValueError: after",
        ]
        self.assertEqual(fatal_lines.decisive(lines)["line"], "KeyError: 'model.layers.0'")
        self.assertEqual(fatal_lines.decisive(["something", "last words"])["line"], "last words")
        self.assertIsNone(fatal_lines.decisive([]))


class Explanations(unittest.TestCase):
    def test_r30_comes_first_for_qwen_and_says_whether_the_version_is_affected(self):
        rules = explain({"version": "0.5.9", "kv_cache_dtype": "bf16"}, "qwen3_5")
        self.assertEqual([rule["rule"] for rule in rules], ["R30"])
        self.assertIn("affected", rules[0]["text"])
        self.assertIn("should hold the fixes", explain({"version": "0.5.11"}, "qwen3_5")[0]["text"])

    def test_other_models_are_not_blamed_on_r30(self):
        self.assertEqual([rule["rule"] for rule in explain({"kv_cache_dtype": "fp8_e4m3"}, "kimi_k25")], ["R29"])


class ServerInfo(unittest.TestCase):
    def test_values_are_compared_by_meaning(self):
        info = {
            "speculative_algorithm": "EAGLE",
            "tp_size": 2,
            "mem_fraction_static": 0.8,
            "kv_cache_dtype": "bfloat16",
            "quantization": None,
        }
        expected = {
            "speculative_algorithm": "NEXTN",
            "tp_size": "2",
            "mem_fraction_static": 0.80,
            "kv_cache_dtype": "bf16",
            "quantization": None,
        }
        self.assertEqual(server_info.differences(info, expected), [])
        self.assertEqual(
            server_info.differences({"enable_metrics": False}, {"enable_metrics": True})[0]["key"], "enable_metrics"
        )

    def test_secrets_are_not_shown(self):
        self.assertNotIn("sk-", str(server_info.differences({"api_key": "sk-1"}, {"api_key": "sk-2"})))


class Package(unittest.TestCase):
    def test_every_module_parses_as_python_3_10(self):
        modules = sorted((support.PACKAGE_ROOT / "sglang_probe").glob("*.py"))
        self.assertGreater(len(modules), 10)
        for module in modules:
            ast.parse(module.read_text(encoding="utf-8"), str(module), feature_version=(3, 10))


if __name__ == "__main__":
    unittest.main()
