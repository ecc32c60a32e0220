#!/usr/bin/env bash
# profile in the emulator, and the tools that read what ncu writes.
tools=$(cd "$(dirname "$0")/../tools" && pwd)
. "$(dirname "$0")/cli_lib.sh"

expect 0 "" "$tessera" profile tiled_f32_t16 128 --device emu
if grep -q "no emulator" err; then exit 77; fi
prints '^tiled_f32_t16, 128 x 128 x 128, 64 CTAs of 256 threads, 16 of them counted: standard error 0%$'
prints '^  multiply-adds +2097152 of threads, 4194304 FLOP in all$'
prints '^  global loads +8192 requests +32768 sectors +100.0% of their bytes used$'
prints '^predicted for NVIDIA H200$'
for name in 'SM %' 'memory %' 'L1/TEX %' 'L2 %' 'DRAM %' 'L1 hit %' 'L2 hit %' 'memory GB/s'; do
    prints "^  $name +[0-9.]+$"
done
fits_terminal
expect 0 "" "$tessera" profile naive 40 --n 33 --k 7 --device emu --gpu a40 --layout tn
prints '^predicted for NVIDIA A40$'
prints '^  calibration +not fitted to this GPU, '
# Beside the tutorials' numbers, where there are some; an error bar in any case.
expect 0 "" "$tessera" profile tiled_f32_t16,naive 32 --device emu --gpu a40
prints '^  published +19 GFLOP/s, 3.45 us: the model is at 1\.[0-9]+ times the time$'
prints '^  published +6.5 GFLOP/s, 10.1 us: '
expect 0 "" "$tessera" profile tiled_f32_t16 64 --device emu
prints '^  calibration +fitted to 246 launches on an H200; of 791 others'
fits_terminal
expect 0 "" "$tessera" profile tiled 64 --device emu --format json --sample 0
prints '^\{"kernel": "tiled_f32_t[0-9]+", "m": 64, "n": 64, "k": 64, .*"ffma": 262144,.*"l2_hit_pct": [0-9.]+, "memory_gbps": [0-9.]+\}$'
cp out predicted.jsonl
# An instance's own types, unless others are asked for.
expect 0 "" "$tessera" profile mma_bf16_f32_128x128_a1 64 --device emu --format json
prints '^\{"kernel": "mma_bf16_f32_128x128_a1", "m": 64,'
expect 1 "*" "$tessera" profile mma_bf16_f32_128x128_a1 64 --device emu --dtype bf16

# A kernel's: f32 where one of its instances computes so, else those of its first.
for kernel in sparse24 wgmma-sparse24 mma-f64; do
    expect 0 "" "$tessera" profile $kernel 64 --device emu --format json
    prints "^\{\"kernel\": \"${kernel//-/_}_"
done
expect 0 "" "$tessera" profile mma-tma 64 --device emu --format json
# What the GPU cannot run has no prediction for it.
expect 1 "tessera profile: wgmma does not run on NVIDIA A100 SXM 80 GB: needs compute capability 9.0; the device has 8.0" \
    "$tessera" profile wgmma 64 --device emu --gpu a100 --dtype bf16
succeeds test ! -s out
expect 1 "tessera profile: wgmma-kmajor does not run on NVIDIA A40: needs compute capability 9.0; the device has 8.6" \
    "$tessera" profile naive,wgmma-kmajor 64 --device emu --gpu a40
prints '^naive_f32, '

expect 2 "tessera profile: --device needs emu or cuda:N, not 'cpu'" "$tessera" profile tiled 64 --device cpu
expect 1 "*" "$tessera" profile warptile_f32_64x64_a4 33 --device emu
expect 2 "*" "$tessera" profile tiled
expect 2 "*" "$tessera" profile tiled 0
expect 2 "*" "$tessera" profile no-such-kernel 64

