#!/usr/bin/env bash
# What commands print is as wide as the terminal: no line is wider than 80 columns there.
. "$(dirname "$0")/cli_lib.sh"
export COLUMNS=80

fits() { # COMMAND...
    expect 0 "" "$tessera" "$@"
    checks=$((checks + 1))
    ! grep -Eq '.{81}' out || fail "tessera $*: $(grep -E '.{81}' out | head -n 2)"
}
fits info
fits route 1000 1000 1000
fits route 4096 4096 4096 --dtype bf16 --device h200
fits roofline 4096 4096 4096 --dtype f16 --device a100
fits roofline 1 4096 4096 --dtype f16 --device a100
fits verify --kernel cpu_sequential_f32 --device cpu --small --every 9
fits bench --kernel cpu-sequential,cpu-tiled --device cpu --sizes 32 --rounds 3
fits bench --from "$source_folder/perf/h200-2026-11-21.jsonl" --format ladder
prints '^naive +10\.8 +1004 +4949 +6101 '
# Rungs of a device stand together, below its name.
fits bench --from "$source_folder/perf/h200-2026-11-23-suites-15.jsonl" --format ladder
succeeds [ "$(grep -c '^NVIDIA H200$' out)" = "$(grep -c '^NVIDIA H200, graph$' out)" ]
"$tessera" explain tiled >out 2>&1 || finish # no emulator
fits roofline --device h200 --dtype bf16 --kernel wgmma,mma --sizes 256
prints '^wgmma_bf16_[a-z0-9_]+$' # the name on a line of its own
fits profile tiled_f32_t16 128 --device emu
fits profile wgmma 256 --device emu --gpu h200 --dtype bf16
fits tiles 2048 --device rtx3090
fits tiles 4096 --dtype bf16 --device h200
! grep -q 'transposed' out || fail "a table of what is not known"
fits verify --kernel wgmma_bf16_bf16_p64x64_s10_c11 --device emu --small --every 400
for kernel in naive padded wmma mma sparse24 cluster-k wgmma wgmma-skinny warp-specialized cpu-tiled; do
    fits explain $kernel
done
fits try
# Rows of files and pipes stay lines: scripts read them.
unset COLUMNS
expect 0 "" "$tessera" roofline --device h200 --dtype bf16 --kernel wgmma --sizes 256
prints '^wgmma_bf16_[a-z0-9_]+ +256 '
finish
