"""Runs of the programs: where each happens, with which variables, and what it showed."""
import gzip
import json
import os
import re
import shutil
import zlib

import keeper
import sanitizers
import preloaded
import states

LIMIT_S = 90 if not sanitizers.SANITIZED else 180
PARALLEL = 3


def is_packed_trace(path):
    try:
        return bool(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"])
    except (OSError, EOFError, ValueError, zlib.error):
        return False


class Place:
    """Where one run happens: a working folder, the outputs, and folders for rings and traces."""

    def __init__(self, base, rings, case, state):
        self.case, self.state = case, state
        self.folder = base / f"{case.name}-{state}"
        self.rings = rings / f"{case.name}-{state}"
        self.work = self.folder / "work"
        for folder in (self.work, self.rings):
            folder.mkdir(parents=True)
        # Programs that give up root must be as able as before.
        for folder in (self.folder, self.work):
            folder.chmod(0o777)
        self.rings.chmod(0o777)

    def left_of_agent(self):
        files = [path for path in (self.folder / "traces").rglob("*") if "rank" in path.name]
        rings = [path for path in self.rings.rglob("*") if path.is_file()]
        return {"file": bool(files), "packed": bool(files) and all(map(is_packed_trace, files)), "ring": bool(rings),
                "any": bool(files or rings)}


class Runner:
    def __init__(self, build, base, rings, forks):
        self.build, self.base, self.rings, self.forks = build, base, rings, forks
        self.programs = build / "transparency"
        self.agent = build / "lib/libtraceagent.so"
        self.copy = base / "copy-of-libtraceagent.so"
        shutil.copy(self.agent, self.copy)

    def filled(self, text):
        for name, value in (("programs", self.programs), ("deps", self.build / "deps"), ("forks", self.forks)):
            text = text.replace(f"{{{name}}}", str(value))
        return text

    def command(self, case):
        words = [self.filled(word) for word in case.command]
        return words if words[0].startswith("/") else [str(self.programs / words[0]), *words[1:]]

    def preload(self, case, with_agent):
        names = {"agent": self.agent, "copy": self.copy, "clock": self.programs / "libraries/libjumping_clock.so",
                 "tool": self.programs / "libraries/libtiming_tool.so",
                 "cudart_tool": self.programs / "libraries/libcudart_timing_tool.so"}
        names |= {name: other.path(self.build) for name, other in preloaded.OTHERS.items()}
        wanted = [name for name in case.preload.split(":") if with_agent or name not in ("agent", "copy")]
        return ":".join(str(names[name]) for name in wanted)

    def variables(self, place):
        case = place.case
        kept = {key: value for key, value in os.environ.items()
                if not re.match(r"TRACEAGENT_|SIMGPU_|OMPI_|PMI|SLURM_|NCCL_|NVTX_|CUDA_|(RANK|LOCAL_RANK|WORLD_SIZE)$|"
                                r"LD_PRELOAD$", key)}
        libraries = [*map(self.filled, case.folders), self.build / "sim/lib", self.build / "sim/cupti",
                     self.programs / "libraries"]
        if case.libraries == "synchronous":
            libraries.insert(0, self.programs / "synchronous")
        kept["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
        state = states.STATES[place.state]
        preload = self.preload(case, state is not None)
        if preload:
            kept["LD_PRELOAD"] = preload
        if state is not None:
            kept |= {"TRACEAGENT_RING_FOLDER": str(place.rings), "TRACEAGENT_RUN_NAME": "run",
                     "TRACEAGENT_OUTPUT_FOLDER": str(place.folder / "traces"), **state}
        kept |= sanitizers.variables(place.folder / "sanitizer-report")
        return kept | {key: self.filled(value) for key, value in case.environment.items()}

    def start(self, place):
        return keeper.start(place.folder / "result", self.command(place.case), self.variables(place), place.work,
                            place.folder / "out", place.folder / "err", LIMIT_S + self.forks)


class Ended:
    """What one run showed, as it is compared."""

    def __init__(self, place):
        self.place = place
        result = json.loads((place.folder / "result").read_text()) if (place.folder / "result").exists() else {}
        self.code, self.left = result.get("code", "no result"), result.get("left", 0)
        self.seconds = result.get("seconds", 0)
        paths = re.compile("|".join(map(re.escape, (str(place.folder), str(place.rings)))))
        self.files = json.loads(paths.sub("PLACE", json.dumps(result.get("files", {}))))
        self.out, err = (paths.sub("PLACE", (place.folder / name).read_text(errors="replace")).splitlines()
                         if (place.folder / name).exists() else [] for name in ("out", "err"))
        self.reports = sanitizers.reports(place.folder)
        self.said = [line for line in err if line.startswith("traceagent: ")]
        self.err = [line for line in err if not line.startswith("traceagent: ")]

    def all_lines(self):
        return self.out + [line for _, content in self.files.values() for line in content.splitlines()]

    def shown(self, case, used=None):
        allowed = [*states.ALLOWED_LINES, *case.shows]
        seen = {"code": self.code, "left running": self.left,
                "out": states.without_allowed(self.out, allowed, used), "err": self.err,
                "files": {name: [mode, states.without_allowed(content.splitlines(), allowed, used)]
                          for name, (mode, content) in self.files.items()}}
        return {key: value for key, value in seen.items() if key not in case.unwatched}


def run_all(runner, places, parallel):
    waiting, running = list(reversed(places)), {}
    while waiting or running:
        while waiting and len(running) < parallel:
            place = waiting.pop()
            running[runner.start(place)] = place
        pid, _ = os.wait()
        running.pop(pid, None)
