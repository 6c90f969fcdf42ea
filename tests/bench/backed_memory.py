"""Free memory that the host of a virtual machine does not take back.

Where the host does (a balloon with free page reporting: /sys/module/page_reporting/parameters/reported_kib grows), blocks
of free pages go back to it within seconds, and each page of them waits for the host when it is written next: `cat` of
2.4 GB into /dev/shm took between 1.0 and 10 s. Single pages between others that are in use are no block.
"""
import contextlib
import ctypes
import os

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
KEEP_SIZE_AND_PUNCH_HOLE = 3  # linux/falloc.h


def fill(descriptor, size):
    piece = bytes(1 << 20)
    for offset in range(0, size, len(piece)):
        os.pwrite(descriptor, piece, offset)


def free_every_second_page(descriptor, size):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate64.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    for offset in range(0, size, 2 * PAGE_BYTES):
        if libc.fallocate64(descriptor, KEEP_SIZE_AND_PUNCH_HOLE, offset, PAGE_BYTES) != 0:
            raise OSError(ctypes.get_errno(), "no holes can be made in files of memory")


@contextlib.contextmanager
def backed_memory(gib):
    """So many GiB free in single pages, and as much in use between them; 0: nothing is done."""
    size = int(2 * gib * (1 << 30)) >> 20 << 20
    descriptor = os.memfd_create("backed memory")
    try:
        fill(descriptor, size)
        free_every_second_page(descriptor, size)
        yield
    finally:
        os.close(descriptor)
