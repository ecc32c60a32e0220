#!/usr/bin/env bash
# The part of tools/demo for machines without a GPU: every rung runs in the emulator, and stands in the table of an H200.
. "$(dirname "$0")/cli_lib.sh"

"$tessera" explain tiled >/dev/null 2>&1 || exit 77
[ -z "${SANITIZED:-}" ] || exit 77 # its two commands have tests of their own, and here they would take minutes
export COLUMNS=80
expect 0 "" "$source_folder/tools/demo" "$(realpath --relative-to="$source_folder" "$(dirname "$tessera")")" --emulated
prints '^([0-9]+) of \1 kernels passed, '
for rung in uncoalesced naive tiled regtile1d regtile2d padded swizzled vectorized double_buffered warptile wmma mma mma_tma wgmma \
    wgmma_skinny; do
    prints "^${rung}_[a-z0-9_]+$"
done
succeeds [ "$(grep -cE '^  2048 .* [GTP]$' out)" = 15 ]
prints '^Next, from docs/COURSE.md'
checks=$((checks + 1))
! grep -E '.{81}' out || fail "lines wider than 80 columns"
finish
