"""One program under valgrind's memcheck, alone or with the agent, and what was found in it."""

import json
import os
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "transparency"))

# The path above comes first: what is imported here lies there.
import keeper  # noqa: E402

LIMIT_S = 240
FRAMES = 6  # an error is what it is and where: so many callers
# Fair: of threads that spin one can hold valgrind's lock for minutes, and main, which is to end, waits.
OPTIONS = ["--quiet", "--trace-children=yes", "--child-silent-after-fork=no", "--num-callers=24", "--xml=yes",
           "--fair-sched=yes"]
# What the agent keeps until the process ends looks lost where the process ends without its threads. XML brings
# the search for leaks with it. tests/soak watches memory.
LEAK = "Leak_"
# The loader reads strings by eight bytes, beyond their ends: so it does for any library that is opened.
LOADER = re.compile(r"/ld-linux[^/]*$")
# libunwind, other people's too, asks the kernel what can be read, by a call with an address that may be none.
PROBES = re.compile(r"/libunwind\.so")
OUR_OWN = re.compile(r"/libtraceagent\.so$|/traceagent(-upload)?$")
# Valgrind says these of any program that it does not follow in all.
NOT_OF_PROGRAMS = re.compile(r"^(==|--)\d+(==|--)|^valgrind: |^traceagent: ")


class Found:
    """Errors as (kind, frames) → how it was told, of all processes of a run."""

    def __init__(self, code, out, err, logs):
        self.code, self.out, self.err = code, out, err
        self.errors, self.unread = {}, []
        for log in logs:
            self._read(log)

    def _read(self, log):
        text = log.read_text(errors="replace")
        # Who was killed, or left by _exit in the middle of a line, left no end.
        if "</valgrindoutput>" not in text:
            text = text[:text.rfind("</error>") + 8] + "</valgrindoutput>" if "<error>" in text else ""
        if not text.strip():
            return
        try:
            root = xml.etree.ElementTree.fromstring(re.sub(r"[\x00-\x08\x0b-\x1f]", "?", text))
        except xml.etree.ElementTree.ParseError as problem:
            self.unread.append(f"{log.name}: {problem}")
            return
        for error in root.iter("error"):
            frames = [(frame.findtext("fn") or "?", frame.findtext("obj") or "?")
                      for frame in error.find("stack").iter("frame")]
            kind = error.findtext("kind")
            if kind.startswith(LEAK):
                continue
            key = kind, tuple((name, pathlib.Path(where).name) for name, where in frames[:FRAMES])
            is_probe = kind == "SyscallParam" and any(PROBES.search(where) for _, where in frames[1:2])
            if frames and (LOADER.search(frames[0][1]) or is_probe):
                continue
            self.errors[key] = error.findtext("what") or error.findtext("xwhat/text") or kind, frames

    def is_ours(self, key):
        return any(OUR_OWN.search(where) for _, where in self.errors[key][1])


def told(found, key):
    what, frames = found.errors[key]
    lines = [f"    {name} ({pathlib.Path(where).name})" for name, where in frames[:14]]
    return "\n".join([f"  {what}", *lines])


def command(logs):
    """What a program's command line is put behind; each process writes a log."""
    return [shutil.which("valgrind"), *OPTIONS, f"--xml-file={logs}/%p.xml"]


def run(program, variables, folder):
    """Everything that it starts ends with it."""
    work, logs = folder / "work", folder / "logs"
    for each in (work, logs):
        each.mkdir(parents=True)
        each.chmod(0o777)
    words = [*command(logs), *map(str, program)]
    pid = keeper.start(folder / "result", words, variables, work, folder / "out", folder / "err", LIMIT_S)
    os.waitpid(pid, 0)
    result = json.loads((folder / "result").read_text()) if (folder / "result").exists() else {}
    out, err = ((folder / name).read_text(errors="replace").splitlines() for name in ("out", "err"))
    return Found(result.get("code", "no result"), out, [line for line in err if not NOT_OF_PROGRAMS.match(line)],
                 sorted(logs.glob("*.xml")))
