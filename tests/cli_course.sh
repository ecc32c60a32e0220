#!/usr/bin/env bash
# docs/COURSE.md: its commands run, its exercises are those of `tessera try`, and their answers are what the tutorials say.
. "$(dirname "$0")/cli_lib.sh"

expect 0 "" "$tessera" try
fits_terminal
sed -n 's/^ *\([0-9][0-9]*\)  \([a-z0-9-]*\) .*/\1 \2/p' out >listed
succeeds [ "$(wc -l <listed)" -ge 15 ]
# Each exercise stands in its lesson, and no other does.
awk '/^## [0-9]+\./ { lesson = $2 + 0 } /^Exercises?: / { on = 1 }
     on { line = $0; while (match(line, /`[a-z0-9-]+`/)) { print lesson, substr(line, RSTART + 1, RLENGTH - 2); line = substr(line, RSTART + RLENGTH) } on = 0 }' \
    "$source_folder/docs/COURSE.md" >told
succeeds diff <(sort listed) <(sort told)

expect 2 "tessera try: EXERCISE needs an exercise of the list that tessera try prints, not 'naive-load'; did you mean 'naive-loads'?" \
    "$tessera" try naive-load
expect 2 "*" "$tessera" try naive-loads many
expect 2 "tessera try: an answer, or --show" "$tessera" try naive-loads 512 --show
expect 2 "tessera try: --show of which exercise?" "$tessera" try --show
expect 0 "" "$tessera" try widest-tile
prints '^Answer: tessera try widest-tile NUMBER$'

# What needs no emulator.
answer() { # NAME RIGHT WRONG...
    local name=$1 right=$2 wrong
    shift 2
    expect 0 "" "$tessera" try "$name" "$right"
    prints '^Right, '
    for wrong in "$@"; do
        expect 1 "" "$tessera" try "$name" "$wrong"
        prints '^Not '
    done
    sed -i '/ '"$name"'$/d' listed
}
answer widest-tile 32 16 64
answer resident-blocks 6 5 2
answer tiled-bound 7.43 8 0.234
answer problem-intensity 1365 4096 682
answer vector-bound 2.0 312 1
answer last-wave 10 82 4
answer sparse-indices 13 7 31
answer sparse-bytes 18 16 20

if "$tessera" explain tiled >/dev/null 2>&1; then
    answer naive-loads 512 256 513
    answer naive-intensity 0.25 0.5 1
    answer naive-sectors 4 1 32
    answer uncoalesced-sectors 32 4 31
    answer tiled-loads 16 512 8
    answer tiled-intensity 4 0.25 8
    answer register-reuse 4 0.5 64
    answer bank-conflict 32 1 33
    answer regtile-fill 8 1 32
    answer padded-fill 1 8 32
    answer two-stages 16896 8448 16384
    answer fragments 128 64 8
    succeeds [ ! -s listed ] # each exercise's answer was given
    # Indented lines that begin with the command run, each once.
    sed -n 's/^    tessera //; t keep; d; :keep; s/  *#.*//; p' "$source_folder/docs/COURSE.md" | sort -u >commands
    succeeds [ "$(wc -l <commands)" -ge 25 ]
    ln -s "$source_folder/examples" "$source_folder/kernels" . # as at the top of the tree
    make_matrix W.npy f32 32 64 c 1
    make_matrix X.npy f32 64 16 c 2
    while read -r line; do
        sampled 3 || continue
        # shellcheck disable=SC2086 # words of a command line
        expect 0 "*" "$tessera" $line
    done <commands
else
    expect 1 "*" "$tessera" try naive-loads 512
    grep -q "no emulator" err || fail "without an emulator: $(cat err)"
fi
finish
