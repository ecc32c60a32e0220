#!/usr/bin/env bash
# Types and arithmetic of a product: what one command takes all of them take, spelled alike. (run: cli_run.sh)
. "$(dirname "$0")/cli_lib.sh"

# Mixed types, and a result that nobody would guess.
for types in "e4m3 e5m2 f32" "s8 u8 bf16" "u8 s8 s32"; do
    read -r a b d <<<"$types"
    of="--dtype $a --dtype-b $b --out-dtype $d"
    expect 0 "" "$tessera" route 64 64 64 $of --device h200
    prints "^64 x 64 x 64 ${a}x$b nn on h200"
    prints '^wgmma_(kmajor|skinny)_[a-z0-9_]+ .*<- chosen$'
    expect 0 "" "$tessera" route 64 64 64 $of --device h200 --format json
    prints "\"dtype\": \"${a}x$b\""
    expect 0 "" "$tessera" bench $of --kernel auto --sizes 16 --rounds 2 --device cpu --format json --out $a.json
    succeeds grep -q "\"dtype\": \"${a}x$b\"" $a.json
    "$tessera" bench --compare $a.json --device cpu --rounds 2 --format json >out 2>err # faster or slower, as it comes
    prints "\"dtype\": \"${a}x$b\", .*\"reason\": null"
    expect 0 "" "$tessera" roofline 64 64 64 $of --device h200
    prints "^64 x 64 x 64 ${a}x$b on NVIDIA H200"
    expect 0 "" "$tessera" tiles 64 $of --device h200
    prints "^64 x 64 x 64 ${a}x$b on NVIDIA H200"
    sampled 3 || continue
    expect 0 "" "$tessera" explain wgmma-kmajor $of
    prints "^C = A B, 64 x 128 x 1536 ${a}x$b, layout nt"
    expect 0 "" "$tessera" profile wgmma-kmajor 64 $of --layout nt --device emu
    prints '^wgmma_kmajor_'
done
expect 0 "" "$tessera" roofline --dtype e4m3 --dtype-b e5m2 --kernel wgmma-kmajor --sizes 64 --device h200
prints 'wgmma_kmajor'
expect 0 "" "$tessera" explain sparse24 --dtype s8 --dtype-b u8 --layout nt
prints '^C = A B, 256 x 256 x 256 s8xu8;'

# Results of 16-bit operands in another type of 16 or 8 bits.
make_matrix H.npy f16 40 72 c 1
make_matrix G.npy f16 72 24 c 2
for d in bf16 e4m3; do
    expect 0 "" "$tessera" run H.npy G.npy -o D.npy --out-dtype $d --device cpu --check
    prints '^checked 960 of 960 elements against float64: all within the bound'
    expect 0 "" "$tessera" route 64 64 64 --dtype f16 --out-dtype $d --device h200
    prints '^wgmma_f16_any_[a-z0-9_]+ .*<- chosen$'
    expect 0 "" "$tessera" explain wgmma --dtype f16 --out-dtype $d
    prints '^wgmma_f16_any_'
    expect 0 "" "$tessera" profile wgmma 64 --dtype f16 --out-dtype $d --device emu
    prints '^wgmma_f16_any_'
    expect 0 "" "$tessera" run H.npy G.npy -o D.npy --out-dtype $d --device emu --check
    prints '^checked 960 of 960 elements against float64: all within the bound'
done
expect 0 "" "$tessera" route 64 64 64 --dtype bf16 --out-dtype f16 --device a100
prints '^mma_bf16_f16_128x128_a8 .*<- chosen$'
expect 0 "" "$tessera" route 64 64 64 --dtype bf16 --out-dtype f16 --device h200
prints '^wgmma_bf16_any_[a-z0-9_]+ .*<- chosen$'

# Libraries measure the mix itself, or are left out with their reason.
expect 0 "*" "$tessera" bench --dtype s8 --dtype-b u8 --kernel auto --sizes 16 --rounds 2 --vs openblas --device cpu
succeeds grep -Eq '^tessera bench: without (openblas|OpenBLAS)' err

