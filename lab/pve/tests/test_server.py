"""The API over HTTPS, as a client meets it."""

import http.client
import json
import shutil
import ssl
import threading
import time
import unittest
import urllib.parse

from support import NodeTest

from labpve import config_file, faults, node, storages, tasks, tickets
from labpve.api import server

TOKEN = "PVEAPIToken=root@pam!iac=11111111-2222-3333-4444-555555555555"
AUDITOR = "PVEAPIToken=audit@pve!ro=11111111-2222-3333-4444-777777777777"


class ParametersTest(unittest.TestCase):
    def test_query_and_form_are_merged(self):
        parsed = server.parse_parameters(
            "a=1", "net0=name%3Deth0&tags=a%3Bb&delete=", "application/x-www-form-urlencoded"
        )
        self.assertEqual(parsed, {"a": "1", "net0": "name=eth0", "tags": "a;b", "delete": ""})

    def test_json_booleans_become_numbers(self):
        parsed = server.parse_parameters("", '{"start": true, "memory": 512}', "application/json")
        self.assertEqual(parsed, {"start": "1", "memory": "512"})

    def test_malformed_json_is_refused(self):
        with self.assertRaisesRegex(Exception, "malformed JSON string"):
            server.parse_parameters("", "{", "application/json")


@unittest.skipUnless(shutil.which("openssl"), "the certificate is made with openssl, which is not installed")
class ServerTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.patch("labpve.node_facts.addresses", lambda: ["127.0.0.1"])
        tickets.make_key()
        instance = server.Server(("127.0.0.1", 0), *server.make_certificate())
        threading.Thread(target=instance.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(instance.server_close)
        self.addCleanup(instance.shutdown)
        self.port = instance.server_address[1]

    def call(self, method, path, parameters=None, authorization=TOKEN):
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=5)
        self.addCleanup(connection.close)
        headers = {"Authorization": authorization} if authorization else {}
        body = urllib.parse.urlencode(parameters) if parameters else None
        if body:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, f"/api2/json{path}", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.reason, json.loads(answer.read())

    def at_node(self, rest=""):
        return f"/nodes/{node.name()}{rest}"

    def test_the_version_is_the_one_played(self):
        self.play_version("9.1.1")
        status, _, body = self.call("GET", "/version")
        self.assertEqual((status, body["data"]["version"], body["data"]["release"]), (200, "9.1.1", "9.1"))

    def test_the_message_of_an_error_stands_in_the_status_line(self):
        status, reason, body = self.call("GET", self.at_node("/lxc/129/status/current"))
        text = f"Configuration file 'nodes/{node.name()}/lxc/129.conf' does not exist"
        self.assertEqual((status, reason, body["message"]), (500, text, f"{text}\n"))

    def test_bad_parameters_are_named(self):
        self.container()
        status, reason, body = self.call("PUT", self.at_node("/lxc/129/config"), {"memory": "x"})
        self.assertEqual((status, reason), (400, "Parameter verification failed."))
        self.assertEqual(body["errors"], {"memory": "type check ('integer') failed - got 'x'"})

    def test_numbers_and_booleans_are_json_numbers(self):
        self.container(onboot=1)
        data = self.call("GET", self.at_node("/lxc/129/config"))[2]["data"]
        self.assertEqual((data["memory"], data["onboot"], data["unprivileged"]), (1024, 1, 1))

    def test_pending_values_are_merged_unless_the_current_ones_are_asked_for(self):
        config = self.container()
        config.pending = {"features": "nesting=1"}
        config_file.save(129, config)
        merged = self.call("GET", self.at_node("/lxc/129/config"))[2]["data"]
        current = self.call("GET", self.at_node("/lxc/129/config?current=1"))[2]["data"]
        self.assertEqual((merged.get("features"), current.get("features")), ("nesting=1", None))

    def test_unknown_things_are_told_apart(self):
        self.assertEqual(self.call("GET", self.at_node("/nope"))[0], 501)
        self.assertEqual(
            self.call("GET", self.at_node("/nope"))[1],
            f"Method 'GET {self.at_node('/nope')}' not implemented",
        )
        self.assertIn("hostname lookup 'nope' failed", self.call("GET", "/nodes/nope/lxc")[1])
        self.assertEqual(self.call("GET", self.at_node("/lxc/12/config"))[0], 400)
        self.assertEqual(self.call("GET", "/version", authorization=None)[:2], (401, "No ticket"))

    def test_an_auditor_reads_and_does_not_write(self):
        self.container()
        self.assertEqual(self.call("GET", self.at_node("/lxc/129/config"), authorization=AUDITOR)[0], 200)
        status, reason, _ = self.call("PUT", self.at_node("/lxc/129/config"), {"cores": "1"}, AUDITOR)
        self.assertEqual(status, 403)
        self.assertIn("(/vms/129, VM.Config.Disk|VM.Config.CPU|", reason)
        self.assertEqual(self.call("DELETE", self.at_node("/lxc/129"), None, AUDITOR)[0], 403)

    def test_lists_show_what_the_caller_may_see(self):
        self.patch("labpve.state.status", lambda vmid: "stopped")
        self.container(129)
        self.container(130)
        self.grant(("/vms/130", "audit@pve", "PVEAuditor"))
        seen = self.call("GET", self.at_node("/lxc"), authorization=AUDITOR)[2]["data"]
        self.assertEqual([entry["vmid"] for entry in seen], [130])

    def test_an_injected_status_is_answered(self):
        fault = {"path": "content$", "status": 596, "message": "Connection timed out", "times": 1}
        self.write(faults.FILE, json.dumps([fault]))
        path = self.at_node("/storage/local/content")
        self.assertEqual(self.call("GET", path)[:2], (596, "Connection timed out"))
        self.assertEqual(self.call("GET", path)[0], 200)

    def test_an_injected_end_of_the_connection_gives_no_answer(self):
        self.write(faults.FILE, json.dumps([{"path": "/version", "close": True}]))
        with self.assertRaises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
            self.call("GET", "/version")
        self.assertEqual(self.call("GET", "/version")[0], 200)

    def test_every_request_is_logged_without_secrets(self):
        self.call("POST", "/access/ticket", {"username": "root@pam", "password": "lab-root-pw"}, None)
        with open(node.path("/var/log/pveapi.log"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("lab-root-pw", text)
        self.assertEqual(json.loads(text)[1:4], ["root@pam", "POST", "/api2/json/access/ticket"])

    def test_a_task_of_someone_else_needs_the_right_to_audit(self):
        upid = tasks.start("vzstart", 129, "root@pam", lambda log: None)
        self.grant()
        path = self.at_node(f"/tasks/{upid}/status")
        status, reason, _ = self.call("GET", path, authorization=AUDITOR)
        self.assertEqual(
            (status, reason), (403, f"Permission check failed (/nodes/{node.name()}, Sys.Audit)")
        )
        self.assertEqual(self.call("GET", path)[0], 200)

    def test_a_volume_may_be_named_with_or_without_an_escaped_slash(self):
        for name in ("vztmpl/debian.tar.zst", "local:vztmpl%2Fdebian.tar.zst"):
            status, _, body = self.call("GET", self.at_node(f"/storage/local/content/{name}"))
            self.assertEqual((status, body["data"]["format"]), (200, "tzst"))

    def test_a_removal_waits_for_its_end_when_asked_to(self):
        fault = {"path": "imgdel", "task": "OK", "delay": 0.3}
        self.write(faults.FILE, json.dumps([fault]))
        path = self.at_node("/storage/local/content/vztmpl%2Fdebian.tar.zst")
        upid = self.call("DELETE", f"{path}?delay=5")[2]["data"]
        self.assertEqual(tasks.status(upid)["exitstatus"], "OK")
        self.assertEqual(storages.listing("local"), [])

    def test_resources_are_of_the_kind_asked_for(self):
        self.patch("labpve.state.status", lambda vmid: "stopped")
        self.container()
        kinds = {
            kind: [entry["id"] for entry in self.call("GET", f"/cluster/resources?type={kind}")[2]["data"]]
            for kind in ("vm", "node", "storage")
        }
        name = node.name()
        self.assertEqual(kinds["vm"], ["lxc/129"])
        self.assertEqual(kinds["node"], [f"node/{name}"])
        self.assertEqual(kinds["storage"], [f"storage/{name}/local", f"storage/{name}/local-lvm"])
        everything = self.call("GET", "/cluster/resources")[2]["data"]
        self.assertEqual(len(everything), 4)

    def test_storages_are_seen_with_either_right(self):
        self.grant(("/storage/local", "audit@pve", "PVEDatastoreUser"))
        for path in ("/storage", self.at_node("/storage")):
            seen = self.call("GET", path, authorization=AUDITOR)[2]["data"]
            self.assertEqual([entry["storage"] for entry in seen], ["local"])
        rootdir = self.call("GET", self.at_node("/storage?content=rootdir"))[2]["data"]
        self.assertEqual([entry["storage"] for entry in rootdir], ["local-lvm"])

    def test_a_right_to_space_alone_shows_a_storage(self):
        self.grant(("/storage", "audit@pve", "Space"), roles={"Space": ["Datastore.AllocateSpace"]})
        seen = self.call("GET", "/storage", authorization=AUDITOR)[2]["data"]
        self.assertEqual([entry["storage"] for entry in seen], ["local", "local-lvm"])

    def test_pools_are_made_and_listed(self):
        self.assertEqual(self.call("POST", "/pools", {"poolid": "gpu"})[0], 200)
        self.assertEqual(self.call("GET", "/pools")[2]["data"], [{"poolid": "gpu"}])
        self.assertEqual(self.call("POST", "/pools", {"comment": "x"})[0], 400)
        self.assertEqual(self.call("POST", "/pools", {"poolid": "b"}, AUDITOR)[0], 403)
        self.grant()
        self.assertEqual(self.call("GET", "/pools", authorization=AUDITOR)[2]["data"], [])

    def test_a_caller_learns_its_privileges(self):
        self.grant(("/vms", "audit@pve", "Starter"), roles={"Starter": ["VM.PowerMgmt"]})
        held = self.call("GET", "/access/permissions", authorization=AUDITOR)[2]["data"]
        self.assertEqual(held, {"/vms": {"VM.PowerMgmt": 1}})
        asked = self.call("GET", "/access/permissions?path=/vms/129", authorization=AUDITOR)[2]["data"]
        self.assertEqual(asked, {"/vms/129": {"VM.PowerMgmt": 1}})
        roles = {entry["roleid"]: entry["special"] for entry in self.call("GET", "/access/roles")[2]["data"]}
        self.assertEqual((roles["Starter"], roles["PVEAuditor"]), (0, 1))

    def test_metadata_needs_access_to_the_network(self):
        path = self.at_node("/query-url-metadata?url=ftp://x")
        self.assertEqual(self.call("GET", path, authorization=AUDITOR)[:2], (403, "Permission check failed"))
        self.grant(("/nodes", "audit@pve", "Net"), roles={"Net": ["Sys.AccessNetwork"]})
        self.assertEqual(self.call("GET", path, authorization=AUDITOR)[0], 400)

    def test_operations_answer_with_a_task_and_pass_on_their_parameters(self):
        asked = []
        self.patch("labpve.lifecycle.start", lambda vmid, log: asked.append(("start", vmid)))
        self.patch("labpve.lifecycle.shutdown", lambda *arguments: asked.append(("shutdown", *arguments)))
        self.patch(
            "labpve.lifecycle.reboot", lambda vmid, timeout, log: asked.append(("reboot", vmid, timeout))
        )
        self.patch("labpve.lifecycle.stop", lambda vmid: asked.append(("stop", vmid)))
        self.patch("labpve.lifecycle.destroy", lambda vmid, force: asked.append(("destroy", vmid, force)))
        self.container()
        self.operate("POST", "/lxc/129/status/start")
        self.running.add(129)
        self.operate("POST", "/lxc/129/status/shutdown", {"forceStop": 1, "timeout": 55})
        self.operate("POST", "/lxc/129/status/shutdown")
        self.operate("POST", "/lxc/129/status/reboot", {"timeout": 300})
        self.operate("POST", "/lxc/129/status/stop")
        self.operate("DELETE", "/lxc/129?force=1")
        wanted = [("start", 129), ("shutdown", 129, 55, True), ("shutdown", 129, 60, False)]
        wanted += [("reboot", 129, 300), ("stop", 129), ("destroy", 129, True)]
        self.assertEqual(asked, wanted)

    def operate(self, method, path, parameters=None):
        status, reason, body = self.call(method, self.at_node(path), parameters)
        self.assertEqual((status, reason), (200, "OK"))
        while tasks.status(body["data"])["status"] == "running":
            time.sleep(0.01)

    def test_operations_refuse_what_does_not_fit(self):
        self.container()
        self.assertEqual(self.call("POST", self.at_node("/lxc/129/status/stop"))[1], "CT 129 not running")
        self.running.add(129)
        self.assertEqual(
            self.call("POST", self.at_node("/lxc/129/status/start"))[1], "CT 129 already running"
        )
        self.assertEqual(self.call("POST", self.at_node("/lxc/129/status/reboot"), {"timeout": "x"})[0], 400)
        self.assertEqual(self.call("POST", self.at_node("/lxc/129/status/reboot"), {"bogus": 1})[0], 400)
        self.assertIn("container is running", self.call("DELETE", self.at_node("/lxc/129"))[1])

    def test_the_tasks_of_others_are_listed_for_who_may_audit(self):
        tasks.run("vzstart", 129, lambda log: None)
        tasks.run("vzstop", 130, lambda log: None)
        path = self.at_node("/tasks")
        self.assertEqual(len(self.call("GET", path)[2]["data"]), 2)
        self.assertEqual(len(self.call("GET", f"{path}?vmid=130")[2]["data"]), 1)
        self.assertEqual(self.call("GET", f"{path}?typefilter=vzstart")[2]["data"][0]["id"], "129")
        self.grant()
        self.assertEqual(self.call("GET", path, authorization=AUDITOR)[2]["data"], [])
        upid = self.call("GET", path)[2]["data"][0]["upid"]
        self.assertEqual(self.call("DELETE", f"{path}/{upid}", authorization=AUDITOR)[0], 403)
        self.assertEqual(self.call("DELETE", f"{path}/{upid}")[0], 200)

    def test_the_next_free_id_is_found(self):
        self.container(100)
        self.assertEqual(self.call("GET", "/cluster/nextid")[2]["data"], "101")
        self.assertEqual(self.call("GET", "/cluster/nextid?vmid=100")[0], 400)
        self.assertEqual(self.call("GET", "/cluster/nextid?vmid=102")[2]["data"], "102")
