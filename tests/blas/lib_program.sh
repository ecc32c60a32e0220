# What the tests of programs share, those that come with a BLAS of the system's. Called after lib.sh.

# A folder in which libblas.so.3 is the complete BLAS (packaging/link-blas) over the first BLAS that is here.
make_full_blas() {
    local below tool
    for tool in cc readelf nm; do
        command -v $tool >/dev/null || skip "no $tool, which link-blas needs"
    done
    below=$(ls /usr/lib/*/openblas-*/libopenblas.so.0 /usr/lib/*/blis-*/libblis.so.4 /usr/lib/*/blas/libblas.so.3 2>/dev/null | head -n 1 || true)
    [ -n "$below" ] || skip "no BLAS to lie below (Debian and Ubuntu: libopenblas0-pthread)"
    mkdir full
    cp -L "$blas" full/libtessera_blas.so.0
    cp -L "$(dirname "$blas")/libtessera.so.0" full/
    "$here/../../packaging/link-blas" --tessera full/libtessera_blas.so.0 --output full/libblas.so.3 "$below" >link.txt ||
        die "link-blas: $(cat link.txt)"
}

# The program on the complete BLAS, as an alternative of Debian's would give it.
with_full_blas() { # COMMAND...
    rm -f "$log"
    R_LD_LIBRARY_PATH=$PWD/full LD_LIBRARY_PATH=$PWD/full TESSERA_LOG=calls TESSERA_LOG_FILE=$log "$@"
}

# Runs the program in front of the system's BLAS and on the complete one. It says "right" after its own checks, which do
# not multiply by a BLAS; then each SYMBOL must have been called AT_LEAST times.
both_ways() { # "SYMBOL AT_LEAST[, ...]" COMMAND...
    local calls=$1 way symbol least
    shift
    [ -d full ] || make_full_blas
    for way in with_us with_full_blas; do
        $way "$@" >out.txt 2>&1 || die "$way: $* fails: $(tail -n 20 out.txt)"
        grep -qx right out.txt || die "$way: $* does not say that all is right: $(tail -n 20 out.txt)"
        while read -r symbol least; do
            need_calls "$symbol" "$least"
        done <<<"${calls//, /$'\n'}"
        echo "$name: right ${way//_/ }"
    done
}
