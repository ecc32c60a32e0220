"""What the package has of the command: explanations, measurements, files."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tessera


def has_emulator():
    try:
        tessera.matmul(np.ones((2, 2), "f4"), np.ones((2, 2), "f4"), device="emu", kernel="naive")
    except (tessera.Error, NotImplementedError):
        return False
    return True


needs_emulator = pytest.mark.skipif(not has_emulator(), reason="this build has no emulator")


@needs_emulator
def test_emulator():
    random = np.random.default_rng(1)
    a, b = random.integers(-4, 5, (20, 30)).astype("f4"), random.integers(-4, 5, (30, 9)).astype("f4")
    np.testing.assert_array_equal(tessera.matmul(a, b, device="emu", kernel="tiled"), a @ b)


@needs_emulator
def test_explain(tmp_path):
    explanation = tessera.explain("tiled", 4, 4, 4, tile=2)
    assert "phase 0" in str(explanation) and "A[0,0]=1->s0" in explanation.text
    assert repr(explanation) == "<tessera.Explanation of tiled --m 4 --n 4 --k 4 --tile 2>"
    shown = explanation._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and shown.count('"') == 4, "the page is escaped within its attribute"
    explanation.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == explanation.html and "</html>" in explanation.html


def test_explain_refuses():
    with pytest.raises(tessera.CommandError, match="unheard-of"):
        tessera.explain("unheard-of", 4, 4, 4)


def test_bench():
    results = tessera.bench([16, 32], rounds=2, device="cpu", dtype=["f32", "f64"])
    assert [(one["m"], one["dtype"]) for one in results] == [(16, "f32"), (16, "f64"), (32, "f32"), (32, "f64")] or sorted(
        (one["m"], one["dtype"]) for one in results
    ) == [(16, "f32"), (16, "f64"), (32, "f32"), (32, "f64")]
    assert all(one["gflops"] > 0 for one in results)
    assert "GFLOP/s" in str(results) and "<td>32</td>" in results._repr_html_()
    with pytest.raises(tessera.CommandError):
        tessera.bench([16], kernel="unheard-of")


def test_bench_of_what_an_option_brings(tmp_path):
    log, shapes = tmp_path / "calls.log", tmp_path / "shapes"
    log.write_text(
        "tessera-call dgemm_ dtype=f64 layout=nn m=20 n=24 k=28 lda=28 ldb=24 ldc=24 "
        "alpha=1 beta=0 batch=1 stride_a=0 stride_b=0 stride_c=0 ns=1000\n"
    )
    shapes.write_text("5 6 7\n")
    options = {"rounds": 2, "device": "cpu"}
    assert [(one["m"], one["n"], one["k"]) for one in tessera.bench(replay=log, **options)] == [(20, 24, 28)]
    assert [one["m"] for one in tessera.bench(shapes=shapes, replay=None, **options)] == [5]
    assert len(tessera.bench(random=2, seed=5, **options)) == 2
    for brought in ({"replay": log}, {"shapes": shapes}, {"random": 2}):
        with pytest.raises(tessera.CommandError, match="--sizes"):
            tessera.bench([16], **brought, **options)


def test_command():
    done = subprocess.run([sys.executable, "-m", "tessera", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and tessera.__version__ in done.stdout
    assert os.access(tessera.command_path(), os.X_OK)


def test_blas_path():
    import ctypes

    blas = ctypes.CDLL(tessera.blas_path())
    assert blas.cblas_sgemm


def test_error_of_a_missing_device():
    with pytest.raises(tessera.Error):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), device="cuda:31")


def test_dtypes_of_the_command_are_named_as_everywhere():
    got = tessera.bench(16, rounds=2, device="cpu", dtype=["float32", np.float64])
    assert [one["dtype"] for one in got] == ["f32", "f64"]
    with pytest.raises(tessera.CommandError, match="f5"):
        tessera.bench(16, rounds=2, device="cpu", dtype="f5")
