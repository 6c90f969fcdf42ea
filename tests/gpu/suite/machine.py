"""The machine: its GPU, its compiler, where its CUDA libraries are, the versions of everything."""

import datetime
import functools
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[3]
SUITE = pathlib.Path(__file__).resolve().parent


def output_of(*command, timeout=60):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def has_module(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def all_with(folders, pattern):
    """Those of the folders that hold a file of this pattern."""
    return (pathlib.Path(folder) for folder in folders if glob.glob(f"{folder}/{pattern}"))


def first_with(folders, pattern):
    return next(all_with(folders, pattern), None)


UNSAFE_CUPTI = 130000  # agent/device/cupti_library.hpp


def cupti_version(library):
    """130100 for 13.1; None where it does not say."""
    said = output_of(sys.executable, SUITE / "ask_cupti.py", library)
    return int(said) if said else None


class Machine:
    """simulate: the build folder whose simulated libraries stand for the GPU, or None."""

    def __init__(self, simulate=None):
        self.simulate = simulate

    @functools.cached_property
    def gpus(self):
        if self.simulate:
            return ["simulated GPU"]
        query = "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"
        return output_of("nvidia-smi", *query).splitlines()

    @functools.cached_property
    def architecture(self):
        if self.simulate:
            return "sm_90"
        return "sm_" + self.gpus[0].split(",")[1].strip().replace(".", "")

    @functools.cached_property
    def nvcc(self):
        found = [os.environ.get("NVCC"), SOURCE / "build/deps/cuda/bin/nvcc", shutil.which("nvcc"),
                 "/usr/local/cuda/bin/nvcc"]
        return next((str(path) for path in found if path and os.access(path, os.X_OK)), None)

    @functools.cached_property
    def _roots(self):
        """Toolkits and NVIDIA's wheels, the compiler's own first."""
        roots = [pathlib.Path(self.nvcc).resolve().parents[1]] if self.nvcc else []
        roots += [SOURCE / "build/deps/cuda", SOURCE / "build/deps/nccl", pathlib.Path("/usr/local/cuda")]
        for folder in sys.path:
            roots += sorted(pathlib.Path(folder or ".").glob("nvidia/*"))
        return [*roots, pathlib.Path("/usr")]

    def include(self, header):
        """The folder to give to -isystem."""
        places = [root / below for root in self._roots
                  for below in ("include", "targets/x86_64-linux/include", "extras/CUPTI/include")]
        return first_with(places, header)

    def _simulated(self):
        return [self.simulate / "sim/lib", self.simulate / "sim/cupti"]

    def _libraries(self, pattern):
        """The folders that hold libcudart.so.*, say, the first choice first."""
        if self.simulate:
            yield from all_with(self._simulated(), pattern)
        yield from all_with((root / below for root in self._roots for below in
                             ("lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64", "lib/x86_64-linux-gnu")),
                            pattern)

    def library(self, pattern):
        """The folder that holds libcudart.so.*, say; NVIDIA's wheels have no unversioned names."""
        return next(self._libraries(pattern), None)

    def library_path(self):
        """LD_LIBRARY_PATH of a program that nvcc made."""
        if self.simulate:
            return ":".join(map(str, self._simulated()))
        folders = [self.library(name) for name in ("libcudart.so.*", "libnccl.so.2", "libcupti.so.*")]
        return ":".join(dict.fromkeys(str(folder) for folder in folders if folder))

    @functools.cached_property
    def torch_facts(self):
        """{what: version} of PyTorch, and its CUPTI's path; {} where there is none."""
        said = output_of(sys.executable, SUITE / "ask_torch.py", timeout=120)
        return json.loads(said) if said else {}

    @functools.cached_property
    def torch_cupti_version(self):
        """Of the library that torch.profiler uses."""
        path = self.torch_facts.get("CUPTI of PyTorch")
        return cupti_version(path) if path else None

    @functools.cached_property
    def _cupti_paths(self):
        """Several toolkits and wheels may lie beside each other."""
        paths = [path for folder in self._libraries("libcupti.so.1*") for path in sorted(folder.glob("libcupti.so.1*"))]
        own = self.torch_facts.get("CUPTI of PyTorch")
        return list(dict.fromkeys(path.resolve() for path in [*paths, *([pathlib.Path(own)] if own else [])]))

    @functools.cached_property
    def has_unsafe_cupti(self):
        """The agent leaves that of CUDA 13.0 alone, unless it is told not to: here it is to be seen."""
        return any(cupti_version(path) == UNSAFE_CUPTI for path in self._cupti_paths)

    def _cupti_facts(self):
        own = self.torch_facts.get("CUPTI of PyTorch")
        mine = pathlib.Path(own).resolve() if own else None
        said = [f"{cupti_version(path) or 'no version'}, {path}{' (of PyTorch)' if path == mine else ''}"
                for path in self._cupti_paths]
        return "; ".join(said + ["used by device.unsafe_cupti"] * self.has_unsafe_cupti)

    def facts(self):
        """{what: version}, for the head of RESULTS.md."""
        facts = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
                 "GPU": "; ".join(self.gpus) or "none"}
        if not self.simulate:
            facts["driver"] = self.gpus[0].split(",")[2].strip() if self.gpus else "none"
        release = re.search(r"release ([\d.]+)", output_of(self.nvcc, "--version") if self.nvcc else "")
        facts["nvcc"] = release[1] if release else "none"
        for what in ("PyTorch", "CUDA of PyTorch", "NCCL of PyTorch"):
            facts[what] = self.torch_facts.get(what) or "none"
        facts["CUPTI"] = self._cupti_facts() or "none"
        facts["Python"] = sys.version.split()[0]
        facts["glibc"] = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
        return facts
