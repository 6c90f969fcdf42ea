"""Starts a command and tells, as JSON on the descriptor named first, how it ended and what it took. A process of its own,
since Linux counts what the starter of a program has in memory as that program's peak: here some 10 MB.

usage: measured.py DESCRIPTOR COMMAND..."""
import json
import os
import subprocess
import sys
import time

before = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
seconds = time.monotonic() - before
with open(int(sys.argv[1]), "w", encoding="utf-8") as told:
    json.dump({"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss / 1024,
               "code": os.waitstatus_to_exitcode(status)}, told)
