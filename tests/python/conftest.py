"""The package's tests: NumPy's products are the reference. Small integers make every sum exact, in any order."""

import os

import hypothesis
import pytest

hypothesis.settings.register_profile("tessera", max_examples=150, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("tessera")


def pytest_report_header():
    import tessera

    return f"tessera {tessera.__version__} from {os.path.dirname(tessera.__file__)}"


@pytest.fixture
def tessera():
    import tessera

    return tessera
