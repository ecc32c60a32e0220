#!/usr/bin/env bash
# tessera roofline: peaks and bounds that are known, measured points, pictures, and wrong arguments.
. "$(dirname "$0")/cli_lib.sh"
roofline="$tessera roofline"

if ! $roofline --device a100 --kernel naive --sizes 32 >out 2>err; then
    grep -q "emulator" err && exit 77
fi
flat() { tr '\n' ' ' <out | sed 's/  */ /g'; }
says() { # TEXT, however it is wrapped
    checks=$((checks + 1))
    flat | grep -F -- "$1" >/dev/null || fail "the output does not say $1: $(head -c 600 out)"
}

# A100: 108 SMs x 64 x 1.41 GHz x 2 = 19.5 TFLOP/s, 2.0 TB/s, ridge 9.75.
expect 0 "" $roofline --device a100 --kernel naive --sizes 32
fits_terminal
says 'NVIDIA A100 SXM 80 GB: 108 SMs x 64 multiply-adds x 1.410 GHz x 2 = 19.5 TFLOP/s; 5120 bit x 1.593 GHz x 2 / 8 = 2.04 TB/s of DRAM; ridge 9.56 FLOP/B (of the figures to one decimal, 19.5 / 2.0, 9.75)'
# RTX 3090: 936.2 GB/s x 0.25 = 234 GFLOP/s = 0.65% of 35,580; x 8 = 7,490 = 21%. Both intensities are counted.
expect 0 "" $roofline --device rtx3090 --kernel naive,tiled_f32_t32 --sizes 256
fits_terminal
says '35.6 TFLOP/s; 384 bit x 9.752 GHz x 2 / 8 = 936 GB/s of DRAM'
prints '^naive_f32 +256 +0\.25 +0\.[34][0-9]* +[0-9.]+ +234 G +[0-9.]+ [GT] +L1 +[0-9.]+ [GT]$'
prints '^tiled_f32_t32 +256 +8 +[0-9.]+ +[0-9.]+ +7\.49 T +[0-9.]+ [GT] +L1 +[0-9.]+ [GT]$'
says 'naive_f32 at 256, memory-bound (L1'
says 'as if each load came from DRAM: 234 GFLOP/s, 0.658% of the peak'
says 'as if each load came from DRAM: 7.49 TFLOP/s, 21% of the peak'
says '- shared memory: each element is loaded anew by each thread that needs it; tiles of 32 x 32 would cut the loads 32 times, to 8 FLOP/B'
says '- traffic: 8 FLOP for each byte loaded, the ridge is at 38; tiles 5 times as wide'

# Advice that follows from counters: coalescing, conflicts, tensor cores.
expect 0 "" $roofline --device h200 --kernel uncoalesced,regtile2d,padded --sizes 256
says 'coalescing: a warp'
says 'regtile2d_f32 at 256, '
says 'bank conflicts: '
says 'tensor cores: they multiply 16-bit factors'
succeeds [ "$(grep -c 'bank conflicts' out)" = 1 ]
expect 0 "" $roofline --device h100 --kernel mma --dtype bf16 --sizes 256
says '; tensor cores 1.07 PFLOP/s, ridge 320'
prints '^mma_bf16_[a-z0-9_]+ +256 +[0-9.]+ .* DRAM +[0-9.]+ [GT]$'
# The flagship: 85 FLOP for each byte loaded are no bound of 410 TFLOP/s, since L2 delivers; nor do wider tiles help.
expect 0 "" $roofline --device h200 --dtype bf16 --kernel wgmma --sizes 4096
fits_terminal
prints '^wgmma_bf16_[a-z0-9_]+ +4096 +85\.3 +[0-9.]+ +[0-9]+ +4[01][0-9] T +1\.07 P +compute +[0-9.]+ T$'
says ', compute-bound'
checks=$((checks + 1))
! grep -q 'tiles 3 times as wide' out || fail "advice for another kernel: $(cat out)"
# Of 2 M N K: C and the operands once are 1500 FLOP for each byte, though tiles reach beyond C's edges.
expect 0 "" $roofline --device h200 --dtype bf16 --kernel mma --sizes 3000
prints '^mma_bf16_128x128_a8 +3000 +64 +[0-9.]+ +1500 '
expect 0 "" $roofline --device a40 --compute tf32 --sizes 128
prints '^mma_tf32_'

