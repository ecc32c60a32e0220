"""Arrays of any layout, for hypothesis."""

import numpy as np
from hypothesis import strategies as st

DTYPES = ("float64", "float32", "float16")


def integers(draw, shape, dtype):
    """Small enough that float16 sums over K < 40 are exact."""
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    return random.integers(-4, 5, shape).astype(dtype)


@st.composite
def laid_out(draw, shape, dtype):
    """An array of that shape whose memory may be transposed, padded, stepped, reversed, shifted or repeated."""
    values = integers(draw, shape, dtype)
    order = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else list(range(len(shape)))
    steps = [draw(st.sampled_from((1, 1, 1, 2, -1))) for _ in shape]
    pads = [draw(st.sampled_from((0, 0, 3))) for _ in shape]
    offset = draw(st.sampled_from((0, 0, 1)))  # in bytes: elements that are not aligned
    stored_shape = [abs(steps[axis]) * shape[axis] + pads[axis] for axis in order]
    itemsize = np.dtype(dtype).itemsize
    memory = np.full(int(np.prod(stored_shape)) * itemsize + offset, 0x7F, np.uint8)
    stored = memory[offset:].view(dtype) if offset == 0 else np.frombuffer(memory, dtype, offset=offset)
    stored = stored.reshape(stored_shape)
    view = stored.transpose(np.argsort(order))
    view = view[(..., *(slice(None, abs(step) * extent, max(step, 1)) for step, extent in zip(steps, shape)))]
    view = view[(..., *(slice(None, None, -1 if step < 0 else 1) for step in steps))]
    view[...] = values
    assert view.shape == tuple(shape)
    return view


extents = st.integers(0, 9)
batches = st.lists(st.integers(0, 4), max_size=3)


@st.composite
def products(draw, dtype=None):
    """Two operands that NumPy multiplies: matrices, vectors or stacks that broadcast."""
    dtype = dtype or draw(st.sampled_from(DTYPES))
    m, n, k = draw(extents), draw(extents), draw(extents)
    batch = draw(batches)
    shapes = []
    for matrix in ((m, k), (k, n)):
        own = [extent if draw(st.booleans()) else 1 for extent in batch]
        dropped = draw(st.integers(0, len(own)))
        shapes.append((*own[dropped:], *matrix))
    vector_a, vector_b = draw(st.sampled_from(((False, False),) * 4 + ((True, False), (False, True), (True, True))))
    if vector_a:
        shapes[0] = (k,)
    if vector_b:
        shapes[1] = (k,)
    return draw(laid_out(shapes[0], dtype)), draw(laid_out(shapes[1], dtype))
