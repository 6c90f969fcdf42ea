#!/usr/bin/env python3
"""What another user of the machine, or a name that the job chooses, can make the agent do: nothing. Files
are the owner's alone, planted links are not followed, names leave no folder and inject nothing."""
import itertools
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import unicodedata

from jobs import PROGRAMS, Checks, Place, bare_run, wait_until
from places import BUILD, LIBRARY

checks = Checks()
check = checks.check
PROGRAM = PROGRAMS / "hostile_names"
TOOL = BUILD / "bin/traceagent"
# No step: all is kept from the start.
# No step is found; the schedule begins with the first, and so CUPTI with the program.
WHOLE = {"TRACEAGENT_STEP_MARK": "nvtx:nothing", "TRACEAGENT_SCHEDULE": "wait=0", "TRACEAGENT_OUTPUT_FOLDER": "out"}
NAMES = ['"},{"ph":"X","name":"injected', "</script><script>alert(1)</script>", "../../../outside",
         "/absolute/outside", "a\x1b]0;title\x07\x1b[2J\x1b[31mred", "line\nfeed\rreturn\ttab", "\\u0022\\",
         "{rank}{run_name}", "%s%n%x", "\x7f\u202e right to left", "' onmouseover='x", "\x01\x02\x1f", "\u009b31m"]


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def same_as_bare(command, result, what):
    bare = bare_run(command)
    check((result.code, result.out, result.own_err()) == (bare.code, bare.out, bare.own_err()),
          f"{what}: {result}, without the agent {bare}")


def run(place, what, *names, **more):
    command = [PROGRAM, *(names or ["a name"])]
    result = place.run(command, place.agent(**{**WHOLE, **more}))
    same_as_bare(command, result, what)
    return result


def test_names():
    with Place() as place:
        result = run(place, "names", *NAMES)
        check(place.files() == ["out/ep0-ba0-rank0.json", "out/index/index.json", "out/node0.json"], f"names: {place.files()}")
        text = (place.path / "out/node0.json").read_bytes()
        check(not any(byte < 0x20 and byte != 0x0a for byte in text),
              "names: a control character stands in the file itself")
        trace = json.loads(text)
        ranges = {event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"}
        check(set(NAMES) <= ranges, f"names: ranges without {set(NAMES) - ranges}")
        kernels = {event["name"] for event in trace["traceEvents"] if event.get("cat") == "kernel"}
        check(set(NAMES) <= kernels, f"names: kernels without {set(NAMES) - kernels}")
        check("injected" not in {event["name"] for event in trace["traceEvents"]}, "names: an event injected")
        for words in (["check", "out/node0.json"], ["merge", "out/ep0-ba0-rank0.json", "-o", "again.json"]):
            shown = place.run([TOOL, *words])
            page = shown.out + shown.err
            check(shown.code == 0 and not any(unicodedata.category(c) == "Cc" and c != "\n" for c in page),
                  f"names: traceagent {words[0]} shows {page!r}")
        check(not any("\x1b" in line for line in result.lines()), f"names: {result.lines()!r}")


def test_run_names():
    """In folder and file names: what a run is called, by its owner's variables or by its program's name."""
    for name in NAMES + ["..", ".", "", "x" * 5000, "/dev/shm/outside"]:
        with Place() as place:
            inner = place.path / "a/b"
            inner.mkdir(parents=True)
            variables = place.agent(**WHOLE, TRACEAGENT_RUN_NAME=name)
            variables["TRACEAGENT_OUTPUT_FOLDER"] = "{run_name}"
            variables["TRACEAGENT_OUTPUT_FILENAME"] = "{run_name}-{rank}.json"
            variables["SLURM_JOB_ID"] = name
            done = subprocess.run([PROGRAM, "a name"], env=variables, cwd=inner, capture_output=True,
                                  text=True, timeout=120, stdin=subprocess.DEVNULL)
            check(done.returncode == 0 and done.stdout == "1 names\n", f"run name {name!r}: {done}")
            outside = [file for file in place.files() if not file.startswith("a/b/")]
            check(outside == [], f"run name {name!r}: written outside of its folder: {outside}")
            check(not any(c < " " or "\x7f" <= c < "\xa0" for c in done.stderr.replace("\n", "")), f"run name {name!r}: {done.stderr!r}")
            check(place.left_in_memory() == [], f"run name {name!r}: {place.left_in_memory()}")


def test_modes():
    for mask in (0, 0o027, 0o077):
        with Place() as place:
            script = f"umask {mask:o}; exec {PROGRAMS}/process_life sigkill"
            place.run(["/bin/sh", "-c", script], place.agent(**WHOLE))
            left = list(place.rings.rglob("*"))
            check(any(path.suffix == ".ring" for path in left), f"umask {mask:o}: no ring: {left}")
            for path in left:
                wanted = 0o700 if path.is_dir() else 0o600
                check(mode(path) == wanted, f"umask {mask:o}: {path.name} has mode {mode(path):o}")
            script = f"umask {mask:o}; exec {PROGRAM} one"
            place.run(["/bin/sh", "-c", script], place.agent(**WHOLE))
            for path in (place.path / "out").rglob("*"):
                wanted = (0o777 if path.is_dir() else 0o666) & ~mask
                check(mode(path) == wanted, f"umask {mask:o}: {path.name} has mode {mode(path):o}")
            check(mode(place.path / "out") == 0o777 & ~mask, f"umask {mask:o}: {mode(place.path / 'out'):o}")


def run_folder_name(place, **job):
    """As a killed run of the same job leaves it."""
    place.run([PROGRAMS / "process_life", "sigkill"], place.agent(**WHOLE, **job))
    (ring,) = place.rings.rglob("*.ring")
    name = ring.parent.name
    shutil.rmtree(ring.parent.parent)
    return name


def test_planted_ring_folders():
    """A link at the place of the user's folder or of the run's is refused, and what it leads to is left."""
    # Of two ranks: a single process's run is called by its pid.
    job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "planted",
           "TRACEAGENT_MERGE_MODE": "off"}
    for whose in ("user", "run"):
        with Place() as place:
            aim = place.path / "aim"
            aim.mkdir()
            users = place.rings / f"traceagent-{os.geteuid()}"
            planted = users if whose == "user" else users / run_folder_name(place, **job)
            planted.parent.mkdir(mode=0o700, exist_ok=True)
            planted.symlink_to(aim)
            result = run(place, f"planted {whose} folder", **job)
            check(list(aim.rglob("*")) == [], f"planted {whose} folder: written to {list(aim.rglob('*'))}")
            check(any("belongs to another user" in line for line in result.lines()),
                  f"planted {whose} folder: {result.lines()}")


