#!/usr/bin/env bash
# info, route and verify: what they print, as tables and as JSON lines, and their exit codes.
. "$(dirname "$0")/cli_lib.sh"

json_script='
import json, sys
for line in open("out"):
    item = json.loads(line)
    missing = [key for key in sys.argv[1:] if key not in item]
    if missing:
        sys.exit(f"no {missing} in {line}")
'
# The last command's stdout is one JSON object a line, each with these keys.
is_json() { # KEY...
    checks=$((checks + 1))
    [ -s out ] || fail "no output"
    ! grep -qv '^{".*}$' out || fail "not JSON: $(grep -v '^{".*}$' out)"
    if command -v python3 >/dev/null; then
        python3 -c "$json_script" "$@" 2>err || fail "JSON: $(cat err)"
    fi
}

expect 0 "" "$tessera" info
prints '^tessera +[0-9]+\.[0-9]+\.[0-9]+, commit '
prints '^CPU +[^ ].*, [0-9]+ threads?$'
prints '^ +L1 [0-9]+ KiB, L2 [0-9.]+ [KM]iB of a core; L3 [0-9.]+ [KMG]?i?B$'
prints '^ +peak f32 [0-9.]+ [MGT]FLOP/s, f64 [0-9.]+ [MGT]FLOP/s$'
prints '^(GPU +none: |cuda:0 +)'
for library in cublas cusparselt openblas blis nvrtc cupti; do
    prints "^$library +(not found: )?[^ ]"
done
prints '^kernels +[0-9]+ kernels in [0-9]+ instances'
fits_terminal
expect 0 "" "$tessera" info --kernels
prints '^tiled: TILE x TILE .*\(kernels/gemm/tiled.cu\)$'
prints '^  tiled_f32_t16 +f32 +([0-9]+ +[0-9a-f]{16} +)?[^ ].* +TILE=16$'
prints '^  cpu_tiled_f16 +f16, sums f32$'
fits_terminal
expect 0 "" "$tessera" info --format json
is_json kind name
grep '"kind": "kernel"' out >kernels && mv kernels out
is_json kind name instance summary source constants dtype_ab dtype_cd compute is_cuda has_device_code registers hash hardware
prints '"instance": "naive_f64"'

expect 0 "" "$tessera" route 512 256 128 --device cpu --all
prints '^512 x 256 x 128 f32 nn on cpu, operands in host memory$'
prints '^cpu_tiled_f32 +cpu +[0-9.]+ [num]?s +[0-9.]+ [KMG]?i?B +[a-z]+ +<- chosen$'
prints '^cpu_tiled_f64 +computes f64'
prints '^tiled_f32_t16 +runs on GPUs'
fits_terminal
expect 0 "" "$tessera" route 512 256 128 --device cpu --dtype f64 --layout tt --format json
is_json kernel device dtype layout m n k chosen applicable reason cost_ns bytes limiter
prints '^\{"kernel": "cpu_[a-z]+_f64", "device": "cpu", "dtype": "f64", "layout": "tt", "m": 512, "n": 256, "k": 128, "batch": 1, "chosen": true'
checks=$((checks + 1))
[ "$(grep -c '"chosen": true' out)" = 1 ] || fail "not one kernel is chosen"
# A GPU that need not be here: operands in its memory, aligned as allocators align them.
expect 0 "" "$tessera" route 4096 4096 4096 --device h200 --dtype bf16
prints '^4096 x 4096 x 4096 bf16 nn on h200, operands in device memory$'
prints '^wgmma_bf16_bf16_p[0-9x]+_s[0-9]_c[0-9]+ +h200 +[0-9.]+ us .*<- chosen$'
# Reasons are told once, with how many instances of which kernels they are of; --all lists each instance.
expect 0 "" "$tessera" route 1000 1000 1000 --device cpu
fits_terminal
succeeds [ "$(wc -l <out)" -le 22 ]
prints '^rejected +reason +kernels$'
prints '^ +[0-9]{3} +runs on GPUs and in the emulator; .* uncoalesced, naive, tiled, '
expect 0 "" "$tessera" route 1000 1000 1000 --device cpu --all
succeeds [ "$(wc -l <out)" -gt 190 ]
prints '^tiled_f32_t16 +runs on GPUs and in the emulator'
expect 0 "" "$tessera" route 1000 1000 1000 --device h200
fits_terminal
succeeds [ "$(wc -l <out)" -le 60 ]
prints '^\.\.\. [0-9]+ slower ones \(--all lists them\)$'
for columns in 80 120; do
    COLUMNS=$columns expect 0 "" "$tessera" route 1000 1000 1000 --device h200
    checks=$((checks + 1))
    ! grep -Eq ".{$((columns + 1))}| \$" out || fail "route at $columns columns: $(grep -E ".{$((columns + 1))}" out)"
