import ctypes
import gc
import re
import sys
import threading
import time

import arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tessera


def same(got, wanted):
    assert type(got) is type(wanted)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


@given(arrays.products())
def test_any_layout(operands):
    a, b = operands
    same(tessera.matmul(a, b), np.matmul(a, b))


@st.composite
def full_calls(draw):
    a, b = draw(arrays.products())
    shape = np.matmul(a, b).shape
    out = draw(arrays.laid_out(shape, a.dtype.name))
    kept = draw(st.integers(0, len(shape)))
    c_shape = tuple(extent if draw(st.booleans()) else 1 for extent in shape[kept:])
    c = draw(st.one_of(st.none(), arrays.laid_out(shape, a.dtype.name), arrays.laid_out(c_shape, a.dtype.name)))
    return a, b, out, c, draw(st.sampled_from((0.0, 1.0, -2.0))), draw(st.sampled_from((None, 0.0, 1.0, -2.0)))


@given(full_calls())
def test_out_and_factors(values):
    a, b, out, c, alpha, beta = values
    factor = (0 if c is None else 1) if beta is None else beta
    wanted = alpha * np.matmul(a, b) + factor * (out if c is None else c)
    before = [x.copy() for x in (a, b) + (() if c is None else (c,))]
    got = tessera.matmul(a, b, out, alpha=alpha, beta=beta, c=c)
    assert got is out
    np.testing.assert_array_equal(out, wanted.astype(out.dtype))
    for x, y in zip((a, b, c), before):
        np.testing.assert_array_equal(x, y)


def test_beside_out_nothing_is_written():
    memory = np.full((7, 20), 9.0)
    out = memory[1:6, 2:14:3]
    tessera.matmul(np.ones((5, 3)), np.ones((3, 4)), out)
    assert (out == 3).all()
    out[...] = 9
    assert (memory == 9).all()


def test_beta_zero_reads_no_c():
    out = np.full((2, 2), np.nan)
    tessera.matmul(np.ones((2, 3)), np.ones((3, 2)), out, beta=0)
    assert (out == 3).all()
    result = tessera.matmul(np.ones((2, 3)), np.ones((3, 2)), c=np.full((2, 2), np.nan), beta=0)
    assert (result == 3).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("which", ["a", "b", "transposed", "shifted"])
def test_out_may_be_an_operand(which, dtype):
    random = np.random.default_rng(1)
    memory = random.integers(-4, 5, (13, 12)).astype(dtype)
    a = memory[:12]
    b = random.integers(-4, 5, (12, 12)).astype(dtype)
    out = {"a": a, "b": b, "transposed": a.T, "shifted": memory[1:]}[which]
    wanted = a @ b
    tessera.matmul(a, b, out)
    np.testing.assert_array_equal(out, wanted)


def test_c_may_overlap_out():
    memory = np.arange(30.0).reshape(6, 5)
    wanted = np.ones((5, 3)) @ np.ones((3, 5)) + memory[:5]
    out = memory[1:]
    tessera.matmul(np.ones((5, 3)), np.ones((3, 5)), out, c=memory[:5])
    np.testing.assert_array_equal(out, wanted)


def test_c_that_needs_a_copy_overlaps():
    """C lies in another way than out, so it is copied there: but not over an operand, or over itself."""
    square = np.arange(16.0).reshape(4, 4)
    wanted = np.eye(4) @ np.eye(4) + square.T
    tessera.matmul(np.eye(4), np.eye(4), square, c=square.T)
    np.testing.assert_array_equal(square, wanted)
    for which in range(2):
        operands = [np.arange(16.0).reshape(4, 4), np.arange(16.0).reshape(4, 4) + 1]
        wanted = operands[0] @ operands[1] + np.arange(4.0)
        tessera.matmul(*operands, operands[which], c=np.arange(4.0))
        np.testing.assert_array_equal(operands[which], wanted)