def test_planted_output():
    with Place() as place:
        out = place.path / "out"
        out.mkdir()
        victim = place.path / "victim"
        victim.write_text("untouched")
        for name in ("ep0-ba0-rank0.json", "node0.json"):
            (out / name).symlink_to(victim)
        run(place, "planted output", TRACEAGENT_OUTPUT_OVERWRITE="true")
        check(victim.read_text() == "untouched", "planted output: the link's aim was written to")
        check(not (out / "node0.json").is_symlink() and place.trace("out/node0.json")["traceEvents"],
              "planted output: no node file in the link's place")
    with Place() as place:
        out = place.path / "out"
        out.mkdir()
        victim = place.path / "victim"
        victim.write_text("untouched")
        # The pid is known before the program is: its temporary names can be planted.
        plant = " ".join(f"'{name}'.tmp-$$" for name in (".ep0-ba0-rank0.json", ".node0.json"))
        script = f"for name in {plant}; do ln -s {victim} out/$name; done; exec {PROGRAM} one"
        place.run(["/bin/sh", "-c", script], place.agent(**WHOLE, TRACEAGENT_OUTPUT_OVERWRITE="true"))
        check(victim.read_text() == "untouched", "planted temporary names: the link's aim was written to")
        check(place.trace("out/node0.json")["traceEvents"], "planted temporary names: no node file")


