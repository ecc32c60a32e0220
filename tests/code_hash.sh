#!/usr/bin/env bash
# code_hash.sh BUILD [NVCC PTXAS FATBINARY]: the hash that the build gives to a kernel is of its machine code. Another name, a
# helper that moved to a header in another folder, comments, line numbers, a parameter more that nothing reads and other
# kernels in its group change nothing; another constant, more shared memory and a parameter that lies elsewhere do. Kernels
# of a group have different names, and none may spill. Exit 77: there is no nvcc.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD build=$1 nvcc=${2:-} ptxas=${3:-} fatbinary=${4:-}
if [ ! -x "$nvcc" ] || [ ! -x "$ptxas" ] || [ ! -x "$fatbinary" ]; then
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

# Some shared memory has one name in all modules and is declared elsewhere, and one kernel spills.
cat >"$work/a/arena.cu" <<'END'
extern __shared__ __align__(128) float arena[];
extern "C" __global__ void TSR_KERNEL_NAME(float *p)
{
    arena[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = TIMES * arena[threadIdx.x ^ 1];
}
END
cat >"$work/a/spills.cu" <<'END'
extern "C" __global__ void TSR_KERNEL_NAME(float *p, int n)
{
    float x[WORDS];
    for (int i = 0; i < n; i++)
        x[(int)p[i] & (WORDS - 1)] = TIMES * i;
    p[n] = x[n & (WORDS - 1)];
}
END

to_ptx() { # FOLDER SOURCE NAME TIMES WORDS
    mkdir -p "$1" &&
        cmake "-DNVCC=$nvcc" -DNVCC_VERSION=V0 -DHOST_CC=cc "-DFATBINARY=$fatbinary" "-DFLAGS=-O3;-std=c++17" -DVIRTUAL=90a \
            -DLATER= "-DDEFINES=-DTIMES=$4;-DWORDS=$5;-DTSR_KERNEL_NAME=$3" "-DINCLUDES=-I$work/b" "-DSOURCE=$work/$2" \
            "-DINSTANCE=$3" "-DOUT=$1/$3" "-DCACHE=$1/cache" -P "$root/cmake/CompileInstance.cmake" >&2
}

to_code() { # FOLDER NAME...
    local folder=$1
    shift
    printf '%s\n' "$@" >"$folder/group.txt"
    cmake -DNVCC_VERSION=V0 "-DPTXAS=$ptxas" "-DFATBINARY=$fatbinary" "-DMERGE_PTX=$build/generated/merge_ptx" \
        "-DCUBIN_CODE=$build/generated/cubin_code" -DCODES=90a-90a "-DMEMBERS=$folder/group.txt" "-DFOLDER=$folder" \
        "-DOUT=$folder/group" "-DCACHE=$folder/cache" -P "$root/cmake/CompileGroup.cmake"
}

hash_in() { # FOLDER NAME
    sed -nE "s/^#define TSR_CODE_$2 \"([0-9a-f]{16})\", [0-9]+$/\1/p" "$1/group.report.h"
}

hash_of() { # SOURCE NAME TIMES WORDS
    local out=$work/$RANDOM$RANDOM
    to_ptx "$out" "$@" && to_code "$out" "$2" >&2 && hash_in "$out" "$2"
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

# A group of three.
group=$work/group
to_ptx "$group" a/first.cu zeroth 7.f 65 && to_ptx "$group" a/first.cu one 3.f 64 && to_ptx "$group" b/second.cu two 5.f 66 &&
    to_code "$group" zeroth one two || exit 1
compare same "two other kernels in its group" "$(hash_in "$group" one)"
compare other "the other kernels" "$(hash_in "$group" zeroth)"
to_ptx "$group" a/arena.cu four 3.f 64 && to_ptx "$group" a/arena.cu five 5.f 64 && to_code "$group" four || exit 1
reference=$(hash_in "$group" four)
to_code "$group" five four || exit 1
compare same "another kernel with the same shared memory" "$(hash_in "$group" four)"
compare other "that kernel" "$(hash_in "$group" five)"

refuses() { # WHAT MESSAGE FOLDER NAME...
    local what=$1 message=$2 said
    shift 2
    if said=$(to_code "$@" 2>&1); then
        echo "$what: FAILED, is not refused"
        status=1
    elif ! tr -s ' \n' ' ' <<<"$said" | grep -E "$message" >/dev/null; then
        echo "$what: FAILED, the message is: $said"
        status=1
    else
        echo "$what: refused"
    fi
}
sed 's/one/two/g' "$group/one.90a.ptx" >"$group/three.90a.ptx"
refuses "a name that two modules have" "three.90a.ptx: a module before it has this name too: two" "$group" two three
sed 's/^\.extern/.global .f32 two; .extern/' "$group/four.90a.ptx" >"$group/three.90a.ptx"
refuses "a variable named as a kernel" "a module before it has this name too: two" "$group" two three
sed 's/^\.target.*/.target sm_90/' "$group/four.90a.ptx" >"$group/three.90a.ptx"
refuses "another architecture" "has another header than the first module" "$group" two three
to_ptx "$group" a/spills.cu local_array 1.f 64 || exit 1
refuses "local memory" "local_array spills or uses local memory" "$group" one local_array
exit $status
