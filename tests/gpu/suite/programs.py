"""The suite's CUDA programs, compiled by this machine's nvcc when a case wants them."""

import contextlib
import fcntl
import pathlib
import subprocess

from suite.case import Skip
from suite.machine import SOURCE

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "programs"
VARIANTS = {"": [], "static": ["-cudart", "static"],
            "per_thread": ["--default-stream", "per-thread"],
            "library": ["-shared", "-Xcompiler", "-fPIC"]}


class Compiler:
    def __init__(self, machine, folder):
        self._machine, self._folder = machine, pathlib.Path(folder)

    def _flags(self, source, variant):
        machine = self._machine
        flags = ["-std=c++17", "-O2", f"-arch={machine.architecture}", "-I", str(SOURCE), *VARIANTS[variant]]
        if variant != "static":
            flags += ["-cudart", "shared"]
        elif machine.library("libcudart_static.a") is None:
            raise Skip("libcudart_static.a is not here")
        headers = ["nvtx3/nvToolsExt.h"] + (["nccl.h"] if "nccl" in source.name else [])
        for header in headers:
            folder = machine.include(header)
            if folder is None:
                raise Skip(f"{header} is not here")
            flags += ["-isystem", str(folder)]
        return flags + self._libraries(source, variant)

    def _libraries(self, source, variant):
        """Whole paths: wheels have no unversioned names for the linker to find."""
        flags = []
        if variant != "static":
            folder = self._machine.library("libcudart.so")
            if folder is None:  # -lcudart wants that name: give it one
                folder = self._folder / "links"
                folder.mkdir(parents=True, exist_ok=True)
                real = next(self._machine.library("libcudart.so.*").glob("libcudart.so.*"))
                link = folder / "libcudart.so"
                with contextlib.suppress(FileExistsError):  # two cases at the same time
                    link.symlink_to(real)
            flags += ["-L", str(folder)]
        if "nccl" in source.name:
            folder = self._machine.library("libnccl.so.2")
            if folder is None:
                raise Skip("libnccl.so.2 is not here")
            flags += ["-Xlinker", str(folder / "libnccl.so.2")]
        return flags

    def program(self, name, variant=""):
        """The compiled program; made once, whichever cases run at the same time."""
        if self._machine.nvcc is None:
            raise Skip("nvcc is not here")
        source = PROGRAMS / f"{name}.cu"
        target = self._folder / (f"{name}_{variant}" if variant else name)
        self._folder.mkdir(parents=True, exist_ok=True)
        newest = max(path.stat().st_mtime for path in (source, *PROGRAMS.glob("*.cuh")))
        with open(f"{target}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if target.exists() and target.stat().st_mtime >= newest:
                return target
            command = [self._machine.nvcc, *self._flags(source, variant), str(source), "-o", f"{target}.new"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command)}: {(done.stdout + done.stderr)[-1500:]}")
            pathlib.Path(f"{target}.new").rename(target)
        return target
