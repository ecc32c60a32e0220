# What the tests of libtessera_blas share. Each is called with the library's path and a folder to work in. Exit code 77 is
# a test that cannot run here; it says what is missing.
set -euo pipefail
blas=$1 work=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$(basename "$0" .sh)
rm -rf "${work:?}/$name"
mkdir -p "$work/$name"
cd "$work/$name"
log=$PWD/calls.log
unset TESSERA_DEVICE TESSERA_NUM_THREADS TESSERA_LOG TESSERA_LOG_FILE LD_PRELOAD

die() {
    echo "$name: $*"
    exit 1
}

skip() {
    echo "$name skipped: $*"
    exit 77
}

# What a command prints is its own; that our symbols did the work is read from the call log.
with_us() { # COMMAND...
    rm -f "$log"
    LD_PRELOAD=$blas TESSERA_LOG=calls TESSERA_LOG_FILE=$log "$@"
}

calls_of() { # SYMBOL: products that were computed
    [ -f "$log" ] || {
        echo 0
        return
    }
    grep -c "^tessera-call $1 dtype=" "$log" || true
}

need_calls() { # SYMBOL AT_LEAST
    local count
    count=$(calls_of "$1")
    [ "$count" -ge "$2" ] || die "$1 was called $count times, at least $2 expected"
    if grep -qE "kernel=(plain-loops|cpu-after-failure)" "$log"; then
        die "calls that the library could not run: $(grep -cE 'kernel=(plain-loops|cpu-after-failure)' "$log")"
    fi
    echo "$name: $count calls of $1"
}
