"""pct: arguments, texts and exit status; and the order of starts."""

import contextlib
import io

from support import TEMPLATE, NodeTest

from labpve import config_file, guests, pct, pct_arguments, pct_inside, schema


class PctTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.patch("labpve.state.status", lambda vmid: "running" if vmid in self.running else "stopped")
        self.patch("labpve.lxc_config.write", lambda vmid, config: None)

    def pct(self, *words):
        """(exit status, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = pct.main(list(words))
        return status, out.getvalue(), err.getvalue()

    def test_a_missing_container_ends_with_2(self):
        for words in (("exec", "999", "--", "true"), ("status", "999"), ("config", "999"), ("start", "999")):
            status, _, err = self.pct(*words)
            self.assertEqual(status, 2, words)
            self.assertRegex(err, r"^Configuration file 'nodes/.*/lxc/999.conf' does not exist\n$")

    def test_a_stopped_container_cannot_be_entered(self):
        self.container()
        self.assertEqual(self.pct("exec", "129", "--", "true"), (255, "", "container '129' not running!\n"))
        self.assertEqual(
            self.pct("push", "129", "/a", "/b"), (255, "", "can only push files to a running CT\n")
        )

    def test_a_source_that_cannot_be_read_ends_with_0_all_the_same(self):
        self.container(running=True)
        status, _, err = self.pct("push", "129", "/no/such/file", "/b")
        self.assertEqual(status, 0)
        self.assertIn("failed to open /no/such/file for reading", err)

    def test_the_status_is_one_line(self):
        self.container()
        self.assertEqual(self.pct("status", "129"), (0, "status: stopped\n", ""))

    def test_the_list_has_a_head_only_when_there_is_something(self):
        self.assertEqual(self.pct("list"), (0, "", ""))
        self.container(lock="backup")
        lines = self.pct("list")[1].splitlines()
        self.assertEqual(
            [line.split() for line in lines],
            [["VMID", "Status", "Lock", "Name"], ["129", "stopped", "backup", "ml"]],
        )

    def test_the_configuration_is_sorted_and_ends_with_raw_lines(self):
        config = self.container(description="a\nb\n")
        config.raw = [["lxc.environment", "A=b"]]
        config_file.save(129, config)
        lines = self.pct("config", "129")[1].splitlines()
        self.assertEqual(lines[0], "description: a%0Ab%0A")
        self.assertEqual(lines[-1], "lxc.environment: A=b")
        self.assertEqual(lines[:-1], sorted(lines[:-1]))

    def test_pending_changes_are_told(self):
        config = self.container(dev1="/dev/zero", features="nesting=0")
        config.pending, config.pending_delete = {"features": "nesting=1", "dev0": "/dev/null"}, {"dev1"}
        config_file.save(129, config)
        lines = self.pct("pending", "129")[1].splitlines()
        for line in (
            "new dev0: /dev/null",
            "del dev1: /dev/zero",
            "cur features: nesting=0",
            "new features: nesting=1",
        ):
            self.assertIn(line, lines)

    def test_set_changes_and_removes(self):
        self.container(dev0="/dev/null", dev1="/dev/zero")
        self.assertEqual(self.pct("set", "129", "--delete", "dev0", "--delete", "dev1", "-cores", "4")[0], 0)
        options = config_file.load(129).options
        self.assertEqual((options["cores"], "dev0" in options, "dev1" in options), (4, False, False))

    def test_removing_what_is_not_set_only_warns(self):
        self.container()
        status, _, err = self.pct("set", "129", "--delete", "dev7")
        self.assertEqual((status, err), (0, "cannot delete 'dev7' - not set in current configuration!\n"))

    def test_bad_words_end_with_255(self):
        self.container()
        cases = [
            ((), "no command specified"),
            (("frobnicate",), "unknown command 'pct frobnicate'"),
            (("clone", "129", "130"), "does not cover 'clone'"),
            (("status",), "400 not enough arguments"),
            (("status", "12"), "minimum value of 100"),
            (("status", "x"), "type check ('integer') failed - got 'x'"),
            (("set", "129", "--bogus", "1"), "Unknown option: bogus\n400 unable to parse option"),
            (("set", "129", "--cores"), "Option cores requires an argument"),
            (("set", "129", "cores"), "400 too many arguments"),
            (("set", "129", "--memory", "x"), "memory: type check ('integer') failed - got 'x'"),
            (("create", "130"), "400 not enough arguments"),
        ]
        for words, message in cases:
            with self.subTest(words=words):
                status, _, err = self.pct(*words)
                self.assertEqual(status, 255)
                self.assertIn(message, err)

    def test_create_reads_keys_from_a_file_and_shows_its_progress(self):
        self.write("/etc/lab/keys", "ssh-ed25519 AAAA me\n")
        given = {}

        def run(prepared, log):
            given.update(prepared[2])
            log("extracting")

        self.patch("labpve.create.run", run)
        keys = f"{self.root}/etc/lab/keys"
        words = ("create", "150", TEMPLATE, "--rootfs", "local-lvm:8", "--ssh-public-keys", keys)
        self.assertEqual(self.pct(*words), (0, "extracting\n", ""))
        self.assertEqual(given["ssh-public-keys"], "ssh-ed25519 AAAA me\n")
        words = ("create", "151", TEMPLATE, "--rootfs", "local-lvm:8")
        self.assertEqual(self.pct(*words)[0], 0)

    def test_unlock_takes_the_lock_away(self):
        self.container(lock="create")
        self.assertEqual(self.pct("unlock", "129")[0], 0)
        self.assertNotIn("lock", config_file.load(129).options)

    def test_a_failed_task_ends_with_255_and_its_message(self):
        self.container(dev0="/dev/nope0")
        self.assertEqual(self.pct("start", "129"), (255, "", "Device /dev/nope0 does not exist\n"))

    def test_a_missing_mount_source_stops_the_start(self):
        self.container(mp0=f"{self.root}/gone,mp=/x")
        self.write("/var/log/lxc-129.log", "")
        status, _, err = self.pct("start", "129")
        self.assertEqual(status, 255)
        self.assertTrue(err.endswith("startup for container '129' failed\n"))
        with open(f"{self.root}/var/log/lxc-129.log", encoding="utf-8") as file:
            self.assertIn(f"directory '{self.root}/gone' does not exist", file.read())

    def test_protection_and_state_keep_a_container(self):
        self.container(protection=1)
        self.assertEqual(self.pct("destroy", "129")[2], "can't remove CT 129 - protection mode enabled\n")
        self.container(running=True)
        self.assertEqual(self.pct("destroy", "129")[2], "unable to destroy CT 129 - container is running\n")
        self.assertEqual(self.pct("start", "129")[2], "CT 129 already running\n")
        self.assertTrue(config_file.exists(129))


class ArgumentsTest(NodeTest):
    def test_values_may_follow_or_be_joined(self):
        table = schema.container_options()
        parsed = pct_arguments.options(["--cores=4", "-memory", "512", "--onboot", "--hostname", "x"], table)
        self.assertEqual(parsed, {"cores": "4", "memory": "512", "onboot": "1", "hostname": "x"})

    def test_exec_keeps_the_environment_unless_told(self):
        self.assertEqual(pct_inside.split_exec(["--", "env", "-i"]), (True, ["env", "-i"]))
        self.assertEqual(
            pct_inside.split_exec(["--keep-env", "0", "--", "bash", "-s"]), (False, ["bash", "-s"])
        )
        self.assertEqual(pct_inside.split_exec(["--keep-env=0", "true"]), (False, ["true"]))
        self.assertEqual(pct_inside.split_exec(["ls", "-l"]), (True, ["ls", "-l"]))

    def test_exec_needs_a_command(self):
        for words in ([], ["--"], ["--keep-env", "0", "--"]):
            with self.assertRaises(pct_arguments.UsageError):
                pct_inside.split_exec(words)


class GuestsTest(NodeTest):
    def test_containers_with_an_order_come_first(self):
        self.container(101)
        self.container(102, startup="order=2")
        self.container(103, startup="order=1,up=5")
        self.container(100)
        self.assertEqual(sorted(config_file.vmids(), key=guests.order_of), [103, 102, 100, 101])

    def test_only_what_starts_on_boot_is_started_and_a_failure_stops_nobody(self):
        started = []

        def start(vmid, _log):
            started.append(vmid)
            if vmid == 101:
                raise OSError("broken")

        self.patch("labpve.lifecycle.start", start)
        for vmid, boot in ((101, 1), (102, 0), (103, 1)):
            self.container(vmid, onboot=boot)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(guests.main([]), 0)
        self.assertEqual(started, [101, 103])
        self.assertIn("CT 101: broken", out.getvalue())

    def test_the_stop_goes_the_other_way(self):
        stopped = []
        self.patch(
            "labpve.lifecycle.shutdown", lambda vmid, timeout, force: stopped.append((vmid, timeout, force))
        )
        self.container(101, running=True, startup="order=1,down=9")
        self.container(102, running=True)
        self.container(103)
        with contextlib.redirect_stdout(io.StringIO()):
            guests.main(["stop"])
        self.assertEqual(stopped, [(102, 60, True), (101, 9, True)])
