#!/usr/bin/env bash
# The complete BLAS that packaging/link-blas makes: over each BLAS that is here, as libblas.so.3 of Debian's alternatives,
# as libblastrampoline (Julia) looks at it, under Debian's NumPy; and what it refuses.
. "$(dirname "$0")/lib.sh"
command=$3
link_blas=$here/../../packaging/link-blas
for tool in cc readelf nm python3; do
    command -v $tool >/dev/null || skip "no $tool"
done
mkdir lib
cp -L "$blas" lib/libtessera_blas.so.0
cp -L "$(dirname "$blas")/libtessera.so.0" lib/

# What a trampoline does: the suffix by isamax, the width of integers by a size whose low half is 3, then each name.
cat >look.py <<'PY'
"""look.py LIBRARY NAMES...: prints suffix, bits, the names that are missing, and the product 2 * 3 by dgemm and by cblas."""
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_LOCAL)
suffix = next((s for s in ("64_", "_64_", "", "_") if hasattr(library, "isamax_" + s)), None)
if suffix is None:
    sys.exit("no suffix")
n, one = ctypes.c_uint64(0xFFFFFFFF00000003), ctypes.c_int64(1)
x = (ctypes.c_float * 3)(1, 3, 2)
bits = 32 if getattr(library, "isamax_" + suffix)(ctypes.byref(n), x, ctypes.byref(one)) == 2 else 64
missing = [name for name in sys.argv[2:] if not hasattr(library, name + suffix)]
i, f, z, c = ctypes.byref(one), ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0)), ctypes.c_double(7)
two, three = ctypes.byref(ctypes.c_double(2)), ctypes.byref(ctypes.c_double(3))
getattr(library, "dgemm_" + suffix)(b"N", b"N", i, i, i, f, two, i, three, i, z, ctypes.byref(c), i)
print("suffix=%s bits=%d missing=%s product=%g" % (suffix, bits, ",".join(missing), c.value))
PY

functions() { nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort; }
reference=$(ls /usr/lib/*/blas/libblas.so.3 2>/dev/null | head -n 1 || true)
tried=0
for below in $reference $(ls /usr/lib/*/blis-*/libblis.so.4 /usr/lib/*/openblas-*/libopenblas.so.0 2>/dev/null || true); do
    tried=$((tried + 1))
    rm -rf lib/tessera && mkdir lib/tessera
    "$link_blas" --tessera lib/libtessera_blas.so.0 --output lib/tessera/libblas.so.3 "$below" >out || die "link-blas $below: $(cat out)"
    [ "$(readelf -d lib/tessera/libblas.so.3 | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = libblas.so.3 ] || die "wrong SONAME"
    [ "$(readelf -d lib/tessera/libblas.so.3 | grep -c NEEDED)" = 3 ] || die "it needs others than two libraries and libc"
    names="cblas_sgemv cblas_dgemm dgemv_ ztrsm_ cblas_zherk" # and all that the reference and the BLAS below have
    [ -z "$reference" ] || names="$names $(comm -12 <(functions "$reference") <(functions "$below"))"
    rm -f "$log"
    TESSERA_LOG=calls TESSERA_LOG_FILE=$log python3 look.py "$PWD/lib/tessera/libblas.so.3" $names >out || die "look.py over $below failed"
    grep -Eq '^suffix= bits=32 missing= product=6$' out || die "over $below: $(cat out)"
    echo "full: $(echo $names | wc -w) names over $below"
    need_calls dgemm_ 1
    "$command" doctor --blas lib/libtessera_blas.so.0 --python /nonexistent >out 2>&1 || true
    grep -A3 '^full BLAS' out | tr -s ' \n' ' ' >line
    grep -q "tessera/libblas.so.3: products by Tessera, the rest by " line || die "doctor says: $(cat out)"
    case $below in
    *openblas*) grep -q 'the rest by OpenBLAS [0-9]' line ;;
    *blis*) grep -q 'the rest by BLIS [0-9]' line ;;
    *) grep -q 'the rest by a BLAS (' line ;;
    esac || die "doctor names what is below $below: $(cat line)"
done
[ $tried -gt 0 ] || skip "no BLAS to lie below (Debian and Ubuntu: libopenblas0-pthread)"

# A program that reaches another BLAS by a library before ours, as by Debian's liblapack.so.3, which needs OpenBLAS: the
# products are ours all the same.
cat >other.c <<'C'
#include <stdio.h>
void dgemm_(void) { puts("the other's"); }
C
echo 'void dgemm_(void); void lapack_(void); void lapack_(void) { dgemm_(); }' >lapack.c
cat >product.c <<'C'
#include <stdio.h>
void lapack_(void);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);
int main(void)
{
    const int one = 1;
    const double two = 2, three = 3, factor = 1, none = 0;
    double product = 7;
    dgemm_("N", "N", &one, &one, &one, &factor, &two, &one, &three, &one, &none, &product, &one);
    printf("%g\n", product);
    return (void (*volatile)(void))lapack_ == NULL;
}
C
cc -shared -fPIC other.c -o libother.so -Wl,-soname,libother.so
cc -shared -fPIC lapack.c -o liblapack.so -Wl,-soname,liblapack.so -L. -lother
cc product.c -o product -Wl,--no-as-needed -L. -llapack lib/tessera/libblas.so.3 -Wl,--allow-shlib-undefined \
    -Wl,--unresolved-symbols=ignore-all
