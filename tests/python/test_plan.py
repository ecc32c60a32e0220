import ast
import inspect
import os

import arrays
import numpy as np
import pytest
from hypothesis import assume, given

import tessera


@given(arrays.products())
def test_plan_gives_what_matmul_gives(operands):
    a, b = operands
    try:
        plan = tessera.Plan(a, b)
    except ValueError as error:
        assert "would need a copy" in str(error)
        assume(False)
    np.testing.assert_array_equal(plan(a, b), np.matmul(a, b))
    assert plan.dtype == a.dtype.name


def test_plan_of_shapes():
    plan = tessera.Plan((6, 7), (7, 8), dtype=np.float32)
    assert plan.device == "auto" and plan.kernel == "cpu_tiled_f32" and plan.workspace_bytes == 0
    a, b = np.ones((6, 7), "f4"), np.ones((7, 8), "f4")
    assert (plan(a, b) == 7).all()
    out = np.zeros((6, 8), "f4")
    assert plan(a, b, out, alpha=2) is out and (out == 14).all()
    assert (plan(a, b, c=out) == 21).all()
    plan(a, b, out, beta=-1)
    assert (out == -7).all()


@pytest.mark.parametrize(
    "a, b, out",
    [
        (np.ones((6, 8), "f4"), np.ones((8, 8), "f4"), None),
        (np.ones((6, 7)), np.ones((7, 8)), None),
        (np.ones((7, 6), "f4").T, np.ones((7, 8), "f4"), None),
        (np.ones((6, 7), "f4"), np.ones((7, 9), "f4")[:, :8], None),
        (np.ones((6, 7), "f4"), np.ones((7, 8), "f4"), np.ones((8, 6), "f4").T),
        (np.ones((6, 7), "f4"), np.ones((7, 8), "f4"), np.ones((6, 16), "f4")[:, ::2]),
    ],
)
def test_plan_refuses_what_it_was_not_made_for(a, b, out):
    plan = tessera.Plan((6, 7), (7, 8), dtype="float32")
    with pytest.raises((ValueError, TypeError), match="that the plan was made for|must have the dtype"):
        plan(a, b, out)


@pytest.mark.parametrize("shape", [(6, 9), (48,), (1, 6, 8), ()])
def test_plan_refuses_a_shape_of_out(shape):
    plan = tessera.Plan((6, 7), (7, 8), (6, 8), dtype="float32")
    told = repr(shape).replace("(", r"\(").replace(")", r"\)")
    both = r"^a \(6, 7\) float32, b \(7, 8\) float32"
    message = rf"{both}: out {told} float32 does not have the result's shape, \(6, 8\)$"
    with pytest.raises(ValueError, match=message):
        tessera.Plan((6, 7), (7, 8), shape, dtype="float32")
    with pytest.raises(ValueError, match=message):
        plan(np.ones((6, 7), "f4"), np.ones((7, 8), "f4"), np.ones(shape, "f4"))


def test_plan_of_layouts():
    a, b, out = np.ones((7, 6)).T, np.ones((7, 16))[:, :8], np.zeros((8, 6)).T
    plan = tessera.Plan(a, b, out)
    assert plan(a, b, out) is out and (out == 7).all()
    with pytest.raises(ValueError, match="that the plan was made for"):
        plan(a, b)
    with pytest.raises(ValueError, match="a lies in memory in a way that would need a copy"):
        tessera.Plan(np.ones((6, 14))[:, ::2], b)


def test_plan_of_a_c_of_its_own():
    a, b, c = np.ones((6, 7)), np.ones((7, 8)), np.ones((6, 20))[:, :8]
    plan = tessera.Plan(a, b, c=c)
    assert (plan(a, b, c=c) == 8).all()
    with pytest.raises(ValueError, match="lies in another way"):
        plan(a, b, np.zeros((6, 8)), beta=1)


