"""One rank that nobody kills: it lives as long as the soak, so that slow growth shows."""

import dataclasses
import threading

from epoch import Epoch


class Survivor(Epoch):
    """A run of one rank without a merge, in a thread beside the epochs, until it may end."""

    def __init__(self, number, chance, load, folder, rings):
        super().__init__(number, False, None, "stop", [], chance, dataclasses.replace(load, ranks=1), folder, rings)
        self._may_end = threading.Event()

    def name(self):
        return f"{self.number} survivor, {self.end}"

    def may_end(self):
        self._may_end.set()

    def turns_measured(self):
        courses = list(self._courses.values())
        return max((len(course.turns(self._load.settle_s)) for course in courses), default=0)

    def _goes_on(self):
        return not self._may_end.is_set()
