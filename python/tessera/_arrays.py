"""What other array libraries are asked for: memory for a result, a copy, the stream that they work on.

None of them is imported here: an operand of a library is there only if the program has imported it.
"""

import sys


_LIBRARIES = {"torch", "cupy", "jax", "jaxlib"}


def _library(array):
    """The library that the array's class, or the nearest one that it derives from, is of; "": none of those known here."""
    for one in type(array).__mro__:
        library = one.__module__.partition(".")[0]
        if library in _LIBRARIES:
            return library
    return ""


def current_stream(array):
    """The CUDA stream, as an integer, on which the array's library works now; 0: the default stream."""
    library = _library(array)
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    if library == "cupy":
        with array.device:
            return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def empty(like, shape, dtype):
    """New memory where `like` lies, of the kind that its library makes; dtype is NumPy's name."""
    library = _library(like)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    if library == "cupy":
        with like.device:
            return sys.modules["cupy"].empty(shape, dtype=dtype)
    device, _ = like.__dlpack_device__() if hasattr(like, "__dlpack_device__") else (1, 0)
    if device not in (1, 3):
        if library in ("jax", "jaxlib"):
            # Nobody else has this array yet, so that it may be written to once JAX has.
            return sys.modules["jax"].numpy.zeros(shape, dtype, device=like.device).block_until_ready()
        if hasattr(like, "__array_namespace__"):
            namespace = like.__array_namespace__()
            return namespace.empty(shape, dtype=getattr(namespace, dtype), device=like.device)
        raise TypeError(f"out= is needed: {type(like)} says of no function that makes new memory on its device")
    return _numpy_empty(shape, dtype)


def _numpy_empty(shape, dtype):
    import numpy

    if hasattr(numpy, dtype):
        return numpy.empty(shape, getattr(numpy, dtype))
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has no {dtype}; the package ml_dtypes has, or out_dtype= says what else") from None
    return numpy.empty(shape, getattr(ml_dtypes, dtype))


def waits(like):
    """Whether the memory that `empty` made on a GPU is a result only once the product is done: of an array whose library
    does not work on CUDA's streams in a way that others see."""
    return _library(like) in ("jax", "jaxlib")


def result(like, out):
    """What the caller gets of the memory that `empty` made."""
    if _library(like) in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.asarray(out)
    return out


def contiguous(array, stream):
    """A copy with tight rows on the array's own device, made by work of the CUDA stream `stream`, which is to read it."""
    library = _library(array)
    if library == "torch":
        torch = sys.modules["torch"]
        with torch.cuda.stream(_torch_stream(torch, stream, array.device)):
            return array.clone(memory_format=torch.contiguous_format)
    if library == "cupy":
        with array.device, sys.modules["cupy"].cuda.ExternalStream(stream):
            return array.copy(order="C")
    raise ValueError(f"rows or columns of {type(array)} on a GPU must be contiguous")


def _torch_stream(torch, stream, device):
    current = torch.cuda.current_stream(device)
    if current.cuda_stream == stream:
        return current
    return torch.cuda.ExternalStream(stream, device=device) if stream else torch.cuda.default_stream(device)
