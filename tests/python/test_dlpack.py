import sys
import types

import numpy as np
import pytest
from hypothesis import given
from tensors import BFLOAT16, E4M3FN, E5M2, Tensor

import arrays
import tessera


def test_a_copy_takes_no_result():
    class Copying(Tensor):
        def __dlpack__(self, **options):
            mine, self.array = self.array, self.array.copy()
            self.copy = self.array
            capsule = super().__dlpack__(**options)
            self.array = mine
            self._kept[2].flags |= 2
            return capsule

    with pytest.raises(ValueError, match="out comes by DLPack as a copy"):
        tessera.matmul(np.ones((2, 2)), np.ones((2, 2)), Copying(np.zeros((2, 2))))
    np.testing.assert_array_equal(tessera.matmul(Copying(np.ones((2, 2))), np.ones((2, 2))), np.full((2, 2), 2.0))


def test_no_capsule_is_named():
    class Broken(Tensor):
        def __dlpack__(self, **options):
            return 7

    with pytest.raises(TypeError, match="a: __dlpack__ returned no DLPack capsule"):
        tessera.matmul(Broken(np.ones((2, 2))), np.ones((2, 2)))



@given(arrays.products())
def test_any_layout(operands):
    a, b = (x.copy(order="K") if x.ctypes.data % x.itemsize else x for x in operands)  # DLPack tells whole elements
    x, y = Tensor(a), Tensor(b, version=0)
    out = np.zeros(np.matmul(a, b).shape, a.dtype)
    tessera.matmul(x, y, out)
    np.testing.assert_array_equal(out, np.matmul(a, b))
    assert x.alive == y.alive == 0


@pytest.mark.parametrize("version", [0, 1])
def test_out_is_written_where_it_lies(version):
    memory = np.zeros((4, 6), "f4")
    out = Tensor(memory[:, :3], version=version)
    assert tessera.matmul(np.ones((4, 5), "f4"), np.ones((5, 3), "f4"), out) is out
    assert (memory[:, :3] == 5).all() and (memory[:, 3:] == 0).all()
    assert out.alive == 0


def test_tight_strides_and_offset():
    a = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(tessera.matmul(Tensor(a, tight=True, lead=48), np.eye(4)), a)


def test_bfloat16():
    bits = np.full((3, 3), 0x3F80, np.uint16)  # ones
    out = np.zeros((3, 3), np.uint16)
    tessera.matmul(Tensor(bits, code=BFLOAT16), Tensor(bits, code=BFLOAT16), Tensor(out, code=BFLOAT16))
    assert (out == 0x4040).all()  # threes
    f32 = np.zeros((3, 3), "f4")
    with pytest.raises(TypeError, match=r"out \(3, 3\) float32 must have the dtype bfloat16"):
        tessera.matmul(Tensor(bits, code=BFLOAT16), Tensor(bits, code=BFLOAT16), f32)


def test_types_of_8_bits():
    """Floats mix with each other, integers too, but not one kind with the other; results are wider."""
    e4m3, e5m2 = Tensor(np.full((3, 3), 0x38, "u1"), code=E4M3FN), Tensor(np.full((3, 3), 0x3C, "u1"), code=E5M2)
    for x, y in ((e4m3, e5m2), (e5m2, e4m3), (e4m3, e4m3)):
        got = tessera.matmul(x, y, c=np.ones(3, "f4"))
        assert got.dtype == np.float32 and (got == 4).all()
    signed, unsigned = np.full((3, 3), -1, "i1"), np.full((3, 3), 255, "u1")
    for x, y in ((signed, unsigned), (unsigned, signed)):
        got = tessera.matmul(x, y)
        assert got.dtype == np.int32 and (got == -765).all()
    for x, y in ((signed, e4m3), (e5m2, unsigned)):
        with pytest.raises(ValueError, match="must be that of A"):
            tessera.matmul(x, y)


def test_refusals():
    a = np.ones((2, 2))
    with pytest.raises(TypeError, match="a lies on a device of DLPack's type 8"):
        tessera.matmul(Tensor(a, device=(8, 0)), a)
    with pytest.raises(BufferError, match="DLPack 2.0"):
        tessera.matmul(Tensor(a, major=2), a)
    with pytest.raises(ValueError, match="out is read-only"):
        tessera.matmul(a, a, Tensor(np.ones((2, 2)), read_only=True))
    with pytest.raises(TypeError, match=r"a \(2, 2\) of another dtype, b \(2, 2\) float64"):
        tessera.matmul(Tensor(a.astype(bool)), a)
    with pytest.raises(ValueError, match="b does not lie where the others do"):
        tessera.matmul(a, Tensor(a, device=(2, 0)))
    with pytest.raises(ValueError, match='device = "cpu", but the operands lie on cuda:3'):
        tessera.matmul(Tensor(a, device=(2, 3)), Tensor(a, device=(2, 3)), device="cpu")
    assert tessera.matmul(Tensor(a, device=(3, 0)), a, np.zeros((2, 2))).sum() == 8  # pinned host memory


