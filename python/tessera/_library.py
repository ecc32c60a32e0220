"""What the library says of itself, in Python's shapes: candidates of a product, kernels, threads, files."""

import contextlib
import html
import math
import os
from typing import NamedTuple

from tessera import _command, _core


class Candidate(NamedTuple):
    """One kernel's answer to a product."""

    kernel: str
    device: str
    applicable: bool
    chosen: bool
    reason: str
    cost_ns: float
    bytes: float
    limiter: str
    schedule: str  # as `kernel=` takes it behind an "@": "split-k=8"; "" where a kernel has one alone


class Kernel(NamedTuple):
    """One kernel instance of the library."""

    name: str
    instance: str
    summary: str
    source: str
    constants: str
    dtype_ab: str
    dtype_cd: str
    is_cuda: bool
    has_device_code: bool


class Route(list):
    """Candidates of a product: the chosen one first, then by expected time, then the rejected ones with their reasons.

    Prints as a table of those that apply, and shows as one in a notebook.
    """

    @property
    def chosen(self):
        """The candidate that runs; LookupError where none applies."""
        for candidate in self:
            if candidate.chosen:
                return candidate
        raise LookupError("no kernel does this product: each candidate's `reason` says why not")

    def _rows(self):
        for one in self:
            if one.applicable:
                yield one.kernel, one.device, f"{one.cost_ns / 1e3:.3f}", one.limiter, one.reason

    def __str__(self):
        rows = [("kernel", "device", "expected us", "limiter", ""), *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, f"and {len(self) - len(rows) + 1} that do not apply"])

    def _repr_html_(self):
        heads = ("kernel", "device", "expected µs", "limiter", "")
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return "<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + f"</tr>{rows}</table>"


def _is_elsewhere(device):
    """A GPU by its name, which only the command's tables know."""
    return isinstance(device, str) and device not in ("auto", "cpu", "emu") and not device.startswith("cuda")


def _route_elsewhere(a, b, device, dtype=None, out_dtype=None, compute=None, **others):
    if others:
        raise TypeError(f"route() on device {device!r} takes dtype, out_dtype and compute, not {', '.join(others)}")
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        raise TypeError(f"route() on device {device!r} takes the shapes of a and b")
    if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2] or a[-1] != b[-2]:
        raise ValueError(f"a {a}, b {b}: not the shapes of a product, or of as many products on both sides")
    if dtype is None:
        raise TypeError("shapes need dtype=")
    if out_dtype is None and _core.dtype_name(dtype) in ("e4m3", "e5m2"):
        out_dtype = "f32"  # as on a device that is here
    answers = _command.route_elsewhere(a[-2], b[-1], a[-1], math.prod(a[:-2]), device=device, dtype=dtype,
                                       out_dtype=out_dtype, compute=compute)
    return Route(Candidate(one["kernel"], one["device"], one["applicable"], one["chosen"], one["reason"] or "",
                           one["cost_ns"] or 0.0, one["bytes"] or 0.0, one["limiter"] or "", one["schedule"] or "")
                 for one in answers)


def route(a, b, **options):
    """Every kernel's answer to the product of `a` and `b`: a Route.

    Operands are arrays, of which only shape, dtype, layout and place count, or shapes with dtype=:
    route((512, 768), (768, 256), dtype="float32"). Options are those of Plan but `out`: the result has tight rows.
    device="h200", "a100" or another that `tessera route --help` lists: a GPU that need not be here, for shapes, operands
    in its memory.
    """
    if _is_elsewhere(options.get("device")):
        return _route_elsewhere(a, b, **options)
    return Route(Candidate(*one) for one in _core.route(a, b, **options))


def kernels():
    """Every kernel instance of the library: a list of Kernel."""
    return [Kernel(*one) for one in _core.kernels()]


@contextlib.contextmanager
def threads(most):
    """Limits the CPU threads of calls, in the whole process, for the length of a with block.

    Then the limit of the last set_threads() counts again, or none. Blocks of several threads must not overlap.
    """
    before = _core.thread_limit()
    _core.set_threads(most)
    try:
        yield
    finally:
        _core.set_threads(before)


def blas_path():
    """The path of libtessera_blas, for LD_PRELOAD: BLAS calls of a program answered by Tessera."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtessera_blas.so.0")
