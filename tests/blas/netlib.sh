#!/usr/bin/env bash
# Netlib's own testers of level 3, preloaded over the reference BLAS: their default input with every routine, then sgemm
# and dgemm alone with sizes around the tiles' edges (the default ends at N = 9, where a dropped tail of K goes unseen).
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$(ls /usr/lib/*/blas/xblat3s 2>/dev/null || true)")
[ -x "$folder/xblat3s" ] || skip "no xblat3s (Debian and Ubuntu: libblas-test)"
[ -e "$folder/libblas.so.3" ] || skip "no reference BLAS (Debian and Ubuntu: libblas3)"
export LD_LIBRARY_PATH=$folder

# The default input, or the same with other sizes and only the product.
widened() { # INPUT PRODUCT
    sed -E -e "s/^[0-9]+( +NUMBER OF VALUES OF N\$)/9\1/" -e "s/^[0-9 ]+ (VALUES OF N)\$/0 1 3 15 16 17 33 64 65 \1/" \
        -e "/^$2 /!s/^([a-zA-Z_0-9]+ +)T PUT F/\1F PUT F/" "$1"
}

run() { # TESTER INPUT SYMBOL CALLS RESULTS
    with_us "$folder/$1" <"$2" >"$1.txt" 2>&1 || die "$1 ended with an error: $(tail -n 3 "$1.txt")"
    cat ./*.out >>"$1.txt" 2>/dev/null || true
    rm -f ./*.out ./*.SNAP
    if grep -nE 'FAIL|\*\*\*|SUSPECT|HALF ACCURATE' "$1.txt"; then
        die "$1 $2: the lines above"
    fi
    [ "$(grep -c 'PASSED THE.*COMPUTATIONAL TESTS' "$1.txt")" = "$5" ] || die "$1 $2: not all $5 tests passed"
    need_calls "$3" "$4"
}

# Six sizes, then nine, for each of M, N and K; 9 pairs of transposes; 9 pairs of factors; cblas also in row-major.
all() { # TESTER INPUT SYMBOL PRODUCT PASSES
    run "$1" "$folder/$2" "$3" $(($5 * 6 * 6 * 6 * 81)) $(($5 * 6))
    widened "$folder/$2" "$4" >"$2.wide"
    run "$1" "$2.wide" "$3" $(($5 * 9 * 9 * 9 * 81)) "$5"
}
all xblat3s sblat3.in sgemm_ SGEMM 1
all xblat3d dblat3.in dgemm_ DGEMM 1
all xscblat3 sin3 cblas_sgemm cblas_sgemm 2
all xdcblat3 din3 cblas_dgemm cblas_dgemm 2