# Measured points: of the counted instance, or else of the fastest one, on such a device only.
line() { # KERNEL DEVICE GFLOPS
    printf '{"kernel": "%s", "device": "%s", "dtype": "f32", "layout": "nn", "m": 256, "n": 256, "k": 256, "time_us": 9, ' "$1" "$2"
    printf '"time_us_min": null, "spread": null, "gflops": %s, "gbps": null, "peak_pct": null, "peer": "", ' $3
    printf '"peer_time_us": null, "peer_best_time_us": null, "ratio": null, "ratio_lo": null, "ratio_hi": null, '
    printf '"ratio_best": null, "clock_mhz": null, "power_w": null, "commit": "c", "date": "d"}\n'
}
{
    line naive_f32 "NVIDIA A40" 465
    line naive_f32 "NVIDIA RTX A4000" 1
    line tiled_f32_t16 "NVIDIA A40" 1147
    line tiled_f32_t8 "NVIDIA A40" 800
} >a40.json
expect 0 "" $roofline --device a40 --kernel naive,tiled_f32_t16,tiled_f32_t32 --sizes 256 --from a40.json
prints '^naive_f32 .* 465 G$'
prints '^tiled_f32_t16 .* 1.15 T$'
prints '^tiled_f32_t32 .* -$'
# A kernel's name stands for its fastest instance on record; that one is counted.
expect 0 "" $roofline --device a40 --kernel tiled --sizes 256 --from a40.json
prints '^tiled_f32_t16 +256 +4 .* 1.15 T$'
expect 0 "" $roofline --device h100 --kernel naive --sizes 256 --from a40.json
prints '^naive_f32 .* L1 +[0-9.]+ [GT]$' # nothing measured: the model's
prints ' by +model$'

# One problem: its own FLOP for each byte, its side, its bound, and advice for it.
expect 0 "" $roofline 4096 4096 4096 --dtype f16 --device a100
fits_terminal
says '4096 x 4096 x 4096 f16 on NVIDIA A100 SXM 80 GB: 312 TFLOP/s, 2.04 TB/s, ridge 153 FLOP/B'
says '137 GFLOP, 96 MiB with A and B read once and C written once: 1365 FLOP for each byte'
says 'compute-bound: at most 312 TFLOP/s'
checks=$((checks + 1))
! grep -q 'precision:' out || fail 'an A100 multiplies no 8-bit floats'
says '- tiles: '
expect 0 "" $roofline 4096 4096 4096 --dtype f16 --peak-tflops 312 --bandwidth-gbs 1555
says 'on the numbers given: 312 TFLOP/s, 1.55 TB/s, ridge 201 FLOP/B'
says 'compute-bound: at most 312 TFLOP/s'
expect 0 "" $roofline 4096 4096 4096 --dtype f16 --device a100 --bandwidth-gbs 1555 # the 40 GB card
says '312 TFLOP/s, 1.55 TB/s, ridge 201 FLOP/B'
expect 0 "" $roofline 1 4096 4096 --dtype f16 --device a100
says 'memory-bound: at most 2.04 TFLOP/s, 0.653% of the peak'
says '- reuse: each element of the larger operand is used 1 time'
says '- coalescing: '
says '- split of K: 32 tiles of 128 x 128 for 108 SMs'
expect 0 "" $roofline 64 64 64 # this machine's GPU or an h200
expect 2 "tessera roofline: N is missing: one problem is M N K" $roofline 5
# Types that the GPU's units do not multiply, unless the peak is the caller's.
lacks() { echo "tessera roofline: NVIDIA A100 SXM 80 GB does not multiply $1: that needs compute capability 8.9; the device has 8.0"; }
expect 1 "$(lacks e4m3)" $roofline 512 512 512 --dtype e4m3 --device a100 --out none.txt
expect 1 "$(lacks e5m2)" $roofline 512 512 512 --dtype e5m2 --compute fast --device a100 --bandwidth-gbs 1555 --out none.txt
succeeds test ! -e none.txt
expect 0 "" $roofline 512 512 512 --dtype e4m3 --device a100 --peak-tflops 624
expect 0 "" $roofline 512 512 512 --dtype s8 --device a100
expect 0 "" $roofline 512 512 512 --dtype e4m3 --device h100
expect 1 "tessera roofline: no kernel multiplies e4m3 on NVIDIA A100 SXM 80 GB" $roofline --dtype e4m3 --device a100
expect 2 "tessera roofline: --kernel, --sizes, --from and --format are for kernels, not for one problem" $roofline 5 5 5 --kernel naive
expect 2 "tessera roofline: --peak-tflops and --bandwidth-gbs go with a problem M N K" $roofline --peak-tflops 5
expect 2 "tessera roofline: --peak-tflops needs a number from 1e-06 to 1e+09, not '0'" $roofline 5 5 5 --peak-tflops 0
expect 2 "tessera roofline: --bandwidth-gbs needs a number from 1e-06 to 1e+09, not '-5'" $roofline 5 5 5 --bandwidth-gbs -5
# Beyond these peaks would be infinite, or 0.
expect 2 "tessera roofline: --peak-tflops needs a number from 1e-06 to 1e+09, not '1e308'" \
    $roofline 1 1 1 --peak-tflops 1e308 --bandwidth-gbs 1
