"""pdgemm.py N BLOCK ROUNDS, under mpirun: C = A B of N x N doubles by ScaLAPACK's pdgemm over all ranks, in square blocks
of BLOCK, checked against a vector product and timed. Rank 0 prints one line. Needs the ScaLAPACK and MPI run-time
libraries and NumPy, no compiler."""
import ctypes
import ctypes.util
import glob
import sys
import time

import numpy as np

order, block, rounds = (int(argument) for argument in sys.argv[1:4])


found = sorted(glob.glob("/usr/lib/*-linux-gnu*/libscalapack-openmpi.so.*"))
if not found:
    sys.exit("no libscalapack-openmpi.so.*")
scalapack = ctypes.CDLL(found[0], mode=ctypes.RTLD_GLOBAL)  # and its MPI, whose plugins look for it
integer = ctypes.c_int


def reference(value):
    return ctypes.byref(value if isinstance(value, ctypes._SimpleCData) else integer(value))


rank, ranks = integer(), integer()
scalapack.Cblacs_pinfo(reference(rank), reference(ranks))
down = max(d for d in range(1, ranks.value + 1) if ranks.value % d == 0 and d * d <= ranks.value)
across = ranks.value // down
context = integer()
scalapack.Cblacs_get(integer(-1), integer(0), reference(context))
scalapack.Cblacs_gridinit(reference(context), b"Row", integer(down), integer(across))
rows, columns, row, column = integer(), integer(), integer(), integer()
scalapack.Cblacs_gridinfo(context, reference(rows), reference(columns), reference(row), reference(column))


def owned(size, place, places):
    """The indices that a rank owns of a dimension dealt out in blocks."""
    index = np.arange(size)
    return index[index // block % places == place]


mine_down, mine_across = owned(order, row.value, down), owned(order, column.value, across)


def whole(seed, i, j):
    """Element (i, j) of a matrix that every rank can compute: small and without pattern."""
    mixed = (i.astype(np.uint64)[:, None] * 2654435761 + j.astype(np.uint64)[None, :] * 40503 + seed) * 2246822519
    return (mixed >> 7).astype(np.int64) % 1024 / 512.0 - 1.0


a = np.asfortranarray(whole(1, mine_down, mine_across))
b = np.asfortranarray(whole(2, mine_down, mine_across))
c = np.full_like(a, np.nan)  # beta is 0: it is not read
descriptor, info = (integer * 9)(), integer()
scalapack.descinit_(descriptor, reference(order), reference(order), reference(block), reference(block), reference(0),
                    reference(0), reference(context), reference(max(1, len(mine_down))), reference(info))
assert info.value == 0
one, zero = ctypes.c_double(1), ctypes.c_double(0)


def multiply():
    scalapack.Cblacs_barrier(context, b"All")
    start = time.perf_counter()
    scalapack.pdgemm_(b"N", b"N", reference(order), reference(order), reference(order), reference(one),
                      a.ctypes.data_as(ctypes.c_void_p), reference(1), reference(1), descriptor,
                      b.ctypes.data_as(ctypes.c_void_p), reference(1), reference(1), descriptor, reference(zero),
                      c.ctypes.data_as(ctypes.c_void_p), reference(1), reference(1), descriptor)
    scalapack.Cblacs_barrier(context, b"All")
    return time.perf_counter() - start


times = sorted(multiply() for _ in range(rounds))

# Some of this rank's elements, each from its row of A and column of B.
pick_down, pick_across = mine_down[:: max(1, len(mine_down) // 9)], mine_across[:: max(1, len(mine_across) // 9)]
every = np.arange(order)
expected = np.einsum("ik,kj->ij", whole(1, pick_down, every), whole(2, every, pick_across))
got = c[np.ix_(np.searchsorted(mine_down, pick_down), np.searchsorted(mine_across, pick_across))]
worst = ctypes.c_double(float(np.abs(got - expected).max()) if expected.size else 0.0)
if not worst.value < 1e-12 * order:
    sys.exit("rank %d: wrong by %g" % (rank.value, worst.value))
if np.isnan(c).any():
    sys.exit("rank %d: elements were not written" % rank.value)
if rank.value == 0:
    median = times[len(times) // 2]
    print("pdgemm n=%d block=%d ranks=%d grid=%dx%d median_ms=%.1f gflops=%.1f" %
          (order, block, ranks.value, down, across, 1e3 * median, 2e-9 * order ** 3 / median))
scalapack.Cblacs_exit(integer(0))
