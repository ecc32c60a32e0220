#!/usr/bin/env bash
# machine_code.sh BUILD: tools/machine-code reads the machine code of a build as it was recorded, and finds the main loop
# of the fastest FP32 kernel. Exit 77: there is no machine code here, or no zstd.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=$1
instance=warp_specialized_f32_128x256
grep -qs "^$instance " "$build/generated/groups.txt" && command -v zstd >/dev/null || {
    echo "no build with nvcc, or no zstd"
    exit 77
}
line=$(tools/machine-code "$build" $instance | grep "^$instance") || exit 1
recorded=$(grep "^$instance" perf/machine_code.tsv)
# Another nvcc, or a kernel that was changed since: another hash or other code, and nothing to compare.
if [ "$(cut -f2,4 <<<"$line")" = "$(cut -f2,4 <<<"$recorded")" ] && [ "$line" != "$recorded" ]; then
    printf 'recorded: %s\nread now: %s\n' "$recorded" "$line"
    exit 1
fi
# Eight steps of 16 x 8 multiply-adds a thread; none can be faster than one a cycle, and three operands take three at most.
tools/machine-code --banks "$build" $instance | awk -F'\t' -v name=$instance '
    $1 == name { found = $4 == 1024 && $3 > $4 && $5 >= $3 && $5 < 3 * $3 && $6 > 0.6 && $6 < 1; print }
    END { exit !found }'
