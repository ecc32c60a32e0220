#!/usr/bin/env bash
# tessera tiles: the limits that rule tiles out, traffic and intensity that are known, and wrong arguments.
. "$(dirname "$0")/cli_lib.sh"
tiles="$tessera tiles"

expect 0 "" $tiles 2048 --device rtx3090
fits_terminal
prints '^2048 x 2048 x 2048 f32 on NVIDIA GeForce RTX 3090: 82 SMs, 35.6 TFLOP/s, 936 GB/s of DRAM, ridge$'
prints '^ *4 +512x512 +16 +128 B +16 GiB +4 +0.999 .* memory$'
prints '^ *32 +64x64 +1024 +8 KiB +2 GiB +32 +7.94 +7.43 T +67% +memory$'
prints '^ *64 +32x32 +4096 +32 KiB .* - +out: threads$'
prints '^ *128 +16x16 +16384 +128 KiB .* - +out: threads, shared$'
prints '^ *256 +8x8 +256 +32 KiB .* - +out: 256 sums a thread$'
prints '^ *128 +16x16 +256 +16 KiB .* 50% +memory$'
if "$tessera" explain tiled >/dev/null 2>&1; then
    # Filling a transposed tile [32][32] takes 32 passes over the banks for one, [32][33] one.
    prints '^ *tile +loads a thread +filling +filling, transposed +same with \[T\]\[T\+1\] +reading$'
    prints '^ *32 +128 +1x +32x +1x +1x$'
    prints '^ *16 +256 +1x +8x +2x +1x$' # 16 rows of 17: the first and the last of a warp's two meet in a bank
fi
# Two elements past a tile are a tile more; what lies outside is not loaded.
expect 0 "" $tiles 34 34 34 --device a100
prints '^ *32 +2x2 +1024 +8 KiB +18.1 KiB +17 '
expect 0 "" $tiles 1 1 1 --device h100
fits_terminal
expect 0 "" $tiles 100 33 7 --device a40 --format json
succeeds [ "$(wc -l <out)" = 6 ]
prints '^\{"device": "NVIDIA A40", "dtype": "f32", "m": 100, "n": 33, "k": 7, "tile": 4, "tiles_m": 25, "tiles_n": 9, "phases": 2, "threads": 16, "shared_bytes": 128, "loaded_bytes": 48300, '
prints '"tile": 128, .*"ruled_out": "threads"'
# Other types: half of the bytes and tensor cores, or twice the bytes.
expect 0 "" $tiles 4096 --dtype bf16 --device h200
fits_terminal
prints '^4096 x 4096 x 4096 bf16 on NVIDIA H200: 132 SMs, 1\.07 PFLOP/s on tensor cores, 4\.80 TB/s of DRAM,$'
prints '^ *128 +32x32 +256 +8 KiB +2 GiB +128 +63 .* 302 T .* memory$'
prints '^ *256 +16x16 +256 +16 KiB +1 GiB +256 +124 '
expect 0 "" $tiles 2048 --dtype f64 --device a100
fits_terminal
prints '^2048 x 2048 x 2048 f64 on NVIDIA A100 SXM 80 GB: 108 SMs, 19\.5 TFLOP/s on tensor cores, 2\.04 TB/s of'
prints '^ *32 +64x64 +1024 +16 KiB +4 GiB +32 +3\.97 '
expect 0 "" $tiles 64 --dtype f16 --format json --device a40
prints '"dtype": "f16", .*"tile": 16, .*"shared_bytes": 1024, '
expect 2 "*" $tiles 5 --dtype s32
COLUMNS=80 expect 0 "" $tiles 2048 --device rtx3090
checks=$((checks + 1))
! grep -Eq '.{81}| $' out || fail "wide at 80 columns: $(grep -E '.{81}' out)"
expect 0 "" $tiles 64 # this machine's GPU or an h200

expect 2 "tessera tiles: M is missing: usage is tessera tiles M [N K] [options]" $tiles
expect 2 "tessera tiles: M needs a whole number from 1 to 2147483647, not '0'" $tiles 0
expect 2 "tessera tiles: N needs a whole number from 1 to 2147483647, not 'x'" $tiles 5 x
expect 2 "tessera tiles: unexpected argument '4': usage is tessera tiles M [N K] [options]" $tiles 1 2 3 4
expect 2 "tessera tiles: --device needs one of this, $gpus, not 'v100'" $tiles 5 --device v100
finish