expect 2 "tessera roofline: --bandwidth-gbs needs a number from 1e-06 to 1e+09, not '1e-320'" \
    $roofline 1 1 1 --peak-tflops 1 --bandwidth-gbs 1e-320

# Pictures, whole or not at all.
expect 0 "" $roofline --device a40 --kernel naive,tiled --sizes 64,256 --from a40.json --format svg --out roof.svg
succeeds [ ! -s out ]
succeeds grep -q '^<svg ' roof.svg
succeeds [ "$(grep -c 'class="bound"' roof.svg)" = 5 ] # four points and the legend
succeeds [ "$(grep -c 'class="measured"' roof.svg)" = 3 ]
succeeds grep -q '>FLOP for each byte<' roof.svg
succeeds grep -q '>64: 10.7<' roof.svg
succeeds grep -q '>a size, with A, B and C moved once<' roof.svg
succeeds [ "$(grep -c 'class="cap"' roof.svg)" = 5 ]
expect 0 "" $roofline --device a40 --kernel naive --sizes 64 --format html --out roof.html
succeeds grep -q '^<svg ' roof.html
succeeds grep -q '<li>shared memory' roof.html
if command -v python3 >/dev/null; then
    succeeds python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("roof.svg")'
fi
expect 1 "tessera roofline: no/roof.svg: cannot be written: No such file or directory" \
    $roofline --device a40 --kernel naive --sizes 32 --format svg --out no/roof.svg

# What the GPU cannot run stands on no roofline of it; named, it is said.
expect 1 "tessera roofline: wgmma does not run on NVIDIA A100 SXM 80 GB: needs compute capability 9.0; the device has 8.0" \
    $roofline --device a100 --kernel wgmma --dtype bf16 --sizes 64
expect 0 "" $roofline --device a100 --dtype bf16 --sizes 64
prints '^mma_bf16_'
checks=$((checks + 1))
! grep -q wgmma out || fail "a kernel for Hopper on an A100: $(grep wgmma out)"

expect 1 "tessera roofline: none of the kernels named computes f32 on GPUs" $roofline --device a40 --kernel cpu-tiled
# A compressed operand: its peak is twice the other's, of the whole product's FLOP, and its bytes are fewer.
expect 0 "" $roofline 4096 4096 4096 --dtype bf16 --device h200 --sparse a
prints '^137 GFLOP of the whole product, 82 MiB with A and B read once, A.s values and metadata'
prints '^compute-bound: at most 2.14 PFLOP/s, 100% of the peak'
expect 0 "" $roofline --dtype bf16 --device h200 --sparse b --sizes 512
prints '^sparse24_bf16_128x128 '
prints '^wgmma_sparse24_bf16_64x64_c1 '
succeeds [ "$(grep -c '^wgmma_bf16\|^mma' out)" = 0 ]
prints 'with an operand compressed 2:4,'
expect 0 "" $roofline --dtype bf16 --device h200 --kernel wgmma,wgmma-sparse24 --sizes 512 --format svg
prints 'wgmma_sparse24_bf16_64x64_c1'
expect 2 "tessera roofline: --sparse a: no GPU kernel takes a compressed operand of --dtype f32" \
    $roofline 64 64 64 --device h200 --sparse a
expect 1 "tessera roofline: none of the kernels named computes bf16 with a compressed B on GPUs" \
    $roofline --dtype bf16 --device h200 --sparse b --kernel wgmma
expect 1 "tessera roofline: nosuch.json: No such file or directory" $roofline --device a40 --from nosuch.json
: >empty.json
expect 1 "tessera roofline: empty.json: holds no results" $roofline --device a40 --from empty.json
expect 2 "tessera roofline: --device needs one of this, $gpus, not 'v100'" $roofline --device v100
expect 2 "tessera roofline: --sizes needs a whole number from 1 to 16384, not '0'" $roofline --sizes 0
expect 2 "tessera roofline: --kernel needs kernels by name, or all, not 'auto'" $roofline --kernel auto
expect 2 "tessera roofline: --compute tf32: not for bf16 operands" $roofline --compute tf32 --dtype bf16
expect 2 "tessera roofline: --format needs one of table, svg, html, not 'png'" $roofline --format png
expect 2 "tessera roofline: M needs a whole number from 1 to 2147483647, not 'naive'" $roofline naive
# One signal ends it at once, whatever it counts, and leaves no file.
$roofline --device a40 --sizes 16384 --format svg --out late.svg 2>err &
pid=$!
sleep 1
kill -TERM $pid
sleep 1
if kill -0 $pid 2>/dev/null; then
    kill -KILL $pid
    fail "roofline goes on a second after SIGTERM"
fi
wait $pid 2>/dev/null
succeeds [ ! -e late.svg ]
finish
