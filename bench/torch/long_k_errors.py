#!/usr/bin/env python3
"""Errors of bf16 products with a long K beside f64, over |value| + sqrt(K), as lines of CSV.

    python3 long_k_errors.py
    TESSERA_CUBLAS=always tessera with python3 long_k_errors.py
"""

import torch

import timing

SHAPES = [
    ("nt", 512, 1025, 32768),
    ("nt", 256, 2049, 32768),
    ("nt", 335, 3543, 44888),
    ("nn", 512, 1024, 32769),
    ("tn", 1025, 1024, 8192),
    ("tn", 1025, 1024, 16384),
    ("nn", 512, 1025, 32768),
    ("nn", 256, 4097, 32768),
    ("nt", 512, 1024, 32768),
    ("nt", 512, 1025, 4096),
]
PERIOD = 8 << 20  # elements after which "periodic" numbers repeat, as in tools/cublas_table


def numbers(data, rows, columns):
    count = rows * columns
    if data == "periodic":
        period = torch.randn(PERIOD, device="cuda", dtype=torch.bfloat16)
        return period.repeat(-(-count // PERIOD))[:count].view(rows, columns)
    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)


def main():
    library = "cublas" if timing.calls_answered() is None else "tessera"
    torch.manual_seed(3)
    print("library,dtype,layout,m,n,k,data,worst_error,mean_error")
    for layout, m, n, k in SHAPES:
        for data in ("normal", "periodic"):
            a = numbers(data, k, m).t() if layout[0] == "t" else numbers(data, m, k)
            b = numbers(data, n, k).t() if layout[1] == "t" else numbers(data, k, n)
            truth = a.double() @ b.double()
            error = ((a @ b).double() - truth).abs() / (truth.abs() + k**0.5)
            print(f"{library},bf16,{layout},{m},{n},{k},{data},{error.max():.5f},{error.mean():.6f}")


if __name__ == "__main__":
    main()
