"""Gate and repeated probe of a server over several containers."""

import json
import unittest

import support

JOINS = "[2026-11-30 08:00:00 TP0] Init torch distributed begin."


class Nodes(support.ProbeTestCase):
    def run_on_node(self, verb, rank, server, *options, **changes):
        """(exit code, text of the progress lines, report)"""
        node = {"rank": rank, "count": 2, "meets": "10.1.2.129:20000"}
        code, lines, err = self.run_verb(verb, "--spec", self.spec(server, node=node, **changes), *options)
        self.assertEqual(err, "")
        return code, "\n".join(lines[:-1]), json.loads(lines[-1])

    def gate(self, rank, server, **changes):
        return self.run_on_node("gate", rank, server, "--poll-seconds", "0.05", **changes)

    def test_rank_0_says_whom_it_waits_for_and_passes_with_right_answers(self):
        code, text, report = self.gate(0, self.service())
        self.assertEqual((code, report["healthy"], len(report["answers"])), (0, True, 8), report)
        self.assertRegex(text, "needs the other 1 of 2 nodes, which meet at 10.1.2.129:20000: run `up` of their stacks")

    def test_rank_0_alone_fails_at_its_deadline_and_says_that_the_others_are_missing(self):
        self.set_journal(JOINS)
        code, _, report = self.gate(0, support.free_port(), deadlineSeconds=0.3)
        self.assertEqual((code, report["stage"]), (1, "nodes"))
        self.assertRegex(report["reasons"][0], "did not all come to 10.1.2.129:20000 .* run `up` of their stacks first")

    def test_rank_0_may_be_started_anew_while_the_group_comes_together(self):
        service = self.service()
        service.health = [503]
        self.set_journal(JOINS)

        def start_anew():
            self.until_shown("InvocationID=aaaa")
            self.set_unit(ActiveState="activating", SubState="auto-restart", NRestarts="1")
            self.until_shown("SubState=auto-restart")
            self.set_unit(InvocationID="bbbb", NRestarts="1")
            self.until_shown("InvocationID=bbbb")
            service.health = [200]

        self.beside(start_anew)
        code, text, report = self.gate(0, service)
        self.assertEqual(code, 0, report)
        self.assertRegex(text, "another node went away, so that this one was started anew")

    def test_a_cause_that_no_restart_cures_ends_the_wait_at_once(self):
        self.set_unit(ActiveState="activating", SubState="auto-restart", NRestarts="1")
        self.set_journal("launch_server.py: error: unrecognized arguments: --nnods")
        code, _, report = self.gate(0, support.free_port(), deadlineSeconds=30)
        self.assertEqual((code, report["stage"]), (1, "unit"))
        self.assertRegex(report["reasons"][0], "R40")

    def test_a_failed_unit_is_no_restart(self):
        self.set_unit(ActiveState="failed", SubState="failed", Result="exit-code")
        code, _, report = self.gate(0, support.free_port(), deadlineSeconds=30)
        self.assertEqual((code, report["stage"]), (1, "unit"))

    def test_a_node_above_rank_0_passes_when_it_waits_for_the_others(self):
        self.set_journal(JOINS)
        code, text, report = self.gate(1, support.free_port())
        self.assertEqual((code, report["answers"]), (0, []), report)
        self.assertRegex(text, "the gate of rank 0 holds the whole group")
        self.assertRegex(text, "rank 1 of 2 waits at 10.1.2.129:20000: rank 0's stack needs its `up` now")

    def test_a_node_above_rank_0_passes_in_a_group_that_is_complete(self):
        service = self.service()
        code, text, _ = self.gate(1, service)
        self.assertEqual(code, 0)
        self.assertNotRegex(text, "needs its `up` now")
        self.assertEqual(service.requests, [])

    def test_a_node_above_rank_0_that_never_comes_as_far_fails(self):
        code, _, report = self.gate(1, support.free_port(), deadlineSeconds=0.3)
        self.assertEqual((code, report["stage"]), (1, "health"))

    def test_the_repeated_probe_of_a_node_above_rank_0_asks_for_its_health_alone(self):
        service = self.service()
        code, _, report = self.run_on_node("probe", 1, service)
        self.assertEqual((code, report["state"], service.requests), (0, "healthy", []))

    def test_a_node_above_rank_0_that_waits_is_starting_and_later_unreachable(self):
        code, _, report = self.run_on_node("probe", 1, support.free_port())
        self.assertEqual((code, report["state"]), (0, "starting"))
        self.set_unit(ActiveEnterTimestampMonotonic="1")
        code, _, report = self.run_on_node("probe", 1, support.free_port())
        self.assertEqual((code, report["state"]), (1, "unreachable"))

    def test_a_node_that_is_none_is_refused(self):
        code, _, err = self.run_verb("gate", "--spec", self.spec(self.service(), node={"rank": 1}))
        self.assertEqual(code, 3)
        self.assertRegex(err, "node: must be an object with rank, count and meets")


if __name__ == "__main__":
    unittest.main()