def test_blocks_of_one_matrix_in_place():
    """As a factorisation updates its trailing block: operands interleave, but share no element."""
    memory = np.random.default_rng(2).integers(-3, 4, (8, 8)).astype(np.float64)
    wanted = memory.copy()
    wanted[3:, 3:] -= wanted[3:, :3] @ wanted[:3, 3:]
    tessera.matmul(memory[3:, :3], memory[:3, 3:], memory[3:, 3:], alpha=-1, beta=1)
    np.testing.assert_array_equal(memory, wanted)


@pytest.mark.parametrize("n", [8, 7])
@pytest.mark.parametrize("beta", [0, -1])
@pytest.mark.parametrize("which", range(2))
def test_out_is_an_operand_of_several_products(which, beta, n):
    """Batches that one stride does not describe run one after another: none may write what a later one reads."""
    memory = np.random.default_rng(7).integers(-4, 5, (4, n, n)).astype("f4")
    one = np.random.default_rng(8).integers(-4, 5, (n, n)).astype("f4")
    out = memory[::-1]
    operands = (memory, one) if which == 0 else (one, memory)
    wanted = operands[0] @ operands[1] + beta * out
    tessera.matmul(*operands, out, beta=beta)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("which", ["shifted", "reversed", "first", "same"])
def test_c_overlaps_out_of_several_products(which):
    memory = np.random.default_rng(9).integers(-4, 5, (3, 3, 4, 6)).astype("f4")
    a, b = np.ones((2, 1, 4, 5), "f4"), np.random.default_rng(10).integers(-4, 5, (3, 5, 6)).astype("f4")
    out = memory[:2]
    c = {"shifted": memory[1:], "reversed": out[::-1, ::-1], "first": out[0], "same": out}[which]
    wanted = a @ b + c
    tessera.matmul(a, b, out, c=c)
    np.testing.assert_array_equal(out, wanted)


def test_a_failed_call_writes_nothing():
    a, out = np.ones((3, 3), "f4"), np.full((3, 3), 5, "f4")
    for c in (np.arange(3, dtype="f4"), np.ones((3, 3), "f4").T):
        for x in (a, a[::-1, ::-1]):
            with pytest.raises(NotImplementedError):
                tessera.matmul(x, a, out, c=c, kernel="tiled", device="cpu")
            assert (out == 5).all()
    a, out = np.ones((3, 3), "i1"), np.full((3, 3), 5, "i4")
    for options in ({}, {"c": np.arange(3, dtype="i4")}, {"c": np.ones((3, 3), "i4").T}):
        with pytest.raises(ValueError):  # the library sees the factor when it runs the plan
            tessera.matmul(a, a, out, alpha=0.5, **options)
        assert (out == 5).all()


def test_repeated_elements():
    row = np.arange(4.0)
    a = np.broadcast_to(row, (3, 4))
    np.testing.assert_array_equal(tessera.matmul(a, np.eye(4)), a)
    stack = np.broadcast_to(np.eye(4), (5, 4, 4))
    np.testing.assert_array_equal(tessera.matmul(stack, stack), stack)


