#!/usr/bin/env python3
"""The tools as a user runs them: exit codes, the one line on standard error, what they leave behind."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from places import BUILD, SANITIZED, need

TRACEAGENT = need(BUILD / "bin/traceagent", "the tool")
RUN = BUILD / "bin/traceagent-run"
MPIRUN = BUILD / "bin/traceagent-mpirun"
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}")


def run(*command, stdout=subprocess.PIPE, **environment):
    variables = {key: value for key, value in os.environ.items() if not key.startswith("TRACEAGENT_")}
    # mpirun refuses root otherwise, and containers are root.
    variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run([str(word) for word in command], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          env=variables | environment, stdin=subprocess.DEVNULL)


def one_line(result):
    return result.stderr.startswith("traceagent: ") and result.stderr.count("\n") == 1


def rank_file(path, rank, base_ns, times_ns, cut=False, run="slurm7"):
    rows = [f'{{"ph":"M","name":"process_name","pid":{rank},"tid":0,"args":{{"name":"rank {rank}"}}}}']
    rows += [f'{{"ts":{ns // 1000}.{ns % 1000:03d},"dur":1.000,"ph":"X","cat":"c","name":"e","pid":{rank},'
             f'"tid":1,"args":{{}}}}' for ns in times_ns]
    text = (f'{{\n"schemaVersion": 1,\n"distributedInfo": {{"rank": {rank}, "world_size": 2, "node_rank": 0, "run_key": "{run}"}},\n'
            f'"displayTimeUnit": "ns",\n"baseTimeNanoseconds": {base_ns},\n"traceName": "{path.name}",\n'
            '"deviceProperties": [],\n"traceEvents": [\n' + ",\n".join(rows) +
            f'\n],\n"traceagent": {{"rank": {rank}, "dropped": {{"ring_full": {rank}}}}},\n"complete": true\n}}\n')
    path.write_text(text[:text.rindex("],")] if cut else text)
    return path


def test_command_lines():
    for words in ([], ["upload"]):
        result = run(TRACEAGENT, *words, "--version")
        check(result.returncode == 0 and result.stdout.startswith("traceagent "), f"{words} --version: {result}")
    for words in ([], ["merge"], ["run"], ["nothing"], ["merge", "--bogus", "."], ["run", "--bogus"],
                  ["merge", ".", "--level", "9"]):
        result = run(TRACEAGENT, *words)
        check(result.returncode == 2 and one_line(result), f"usage of {words}: {result}")
    for word, nearest in (("mereg", "the nearest is merge"), ("recovr", "recover"), ("xyzzy", "none like it")):
        result = run(TRACEAGENT, word, "x")
        check(result.returncode == 2 and one_line(result) and nearest in result.stderr, f"{word}: {result}")
    for words in (["--help"], ["merge", "--help"], ["run", "--help"], ["check", "--help"]):
        result = run(TRACEAGENT, *words)
        check(result.returncode == 0 and "examples:" in result.stdout, f"help of {words}")
    every = run(TRACEAGENT, "options").stdout
    check("TRACEAGENT_RING_SIZE" in every, "options are listed")
    for name in ("ring.size", "TRACEAGENT_RING_SIZE"):
        result = run(TRACEAGENT, "options", name)
        check(result.returncode == 0 and result.stdout.startswith("  ring.size ") and result.stdout in every
              and sum(not line.startswith("   ") for line in result.stdout.splitlines()) == 1, f"option {name}: {result}")
    result = run(TRACEAGENT, "options", "ring")
    keys = [line.split()[0] for line in result.stdout.splitlines() if not line.startswith("   ")]
    check(result.returncode == 0 and result.stdout in every and {"ring.size", "ring.full"} <= set(keys)
          and all(key.startswith("ring.") for key in keys) and every.count("\n  ring.") == len(keys), f"options of ring: {result}")
    result = run(TRACEAGENT, "options", "rinq")
    check(result.returncode == 2 and "unknown option: rinq: the nearest is ring" in result.stderr, f"options of rinq: {result}")
    for name, nearest in (("ring.sise", "the nearest is ring.size"), ("filename", "the nearest is output.filename"),
                          ("TRACEAGENT_RING_SISE", "the nearest is TRACEAGENT_RING_SIZE"), ("xyzzy", "there is none like it")):
        result = run(TRACEAGENT, "options", "ring.size", name)
        check(result.returncode == 2 and one_line(result) and not result.stdout
              and f"unknown option: {name}: {nearest}" in result.stderr, f"option {name}: {result}")


def test_what_is_not_there(folder):
    """One line and one exit code, whoever is given it."""
    gone = folder / "gone.json"
    for words in (["merge", gone, "-o", folder / "m.json"], ["check", gone], ["recover", gone], ["recover", "--list", gone],
                  ["recover", "--discard", gone], ["upload", gone, "--to", folder], ["upload", "--resume", gone],
                  ["upload", "--status", gone], ["upload", gone, "--forget", "/x/"], ["run", "--config", gone, "--", "true"]):
        result = run(TRACEAGENT, *words)
        check(result.returncode == 1 and one_line(result) and
              f"no such input: {gone}: No such file or directory: give files that are there" in result.stderr, f"{words}: {result}")
    (folder / "file").write_text("")
    for words in (["upload", "--status", folder / "file"], ["run", "--config", folder, "--", "true"]):
        result = run(TRACEAGENT, *words)
        check(result.returncode == 2 and one_line(result), f"{words}: {result}")


def test_full_output(folder):
    """What could not be printed is no success."""
    (folder / ".traceagent-upload").mkdir()
    (folder / ".traceagent-upload/node7.journal").write_text("")
    for words in ([TRACEAGENT, "--help"], [TRACEAGENT, "options"], [TRACEAGENT, "run", "--help"], [RUN, "--version"],
                  [MPIRUN, "--help"], [TRACEAGENT, "upload", "--version"], [TRACEAGENT, "upload", "--status", folder]):
        with open("/dev/full", "w") as full:
            result = run(*words, stdout=full)
        check(result.returncode == 1 and one_line(result) and "standard output: not all was written" in result.stderr,
              f"full: {words}: {result}")


def test_run(library):
    shown = run(TRACEAGENT, "run", "--schedule", "wait=1", "--set", "ring.size=1MiB", "--", "env",
                TRACEAGENT_LIBRARY=library, LD_PRELOAD="libm.so.6").stdout.splitlines()
    for line in (f"LD_PRELOAD={library}:libm.so.6", "TRACEAGENT_SCHEDULE=wait=1",
                 "TRACEAGENT_RING_SIZE=1MiB"):
        check(line in shown, f"run sets {line}")
    script = 'echo "$@"; echo err >&2; exit 7'
    result = run(RUN, "sh", "-c", script, "sh", "--schedule", "a b", "--", TRACEAGENT_LIBRARY=library)
    check((result.returncode, result.stdout, result.stderr) == (7, "--schedule a b --\n", "err\n"),
          f"the program's words and ends are its own: {result}")
    for word, code in (("/no/such/program", 127), ("/", 126)):
        result = run(RUN, word, TRACEAGENT_LIBRARY=library)
        check(result.returncode == code and one_line(result), f"{word}: {result}")
    result = run(RUN, "true", TRACEAGENT_LIBRARY="/no/such/library")
    check(result.returncode == 125 and one_line(result), f"no library: {result}")


def test_mpirun(library):
    show = 'echo "$OMPI_COMM_WORLD_RANK $LD_PRELOAD $TRACEAGENT_SCHEDULE"; ' \
           'tr "\\0" "\\n" < /proc/$PPID/environ | grep ^LD_PRELOAD; exit 0'
    result = run(MPIRUN, "--oversubscribe", "-n", "2", "sh", "-c", show, ":", "-n", "1", "sh", "-c", show,
                 TRACEAGENT_LIBRARY=library, TRACEAGENT_SCHEDULE="wait=1,active=2")
    expected = [f"{rank} {library} wait=1,active=2" for rank in range(3)]
    check(result.returncode == 0 and sorted(result.stdout.splitlines()) == expected,
          f"every rank has the preload and mpirun has not: {result}")
    # What all users can read: the words of all processes. (Not grep's own, which would be found.)
    told = 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | awk \'index($0, ENVIRON["TRACEAGENT_RUN_NAME"])\'; ' \
           'echo "$LD_PRELOAD $TRACEAGENT_RUN_NAME $TRACEAGENT_CONFIG"'
    for launcher in filter(shutil.which, ("mpirun.openmpi", "mpirun.mpich")):
        name = f"secret-{os.getpid()}"
        result = run(MPIRUN, "-n", "1", "sh", "-c", told, TRACEAGENT_LIBRARY=library, TRACEAGENT_MPIRUN=launcher,
                     TRACEAGENT_RUN_NAME=name, TRACEAGENT_CONFIG="a.yaml")
        check(result.returncode == 0 and result.stdout == f"{library} {name} {os.getcwd()}/a.yaml\n",
              f"{launcher}: values are told to ranks alone, and the config's whole path: {result}")
    result = run(MPIRUN, "-n", "1", "true", TRACEAGENT_LIBRARY=library, TRACEAGENT_MPIRUN="/bin/true")
    check(result.returncode != 0 and one_line(result), f"an unknown launcher: {result}")


def test_empty_folders_and_other_hosts(folder):
    (folder / "empty").mkdir()
    for words in (("merge", folder / "empty", "-o", folder / "none.json"), ("upload", folder / "empty", "--to", "/x/")):
        result = run(TRACEAGENT, *words)
        check(result.returncode == 1 and one_line(result) and "no trace" in result.stderr, f"{words}: {result}")
    check(not (folder / "none.json").exists(), "merge of nothing")
    (folder / ".traceagent-upload").mkdir()
    (folder / ".traceagent-upload/node7.journal").write_text("")
    result = run(TRACEAGENT, "upload", "--resume", folder, "--host", "node8")
    check(result.returncode == 2 and one_line(result) and "give node7" in result.stderr, f"host: {result}")
    result = run(TRACEAGENT, "upload", "--resume", folder, "--host", "node7")
    check(result.returncode == 0 and not result.stderr, f"host: {result}")


def test_no_uploader(folder):
    """As after a build of some targets."""
    shutil.copy(TRACEAGENT, folder / "traceagent")
    result = run(folder / "traceagent", "upload", "--help")
    check(result.returncode == 1 and one_line(result) and f"{folder}/traceagent-upload: No such file" in result.stderr
          and "cmake --build --preset release" in result.stderr and "install" not in result.stderr, f"no uploader: {result}")


def test_merge(folder):
    rank_file(folder / "r0.json", 0, 1000, [0, 5000])
    rank_file(folder / "r1.json", 1, 2000, [2000])
    (folder / "other.json").write_text('{"other": []}\n')
    output = folder / "out/all.json"
    output.parent.mkdir()
    result = run(TRACEAGENT, "merge", folder, "-o", output)
    check(result.returncode == 0 and not result.stderr, f"merge of a folder: {result}")
    check("2 ranks, 3 events, 1 event lost (ring_full 1)" in result.stdout, result.stdout)
    trace = json.loads(output.read_text())
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    check([(e["ts"], e["pid"]) for e in slices] == [(0, 0), (3.0, 1), (5.0, 0)], f"order: {slices}")
    check(trace["baseTimeNanoseconds"] == 1000 and trace["complete"], "base and complete")
    check([rank["rank"] for rank in trace["traceagent"]["merged"]] == [0, 1], "metadata of the ranks")

    result = run(TRACEAGENT, "merge", folder, "-o", output)
    check(result.returncode == 1 and one_line(result) and "--force" in result.stderr, f"replace: {result}")
    result = run(TRACEAGENT, "merge", folder, output, "-o", output, "--force")
    check(result.returncode == 0 and json.loads(output.read_text()) == trace, f"again: {result}")

    result = run(TRACEAGENT, "merge", folder / "other.json", folder / "r0.json", "-o", folder / "x.json.gz")
    check(result.returncode == 1 and one_line(result) and "other.json" in result.stderr, f"foreign: {result}")
    check((folder / "x.json.gz").read_bytes()[:2] == b"\x1f\x8b", "gzip by name")
    rank_file(folder / "r1.json", 1, 2000, [2000, 3000], cut=True)
    result = run(TRACEAGENT, "merge", folder / "r0.json", folder / "r1.json", "-o", output, "--force")
    check(result.returncode == 1 and one_line(result) and "cut off" in result.stderr, f"cut: {result}")
    trace = json.loads(output.read_text())
    check("complete" not in trace and trace["traceagent"]["incomplete"][0]["file"] == "r1.json", "cut is told")
    check(sum(event["ph"] == "X" for event in trace["traceEvents"]) == 4, "a cut file gives what it holds")
    rank_file(folder / "again0.json", 0, 9000, [0], run="slurm8")
    (folder / "out/mixed.json").unlink(missing_ok=True)
    words = [TRACEAGENT, "merge", folder / "r0.json", folder / "again0.json", "-o", folder / "out/mixed.json"]
    result = run(*words)
    check(result.returncode == 1 and one_line(result) and "of slurm7" in result.stderr and "of slurm8" in result.stderr
          and not (folder / "out/mixed.json").exists(), f"two runs: {result}")
    result = run(*words, "--mix-runs")
    check(result.returncode == 0 and "1 rank, 3 events" in result.stdout, f"two runs, wanted: {result}")
    mixed = "is of several runs, whose lanes and arrows are mixed, and viewers drop some: merge each run by itself"
    check(f"mixed: rank 0 {mixed}\n" in result.stdout, f"two runs, told of: {result}")
    trace = json.loads((folder / "out/mixed.json").read_text())
    check("complete" not in trace and trace["traceagent"]["incomplete"] == [{"file": "rank 0", "problem": mixed}],
          f"two runs: {trace['traceagent']}")
    told = run(TRACEAGENT, "check", folder / "out/mixed.json")
    check("merge each run by itself" in told.stdout, f"two runs, checked: {told}")
    leftovers = [path.name for path in folder.rglob(".*")]
    check(not leftovers, f"temporary files left: {leftovers}")


def test_check(library, folder):
    result = run(TRACEAGENT, "check", TRACEAGENT_LIBRARY=library, TRACEAGENT_OUTPUT_FOLDER=str(folder / "new"))
    check("yes  can be preloaded" in result.stdout and "yes  output folder" in result.stdout,
          f"check of a stub: {result}")
    check(result.returncode == 1 and "NO   NVTX" in result.stdout, "a stub has no NVTX door")
    result = run(TRACEAGENT, "check", TRACEAGENT_LIBRARY="/no/such/library")
    check(result.returncode == 1 and "NO   is here" in result.stdout, "check without a library")
    # With a sanitizer it needs more than libc, which is rightly said.
    if (BUILD / "lib/libtraceagent.so").exists() and not SANITIZED:
        result = run(TRACEAGENT, "check", TRACEAGENT_OUTPUT_FOLDER=str(folder / "new"))
        check(result.returncode == 0 and "  NO " not in result.stdout, f"check of the build: {result}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = str(folder / "stub.so")
        subprocess.run(["c++", "-shared", "-nostdlib", "-x", "c++", "-o", library, os.devnull], check=True)
        test_command_lines()
        (folder / "gone").mkdir()
        test_what_is_not_there(folder / "gone")
        (folder / "full").mkdir()
        test_full_output(folder / "full")
        test_run(library)
        test_mpirun(library)
        (folder / "merge").mkdir()
        (folder / "empty").mkdir()
        test_empty_folders_and_other_hosts(folder / "empty")
        test_no_uploader(folder)
        test_merge(folder / "merge")
        test_check(library, folder)
    print("ok" if not failures else f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
