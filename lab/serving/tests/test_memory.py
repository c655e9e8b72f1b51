"""Sizes of the pools beside those that a real 0.5.11 server logged on a card with 139.13 GB free."""

import sys
import unittest

from machine import unpacked

sys.path.append(str(unpacked("0.5.11")))
from sglang import memory  # noqa: E402
from sglang.checkpoint import Model  # noqa: E402
from sglang.devices import Gpu  # noqa: E402

TEXT = {
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "mamba_ssm_dtype": "float32",
}
WEIGHTS = 30 * 1024 * 1024


def arguments(**changes):
    """The arguments of the recorded server that its pools depend on."""
    recorded = {
        "tp_size": 1,
        "mem_fraction_static": 0.2,
        "speculative_algorithm": "EAGLE",
        "speculative_num_draft_tokens": 4,
        "max_running_requests": 48,
        "mamba_full_memory_ratio": 0.9,
        "mamba_ssm_dtype": None,
        "kv_cache_dtype": "auto",
        "page_size": 1,
    }
    return recorded | changes


def card(free_gigabytes):
    """A card with so much free memory, what the CUDA context takes included."""
    free = int(free_gigabytes * 1024) + memory.CONTEXT
    return Gpu("GPU-0", "/dev/nvidia0", 144000, free, (9, 0), "data-centre card")


class MemoryTest(unittest.TestCase):
    """memory.plan."""

    def setUp(self):
        self.model = Model("/m", "Qwen3_5ForConditionalGeneration", "qwen3_5", TEXT, {}, {})

    def plan(self, free=139.13, **changes):
        """The plan of the recorded server with changes."""
        return memory.plan(arguments(**changes), self.model, card(free), WEIGHTS)

    def test_pools_are_within_one_percent_of_the_recorded_ones(self):
        plan = self.plan()
        self.assertAlmostEqual(plan.tokens / 7609568, 1, delta=0.01)
        self.assertAlmostEqual(plan.states / 17425, 1, delta=0.01)
        self.assertAlmostEqual(plan.left / 1024, 96.07, delta=1)

    def test_fp8_doubles_the_tokens_and_tensor_parallelism_halves_the_heads(self):
        tokens = self.plan().tokens
        self.assertAlmostEqual(self.plan(kv_cache_dtype="fp8_e4m3").tokens / tokens, 2, delta=0.01)
        self.assertAlmostEqual(self.plan(tp_size=2).tokens / tokens, 2, delta=0.01)

    def test_bfloat16_state_takes_half_the_place(self):
        self.assertGreater(self.plan(mamba_ssm_dtype="bfloat16").states, 1.9 * self.plan().states)

    def test_pages_are_whole(self):
        self.assertEqual(self.plan(page_size=64).tokens % 64, 0)

    def test_a_draft_pool_that_does_not_fit_is_out_of_memory(self):
        with self.assertRaisesRegex(memory.OutOfMemoryError, "CUDA out of memory"):
            self.plan(mem_fraction_static=0.9)

    def test_weights_that_do_not_fit_are_out_of_memory(self):
        with self.assertRaisesRegex(memory.OutOfMemoryError, "Tried to allocate 0.03 GiB"):
            self.plan(free=0.01)

    def test_no_room_for_pools_is_said_so(self):
        with self.assertRaisesRegex(RuntimeError, "Not enough memory. Please try to increase --mem-fraction-static."):
            self.plan(free=0.05)


if __name__ == "__main__":
    unittest.main()
