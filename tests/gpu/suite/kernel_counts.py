"""Kernels of ours against torch.profiler's, which has faults of its own."""

import collections

# A longer name is left as the linker knows it (Kineto's demangle.cpp).
LONGEST_DEMANGLED = 1024
# CUPTI before 13.1 may lose kernels of a session, so torch.profiler may lack some that we have.
LOSES_NONE_SINCE = 130100


def _pair(mangled, long_names, words):
    """Takes from both what may be the same kernels, the longest words first. How many."""
    paired = 0
    for name in long_names:
        for long_one in sorted(words, key=len, reverse=True):
            taken = min(words[long_one], mangled[name])
            words[long_one] -= taken
            mangled[name] -= taken
            paired += taken
    return paired


def difference(ours, theirs):
    """({only ours: count}, {only theirs: count}, how many were compared by count alone, their name being too long)"""
    mine, other = ours - theirs, theirs - ours
    by_count = _pair(other, [name for name in other if name.startswith("_Z") and len(name) > LONGEST_DEMANGLED], mine)
    by_count += _pair(mine, [name for name in mine if name.startswith("_Z")], other)
    return +mine, +other, by_count


def compare_steps(row, ours, theirs, cupti_version):
    """Lists of {kernel: count}. Whether torch.profiler has lost some, which its CUPTI may. cupti_version: a function."""
    lost, by_count = collections.Counter(), 0
    for index, (a, b) in enumerate(zip(ours, theirs)):
        mine, other, long_names = difference(a, b)
        by_count += long_names
        if mine and not other and (cupti_version() or LOSES_NONE_SINCE) < LOSES_NONE_SINCE:
            lost += mine
        elif mine or other:
            row.check(False, f"step {index}: ours only {dict(list(mine.items())[:3])}, "
                             f"torch.profiler's only {dict(list(other.items())[:3])}")
    if by_count:
        row.note(f"{by_count} kernels compared by count: their names are too long for torch.profiler")
    if lost:
        row.note(f"torch.profiler lacks {sum(lost.values())} kernels, as CUPTI {cupti_version()} may: "
                 f"{dict(list(lost.items())[:3])}")
    return bool(lost)
