"""Gate and repeated probe of a router in front of replicas."""

import json
import unittest

import support


class Router(support.ProbeTestCase):
    def setUp(self):
        super().setUp()
        self.replicas = [self.service(), self.service()]
        self.addresses = [f"http://127.0.0.1:{replica.port}" for replica in self.replicas]
        for replica in self.replicas:
            replica.info["served_model_name"] = "qwen"
        self.router = self.service()
        # A router tells nothing about the model; what it says here would be believed by mistake.
        self.router.info = {"context_length": 1}
        self.router.workers = dict.fromkeys(self.addresses, True)

    def run_on_router(self, verb, *options, **changes):
        """(exit code, lines, report)"""
        spec = {"replicas": self.addresses, "version": None, "expectedServerInfo": None, **changes}
        code, lines, err = self.run_verb(verb, "--spec", self.spec(self.router, **spec), *options)
        self.assertEqual(err, "")
        return code, lines[:-1], json.loads(lines[-1])

    def gate(self, **changes):
        return self.run_on_router("gate", "--poll-seconds", "0.05", **changes)

    def test_passes_when_every_replica_takes_part_and_answers_through_it_are_right(self):
        code, lines, report = self.gate()
        self.assertEqual((code, report["healthy"]), (0, True), report)
        self.assertRegex("\n".join(lines), "2 replicas take part and serve qwen")
        self.assertEqual(len(self.router.requests), 4)
        self.assertEqual([replica.requests for replica in self.replicas], [[], []])

    def test_waits_for_a_replica_that_comes_later_and_says_which(self):
        self.router.workers.pop(self.addresses[1])

        def come():
            # What the first look found has been told by the second.
            self.until(lambda: self.router.looks.count("/workers") > 1, "the gate looks twice")
            self.router.workers[self.addresses[1]] = True

        self.beside(come)
        code, lines, _ = self.gate()
        self.assertEqual(code, 0)
        self.assertRegex("\n".join(lines), f"{self.addresses[1]} was not found yet")

    def test_fails_at_its_deadline_when_a_replica_stays_out(self):
        self.router.workers[self.addresses[0]] = False
        code, _, report = self.gate(deadlineSeconds=0.3)
        self.assertEqual((code, report["stage"]), (1, "health"))
        self.assertRegex(report["reasons"][0], f"{self.addresses[0]} does not answer its health check")

    def test_fails_when_a_replica_serves_another_model(self):
        self.replicas[1].info["served_model_name"] = "kimi"
        code, _, report = self.gate()
        self.assertEqual((code, report["stage"]), (1, "replicas"))
        self.assertEqual(report["reasons"], [f"{self.addresses[1]} serves 'kimi', declared is 'qwen'"])

    def test_fails_when_answers_through_it_are_degenerate(self):
        self.router.answer = lambda body: (None, support.LOOP, "length")
        code, _, report = self.gate()
        self.assertEqual((code, report["stage"]), (1, "semantic probe"))

    def test_the_repeated_probe_is_healthy_with_all_replicas(self):
        code, _, report = self.run_on_router("probe")
        self.assertEqual((code, report["state"]), (0, "healthy"))

    def test_right_answers_without_one_replica_are_degraded_and_it_is_named(self):
        self.router.workers[self.addresses[0]] = False
        self.replicas[0].close()
        code, _, report = self.run_on_router("probe")
        self.assertEqual((code, report["state"], report["healthy"]), (0, "degraded", False))
        self.assertEqual(report["reasons"], [f"replica {self.addresses[0]} does not answer its health check"])

    def test_wrong_answers_are_degenerate_whoever_is_out(self):
        self.router.workers[self.addresses[0]] = False
        self.router.answer = lambda body: (None, support.LOOP, "length")
        _, _, report = self.run_on_router("probe")
        self.assertEqual(report["state"], "degenerate")

    def test_replicas_that_are_no_addresses_are_refused(self):
        code, _, err = self.run_verb("gate", "--spec", self.spec(self.router, replicas=["qwen-a"]))
        self.assertEqual(code, 3)
        self.assertRegex(err, "replicas: must be a list of addresses")


if __name__ == "__main__":
    unittest.main()
