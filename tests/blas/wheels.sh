#!/usr/bin/env bash
# The same tests with the newest NumPy and SciPy as pip installs them, whose BLAS is bundled under other names; and the
# doctor's verdict on that Python. Where no package index is reached, this cannot run.
. "$(dirname "$0")/lib.sh"
command=$3
venv=$work/wheels_venv # kept: a second run needs no index
python=$venv/bin/python3
if ! $python -c 'import numpy, scipy, pytest, hypothesis' 2>/dev/null; then
    rm -rf "$venv"
    python3 -m venv "$venv" 2>/dev/null || skip "python3 makes no virtual environment (Debian and Ubuntu: python3-venv)"
    timeout 150 "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 0 --timeout 15 \
        --only-binary :all: numpy scipy pytest hypothesis >pip.txt 2>&1 ||
        skip "pip could not install NumPy and SciPy wheels: $(tail -n 1 pip.txt)"
fi
. "$here/lib_python.sh"
"$command" doctor --python "$python" --blas "$blas" >doctor.txt || die "the doctor says: $(tail -n 12 doctor.txt)"
grep -E 'calls us: yes, .*gemm' doctor.txt >/dev/null || die "no yes in: $(cat doctor.txt)"
if [ "$($python -c 'import numpy; print(int(numpy.__version__.split(".")[0]) >= 2)')" = True ]; then
    numpy_tests numpy._core
    need_calls scipy_cblas_sgemm64_ 100
    need_calls scipy_cblas_dgemm64_ 100
else
    numpy_tests numpy.core
    need_calls cblas_dgemm64_ 100
fi
scipy_tests
[ "$(calls_of '[a-z_]*gemm_')" -ge 4 ] || die "SciPy's products did not reach us: $(cut -d' ' -f2 "$log" | sort | uniq -c)"
