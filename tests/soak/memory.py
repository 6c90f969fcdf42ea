"""Memory, descriptors and threads of the processes, as /proc shows them."""

import collections
import os
import pathlib
import re
import statistics

# Of what lies outside the ring: a sixth of the 5 MiB in half an hour, where it goes on like that.
LATE = 0.03
TURNS_OF_A_QUARTER = 6  # a minute


def _read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _number(text, key):
    found = re.search(rf"^{key}:\s+(\d+)", text, re.M)
    return int(found.group(1)) if found else 0


def _ring_pss_kib(pid):
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", _read(f"/proc/{pid}/smaps"), flags=re.M)
    return sum(_number(mapping, "Pss") for mapping in mappings if ".ring" in mapping.partition("\n")[0])


def _outside_kib(pid):
    """Resident memory that is no file's: neither the ring's, which lies in /dev/shm, nor the libraries'. Of
    smaps_rollup, which walks the pages: RssAnon of status is a sum of counters that may lag by processor.
    `Anonymous` and not `Pss_Anon`: that one falls where a child shares the pages."""
    return _number(_read(f"/proc/{pid}/smaps_rollup"), "Anonymous")


class Sample:
    def __init__(self, pid):
        status = _read(f"/proc/{pid}/status")
        self.outside_kib = _outside_kib(pid)
        self.rss_kib, self.peak_kib = _number(status, "VmRSS"), _number(status, "VmHWM")
        self.threads = _number(status, "Threads")
        try:
            self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            self.descriptors = 0

    def is_good(self):
        return self.rss_kib and self.outside_kib and self.threads and self.descriptors


class Course:
    """One process: samples in turns of a cycle's length each."""

    def __init__(self, process, turn_s):
        self._process, self._turn_s = process, turn_s
        self._turns, self._rings = collections.defaultdict(list), {}

    def look(self):
        turn = int(self._process.age_s() / self._turn_s)
        sample = Sample(self._process.pid)
        if not sample.is_good():
            return
        if turn not in self._turns:
            self._rings[turn] = _ring_pss_kib(self._process.pid)
            # From here on the peak is this turn's.
            try:
                pathlib.Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")
            except OSError:
                pass
        self._turns[turn].append(sample)

    def turns(self, after_s):
        """[(memory while nothing is written, that outside the ring, peak, the ring's, descriptors, threads)] of
        whole turns, from an age on. Descriptors and threads too are those at rest: a file is open while it is written."""
        whole = [turn for turn in sorted(self._turns) if turn * self._turn_s >= after_s][:-1]
        rows = []
        for turn in whole:
            samples = self._turns[turn][1:]  # the first shows the peak of the turn before
            if samples:
                rows.append((min(sample.rss_kib for sample in samples), min(sample.outside_kib for sample in samples),
                             max(sample.peak_kib for sample in samples), self._rings[turn],
                             min(sample.descriptors for sample in samples),
                             min(sample.threads for sample in samples)))
        return rows


class Flatness:
    """Of one traced process, less what the same program alone grew by meanwhile."""

    def __init__(self, rows, bare_rows):
        growth, growth_outside = (self._growth(bare_rows, i, len(rows)) for i in (0, 1))
        self.base = [row[0] - more for row, more in zip(rows, growth)]
        self.outside = [row[1] - more for row, more in zip(rows, growth_outside)]
        self.peaks = [row[2] - more for row, more in zip(rows, growth)]
        self.rings, self.descriptors, self.threads = ([row[i] for row in rows] for i in (3, 4, 5))
        self.bare_growth_kib = growth[-1]

    @staticmethod
    def _growth(rows, column, count):
        """In each of so many turns, from the first one on; the last one's where there are fewer rows."""
        growth = [row[column] - rows[0][column] for row in rows] or [0]
        return growth + [growth[-1]] * (count - len(growth))

    @staticmethod
    def _away(values):
        """The largest distance from the first, as a share of it."""
        return max(abs(value - values[0]) / values[0] for value in values)

    def base_away(self):
        return self._away(self.base)

    def outside_away(self):
        return self._away(self.outside)

    def late_growth(self):
        """Outside the ring, of the last quarter over the one before: what the allocator touches for the first time it has
        touched by then. 0 where the process lived too short to tell."""
        quarter = len(self.outside) // 4
        if quarter < TURNS_OF_A_QUARTER:
            return 0
        before, last = (statistics.median(self.outside[-begin:][:quarter]) for begin in (2 * quarter, quarter))
        return last / before - 1

    def peak_growth(self):
        """Of any turn over the first one in which a window was written: the others, whose peaks are no higher
        than what is held at rest, would be too low a measure."""
        writing = [peak for peak, base in zip(self.peaks, self.base) if peak > 1.05 * base]
        return max(writing) / writing[0] - 1 if writing else 0

    def problems(self, allowed, allowed_outside_kib, allowed_late=LATE):
        if self.base_away() > allowed:
            yield f"memory is not flat: {self.base} KiB"
        if self.outside_away() > max(allowed, allowed_outside_kib / self.outside[0]):
            yield f"memory outside the ring is not flat: {self.outside} KiB"
        if self.late_growth() > allowed_late:
            yield f"memory outside the ring still grows: {self.outside} KiB"
        if self.peak_growth() > allowed:
            yield f"its peak grows: {self.peaks} KiB"
        # Fewer pages in one turn are such that the kernel was moving elsewhere: once in half an hour, beside large builds,
        # 32 KiB of 64 MiB were not seen (2026-11-27, seed 394507).
        if max(self.rings) > self.rings[0]:
            yield f"the ring's memory is not flat: {self.rings} KiB"
        half = max(len(self.threads) // 2, 1)
        for what, values in (("descriptors", self.descriptors), ("threads", self.threads)):
            if min(values[-half:]) > min(values[:half]):
                yield f"{what} are not flat: {values}"