@pytest.mark.parametrize("shape", [(700, 300, 500), (1, 900, 900), (900, 1, 900), (33, 1000, 2), (4, 64, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_larger(shape, dtype):
    m, n, k = shape
    random = np.random.default_rng(m)
    a, b = random.standard_normal((m, k)).astype(dtype), random.standard_normal((k, n)).astype(dtype)
    exact = a.astype("f8") @ b.astype("f8")
    bound = np.abs(a).astype("f8") @ np.abs(b).astype("f8")
    unit = np.finfo(dtype).eps
    assert (np.abs(tessera.matmul(a, b) - exact) <= 8 * unit * bound).all()


def test_stack_with_one_matrix_is_one_product():
    random = np.random.default_rng(3)
    a = random.integers(-4, 5, (6, 1, 40)).astype("f4")[:, :, :31]
    b = random.integers(-4, 5, (31, 17)).astype("f4")
    np.testing.assert_array_equal(tessera.matmul(a, b), a @ b)
    assert "6 x 17 x 31, batch 1" in repr(tessera.Plan(a, b))
    assert "3 x 17 x 31, batch 6" in repr(tessera.Plan(np.ones((6, 3, 31), "f4"), np.ones((6, 31, 17), "f4")))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    random = np.random.default_rng(4)
    a, b = (random.integers(-4, 5, (20, 20)).astype(ml_dtypes.bfloat16) for _ in range(2))
    got = tessera.matmul(a, b)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got.astype("f4"), (a.astype("f4") @ b.astype("f4")).astype(ml_dtypes.bfloat16).astype("f4"))
    out = np.zeros((20, 20), ml_dtypes.bfloat16)
    assert tessera.matmul(a, b.T, out) is out
    assert out.astype("f4")[0, 0] != 0 or (a.astype("f4") @ b.T.astype("f4"))[0, 0] == 0
    other = tessera.matmul(a, b, out_dtype="float16")
    assert other.dtype == np.float16
    np.testing.assert_array_equal(other, (a.astype("f4") @ b.astype("f4")).astype("f2"))
    back = tessera.matmul(a.astype("f2"), b.astype("f2"), out_dtype="bfloat16", device="cpu")
    np.testing.assert_array_equal(back.astype("f4"), got.astype("f4"))


def test_buffers_of_other_libraries():
    import array

    values = memoryview(array.array("d", range(12))).cast("B").cast("d", (3, 4))
    np.testing.assert_array_equal(tessera.matmul(values, np.eye(4)), np.arange(12.0).reshape(3, 4))


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b, options, error, words",
    [
        (np.ones((3, 4)), np.ones((5, 6)), {}, ValueError, "a (3, 4) float64, b (5, 6) float64: a has 4 columns and b 5"),
        (np.ones(3), np.ones(4), {}, ValueError, "a (3,) float64, b (4,) float64: a has 3 columns and b 4 rows"),
        (np.ones((3, 4)), np.ones((4, 6), "f4"), {}, TypeError, "a (3, 4) float64, b (4, 6) float32: dtypes differ"),
        (np.ones((3, 4), "i8"), np.ones((4, 6)), {}, TypeError, "a (3, 4) int64, b (4, 6) float64: Tessera multiplies"),
        (np.ones((3, 4), ">f8"), np.ones((4, 6)), {}, TypeError, "a (3, 4) >f8, b (4, 6) float64: Tessera multiplies"),
        (np.ones((2, 3, 4)), np.ones((3, 4, 5)), {}, ValueError, "batch dimensions 2 and 3 do not fit"),
        (np.float64(1), np.ones((4, 5)), {}, ValueError, "not a scalar"),
        ([[1.0]], np.ones((1, 1)), {}, TypeError, "a is <class 'list'>, which is no array"),
        ((1, 1), np.ones((1, 1)), {}, TypeError, "a is a shape"),
        (np.ones((2, 2)), np.ones((2, 2)), {"out": np.ones((2, 3))}, ValueError, "out (2, 3) float64 does not have"),
        (np.ones((2, 2)), np.ones((2, 2)), {"out": np.ones((2, 2), "f4")}, TypeError, "out (2, 2) float32 must have the"),
        (np.ones((2, 2)), np.ones((2, 2)), {"c": np.ones((3, 2))}, ValueError, "c (3, 2) float64 does not fit"),
        (np.ones((2, 2)), np.ones((2, 2)), {"c": np.ones((2, 2), "f4")}, TypeError, "c (2, 2) float32 must have the dtype"),
        (np.ones((2, 2)), np.ones((2, 2)), {"beta": 1}, ValueError, "beta is not 0, but there is no c"),
        (np.ones((2, 2)), np.ones((2, 2)), {"kernel": "none"}, ValueError, "a (2, 2) float64, b (2, 2) float64"),
        (np.ones((2, 2)), np.ones((2, 2)), {"device": "tpu"}, ValueError, "tpu"),
        (np.ones((2, 2)), np.ones((2, 2)), {"compute": "f8"}, ValueError, "compute = 'f8' is none of"),
        (np.ones((2, 2)), np.ones((2, 2)), {"threads": -1}, ValueError, "threads is not in 0 to 4096"),
        (np.ones((2, 2)), np.ones((2, 2)), {"threads": 10**30}, ValueError, "threads is too large for a whole number"),
        (np.ones((2, 2)), np.ones((2, 2)), {"kernel": "cpu-tiled\0x"}, ValueError, "holds a null character"),
        (np.ones((2, 2)), np.ones((2, 2)), {"out_dtype": "int64"}, TypeError, "out_dtype = 'int64' is none of"),
        (np.ones((2, 2)), np.ones((2, 2)), {"out_dtype": "f5"}, TypeError, "out_dtype = 'f5' is none of"),
        (np.ones((2, 2)), np.ones((2, 2)), {"gamma": 1}, TypeError, "matmul() has no argument 'gamma'"),
    ],
)
def test_errors_name_the_operands(a, b, options, error, words):
    with pytest.raises(error) as raised:
        tessera.matmul(a, b, **options)
    assert words in str(raised.value)


def test_message_about_compute_names_all():
    with pytest.raises(ValueError, match="is none of") as raised:
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), compute="f8")
    names = re.findall('"([a-z0-9]+)"', str(raised.value))
    assert names == ["default", "f64", "f32", "tf32", "s32", "fast"]
    for name in names:
        try:
            tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), compute=name)
        except (NotImplementedError, ValueError) as error:
            assert "is none of" not in str(error)


