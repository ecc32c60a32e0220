"""The examples of docs/PYTHON.md."""

import doctest
import os

import numpy as np


def test_examples():
    path = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "PYTHON.md")
    with open(path) as file:
        # Fences are no part of the examples; NumPy 1 shows scalars as NumPy 2 does not.
        text = "\n".join("" if line.startswith("```") else line for line in file.read().splitlines())
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        np.set_printoptions(legacy="1.25")
    test = doctest.DocTestParser().get_doctest(text, {}, "PYTHON.md", path, 0)
    assert len(test.examples) >= 20
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0
