# Test suites of an installed NumPy and SciPy; $python is the interpreter.

# What calls for another BLAS routine with 2^31 elements is left out: minutes, and none of them ours.
pick="(matmul or Matmul or MatMul or dot or Dot or linalg or einsum or Einsum) and not huge"

run_pytest() { # MODULE... [-k EXPRESSION]
    with_us $python -m pytest -q -p no:cacheprovider -W ignore --pyargs "$@" >pytest.txt 2>&1 ||
        die "tests failed: $(tail -n 25 pytest.txt)"
    echo "$name: $(tail -n 1 pytest.txt)"
}

numpy_tests() { # CORE: numpy.core, or numpy._core since 2.0
    run_pytest "$1.tests.test_multiarray" "$1.tests.test_einsum" numpy.linalg.tests.test_linalg -k "$pick"
}

scipy_tests() {
    run_pytest scipy.linalg.tests.test_blas
}