done
expect 0 "" "$tessera" route 4096 4096 4096 --device h200 --dtype bf16 --align 2
prints '^wgmma_bf16_bf16_[^ ]+ after pad A,B +h200 .*<- chosen$'
expect 0 "" "$tessera" route 4096 4096 4096 --device a100 --dtype bf16 --all
prints '^mma_bf16_[^ ]+ +a100 .*<- chosen$'
prints '^wgmma_bf16_bf16_[^ ]+ +needs compute capability 9.0; the device has 8.0$'
expect 0 "" "$tessera" route 4096 4096 4096 --device rtx3090 --format json
prints '"kernel": "[a-z_0-9]+", "device": "rtx3090", .*"chosen": true'
# Copies that do not fit the workspace are made in slices.
expect 0 "" "$tessera" route 8191 8191 8191 --device h100 --dtype bf16 --align 2
prints '^wgmma[^ ]+ after pad A,B +h100 .*<- chosen$'
prints '^chosen in [0-9]+ x [0-9]+ slices of rows and columns: copies of whole operands exceed the workspace$'
expect 2 "tessera route: --sparse is given twice" "$tessera" route 8 8 8 --sparse a --sparse b
# An H100 has constants of its own.
expect 0 "" "$tessera" route 8192 3584 18944 --device h100 --dtype bf16
prints '^wgmma_bf16_bf16_p128x192_s4_c21 +h100 .*<- chosen$'
expect 0 "" "$tessera" route 3328 3328 6656 --device h100 --dtype bf16 --layout nt
prints '^wgmma_skinny_bf16_bf16_224_g2 +h100 .*<- chosen$'
expect 2 "tessera route: --memory host: the link to a GPU that is not here is not known" "$tessera" route 8 8 8 --device h100 --memory host
expect 0 "" "$tessera" route 0 0 0 --device cpu
expect 0 "" "$tessera" route 8 8 8 --device cpu --dtype e4m3 --compute fast
prints '^cpu_(tiled|sequential)_fp8 .*<- chosen$'
expect 1 "*" "$tessera" route 9223372036854775807 9223372036854775807 1 --device cpu
succeeds grep -q '^tessera route: .' err
expect 1 "*" "$tessera" route 8 8 8 --device cuda:99
succeeds grep -q '^tessera route: .' err

every=1
[ -z "${SANITIZED:-}" ] || every=5 # cases that differ in numbers alone
expect 0 "" "$tessera" verify --kernel cpu-sequential --device cpu --every $every
prints '^kernel +device +cases +failed +elements +of bound +error +relative$'
prints '^cpu_sequential_f32 +cpu +[1-9][0-9]* +0 +[1-9][0-9]* +0'
prints '^8 of 8 kernels passed, [0-9]+ cases \([0-9]+ with a forced schedule\), [0-9]+ elements, quick, seed 1$'
fits_terminal
expect 0 "" "$tessera" verify --kernel cpu_sequential_f64 --device cpu --format json
all=$(grep -o '"cases": [0-9]*' out | cut -d' ' -f2)
expect 0 "" "$tessera" verify --kernel cpu_sequential_f64 --device cpu --format json --small --every 5
few=$(grep -o '"cases": [0-9]*' out | cut -d' ' -f2)
succeeds [ "$few" -gt 5 ] && succeeds [ $((few * 5)) -lt $((all + 5)) ]
expect 0 "" "$tessera" verify --kernel cpu_sequential_f64 --device cpu --format json --seed 7
is_json kernel device passed planned cases failed refused elements worst_ratio worst_c bound_c row column value reference \
    bound error problem first_failure
checks=$((checks + 1))
[ "$(wc -l <out)" = 1 ] || fail "$(wc -l <out) lines for one instance"
cp out first
expect 0 "" "$tessera" verify --kernel cpu_sequential_f64 --device cpu --format json --seed 7
succeeds cmp -s first out
expect 1 "*" "$tessera" verify --kernel tiled --device cpu
succeeds grep -q '^tessera verify: --kernel "tiled": does not run on this device' err
expect 1 "*" "$tessera" verify --device cuda:99
succeeds grep -q '^tessera verify: .' err

# A signal in the middle, once the first kernel is done: what was done is told, and the process ends as signals end it.
# (SIGTERM, because shells start what runs in the background with SIGINT ignored; the handler is the same.)
checks=$((checks + 1))
: >out # it still holds the last command's
"$tessera" verify --device cpu --format json >out 2>err &
process=$!
for ((i = 0; i < 1200; i++)); do
    [ -s out ] && break
    sleep 0.1
done
kill -TERM $process
wait $process
code=$?
[ $code = 143 ] || fail "verify after SIGTERM exits with $code: $(cat err)"
grep -Eq '^tessera verify: interrupted after [1-9][0-9]* of [0-9]+ kernels$' err || fail "verify after SIGTERM says $(cat err)"
is_json kernel device passed

finish
