#!/usr/bin/env bash
# tests/cublas/measure.sh CUBLAS_TABLE DRIVER_FOLDER CUBLAS_FOLDER LAZY: the program behind tools/measure-cublas-table on a
# driver and a cuBLAS that pretend: it measures the shapes of a call log once each, keeps what the table has, and writes
# what libtessera_cublas reads. LAZY is a libtessera_cublas that leaves a part of D unwritten.
set -euo pipefail
table=$1 driver=$2 cublas=$3 lazy=$4
[ -e "$driver/libcuda.so.1" ] || exit 77
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
die() {
    echo "measure.sh: $*" >&2
    exit 1
}

cat >"$scratch/log" <<'LOG'
tessera-cublas cublasGemmEx types=bf16 layout=nt align=2,2,4 m=8 n=16 k=32 lda=33 ldb=35 ldc=18 batch=1 stride_a=0 stride_b=0 stride_c=0 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasGemmEx types=bf16 layout=nt align=2,2,4 m=8 n=16 k=32 lda=33 ldb=35 ldc=18 batch=1 stride_a=0 stride_b=0 stride_c=0 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasGemmStridedBatchedEx types=f32 layout=tn align=16,16,16 m=8 n=16 k=32 lda=8 ldb=16 ldc=16 batch=3 stride_a=256 stride_b=512 stride_c=128 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasSgemmBatched by=cublas why=pointer-batch host_ns=1 pid=2
tessera-cublas cublasLtMatmul types=f32 layout=tn align=16,16,16 m=16 n=16 k=32 lda=16 ldb=16 ldc=16 batch=1 stride_a=0 stride_b=0 stride_c=0 epilogue=4 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasLtMatmul types=f32 layout=tn align=16,16,16 m=8 n=16 k=32 lda=8 ldb=16 ldc=16 batch=2 stride_a=256 stride_b=512 stride_c=128 epilogue=4 by=cublas why=off host_ns=1 pid=2
LOG
printf '# a note\nH100\t13.1\tbf16\tnt\t2,2,4\t8\t16\t32\t1\t3.000\t2.000\t2026-01-01\n' >"$scratch/table"
run() {
    LD_LIBRARY_PATH=$driver TESSERA_CUBLAS_PATH=$cublas TESSERA_CUBLAS_DEVICE=cpu \
        "$table" --log "$scratch/log" --out "$scratch/table" "$@" >"$scratch/out"
}
run || die "the first run failed"
grep -q '4 of 4 lines looked at, 3 measured, .* 1 not measured' "$scratch/out" || die "$(tail -1 "$scratch/out")"
grep -qE $'^H200\t13[.]1\tf32[+]bias\ttn\t16,16,16\t16\t16\t32\t1\t[0-9.]+' "$scratch/table" ||
    die "no line with a bias: $(cat "$scratch/table")"
grep -q $'f32[+]bias\ttn\t16,16,16\t8\t16\t32\t2\tTessera does not answer it' "$scratch/out" || die "$(cat "$scratch/out")"
[ "$(wc -l <"$scratch/table")" = 5 ] || die "$(cat "$scratch/table")"
head -2 "$scratch/table" | cmp - <(printf '# a note\nH100\t13.1\tbf16\tnt\t2,2,4\t8\t16\t32\t1\t3.000\t2.000\t2026-01-01\n') ||
    die "what the table had is gone"
grep -qE $'^H200\t13[.]1\tbf16\tnt\t2,2,4\t8\t16\t32\t1\t[0-9.]+\t[0-9.]+\t[0-9-]{10}$' "$scratch/table" ||
    die "$(cat "$scratch/table")"
run
grep -q ' 0 measured' "$scratch/out" || die "measured again: $(tail -1 "$scratch/out")"
run --again
grep -q ' 3 measured' "$scratch/out" || die "not measured again: $(tail -1 "$scratch/out")"
[ "$(wc -l <"$scratch/table")" = 5 ] || die "a line was doubled"

# What is left unwritten is seen, in the first 4 MiB of D and in the last, of the first problem and of the last.
cat >"$scratch/log" <<'LOG'
tessera-cublas cublasGemmEx types=bf16 layout=nt align=2,2,4 m=8 n=16 k=32 lda=33 ldb=35 ldc=18 batch=1 stride_a=0 stride_b=0 stride_c=0 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasGemmEx types=f32 layout=nt align=4,4,16 m=1024 n=1280 k=1 lda=1 ldb=1 ldc=1280 batch=1 stride_a=0 stride_b=0 stride_c=0 by=cublas why=off host_ns=1 pid=2
tessera-cublas cublasGemmStridedBatchedEx types=f32 layout=tn align=16,16,16 m=8 n=16 k=32 lda=8 ldb=16 ldc=16 batch=3 stride_a=256 stride_b=512 stride_c=128 by=cublas why=off host_ns=1 pid=2
LOG
for part in all last; do
    : >"$scratch/wrong"
    LAZY=$part LD_LIBRARY_PATH=$driver TESSERA_CUBLAS_PATH=$cublas \
        "$table" --log "$scratch/log" --out "$scratch/wrong" --library "$lazy" --rounds 5 >"$scratch/out"
    [ "$(grep -c 'WRONG RESULTS$' "$scratch/out")" = 3 ] || die "unwritten ($part): $(cat "$scratch/out")"
done

# The built-in list has the shapes that the documents promise.
"$table" --list >"$scratch/list"
for shape in $'nt\t16,16,2\t16384\t50257\t768' $'nn\t2,16,16\t16384\t768\t50257' $'tn\t2,16,16\t50257\t768\t16384' \
    $'nt\t16,16,16\t16384\t50304\t768' $'nt\t16,16,2\t2^10\t2^12\t2^12' $'nt\t16,16,16\t2^0\t2^12\t2^12' \
    $'bf16+bias\tnt\t16,16,16\t16384\t2304\t768' $'e4m3-bf16\tnt\t16,16,16\t4096\t4096\t4096'; do
    grep -qF "$shape" "$scratch/list" || die "the list lacks $shape"
done
[ "$(cut -f3-9 "$scratch/list" | sort | uniq -d | wc -l)" = 0 ] || die "the list has a line twice"
"$table" --out "$scratch/table" --rounds 2 2>/dev/null && die "two rounds were accepted"
"$table" --log "$scratch/none" --out "$scratch/table" 2>/dev/null && die "a missing log was accepted"
echo "measure.sh: passed"
