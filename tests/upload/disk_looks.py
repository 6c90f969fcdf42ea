"""What a run's folder holds while its ranks record: files that wait for their upload, and those that do not."""

import contextlib
import json
import os
import threading

LOOK_PERIOD_S = 0.02
MOST_WAITING = 10_000  # files of a rank, whatever upload.queue says


class Journal:
    """Files that wait for their upload, by the journal, read as it grows."""

    def __init__(self, folder):
        self.folder, self.file = folder, None
        self.begin_anew()

    def begin_anew(self):
        self.of, self.waiting, self.rest = {}, set(), b""
        self.waited = set()  # at any time since it was emptied

    def read(self):
        """False: it is another one, made shorter."""
        path = next(iter(self.folder.glob("*.journal")), None)
        if path is None:
            return True
        is_known = self.file is not None and os.path.samestat(os.stat(path), os.fstat(self.file.fileno()))
        if not is_known:
            # The old one stays open until then: the new one cannot have its number.
            self.file = path.open("rb", buffering=0)
            self.begin_anew()
        *lines, self.rest = (self.rest + self.file.read()).split(b"\n")
        for line in lines:
            if line.endswith(b"}"):
                self.take(json.loads(line))
        return is_known

    def take(self, record):
        if "queue" in record:
            self.of[record["queue"]] = record["file"]
            self.waiting.add(record["file"])
            self.waited.add(record["file"])
        for what in ("done", "gone", "removed"):
            if what in record:
                self.waiting.discard(self.of.get(record[what]))


class DiskLooks(threading.Thread):
    """At a fixed interval, while `counts` says so. Keeps each file that it sees, by a second name."""

    def __init__(self, place, ranks, most_others=None, counts=lambda: True):
        super().__init__(daemon=True)
        self.folder, self.ranks, self.most_others, self.counts = place.path / "out", ranks, most_others, counts
        self.journal, self.ending, self.problems = Journal(self.folder / ".traceagent-upload"), threading.Event(), []
        self.truth = place.path / "truth"
        self.truth.mkdir()
        self.sizes = {}
        # The most of a rank: files; those that do not wait; those that wait, and bytes.
        self.looks, self.files, self.others, self.waiting, self.bytes, self.waiting_bytes = 0, 0, 0, 0, 0, 0
        self.most_waited = []  # the files when most bytes waited

    def list_files(self):
        try:
            names = {name for name in os.listdir(self.folder) if "-rank" in name and name.endswith(".json")
                     and not name.startswith(".")}
        except FileNotFoundError:
            return set()
        for name in names - self.sizes.keys():
            with contextlib.suppress(OSError):
                os.link(self.folder / name, self.truth / name)
                self.sizes[name] = os.stat(self.truth / name).st_size
        return names

    def look(self):
        """Whatever waited at any time between the journal's two readings is none of those that are kept."""
        is_counted, is_same = self.counts(), self.journal.read()
        self.journal.waited = set(self.journal.waiting)
        files = self.list_files()
        if not self.journal.read() or not is_same or not is_counted or not self.counts():
            return
        self.looks += 1
        for rank in range(self.ranks):
            self.count(rank, *({name for name in names if name.endswith(f"-rank{rank}.json")}
                               for names in (files, self.journal.waited, self.journal.waiting)))

    def count(self, rank, here, waited, waiting):
        others = here - waited
        if self.most_others is not None and len(others) > self.most_others:
            self.problems.append(f"rank {rank}: {len(here)} files, {len(others)} of them do not wait: {sorted(others)}")
        if len(waiting) > MOST_WAITING:
            self.problems.append(f"rank {rank}: {len(waiting)} files wait")
        self.files, self.others = max(self.files, len(here)), max(self.others, len(others))
        self.waiting = max(self.waiting, len(waiting))
        self.bytes = max(self.bytes, self.bytes_of(here))
        if self.bytes_of(here & waiting) > self.waiting_bytes:
            self.waiting_bytes, self.most_waited = self.bytes_of(here & waiting), sorted(here & waiting)

    def bytes_of(self, names):
        return sum(self.sizes.get(name, 0) for name in names)

    def largest(self):
        return max(self.sizes.values(), default=0)

    def run(self):
        try:
            while not self.ending.wait(LOOK_PERIOD_S):
                self.look()
        except Exception as error:  # the test must not go on as if it had looked
            self.problems.append(f"no more looks: {error!r}")

    def end(self):
        self.ending.set()
        self.join()

    def __str__(self):
        return (f"{self.looks} looks: at most {self.files} files of a rank ({self.bytes} bytes), {self.others} that did not wait, "
                f"{self.waiting} that did ({self.waiting_bytes} bytes: {len(self.most_waited)} files)")
