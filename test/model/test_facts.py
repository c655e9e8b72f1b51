"""config.json against the facts of the plan, and the lines of progress."""

import json
import unittest

from support import NEW, OLD, REPOSITORIES, TINY, HubCase

from model_snapshot import progress
from model_snapshot.facts import config_problems

FACTS = {
    "source": "the catalog's lab-qwen3.6-tiny",
    "config": {
        "architectures": "Qwen3_5ForConditionalGeneration",
        "num_hidden_layers": 16,
        "linear_attention layers": 12,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 32,
        "max_position_embeddings": 262144,
        "quantization": None,
    },
}


class FactsTest(HubCase):
    """What the stack was planned for is what is fetched."""

    def other(self, **fields):
        return {**FACTS, "config": {**FACTS["config"], **fields}}

    def test_the_planned_model_passes(self):
        self.fetch(self.spec(facts=FACTS))
        self.assertEqual(self.check(self.spec(facts=FACTS)), [])

    def test_another_model_is_refused_before_its_weights_come(self):
        self.fetch(self.spec(OLD))
        self.sent()
        spec = {
            **self.spec(NEW),
            "path": str(self.path) + "-b",
            "facts": self.other(num_key_value_heads=8, quantization="modelopt_fp4"),
        }
        error = self.refused(spec)
        self.assertEqual(
            str(error),
            "config.json: num_key_value_heads is 4, the catalog's lab-qwen3.6-tiny says 8; "
            'config.json: quantization is null, the catalog\'s lab-qwen3.6-tiny says "modelopt_fp4"',
        )
        self.assertEqual(self.sent(), dict(REPOSITORIES[TINY].commits)[NEW].files["config.json"].size)
        self.assert_complete(OLD)

    def test_facts_that_change_later_are_told_by_check(self):
        self.fetch()
        self.assertRegex(self.check(self.spec(facts=self.other(head_dim=64)))[0], "head_dim is 32, .* says 64")

    def test_what_config_json_leaves_out_is_derived(self):
        (self.folder / "config.json").write_text(
            json.dumps({"architectures": ["A"], "num_attention_heads": 4, "hidden_size": 64, "num_hidden_layers": 2})
        )
        facts = {"source": "s", "config": {"head_dim": 16, "num_key_value_heads": 4, "linear_attention layers": 0}}
        self.assertEqual(config_problems(self.folder, facts), [])


class ProgressTest(unittest.TestCase):
    """Lines for a person."""

    def test_a_line_has_bytes_share_rate_and_time_left(self):
        shown = progress.Progress("a/b", 10_000_000_000, 1_000_000_000)
        shown.samples[0] = (shown.samples[0][0] - 10, 1_000_000_000)
        shown.add(1_000_000_000)
        self.assertRegex(shown.line(), r"^a/b: 2.0 GB of 10.0 GB \(20 %\), (99|100)\.\d MB/s, 80 s left$")

    def test_nothing_that_comes_is_called_stalled(self):
        shown = progress.Progress("a/b", 1000)
        self.assertEqual(shown.line(), "a/b: 0 bytes of 1.0 kB (0 %), 0 bytes/s, stalled")


if __name__ == "__main__":
    unittest.main()
