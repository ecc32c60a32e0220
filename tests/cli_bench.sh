#!/usr/bin/env bash
# tessera bench: what it prints in each format, comparison with old results, Ctrl-C, and wrong arguments.
. "$(dirname "$0")/cli_lib.sh"
bench="$tessera bench --device cpu --rounds 5"

expect 0 "" $bench --sizes 16,48 --format table
prints '^cpu_tiled_f32 +f32 nn +16 +[0-9.]+ us +[0-9.]+% +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+x$'
prints '^cpu_sequential_f32 +f32 nn +48 .* 1.00x$'
prints '^cpu: .* threads?$'
prints '^cpu: operands above a quarter of its '

# Exactly these fields, in this order, one object a line.
expect 0 "" $bench --sizes 16 --kernel auto --dtype f32,f64 --layout nn,tt --format json
succeeds [ "$(wc -l <out)" = 4 ]
fields="kernel device dtype layout m n k batch time_us time_us_min spread gflops gbps peak_pct peer peer_time_us"
fields="$fields peer_best_time_us ratio ratio_lo ratio_hi ratio_best clock_mhz power_w commit date speedup speedup_scaled scales"
fields="$fields out_dtype rounds"
succeeds [ "$(head -1 out | grep -o '"[a-z_]*":' | tr -d '":\n' | wc -c)" = "$(echo $fields | tr -d ' \n' | wc -c)" ]
succeeds [ "$(head -1 out | grep -o '"[a-z_]*":' | tr -d '":' | tr '\n' ' ')" = "$fields " ]
prints '^\{"kernel": "cpu_[a-z]+_f64", "device": "[^"]+", "dtype": "f64", "layout": "tt", "m": 16, "n": 16, "k": 16, "batch": 1, "time_us": [0-9]'

expect 0 "" $bench --sizes 16 --kernel cpu-tiled --format csv
prints '^kernel,device,dtype,layout,m,n,k,batch,time_us,.*,date,speedup,speedup_scaled,scales,out_dtype,rounds,note$'
expect 0 "" $bench --sizes 16 --kernel cpu-tiled --format md
prints '^\|---\|---\|---:'
prints '^\| cpu_tiled_f32 \| f32 nn \| 16 \|'

# All kernels: rungs down, sizes across. The peer may be there or not.
expect 0 "" $bench --kernel all --sizes 16,32,48,64
succeeds [ "$(grep -c '^cpu-sequential ' out)" -ge 2 ]
prints '^ +ms +GFLOP/s$'
prints '^ +16 +32 +48 +64 +16 +32 +48 +64$'
prints '^cpu-tiled +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$'
prints '^cpu-sequential .* +1\.00x +1\.00x +1\.00x +1\.00x'
prints '^over naive: not measured$'
prints ': (the peer is OpenBLAS|no peer was measured)'
succeeds [ -z "$(grep -E '.{121}' out)" ]
TESSERA_OPENBLAS_PATH=/nonexistent/x.so expect 0 "" $bench --sizes 16 --rounds 2
prints ': no peer was measured \(--vs openblas or blis;'
# An old result as a ladder: speedups are ratios of its times.
line() { # KERNEL DEVICE SIZE TIME GFLOPS RATIO
    printf '{"kernel": "%s", "device": "%s", "dtype": "f32", "layout": "nn", "m": %d, "n": %d, "k": %d, "time_us": %s, ' $1 $2 $3 $3 $3 $4
    printf '"time_us_min": null, "spread": null, "gflops": %s, "gbps": null, "peak_pct": %s, ' $5 $(awk "BEGIN { print $5 / 1000 }")
    printf '"peer": "cuBLASLt 13.1", "peer_time_us": null, "peer_best_time_us": null, "ratio": %s, "ratio_lo": null, ' $6
    printf '"ratio_hi": null, "ratio_best": null, "clock_mhz": null, "power_w": null, "commit": "c", "date": "d"}\n'
}
{
    line tiled_f32_t16 GPU 256 50 4000 0.5
    line tiled_f32_t32 GPU 256 40 5000 0.4
    line naive_f32 GPU 256 100 2000 0.2
    line cpu_sequential_f32 CPU 256 80000 2.5 null
    line tiled_f32_t16 GPU 512 60 30000 0.6
} >ladder.json
expect 0 "" $bench --from ladder.json
prints '^naive +0\.1000 +- +2000 +-$'
prints '^tiled +0\.0400 +0\.0600 +5000 +30000$'
prints '^tiled +2\.50x +- +2\.50x +-$'
prints '^tiled +2000x +- +0\.400x +0\.600x$'
prints '^GPU: the peer is cuBLASLt 13.1$'
# Speedups over cpu-sequential that lines of a GPU bring themselves, where no line is of cpu-sequential.
{
    line naive_f32 GPU 256 100 2000 null | sed 's/}$/, "speedup": 700.5, "speedup_scaled": 0}/'
    line tiled_f32_t16 GPU 256 50 4000 null
    line naive_f32 GPU 1024 1000 2000 null | sed 's/}$/, "speedup": 1200, "speedup_scaled": 1}/'
    line tiled_f32_t16 GPU 1024 250 8000 null
} >gpu_ladder.json
expect 0 "" $bench --from gpu_ladder.json
prints '^naive +700x +~1200x$|^naive .* +700x +~1200x( |$)'
prints '^tiled .*1401x +~4800x( |$)'
# On a GPU, here of a driver that pretends: the same from what was just measured.
fake=${FAKE_CUDA_FOLDER:-}
gpu_bench="env LD_LIBRARY_PATH=$fake FAKE_CUDA_HOST_TIME=1 FAKE_CUDA_ANY_FUNCTION=1 $tessera bench --device cuda:0 --kernel naive,tiled"
gpu_bench="$gpu_bench --sizes 32,256 --rounds 2"
if [ -e "$fake/libcuda.so.1" ] && $gpu_bench --format json >gpu.json 2>err; then # not in a build without nvcc
    succeeds [ "$(grep -c '"device": "NVIDIA H200".*"speedup": [0-9.e+]*, "speedup_scaled": 0, "scales": null, "out_dtype": null, "rounds": 2}$' gpu.json)" = 2 ]
    succeeds [ "$(grep -c '"k": 256, .*"speedup": [0-9.e+]*, "speedup_scaled": 1, "scales": null, "out_dtype": null, "rounds": 2}$' gpu.json)" = 2 ]
    expect 0 "" $bench --from gpu.json
    prints '^tiled .* [0-9.]+x +~[0-9.]+x( |$)'
    expect 0 "" $gpu_bench --format table
    prints '^cpu: speedups are over cpu-sequential on .*, one'
    prints '^tiled_f32_t[0-9]+ +f32 nn +32 .* [0-9.]+x$'
    prints '^tiled_f32_t[0-9]+ +f32 nn +256 .* ~[0-9.]+x$'
fi
# A compressed operand, of which the label tells; the GPU's, beside a cuSPARSELt that pretends too.
for operand in a b; do
    name=$(echo $operand | tr ab AB)
    for kernels in all auto; do
        expect 0 "" $bench --sizes 64 --dtype bf16,s8 --sparse $operand --kernel $kernels --format json
        succeeds [ "$(grep -c "^{\"kernel\": \"cpu_[a-z]*_\(bf16\|int8\)\", \"device\": \"[^\"]*, $name 2:4\"" out)" = $([ $kernels = all ] && echo 4 || echo 2) ]
    done
    expect 0 "" $bench --sizes 64 --sparse $operand --kernel cpu-tiled --format table
    prints "^$name is compressed 2:4; GFLOP/s and GB/s are those of the whole product\$"
    prints '^cpu_tiled_f32 +f32 nn +64 '
    if [ -e "$fake/libcusparseLt.so.0" ] && [ -s gpu.json ]; then
        sparse="env LD_LIBRARY_PATH=$fake FAKE_CUDA_HOST_TIME=1 FAKE_CUDA_ANY_FUNCTION=1 FAKE_CUSPARSELT_PRODUCTS=8 $tessera bench --device cuda:0 --sparse $operand"
        sparse="$sparse --kernel wgmma-sparse24 --sizes 64 --rounds 2 --format json"
        expect 0 "" $sparse --vs cusparselt --dtype bf16,f16,s8,e4m3 --layout nt
        succeeds [ "$(grep -c "\"device\": \"NVIDIA H200, $name 2:4\".*\"peer\": \"cuSPARSELt 0.8.1\", \"peer_time_us\": [0-9]" out)" = 4 ]
        succeeds [ "$(grep -c '"ratio_best": [0-9]' out)" = 4 ]
        expect 0 "" $sparse --vs cusparselt,cublas --compute tf32
        succeeds [ "$(grep -c '"dtype": "tf32".*"peer": "cu[A-Z]*Lt ' out)" = 2 ]
        expect 0 "tessera bench: without cusparselt: cuSPARSELt has no product of bf16 with results in f32" \
            $sparse --vs cusparselt --dtype bf16 --out-dtype f32
        expect 0 "tessera bench: without cusparselt: cuSPARSELt reads 8-bit operands along K alone: layout nt" \
            $sparse --vs cusparselt --dtype s8
        TESSERA_CUSPARSELT_PATH=/nonexistent expect 0 "tessera bench: without cusparselt: cuSPARSELt: \
TESSERA_CUSPARSELT_PATH = \"/nonexistent\" is no library, and no folder with one" $sparse --vs cusparselt --dtype bf16
    fi
done
expect 0 "tessera bench: without memory: memory: only whole operands, and one is compressed" \
    $bench --sizes 64 --sparse a --kernel cpu-tiled --vs memory --format json
expect 2 "tessera bench: --sparse b: the products of a call log are of whole matrices" $bench --sparse b --replay calls
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" $bench --from ladder.json --sparse a
expect 2 "*" $bench --sparse c
expect 0 "" $bench --from ladder.json --format svg --out ladder.svg
succeeds [ ! -s out ]
succeeds grep -q '^<svg ' ladder.svg
succeeds grep -q '</svg>' ladder.svg
succeeds grep -q '>peak 100 TFLOP/s<' ladder.svg
succeeds grep -q '>cuBLASLt 13.1: 12.5 TFLOP/s<' ladder.svg
succeeds grep -q '>2.50x<' ladder.svg
succeeds [ "$(grep -c 'class="gpu"' ladder.svg)" = 3 ]
if command -v python3 >/dev/null; then
    succeeds python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("ladder.svg")'
fi
# Where the peak is far beyond what was measured, bars are as long as they compare.
line naive_f32 GPU 32 5 10 null >tiny_ladder.json
line tiled_f32_t16 GPU 32 2 20 null >>tiny_ladder.json
expect 0 "" $bench --from tiny_ladder.json --format svg
prints '>peak 100 TFLOP/s, beyond the axis<'
prints '<rect [^>]*width="470.0" [^>]*class="gpu"'
prints '<rect [^>]*width="235.0" [^>]*class="gpu"'
expect 0 "" $bench --sizes 16 --format svg
succeeds grep -q '^<svg ' out
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" $bench --from ladder.json --sizes 16
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" \
    $bench --from ladder.json --compare ladder.json
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" \
    $bench --from ladder.json --replay nosuch.log
expect 2 "tessera bench: --compare measures what the old file names: only --device, --threads, --rounds and --format go with it" \
    $bench --compare ladder.json --batch 3
for option in "--dtype f64" "--beta 1"; do
    expect 2 "tessera bench: --replay brings its own types, layouts and factors: without --dtype, --layout, --out-dtype and --beta" \
        $bench --replay nosuch.log $option
done
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" $bench --from ladder.json --beta 1
expect 0 "" $bench --sizes 16 --kernel cpu-tiled --rounds 2 --beta 1 --format json # C is read as well: 4 x 16 x 16 floats
prints '"device": "[^"]*, beta 1", '
succeeds awk -F '"time_us": |"gbps": ' '{ exit !(($2 + 0) * ($3 + 0) > 4.09 && ($2 + 0) * ($3 + 0) < 4.11) }' out
expect 2 "tessera bench: --from shows a ladder, an svg or regret" $bench --from ladder.json --format csv
expect 1 "tessera bench: nosuch.json: No such file or directory" $bench --from nosuch.json
: >empty.json
expect 1 "tessera bench: empty.json: holds no results" $bench --from empty.json
expect 0 "" $bench --compute tf32 --sizes 16 --kernel cpu-tiled --rounds 2 # which sums in f32
prints '^cpu_tiled_f32 +tf32 nn +16 '

# How well the library chooses: with recorded times of all rows on an H200.
row() { # KERNEL M N K TIME
    printf '{"kernel": "%s", "device": "NVIDIA H200", "dtype": "bf16", "layout": "nn", "m": %d, "n": %d, "k": %d, "time_us": %s, ' $1 $2 $3 $4 $5
    printf '"time_us_min": 1, "spread": 0, "gflops": 1, "gbps": 1, "peak_pct": 1, "peer": null, "peer_time_us": null, '
    printf '"peer_best_time_us": null, "ratio": null, "ratio_lo": null, "ratio_hi": null, "ratio_best": null, '
    printf '"clock_mhz": null, "power_w": null, "commit": "unknown", "date": "2026-01-02"}\n'
}
{
    row wgmma_bf16_bf16_p128x128_s6_c21 4096 4096 4096 240
    row mma_bf16_128x128_a8 4096 4096 4096 200
    row wgmma_bf16_bf16_p128x192_s4_c21 8192 8192 8192 1000
    row mma_bf16_128x128_a8 8192 8192 8192 1500
    row mma_bf16_128x128_a8 1 4096 4096 30
    row mma_bf16_64x64_a8 1 4096 4096 20
    row mma_bf16_64x64_a8 64 64 64 20
} >rows.json
expect 0 "" $bench --from rows.json --format regret
prints '^4096 x 4096 x 4096 +bf16 nn +2 +wgmma_bf16_bf16_p128x128_s6_c21 +240.00 +mma_bf16_128x128_a8 +200.00 +1.200$'
prints '^8192 x 8192 x 8192 +bf16 nn +2 +wgmma_bf16_bf16_p128x192_s4_c21 +1000.00 +1.000$'
prints '^1 x 4096 x 4096 +bf16 nn +2 +wgmma_skinny_bf16_bf16_[0-9a-z_]+ +- +mma_bf16_64x64_a8 +20.00 +not measured$'
prints '^2 of 3 problems judged: geometric mean 1.095, worst 1.200$'
# Problems of a batch, and with a compressed operand, are others than the plain one, and get choices of their own.
same() { # KERNEL TIME DEVICE BATCH
    row $1 512 512 512 $2 | sed "s/NVIDIA H200/&$3/; s/\"time_us\"/\"batch\": $4, &/"
}
{
    same wgmma_bf16_bf16_p64x64_s10_c11 7 "" 1
    same mma_bf16_64x64_a8 8 "" 1
    same wgmma_bf16_bf16_p128x128_s6_c21 60 "" 24
    same mma_bf16_128x128_a8 50 "" 24
    same sparse24_bf16_128x128 6 "" 1
    same wgmma_sparse24_bf16_64x64_c1 5 "" 1
    same sparse24_bf16_128x128 9 ", A 2:4" 1
    same wgmma_sparse24_bf16_64x64_c1 4 ", A 2:4" 1
    same sparse24_bf16_128x128 9 ", B 2:4" 1
    same wgmma_sparse24_bf16_64x64_c1 3 ", B 2:4" 1
} >problems.json
expect 0 "" $bench --from problems.json --format regret
prints '^512 x 512 x 512 +bf16 nn +2 +'
prints '^512 x 512 x 512 x24 +bf16 nn +2 +'
succeeds [ "$(grep -Ec '^512 x 512 x 512 +bf16 nn A 2:4 +2 +wgmma_sparse24_bf16_' out)" = 2 ]
prints '^512 x 512 x 512 +bf16 nn B 2:4 +2 +wgmma_sparse24_bf16_'
rm problems.json
# Long types stay on one line, as they do where a result is measured again.
sed 's/"bf16"/"e4m3xe5m2-fast"/; s/"nn"/"nt"/; s/wgmma_bf16_bf16_/wgmma_kmajor_fp8f_/; s/mma_bf16_/mma_of_a_long_name_bf16_/' rows.json >long.json
expect 0 "" $bench --from long.json --format regret
prints '^4096 x 4096 x 4096 +e4m3xe5m2-fast nt +2 '
expect 1 "" "$tessera" bench --compare long.json --device cpu --rounds 2 # nothing of a GPU is measured again
prints '^[a-z0-9_]+ +e4m3xe5m2-fast nt +4096 +240 us '
rm rows.json long.json
# The cost models against what was recorded on an H200, perf/LOG. Problems whose chosen row was not timed are not judged.
# 23-regret-15 to -17 have the rows as they are now (-17 in graphs, rows within 1.5 of the fastest); 22-regret-12 to -14 were recorded before those of three groups, cut as was chosen then.
# Vectors, which were padded then, and what later configs get (wmma-small: its place was another kernel's) were not timed as they are now.
# -16 was new to the fit before the last one. The others are of FP32, and batches of older code: 26-regret-f32 has the configs
# as they were then: for few columns others are chosen now, which nobody timed there. Those of 22 lack the ones for a
# short K, too, and have two products of 8 rows for which thin with one row was slow; 29-regret-f32 has it fast there.
# tiled had no programmatic dependent launch in those before 30, and is dearer there than it is now.
recorded=${source_folder:?}/perf/h200-2026-11
regret_below() { # FILE JUDGED MEAN WORST
    sampled 7 || return 0
    expect 0 "" $bench --from "$recorded-$1.jsonl" --format regret
    succeeds awk -v judged="$2" -v mean="$3" -v worst="$4" \
        '/problems judged/ { good = $1 >= judged && $(NF - 2) + 0 < mean && $NF < worst } END { exit !good }' out
}
regret_below 23-regret-17 113 1.04 1.5
regret_below 23-regret-16 39 1.05 1.31
regret_below 23-regret-15 48 1.05 1.84
regret_below 22-regret-12 127 1.04 1.47
regret_below 22-regret-13 43 1.05 1.38
regret_below 22-regret-14 59 1.045 1.42
regret_below 22-fp32 10 1.02 1.06
regret_below 26-regret-f32 69 1.035 1.38
regret_below 22-regret-f32 9 1.06 1.34
regret_below 22-regret-f32-2 29 1.095 1.65
regret_below 29-regret-f32 67 1.06 1.41
regret_below 30-regret-f32 135 1.03 1.26
regret_below 27-regret-short-k 29 1.05 1.25
regret_below 30-regret-short-k 29 1.07 1.26
regret_below 22-batches 32 1.05 1.34
# A few rounds of tiles: what the prices of clusters that share both operands were fitted to, all but the fastest left out.
recorded=${source_folder:?}/perf/h200-2026-12
regret_below 01-regret-bf16 144 1.04 1.21
# An H100, by its own constants.
recorded=${source_folder:?}/perf/h100-2026-11
regret_below 25-layers 40 1.015 1.11
expect 0 "" $bench --random 1 --seed 7 --kernel auto --rounds 1 --format regret
prints '^no problem on a known GPU has two configs measured$'
expect 2 "tessera bench: --sizes, --shapes and --random exclude each other" $bench --random 3 --sizes 16

# Batches: from the command line, from a file, in an old result.
printf '8 8 8\n16 8 4 5\n' >batch.txt
expect 0 "" $bench --shapes batch.txt --batch 3 --kernel cpu-tiled --rounds 3 --format json --out batch.json
succeeds [ "$(grep -o '"m": [0-9]*, "n": [0-9]*, "k": [0-9]*, "batch": [0-9]*' batch.json | tr -dc '0-9 \n' | tr -s ' ')" = \
    "$(printf ' 8 8 8 3\n 16 8 4 5')" ]
"$tessera" bench --compare batch.json >out 2>err # faster or slower, as it comes
prints '^cpu_tiled_f32 +f32 nn +8 x3 '
prints '^cpu_tiled_f32 +f32 nn +16x8x4 x5 '
expect 2 "tessera bench: --batch: 100000000 100000000 100000000: the bytes of an operand do not fit 63 bits" \
    $bench --sizes 100000000 --batch 2147483647
rm batch.txt batch.json

# Scales: of 8-bit operands, in the record, and again when it is compared.
eight="$bench --sizes 16 --kernel cpu-tiled --layout nt --rounds 3"
expect 0 "" $eight --dtype e4m3,e5m2 --scales vector
prints '^each row of A and each column of B has a scale$'
for scales in tensor vector 1x128 1x128:128x128; do
    expect 0 "" $eight --dtype e4m3 --batch 3 --scales $scales --format json --out scaled.json
    succeeds grep -q "\"dtype\": \"e4m3\", .*\"scales\": \"$scales\", \"out_dtype\": null, \"rounds\": 3}\$" scaled.json
    "$tessera" bench --compare scaled.json --device cpu --rounds 3 >out 2>err
    prints '^cpu_tiled_fp8 +e4m3 nt +16 x3 .* (faster|slower|same|undecided)$'
done
sed 's/"1x128:128x128"/"rows"/' scaled.json >unknown.json
expect 1 "" "$tessera" bench --compare unknown.json --device cpu --rounds 3
prints 'not compared: unknown scales rows'
rm scaled.json unknown.json
expect 0 "" $eight --dtype s8 --out-dtype bf16 --scales tensor
expect 2 "tessera bench: --scales 1x128: only 8-bit floats have scales of blocks, not s8" \
    $eight --dtype s8 --out-dtype bf16 --scales 1x128
expect 0 "" $eight --dtype e4m3 --dtype-b e5m2 --scales 1x128:128x128
prints '^each 128 steps of K of a row of A have a scale, and of 128 columns of B$'
# Another result than the usual one: the record says it, and --compare measures that.
expect 0 "" $eight --dtype f16 --out-dtype e4m3 --format json --out result.json
succeeds grep -q '"out_dtype": "e4m3", "rounds": 3}$' result.json
expect 0 "" $tessera bench --compare result.json --device cpu --rounds 3
rm result.json
expect 0 "" $eight --dtype e4m3 --scales none --format json
prints '"scales": null, "out_dtype": null, "rounds": 3\}$'
# Why a library is left out is said once, of however many sizes.
expect 0 "tessera bench: without memory: it is not measured with scales" \
    $eight --dtype e4m3 --scales tensor --vs memory --sizes 8,16,24
expect 2 "tessera bench: --scales tensor: only operands of 8 bits have scales, not f32" $eight --scales tensor
expect 2 "tessera bench: --scales vector: only operands of 8 bits have scales, not bf16" \
    $eight --dtype e4m3,bf16 --scales vector
expect 2 "tessera bench: --scales tensor: a result in s32 takes no scales; --out-dtype f32, f16 or bf16" \
    $eight --dtype s8 --scales tensor
expect 2 "tessera bench: --scales needs one of none, tensor, vector, 1x128, 1x128:128x128, not 'rows'" $eight --dtype e4m3 --scales rows
expect 2 "tessera bench: --scales tensor: the products of a call log have none" $bench --replay nosuch.log --scales tensor
expect 2 "tessera bench: --from measures nothing: only --format and --out go with it" \
    $bench --from ladder.json --scales tensor
expect 2 "*" "$tessera" bench --compare ladder.json --scales tensor
expect 2 "*" $bench --random 0

# Problems from a file; empty ones too.
printf '# sizes\n3 4 5\n0 4 5 # nothing\n' >shapes.txt
expect 0 "" $bench --shapes shapes.txt --kernel cpu-tiled
prints '^cpu_tiled_f32 +f32 nn +3x4x5 '
prints '^cpu_tiled_f32 +f32 nn +0x4x5 '
printf '3 4 5\n3 4\n' >shapes.txt
expect 1 "tessera bench: shapes.txt:2: K is missing" $bench --shapes shapes.txt
expect 1 "tessera bench: nosuch.txt: No such file or directory" $bench --shapes nosuch.txt

# To a file, then the same again.
expect 0 "" $bench --sizes 24 --format json --out old.json
succeeds [ ! -s out ]
succeeds [ "$(wc -l <old.json)" = 2 ]
expect 0 "" $bench --sizes 24 --format json --out old.json
succeeds [ "$(wc -l <old.json)" = 2 ]
# A result ten thousand times as slow as it can be is beaten; one that took no time at all is not reached.
sed 's/"time_us": [^,]*/"time_us": 100000/; s/"spread": [^,]*/"spread": 0.01/' old.json >slow.json
expect 0 "" "$tessera" bench --compare slow.json --device cpu --rounds 5
prints '^cpu_tiled_f32 .* faster$'
prints '^2 faster, 0 slower, 0 same, 0 undecided, 0 not compared$'
sed 's/"time_us": [^,]*/"time_us": 0.0001/; s/"spread": [^,]*/"spread": 0.01/' old.json >fast.json
expect 1 "" "$tessera" bench --compare fast.json --device cpu --rounds 5
prints '^cpu_tiled_f32 .* slower$'
expect 1 "" "$tessera" bench --compare fast.json --device cpu --rounds 5 --format json
prints '"verdict": "slower"'
# How sure the old time is follows from the rounds that it is of, as its line says.
sed 's/"time_us": [^,]*/"time_us": 100000/; s/"spread": [^,]*/"spread": 0.9/; s/"rounds": 5/"rounds": 2/' old.json >two.json
expect 0 "" "$tessera" bench --compare two.json --device cpu --rounds 100
prints '^0 faster, 0 slower, 0 same, 2 undecided, 0 not compared$'
sed 's/, "rounds": 2}/}/' two.json >no_rounds.json
expect 0 "tessera bench: no_rounds.json: 2 of 2 lines do not say of how many rounds they are; taken for 100" \
    "$tessera" bench --compare no_rounds.json --device cpu --rounds 100 --format json
prints '"verdict": "faster"'
rm two.json no_rounds.json
# Too few rounds for an interval.
"$tessera" bench --compare old.json --device cpu --rounds 3 >out 2>err # slower, as it may come
prints '^cpu_tiled_f32 .* [0-9.]+ [num]?s +[0-9]+\.[0-9]{3} \[-\]  [a-z]+$'
checks=$((checks + 1))
! grep -qi 'nan' out || fail "no number in a comparison: $(cat out)"
sed 's/"device": "[^"]*"/"device": "Another"/' old.json >other.json
expect 1 "" "$tessera" bench --compare other.json --device cpu --rounds 5
prints 'not compared: was measured on'
printf '{"kernel": 5}\n' >broken.json
expect 1 'tessera bench: broken.json:1: column 12: "kernel" must be a string' "$tessera" bench --compare broken.json
expect 1 "tessera bench: nosuch.json: No such file or directory" "$tessera" bench --compare nosuch.json
: >empty.json
expect 1 "tessera bench: empty.json: holds no results" "$tessera" bench --compare empty.json

# A missing library is told, and no reason to stop.
TESSERA_OPENBLAS_PATH=/nonexistent/x.so expect 0 \
    "tessera bench: without openblas: OpenBLAS: TESSERA_OPENBLAS_PATH = \"/nonexistent/x.so\" cannot be loaded" \
    $bench --sizes 16 --kernel cpu-tiled --vs openblas
expect 0 "tessera bench: without cublas: it runs on GPUs, which is not measured here" \
    $bench --sizes 16 --kernel cpu-tiled --vs cublas

# Ctrl-C, or SIGTERM: what has been measured is printed, and kept in the file.
for out in "" "--out kept.json"; do
    checks=$((checks + 1))
    "$tessera" bench --device cpu --rounds 30 --sizes 16,600,601,602 --kernel cpu-sequential --format json $out >out 2>err &
    child=$!
    sleep 3
    kill -TERM $child # a shell's background jobs ignore SIGINT
    wait $child
    code=$?
    [ $code = 143 ] || fail "after SIGTERM the exit code is $code: $(cat err)"
    [ -z "$out" ] || cp kept.json out
    grep -q '"m": 16,' out || fail "Ctrl-C $out lost what was measured: $(cat out err)"
    grep -q "tessera bench: interrupted; [1-9] line" err || fail "Ctrl-C $out is not told: $(cat err)"
done

# A replay that is stopped says how many kinds of call it had not come to.
for size in 600 601 602; do
    echo "tessera-call dgemm_ dtype=f64 layout=nn m=$size n=$size k=$size lda=$size ldb=$size ldc=$size alpha=1 beta=0 batch=1 stride_a=0 stride_b=0 stride_c=0 ns=1000"
done >calls.log
checks=$((checks + 1))
"$tessera" bench --device cpu --rounds 30 --kernel cpu-sequential --replay calls.log >out 2>err &
child=$!
sleep 2
kill -TERM $child
wait $child
code=$?
[ $code = 143 ] || fail "after SIGTERM a replay's exit code is $code: $(cat err)"
prints '^left out: [12] kinds of call with [0-9.]+% of the logged time$'
rm calls.log

expect 2 "tessera bench: --sizes, --shapes and --random exclude each other" $bench --sizes 1 --shapes f
expect 2 "*" $bench --sizes 1,x
expect 2 "*" $bench --rounds 0
expect 2 "*" $bench --kernel nosuch
expect 2 "*" $bench --format xml
expect 2 "*" $bench --vs mkl
expect 2 "*" "$tessera" bench --compare old.json --sizes 32
expect 2 "*" "$tessera" bench --compare old.json --format csv
# A kernel that was named and cannot run is told with its rule, once; where none is left, that is an error.
expect 0 "tessera bench: without --kernel wgmma_skinny@cluster-k=2,swap-ab=1: it does not run on cpu" \
    $bench --sizes 16 --kernel auto,wgmma_skinny@cluster-k=2,swap-ab=1
expect 2 "tessera bench: --kernel needs the name of a kernel, all or auto, not 'swap-ab=1'; tessera info --kernels lists them" \
    $bench --sizes 16 --kernel cpu-tiled,swap-ab=1
expect 0 "tessera bench: without --kernel tiled: it does not run on cpu" \
    $bench --sizes 16,24 --kernel cpu-tiled,tiled --rounds 2
prints '^cpu_tiled_f32 '
f64_alone="tessera bench: without --kernel cpu_tiled_f64 for --dtype f32: it computes f64 x f64 -> f64 in f64"
expect 0 "$f64_alone" $bench --sizes 16,24 --kernel cpu_tiled_f64 --dtype f32,f64 --rounds 2
prints '^cpu_tiled_f64 +f64 nn +24 '
nothing="tessera bench: nothing was measured: none of the kernels runs these problems here"
expect 1 "$f64_alone
$nothing" $bench --sizes 16 --kernel cpu_tiled_f64
expect 1 "tessera bench: without --kernel cpu_tiled_f64 for --dtype f32: it computes f64 x f64 -> f64 in f64
$nothing" $bench --sizes 16 --kernel cpu_tiled_f64 --compute tf32
expect 1 "tessera bench: --device emu: the emulator's times say nothing about a GPU; measure on cpu or cuda:N" \
    "$tessera" bench --device emu --sizes 16
expect 1 "*" $bench --sizes 16 --kernel tiled
expect 1 "*" $bench --sizes 16 --out /nonexistent/folder/x.json
succeeds [ -z "$(ls | grep -v -E '^(out|err|shapes.txt|ladder.svg|(ladder|tiny_ladder|gpu_ladder|gpu|old|slow|fast|other|broken|empty|kept).json)$')" ]
finish
