#!/usr/bin/env bash
# tests/cublas/doctor.sh COMMAND LIBRARY TORCH_LIBRARY DRIVER: what tessera doctor says of a PyTorch that calls cuBLAS
# (TORCH_LIBRARY does) on GPUs of the pretended DRIVER that the table has and has not, of one without a GPU, of one
# whose library asks for no version of cuBLAS (as DRIVER does not), and of none.
set -euo pipefail
command=$1 library=$2 calls=$3 plain=$4
python=$(command -v python3) || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
die() {
    echo "doctor.sh: $*" >&2
    exit 1
}
mkdir -p "$scratch/torch"
cp "$calls" "$scratch/libtorch_cuda.so"
cat >"$scratch/torch/__init__.py" <<'PY'
import ctypes, os
exec(os.environ.get("TORCH_FIRST", ""))
__version__ = "0.0"
bfloat16 = float16 = float32 = None
library = ctypes.CDLL(os.environ["TORCH_LIBRARY"])
class Tensor:
    def __init__(self, total): self.total = total
    def __matmul__(self, other):
        return Tensor(64.0 ** 3 if library.torch_product() == 0 and "TORCH_WRONG" not in os.environ else 0)
    def __getitem__(self, index): return self
    def double(self): return self
    def sum(self): return self
    def item(self): return self.total
def ones(shape, dtype, device): return Tensor(0)
class cuda:
    is_available = staticmethod(lambda: os.environ.get("TORCH_GPU") == "1")
class nn:
    class functional:
        linear = staticmethod(lambda a, b, c: Tensor(64.0 * 64 * 65))
PY
doctor() { # VARIABLE=VALUE...; the answer in $scratch/out, lines unfolded
    env PYTHONPATH="$scratch" TESSERA_CUBLAS_DEVICE=cpu "$@" "$command" doctor --python "$python" --cublas "$library" \
        >"$scratch/raw" 2>&1 || true # such a Python need not have NumPy
    tr -s ' \n' ' ' <"$scratch/raw" >"$scratch/out"
}
needs() {
    grep -qE "$1" "$scratch/out" || die "no '$1' in: $(cat "$scratch/out")"
}

doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so" TORCH_GPU=1 TESSERA_CUBLAS=always
needs 'PyTorch 0[.]0, '
needs 'its cuBLAS is .*libcublas[.]so[.]13'
needs 'calls us: yes, cublasGemmEx; Tessera answered 3 of 3 calls; results right'
doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so" TORCH_GPU=1 TESSERA_CUBLAS=off
needs 'calls us: yes, cublasGemmEx; Tessera answered 0 of 3 calls, 3 not: off; results right'
doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so" TORCH_GPU=1
needs 'the table that is compiled in has no line of this GPU, which the driver does not name, with cuBLAS 13[.]1: '

# On a GPU that the table has lines of, on another one, and by another table.
doctor_on() { # CHIP VARIABLE=VALUE...
    doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so" TORCH_GPU=1 LD_LIBRARY_PATH="$(dirname "$plain")" FAKE_CHIP="$@"
}
doctor_on 'NVIDIA H200'
needs 'Tessera answered 0 of 3 calls, 3 not: no-line-in-the-table; results right'
needs 'the table that is compiled in has [0-9]{4} lines of H200 with cuBLAS 13[.]1, none of products as small as these'
doctor_on 'NVIDIA A100-SXM4-80GB'
needs 'the table that is compiled in has no line of A100-SXM4-80GB with cuBLAS 13[.]1: TESSERA_CUBLAS=always answers'
needs 'docs/CUBLAS.md says how to measure a table of your own'
doctor_on 'NVIDIA H200' TESSERA_CUBLAS_TABLE=/dev/null
needs 'the table that TESSERA_CUBLAS_TABLE names has no line of H200 with cuBLAS 13[.]1: '
printf 'H200\t13.1\tf32\tnn\t16,16,16\t4\t4\t4\t1\t2.0\t1.9\t2026-11-24\n' >"$scratch/table"
doctor_on 'NVIDIA H200' TESSERA_CUBLAS_TABLE="$scratch/table"
needs 'Tessera answered 3 of 3 calls; results right the table that TESSERA_CUBLAS_TABLE names has 1 line of H200 with'
doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so"
needs 'would call us on a GPU: yes: .*/libtorch_cuda.so needs libcublas.so.13, which ours has'
doctor TORCH_LIBRARY="$plain"
needs 'would call us: NO: no library of it'
cp "$plain" "$scratch/libtorch_cuda.so"
doctor TORCH_LIBRARY="$scratch/libtorch_cuda.so"
needs 'would call us: NO: no library of it needs a cuBLAS by version'
doctor TORCH_LIBRARY=/nonexistent
needs 'PyTorch not to be had: '
mkdir "$scratch/a folder"
cp "$library" "$scratch/a folder/libtessera_cublas.so.0"
"$command" doctor --python "$python" --cublas "$scratch/a folder/libtessera_cublas.so.0" >"$scratch/raw" 2>&1 || true
tr -s ' \n' ' ' <"$scratch/raw" >"$scratch/out"
needs "PyTorch $scratch/a folder/libtessera_cublas.so.0: LD_PRELOAD cannot name a path with a space or a colon"
doctor TORCH_LIBRARY="$plain" TORCH_FIRST='raise ImportError()'
needs 'PyTorch not to be had: ImportError\(\)'
doctor TORCH_LIBRARY="$plain" TORCH_FIRST='os._exit(3)'
needs 'PyTorch cannot be tried: it ended with code 3 as Python loaded it'

# Wrong results fail the command, whatever NumPy does.
cp "$calls" "$scratch/libtorch_cuda.so"
code=0
env PYTHONPATH="$scratch" TESSERA_CUBLAS_DEVICE=cpu TORCH_LIBRARY="$scratch/libtorch_cuda.so" TORCH_GPU=1 TORCH_WRONG=1 \
    "$command" doctor --python "$python" --cublas "$library" >"$scratch/raw" 2>&1 || code=$?
[ $code = 1 ] && grep -q 'results WRONG' "$scratch/raw" && grep -q 'the results of PyTorch are wrong' "$scratch/raw" ||
    die "exit code $code of wrong results: $(cat "$scratch/raw")"

"$command" doctor --python "$python" --cublas /nonexistent >"$scratch/raw" 2>&1 || true
grep -q 'there is no libtessera_cublas.so.0' "$scratch/raw" || die "a missing library: $(cat "$scratch/raw")"
code=0
"$command" doctor --python "$python" --cublas "$scratch/torch/__init__.py" >"$scratch/raw" 2>&1 || code=$?
[ $code = 1 ] && grep -q 'torch/__init__.py cannot be used' "$scratch/raw" || die "no library at all: $(cat "$scratch/raw")"
echo "doctor.sh: passed"