def test_a_cpu_sums_in_f32_where_tf32_is_allowed():
    a = np.random.default_rng(1).standard_normal((9, 70)).astype("f4")
    b = np.random.default_rng(2).standard_normal((70, 5)).astype("f4")
    in_f32 = tessera.matmul(a, b, device="cpu")
    np.testing.assert_array_equal(tessera.matmul(a, b, compute="tf32", device="cpu"), in_f32)


def test_read_only_out():
    out = np.zeros((2, 2))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), out)
    np.testing.assert_array_equal(tessera.matmul(out, np.ones((2, 2))), out)


def test_arguments():
    with pytest.raises(TypeError, match="lacks its argument 'b'"):
        tessera.matmul(np.ones((2, 2)))
    with pytest.raises(TypeError, match="at most 3 arguments"):
        tessera.matmul(1, 2, 3, 4)
    with pytest.raises(TypeError, match="two values for 'out'"):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), out=np.ones((2, 2)))


def test_unsupported_is_not_implemented():
    with pytest.raises(NotImplementedError):
        tessera.matmul(np.ones((2, 2), "f4"), np.ones((2, 2), "f4"), kernel="tiled", device="cpu")


# ---- memory and threads ------------------------------------------------------------------------------------------------


def test_no_reference_is_left():
    a, b, out, c = np.ones((3, 4)), np.ones((4, 5)), np.ones((3, 5)), np.ones((3, 5))
    before = [sys.getrefcount(x) for x in (a, b, out, c)]
    for _ in range(50):
        tessera.matmul(a, b, out, c=c)
        tessera.matmul(a[::-1], b[:, ::-1])
        with pytest.raises(ValueError):
            tessera.matmul(a, a)
        tessera.Plan(a, b)(a, b, out)
    gc.collect()
    assert [sys.getrefcount(x) for x in (a, b, out, c)] == before


def test_results_are_freed():
    import tracemalloc

    a = np.ones((100, 100))
    tessera.matmul(a[::-1, ::-1], a)
    tracemalloc.start()
    for _ in range(20):
        tessera.matmul(a[::-1, ::-1], a)
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < 8 * 100 * 100 and peak < 8 * 100 * 100 * 3


