"""Locks between operations that run at the same time."""

import threading

from support import NodeTest

from labpve import change, config_file, locks, pools


class LocksTest(NodeTest):
    def setUp(self):
        super().setUp()
        self.patch("labpve.lxc_config.write", lambda vmid, config: None)

    def test_a_held_lock_is_waited_for_and_then_told(self):
        def wait():
            with locks.config_lock(129, timeout=0.2):
                pass

        with locks.config_lock(129):
            text = "/run/lock/lxc/pve-config-129.lock' - got timeout"
            self.assert_refused(wait, text)
        wait()

    def test_containers_do_not_wait_for_each_other(self):
        with locks.config_lock(129), locks.config_lock(130, timeout=0.2):
            pass

    def test_no_change_is_lost_among_many_at_once(self):
        self.container()
        options = [f"mp{number}" for number in range(12)]
        workers = [
            threading.Thread(target=change.update, args=(129, {option: f"/srv,mp=/{option}"}))
            for option in options
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertLessEqual(set(options), set(config_file.load(129).options))

    def test_no_pool_member_is_lost_among_many_at_once(self):
        pools.create("gpu")
        workers = [threading.Thread(target=pools.add, args=("gpu", vmid)) for vmid in range(200, 220)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(sorted(pools.load()["gpu"]), list(range(200, 220)))
        pools.remove(205)
        self.assertNotIn(205, pools.load()["gpu"])
