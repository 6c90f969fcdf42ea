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


def killed_run(place, **more):
    """Its ring, whose words are to make a file of the node, called victim, of a rank's file that is there."""
    (place.path / "out").mkdir()
    place.run([PROGRAMS / "process_life", "sigkill"], place.agent(**WHOLE, **more, TRACEAGENT_OUTPUT_OVERWRITE="true",
                                                                  TRACEAGENT_OUTPUT_MERGED="victim"))
    (ring,) = place.rings.rglob("*.ring")
    place.run([TOOL, "recover", "--keep", "--no-merge", ring.parent])
    (place.path / "out/victim").write_text("untouched")
    return ring


def test_rings_of_others():
    """A ring says where files go and what uploads them. Of another user, or in another's folder, it says nothing to
    us."""
    stranger = 12345
    # Whose the ring is, whose its folder, the folder's mode, and whether it is believed.
    cases = [(0, 0, 0o700, True), (0, 0, 0o775, True), (stranger, 0, 0o777, False), (stranger, stranger, 0o755, False),
             (0, stranger, 0o755, False)]
    if os.geteuid() != 0:
        cases = [case for case in cases if stranger not in case]
    for (ring_owner, owner, folder_mode, is_believed), wait in itertools.product(cases, ((), ("--wait",))):
        what = f"recover {wait}: ring of {ring_owner}, folder of {owner}, {folder_mode:o}"
        with Place() as place:
            ring = killed_run(place, TRACEAGENT_OUTPUT_MERGED_REMOTE=f"exec:cp {{}} {place.path}/ran")
            before = place.files()
            ring.parent.chmod(folder_mode)
            if os.geteuid() == 0:
                os.chown(ring, ring_owner, ring_owner)
                os.chown(ring.parent, owner, owner)
            done = place.run([TOOL, "recover", *wait, ring.parent])
            victim = place.path / "out/victim"
            if is_believed:
                check(done.code == 0 and victim.read_text() != "untouched", f"{what}: {done}")
                check(not wait or wait_until((place.path / "ran").exists), f"{what}: nothing is uploaded: {done}")
            else:
                check(done.code == 1 and "belongs to another user" in done.err, f"{what}: {done}")
                check(victim.read_text() == "untouched", f"{what}: {victim.read_text()[:200]}")
                check(place.files() == before, f"{what}: {place.files()}, not {before}")
                check(ring.exists(), f"{what}: the ring is gone")


def test_lists_of_others():
    """What a ring's process has written stands in a list beside it: one that another user has made names nothing."""
    if os.geteuid() != 0:
        return
    with Place() as place:
        ring = killed_run(place)
        elsewhere = place.path / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(next((place.path / "out").glob("*.json"), ring), elsewhere / "trace.json")
        (elsewhere / ".trace.json.tmp-1").write_text("")
        listed = ring.with_suffix(".files")
        listed.write_text(f"{elsewhere}/trace.json\n")
        os.chown(listed, 12345, 12345)
        ring.parent.chmod(0o1777)
        done = place.run([TOOL, "recover", "--no-merge", ring.parent])
        check(str(elsewhere) not in done.out + done.err, f"lists of others: {done}")


def test_pipes_as_notes():
    """Where another user may have made what we read, a pipe holds nobody."""
    job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "TRACEAGENT_MERGE_MODE": "off"}
    for owner in {os.geteuid(), 12345 if os.geteuid() == 0 else os.geteuid()}:
        with Place() as place:
            users = place.rings / f"traceagent-{os.geteuid()}"
            (users / "slurm1").mkdir(parents=True)
            os.mkfifo(users / "slurm1/claim-rank0", 0o666)
            for path in (users, users / "slurm1"):
                path.chmod(0o755)
                os.chown(path, owner, owner)
            run(place, f"a pipe as a claim in a folder of {owner}", **job)
    with Place() as place:
        folder = place.path / "out/.traceagent-upload"
        folder.mkdir(parents=True)
        os.mkfifo(folder / f"{socket.gethostname()}.problem", 0o666)
        run(place, "a pipe as the uploader's problem", TRACEAGENT_OUTPUT_REMOTE=f"{place.path}/there/",
            TRACEAGENT_UPLOAD_WAIT="5s")
        check((place.path / "there").exists(), f"a pipe as the uploader's problem: nothing arrived: {place.files()}")


def test_functions():
    """No network, no shell. What can start a program is named here: the library's two start the keeper and
    traceagent-upload, for who asks for them (that a job else starts nothing: tests/transparency/programs/
    starts_no_process.cpp)."""
    forbidden = {"socket", "socketpair", "bind", "listen", "accept", "accept4", "connect", "sendto", "sendmsg",
                 "getaddrinfo", "gethostbyname", "system", "popen", "posix_spawn", "posix_spawnp", "fork", "vfork",
                 "_Fork", "clone", "execv", "execve", "execveat", "fexecve", "execvp", "execlp", "execl", "execle",
                 "execvpe"}
    # traceagent run, -run and -mpirun start what they are given (and ask that launcher its version), traceagent check a
    # shell to see whether the library loads, traceagent upload the one beside it; that reaches the network through
    # libcurl, and a user's own command.
    allowed = {LIBRARY: {"clone", "execve"}, TOOL: {"execv", "execvp", "execl", "fork", "posix_spawn"},
               BUILD / "bin/traceagent-upload": {"posix_spawnp"}, BUILD / "bin/traceagent-run": {"execvp"},
               BUILD / "bin/traceagent-mpirun": {"execvp", "popen"}}
    for path, those in allowed.items():
        done = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, timeout=60,
                              check=True)
        found = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
        check(len(found) > 50, f"{path.name}: {len(found)} imports")
        check(found & forbidden == those, f"{path.name} imports {found & forbidden}, not {those}")


for test in (test_names, test_run_names, test_modes, test_planted_ring_folders, test_planted_output,
             test_planted_upload, test_planted_tools, test_rings_of_others, test_lists_of_others, test_pipes_as_notes,
             test_functions):
    test()
sys.exit(checks.end())
