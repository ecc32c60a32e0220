#!/usr/bin/env bash
# tessera info --measure: the levels that this machine has, in the order of their latency; text and JSON. GPUs: on a driver
# that pretends, in $FAKE_CUDA_FOLDER, where each launch takes 1.5 ms, whatever it does.
. "$(dirname "$0")/cli_lib.sh"

expect 0 "" "$tessera" info --measure
fits_terminal
prints "^The CPU's memory, measured by reading:$"
prints '^level  working set +latency +one thread +all [0-9]+$'
prints '^L1 .* [0-9.]+ ns +[0-9.]+ [MGT]B/s +[0-9.]+ [MGT]B/s$'
prints '^DRAM .* [0-9.]+ ns +[0-9.]+ [MGT]B/s +[0-9.]+ [MGT]B/s$'
expect 0 "" "$tessera" info --measure --format json
grep '"kind": "memory_level"' out >levels
number() { # LEVEL MEMBER
    sed -n "s/.*\"name\": \"$1\".*\"$2\": \([0-9.e+-]*\).*/\1/p" levels
}
succeeds awk "BEGIN { exit !($(number DRAM bytes) >= 67108864) }"
# A processor's first cache answers within a few clocks, memory outside takes ten times as long or more. Other processes
# disturb a measurement, so one of three must show it; under a sanitizer the instructions cost more than the memory.
in_order() {
    awk "BEGIN { l1 = $(number L1 latency_ns)
        exit !(l1 > 0.2 && l1 < 20 && $(number DRAM latency_ns) > 5 * l1 &&
            $(number L1 one_thread_bytes_per_s) > $(number DRAM one_thread_bytes_per_s)) }"
}
if [ -z "${SANITIZED:-}" ]; then
    for _ in 1 2; do
        in_order && break
        "$tessera" info --measure --format json | grep '"kind": "memory_level"' >levels
    done
    succeeds in_order
fi
if [ ! -e /dev/nvidiactl ]; then # without a GPU there is nothing of one
    succeeds [ "$(grep -c gpu_ out)" = 0 ]
fi

fake=${FAKE_CUDA_FOLDER:-}
if [ -e "$fake/libcuda.so.1" ]; then
    with_fake() { env LD_LIBRARY_PATH="$fake" FAKE_CUDA_ANY_FUNCTION=1 FAKE_CUDA_DEVICES=2 "$@"; }
    expect 0 "" with_fake "$tessera" info --measure
    fits_terminal
    if grep -q "The memory of cuda:0 is not measured" out; then # a build without nvcc
        tr '\n' ' ' <out >joined # the message may be wrapped
        succeeds grep -q "is not measured: .*no device code" joined
    else
        for gpu in cuda:0 cuda:1; do
            prints "^$gpu's memory, measured by reading:$"
        done
        prints '^level +working set +latency +reading +copying +peak +of peak$'
        prints '^registers +- +[0-9.]+ ns +[0-9.]+ [A-Z]B/s +- +535 TB/s +[0-9]+%$'
        prints '^shared +32 KiB +[0-9.]+ ns +[0-9.]+ [A-Z]B/s +- +33.5 TB/s +[0-9]+%$'
        prints '^L1 +32 KiB +[0-9.]+ ns +[0-9.]+ [A-Z]B/s +- +33.5 TB/s +[0-9]+%$'
        prints '^L2 +20 MiB +[0-9.]+ ns +[0-9.]+ [A-Z]B/s +- +- +-$'
        prints '^DRAM +960 MiB +23438 ns +[0-9.]+ [A-Z]B/s +[0-9.]+ [A-Z]B/s +4.92 TB/s +[0-9]+%$'
        prints '^FMAs in f32: [0-9.]+ [A-Z]FLOP/s of 66.9 TFLOP/s, [0-9]+%'
        expect 0 "" with_fake "$tessera" info --measure --format json
        grep '"kind": "gpu_memory_level", "device": "cuda:1"' out >levels
        succeeds [ "$(wc -l <levels)" = 5 ]
        succeeds [ "$(number L2 bytes)" = 20971520 ]
        succeeds [ "$(number DRAM latency_bytes)" = 67108864 ]
        succeeds awk "BEGIN { exit !($(number DRAM latency_ns) == 23437.5) }"
        prints '"name": "L2", .*"copy_bytes_per_s": null, "peak_bytes_per_s": null}$'
        prints '^{"kind": "gpu_fma_rate", "device": "cuda:1", "fma_flops_per_s": [0-9.e+]+, "peak_flops_per_s": 6.69'
    fi
fi
finish
