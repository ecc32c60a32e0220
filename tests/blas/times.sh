#!/usr/bin/env bash
# tools/time_blas: a line for each size, layout and type; our symbols do the work; wrong sizes and libraries are refused.
. "$(dirname "$0")/lib.sh"
time_blas=$4

refuses() { # CODE MESSAGE ARGUMENTS...: sizes are standard input
    local code=0 expected=$1 message=$2
    shift 2
    "$time_blas" "$@" >out 2>err || code=$?
    [ $code = "$expected" ] || die "$*: exit code $code, $expected expected"
    [ "$(cat err)" = "$message" ] || grep -qxE -- "$message" err || die "$*: printed $(cat err)"
}

printf '3 4 5\n1 1 1\n' | TESSERA_LOG=calls TESSERA_LOG_FILE=$log "$time_blas" "$blas" >out 2>err || die "$(cat err)"
[ "$(grep -cxE '(3 4 5|1 1 1) [nt][nt] f(32|64) [0-9]+\.[0-9]' out)" = 16 ] || die "$(cat out)"
need_calls cblas_sgemm 8
need_calls cblas_dgemm 8

usage='usage: time_blas LIBRARY\.\.\. < SIZES   \(1 to 8 libraries; lines of M N K\)'
refuses 2 "$usage" </dev/null
refuses 2 "$usage" 1 2 3 4 5 6 7 8 9 </dev/null
refuses 1 'time_blas: \./none\.so: .*none\.so.*' ./none.so </dev/null
refuses 1 'time_blas: libm\.so\.6: .*cblas_[sd]gemm.*' libm.so.6 </dev/null
for line in "1 2" "1 2 3 4" "0 1 1" "1025 1 1024" "x"; do
    refuses 2 "time_blas: \"$line\": must be M N K, with matrices of 1 to 1048576 elements" "$blas" <<<"$line"
done
