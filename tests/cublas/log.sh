#!/usr/bin/env bash
# tests/cublas/log.sh CLIENT LIBRARY: the call log has one line for each call of the program, and none for the real
# library's own calls; and one for a handle with which something was made.
set -euo pipefail
client=$1 library=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() { # MODE
    rm -f "$scratch/log"
    TESSERA_LOG=calls TESSERA_LOG_FILE=$scratch/log TESSERA_CUBLAS=$1 TESSERA_CUBLAS_DEVICE=cpu \
        TESSERA_CUBLAS_TABLE=${table:-/dev/null} LD_PRELOAD=$library "$client" log >"$scratch/out"
    sed -E 's/host_ns=[0-9]+ pid=[0-9]+$/host_ns=NS pid=PID/' "$scratch/log"
}

# cuBLAS's A is stored transposed, 16 x 32; in row-major terms that is B.
gemm='types=bf16 layout=nt align=2,2,4 m=8 n=16 k=32 lda=33 ldb=35 ldc=18 batch=1'
scaled='types=e5m2-e4m3-bf16 layout=nt align=1,8,2 m=9 n=133 k=261 lda=261 ldb=264 ldc=133 batch=1'
scaled+=' stride_a=0 stride_b=0 stride_c=0'
expect() { # WHAT; the expected log on standard input
    if ! diff "$scratch/expected" "$scratch/found" >&2; then
        echo "log.sh: $1: another log than expected" >&2
        exit 1
    fi
}
end='host_ns=NS pid=PID'
kernel=$(run always | sed -n 's/.* by=\([a-z0-9_-]*\) why=always .*/\1/p' | sed -n 1p)
case $kernel in cpu*) ;; *) echo "log.sh: the first call was answered by '$kernel'" >&2; exit 1 ;; esac
scaled_kernel=$(run always | sed -n 's/.* scales=.* by=\([a-z0-9_-]*\) why=always .*/\1/p')
case $scaled_kernel in cpu*) ;; *) echo "log.sh: the scaled call was answered by '$scaled_kernel'" >&2; exit 1 ;; esac
run always >"$scratch/found"
cat >"$scratch/expected" <<EXPECTED
tessera-handle cublasCreate_v2 gpu=0 workspace_bytes=134217728 plans=0 kernels=0 $end
tessera-cublas cublasGemmEx $gemm stride_a=0 stride_b=0 stride_c=0 by=$kernel why=always $end
tessera-cublas cublasLtMatmul $gemm stride_a=0 stride_b=0 stride_c=0 by=$kernel why=always $end
tessera-cublas cublasLtMatmul $gemm stride_a=0 stride_b=0 stride_c=0 epilogue=36 by=cublas why=epilogue $end
tessera-cublas cublasLtMatmul $gemm stride_a=0 stride_b=0 stride_c=0 epilogue=6 by=$kernel why=always $end
tessera-cublas cublasGemmEx $gemm stride_a=0 stride_b=0 stride_c=0 by=cublas why=math-mode $end
tessera-cublas cublasSgemmBatched by=cublas why=pointer-batch $end
tessera-cublas cublasDgemmGroupedBatched by=cublas why=groups $end
tessera-cublas cublasLtMatmul $scaled scales=4,5 by=$scaled_kernel why=always $end
EXPECTED
expect always
sed -i 1d "$scratch/expected"
for mode in off auto; do
    why=$(test $mode = off && echo off || echo no-line-in-the-table)
    run $mode >"$scratch/found"
    sed -E "s/( scales=4,5)? by=[^ ]+ why=[^ ]+/ by=cublas why=$why/" "$scratch/expected" >"$scratch/next"
    if [ $mode = auto ]; then
        sed -i -e '3s/why=[^ ]*/why=epilogue/' -e '6s/why=[^ ]*/why=pointer-batch/' -e '7s/why=[^ ]*/why=groups/' \
            "$scratch/next"
    fi
    cp "$scratch/next" "$scratch/expected"
    expect $mode
done

# With lines for the GPU: a plan for each shape of its own, two where there is a bias.
printf 'H200\t13.1\tbf16%s\tnn\t16,16,16\t%s\t16\t32\t1\t2.0\t%s\t2026-11-24\n' '' 8 1.9 '' 24 1.02 +bias 8 1.9 \
    '' 2^3 1.9 >"$scratch/table"
table=$scratch/table run auto >"$scratch/found"
grep -qE '^tessera-handle cublasCreate_v2 gpu=0 workspace_bytes=134217728 plans=3 kernels=[12] host_ns=NS pid=PID$' \
    "$scratch/found" || {
    echo "log.sh: no line of three plans: $(cat "$scratch/found")" >&2
    exit 1
}
[ "$(grep -c '^tessera-handle ' "$scratch/found")" = 1 ]
echo "log.sh: passed"
