"""Memory, descriptors and threads of the processes, as /proc shows them."""

import collections
import os
import pathlib
import re


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


class Sample:
    def __init__(self, pid):
        status = _read(f"/proc/{pid}/status")
        self.rss_kib, self.peak_kib = _number(status, "VmRSS"), _number(status, "VmHWM")
        self.threads = _number(status, "Threads")
        try:
            self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            self.descriptors = 0

    def is_good(self):
        return self.rss_kib and self.threads and self.descriptors


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
        """[(memory while nothing is written, peak, the ring's, descriptors, threads)] of whole turns, from an
        age on. Descriptors and threads too are those at rest: a file is open while it is written."""
        whole = [turn for turn in sorted(self._turns) if turn * self._turn_s >= after_s][:-1]
        rows = []
        for turn in whole:
            samples = self._turns[turn][1:]  # the first shows the peak of the turn before
            if samples:
                rows.append((min(sample.rss_kib for sample in samples), max(sample.peak_kib for sample in samples),
                             self._rings[turn], min(sample.descriptors for sample in samples),
                             min(sample.threads for sample in samples)))
        return rows


class Flatness:
    """Of one traced process, less what the same program alone grew by meanwhile."""

    def __init__(self, rows, bare_rows):
        growth = [row[0] - bare_rows[0][0] for row in bare_rows] if bare_rows else []
        growth += [growth[-1] if growth else 0] * (len(rows) - len(growth))
        self.base = [row[0] - more for row, more in zip(rows, growth)]
        self.peaks = [row[1] - more for row, more in zip(rows, growth)]
        self.rings, self.descriptors, self.threads = ([row[i] for row in rows] for i in (2, 3, 4))
        self.bare_growth_kib = growth[-1] if growth else 0

    @staticmethod
    def _away(values):
        """The largest distance from the first, as a share of it."""
        return max(abs(value - values[0]) / values[0] for value in values)

    def base_away(self):
        return self._away(self.base)

    def peak_growth(self):
        """Of any turn over the first one in which a window was written: the others, whose peaks are no higher
        than what is held at rest, would be too low a measure."""
        writing = [peak for peak, base in zip(self.peaks, self.base) if peak > 1.05 * base]
        return max(writing) / writing[0] - 1 if writing else 0

    def problems(self, allowed):
        if self.base_away() > allowed:
            yield f"memory is not flat: {self.base} KiB"
        if self.peak_growth() > allowed:
            yield f"its peak grows: {self.peaks} KiB"
        if self._away(self.rings) > 0:
            yield f"the ring's memory is not flat: {self.rings} KiB"
        half = max(len(self.threads) // 2, 1)
        for what, values in (("descriptors", self.descriptors), ("threads", self.threads)):
            if min(values[-half:]) > min(values[:half]):
                yield f"{what} are not flat: {values}"
