"""Sums over intervals of time, in nanoseconds, as HTA defines its breakdowns."""


def merged(intervals):
    """Disjoint intervals in order; those that touch become one."""
    result = []
    for begin, end in sorted(intervals):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def length(intervals):
    return sum(end - begin for begin, end in merged(intervals))


def extent(intervals):
    return max(end for _, end in intervals) - min(begin for begin, _ in intervals)


def shared(left, right):
    """How long both are busy."""
    return length(left) + length(right) - length([*left, *right])
