"""The checks before a start, and who owns a port."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import support
from sglang_probe import ports
from test_gate import free_port

CUDA = """
int cuInit(unsigned flags) { return %(init)d; }
int cuDeviceGetCount(int *count) { *count = %(count)d; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = 0; return device == %(broken)d ? 999 : 0; }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
"""
CARD = "{index}, GPU-{index}, NVIDIA RTX A6000, {free}, 49140\n"


class Preflight(support.ProbeTestCase):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        self.model.mkdir()
        (self.model / "config.json").write_text("{}")
        (self.model / "model.safetensors").write_text("x")
        self.set_gpus(49000, 49000)

    def set_gpus(self, *free):
        (self.folder / "gpus").write_text("".join(CARD.format(index=index, free=mib) for index, mib in enumerate(free)))
        (self.folder / "processes").write_text("GPU-1, 4711, /usr/bin/python3, 30000\n")

    def set_cuda(self, count=2, init=0, broken=-1):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler (cc, gcc) to build a stand-in libcuda")
        source = self.folder / "cuda.c"
        source.write_text(CUDA % {"count": count, "init": init, "broken": broken})
        subprocess.run([compiler, "-shared", "-fPIC", "-o", self.folder / "libcuda.so.1", source], check=True)
        os.environ["LD_LIBRARY_PATH"] = str(self.folder)

    def preflight(self, **spec):
        """(exit code, all lines) of a preflight on a free port."""
        spec = {"modelPath": str(self.model), **spec}
        code, out, err = self.run_verb("preflight", "--spec", self.spec(spec.pop("port", None) or free_port(), **spec))
        return code, out + err.splitlines()

    def test_a_machine_that_is_ready_passes(self):
        self.set_cuda()
        gpus = {"count": 2, "uuids": ["GPU-0", "GPU-1"], "freeMiB": 40000}
        self.assertEqual(self.preflight(gpus=gpus), (0, ["preflight: qwen may start (port, model, GPUs checked)"]))

    def test_a_taken_port_is_named_with_its_owner(self):
        service = self.service()
        code, lines = self.preflight(port=service.port)
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertRegex(lines[0], rf"port {service.port} is taken by PID {os.getpid()} \(")

    def test_what_a_model_directory_lacks_is_named(self):
        index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}}
        (self.model / "model-1.safetensors").write_text("x")
        (self.model / "model-2.safetensors").write_text("")
        (self.model / "model.safetensors.index.json").write_text(json.dumps(index))
        (self.model / "config.json").unlink()
        _, lines = self.preflight()
        self.assertRegex(lines[0], "config.json does not exist")
        (self.model / "config.json").write_text("{}")
        code, lines = self.preflight()
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"1 of 2 files of the index are missing or empty: model-2\.safetensors")
        self.assertRegex(self.preflight(modelPath="/nowhere")[1][0], "/nowhere does not exist: is the mount there")

    def test_a_held_card_is_found_and_its_holder_named(self):
        self.set_cuda()
        self.set_gpus(49000, 19000)
        code, lines = self.preflight(gpus={"count": 2, "freeMiB": 40000})
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertRegex(
            lines[0],
            r"GPU 1 .*19000 of 49140 MiB are free, 40000 are needed: PID 4711 \(/usr/bin/python3\) holds 30000 MiB",
        )
        (self.folder / "processes").write_text("")
        self.assertIn("cannot be seen from here", self.preflight(gpus={"count": 2, "freeMiB": 40000})[1][0])

    def test_missing_gpus_are_named_by_uuid(self):
        self.set_cuda(count=1)
        self.set_gpus(49000)
        code, lines = self.preflight(gpus={"count": 2, "uuids": ["GPU-0", "GPU-1"]})
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], "GPU GPU-1 is not visible")
        self.assertRegex(lines[1], "1 GPUs are visible, 2 are needed")
        self.assertRegex(lines[2], "CUDA opens 1 devices, 2 are needed")

    def test_a_driver_that_does_not_answer_is_one_line(self):
        (self.folder / "gpus").unlink()
        code, lines = self.preflight(gpus={"count": 2})
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertRegex(lines[0], "couldn't communicate with the NVIDIA driver")

    def test_a_gpu_that_is_listed_but_does_not_open_is_found(self):
        self.set_cuda(init=999)
        self.assertRegex(self.preflight(gpus={"count": 2})[1][0], "CUDA: cuInit: .*999.*nvidia-uvm")
        self.set_cuda(broken=1)
        self.assertRegex(self.preflight(gpus={"count": 2})[1][0], "CUDA: device 1 cannot be opened")


class Ports(unittest.TestCase):
    def test_a_process_belongs_to_a_unit_by_control_group_or_descent(self):
        listener = {"pid": os.getpid(), "command": "x", "cgroup": "0::/system.slice/sglang-qwen.service"}
        self.assertTrue(ports.belongs_to(listener, "sglang-qwen.service", 0))
        self.assertFalse(ports.belongs_to(listener, "sglang-qwe.service", 0))
        listener["cgroup"] = ""
        self.assertTrue(ports.belongs_to(listener, "sglang-qwen.service", os.getppid()))
        self.assertFalse(ports.belongs_to(listener, "sglang-qwen.service", 0))

    def test_a_listener_of_an_invisible_process_is_still_reported(self):
        listener = {"pid": None, "command": "a process that this user may not see", "cgroup": ""}
        self.assertFalse(ports.belongs_to(listener, "sglang-qwen.service", os.getpid()))
        self.assertIn("may not see", ports.describe(listener))

    def test_arguments_that_may_hold_a_key_are_not_shown(self):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "--api-key=sk-very-secret"])
        self.addCleanup(lambda: (child.kill(), child.wait()))
        self.assertNotIn("sk-very-secret", ports._describe(child.pid, "/proc")["command"])


if __name__ == "__main__":
    unittest.main()
