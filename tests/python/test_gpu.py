"""Operands in GPU memory, on a driver that only pretends: FAKE_GPU is the library that brings it. Its device memory is
host memory, and its launches multiply there."""

import contextlib
import ctypes
import os
import sys
import types

import numpy as np
import pytest
from tensors import Tensor

import tessera

GPU = (2, 0)
KERNEL = {"kernel": "tiled_f32_t16"}


@pytest.fixture(scope="module")
def fake():
    path = os.environ.get("FAKE_GPU")
    if not path:
        pytest.skip("no driver that pretends: FAKE_GPU is not set")
    if not any(kernel.has_device_code for kernel in tessera.kernels()):
        pytest.skip("this build has no device code")
    library = ctypes.CDLL(path)
    library.fake_gpu_stream.restype = ctypes.c_void_p
    library.fake_gpu_workspace.restype = ctypes.c_void_p
    library.fake_gpu_number.restype = ctypes.c_longlong
    assert library.fake_gpu_start(1) == 1
    yield library
    assert library.fake_gpu_number(b"errors") == 0


def on_gpu(array, **options):
    return Tensor(array, device=GPU, **options)


def integers(*shape):
    return np.random.default_rng(len(shape)).integers(-4, 5, shape).astype("f4")


@pytest.mark.parametrize(
    "a, b, out",
    [
        (integers(33, 20), integers(20, 17), np.zeros((33, 17), "f4")),
        (integers(20, 33).T, integers(20, 40)[:, 3:20], np.zeros((33, 30), "f4")[:, 1:18]),
        (integers(33, 20), integers(17, 20).T, np.zeros((17, 33), "f4").T),
        (integers(5, 33, 20), integers(20, 17), np.zeros((5, 33, 17), "f4")),
        (integers(2, 5, 33, 20), integers(5, 20, 17), np.zeros((2, 5, 33, 17), "f4")),
        (integers(20), integers(20, 17), np.zeros(17, "f4")),
    ],
)
def test_products(fake, a, b, out):
    x, y, d = on_gpu(a), on_gpu(b, version=0), on_gpu(out)
    assert tessera.matmul(x, y, d, **KERNEL) is d
    np.testing.assert_array_equal(out, a @ b)
    tessera.matmul(x, y, d, alpha=2, beta=-1, **KERNEL)
    np.testing.assert_array_equal(out, a @ b)
    tessera.matmul(x, y, d, c=d, **KERNEL)
    np.testing.assert_array_equal(out, 2 * (a @ b))
    assert x.alive == y.alive == d.alive == 0


def test_default_stream(fake):
    x, d = on_gpu(integers(16, 16)), on_gpu(np.zeros((16, 16), "f4"))
    tessera.matmul(x, x, d, **KERNEL)
    assert x.streams == [1, 1] and d.streams == [1]  # DLPack's number of the default stream
    assert fake.fake_gpu_stream() is None


def test_the_callers_stream(fake):
    x, d = on_gpu(integers(16, 16)), on_gpu(np.zeros((16, 16), "f4"))
    before = fake.fake_gpu_number(b"synchronizes")
    tessera.matmul(x, x, d, stream=0x5550, **KERNEL)
    tessera.Plan(x, x, d, **KERNEL)(x, x, d, stream=0x5550)
    assert x.streams[:2] == [0x5550, 0x5550] and d.streams[0] == 0x5550
    assert fake.fake_gpu_stream() == 0x5550
    assert fake.fake_gpu_number(b"synchronizes") == before, "operands of a GPU are not waited for"


