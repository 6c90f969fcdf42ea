"""What a case has done: point × kills × events published × events found, the points of each phase, and what is wrong."""

import collections

COLUMNS = {"kills": 6, "published": 10, "found": 10, "delivered": 14, "shown": 6}


class Plan:
    """How often, and where."""

    def __init__(self, count, chance, is_whole):
        self.count, self.chance, self.is_whole = count, chance, is_whole

    def at_each(self, table, phase, rules, one):
        """Each rule once, or so many by chance; `one` returns the number of kills."""
        table.exist(phase, rules)
        if self.is_whole:
            for rule in rules:
                self._try(table, phase, rule, one, 3)
            return
        self.repeat(lambda: self._try(table, phase, self.chance.choice(rules), one, 1))

    def repeat(self, one):
        """Until so many were killed; who is always too late for that does not go on for ever."""
        done = tried = 0
        while done < self.count and tried < 3 * self.count + 10:
            done += int(one())
            tried += 1

    @staticmethod
    def _try(table, phase, rule, one, times):
        for _ in range(times):
            kills = one(rule)
            if kills:
                table.strike(phase, rule)
                return kills
        return 0


class Table:
    def __init__(self):
        self._rows = collections.defaultdict(collections.Counter)
        self._points, self._struck = collections.defaultdict(set), collections.defaultdict(set)
        self.problems = []

    def add(self, point, **counts):
        self._rows[point].update(counts)

    def exist(self, phase, rules):
        self._points[phase].update(map(str, rules))

    def strike(self, phase, rule):
        self._struck[phase].add(str(rule))

    def check(self, what, condition, words):
        if not condition:
            self.problems.append(f"{what}: {words}")
        return bool(condition)

    def check_reach(self, least):
        """The part of each phase's points that was killed at: rules that never strike would prove nothing."""
        for phase, points in self._points.items():
            struck = len(self._struck[phase] & points)
            self.check(phase, struck >= least * len(points), f"killed at only {struck} of {len(points)} points")

    def kills(self):
        return sum(row["kills"] for row in self._rows.values())

    def print(self, missing=0):
        print(f"{'killed':50} {'kills':>6} {'published':>10} {'found':>10}   device: handed over, shown")
        total = sum(self._rows.values(), collections.Counter())
        for point, row in [*sorted(self._rows.items()), ("all", total)]:
            print(f"{point:50} " + " ".join(f"{row[column]:>{width}}" for column, width in COLUMNS.items()))
        for phase, points in self._points.items():
            struck = self._struck[phase] & points
            print(f"points of {phase + ':':40} killed at {len(struck)} of {len(points)}")
            if missing:
                print(*[f"    not come to: {rule}" for rule in sorted(points - struck)[:missing]], sep="\n")
