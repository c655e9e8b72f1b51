"""The command line of every release: what its own table takes and refuses, and the refusals by rule (exit 1 and 2)."""

import json
import subprocess
import sys
import unittest

from machine import HYBRID, SPECULATION, Machine, unpacked, wheel

# The lines that a stack renders, in the spelling of old and new releases.
OLD, NEW = "--mamba-scheduler-strategy=extra_buffer", "--mamba-radix-cache-strategy=extra_buffer"
PARSE = "import json, sys; from sglang import flags; print(json.dumps(vars(flags.parse(json.load(sys.stdin)))))"


class FlagsTest(unittest.TestCase):
    """The parser alone."""

    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()

    @classmethod
    def tearDownClass(cls):
        cls.machine.close()

    def parse(self, version, *arguments):
        """(exit status, parsed arguments or the error's last line)."""
        done = subprocess.run(
            [sys.executable, "-c", PARSE],
            input=json.dumps(["--model-path=/m", *arguments]),
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(unpacked(version))},
        )
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

    def test_every_release_takes_the_service_in_its_own_spelling(self):
        for version in wheel.releases():
            spelling = OLD if wheel.version_key(version) < [0, 5, 14] else NEW
            status, parsed = self.parse(
                version, *SPECULATION, spelling, "--tp-size=2", "--enable-metrics", "--kv-cache-dtype=bf16"
            )
            self.assertEqual(status, 0, f"{version}: {parsed}")
            self.assertEqual((parsed["tp_size"], parsed["enable_metrics"], parsed["port"]), (2, True, 30000))

    def test_a_renamed_flag_is_refused_from_0_5_20_and_an_alias_before(self):
        self.assertEqual(self.parse("0.5.14", OLD)[1]["mamba_radix_cache_strategy"], "extra_buffer")
        status, error = self.parse("0.5.20", OLD)
        self.assertEqual(status, 2)
        self.assertIn("error: unrecognized arguments: --mamba-scheduler-strategy=extra_buffer", error)

    def test_an_abbreviation_that_became_ambiguous_is_refused(self):
        self.assertEqual(self.parse("0.5.11", "--cuda-graph-max-bs=8")[1]["cuda_graph_max_bs"], 8)
        status, error = self.parse("0.5.20", "--cuda-graph-max-bs=8")
        self.assertEqual(status, 2)
        self.assertIn("ambiguous option: --cuda-graph-max-bs", error)

    def test_a_value_outside_the_choices_is_refused(self):
        self.assertEqual(self.parse("0.5.14", "--attention-backend=cutlass_mla")[0], 0)
        status, error = self.parse("0.5.20", "--attention-backend=cutlass_mla")
        self.assertEqual(status, 2)
        self.assertIn("invalid choice: 'cutlass_mla'", error)

    def test_the_speculative_algorithm_is_checked_by_the_parser_to_0_5_11_only(self):
        self.assertEqual(self.parse("0.5.11", "--speculative-algorithm=NEXTEN")[0], 2)
        self.assertEqual(self.parse("0.5.14", "--speculative-algorithm=NEXTEN")[0], 0)

    def test_lists_json_and_suffixed_numbers_are_read(self):
        status, parsed = self.parse(
            "0.5.11", "--cuda-graph-bs", "1", "2", "--context-length=32k", '--mm-process-config={"image": {}}'
        )
        self.assertEqual(status, 0)
        self.assertEqual((parsed["cuda_graph_bs"], parsed["context_length"]), ([1, 2], 32000))
        self.assertEqual(parsed["mm_process_config"], {"image": {}})

    def test_arguments_can_come_from_a_file(self):
        path = self.machine.folder / "arguments.yaml"
        path.write_text("# comment\ntp-size: 2\nenable-metrics: true\nport: 31000\n", encoding="utf-8")
        parsed = self.parse("0.5.11", "--config", str(path), "--port=31001")[1]
        self.assertEqual((parsed["tp_size"], parsed["enable_metrics"], parsed["port"]), (2, True, 31001))

    def test_a_missing_model_path_is_refused(self):
        done = subprocess.run(
            [sys.executable, "-c", "from sglang import flags; flags.parse([])"],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(unpacked("0.5.11"))},
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("the following arguments are required: --model-path/--model", done.stderr)


