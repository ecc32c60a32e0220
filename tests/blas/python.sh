#!/usr/bin/env bash
# NumPy's own tests of products and of linear algebra, and SciPy's of its BLAS, with libtessera_blas preloaded: those of
# the system's packages, which call the system's BLAS by its usual names.
. "$(dirname "$0")/lib.sh"
python=/usr/bin/python3
for module in numpy scipy pytest hypothesis; do
    $python -c "import $module" 2>/dev/null || skip "no $module (Debian and Ubuntu: python3-$module)"
done
. "$here/lib_python.sh"
core=numpy.core
$python -c 'import numpy._core.tests' 2>/dev/null && core=numpy._core
numpy_tests $core
need_calls cblas_sgemm 100
need_calls cblas_dgemm 100
need_calls dgemm_ 100 # from LAPACK
scipy_tests
need_calls sgemm_ 2
need_calls dgemm_ 2