def test_layouts_that_no_kernel_reads(fake):
    x, d = on_gpu(integers(16, 32)[:, ::2]), on_gpu(np.zeros((16, 16), "f4"))
    with pytest.raises(ValueError, match="must be contiguous"):
        tessera.matmul(x, d, d, **KERNEL)
    y = on_gpu(integers(16, 16))
    with pytest.raises(ValueError, match="out lies on a GPU with gaps"):
        tessera.matmul(y, y, on_gpu(np.zeros((16, 32), "f4")[:, ::2]), **KERNEL)
    with pytest.raises(ValueError, match="out lies on a GPU with gaps both in rows and in columns, or shares elements"):
        tessera.matmul(y, d, d, **KERNEL)
    with pytest.raises(ValueError, match="c lies on a GPU in another way than out"):
        tessera.matmul(y, y, d, c=on_gpu(integers(16)), **KERNEL)
    with pytest.raises(ValueError, match="c does not lie where the others do"):
        tessera.matmul(y, y, d, c=integers(16, 16), **KERNEL)


class TorchTensor(Tensor):
    """As torch's: it makes copies, on the stream that is current."""

    __module__ = "torch"
    copies = []  # the stream of each

    def clone(self, memory_format):
        assert memory_format == "tight"
        self.copies.append(sys.modules["torch"].cuda.current_stream(self.device).cuda_stream)
        return TorchTensor(self.array.copy(order="C"), device=self.device)


class TorchTensorWithoutCopies(TorchTensor):  # of this module, as users derive classes
    def clone(self, memory_format):
        return self


@pytest.fixture
def torch(monkeypatch):
    """What the package asks torch for. 0x10 is the stream on which torch works."""
    streams = [types.SimpleNamespace(cuda_stream=0x10)]

    @contextlib.contextmanager
    def stream(one):
        streams.append(one)
        yield
        streams.pop()

    cuda = types.SimpleNamespace(
        stream=stream,
        current_stream=lambda device: streams[-1],
        default_stream=lambda device: types.SimpleNamespace(cuda_stream=0),
        ExternalStream=lambda number, device: types.SimpleNamespace(cuda_stream=number),
    )
    torch = types.SimpleNamespace(cuda=cuda, contiguous_format="tight")
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.mark.parametrize("stream", [None, 0x5550, 0x10, 0])
def test_an_operand_is_copied_on_the_stream_that_reads_it(fake, torch, stream):
    a, b, out = integers(16, 32)[:, ::2], integers(16, 16), np.zeros((16, 16), "f4")
    TorchTensor.copies.clear()
    x, y, d = (TorchTensor(array, device=GPU) for array in (a, b, out))
    tessera.matmul(x, y, d, stream=stream, **KERNEL)
    np.testing.assert_array_equal(out, a @ b)
    tessera.matmul(y, x, d, stream=stream, **KERNEL)
    np.testing.assert_array_equal(out, b @ a)
    used = 0x10 if stream is None else stream
    assert TorchTensor.copies == [used, used] and (fake.fake_gpu_stream() or 0) == used


def test_a_copy_that_no_kernel_reads_either(fake, torch):
    x = TorchTensorWithoutCopies(integers(16, 32)[:, ::2], device=GPU)
    y, d = on_gpu(integers(16, 16)), on_gpu(np.zeros((16, 16), "f4"))
    with pytest.raises(ValueError, match="a lies on a GPU, and its library's copy has no tight rows"):
        tessera.matmul(x, y, d, **KERNEL)


@pytest.mark.parametrize("which", ["a", "b", "c", "out"])
def test_misaligned_elements(fake, torch, which):
    """NumPy's are copied; on a GPU no kernel could read them."""
    memory = np.zeros(16 * 16 * 4 + 1, np.uint8)
    arrays = {name: integers(16, 16) for name in ("a", "b", "c", "out")}
    arrays[which] = np.frombuffer(memory, "f4", offset=1).reshape(16, 16)
    tensors = {name: TorchTensor(array, device=GPU) for name, array in arrays.items()}
    with pytest.raises(ValueError, match=f"float32: {which} has elements at addresses on a GPU that are not multiples"):
        tessera.matmul(**tensors, **KERNEL)


