#!/usr/bin/env python3
"""What packaging/setup decides about CUDA: a copy of it on a made-up machine, where toolkits are
empty files, Debian's packages are all installed, and pip notes what it is asked for.

usage: setup_test.py
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
WHEEL_TREE = """bin/nvcc bin/crt/link.stub nvvm/bin/cicc lib/libcudart.so.13 lib/libcupti.so.13
    include/cuda_runtime.h include/crt/host_config.h include/cupti.h include/nvtx3/nvToolsExt.h"""

DPKG = """#!/bin/sh
awk '!/^#/ {print "installed " $2}' "$MACHINE/packaging/debian_packages.txt"
"""
# Answers with NVIDIA's wheels as they unpack, or, where PIP_FAILS, with pip's own words.
PIP = f"""#!/usr/bin/env bash
set -e
echo "$*" >>"$MACHINE/pip_calls"
[[ -z ${{PIP_FAILS:-}} ]] || {{ echo 'ERROR: No matching distribution' >&2; exit 1; }}
while (($#)); do
  [[ $1 != --target ]] || to=$2
  [[ $1 != -r ]] || cat "$2" >>"$MACHINE/pip_wanted"
  shift
done
for file in {" ".join(WHEEL_TREE.split())}; do
  [[ $file != "${{PIP_FORGETS:-}}" ]] || continue
  install -D -m 755 /dev/null "$to/nvidia/cu13/$file"
done
install -D /dev/null "$to/nvidia/nccl/include/nccl.h"
install -D /dev/null "$to/nvidia/nccl/lib/libnccl.so.2"
mkdir -p "$to/nvidia_nccl.dist-info"
"""


def put(path, text="", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


class Machine:
    """A folder that setup takes for its checkout and for /usr."""

    def __init__(self, root):
        self.root = root
        (root / "packaging").mkdir()
        for name in ("debian_packages.txt", "cuda_wheels.txt"):
            shutil.copy(SOURCE / "packaging" / name, root / "packaging")
        text = (SOURCE / "packaging/setup").read_text()
        for folder in ("/usr/local/cuda", "/usr/include", "/usr/lib"):
            assert folder in text, folder
            text = text.replace(folder, f"{root}{folder}")
        put(root / "packaging/setup", text, 0o755)
        put(root / "stubs/dpkg-query", DPKG, 0o755)
        put(root / "stubs/nvcc", "", 0o755)  # whatever this machine has of its own is not met
        put(root / "build/venv/bin/pip", PIP, 0o755)
        put(root / "build/venv/bin/python", "#!/bin/sh\n", 0o755)

    def toolkit(self, place, version, nccl="2.28", without=(), cupti_apart=False):
        """An installed toolkit: its files' names, and the version numbers that setup reads."""
        top, major = self.root / place, version.split(".")[0]
        cupti = "extras/CUPTI/" if cupti_apart else ""
        number = int(major) * 1000 + int(version.split(".")[1]) * 10
        files = {
            "bin/nvcc": "", "include/cuda_runtime.h": "", "include/nvtx3/nvToolsExt.h": "",
            "include/cuda.h": f"#define CUDA_VERSION {number}\n",
            f"lib64/libcudart.so.{major}": "", "lib64/libnccl.so.2": "",
            f"{cupti}include/cupti.h": "", f"{cupti}lib64/libcupti.so.{major}": "",
            "include/nccl.h": "#define NCCL_MAJOR {}\n#define NCCL_MINOR {}\n".format(*nccl.split(".")),
        }
        for name, text in files.items():
            if os.path.basename(name) not in without:
                put(top / name, text, 0o755)
        return top

    def setup(self, cuda_home="", **variables):
        environment = {
            "PATH": f"{self.root}/stubs:/usr/bin:/bin", "HOME": str(self.root),
            "MACHINE": str(self.root), "CUDA_HOME": str(cuda_home), **variables}
        return subprocess.run([self.root / "packaging/setup"], env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=100)

    def read(self, name):
        path = self.root / name
        return path.read_text() if path.exists() else ""


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="traceagent-setup-")
        self.addCleanup(self.folder.cleanup)
        self.machine = Machine(pathlib.Path(self.folder.name).resolve())

    def run_setup(self, expected=0, **arguments):
        done = self.machine.setup(**arguments)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        return done

    def assert_takes(self, toolkit, **arguments):
        done = self.run_setup(**arguments)
        self.assertIn(f"setup: CUDA Toolkit: {toolkit}\n", done.stdout)
        self.assertEqual(self.machine.read("build/deps/toolkit_root"), f"{toolkit}\n")
        self.assertFalse((self.machine.root / "build/deps/cuda").exists())

    def assert_fetches(self, reason, **arguments):
        done = self.run_setup(**arguments)
        self.assertIn(reason, done.stdout)
        self.assertIn("CUDA Toolkit: build/deps/cuda", done.stdout)
        self.assertFalse((self.machine.root / "build/deps/toolkit_root").exists())
        self.assertIn("nvidia-cuda-nvcc==", self.machine.read("pip_wanted"))

    def test_takes_an_installed_toolkit_13_and_fetches_nothing(self):
        toolkit = self.machine.toolkit("opt/cuda", "13.0")
        for _ in range(2):
            self.assert_takes(toolkit, cuda_home=toolkit)
        self.assertEqual(self.machine.read("pip_calls"), "")

    def test_takes_a_toolkit_of_the_usual_place_with_cupti_apart(self):
        toolkit = self.machine.toolkit("usr/local/cuda-12.9", "12.9", cupti_apart=True)
        self.assert_takes(toolkit)

    def test_fetches_the_simulated_gpus_headers_for_an_older_toolkit_once(self):
        for version, nccl in (("12.4", "2.28"), ("13.0", "2.21")):
            toolkit = self.machine.toolkit(f"opt/{version}", version, nccl=nccl)
            for _ in range(2):
                self.assert_takes(toolkit, cuda_home=toolkit)
        wanted = self.machine.read("pip_wanted")
        self.assertIn("nvidia-cuda-cupti==", wanted)
        self.assertNotIn("nvidia-cuda-nvcc==", wanted)
        self.assertEqual(self.machine.read("pip_calls").count("--target"), 1)
        self.assertTrue((self.machine.root / "build/deps/test_headers/include/nccl.h").exists())

    def test_builds_with_an_older_toolkit_though_pip_has_no_headers(self):
        toolkit = self.machine.toolkit("opt/cuda", "12.4")
        done = self.run_setup(cuda_home=toolkit, PIP_FAILS="1")
        self.assertIn("no simulated GPU and no tests will be built", done.stdout)

    def test_passes_over_an_incomplete_toolkit_to_a_complete_one(self):
        incomplete = self.machine.toolkit("opt/cuda", "13.0", without=["cupti.h"])
        toolkit = self.machine.toolkit("usr/local/cuda-13.0", "13.0")
        self.assert_takes(toolkit, cuda_home=incomplete)

    def test_completes_an_incomplete_toolkit_with_the_wheels(self):
        cases = {
            "no cupti.h": {"without": ["cupti.h"]},
            "no libcupti.so.13": {"without": ["libcupti.so.13"]},
            "no nccl.h of NCCL 2.18 or later": {"without": ["nccl.h"]},
            "no libnccl.so.2": {"without": ["libnccl.so.2"]},
            "no nvtx3/nvToolsExt.h": {"without": ["nvToolsExt.h"]},
            "no bin/nvcc": {"without": ["nvcc"]},
        }
        for number, (reason, missing) in enumerate(cases.items()):
            toolkit = self.machine.toolkit(f"opt/{number}", "13.0", **missing)
            shutil.rmtree(self.machine.root / "build/deps", ignore_errors=True)
            self.assert_fetches(f"({toolkit}: {reason})", cuda_home=toolkit)

    def test_names_no_toolkit_where_there_is_none(self):
        (self.machine.root / "stubs/nvcc").unlink()
        done = self.run_setup()
        self.assertIn("setup: no complete CUDA Toolkit here", done.stdout)
        self.assertNotIn("(.: ", done.stdout)

    def test_refuses_versions_that_it_does_not_know(self):
        old = self.machine.toolkit("opt/old", "11.8")
        self.assert_fetches("CUDA 11, not 12 or 13", cuda_home=old)
        shutil.rmtree(self.machine.root / "build/deps")
        nccl = self.machine.toolkit("opt/nccl", "13.0", nccl="2.17")
        self.assert_fetches("no nccl.h of NCCL 2.18 or later", cuda_home=nccl)

    def test_keeps_the_wheels_that_are_there(self):
        for _ in range(2):
            done = self.run_setup()
            self.assertIn("CUDA Toolkit: build/deps/cuda", done.stdout)
        toolkit = self.machine.toolkit("opt/cuda", "13.0")
        done = self.run_setup(cuda_home=toolkit)
        self.assertIn("CUDA Toolkit: build/deps/cuda", done.stdout)
        self.assertEqual(self.machine.read("pip_calls").count("--target"), 1)

    def test_says_in_one_line_what_to_install_where_nothing_can_be_had(self):
        toolkit = self.machine.toolkit("opt/cuda", "13.0", without=["nccl.h"])
        done = self.run_setup(expected=1, cuda_home=toolkit, PIP_FAILS="1")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in ("traceagent: setup: CUDA Toolkit: ", f"{toolkit}: no nccl.h", "libnccl-dev",
                     "CUPTI", "build/deps/.pip_log"):
            self.assertIn(part, done.stderr)
        self.assertIn("No matching distribution", self.machine.read("build/deps/.pip_log"))
        self.assert_fetches("no nccl.h", cuda_home=toolkit)

    def test_refuses_wheels_that_lack_something(self):
        done = self.run_setup(expected=1, PIP_FORGETS="include/cupti.h")
        self.assertIn("missing: build/deps/cuda/include/cupti.h", done.stdout)
        self.assertFalse((self.machine.root / "build/deps/.toolkit").exists())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
