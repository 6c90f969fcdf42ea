"""Where the rings of traced runs lie: in /dev/shm, or beside the traces where that is too small (a container's 64 MiB)."""

import os

REAL_MIB, SIMULATED_MIB = 512, 64
MOST_OF_A_CASE = 3
SHARED_MEMORY = "/dev/shm"


def in_shared_memory(ring_mib, jobs):
    """Whether all rings that may be there at a time have room, and what to say of it."""
    try:
        found = os.statvfs(SHARED_MEMORY)
    except OSError as error:
        return False, f"{error.strerror}: rings lie beside the traces"
    total_mib, free_mib = (blocks * found.f_frsize >> 20 for blocks in (found.f_blocks, found.f_bavail))
    most = jobs * MOST_OF_A_CASE
    sizes = f"{total_mib} MiB, {free_mib} free"
    # A ring takes at most a 32nd of what is free, and a quarter or 1 GiB is left to others.
    if free_mib >= 32 * ring_mib + most * ring_mib and free_mib - most * ring_mib >= min(total_mib // 4, 1024):
        return True, sizes
    return False, f"{sizes}, too small for {most} rings of {ring_mib} MiB: they lie beside the traces"
