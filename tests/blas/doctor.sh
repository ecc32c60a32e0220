#!/usr/bin/env bash
# tessera doctor: a Python that calls us, one that does not, and none at all; and --replay of what was logged.
. "$(dirname "$0")/lib.sh"
command=$3
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no numpy (Debian and Ubuntu: python3-numpy)"

"$command" doctor --python /usr/bin/python3 >good.txt || die "the system's Python: $(cat good.txt)"
grep -q 'calls us: yes, cblas_sgemm, cblas_dgemm; results right' good.txt || die "no yes in: $(cat good.txt)"
grep -q "^CPU " good.txt || die "no CPU in: $(cat good.txt)"

# A NumPy that multiplies by itself.
mkdir -p fake/numpy
cat >fake/numpy/__init__.py <<'PY'
__version__ = "0.0"
class array(list):
    def reshape(self, *shape): return self
    def __mod__(self, other): return self
    def __sub__(self, other): return self
    def __matmul__(self, other): return self
    def astype(self, kind): return self
    def all(self): return True
    def __eq__(self, other): return self
def arange(count): return array()
def einsum(*arguments): return array()
PY
if PYTHONPATH=$PWD/fake "$command" doctor --python /usr/bin/python3 >none.txt 2>&1; then
    die "a NumPy that does not call us was passed: $(cat none.txt)"
fi
grep -q 'calls us: NO' none.txt || die "no NO in: $(cat none.txt)"
# A SciPy that fails to load, without a word or with the whole Python; one that dies in a product; one that is wrong. The
# products of the system's NumPy are right in all of them.
mkdir -p scipy/scipy/linalg
: >scipy/scipy/linalg/__init__.py
scipy() { # CODE INIT BLAS MESSAGE: the texts of its __init__.py and linalg/blas.py; CODE is doctor's
    local code=0
    printf '__version__ = "0.0"\n%s\n' "$2" >scipy/scipy/__init__.py
    printf '%s\n' "$3" >scipy/scipy/linalg/blas.py
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/scipy "$command" doctor --python /usr/bin/python3 >scipy.txt 2>&1 || code=$?
    tr -s ' \n' ' ' <scipy.txt >scipy.line
    [ $code = "$1" ] && grep -q "$4" scipy.line || die "exit code $code, not $1, or no '$4' in: $(cat scipy.txt)"
}
wrong='sgemm = dgemm = lambda alpha, a, b: a @ b + 1'
scipy 0 'raise ImportError()' "$wrong" 'SciPy not to be had: ImportError()'
scipy 0 'raise ImportError("no such file\nat all")' "$wrong" 'SciPy not to be had: no such file Python\|SciPy not to be had: no such file To'
scipy 0 'raise SystemExit(3)' "$wrong" 'SciPy not to be had: 3'
scipy 0 'import os; os._exit(3)' "$wrong" 'SciPy cannot be tried: it ended with code 3 as Python loaded it'
scipy 0 'import os; os.kill(os.getpid(), 9)' "$wrong" 'SciPy cannot be tried: it ended with signal 9 as Python loaded it'
scipy 0 '' 'raise ImportError("no blas")' 'SciPy not to be had: no blas'
scipy 1 '' 'import os
sgemm = lambda alpha, a, b: os.kill(os.getpid(), 9)' 'SciPy cannot be tried: it ended with signal 9 as Python used it.*SciPy does not work with our library loaded'
scipy 1 '' "$wrong" 'results WRONG.*the results of SciPy are wrong'
scipy 0 '' "${wrong% + 1}" 'SciPy 0.0, .*results right'

# A Python that does not end is ended, with all that it started.
printf '#!/bin/sh\nsleep 1000\n' >hangs
chmod +x hangs
"$command" doctor --python "$PWD/hangs" --timeout 1 >hangs.txt 2>&1 && die "a Python that hangs was passed"
grep -q 'not done within 1 s' hangs.txt || die "of a Python that hangs: $(cat hangs.txt)"
"$command" doctor --python "$PWD/fake" >absent.txt 2>&1 && die "a folder was passed as a Python"
grep -q 'it cannot be executed' absent.txt || die "of a folder: $(cat absent.txt)"
"$command" doctor --python "$PWD/no_such_python" >absent.txt 2>&1 && die "a Python that is not there was passed"
grep -q 'there is no such program' absent.txt || die "wrong message: $(cat absent.txt)"
"$command" doctor --blas "$PWD/none.so" >absent.txt 2>&1 && die "a BLAS that is not there was passed"

# The log of two kinds of product, timed again.
with_us /usr/bin/python3 -c 'import numpy as np
a = np.ones((40, 50)); b = np.ones((50, 30))
[a @ b for i in range(5)]
np.ones((64, 64), "f4") @ np.ones((64, 8), "f4")'
need_calls cblas_dgemm 5
"$command" bench --device cpu --threads 1 --rounds 2 --replay "$log" >replay.txt || die "replay failed: $(cat replay.txt)"
grep -q 'cblas_dgemm, 5 calls, logged .* us each; ld 50 30 30, alpha 1, beta 0, batch 1' replay.txt || die "not in: $(cat replay.txt)"
grep -q '^ *ms .*GFLOP/s' replay.txt && grep -q ' 64x8x64' replay.txt && grep -q '^cpu-tiled ' replay.txt || die "not in: $(cat replay.txt)"
echo "doctor: verdicts and replay are right"
