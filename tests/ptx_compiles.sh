#!/usr/bin/env bash
# ptx_compiles.sh GENERATED [NVCC]: each file of tests/ptx, which calls the wrappers of kernels/ptx that no row's kernel
# uses, compiles for the architecture that it is named after. GENERATED has ptx/wgmma_shapes.h. Exit 77: there is no nvcc.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
generated=$1
nvcc=${2:-}
if [ -z "$nvcc" ] || [ ! -x "$nvcc" ]; then
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
fi
if [ ! -x "$nvcc" ]; then
    echo "there is no nvcc"
    exit 77
fi
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
status=0
compile() { # FILE ARCHITECTURE DEFINES...
    local file=$1 arch=$2
    shift 2
    "$nvcc" -std=c++17 -cubin -arch="$arch" -Werror all-warnings -Ikernels -Isrc -I"$generated" -DTSR_KERNEL_NAME=wrappers \
        "$@" -o "$out" "$file" && [ -s "$out" ] && echo "$file $* compiles for $arch" && return
    echo "$file $* does not compile for $arch"
    status=1
}
compile tests/ptx/sm_75.cu sm_75
compile tests/ptx/sm_80.cu sm_80
compile tests/ptx/sm_90.cu sm_90
compile tests/ptx/sm_90a.cu sm_90a -DTSR_WGMMA_ELEMENT_BYTES=2
compile tests/ptx/sm_90a.cu sm_90a -DTSR_WGMMA_ELEMENT_BYTES=1
exit $status
