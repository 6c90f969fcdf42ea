"""One run of the job, from its start to its end: ranks are killed meanwhile and started again."""

import collections
import contextlib
import re
import shutil
import time

from accounts import Account, TraceCounts, account_file, account_process
from memory import Course, Flatness
from ranks import LIMIT_S, Process, tool, variables_of_rank

# What the agent may say of such a job; anything else is shown as a problem.
EXPECTED_LINES = re.compile("|".join((
    r"traceagent: .*: \d+ ranks?, \d+ events, \d+ lost.*", r"traceagent: .*: rank \d+: \d+ files? written, \d+ events?, \d+ lost.*",
    r"traceagent: (|a worker of |\d+ workers of )rank \d+ died: recovered \d+ of (its|their) events from memory",
    r"traceagent: .*: rank .* still runs: it will be added when it ends, or by traceagent recover if it is killed",
    r"traceagent: the last events were not written within exit.timeout.*",
    r"traceagent: no trace: the program ended at step \d+, before the schedule's first active step was over.*")))


def facts_of(paths):
    """Of those that are still there: files are renamed and rings removed meanwhile."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            yield path.stat()


class Epoch:
    """`end`: "stop", all are told to end; "kill_all"; "kill_zero", local rank zero alone, then stop;
    "kill_other". `kills`: at these seconds one rank is killed and started again."""

    def __init__(self, number, merges, seconds, end, kills, chance, load, folder, rings):
        self.number, self.merges, self.end, self.account = number, merges, end, Account()
        self._seconds, self._kills, self._chance, self._load = seconds, sorted(kills), chance, load
        self._folder, self._rings, self.out = folder, rings, folder / f"epoch{number}"
        self._by_pid, self._windows = {}, collections.defaultdict(list)
        self._numbered, self._done = collections.Counter(), set()
        self._living, self._courses, self._bare = {}, {}, None
        self.kills = self.most_bytes = self.most_shm_kib = self.most_shm_after_kib = 0
        self.flatness = []
        # Memory is watched where one rank at least lives to the end.
        self._spared = chance.randrange(load.ranks)

    def name(self):
        return f"{self.number} {'merged' if self.merges else 'alone'}, {self.end}"

    def _problem(self, words):
        self.account.problems.append(f"epoch {self.name()}: {words}")

    def _start(self, rank):
        variables = variables_of_rank(rank, self, self._load, self._rings, self.out)
        process = Process(rank, self._load, self._folder, variables)
        self._living[rank] = self._by_pid[process.pid] = process
        self._courses[process.pid] = Course(process, self._load.cycle_s())

    def _start_all(self):
        self._started = time.monotonic()
        for rank in range(self._load.ranks):
            self._start(rank)
        variables = variables_of_rank(0, self, self._load, self._rings, self.out)
        variables = {key: text for key, text in variables.items() if not key.startswith(("LD_PRELOAD", "TRACEAGENT_"))}
        self._bare = Process(0, self._load, self._folder, variables, traced=False)
        self._courses[self._bare.pid] = Course(self._bare, self._load.cycle_s())

    def _age_s(self):
        return time.monotonic() - self._started

    def _goes_on(self):
        return self._age_s() < self._seconds

    def run(self, tell):
        """`tell(epoch)` is called often, for whoever wants to say something meanwhile."""
        try:
            self._start_all()
            while self._goes_on():
                if self._kills and self._age_s() >= self._kills[0]:
                    self._kills.pop(0)
                    self._kill_one()
                self._look()
                tell(self)
                time.sleep(self._load.look_s)
            self._end()
        finally:
            for process in [*self._living.values(), *([self._bare] if self._bare else [])]:
                if process.lives():
                    process.kill()
        self._check_end()
        return self

    def _look(self):
        for pid, course in self._courses.items():
            if pid == self._bare.pid or self._living.get(self._by_pid[pid].rank) is self._by_pid[pid]:
                course.look()
        for rank, process in self._living.items():
            if not process.lives() and process.ending is None:
                self._problem(f"rank {rank} ended by itself with {process.wait()}: {process.lines()}")
                process.ending = "by itself"
        self._count_files(age_s=2)
        shm_kib = sum(facts.st_blocks // 2 for facts in facts_of(self._ring_files()))
        self.most_shm_kib = max(self.most_shm_kib, shm_kib)
        self.most_bytes = max(self.most_bytes, sum(facts.st_size for facts in facts_of(self.out.glob("*"))))

    def _ring_files(self):
        return [path for path in self._rings.rglob("*") if path.is_file()]

    def _kill_one(self):
        victims = [rank for rank in range(self._load.ranks) if rank != self._spared or self.merges]
        process = self._living[self._chance.choice(victims)]
        process.kill()
        self.kills += 1
        if not self.merges:  # its node's merge takes care of it otherwise
            self._recover([path for path in self._ring_files() if f"{process.rank}-{process.pid}-" in path.name
                           and path.suffix == ".ring"])
        self._start(process.rank)

    def _recover(self, places):
        if not places:
            return
        code, words = tool(["recover", *places], self._rings, self._folder)
        if code != 0 or "missing: rank" in words and "found no room" not in words:
            self._problem(f"recover: exit code {code}: {words}")

    def _end(self):
        if self.end == "kill_all":
            victims = list(self._living.values())
        else:
            victims = [self._living[{"kill_zero": 0, "kill_other": self._load.ranks - 1}[self.end]]] \
                if self.end != "stop" else []
        for process in victims:
            process.kill()
            self.kills += 1
        for process in [*self._living.values(), self._bare]:
            if process.ending is None:
                process.stop()
        for process in [*self._by_pid.values(), self._bare]:
            code = process.wait()
            if not process.ended_well(code):
                self._problem(f"rank {process.rank}, {process.ending}, ended with {code}")

    def _check_end(self):
        # A run's folder without any claim is one that begins just now, for two seconds.
        self._recover(sorted({path.parent for path in self._ring_files() if path.suffix == ".ring"}))
        left = [str(path.relative_to(self._rings)) for path in self._ring_files()]
        if left:
            self._problem(f"left in memory: {left}")
        self._count_files(age_s=0)
        for process in self._by_pid.values():
            account = account_process(process, self._windows[process.pid], self._load)
            self.account.add(account)
            for line in process.lines():
                if not EXPECTED_LINES.fullmatch(line):
                    self._problem(f"rank {process.rank}: {line}")
        self._check_node_file()
        self._check_memory()
        hidden = [path.name for path in self.out.glob(".*")]
        if hidden:
            self._problem(f"half-written files are left: {hidden}")
        shutil.rmtree(self.out, ignore_errors=True)

    def _count_files(self, age_s):
        """Files of living ranks are left alone for a moment: a rank killed between a file's name and the
        note of it in the ring has its file found by recovery."""
        for path in sorted(self.out.glob("ep*.json")):
            if path in self._done or time.time() - path.stat().st_mtime < age_s:
                continue
            self._done.add(path)
            counts = TraceCounts(path)
            if not counts.is_whole:
                self._problem(f"{path.name}: no whole trace")
                continue
            process = self._by_pid.get(counts.about["identity"]["pid"])
            if process is None:
                self._problem(f"{path.name}: of nobody: {counts.about['identity']}")
                continue
            account = account_file(process, counts, self._load)
            for words in account.problems:
                self._problem(f"{path.name}, rank {process.rank}, {process.ending or 'alive'}: {words}")
            self.account.sums.update(account.sums)
            if counts.about["window"].get("first_step") is not None:
                self._windows[process.pid].append(counts.about["window"]["first_step"])
            self._numbered.update(counts.numbered())
            if not self.merges:
                path.unlink()
                self._done.discard(path)

    def _check_node_file(self):
        path = self.out / "node0.json"
        if not self.merges:
            return
        if not path.exists():
            if self._numbered:
                self._problem("no node file")
            return
        counts = TraceCounts(path)
        if not counts.is_whole:
            return self._problem("the node file is not whole")
        found = counts.numbered()
        differs = {where: (found[where], wanted) for where, wanted in self._numbered.items() if found[where] != wanted}
        if differs or sum(found.values()) != sum(self._numbered.values()):
            self._problem(f"the node file differs from the ranks' files: {differs}")
        if counts.about.get("missing_ranks"):
            self._problem(f"the node file says that ranks are missing: {counts.about['missing_ranks']}")
        self.account.sums.update(node_files=1, merged=sum(found.values()))
        self.most_bytes = max(self.most_bytes, sum(each.stat().st_size for each in self.out.glob("*")))

    def _check_memory(self):
        bare = self._courses[self._bare.pid].turns(self._load.settle_s)
        for pid, process in self._by_pid.items():
            rows = self._courses[pid].turns(self._load.settle_s)
            if len(rows) < 3 or self.merges:
                continue
            flat = Flatness(rows, bare)
            self.flatness.append((process.rank, flat))
            for words in flat.problems(self._load.flat, self._load.flat_outside_kib):
                self._problem(f"rank {process.rank}: {words}")
