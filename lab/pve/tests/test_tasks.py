"""Tasks and injected faults."""

import json
import os
import threading
import time

from support import NodeTest

from labpve import faults, node, tasks
from labpve.errors import PveError


class TasksTest(NodeTest):
    def finish(self, kind, body, identity="root@pam"):
        upid = tasks.start(kind, 129, identity, body)
        self.wait(upid)
        return tasks.status(upid), [line["t"] for line in tasks.read_log(upid)[0]]

    def wait(self, upid):
        deadline = time.monotonic() + 5
        while tasks.status(upid)["status"] == "running" and time.monotonic() < deadline:
            time.sleep(0.01)

    def inject(self, *entries):
        self.write(faults.FILE, json.dumps(entries))

    def test_a_good_task_ends_with_ok(self):
        status, log = self.finish("vzstart", lambda log: log("working"))
        self.assertEqual((status["status"], status["exitstatus"]), ("stopped", "OK"))
        self.assertEqual(log, ["working", "TASK OK"])
        self.assertRegex(status["upid"], tasks.UPID)

    def test_a_failed_task_ends_with_its_message(self):
        def fail(_log):
            raise PveError("startup for container '129' failed")

        status, log = self.finish("vzstart", fail)
        self.assertEqual(status["exitstatus"], "startup for container '129' failed")
        self.assertEqual(log, ["TASK ERROR: startup for container '129' failed"])

    def test_warnings_are_counted(self):
        status, log = self.finish("vzcreate", lambda log: (log.warn("one"), log.warn("two")))
        self.assertEqual(status["exitstatus"], "WARNINGS: 2")
        self.assertEqual(log, ["WARN: one", "WARN: two", "TASK WARNINGS: 2"])

    def test_a_tokens_task_names_user_and_token(self):
        status, _ = self.finish("vzstart", lambda log: None, "root@pam!iac")
        self.assertEqual((status["user"], status["tokenid"]), ("root@pam", "iac"))
        self.assertTrue(status["upid"].endswith(":vzstart:129:root@pam!iac:"))

    def test_an_injected_failure_keeps_the_body_from_running(self):
        self.inject({"path": "vzstart", "task": "got timeout"})
        ran = []
        status, _ = self.finish("vzstart", lambda log: ran.append(1))
        self.assertEqual((status["exitstatus"], ran), ("got timeout", []))
        status, _ = self.finish("vzstart", lambda log: ran.append(1))
        self.assertEqual((status["exitstatus"], ran), ("OK", [1]))

    def test_injected_warnings_let_the_body_run(self):
        self.inject({"path": "vzcreate", "task": "WARNINGS: 2"})
        ran = []
        status, _ = self.finish("vzcreate", lambda log: ran.append(1))
        self.assertEqual((status["exitstatus"], ran), ("WARNINGS: 2", [1]))

    def test_a_delayed_task_is_running_meanwhile(self):
        self.inject({"path": "vzstart", "task": "OK", "delay": 0.3})
        upid = tasks.start("vzstart", 129, "root@pam", lambda log: None)
        self.assertEqual(tasks.status(upid)["status"], "running")
        self.assertNotIn("exitstatus", tasks.status(upid))
        self.wait(upid)
        self.assertEqual(tasks.status(upid)["exitstatus"], "OK")

    def test_a_task_whose_process_died_ends_unexpectedly(self):
        status, _ = self.finish("vzstart", lambda log: None)
        path = f"{self.root}/var/log/pve/tasks/{status['upid']}/state"
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        del state["exitstatus"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**state, "status": "running", "worker": 2**30}, file)
        self.assertEqual(tasks.status(status["upid"])["exitstatus"], "unexpected status")

    def test_a_stopped_task_ends_at_its_next_line(self):
        go = threading.Event()
        upid = tasks.start("vzcreate", 129, "root@pam", lambda log: (go.wait(5), log("next"), log("never")))
        tasks.request_stop(upid)
        go.set()
        self.wait(upid)
        self.assertEqual(tasks.status(upid)["exitstatus"], "interrupted by signal")

    def test_the_log_is_read_in_pieces(self):
        status, _ = self.finish("vzcreate", lambda log: [log(f"line {n}") for n in range(60)])
        lines, total = tasks.read_log(status["upid"], 50, 3)
        self.assertEqual(
            lines, [{"n": 51, "t": "line 50"}, {"n": 52, "t": "line 51"}, {"n": 53, "t": "line 52"}]
        )
        self.assertEqual(total, 61)

    def test_what_is_no_task_is_refused(self):
        self.assert_refused(lambda: tasks.status("UPID:../../etc"), "unable to parse worker upid", 400)
        unknown = f"UPID:{node.name()}:00000001:00000001:00000001:vzstart:1:root@pam:"
        self.assert_refused(lambda: tasks.status(unknown), "no such task", 400)

    def test_a_task_of_the_command_line_tells_its_progress(self):
        told = []
        self.assertEqual(tasks.run("vzcreate", 129, lambda log: log("working"), told.append), "OK")
        self.assertEqual(told, ["working"])
        self.assertEqual(tasks.listing()[0]["status"], "OK")


class FaultsTest(NodeTest):
    def inject(self, *entries):
        self.write(faults.FILE, json.dumps(entries))

    def test_without_a_file_nothing_happens(self):
        self.assertEqual(faults.take_for_request("GET", "/version"), {})

    def test_a_fault_is_used_up(self):
        self.inject({"method": "GET", "path": "/storage/local/content$", "status": 596, "times": 2})
        path = "/nodes/pve1/storage/local/content"
        taken = [faults.take_for_request("GET", path).get("status") for _ in range(3)]
        self.assertEqual(taken, [596, 596, None])

    def test_method_and_path_choose(self):
        self.inject({"method": "PUT", "path": "config$", "status": 500})
        self.assertEqual(faults.take_for_request("GET", "/nodes/x/lxc/1/config"), {})
        self.assertEqual(faults.take_for_request("PUT", "/nodes/x/lxc/1/status"), {})
        self.assertEqual(faults.take_for_request("PUT", "/nodes/x/lxc/1/config")["status"], 500)

    def test_faults_of_tasks_are_not_met_by_requests(self):
        self.inject({"path": "vz", "task": "failed"})
        self.assertEqual(faults.take_for_request("POST", "/vz"), {})
        self.assertEqual(faults.take_for_task("vzstart")["task"], "failed")

    def test_a_broken_file_injects_nothing(self):
        self.write(faults.FILE, "[{")
        self.assertEqual(faults.take_for_request("GET", "/version"), {})

    def test_the_rest_of_the_file_stays(self):
        self.inject({"path": "a"}, {"path": "b", "times": 3})
        faults.take_for_request("GET", "/b")
        with open(node.path(faults.FILE), encoding="utf-8") as file:
            self.assertEqual(json.load(file), [{"path": "a"}, {"path": "b", "times": 2}])
        self.assertGreater(os.path.getsize(node.path(faults.FILE)), 0)