class ChecksTest(unittest.TestCase):
    """Whole starts that the release refuses before it loads: exit 1 and the text."""

    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.close)

    def refused(self, text, *arguments, version="0.5.11", status=1, environment=None):
        """Asserts that a start ends with this status and text."""
        found, output = self.machine.run(*arguments, version=version, environment=environment)
        self.assertEqual(found, status, output[-2000:])
        self.assertIn(text, output)

    def test_speculation_without_extra_buffer(self):
        text = (
            "Speculative decoding for Qwen3_5ForConditionalGeneration is not compatible with radix cache when using "
            "--mamba-scheduler-strategy no_buffer"
        )
        self.refused("ValueError: " + text, *SPECULATION)
        self.refused(text, *SPECULATION, "--mamba-scheduler-strategy=no_buffer")
        self.refused(text, *SPECULATION, *HYBRID, version="0.5.10")

    def test_extra_buffer_without_radix_cache(self):
        self.refused("mamba extra_buffer is not compatible with --disable-radix-cache", *HYBRID, "--disable-radix-cache")

    def test_explicit_no_buffer_from_0_5_14(self):
        arguments = ["--mamba-radix-cache-strategy=no_buffer"]
        self.refused("AssertionError: no_buffer do not support overlap schedule.", *arguments, version="0.5.14")
        self.refused("no_buffer only supports page_size=1.", *arguments, "--page-size=64", version="0.5.20")

    def test_lazy_extra_buffer_with_speculation(self):
        lazy = "--mamba-radix-cache-strategy=extra_buffer_lazy"
        self.refused("extra_buffer_lazy unsupported with spec.", *SPECULATION, lazy, version="0.5.14")

    def test_other_linear_attention_with_extra_buffer(self):
        arguments = ["--mamba-radix-cache-strategy=extra_buffer", "--linear-attn-backend=flashinfer"]
        self.refused(
            "extra_buffer is not supported for Qwen3_5ForConditionalGeneration; use no_buffer.", *arguments, version="0.5.23"
        )

    def test_trtllm_mha_by_release_and_card(self):
        arguments = [*HYBRID, "--attention-backend=trtllm_mha"]
        self.refused("TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100)", *arguments)
        newer = ["--mamba-radix-cache-strategy=extra_buffer", "--attention-backend=trtllm_mha"]
        self.refused("requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs", *newer, version="0.5.20")
        self.machine.set_cards(capability="12.0")
        self.refused("does not support fp8_e4m3 KV cache", *newer, "--kv-cache-dtype=fp8_e4m3", version="0.5.20")

    def test_a_misspelt_algorithm_after_the_parser_stopped_looking(self):
        self.refused("Unknown speculative algorithm: NEXTEN", "--speculative-algorithm=NEXTEN", version="0.5.14")

    def test_a_context_longer_than_the_models(self):
        text = "User-specified context_length (300000) is greater than the derived context_length (262144)"
        self.refused(text, *HYBRID, "--context-length=300000")

    def test_a_name_with_a_colon(self):
        self.refused("served_model_name cannot contain a colon", "--served-model-name=a:b")

    def test_a_model_directory_that_is_not_there_or_empty(self):
        self.refused(
            "Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/nowhere/x'", "--model-path=/nowhere/x"
        )
        empty = self.machine.folder / "empty"
        empty.mkdir()
        self.refused(f"Unrecognized model in {empty}.", f"--model-path={empty}")

    def test_no_card_or_no_uvm_node(self):
        (self.machine.folder / "dev" / "nvidia-uvm").unlink()
        self.refused("RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA, MPS) is available.", *HYBRID)
        self.refused("No accelerator", *HYBRID, environment={"CUDA_VISIBLE_DEVICES": ""})

    def test_the_parsers_refusal_ends_with_two(self):
        self.refused("unrecognized arguments: --no-such-flag", "--no-such-flag", status=2)


if __name__ == "__main__":
    unittest.main()