def test_other_threads_run_meanwhile():
    """A product of a second or so on one thread; this one must get on with its own work."""
    a = np.ones((800, 800))
    done = threading.Event()

    def multiply():
        tessera.matmul(a, a, kernel="cpu-sequential")
        done.set()

    def ticks():
        count, end = 0, time.monotonic() + 0.2
        while time.monotonic() < end and not done.is_set():
            time.sleep(0.002)
            count += 1
        return count

    thread = threading.Thread(target=multiply)
    thread.start()
    counted = ticks()
    thread.join()
    assert counted >= 5  # a busy machine; with the GIL held it would be 1


def slow_call(which):
    """A call of some ten milliseconds; few multiplications, or none before a copy is made."""
    if which == "k = 0":
        nothing = np.zeros((3000, 0), "f4"), np.zeros((0, 3000), "f4")
        return lambda: tessera.matmul(*nothing)
    if which == "copy":
        gaps, vector = np.ones((4000, 4000), "f4")[::2, ::2].T, np.ones(2000, "f4")
        return lambda: tessera.matmul(gaps, vector)
    ones = np.ones((40, 40), "f4")
    if which == "emulator":
        return lambda: tessera.matmul(ones, ones, device="emu", kernel="naive")
    plan = tessera.Plan(ones, ones, device="emu", kernel="naive")
    return lambda: plan(ones, ones)


def runs_during(call, first, last, seconds=20):
    """Whether this thread has a turn while another one makes the call, between these shares of what that one computes.

    The interval of turns is beyond the test's end, so that no thread gives up the GIL unless it lets go of it by
    itself: a turn that this thread has within the call is one that the call gave, on however busy a machine. There it
    may have no processor at that time, so the call is made again and again.
    """
    within, turns, calls, over = [], [], [], []

    def multiply():
        while not over:
            start = time.thread_time()
            within.append(True)
            call()
            within.clear()
            calls.append((start, time.thread_time()))
            time.sleep(1e-3)  # a turn for the other thread

    def is_within(turn):
        return any(s + (e - s) * first <= turn <= s + (e - s) * last for s, e in calls)

    thread = threading.Thread(target=multiply)
    thread.start()
    computed = time.pthread_getcpuclockid(thread.ident)
    end, found = time.monotonic() + seconds, False
    while not found and thread.is_alive() and time.monotonic() < end:
        time.sleep(2e-4)
        if within:
            turns.append(time.clock_gettime(computed))
        else:
            found = any(is_within(turn) for turn in turns)
            turns.clear()
            calls.clear()
    over.append(True)
    thread.join()
    return found


