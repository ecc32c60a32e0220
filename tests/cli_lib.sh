# For the end-to-end tests of the command: cli_NAME.sh TESSERA NPY_TOOL BROKEN_COMMAND. Each works in a folder of its own, goes on after a
# failed check, and fails in the end if any did.
set -u
tessera=$1
npy_tool=$2
source_folder=$(cd "$(dirname "$0")/.." && pwd)
# Every chip that has a file, as the command lists them.
gpus="h200$(cd "$source_folder/src/plan/profiles" && LC_ALL=C && printf ', %s' *.def | sed 's/, h200[.]def//; s/[.]def//g')"
unset TESSERA_DEVICE TESSERA_NUM_THREADS
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
checks=0
failures=0

fail() { # MESSAGE
    failures=$((failures + 1))
    echo "FAILED: $1"
}

# expect CODE STDERR-LINE COMMAND...: the exit code, and all of stderr ("" is nothing, "*" is anything). Stdout is in ./out.
expect() {
    local want=$1 message=$2 got
    shift 2
    checks=$((checks + 1))
    "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ "$got" = "$want" ] || fail "$* exits with $got, not $want: $(cat "$folder/err")"
    [ "$message" = "*" ] || [ "$(cat "$folder/err")" = "$message" ] ||
        fail "$* says \"$(cat "$folder/err")\", not \"$message\""
}

# The last command's stdout has a line that matches the extended regular expression.
prints() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$folder/out" || fail "no line of the output matches $1: $(head -c 600 "$folder/out")"
}

fits_terminal() { # the last command's stdout is at most 100 columns wide and has no blanks at the end of a line
    checks=$((checks + 1))
    ! grep -Eq '.{101}| $' "$folder/out" || fail "wide lines or blanks at their end: $(grep -E '.{101}| $' "$folder/out")"
}

succeeds() { # COMMAND...
    checks=$((checks + 1))
    "$@" || fail "$*"
}

# N: always, but in a sanitizer's build, which takes ten times as long, one time in N: for commands that differ from each
# other in names and numbers alone.
samples=0
sampled() {
    samples=$((samples + 1))
    [ -z "${SANITIZED:-}" ] || [ $((samples % $1)) = 1 ]
}

make_matrix() { # FILE DTYPE ROWS COLUMNS ORDER [SEED]
    "$npy_tool" make "$1" "$2" "$3" "$4" "$5" "${6:-1}" || fail "cannot make $1"
}

finish() {
    echo "$checks checks, $failures failed"
    [ $failures = 0 ] && [ $checks -gt 0 ]
    exit
}
