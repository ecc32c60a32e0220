#!/usr/bin/env bash
# tessera run --sparse: an operand that keeps the 2:4 pattern is multiplied compressed; others are refused or pruned.
. "$(dirname "$0")/cli_lib.sh"

run() { "$tessera" run "$@"; }
bytes_line() { echo "^$1 compressed 2:4: $2 bytes in place of $3: values $4 \(50%\), metadata $5 \($6%\)$"; }

make_matrix W.npy f16 24 64 c 1
make_matrix X.npy f16 64 10 f 2
"$npy_tool" identity I.npy f16 64
"$npy_tool" identity I32.npy f32 24

# W is dense: the first group that breaks the pattern is named.
expect 1 "tessera run: W.npy: A breaks the 2:4 pattern: row 0, columns 0 to 3 hold 4 nonzeros, at most 2 may be; --prune keeps the two largest of each group" \
    run W.npy X.npy -o D.npy --sparse a --device cpu
[ ! -e D.npy ] || fail "D.npy exists"

# Pruned, it is multiplied; W times the identity is what it was pruned to, which then keeps the pattern.
expect 0 "" run W.npy I.npy -o P.npy --sparse a --prune --device cpu
prints "$(bytes_line A 1728 3072 1536 192 6.25)"
prints '^A pruned by magnitude: [0-9.]+% of its norm was lost$'
expect 0 "" run P.npy X.npy -o D.npy --sparse a --device cpu --check
prints "$(bytes_line A 1728 3072 1536 192 6.25)"
prints '^checked 240 of 240 elements against float64: all within the bound'
fits_terminal
succeeds "$npy_tool" product P.npy X.npy D.npy
expect 0 "" run W.npy X.npy -o E.npy --sparse a --prune --device cpu
succeeds cmp D.npy E.npy
expect 0 "" run P.npy X.npy -o E.npy --sparse a --prune --device cpu
prints '^A pruned by magnitude: 0% of its norm was lost$'

# Transposed, as B, in f32, in a stack.
"$npy_tool" transpose P.npy Pt.npy
expect 0 "" run Pt.npy X.npy -o E.npy --transa --sparse a --device cpu
succeeds cmp D.npy E.npy
make_matrix L.npy f32 7 24 c 3
make_matrix V.npy f32 24 20 c 4
expect 1 "*" run L.npy V.npy -o E.npy --sparse b --device cpu
succeeds grep -q "V.npy: B breaks the 2:4 pattern: column 0, rows 0 to 3 hold [34] nonzeros" "$folder/err"
expect 0 "" run I32.npy V.npy -o Q.npy --sparse b --prune --device cpu
expect 0 "" run L.npy Q.npy -o E.npy --sparse b --device cpu
prints "$(bytes_line B 1020 1920 960 60 3.12)"
succeeds "$npy_tool" product L.npy Q.npy E.npy
make_matrix M.npy f32 7 24 c 5
"$npy_tool" stack LM.npy c L.npy M.npy
expect 0 "" run LM.npy Q.npy -o S.npy --sparse b --device cpu
"$npy_tool" slice S.npy 0 S0.npy
succeeds cmp E.npy S0.npy
expect 0 "" run LM.npy Q.npy -o S.npy --sparse a --prune --device cpu --check
prints '^A compressed 2:4: 714 bytes in place of 1344: '

# f32 in tf32, on a GPU or in the emulator: of each two one.
make_matrix T.npy f32 20 30 c 6
make_matrix Y.npy f32 30 9 c 7
expect 1 "tessera run: T.npy: A breaks the 1:2 pattern: row 0, columns 0 to 1 hold 2 nonzeros, at most 1 may be; --prune keeps the larger of each two" \
    run T.npy Y.npy -o D.npy --sparse a --compute tf32 --device emu --kernel sparse24
expect 0 "" run T.npy Y.npy -o D.npy --sparse a --prune --compute tf32 --device emu --kernel sparse24 --check
prints '^A compressed 1:2: 1360 bytes in place of 2400: values 1280 \(53\.3%\), metadata 80 \(3\.33%\)$'
prints '^A pruned by magnitude: [0-9.]+% of its norm was lost$'
prints '^checked 180 of 180 elements against float64: all within the bound'
expect 0 "" run T.npy Y.npy -o D.npy --sparse b --prune --compute tf32 --device emu --check
prints 'wgmma_sparse24_tf32_64x64_c1 on emu'
prints '^B compressed 1:2: '
expect 0 "" run T.npy Y.npy -o D.npy --sparse a --prune --compute tf32 --device cpu --check # in f32
prints '^A compressed 1:2: 1360 bytes in place of 2400'
prints '^checked 180 of 180 elements against float64: all within the bound'
expect 2 "*" run P.npy X.npy -o E.npy --sparse a --compute tf32 --device cpu
succeeds grep -q -- "--compute tf32: not for f16 operands" "$folder/err"

# What cannot be.
expect 2 "tessera run: --prune needs --sparse a or --sparse b, the operand to prune" run W.npy X.npy -o D.npy --prune
expect 2 "*" run W.npy X.npy -o D.npy --sparse c
expect 2 "tessera run: --dtype f64: 2:4 sparsity is for f32, f16, bf16, e4m3, e5m2, s8 and u8" \
    run P.npy X.npy -o E.npy --sparse a --dtype f64 --device cpu
expect 2 "tessera run: --out-dtype e4m3: no results in 8-bit floats with a compressed operand" \
    run P.npy X.npy -o E.npy --sparse a --dtype e4m3 --out-dtype e4m3 --prune --device cpu
finish