# Types that do not go together, in all commands.
for command in "route 4 4 4" "bench --sizes 4" "roofline 4 4 4" "tiles 4" "explain wgmma-kmajor" "profile wgmma-kmajor 64"; do
    expect 2 "tessera ${command%% *}: --dtype-b u8: must be that of A (e4m3) or e5m2" \
        "$tessera" $command --dtype e4m3 --dtype-b u8
done
expect 2 "tessera bench: --dtype-b u8: a call log says itself what its products are of" \
    "$tessera" bench --replay none.log --dtype-b u8
expect 2 "tessera tiles: --out-dtype f64: no result of e4m3 operands" "$tessera" tiles 4 --dtype e4m3 --out-dtype f64
expect 1 "tessera tiles: NVIDIA A100 SXM 80 GB does not multiply e4m3: that needs compute capability 8.9; the device has 8.0" \
    "$tessera" tiles 4 --dtype e4m3 --device a100
expect 2 "tessera explain: --dtype-b, --out-dtype and --compute are for kernels of a GPU" \
    "$tessera" explain cpu-tiled --compute tf32

# Arithmetic.
expect 0 "" "$tessera" tiles 256 --compute tf32 --device h200
prints '^256 x 256 x 256 f32 in tf32 on NVIDIA H200: 132 SMs, 535 TFLOP/s on tensor cores'
expect 1 "tessera profile: wgmma-kmajor multiplies f32 with --compute tf32 alone" \
    "$tessera" profile wgmma-kmajor 64 --dtype f32 --device emu
expect 0 "" "$tessera" profile wgmma-kmajor 64 --dtype f32 --compute tf32 --layout nt --device emu
prints '^wgmma_kmajor_tf32_64x64_c1'
expect 0 "" "$tessera" profile wgmma-kmajor 64 --compute fast --layout nt --device emu
prints '^wgmma_kmajor_fp8f_64x64_c1'
expect 0 "" "$tessera" explain wgmma_kmajor_fp8f_p128x160_c2
prints '^wgmma_kmajor_fp8f_p128x160_c2: '
expect 0 "" "$tessera" explain wgmma-kmajor --dtype e4m3
prints '^wgmma_kmajor_fp8_64x64_c1: '
expect 0 "" "$tessera" explain wgmma-kmajor --dtype e4m3 --compute fast
prints '^wgmma_kmajor_fp8f_64x64_c1: '
expect 0 "" "$tessera" explain mma --dtype f32 # which has no other way
prints '^mma_tf32_64x64_a4: '
expect 0 "" "$tessera" explain mma --dtype bf16 --out-dtype f32
prints '^mma_bf16_f32_'
expect 2 "tessera explain: unknown option --tf32" "$tessera" explain mma --tf32

# What is verified.
expect 0 "" "$tessera" verify --dtype s8,e4m3 --device cpu --every 100
prints '^cpu_tiled_int8 '
prints '^4 of 4 kernels passed'
expect 0 "" "$tessera" verify --compute fast --device emu --kernel wgmma_kmajor_fp8f_64x64_c1,wgmma_kmajor_fp8_64x64_c1 --every 400
prints '^1 of 1 kernels passed'
expect 0 "" "$tessera" verify --compute default --dtype f32,f16 --device cpu --kernel cpu-tiled --every 100
succeeds [ -z "$(grep -E 'bf16|f64|fp8' out)" ]
expect 0 "" "$tessera" verify --dtype f32 --compute tf32 --device cpu --every 50 # by the bound of f32
prints '^cpu_tiled_f32 '
prints '^2 of 2 kernels passed'
expect 0 "" "$tessera" verify --compute fast --device cpu --every 50
prints '^cpu_tiled_fp8 '
prints '^2 of 2 kernels passed'
expect 1 "tessera verify: --dtype and --compute leave no kernel that runs on cpu" \
    "$tessera" verify --dtype f64 --compute tf32 --device cpu
finish