def test_without_that_gpu_the_error_says_so():
    a = Tensor(np.ones((2, 2)), device=(2, 77))
    with pytest.raises(tessera.Error, match="cuda:77|libcuda"):
        tessera.matmul(a, a, Tensor(np.ones((2, 2)), device=(2, 77)))
    assert a.alive == 0


@pytest.mark.parametrize("library", ["torch", "torch.nn.parameter", "jaxlib.xla_extension"])
def test_results_of_derived_classes(monkeypatch, library):
    """The class of an operand may be the program's own: what it derives from says which library makes the result."""
    base = type("Base", (Tensor,), {"__module__": library})
    derived = type("Derived", (base,), {"__module__": "program"})
    made = Tensor(np.zeros((2, 2), "f4"))
    name = library.partition(".")[0]
    stub = types.SimpleNamespace(float32="torch.float32", empty=lambda shape, dtype, device: made)
    stub.numpy = types.SimpleNamespace(asarray=lambda out: made)
    monkeypatch.setitem(sys.modules, "jax" if name == "jaxlib" else name, stub)
    for kind in (base, derived):
        x = kind(np.ones((2, 2), "f4"))
        assert tessera.matmul(x, x) is made
        assert tessera.Plan(x, x)(x, x) is made


def test_arrays_of_derived_classes():
    class Derived(np.ndarray):
        pass

    a = np.arange(6.0).reshape(2, 3).view(Derived)
    np.testing.assert_array_equal(tessera.matmul(a, a.T), np.asarray(a) @ np.asarray(a).T)
    np.testing.assert_array_equal(tessera.matmul(a[0], a[1]), 14)


def test_torch():
    torch = pytest.importorskip("torch")
    a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    b = torch.ones(5, 4).T
    result = tessera.matmul(a, b)
    assert isinstance(result, torch.Tensor) and torch.equal(result, a @ b)
    half = tessera.matmul(a.bfloat16(), b.bfloat16())
    assert half.dtype == torch.bfloat16 and torch.equal(half, a.bfloat16() @ b.bfloat16())
    out = torch.zeros(3, 5)
    assert tessera.matmul(a, b, out, c=torch.ones(5)) is out and torch.equal(out, a @ b + 1)
    assert torch.equal(tessera.Plan(a, b)(a, b), a @ b)
    with pytest.raises((RuntimeError, BufferError)):
        tessera.matmul(a.requires_grad_(), b)


def test_torch_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        a, b = (torch.randint(-3, 4, (300, 300), device="cuda").to(dtype) for _ in range(2))
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for x, y in ((a, b), (a.T, b), (a, b.T), (a[:77, :99], b[:99, 5:130]), (a[:, ::2], b[::2])):
                assert torch.equal(tessera.matmul(x, y), x @ y)
    stack = torch.randint(-3, 4, (7, 40, 50), device="cuda").float()
    assert torch.equal(tessera.matmul(stack, stack.transpose(1, 2)), stack @ stack.transpose(1, 2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_jax_on_a_gpu(dtype):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("no GPU")
    a, b = (jax.random.randint(jax.random.key(i), (300, 300), -3, 4).astype(dtype) for i in range(2))
    for x, y in ((a, b), (a[:77, :99], b[:99, 5:130]), (a, b.T)):
        result = tessera.matmul(x, y)
        assert isinstance(result, jax.Array) and result.devices() == a.devices() and result.dtype == a.dtype
        assert (result == x @ y).all()
    assert (tessera.Plan(a, b)(a, b) == a @ b).all()
    c = tessera.matmul(a, b)
    for _ in range(20):  # a result is there when the call returns, and no other has its memory
        a = a + 1
        assert (tessera.matmul(a, b) == a @ b).all()
    assert (c == tessera.matmul(a - 20, b)).all()


def test_jax():
    jax = pytest.importorskip("jax")
    a = jax.numpy.arange(12, dtype="float32").reshape(3, 4)
    b = jax.numpy.ones((4, 5), "float32")
    result = tessera.matmul(a, b)
    assert isinstance(result, jax.Array) and (result == a @ b).all()
    half = tessera.matmul(a.astype("bfloat16"), b.astype("bfloat16"))
    assert half.dtype == jax.numpy.bfloat16