def test_plan_of_several_products():
    """A batch that no stride describes: the plan's c may be another than the example's, which was out."""
    random = np.random.default_rng(2)
    a, b, c = (random.integers(-4, 5, shape).astype("f4") for shape in ((2, 1, 4, 5), (3, 5, 6), (2, 3, 4, 6)))
    plan = tessera.Plan(a, b)
    np.testing.assert_array_equal(plan(a, b, c=c), a @ b + c)
    out = c.copy()
    np.testing.assert_array_equal(plan(a, b, out, c=out, beta=-1), a @ b - c)
    plan = tessera.Plan(a, b, c=c[0])
    np.testing.assert_array_equal(plan(a, b, c=c[0]), a @ b + c[0])
    np.testing.assert_array_equal(plan(a, b), a @ b)


def test_plan_of_several_products_in_place():
    memory = np.arange(4.0 * 8 * 8).reshape(4, 8, 8)
    b, before = np.eye(8) + 1, memory.copy()
    plan = tessera.Plan(memory, b, memory[::-1])
    with pytest.raises(ValueError, match="several products, so out must share no element with a, b or c"):
        plan(memory, b, memory[::-1])
    np.testing.assert_array_equal(memory, before)
    pairs = np.arange(3.0 * 2 * 8 * 8).reshape(3, 2, 8, 8)  # operands that interleave share nothing
    a, out = pairs[::-1, 0], pairs[:, 1]
    wanted = a @ b
    np.testing.assert_array_equal(tessera.Plan(a, b, out)(a, b, out), wanted)


def test_plan_forces_a_kernel():
    assert tessera.Plan((9, 9), (9, 9), dtype="f8" if False else "float64", kernel="cpu-sequential").kernel == "cpu_sequential_f64"
    with pytest.raises(ValueError):
        tessera.Plan((9, 9), (9, 9), dtype="float64", kernel="unheard-of")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_prepared(operand, order, dtype):
    random = np.random.default_rng(1)
    weights = np.asarray(random.integers(-4, 5, (130, 140)).astype(dtype), order=order)
    packed = tessera.prepare(weights, operand=operand)
    assert packed.shape == (130, 140) and packed.dtype == dtype and packed.operand == operand
    for rows in (1, 5, 200):
        if operand == "b":
            x = random.integers(-4, 5, (rows, 130)).astype(dtype)
            got, wanted = tessera.matmul(x, packed), x @ weights
        else:
            x = random.integers(-4, 5, (140, rows)).astype(dtype)
            got, wanted = tessera.matmul(packed, x), weights @ x
        np.testing.assert_array_equal(got, wanted)
        out = np.empty(wanted.shape[::-1], dtype).T
        tessera.matmul(*((x, packed) if operand == "b" else (packed, x)), out)
        np.testing.assert_array_equal(out, wanted)


def test_both_operands_prepared():
    a, b = (np.random.default_rng(n).integers(-4, 5, (64, 64)).astype("f4") for n in range(2))
    x, y = tessera.prepare(a, operand="a"), tessera.prepare(b)
    for got in (tessera.matmul(x, y), tessera.matmul(x, y, np.empty((64, 64), "f4")), tessera.Plan(x, y)(x, y)):
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, a @ b)
    with pytest.raises(TypeError, match=r"a \(64, 64\) float32, b \(64, 64\) float32: out \(1,\) float64 must have"):
        tessera.matmul(x, y, np.ones(1))


def test_prepared_in_a_plan_outlives_its_array():
    weights = np.ones((64, 64), "f4")
    packed = tessera.prepare(weights)
    weights[:] = 5
    x = np.ones((3, 64), "f4")
    plan = tessera.Plan(x, packed)
    assert (plan(x, packed) == 64).all()
    with pytest.raises(ValueError, match="that the plan was made for"):
        plan(x, weights)


def test_prepare_refuses():
    with pytest.raises(ValueError, match=r"operand \(3,\) float64: a matrix in host memory"):
        tessera.prepare(np.ones(3))
    with pytest.raises(ValueError, match="this operand was prepared as b"):
        tessera.matmul(tessera.prepare(np.ones((64, 64))), np.ones((64, 64)))
    with pytest.raises(ValueError, match='operand is "a" or "b"'):
        tessera.prepare(np.ones((64, 64)), operand="c")
    with pytest.raises(TypeError):
        tessera.Prepared()