def test_a_result_needs_memory_of_the_operands_library(fake):
    x = on_gpu(integers(16, 16))
    with pytest.raises(TypeError, match="out= is needed"):
        tessera.matmul(x, x, **KERNEL)


class JaxArray(Tensor):
    """As JAX's: it does not work on a CUDA stream that others see."""

    __module__ = "jax"

    def block_until_ready(self):
        return self


@pytest.fixture
def jax(monkeypatch):
    zeros = lambda shape, dtype, device: JaxArray(np.zeros(shape, dtype), device=device, tight=True)
    module = types.SimpleNamespace(numpy=types.SimpleNamespace(zeros=zeros, asarray=lambda array: array))
    monkeypatch.setitem(sys.modules, "jax", module)


def test_jax_makes_results(fake, jax):
    a, b = integers(33, 20), integers(20, 17)
    x, y = JaxArray(a, device=GPU), JaxArray(b, device=GPU)
    for product in (lambda: tessera.matmul(x, y, **KERNEL), lambda: tessera.Plan(x, y, **KERNEL)(x, y)):
        d = product()
        assert isinstance(d, JaxArray)
        np.testing.assert_array_equal(d.array, a @ b)


@pytest.mark.parametrize("which", ["a", "b", "c", "out", None])
def test_a_product_with_an_array_of_jax_is_waited_for(fake, jax, which):
    kinds = {name: JaxArray if name == which else Tensor for name in ("a", "b", "c", "out")}
    tensors = {name: kind(integers(16, 16), device=GPU) for name, kind in kinds.items()}
    before = fake.fake_gpu_number(b"synchronizes")
    tessera.matmul(**tensors, **KERNEL)
    assert (fake.fake_gpu_number(b"synchronizes") > before) == (which is not None)


def test_an_empty_stack_of_jax(fake, jax):
    x, y = (JaxArray(np.zeros(shape, "f4"), device=GPU, tight=True) for shape in ((0, 4, 5), (0, 5, 3)))
    assert tessera.Plan(x, y, **KERNEL)(x, y).array.shape == (0, 4, 3)


def test_one_workspace_for_a_stream(fake):
    fake.fake_gpu_start(0)
    a, b, d = on_gpu(integers(32, 8192)), on_gpu(integers(8192, 32)), on_gpu(np.zeros((32, 32), "f4"))
    plan = tessera.Plan(a, b, d, kernel="stream-k")
    assert plan.workspace_bytes > 0
    before = fake.fake_gpu_number(b"allocations")
    seen = set()
    for stream in (0x70, 0x70, 0x80, 0x70):
        plan(a, b, d, stream=stream)
        seen.add((stream, fake.fake_gpu_workspace()))
    assert len(seen) == 2 and all(workspace for _, workspace in seen)
    assert fake.fake_gpu_number(b"allocations") == before + 2
    fake.fake_gpu_start(1)


def test_a_workspace_that_grows_leaves_the_old_one(fake):
    """A graph that was captured with the old one may be replayed later."""
    fake.fake_gpu_start(0)
    before = fake.fake_gpu_number(b"allocations")
    seen = []
    for n in (32, 32, 256):
        a, b, d = on_gpu(integers(n, 8192)), on_gpu(integers(8192, n)), on_gpu(np.zeros((n, n), "f4"))
        tessera.Plan(a, b, d, kernel="stream-k")(a, b, d, stream=0x90)
        seen.append(fake.fake_gpu_workspace())
    fake.fake_gpu_start(1)
    assert seen[0] == seen[1] != seen[2]
    assert fake.fake_gpu_number(b"allocations") == before + 2


def test_host_operands_on_a_gpu(fake):
    a, b = integers(33, 20), integers(20, 17)
    np.testing.assert_array_equal(tessera.matmul(a, b, device="cuda:0", **KERNEL), a @ b)
    np.testing.assert_array_equal(tessera.matmul(a[::-1], b, device="cuda:0", **KERNEL), a[::-1] @ b)
