"""What the collectives of a simulated job (tests/process/clock_model.py) allow as the difference of two nodes' clocks,
exactly: a linear program over an offset, a drift, and a drift that changes as fast as the limit lets it, freely in each
second. It knows all of the collectives and takes some hundred times as long as `traceagent merge`, which has to come
close to it. Needs scipy."""

import numpy
from scipy.optimize import linprog

DRIFT_PPM = 200
WANDER_PPM_PER_S = 0.3 / 60
TIME_ERROR_NS = 500  # tools/clocks/collective_line.cpp: device_time_error_ns


def times_on(job, node):
    """On the node's clock, by collective: when its last rank started, when its first one ended; with their errors."""
    clock = job.clocks[node]
    ranks = job.spans[node * job.ranks_per_node:(node + 1) * job.ranks_per_node]
    return [(max(clock.at(begin_ns) for begin_ns, _ in spans) - TIME_ERROR_NS,
             min(clock.at(end_ns) for _, end_ns in spans) + TIME_ERROR_NS) for spans in zip(*ranks)]


def row_at(t_s, seconds):
    """The difference at a time, in us, of the offset in us, the drift in ppm and its change in each second."""
    since_s = numpy.clip(t_s - numpy.arange(seconds), 0, None)
    bent = numpy.where(since_s < 1, since_s ** 2 / 2, since_s - 0.5)
    return numpy.concatenate(([1, t_s], bent))


def drift_rows(seconds):
    """The drift at each second's end."""
    return numpy.column_stack((numpy.zeros(seconds), numpy.ones(seconds), numpy.tril(numpy.ones((seconds, seconds)))))


class PairProgram:
    def __init__(self, job, own, other=0):
        own_times, other_times = times_on(job, own), times_on(job, other)
        self.base_ns, base_y_ns = own_times[0][0], other_times[0][0] - own_times[0][0]
        self.seconds = int((max(end for _, end in own_times) - self.base_ns) / 1e9) + 2
        rows, most = [], []

        def not_above(sign, own_ns, other_ns):
            rows.append(sign * self.row_at(own_ns))
            most.append(sign * (other_ns - own_ns - base_y_ns) / 1e3)

        for (own_start, own_end), (other_start, other_end) in zip(own_times, other_times):
            not_above(1, own_start, other_end)
            not_above(-1, own_end, other_start)
        drifts = drift_rows(self.seconds)
        self.rows = numpy.vstack((rows, drifts, -drifts))
        self.most = numpy.concatenate((most, numpy.full(2 * self.seconds, DRIFT_PPM)))
        self.bounds = [(None, None), (-DRIFT_PPM, DRIFT_PPM)] + self.seconds * [(-WANDER_PPM_PER_S, WANDER_PPM_PER_S)]

    def row_at(self, own_ns):
        return row_at((own_ns - self.base_ns) / 1e9, self.seconds)

    def most_us(self, wanted):
        found = linprog(-wanted, A_ub=self.rows, b_ub=self.most, bounds=self.bounds, method="highs")
        if not found.success:
            raise RuntimeError(found.message)
        return -found.fun

    def bound_ns(self, own_ns):
        """Half of what the difference may be at that time of the own clock."""
        wanted = self.row_at(own_ns)
        return (self.most_us(wanted) + self.most_us(-wanted)) / 2 * 1e3


def best_bound_ns(job):
    """The worst of all nodes at the job's two ends, where the collectives say least."""
    worst_ns = 0
    for node in range(1, len(job.clocks)):
        program, clock = PairProgram(job, node), job.clocks[node]
        ranks = job.spans[node * job.ranks_per_node:(node + 1) * job.ranks_per_node]
        first_ns = clock.at(min(spans[0][0] for spans in ranks))
        last_ns = clock.at(max(spans[-1][1] for spans in ranks))
        worst_ns = max(worst_ns, program.bound_ns(first_ns), program.bound_ns(last_ns))
    return worst_ns