def test_route():
    route = tessera.route((512, 768), (768, 256), dtype="float32")
    assert route.chosen.applicable and route.chosen is route[0]
    assert {one.kernel for one in route} >= {"cpu_tiled_f32", "cpu_sequential_f32"}
    assert all(one.reason for one in route if not one.applicable)
    assert route.chosen.kernel in str(route) and route.chosen.kernel in route._repr_html_()
    forced = tessera.route(np.ones((4, 4)), np.ones((4, 4)), kernel="cpu-sequential")
    assert forced.chosen.kernel == "cpu_sequential_f64"


def test_route_without_a_kernel():
    route = tessera.route((4, 4), (4, 4), dtype="float32", kernel="tiled", device="cpu")
    assert len(route) > 1 and not any(one.applicable for one in route)
    with pytest.raises(LookupError, match="no kernel does this product"):
        route.chosen


def test_kernels():
    names = {kernel.instance for kernel in tessera.kernels()}
    assert {"cpu_tiled_f32", "cpu_tiled_bf16"} <= names
    assert len(names) == len(tessera.kernels())


def test_stubs_name_what_there_is():
    with open(os.path.join(os.path.dirname(tessera.__file__), "__init__.pyi")) as file:
        tree = ast.parse(file.read())
    declared = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert set(declared) == set(tessera.__all__) - {"__version__"}
    for name, node in declared.items():
        real = getattr(tessera, name)
        assert inspect.getdoc(real), name
        if isinstance(node, ast.FunctionDef):
            arguments = [arg.arg for arg in node.args.args + node.args.kwonlyargs]
            told = [p.name for p in inspect.signature(real).parameters.values() if p.kind != p.VAR_KEYWORD]
            assert told == arguments or (name == "route" and told == ["a", "b"]), name


def test_route_on_a_gpu_that_need_not_be_here():
    for dtype in ("float32", "f4", np.float32):
        route = tessera.route((512, 768), (768, 256), dtype=dtype, device="h200")
        assert route.chosen.device == "h200" and route[0] is route.chosen and route.chosen.cost_ns > 0
    assert tessera.route((3, 64, 64), (3, 64, 64), dtype="e4m3", device="h100").chosen
    assert any("computes f16" in one.reason for one in route)
    assert "h200" in str(route)
    with pytest.raises(tessera.CommandError, match="h201"):
        tessera.route((6, 7), (7, 8), dtype="f4", device="h201")
    with pytest.raises(TypeError, match=r"on device 'h200' takes dtype, out_dtype and compute, not kernel"):
        tessera.route((6, 7), (7, 8), dtype="f4", device="h200", kernel="tiled")
    with pytest.raises(TypeError, match="takes the shapes of a and b"):
        tessera.route(np.ones((6, 7)), np.ones((7, 8)), device="h200")
    with pytest.raises(TypeError, match="shapes need dtype="):
        tessera.route((6, 7), (7, 8), device="h200")
    for a, b in (((6, 7), (8, 9)), ((6,), (6,)), ((2, 6, 7), (7, 8)), ((2, 6, 7), (3, 7, 8))):
        with pytest.raises(ValueError, match="not the shapes of a product"):
            tessera.route(a, b, dtype="f4", device="h200")


@pytest.mark.parametrize(
    "name, meant", [("f2", "float16"), ("f4", "float32"), ("single", "float32"), ("f8", "float64"), ("f64", "float64")]
)
def test_dtype_has_numpys_short_names(name, meant):
    assert tessera.Plan((6, 7), (7, 8), dtype=name).dtype == meant


@pytest.mark.parametrize("name, meant", [("i1", "int8"), ("u1", "uint8")])
def test_8_bit_dtype_has_numpys_short_names(name, meant):
    short = tessera.Plan((6, 7), (7, 8), dtype=name, out_dtype="i4")
    assert repr(short) == repr(tessera.Plan((6, 7), (7, 8), dtype=meant, out_dtype="int32"))


def test_arguments_of_a_wrong_type_are_named():
    a = np.ones((3, 3))
    with pytest.raises(TypeError, match="^alpha must be a number, not str$"):
        tessera.matmul(a, a, alpha="x")
    with pytest.raises(TypeError, match="^beta must be a number, not list$"):
        tessera.matmul(a, a, a.copy(), beta=[1])
    with pytest.raises(TypeError, match="^threads must be a whole number, not float$"):
        tessera.matmul(a, a, threads=1.5)
