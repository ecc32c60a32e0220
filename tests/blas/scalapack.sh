#!/usr/bin/env bash
# ScaLAPACK's tester of level 3 on 4 ranks under OpenMPI, with libtessera_blas under each: the distributed engine for
# dense matrices (docs/DISTRIBUTED.md). Its own input with all transposes, then larger matrices; then one product that
# has tiles on all ranks.
. "$(dirname "$0")/lib.sh"
folder=$(dirname "$(ls /usr/lib/*/scalapack/openmpi-tests/PBLAS/dpb3tst 2>/dev/null || true)")
[ -x "$folder/dpb3tst" ] || skip "no dpb3tst (Debian and Ubuntu: scalapack-mpi-test)"
command -v mpirun >/dev/null || skip "no mpirun (Debian and Ubuntu: openmpi-bin)"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader

ranks() { # COUNT PROGRAM...: a rank has one thread, as where there is a core for each
    local count=$1
    shift
    rm -f "$log"
    timeout 120 mpirun --oversubscribe -np "$count" env LD_PRELOAD="$blas" TESSERA_NUM_THREADS=1 TESSERA_LOG=calls \
        TESSERA_LOG_FILE="$log" "$@" </dev/null >ranks.txt 2>&1 || die "$* ended with an error: $(tail -n 5 ranks.txt)"
}

test_with() { # NAME
    ranks 4 "$folder/dpb3tst"
    grep -E '\| +P[A-Z0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+' ranks.txt >summary.txt || die "no summary: $(tail -n 5 ranks.txt)"
    awk '$5 != 0 || $6 != 0 || $4 != $3 { exit 1 }' summary.txt || die "failures: $(cat summary.txt)"
    echo "scalapack: $1: $(awk '{ passed += $4 } END { print passed }' summary.txt) tests passed"
    need_calls dgemm_ 200
    [ "$(grep -o 'pid=[0-9]*' "$log" | sort -u | wc -l)" = 4 ] || die "not all 4 ranks called us"
}

sed -E 's/^4(\s+number of tests problems)/8\1/' "$folder/PDBLAS3TST.dat" >PDBLAS3TST.dat
test_with "its input"

# M, N, K and blocks several times as large, in matrices that hold them from row and column 12 on.
awk '/values of [MNK]$/ { print "61 100 44 80 66 72 55 97 ", "values of", $NF; next }
     /values of [MN]_[ABC]$/ { print "112 112 112 112 112 112 112 112 ", "values of", $NF; next }
     /values of I?[MN]B_[ABC]$/ { print "33 64 16 32 48 17 65 40 ", "values of", $NF; next }
     { print }' PDBLAS3TST.dat >larger.dat
mv larger.dat PDBLAS3TST.dat
sed -i -E 's/^10(\s+value of the logical computational blocksize)/64\1/' PDBLAS3TST.dat
test_with "larger matrices"

# Its block along K, as it is and as docs/DISTRIBUTED.md says to set it; one rank has nothing to cut.
cuts_k_at() { # STEPS
    local most
    most=$(sed -n 's/.* k=\([0-9]*\) .*/\1/p' "$log" | sort -n | tail -n 1)
    [ "$most" = "$1" ] || die "K is cut at $most, not at $1"
}

/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no numpy (Debian and Ubuntu: python3-numpy)"
for count in 1 2 4; do
    ranks $count /usr/bin/python3 "$here/pdgemm.py" 700 64 2
    cat ranks.txt
    need_calls dgemm_ $((count * 2))
    [ $count = 1 ] || cuts_k_at 32
done
if command -v cc >/dev/null; then
    cc -O2 -shared -fPIC "$here/../../examples/scalapack_block.c" -o block.so
    plain=$blas blas=$PWD/block.so:$blas
    ranks 4 /usr/bin/python3 "$here/pdgemm.py" 700 64 2
    blas=$plain
    cat ranks.txt
    cuts_k_at 256
fi