def test_planted_upload():
    """The uploader says what is wrong in a file of the output folder, which others may be able to write."""
    with Place() as place:
        folder = place.path / "out/.traceagent-upload"
        folder.mkdir(parents=True)
        victim = place.path / "victim"
        victim.write_text("untouched")
        planted = folder / f"{socket.gethostname()}.problem.new"
        planted.symlink_to(victim)
        run(place, "planted upload", TRACEAGENT_OUTPUT_REMOTE="/proc/nowhere/", TRACEAGENT_UPLOAD_PATIENCE="1s")
        problem = planted.with_suffix("")
        said = wait_until(lambda: problem.exists() and problem.read_text())
        check(said and "/proc/nowhere/" in said, f"planted upload: the problem's file says {said!r}")
        check(victim.read_text() == "untouched", "planted upload: the link's aim was written to")


def planted_tools(prefix, owner):
    """In bin/ of a folder that holds the library too; what they were called with is in the file that comes back."""
    ran = prefix / "ran"
    (prefix / "bin").mkdir(parents=True)
    for name in ("traceagent", "traceagent-upload"):
        tool = prefix / "bin" / name
        tool.write_text(f"#!/bin/sh\necho $0 $1 >> {ran}\n")
        tool.chmod(0o755)
        os.chown(tool, owner, owner)
    os.chown(prefix / "bin", owner, owner)
    return ran


def test_planted_tools():
    """The library starts its own tools alone: not what lies in a bin/ that is not of its installation, or that
    others may write."""
    stranger = 12345 if os.geteuid() == 0 else os.geteuid()
    # Where the library lies, whose the tools are, the mode of their folder, and what is said.
    cases = [("alice", stranger, 0o755, "does not lie in lib/"), ("lib", os.geteuid(), 0o777, "may be written by others"),
             ("lib", os.geteuid(), 0o755, None)]
    if os.geteuid() == 0:
        cases.append(("lib", stranger, 0o755, "belongs to another user"))
    options = {"keeper": {"TRACEAGENT_KEEPER": "true"}, "output.remote": {"TRACEAGENT_OUTPUT_REMOTE": "exec:true {}"},
               "merge.include": {"TRACEAGENT_MERGE_INCLUDE": "*.pt.trace.json"}}
    for (folder, owner, folder_mode, word), (option, more) in itertools.product(cases, options.items()):
        what = f"{option}, library in {folder}/, bin/ of {owner}, {folder_mode:o}"
        with Place() as place:
            prefix = place.path / "prefix"
            ran = planted_tools(prefix, owner)
            (prefix / folder).mkdir()
            shutil.copy(LIBRARY, prefix / folder)
            prefix.chmod(0o755)
            (prefix / "bin").chmod(folder_mode)
            result = run(place, what, LD_PRELOAD=prefix / folder / LIBRARY.name, **more)
            lines = [line for line in result.lines() if option in line]
            if word:
                check(len(lines) == 1 and word in lines[0], f"{what}: {result.lines()}")
                check(not ran.exists(), f"{what}: was run: {ran.exists() and ran.read_text()}")
            else:
                check(wait_until(ran.exists), f"{what}: not run, or it is not seen: {result.lines()}")


def test_functions():
    """No network, no shell. What can start a program is named here: the library's two start the keeper and
    traceagent-upload, for who asks for them (that a job else starts nothing: tests/transparency/programs/
    starts_no_process.cpp)."""
    forbidden = {"socket", "socketpair", "bind", "listen", "accept", "accept4", "connect", "sendto", "sendmsg",
                 "getaddrinfo", "gethostbyname", "system", "popen", "posix_spawn", "posix_spawnp", "fork", "vfork",
                 "_Fork", "clone", "execv", "execve", "execveat", "fexecve", "execvp", "execlp", "execl", "execle",
                 "execvpe"}
    # traceagent run starts what it is given, traceagent check a shell to see whether the library loads,
    # traceagent upload the one beside it; that reaches the network through libcurl, and a user's own command.
    allowed = {LIBRARY: {"clone", "execve"}, TOOL: {"execv", "execvp", "execl", "fork", "posix_spawn"},
               BUILD / "bin/traceagent-upload": {"posix_spawnp"}}
    for path, those in allowed.items():
        done = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, timeout=60,
                              check=True)
        found = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
        check(len(found) > 50, f"{path.name}: {len(found)} imports")
        check(found & forbidden == those, f"{path.name} imports {found & forbidden}, not {those}")


for test in (test_names, test_run_names, test_modes, test_planted_ring_folders, test_planted_output,
             test_planted_upload, test_planted_tools, test_functions):
    test()
sys.exit(checks.end())
