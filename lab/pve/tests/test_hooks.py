"""Hook scripts."""

import os

from support import NodeTest

from labpve import hooks, node


class HooksTest(NodeTest):
    def script(self, text, mode=0o755):
        self.write("/var/lib/vz/snippets/hook.sh", f"#!/bin/sh\n{text}\n")
        os.chmod(node.path("/var/lib/vz/snippets/hook.sh"), mode)
        return self.container(hookscript="local:snippets/hook.sh")

    def test_it_gets_the_id_and_the_phase(self):
        config = self.script(f'echo "$@" >{self.root}/called')
        hooks.run(129, config, "pre-start")
        with open(f"{self.root}/called", encoding="utf-8") as file:
            self.assertEqual(file.read(), "129 pre-start\n")

    def test_without_one_nothing_happens(self):
        hooks.run(129, self.container(), "pre-start", stop_on_error=True)

    def test_a_failure_counts_only_where_it_stops_the_start(self):
        config = self.script("exit 3")
        hooks.run(129, config, "post-start")
        text = "hookscript error for 129 on pre-start: failed with exit code 3"
        self.assert_refused(lambda: hooks.run(129, config, "pre-start", stop_on_error=True), text)

    def test_what_cannot_be_run_is_refused(self):
        self.script("exit 0", mode=0o644)
        self.assert_refused(lambda: hooks.check("local:snippets/hook.sh"), "is not executable")
        self.assert_refused(lambda: hooks.check("local:snippets/none.sh"), "does not exist")
        text = "is not in the snippets directory"
        self.assert_refused(lambda: hooks.check("local:vztmpl/debian.tar.zst"), text)
