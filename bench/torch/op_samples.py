#!/usr/bin/env python3
"""Runs PyTorch's own samples of all operators that multiply matrices and compares each result with a CPU's in f64.

PyTorch's test suite draws its inputs from these samples (torch.testing, "OpInfo"), and needs the package expecttest. A
sample fails if the operator raises an error, or if a result or a gradient lies further from the one in f64 than --units
roundings of its type allow. Names of the failed samples go to --out; --against exits with 1 if a sample fails here and
not there:

    python3 op_samples.py --out plain.txt
    TESSERA_CUBLAS=always tessera with python3 op_samples.py --out ours.txt --against plain.txt
"""

import argparse
import ctypes
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db

NAMES = """mm bmm addmm addbmm baddbmm matmul __rmatmul__ addmv addr mv dot vdot inner outer einsum tensordot
addmm.decomposed mm.decomposed linalg.multi_dot linalg.matrix_power linalg.cholesky linalg.inv linalg.solve
linalg.solve_triangular linalg.lu linalg.lu_solve linalg.qr linalg.svd linalg.eigh linalg.pinv linalg.lstsq
linalg.matrix_norm linalg.cond linalg.det linalg.slogdet linalg.tensorsolve linalg.householder_product cholesky_solve
cholesky_inverse ormqr pca_lowrank svd_lowrank nn.functional.linear nn.functional.bilinear
nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward cdist chain_matmul""".split()
DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
UNITS = {torch.float32: 2.0**-24, torch.float64: 2.0**-53, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in tensors_of(item)]
    return []


def widen(value):
    """The same argument on the CPU in f64."""
    if isinstance(value, torch.Tensor):
        to = torch.float64 if value.is_floating_point() else value.dtype
        return value.detach().cpu().to(to).requires_grad_(value.requires_grad)
    if isinstance(value, (tuple, list)):
        return type(value)(widen(item) for item in value)
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    return value


def results_of(operator, sample):
    """Values, then gradients of the sum of their real parts."""
    inputs = [t for t in tensors_of([sample.input, sample.args, list(sample.kwargs.values())]) if t.requires_grad]
    out = [t for t in tensors_of(operator(sample.input, *sample.args, **sample.kwargs)) if t.is_floating_point()]
    smooth = [t for t in out if t.grad_fn is not None]
    if not (inputs and smooth):
        return out
    grads = torch.autograd.grad(sum(t.double().sum() for t in smooth), inputs, allow_unused=True)
    return out + [g for g in grads if g is not None]


def is_near(ours, wide, dtype, units):
    if ours.shape != wide.shape:
        return False
    ours, wide = ours.detach().cpu().double(), wide.detach().double()
    finite = torch.isfinite(wide) & (wide.abs() < torch.finfo(dtype).max)
    bound = units * UNITS[dtype] * (wide[finite].abs().max() if finite.any() else torch.tensor(0.0)).clamp(min=1)
    return bool(((ours - wide)[finite].abs() <= bound).all()) and bool(torch.isfinite(ours[finite]).all())


def failure_of(operator, sample, dtype, units):
    """Why a sample fails; "" if it does not, None if the CPU has no answer to compare with."""
    try:
        wide = results_of(operator, sample.transform(widen))
    except Exception:  # what f64 on a CPU cannot do says nothing about a GPU
        return None
    try:
        ours = results_of(operator, sample)
        torch.cuda.synchronize()
    except Exception as error:
        return type(error).__name__
    if len(ours) != len(wide):
        return "count"
    return "" if all(is_near(o, w, dtype, units) for o, w in zip(ours, wide)) else "value"


def answered():
    try:
        call = ctypes.CDLL(None).tessera_cublas_answered
    except AttributeError:
        return 0
    call.restype = ctypes.c_ulonglong
    return call()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="gets a line for each sample that fails")
    parser.add_argument("--against", help="such a file of a run without Tessera")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--units", type=float, default=256, help="roundings of the result's largest element (256)")
    arguments = parser.parse_args()
    failures, count, operators = [], 0, set()
    for op in op_db:
        if op.name not in NAMES and op.full_name not in NAMES:
            continue
        for name in arguments.dtypes:
            dtype = DTYPES[name]
            if dtype not in op.supported_dtypes("cuda"):
                continue
            torch.manual_seed(1)
            has_gradients = dtype in op.supported_backward_dtypes("cuda")
            for i, sample in enumerate(op.sample_inputs("cuda", dtype, requires_grad=has_gradients)):
                why = failure_of(op.op, sample, dtype, arguments.units)
                if why is None:
                    continue
                count += 1
                operators.add(op.name)
                if why:
                    failures.append(f"{op.full_name} {name} {i} {why}")
    with open(arguments.out, "w") as to:
        to.writelines(line + "\n" for line in failures)
    print(f"{count} samples of {len(operators)} operators, {len(failures)} fail; {answered()} products by Tessera")
    if not arguments.against:
        return 0
    before = {line.rsplit(" ", 1)[0] for line in open(arguments.against)}
    new = [line for line in failures if line.rsplit(" ", 1)[0] not in before]
    for line in new:
        print("fails here alone:", line)
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
