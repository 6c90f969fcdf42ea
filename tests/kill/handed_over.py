"""What CUPTI had handed over of a process's work on the device before it was killed, by the simulator's truth, and
what a trace says of it. The truth notes a buffer when the agent's callback has returned: from then on what was in it
is in the ring, and each of its works is shown, or counted as lost on the way there."""

import bisect

from published import BEFORE_STEPS, calls_by_step, dropped, launches_without_work, work_without_launch


class HandedOver:
    """Of the work that the windows' calls launched, in one process. What CUPTI still held dies with the process."""

    def __init__(self, records, trace, rank, windows, in_flight=0):
        wanted = {number for step, _, _, number in calls_by_step(records)
                  if windows.first_of(step) not in (None, BEFORE_STEPS)}
        works = sorted((r for r in records if r["kind"] == "device"), key=lambda work: work["begin_ns"])
        shown, self.problems = pairs(works, trace, device_slices(trace, rank))
        of_windows = [(work["cupti"] == "delivered", i in shown) for i, work in enumerate(works)
                      if work["number"] in wanted]
        # Where CUPTI is not asked for, nobody counts launches.
        unasked = sum(work["cupti"] == "off" for work in works if work["number"] in wanted)
        self.delivered = sum(is_delivered for is_delivered, _ in of_windows)
        self.shown = sum(is_shown for _, is_shown in of_windows)
        lacking, held = of_windows.count((True, False)), of_windows.count((False, False))
        lost, calls_lost, named = (0, 0, 0) if trace is None else (
            dropped(trace, rank, "device_ring_full"), dropped(trace, rank, "ring_full"),
            launches_without_work(trace, rank))
        if lacking > lost:
            self.problems.append(f"{lacking} works that CUPTI had handed over are not shown, and {lost} records are "
                                 "said to be lost on the way")
        # Which launch a work belongs to is CUPTI's record of the call, which may be in a buffer that was still held:
        # the trace says both then, a launch without work and a work without launch.
        apart = 0 if trace is None else work_without_launch(trace, rank)
        # A launch is not counted that had not returned, or of which neither side's record found room; where CUPTI told of
        # one that had not returned to the program, the truth, which notes it then, does not know it.
        least = lacking + held - unasked - in_flight - lost - calls_lost
        if not least <= named <= lacking + held + apart + in_flight:
            self.problems.append(f"{named} launches are said to lack their work, of which {lacking} were handed over "
                                 f"and {held} were not; {apart} works are said to lack their launch")


def pairs(works, trace, slices):
    """Indices of the works that are shown, and slices that are nobody's, or another's too."""
    begins, shown, problems = [work["begin_ns"] for work in works], set(), []
    for event in slices:
        begin = trace.begin_ns(event)
        near = range(bisect.bisect_left(begins, begin - 1), bisect.bisect_right(begins, begin + 1))
        found = [i for i in near if i not in shown and works[i]["cupti_stream"] == event["args"]["stream"]]
        if found:
            shown.add(found[0])
        else:
            problems.append(f"no such work, or twice: {event}")
    return shown, problems


def device_slices(trace, rank):
    return [] if trace is None else [event for event in trace.events if event["pid"] == rank and event["ph"] == "X"
                                     and event["cat"].startswith("gpu_")]