# Two launches as ncu prints them, one after the other program's lines.
kernel=$(sed 's/.*"kernel": "\([a-z0-9_]*\)".*/\1/' predicted.jsonl)
cat > ncu.csv <<END
==PROF== Connected to process 1
"ID","Kernel Name","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed","dram__bytes.sum.per_second","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
"","","ns","%","byte/s","inst",""
"0","$kernel","12,000","43.8","25,200,000,000","262,144","1000"
"1","other(tsr_gemm_args)","1500","95.2","263.2e9","5","6"
END
expect 0 "" "$tools/ncu-table" ncu.csv
prints "^$kernel +12.0 +43.8 +- +- +- +- +- +- +25.2$"
prints '^other +1.5 +95.2 +- +- +- +- +- +- +263.2$'
expect 0 "" "$tools/ncu-table" --tsv ncu.csv
prints "^$kernel	12000	43.8	-	-	-	-	-	-	25.2$"
expect 1 "ncu-table: no kernels in these files" "$tools/ncu-table" predicted.jsonl
expect 0 "" "$tools/ncu-counters" --tables ncu.csv predicted.jsonl
prints "^\| \`$kernel\` \| 64 \| 0.0% \| "
prints "^\| \`$kernel\` \| 64 \| [0-9.]+ / 12.0 \| "
# The whole tool, with an ncu that answers for each kernel and size as the real one prints it.
mkdir replay
cat > replay/ncu <<'END'
#!/bin/bash
while [ "$1" != --metrics ]; do shift; done
metrics=$2
kernels=$5
sizes=$6
[ "$4 $7 $8 $9" = "profile --device cuda:0 --alone" ] || exit 9
echo "==PROF== Connected to process 1 ($3)"
echo "tiled_f32_t16 ran 1 times on NVIDIA H200, 2159.2 us each"
echo "\"ID\",\"Kernel Name\",\"$(echo "$metrics" | sed 's/,/","/g')\""
echo "\"\",\"\",\"$(echo "$metrics" | sed 's/[^,]*/unit/g; s/,/","/g')\""
id=0
for size in ${sizes//,/ }; do
    for kernel in ${kernels//,/ }; do
        row="\"$id\",\"$kernel\""
        for metric in ${metrics//,/ }; do
            case $metric in
            *ffma_pred_on.sum) row=$row",\"$((size * size * size))\"" ;;
            gpu__time_duration.sum) row=$row",\"1,$((100 + size)).5\"" ;;
            *) row=$row",\"7\"" ;;
            esac
        done
        echo "$row"
        id=$((id + 1))
    done
done
END
chmod +x replay/ncu
expect 0 "" env PATH="$folder/replay:$PATH" "$tools/ncu-counters" "$(dirname "$tessera")" whole 32 64
for size in 32 64; do
    prints "^\| \`tiled_f32_t16\` \| $size \| 0.0% \| "
    prints "^\| \`tiled_f32_t16\` \| $size \| [0-9.]+ / 1\.[12] \| "
    prints "^\| \`regtile2d_f32\` \| $size \| "
done
# A line for each kernel in both tables, of counts and of times; half of the predictions are of 64.
succeeds [ "$(grep -c '^| `.*` | 64 |' out)" = "$(wc -l < whole/predicted.jsonl)" ]

# Without ncu: said, and failed.
mkdir bin
printf '#!/bin/sh\necho "==ERROR== ERR_NVGPUCTRPERM" >&2\nexit 9\n' > bin/ncu
chmod +x bin/ncu
expect 1 "*" env PATH="$folder/bin:$PATH" "$tools/ncu-counters" "$(dirname "$tessera")" new 64
checks=$((checks + 1))
grep -q 'not run, ncu failed' err && grep -q ERR_NVGPUCTRPERM err || fail "ncu-counters says: $(cat err)"

# A compressed operand: half of the FLOP, whichever it is; of kernels that take no other, A. 2 * 64 * 64 * 128 / 2.
expect 0 "" "$tessera" profile sparse24 64 --k 128 --dtype bf16 --device emu --format json
prints '"kernel": "sparse24_bf16_128x128", .*"flops": 2097152,' # the tile is 128 x 128
expect 0 "" "$tessera" profile wgmma_sparse24_bf16_64x64_c1 64 --k 128 --device emu --sparse b --format json
prints '"flops": 524288,'
expect 0 "" "$tessera" profile wgmma_sparse24_bf16_64x64_c1 64 --k 128 --device emu --sparse b
prints '524288 FLOP in all, half of'
prints 'B is compressed 2:4$'
expect 1 "*" "$tessera" profile tiled 64 --device emu --sparse a
succeeds grep -q 'KERNEL "tiled" does not run .* reads whole operands alone; A is compressed 2:4$' err
# What a tutorial measured on a GPU stands beside the prediction, in JSON too, where there is something.
expect 0 "" "$tessera" profile tiled_f32_t16 32 --device emu --gpu a40 --format json
prints '"calibration": "not fitted to this GPU, .*"published_gflops": 19, "published_time_us": 3.44[0-9]*}$'
expect 0 "" "$tessera" profile tiled_f32_t16 64 --device emu --gpu a40 --format json
succeeds [ "$(grep -c published_ out)" = 0 ]
finish
