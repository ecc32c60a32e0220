#!/usr/bin/env bash
# tools_fit.sh FIT TESSERA PERF: the regret that `fit` begins with is the one that the command prints; a constant that
# matters shows it, one that no recorded problem uses changes nothing; wrong words are refused by name.
set -u
fit=$1 tessera=$2 perf=$3
records=$perf/h200-2026-11-23-regret-16.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
}
refuses() { # MESSAGE WORDS...
    local message=$1
    shift
    "$fit" "$@" >out 2>err && fail "$* succeeds"
    grep -qF -- "$message" err || fail "$* says: $(cat err)"
}

"$fit" --only host --only wgmma --only stream_k "$records" >out || fail "fit: $(cat out)"
"$tessera" bench --from "$records" --format regret >regret || fail "bench --from: $(cat regret)"
mean=$(sed -n 's/^[0-9]* problems judged, regret \([0-9.]*\), worst.*/\1/p' out)
says=$(sed -n 's/.*geometric mean \([0-9.]*\), worst.*/\1/p' regret)
[ -n "$says" ] && awk -v mean="$mean" -v says="$says" 'BEGIN { off = mean - says; exit off > 0.00056 || off < -0.00056 }' ||
    fail "fit says $mean, the command $says"
effect() { awk -v name="$1" '$2 == name { print $6 }' out; }
awk -v x="$(effect wgmma_fill_ns)" 'BEGIN { exit !(x > 0.005) }' || fail "wgmma_fill_ns: $(effect wgmma_fill_ns)"
[ "$(effect stream_k_fill_ns)" = +0.0000 ] || fail "stream_k_fill_ns in bf16: $(effect stream_k_fill_ns)"
grep -q '^these: ' out || fail "no summary"
"$fit" --with wgmma_fill_ns=0 --only host "$records" >changed
other=$(sed -n 's/^[0-9]* problems judged, regret \([0-9.]*\), worst.*/\1/p' changed)
[ "$other" != "$mean" ] || fail "--with changes nothing: $other"

# The three sets have all problems, each once. Constants' schedules are those of the table, or the choice is not judged.
judged() { "$fit" "$@" --only host "$records" | sed -n 's/ problems judged, regret.*//p'; }
[ "$(judged)" = $(($(judged --set fit) + $(judged --set ablate) + $(judged --set report))) ] || fail "sets of shapes"
head -3 "$perf/schedules-2026-11-25-rows.csv" >whole.csv # of an H100: here K is whole
[ "$(judged --schedules whole.csv)" -lt "$(judged)" ] || fail "--schedules changes nothing"
refuses "--with needs NAME=VALUE" --with wgmma_fil_ns=0 "$records"
refuses "--with wgmma_fill_ns needs a number, not 'x'" --with wgmma_fill_ns=x "$records"
refuses "no option --bogus" --bogus "$records"
refuses "--search needs a constant" --search nothing "$records"
refuses "--chip needs one of" --chip v100 "$records"
refuses "--only needs a group" --only wgma "$records"
refuses "--tolerance needs a number from 0, not '-1'" --tolerance -1 "$records"
refuses "--set needs fit, ablate, report or all, not 'some'" --set some "$records"
refuses "nothing.csv" --schedules nothing.csv "$records"
refuses "nothing.jsonl" nothing.jsonl
refuses "usage: fit"
[ $failures = 0 ] && echo "fit: all checks passed"
exit $((failures > 0))
