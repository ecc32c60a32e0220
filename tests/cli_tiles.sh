#!/usr/bin/env bash
# tessera tiles: the limits that rule tiles out, traffic and intensity that are known, and wrong arguments.
. "$(dirname "$0")/cli_lib.sh"
tiles="$tessera tiles"

expect 0 "" $tiles 2048 --device rtx3090
fits_terminal
prints '^2048 x 2048 x 2048 f32 on NVIDIA GeForce RTX 3090: 82 SMs, 35.6 TFLOP/s, 936 GB/s of DRAM, ridge$'
prints '^ *4 +512 x 512 +16 +128 B +16 GiB +4 +0.999 .* memory$'
prints '^ *32 +64 x 64 +1024 +8 KiB +2 GiB +32 +7.94 +7.43 TFLOP/s +67% +memory$'
prints '^ *64 +32 x 32 +4096 +32 KiB .* - +out: threads$'
prints '^ *128 +16 x 16 +16384 +128 KiB .* - +out: threads, shared$'
prints '^ *256 +8 x 8 +256 +32 KiB .* - +out: 256 sums a thread$'
prints '^ *128 +16 x 16 +256 +16 KiB .* 50% +memory$'
if "$tessera" explain tiled >/dev/null 2>&1; then
    prints '^ *32 +128 +1x +32x +1x$'
    prints '^ *16 +256 +1x +8x +1x$'
fi
# Two elements past a tile are a tile more; what lies outside is not loaded.
expect 0 "" $tiles 34 34 34 --device a100
prints '^ *32 +2 x 2 +1024 +8 KiB +18.1 KiB +17 '
expect 0 "" $tiles 1 1 1 --device h100
fits_terminal
expect 0 "" $tiles 100 33 7 --device a40 --format json
succeeds [ "$(wc -l <out)" = 6 ]
prints '^\{"device": "NVIDIA A40", "m": 100, "n": 33, "k": 7, "tile": 4, "tiles_m": 25, "tiles_n": 9, "phases": 2, "threads": 16, "shared_bytes": 128, "loaded_bytes": 48300, '
prints '"tile": 128, .*"ruled_out": "threads"'
expect 0 "" $tiles 64 # this machine's GPU or an h200

expect 2 "tessera tiles: M is missing: usage is tessera tiles M [N K] [options]" $tiles
expect 2 "tessera tiles: M needs a whole number from 1 to 2147483647, not '0'" $tiles 0
expect 2 "tessera tiles: N needs a whole number from 1 to 2147483647, not 'x'" $tiles 5 x
expect 2 "tessera tiles: unexpected argument '4': usage is tessera tiles M [N K] [options]" $tiles 1 2 3 4
expect 2 "tessera tiles: --device needs one of this, h200, h100, a100, a40, rtx3090, not 'v100'" $tiles 5 --device v100
finish
