"""How the server ends: signals, drained and stuck, and children or parent killed."""

import http.client
import json
import os
import signal
import threading
import time
import unittest

from machine import FAST, HYBRID, Machine, is_alive

STUCK_SECONDS = 60 * FAST


class StopTest(unittest.TestCase):
    """One machine, a server for every test."""

    @classmethod
    def setUpClass(cls):
        cls.machine = Machine()
        cls.machine.warm_caches()

    @classmethod
    def tearDownClass(cls):
        cls.machine.close()

    def start(self, **options):
        """A healthy server and the process ids of its children."""
        server = self.machine.start(*HYBRID, **options).wait_until_healthy()
        self.addCleanup(server.end)
        return server, list(server.children().values())

    def assert_gone(self, pids, seconds=6):
        """Waits until none of these processes is left."""
        deadline = time.monotonic() + seconds
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual([pid for pid in pids if is_alive(pid)], [])

    def test_sigterm_when_idle_ends_by_its_own_sigkill(self):
        server, children = self.start(scale=0.05)
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 20
        while server.request("GET", "/health")[0] == 200 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(server.request("GET", "/health")[0], 503)
        self.assertEqual(server.request("GET", "/v1/models")[0], 200)
        self.assertEqual(server.wait(5), -9)
        self.assert_gone(children)

    def test_sigterm_lets_a_running_stream_finish_and_takes_new_chats(self):
        server, _ = self.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        body = {"messages": [{"role": "user", "content": "Explain tides in detail."}], "temperature": 0, "stream": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read(100)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        self.assertEqual(server.say("What is 2+2?"), "2 + 2 = 4.")
        self.assertTrue(answer.read().endswith(b"data: [DONE]\n\n"))
        self.assertEqual(server.wait(10), -9)

    def test_after_one_400_sigterm_never_ends_it_and_sigint_does(self):
        server, children = self.start()
        self.assertEqual(server.request("POST", "/v1/chat/completions", {"messages": []})[0], 400)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(STUCK_SECONDS)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(STUCK_SECONDS)
        self.assertIsNone(server.process.poll())
        self.assertIn("Remaining number of requests 1", server.output())
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(5), 0)
        self.assert_gone(children)

    def test_two_choices_make_it_stick_too(self):
        server, _ = self.start()
        self.assertEqual(len(server.chat("Say hello.", n=2)["choices"]), 2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(STUCK_SECONDS)
        self.assertIsNone(server.process.poll())

    def test_forced_shutdown_ends_a_stuck_server(self):
        server, _ = self.start(environment={"SGL_FORCE_SHUTDOWN": "1"})
        server.request("POST", "/v1/chat/completions", {"messages": []})
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(5), -9)

    def test_sigint_when_idle_ends_with_zero(self):
        server, children = self.start()
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(5), 0)
        self.assert_gone(children)

    def test_sigterm_during_the_start_acts_at_once(self):
        server = self.machine.start(*HYBRID, scale=0.05)
        self.addCleanup(server.end)
        server.wait_for("Capture cuda graph begin.")
        children = list(server.children().values())
        self.assertEqual(len(children), 2)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(2), -15)
        self.assert_gone(children)

    def test_a_killed_child_takes_the_server_down(self):
        for name in ("sglang::schedul", "sglang::detoken"):
            server, children = self.start()
            os.kill(server.children()[name], signal.SIGKILL)
            self.assertEqual(server.wait(5), -9)
            self.assertIn("crashed with exit code -9. Triggering SIGQUIT for cleanup...", server.output())
            self.assert_gone(children)

    def test_a_killed_parent_takes_its_children_with_it(self):
        server, children = self.start()
        server.process.kill()
        self.assert_gone(children)

    def test_a_frozen_scheduler_fails_health_only(self):
        server, _ = self.start()
        scheduler = server.children()["sglang::schedul"]
        os.kill(scheduler, signal.SIGSTOP)
        self.addCleanup(os.kill, scheduler, signal.SIGCONT)
        self.assertEqual(server.request("GET", "/health"), (503, ""))
        for path in ("/v1/models", "/model_info"):
            self.assertEqual(server.request("GET", path)[0], 200)
        with self.assertRaises(TimeoutError):
            server.request("GET", "/server_info", timeout=0.3)
        waiting = threading.Thread(target=server.say, args=("What is 2+2?",), daemon=True)
        waiting.start()
        waiting.join(0.3)
        self.assertTrue(waiting.is_alive())
        os.kill(scheduler, signal.SIGCONT)
        waiting.join(5)
        self.assertFalse(waiting.is_alive())


if __name__ == "__main__":
    unittest.main()
