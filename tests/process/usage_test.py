#!/usr/bin/env python3
"""What people run by hand says how when it is asked, and when it is not told where the build is."""
import subprocess
import sys

from jobs import Checks
from places import SOURCE

SCRIPTS = ("faults/matrix_test.py", "kill/kill_test.py", "soak/soak.py", "upload/cycles_test.py", "upload/server_test.py",
           "upload/step_time.py", "upload/upload_test.py")
checks = Checks()


def run(name, *words):
    command = [sys.executable] if name.endswith(".py") else ["bash"]
    return subprocess.run([*command, SOURCE / "tests" / name, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


for script in (*SCRIPTS, "kill/run", "soak/run"):
    asked = run(script, "--help")
    checks.check(asked.returncode == 0 and "usage: " in asked.stdout and not asked.stderr, f"{script} --help: {asked}")
for script in SCRIPTS:
    untold = run(script)
    checks.check(untold.returncode == 1 and "usage: " in untold.stderr and "Traceback" not in untold.stderr,
                 f"{script}: {untold}")
sys.exit(checks.end())