rm -f "$log"
LD_LIBRARY_PATH=$PWD:$PWD/lib/tessera TESSERA_LOG=calls TESSERA_LOG_FILE=$log ./product >out 2>&1 || die "a program with another BLAS before ours: $(cat out)"
[ "$(cat out)" = 6 ] || die "with another BLAS before ours a product is: $(cat out)"
need_calls dgemm_ 1

# As one of Debian's alternatives: the link that programs load is ours, and NumPy runs on it.
if command -v update-alternatives >/dev/null && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
    mkdir alt admin links
    alternatives() { update-alternatives --altdir "$PWD/alt" --admindir "$PWD/admin" --log /dev/null "$@" >alternatives.txt 2>&1 || die "update-alternatives $*: $(cat alternatives.txt)"; }
    alternatives --install "$PWD/links/libblas.so.3" libblas "$PWD/lib/tessera/libblas.so.3" 5
    # As in one library folder, where the loader takes $ORIGIN from the link's place.
    cp lib/libtessera* links/
    [ "$(readlink -f links/libblas.so.3)" = "$PWD/lib/tessera/libblas.so.3" ] || die "the alternative is not ours"
    cat >products.py <<'PY'
import numpy as np
random = np.random.default_rng(1)
a, b, v = random.standard_normal((90, 70)), random.standard_normal((70, 80)), random.standard_normal(70)
assert np.allclose(a @ b, np.einsum("ik,kj->ij", a, b)) and np.allclose(a @ v, np.einsum("ik,k->i", a, v))
s = a.T @ a
assert np.allclose(s @ np.linalg.solve(s, v), v) and np.allclose(np.linalg.svd(a)[1] ** 2, np.linalg.eigvalsh(s)[::-1])
print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libblas" in line or "tessera" in line}))
PY
    rm -f "$log"
    LD_LIBRARY_PATH=$PWD/links TESSERA_LOG=calls TESSERA_LOG_FILE=$log /usr/bin/python3 products.py >out || die "NumPy on the full BLAS"
    grep -q "$PWD/lib/tessera/libblas.so.3" out || die "NumPy loaded: $(cat out)"
    need_calls cblas_dgemm 1
fi

# Over a BLAS whose names end in 64_, as Julia's own OpenBLAS has them.
cat >wide.c <<'C'
#include <stdint.h>
int64_t isamax_64_(const int64_t *n, const float *x, const int64_t *step)
{
    int64_t best = *n > 0 ? 1 : 0;
    for (int64_t i = 1; i < *n; i++)
        if (x[i * *step] > x[(best - 1) * *step])
            best = i + 1;
    return best;
}
void dgemv_64_(void) {}
C
cc -shared -fPIC wide.c -o libwide64_.so -Wl,-soname,libwide64_.so
"$link_blas" --tessera lib/libtessera_blas.so.0 --soname libtessera64_.so --output lib/libtessera64_.so "$PWD/libwide64_.so" >out || die "link-blas over names in 64_"
rm -f "$log"
TESSERA_LOG=calls TESSERA_LOG_FILE=$log python3 look.py "$PWD/lib/libtessera64_.so" dgemv_ >out
[ "$(cat out)" = "suffix=64_ bits=64 missing= product=6" ] || die "names in 64_: $(cat out)"
need_calls dgemm_64_ 1

# What would go astray is refused: plain names with 64-bit integers, what is no BLAS, what is not there.
refuses() { # MESSAGE ARGUMENTS...
    local message=$1
    shift
    "$link_blas" --tessera lib/libtessera_blas.so.0 --output refused.so "$@" >out 2>&1 && die "link-blas $* succeeds"
    grep -Eq -- "$message" out || die "link-blas $*: $(cat out)"
    [ ! -e refused.so ] || die "link-blas $* leaves a file"
}
sed 's/_64_/_/g' wide.c >misnamed.c
cc -shared -fPIC misnamed.c -o libmisnamed.so -Wl,-soname,libmisnamed.so
refuses 'libmisnamed.so has integers of 64 bits under the name isamax_$' "$PWD/libmisnamed.so"
: >empty.c
cc -shared -fPIC -nostdlib empty.c -o lib/tessera/libblas.so.3 -Wl,--no-as-needed lib/libtessera_blas.so.0 libmisnamed.so \
    -Wl,-rpath,"$PWD:$PWD/lib"
"$command" doctor --blas lib/libtessera_blas.so.0 --python /nonexistent >out 2>&1 || true
grep -A1 '^full BLAS' out | tr -s ' \n' ' ' | grep 'libblas.so.3: UNUSABLE: the integers of a BLAS below' >/dev/null || die "doctor says: $(cat out)"
refuses 'is no BLAS' lib/libtessera_blas.so.0
refuses 'there is no /nonexistent' /nonexistent
refuses 'unknown option --zebra' --zebra
echo "full: over $tried libraries, through alternatives and with names in 64_"
