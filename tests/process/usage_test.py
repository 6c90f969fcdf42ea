#!/usr/bin/env python3
"""What people run by hand says how when it is asked, from any folder, and when it is not told where the build is."""
import subprocess
import sys

from jobs import Checks
from places import BUILD, SOURCE

WANT_A_BUILD = ("tests/faults/matrix_test.py", "tests/kill/kill_test.py", "tests/soak/soak.py", "tests/upload/cycles_test.py",
                "tests/upload/server_test.py", "tests/upload/step_time.py", "tests/upload/upload_test.py")
OTHERS = ("packaging/setup", "tools/demo", "tools/demo_summary.py", "tests/run", "tests/coverage", "tests/fuzz/run", "tests/gpu/pack", "tests/gpu/run",
          "tests/kill/run", "tests/soak/run", "tests/valgrind/run", "tests/model/check_ring", "tests/bench/start_bench",
          "tests/bench/merge_bench", "tests/bench/compare/compare.py", "tests/support/style/check_format",
          "tests/support/style/check_includes", "tests/support/style/check_links", "tests/support/style/check_names",
          "tests/support/style/check_naming")
# A build, or an hour of tests, is no answer.
SOON_S = 100
checks = Checks()


def run(name, *words):
    """From the folder in which it lies, by its name there. Its exit code, output and errors; None where it takes long."""
    path = SOURCE / name
    program = sys.executable if "python3" in path.open().readline() else "bash"
    try:
        return subprocess.run([program, path.name, *words], capture_output=True, text=True, timeout=SOON_S, cwd=path.parent,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None


for script in (*WANT_A_BUILD, *OTHERS):
    for word in ("--help", "-h"):
        asked = run(script, word)
        checks.check(asked and asked.returncode == 0 and "usage: " in asked.stdout and not asked.stderr,
                     f"{script} {word}: {asked}")
for script in WANT_A_BUILD:
    untold = run(script)
    checks.check(untold and untold.returncode == 1 and "usage: " in untold.stderr and "Traceback" not in untold.stderr,
                 f"{script}: {untold}")
for words, code in ((["--help"], 0), (["x"], 2), (["2", "1", "1"], 2)):
    bench = subprocess.run([BUILD / "bin/clocks_bench", *words], capture_output=True, text=True, timeout=SOON_S)
    said = bench.stderr if code else bench.stdout
    checks.check(bench.returncode == code and said.startswith("usage: clocks_bench "), f"clocks_bench {words}: {bench}")
sys.exit(checks.end())
