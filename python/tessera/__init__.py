"""Tessera: tiled matrix multiplication on CPUs and NVIDIA GPUs.

    >>> import numpy as np, tessera
    >>> a = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> tessera.matmul(a, a.T)
    array([[ 5., 14.],
           [14., 50.]], dtype=float32)

`matmul` takes NumPy arrays with any strides, stacks of matrices, and tensors of torch, CuPy, JAX and whatever else speaks
DLPack, on the CPU or GPU where they lie. `Plan` and `prepare` move work out of a loop; `route` says which kernel a product
gets and why, `explain` shows what a kernel does, `bench` measures.
"""

from tessera._core import (
    Error,
    Plan,
    Prepared,
    get_threads,
    matmul,
    prepare,
    set_threads,
)
from tessera._core import version as __version__
from tessera._command import CommandError, Explanation, Measurements, bench, command_path, explain
from tessera._library import Candidate, Kernel, Route, blas_path, kernels, route, threads

__all__ = [
    "Candidate",
    "CommandError",
    "Error",
    "Explanation",
    "Kernel",
    "Measurements",
    "Plan",
    "Prepared",
    "Route",
    "__version__",
    "bench",
    "blas_path",
    "command_path",
    "explain",
    "get_threads",
    "kernels",
    "matmul",
    "prepare",
    "route",
    "set_threads",
    "threads",
]
