#!/usr/bin/env python3
"""The node's disk and network counters beside bytes whose number is known: a file that is written through to the disk,
and what is sent to another machine, which is another network namespace here, and to this one, which does not count.

    node_traffic_test.py BUILD DEPS disk|network
"""
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading

from counter_samples import begin_s_of, counters_of, rank_trace, total, window_s
from jobs import PROGRAMS, TIMEOUT, Checks, Place
from places import ARGUMENTS

COUNTED = PROGRAMS / "counted"
MIB = 1 << 20
ON = {"TRACEAGENT_COUNTERS_SOURCES": "process,node", "TRACEAGENT_COUNTERS_INTERVAL": "50ms",
      "TRACEAGENT_OUTPUT_FOLDER": "out", "TRACEAGENT_SCHEDULE": "wait=2,warmup=1,active=4,repeat=1"}
# Work, and a pause: the samples of a window's begin and end are taken by a thread that has to wake up.
BEFORE, AFTER_MS = (150, 0), 200
HERE, THERE = "10.77.0.1", "10.77.0.2"
# In a namespace of its own, which takes the interface with it when it ends.
RECEIVER = """
import socket, time
listener = socket.create_server(("0.0.0.0", 0))
listener.settimeout(60)
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.settimeout(60)
count = 0
while data := connection.recv(1 << 16):
    count += len(data)
connection.close()
print(count, flush=True)
time.sleep(60)
"""
# Whatever becomes of us.
ENDS_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
checks = Checks()
check = checks.check


def totals_of(place, name, *arguments):
    """Of the job's window, by series; None: the node has no such counter."""
    done = place.run([COUNTED, *arguments], place.agent(**ON))
    check(done.code == 0, f"{done}")
    trace = rank_trace(place)
    samples, end_s = counters_of(trace).get((0, name)), begin_s_of(trace) + window_s(trace)
    if samples is None:
        return None
    return {series: total(samples, end_s, series) for series in samples[0][1]}


def disk_below(folder):
    """The device that the folder's file system is on, where it is one of the kernel's that are made of disks."""
    device = os.stat(folder).st_dev
    numbers = rf"\s*{os.major(device)}\s+{os.minor(device)}\s+((?:sd|vd|xvd|hd|nvme|mmcblk|md|dm)\S*) "
    found = re.search(rf"^{numbers}", pathlib.Path("/proc/diskstats").read_text(), re.MULTILINE)
    return found and found[1]


def skip(why):
    print(f"not compared: {why}")
    sys.exit(77)


def test_disk():
    size = 48 * MIB
    with Place() as place:
        disk = disk_below(place.path)
        found = totals_of(place, "node disk bytes/s", *BEFORE, size, AFTER_MS)
        if disk is None:
            skip(f"/proc/diskstats has no disk of {place.path}; counters {found}")
        print(f"a file of {size} bytes on {disk}: the node's disks wrote {found and round(found['written'])}")
        check(found is not None and found["written"] >= 0.99 * size, f"the node's disks: {found}")


def inside(words):
    """In a network of its own, where this user may make one; None: he may not."""
    own = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    try:
        if subprocess.run([*own, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
                          capture_output=True, timeout=20).returncode != 0:
            return None
    except FileNotFoundError:
        return None
    return subprocess.run([*ENDS_WITH_US, *own, *words], timeout=TIMEOUT).returncode


def test_network():
    code = inside([sys.executable, __file__, *sys.argv[1:3], "network_of_its_own"])
    if code is None:
        skip("no network namespaces for this user, or no ip (iproute2)")
    check(code == 0, f"exit code {code}")


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=20)


@contextlib.contextmanager
def receiver():
    process = subprocess.Popen([*ENDS_WITH_US, "unshare", "--net", sys.executable, "-c", RECEIVER],
                               stdout=subprocess.PIPE, text=True)
    try:
        port = process.stdout.readline().strip()
        ip("link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", str(process.pid))
        ip("addr", "add", f"{HERE}/30", "dev", "v0")
        ip("link", "set", "v0", "up")
        there = ["nsenter", "-t", str(process.pid), "-n", "ip"]
        for words in (["addr", "add", f"{THERE}/30", "dev", "v1"], ["link", "set", "v1", "up"]):
            subprocess.run([*there, *words], check=True, timeout=20)
        yield process, port
    finally:
        process.kill()
        process.wait()


def drain(listener, counts):
    connection = listener.accept()[0]
    connection.settimeout(TIMEOUT)
    count = 0
    while data := connection.recv(1 << 16):
        count += len(data)
    counts.append(count)
    connection.close()


def test_network_of_its_own():
    size = 16 * MIB
    ip("link", "set", "lo", "up")
    with Place() as place, receiver() as (other, port), socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT)
        counts = []
        thread = threading.Thread(target=drain, args=(listener, counts))
        thread.start()
        found = totals_of(place, "node network bytes/s", *BEFORE, 0, AFTER_MS, size, THERE, port,
                          "127.0.0.1", listener.getsockname()[1])
        thread.join()
        check(counts == [size] and int(other.stdout.readline()) == size, f"what was received here: {counts}")
        print(f"{size} bytes to another machine, and as many to this one: {found}")
        # Headers, and what the other acknowledges; a last read that is late has its share.
        check(found is not None and 0.99 * size <= found["sent"] < 1.2 * size and found["received"] < 0.1 * size,
              f"the node's network: {found}")


if __name__ == "__main__":
    globals()[f"test_{ARGUMENTS[0]}"]()
    sys.exit(checks.end())
