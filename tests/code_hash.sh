#!/usr/bin/env bash
# code_hash.sh BUILD [NVCC]: the hash that the build gives to a kernel is of its machine code. Another name, a helper that
# moved to a header in another folder, comments, line numbers and a parameter more that nothing reads change nothing; another
# constant, more shared memory and a parameter that lies elsewhere do. Exit 77: there is no nvcc.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD build=$1 nvcc=${2:-}
if [ -z "$nvcc" ] || [ ! -x "$nvcc" ]; then
    echo "this build has no nvcc"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/a" "$work/b"
cat >"$work/a/first.cu" <<'END'
static __device__ __forceinline__ float helper(float x, int i) { return x * TIMES + (float)(i & 3); }
extern "C" __global__ void __launch_bounds__(64) TSR_KERNEL_NAME(float *p, int n)
{
    __shared__ float s[WORDS];
    const int i = (int)threadIdx.x;
    s[i] = p[i];
    __syncthreads();
    if (i < n)
        p[i] = helper(s[63 - i], i);
}
END
cp "$work/a/first.cu" "$work/b/first.cu"
cat >"$work/b/moved.h" <<'END'
/* The same helper, elsewhere and under another name. */
static __device__ __forceinline__ float scaled(float value, int lane)
{
    return value * TIMES + (float)(lane & 3);
}
END
cat >"$work/b/second.cu" <<'END'

#include "moved.h"
// A comment more.
extern "C" __global__ void __launch_bounds__(64) TSR_KERNEL_NAME(float *d, int count)
{
    __shared__ float tile[WORDS];
    const int lane = (int)threadIdx.x;
    tile[lane] = d[lane];
    __syncthreads();
    if (lane < count)
        d[lane] = scaled(tile[63 - lane], lane);
}
END
sed 's/int n)/int n, int unused)/' "$work/a/first.cu" >"$work/a/third.cu"
sed 's/float \*p, int n)/float *p, long long unused, int n)/' "$work/a/first.cu" >"$work/a/fourth.cu"

hash_of() { # SOURCE NAME TIMES WORDS
    local out=$work/$RANDOM$RANDOM
    mkdir "$out" &&
        cmake "-DNVCC=$nvcc" -DNVCC_VERSION=V0 -DHOST_CC=cc "-DCUBIN_CODE=$build/generated/cubin_code" \
            "-DFLAGS=-O3;-std=c++17;-gencode;arch=compute_90a,code=sm_90a" "-DDEFINES=-DTIMES=$3;-DWORDS=$4;-DTSR_KERNEL_NAME=$2" \
            "-DINCLUDES=-I$work/b" "-DSOURCE=$work/$1" "-DINSTANCE=$2" "-DFATBIN=$out/k.fatbin" "-DREPORT=$out/k.report.h" \
            "-DCACHE=$out/cache" -P "$root/cmake/CompileInstance.cmake" >&2 &&
        sed -nE 's/.*"([0-9a-f]{16})".*/\1/p' "$out/k.report.h"
}

status=0
compare() { # same|other WHAT HASH
    local found=other
    [ "$3" = "$reference" ] && found=same
    if [ "$found" = "$1" ] && [ -n "$3" ]; then
        echo "$2: $1 hash"
    else
        echo "$2: FAILED, '$3' beside '$reference', where the hash must be the $1"
        status=1
    fi
}
reference=$(hash_of a/first.cu one 3.f 64)
[ ${#reference} = 16 ] || exit 1
compare same "another folder" "$(hash_of b/first.cu one 3.f 64)"
compare same "kernel renamed" "$(hash_of a/first.cu another_name 3.f 64)"
compare same "helper moved and renamed" "$(hash_of b/second.cu one 3.f 64)"
compare same "both" "$(hash_of b/second.cu another_name 3.f 64)"
compare other "another constant" "$(hash_of a/first.cu one 5.f 64)"
compare other "more shared memory" "$(hash_of a/first.cu one 3.f 65)"
compare same "one parameter more behind the others" "$(hash_of a/third.cu one 3.f 64)"
compare other "a parameter elsewhere" "$(hash_of a/fourth.cu one 3.f 64)"
exit $status
