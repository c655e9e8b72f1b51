"""The repeated probe: states, metric, state file, bounded restarts."""

import json
import unittest

import support
from sglang_probe import probe


class Probe(support.ProbeTestCase):
    def probe(self, service, *options, **spec):
        """(exit code, report) of one probe."""
        code, lines, err = self.run_verb("probe", "--spec", self.spec(service, **spec), *options)
        self.assertEqual(err, "")
        return code, json.loads(lines[-1])

    def asked_of_systemd(self):
        log = self.folder / "systemctl.log"
        return log.read_text().splitlines() if log.exists() else []

    def test_a_healthy_service_gives_metric_1_and_a_state_file(self):
        metrics = self.folder / "metrics" / "qwen.prom"
        code, report = self.probe(self.service(), "--metrics-file", str(metrics), environmentDigest="ab12")
        self.assertEqual((code, report["state"], report["healthy"]), (0, "healthy", True))
        text = metrics.read_text()
        self.assertIn('sglang_probe_healthy{service="qwen",environment="ab12"} 1\n', text)
        for name in ("sglang_probe_duration_seconds", "sglang_probe_timestamp_seconds"):
            self.assertRegex(text, rf'(?m)^{name}{{service="qwen",environment="ab12"}} \d')
        self.assertIn('sglang_probe_state{service="qwen",environment="ab12",state="healthy"} 1\n', text)
        self.assertEqual(text.count("\nsglang_probe_state{"), 7)
        self.assertRegex(
            text, r'(?m)^proxmox_gpu_stack_environment_info{service="qwen",environment="ab12",.*unit="sglang-qwen.service"} 1$'
        )
        self.assertEqual(metrics.stat().st_mode & 0o777, 0o644)
        self.assertEqual(json.loads((self.folder / "state" / "qwen.json").read_text()), report)
        self.assertEqual([path.name for path in metrics.parent.iterdir()], ["qwen.prom"])

    def test_degenerate_output_exits_1_says_why_and_restarts_nothing_unasked(self):
        service = self.service(lambda body: (None, support.LOOP, "length"))
        metrics = self.folder / "qwen.prom"
        code, report = self.probe(service, "--metrics-file", str(metrics))
        self.assertEqual((code, report["state"]), (1, "degenerate"))
        text = metrics.read_text()
        self.assertIn('sglang_probe_healthy{service="qwen"} 0\n', text)
        self.assertIn('sglang_probe_state{service="qwen",state="degenerate"} 1\n', text)
        self.assertIn('sglang_probe_state{service="qwen",state="healthy"} 0\n', text)
        self.assertNotIn("environment_info", text)
        self.assertIn("sentence-loop", report["reasons"][0])
        self.assertEqual(self.asked_of_systemd(), [])

    def test_degenerate_output_restarts_the_unit_within_the_bound_only(self):
        service = self.service(lambda body: ("lambda " * 100, None, "length"))
        options = ("--restart-on-degenerate", "--max-restarts-per-hour", "2")
        outcomes = [self.probe(service, *options)[1]["restart"] for _ in range(3)]
        self.assertEqual(outcomes[:2], ["restarted", "restarted"])
        self.assertIn("allowed are 2", outcomes[2])
        self.assertEqual(self.asked_of_systemd(), ["restart --no-block sglang-qwen.service"] * 2)

    def test_restarts_of_more_than_an_hour_ago_do_not_count(self):
        self.assertEqual(probe._recent({"restarts": [1000, 5000]}, 5100), [5000])

    def test_a_stopped_unit_is_not_judged(self):
        self.set_unit(ActiveState="inactive", SubState="dead")
        code, report = self.probe(self.service())
        self.assertEqual((code, report["state"], report["answers"]), (0, "stopped", []))

    def test_a_failed_unit_is_unreachable(self):
        self.set_unit(ActiveState="failed")
        self.assertEqual(self.probe(self.service())[0], 1)

    def test_a_loading_service_is_starting_and_a_silent_old_one_unreachable(self):
        service = self.service()
        service.close()
        code, report = self.probe(service, deadlineSeconds=600)
        self.assertEqual((code, report["state"]), (0, "starting"))
        self.set_unit(ActiveEnterTimestampMonotonic="1000000")
        code, report = self.probe(service, "--restart-on-degenerate", deadlineSeconds=1)
        self.assertEqual((code, report["state"]), (1, "unreachable"))
        self.assertEqual(self.asked_of_systemd(), [])

    def test_a_cut_but_coherent_answer_restarts_nothing(self):
        service = self.service(lambda body: ("The sum of these two numbers", None, "length"))
        code, report = self.probe(service, "--restart-on-degenerate")
        self.assertEqual((code, report["state"], report["healthy"]), (0, "limited", False))
        self.assertEqual(self.asked_of_systemd(), [])


if __name__ == "__main__":
    unittest.main()
