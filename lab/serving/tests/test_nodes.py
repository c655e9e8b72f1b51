"""A server over several nodes: two pretended machines with one card each."""

import json
import signal
import time
import unittest

from machine import HYBRID, Machine, free_port


class NodesTest(unittest.TestCase):
    """Every test has two machines of its own."""

    def setUp(self):
        self.machines = [Machine(cards=1), Machine(cards=1)]
        self.meeting = f"127.0.0.1:{free_port()}"
        for machine in self.machines:
            self.addCleanup(machine.close)
            machine.warm_caches()

    def start(self, rank, *arguments, nodes=2):
        group = ["--nnodes", nodes, "--node-rank", rank, "--dist-init-addr", self.meeting]
        return self.machines[rank].start("--tp-size", nodes, *group, *HYBRID, *arguments)

    def test_they_serve_together_in_whichever_order_they_come(self):
        for order in ((0, 1), (1, 0)):
            servers = {}
            for rank in order:
                servers[rank] = self.start(rank)
                servers[rank].wait_for("Init torch distributed begin.")
                self.assertNotIn("Init torch distributed ends.", servers[rank].output()) if rank == order[0] else None
            for server in servers.values():
                server.wait_until_healthy()
            self.assertEqual(servers[0].say("What is 2+2?"), "2 + 2 = 4.")
            info = servers[0].get("/server_info")
            self.assertEqual((info["nnodes"], info["node_rank"], info["dist_init_addr"]), (2, 0, self.meeting))
            for server in servers.values():
                server.end()

    def test_a_node_above_rank_0_answers_health_and_nothing_else(self):
        first, second = self.start(0), self.start(1)
        first.wait_until_healthy()
        second.wait_until_healthy()
        self.assertEqual(second.request("GET", "/health_generate")[0], 200)
        for path in ("/server_info", "/v1/models", "/model_info"):
            self.assertEqual(second.request("GET", path)[0], 404)
        self.assertNotIn("sglang::detokeni", second.children())

    def test_a_node_that_is_killed_takes_the_other_with_it(self):
        for gone, left in ((0, 1), (1, 0)):
            servers = [self.start(0), self.start(1)]
            for server in servers:
                server.wait_until_healthy()
            servers[gone].end()
            self.assertEqual(servers[left].wait(10), -signal.SIGKILL)
            self.assertIn("Connection closed by peer", servers[left].output())

    def test_a_node_alone_gives_up_after_the_timeout(self):
        for rank, text in ((0, "DistStoreError: Timed out after 2 seconds waiting for clients. 1/2 clients joined."), (1, "DistNetworkError")):
            begun = time.monotonic()
            server = self.start(rank, "--dist-timeout", 1)
            self.assertEqual(server.wait(20), -signal.SIGKILL)
            self.assertGreater(time.monotonic() - begun, 1)
            self.assertIn(text, server.output())

    def test_ranks_that_nodes_cannot_share_evenly_are_refused(self):
        status, output = self.machines[0].run("--tp-size", 1, "--nnodes", 2, "--dist-init-addr", self.meeting, *HYBRID)
        self.assertEqual(status, 1)
        self.assertIn("AssertionError: tp_size must be divisible by number of nodes", output)

    def test_sigint_ends_a_node_above_rank_0_well(self):
        first, second = self.start(0), self.start(1)
        second.wait_until_healthy()
        second.process.send_signal(signal.SIGINT)
        self.assertEqual(second.wait(10), 0)
        self.assertEqual(first.wait(10), -signal.SIGKILL)
        self.assertTrue(json.dumps(second.children()) == "{}")


if __name__ == "__main__":
    unittest.main()
