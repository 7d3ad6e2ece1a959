import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run; `pytest --hypothesis-profile=default --hypothesis-seed=0` draws others.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")


@pytest.fixture
def rng():
    """Random numbers of one seed."""
    return np.random.default_rng(20260)


def device_library(name):
    """torch or CuPy with a device; the test, or the whole file, is skipped without."""
    library = pytest.importorskip(name)
    if name == "torch" and not library.cuda.is_available():
        pytest.skip("torch finds no CUDA device", allow_module_level=True)
    if name == "cupy":
        try:
            library.cuda.runtime.getDeviceCount()
        except library.cuda.runtime.CUDARuntimeError:
            pytest.skip("CuPy finds no CUDA device", allow_module_level=True)
    import sheaf

    if not sheaf.has_cuda:
        pytest.skip("this build has no CUDA", allow_module_level=True)
    return library
