"""sheaf.jax on CUDA devices. Skipped where JAX finds none, or the module has no handlers for them."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import sheaf  # noqa: E402

if not sheaf.has_cuda or not hasattr(sheaf._sheaf, "_jax_handlers"):
    pytest.skip("this sheaf was built without CUDA, or without jax", allow_module_level=True)
try:
    DEVICE = jax.devices("cuda")[0]
except RuntimeError:
    pytest.skip("JAX finds no CUDA device", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import sheaf.jax as sj  # noqa: E402

HOST = jax.devices("cpu")[0]
ROWS, ENTRIES = 500, 20000


@pytest.fixture(autouse=True)
def with_64_bits():
    with jax.enable_x64(True):
        yield


def arrays(rng):
    """A table, a skewed index, offsets, weights, and a matrix of this index, by NumPy."""
    index = (rng.random(ENTRIES) ** 4 * ROWS).astype(np.int32)
    offsets = np.arange(0, ENTRIES + 1, 40)
    return rng.normal(size=(ROWS, 64)), index, offsets, rng.normal(size=ENTRIES)


def on(device, *all_arrays):
    return [jax.device_put(a, device) for a in all_arrays]


CALLS = {
    "gather": lambda t, i, o, w: sj.gather(t, i),
    "add": lambda t, i, o, w: sj.segment_sum(t[i], i[::-1], ROWS),
    "mean": lambda t, i, o, w: sj.segment_reduce(t[i], i[::-1], ROWS, "mean"),
    "max": lambda t, i, o, w: sj.segment_reduce(t[i], i[::-1], ROWS, "max"),
    "any order": lambda t, i, o, w: sj.segment_sum(t[i], i[::-1], ROWS, order="any"),
    "gather_reduce": lambda t, i, o, w: sj.gather_reduce(t, i, o, weights=w),
    "sort": lambda t, i, o, w: sj.sort(t[:, 0]) * w[:ROWS],
    "argsort": lambda t, i, o, w: sj.argsort(i),
    "spmv": lambda t, i, o, w: sj.spmv((w, i, o), t[:, 0]),
    "spmm": lambda t, i, o, w: sj.spmm((w, i, o), t),
    "transposed": lambda t, i, o, w: sj.spmm((w, i, o), t[: len(o) - 1], shape=(len(o) - 1, ROWS), transposed=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients_are_those_of_the_cpu(rng, name):
    call, given = CALLS[name], arrays(rng)
    there, here = (jax.jit(call)(*on(device, *given)) for device in (DEVICE, HOST))
    assert there.devices() == {DEVICE}
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)
    if name == "argsort":
        return
    finite = lambda made: jnp.sin(jnp.where(jnp.isfinite(made), made, 0)).sum()  # noqa: E731
    gradients = jax.jit(jax.grad(lambda *a: finite(call(*a)), (0, 3)))
    for one, other in zip(gradients(*on(DEVICE, *given)), gradients(*on(HOST, *given)), strict=True):
        # Gradients of thousands of equal rows multiply what another order makes of a sum.
        far = 1e-7 if name == "any order" else 1e-9
        np.testing.assert_allclose(one, other, rtol=far, atol=far)


def test_sums_have_the_same_bits_in_every_run(rng):
    table, index, *_ = on(DEVICE, *arrays(rng))
    step = jax.jit(jax.grad(lambda t: jnp.sin(sj.segment_sum(sj.gather(t, index), index, ROWS)).sum()))
    first = np.asarray(step(table.astype("float32")))
    for _ in range(4):
        np.testing.assert_array_equal(np.asarray(step(table.astype("float32"))), first)


def test_a_bad_index_shows_at_the_next_call_or_at_check():
    table, bad, good = on(DEVICE, np.ones((4, 2)), np.array([1, 4]), np.array([3]))
    rows = jax.block_until_ready(sj.gather(table, bad))
    np.testing.assert_array_equal(rows, [[1, 1], [0, 0]])
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=r"OUT_OF_RANGE: gather: index\[1\] is 4"):
        jax.block_until_ready(sj.gather(table, good))
    np.testing.assert_array_equal(sj.gather(table, good), [[1, 1]])
    jax.block_until_ready(sj.gather(table, bad))
    with pytest.raises(sheaf.BadIndex, match=r"index\[1\] is 4"):
        sj.check()
    sj.check()


@pytest.mark.parametrize("order", ["deterministic", "any"])
def test_sums_write_nothing_but_their_result(rng, order):
    """Counts that are not wanted have no elements, but an address: that of a small block of XLA's."""
    segments = 1 << 18
    small, large = [], []
    for k in range(64):
        small.append(jax.device_put(np.zeros(8, np.int32), DEVICE))
        large.append(jax.device_put(np.full(segments, k + 1000, np.int32), DEVICE))
    data, ids = on(DEVICE, np.ones((10000, 4), np.float32), rng.integers(0, segments, 10000))
    jax.block_until_ready((small, large, data, ids))
    del small  # between the large ones is room for small blocks
    for _ in range(4):
        made = jax.block_until_ready(jax.jit(lambda d, i: sj.segment_sum(d, i, segments, order=order))(data, ids))
        np.testing.assert_array_equal(np.asarray(made)[:, 0], np.bincount(ids, minlength=segments))
    for k, array in enumerate(large):
        np.testing.assert_array_equal(np.asarray(array), k + 1000)
    np.testing.assert_array_equal(np.asarray(data), 1)


def test_scratch_beside_the_pool_of_xla(rng):
    """Sums of many rows, whose scratch does not come from what XLA has taken."""
    data, ids = on(DEVICE, rng.normal(size=(1_000_000, 8)), rng.integers(0, 1000, 1_000_000))
    wanted = jax.ops.segment_sum(data, ids, 1000)
    np.testing.assert_allclose(sj.segment_sum(data, ids, 1000), wanted, rtol=1e-9, atol=1e-9)
