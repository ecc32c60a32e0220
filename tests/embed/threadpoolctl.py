"""threadpoolctl.py LIBRARY: threadpoolctl sees Tessera's threads, limits them and restores them."""

import ctypes
import os
import sys

os.environ["TESSERA_NUM_THREADS"] = "3"
os.environ["TESSERA_DEVICE"] = "cpu"
sys.path.pop(0)  # this file has the module's name
try:
    import threadpoolctl
except ImportError:
    print("threadpoolctl is not here")
    sys.exit(77)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import tessera_threadpool  # noqa: F401  registers the controller

library = ctypes.CDLL(sys.argv[1])
N = 500
ones = (ctypes.c_float * (N * N))(*([1.0] * (N * N)))
result = (ctypes.c_float * (N * N))()
size = ctypes.c_int64(N)


def tasks_after_a_product():
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    assert library.tsr_sgemm(0, 0, size, size, size, one, ones, size, ones, size, zero, result, size) == 0
    assert result[N * N - 1] == N
    return len(os.listdir("/proc/self/task"))


def ours():
    return [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "tessera"]


assert [pool["num_threads"] for pool in ours()] == [3], ours()
assert ours()[0]["user_api"] == "blas" and ours()[0]["version"].count(".") == 2, ours()
before = len(os.listdir("/proc/self/task"))
with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
    assert ours()[0]["num_threads"] == 1, ours()
    assert tasks_after_a_product() == before
assert ours()[0]["num_threads"] == 3, ours()
assert tasks_after_a_product() == before + 2