@pytest.mark.parametrize("which", ["k = 0", "copy", "emulator", "emulator's plan"])
def test_other_threads_run_during(which):
    try:
        call = slow_call(which)
        call()
    except (tessera.Error, NotImplementedError):
        pytest.skip("this build has no emulator")
    # Behind the copy there is a product, for a tenth of the time.
    first, last = (0.15, 0.4) if which == "copy" else (0, 1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        assert runs_during(call, first, last)
    finally:
        sys.setswitchinterval(interval)


def test_many_threads():
    random = np.random.default_rng(5)
    operands = [random.integers(-4, 5, (2, n, n)).astype("f4") for n in range(1, 60, 3)]
    failures = []

    def work():
        for _ in range(20):
            for a, b in operands:
                if not np.array_equal(tessera.matmul(a, b.T), a @ b.T):
                    failures.append(a.shape)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_other_exporters_of_buffers():
    rows = ((ctypes.c_double * 2) * 2)((1, 2), (3, 4))  # gives no strides
    np.testing.assert_array_equal(tessera.matmul(rows, np.eye(2)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tessera.matmul((ctypes.c_float * 3)(1, 2, 3), np.ones((3, 2), "f4")), [6, 6])


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8"))
def test_batches_of_packed_records(dtype):
    records = np.zeros(5, dtype=[("tag", "u1"), ("matrix", dtype, (8, 8)), ("last", "u1", (2,))])
    inside = records["matrix"]
    inside[...] = np.arange(64).reshape(8, 8) % 7
    eye = np.eye(8, dtype=dtype)
    same(tessera.matmul(np.array(inside), eye), np.array(inside))
    same(tessera.matmul(inside, eye), np.array(inside))
    same(tessera.matmul(eye, inside, c=inside), 2 * np.array(inside))
    wanted = np.array(inside) + 1
    assert tessera.matmul(wanted, eye, inside) is inside
    np.testing.assert_array_equal(inside, wanted)
    assert not records["tag"].any() and not records["last"].any()


@pytest.mark.parametrize("key", (None, b"c", 7, NotImplemented))
def test_keywords_that_are_no_names(key):
    with pytest.raises(TypeError, match="has no argument"):
        tessera.Plan((2, 2), (2, 2), **{key: 2})
    with pytest.raises(TypeError, match="has no argument"):
        tessera.Plan((2, 2), (2, 2), dtype="f4")(np.ones((2, 2), "f4"), np.ones((2, 2), "f4"), **{key: 2})


def test_odd_shapes_and_numbers_are_named():
    for shapes, error, text in (
        (((2**31, 2**31, 2, 2), (2**31, 2**31, 2, 2)), ValueError, r"a has more than 2\^63 - 1 bytes"),
        (((2**61, 2), (2, 2**61)), ValueError, r"a has more than 2\^63 - 1 bytes"),
        (((2**40, 2), (2, 2**40)), ValueError, r"the result has more than 2\^63 - 1 bytes"),
        (((10**30, 2), (2, 2)), ValueError, "a: dimension 1000.* is beyond 64 bits"),
        (((2, 2), (2.0, 2)), TypeError, "b: dimension 2.0 is no whole number"),
    ):
        with pytest.raises(error, match=text):
            tessera.Plan(*shapes, dtype="f4", device="cpu")
    with pytest.raises(TypeError, match=r"b has the dtype datetime64\[s\], of which"):
        tessera.matmul(np.ones((2, 2)), np.zeros((2, 2), "M8[s]"))
    with pytest.raises(ValueError, match="alpha is too large for a number"):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), alpha=10**400)
    with pytest.raises(ValueError, match="device '' is none of"):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), device="")


def test_a_shape_of_c_has_the_results_dtype():
    for dtype, out_dtype, wanted in (("int8", None, "int32"), ("float16", "float32", "float32"), ("f4", None, "float32")):
        plan = tessera.Plan((6, 7), (7, 8), c=(6, 8), dtype=dtype, out_dtype=out_dtype)
        a, b, c = np.ones((6, 7), dtype), np.ones((7, 8), dtype), np.ones((6, 8), wanted)
        same(plan(a, b, c=c), np.full((6, 8), 8, wanted))
        assert tessera.route((6, 7), (7, 8), c=(6, 8), dtype=dtype, out_dtype=out_dtype)


def test_a_limit_of_threads_ends_with_its_block():
    assert tessera._core.thread_limit() == 0
    with tessera.threads(1):
        with tessera.threads(2):
            assert tessera._core.thread_limit() == 2
        assert tessera._core.thread_limit() == 1
    assert tessera._core.thread_limit() == 0
    with pytest.raises(ValueError):
        tessera.set_threads(10**30)


def test_threads_are_limited():
    before = tessera.get_threads()
    with tessera.threads(1):
        assert tessera.get_threads() == 1
    assert tessera.get_threads() == before
    with pytest.raises(ValueError, match="4,?096"):
        tessera.set_threads(5000)


def test_batch_invariant():
    random = np.random.default_rng(6)
    a, b = random.standard_normal((30, 500)).astype("f4"), random.standard_normal((500, 20)).astype("f4")
    whole = tessera.matmul(a, b, batch_invariant=True)
    for rows in (1, 7):
        np.testing.assert_array_equal(tessera.matmul(a[:rows], b, batch_invariant=True), whole[:rows])
