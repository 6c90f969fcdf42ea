"""A rank of an MPI program: the launcher's own library, by ctypes, says which. Each rank makes calls of
a size of its own, so that a trace which mixes ranks up shows it.

usage: mpi_ranks.py LIBMPI LIBCUDART
"""

import ctypes
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import mapped  # noqa: E402

mpi, cuda = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), ctypes.CDLL(sys.argv[2])
OPEN_MPI = hasattr(mpi, "ompi_mpi_comm_world")
# A pointer in Open MPI, a number that the ABI fixes in MPICH.
WORLD = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))) \
    if OPEN_MPI else ctypes.c_int(0x44000000)

mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
pointer = ctypes.c_void_p()
returned = [cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(4096))]
for step in range(3):
    returned.append(cuda.cudaMemset(pointer, 0, ctypes.c_size_t(1000 + rank.value)))
    mpi.MPI_Barrier(WORLD)
returned.append(cuda.cudaFree(pointer))
mapped.write_down()
print(f"rank {rank.value} of {size.value}: {returned}", flush=True)
mpi.MPI_Finalize()
