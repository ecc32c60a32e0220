#!/usr/bin/env bash
# tessera info --measure: the levels that this machine has, in the order of their latency; text and JSON.
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
# A processor's first cache answers within a few clocks, memory outside takes ten times as long or more.
succeeds awk "BEGIN { exit !($(number L1 latency_ns) > 0.2 && $(number L1 latency_ns) < 20) }"
succeeds awk "BEGIN { exit !($(number DRAM latency_ns) > 5 * $(number L1 latency_ns)) }"
succeeds awk "BEGIN { exit !($(number L1 one_thread_bytes_per_s) > $(number DRAM one_thread_bytes_per_s)) }"
succeeds awk "BEGIN { exit !($(number DRAM bytes) >= 67108864) }"
finish
