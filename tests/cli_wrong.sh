#!/usr/bin/env bash
# A library that gets one element wrong: run --check and verify notice, name the place, and write nothing.
. "$(dirname "$0")/cli_lib.sh"
broken=$3

make_matrix A.npy f32 40 30 c 1
make_matrix B.npy f32 30 50 c 2
expect 0 "" "$broken" run A.npy B.npy -o D.npy --device cpu # the breakage is real
checks=$((checks + 1))
! "$npy_tool" product A.npy B.npy D.npy 2>err || fail "D.npy is right"
expect 0 "" "$tessera" run A.npy B.npy -o D.npy --device cpu --check
cp D.npy old.npy
expect 1 "*" "$broken" run A.npy B.npy -o D.npy --device cpu --check
succeeds grep -Eq '^tessera run: D.npy by cpu_tiled_f32 is wrong and not written: checked 2000 of 2000 elements against float64: 1 beyond the bound; worst at \(0, 0\): value -?[0-9]+, reference -?[0-9]+, error [0-9]+, bound [0-9.e-]+; of all, error up to [0-9]+, relative error up to [0-9.e+-]+$' err
succeeds cmp -s D.npy old.npy
expect 1 "*" "$broken" run A.npy B.npy -o new.npy --device cpu --check
checks=$((checks + 1))
[ ! -e new.npy ] || fail "new.npy exists"

expect 1 "" "$broken" verify --device cpu --kernel cpu_sequential_f32
prints '^cpu_sequential_f32 +cpu +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +[0-9.e+]+ +[0-9.e+]+ +[0-9.e+]+  FAILED$'
prints '^  worst at \(0, 0\): value '
prints '^  first: .*'
prints '^0 of 1 kernels passed, '
fits_terminal
expect 1 "" "$broken" verify --device cpu --kernel cpu_sequential_f32 --format json
prints '"passed": false, .*"failed": [1-9].*"row": 0, "column": 0, "value": [^n]'

finish
