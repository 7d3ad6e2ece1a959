"""sheaf.jax: results, gradients, jit and vmap, against JAX's own. Skipped without jax, or in a build without it."""

import os
import subprocess
import sys

import numpy as np
import pytest

# Most of the time is XLA's, which compiles hundreds of small programs; it reads this when it begins.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
jax = pytest.importorskip("jax")

import sheaf  # noqa: E402

if not hasattr(sheaf._sheaf, "_jax_handlers"):
    pytest.skip("this sheaf was built without jax", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import sheaf.jax as sj  # noqa: E402
from jax.experimental import sparse  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
INDEX_TYPES = ["int32", "int64", "uint32", "uint64"]
# How the lists of indices look: some of 12 rows stay unnamed, or nobody names any, or all name one.
LISTS = {
    "some": np.array([3, 0, 7, 7, 3, 10, 7]),
    "empty": np.array([], np.int64),
    "one": np.array([5]),
    "equal": np.full(40, 4),
    "skewed": np.concatenate([np.zeros(300, np.int64), np.arange(12)]),
}
ROWS = 12
OPERATIONS = {
    "add": jax.ops.segment_sum,
    "min": jax.ops.segment_min,
    "max": jax.ops.segment_max,
    "mul": jax.ops.segment_prod,
}


@pytest.fixture(autouse=True)
def with_64_bits():
    with jax.enable_x64(True):
        yield


def lists_for(dtype):
    """All lists for two types, and one for the others: every length is a program to compile."""
    return LISTS if dtype in ("float32", "int32") else {"skewed": LISTS["skewed"]}


def rows_of(rng, dtype, *shape):
    if dtype in FLOATS:
        return jnp.asarray(rng.normal(size=shape)).astype(dtype)
    return jnp.asarray(rng.integers(1, 4, shape)).astype(dtype)


def close(got, wanted):
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    rough = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-5, "float64": 1e-12}.get(str(got.dtype), 0)
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(wanted, np.float64), rtol=rough, atol=rough)


def same(got, wanted):
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


def both(call, *arrays):
    """The result outside of jit, which has to be that inside."""
    outside = call(*arrays)
    jax.tree.map(same, jax.jit(call)(*arrays), outside)
    return outside


def matrix(rng, dtype="float64", rows=6, columns=5):
    """A sparse matrix with an empty row, as (data, indices, indptr), and dense."""
    dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.5)
    dense[2] = 0
    dense[0, 0] = 1.5
    of_rows = [np.flatnonzero(row) for row in dense]
    indices = np.concatenate(of_rows).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in of_rows])])
    data = np.concatenate([row[c] for row, c in zip(dense, of_rows, strict=True)])
    arrays = jnp.asarray(data).astype(dtype), jnp.asarray(indices), jnp.asarray(indptr)
    return arrays, jnp.asarray(dense).astype(dtype)


# Results


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool", "complex64"])
def test_gather(rng, dtype):
    table = rows_of(rng, dtype, ROWS, 3)
    for index in map(jnp.asarray, lists_for(dtype).values()):
        same(sj.gather(table, index), jnp.take(table, index, axis=0))
    for index_type in INDEX_TYPES:
        index = index.astype(index_type)
        same(both(sj.gather, table[:, 1], index), jnp.take(table[:, 1], index, axis=0))
    same(sj.gather(table, index[:300].reshape(30, 10)), table[index[:300].reshape(30, 10)])
    same(sj.gather(table, index[5]), table[index[5]])
    same(sj.gather(table[:, :0], index), table[index][:, :0])


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_segment_reduce(rng, dtype, op):
    for index in lists_for(dtype).values():
        index = index[-20:] if op == "mul" else index  # a product of 300 is beyond the range of 16 bits
        data, ids = rows_of(rng, dtype, len(index), 3), jnp.asarray(index)
        wide = data.astype("float32") if dtype in FLOATS[:2] else data  # JAX adds in 16 bits, too
        wanted = OPERATIONS[op](wide, ids, ROWS).astype(dtype)
        close(sj.segment_reduce(data, ids, ROWS, op), wanted)
    for order in ("deterministic", "any"):
        close(both(lambda d, i, order=order: sj.segment_reduce(d, i, ROWS, op, order=order), data, ids), wanted)
    close(sj.segment_reduce(data[:, 0], ids.astype("uint32"), ROWS, op), wanted[:, 0])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_means_and_counts(rng, dtype):
    for index in lists_for(dtype).values():
        data, ids = rows_of(rng, dtype, len(index), 3), jnp.asarray(index)
        mean, counts = sj.segment_reduce(data, ids, ROWS, "mean", counts=True)
        same(counts, jnp.asarray(np.bincount(index, minlength=ROWS).astype(np.int32)))
        sums = np.asarray(jax.ops.segment_sum(data.astype("float64"), ids, ROWS))
        wanted = sums / np.maximum(np.asarray(counts), 1)[:, None]
        close(mean, jnp.asarray(wanted).astype(dtype))
    nothing, counts = sj.segment_reduce(data[:, :0], ids, ROWS, "mean", counts=True)
    assert nothing.shape == (ROWS, 0) and int(counts.sum()) == len(index)


def test_sums_go_to_wider_types(rng):
    ids = jnp.zeros(300, "int32")
    for dtype, wider in [("float16", "float32"), ("bfloat16", "float32"), ("int8", "int64"), ("uint16", "uint32")]:
        made = both(lambda i, dtype=dtype, wider=wider: sj.segment_sum(jnp.full(300, 7, dtype), i, 2, dtype=wider), ids)
        same(made, jnp.array([2100, 0], wider))
    with pytest.raises(ValueError, match="dtype is int64, and float32 goes to float32"):
        sj.segment_sum(jnp.ones(300, "float32"), ids, 2, dtype="int64")


def test_segments_of_more_dimensions_and_none(rng):
    data, ids = rows_of(rng, "float64", 4, 5, 3), jnp.asarray(rng.integers(0, 6, (4, 5)))
    close(sj.segment_sum(data, ids, 6), jax.ops.segment_sum(data.reshape(20, 3), ids.reshape(20), 6))
    same(sj.segment_sum(jnp.ones(3), jnp.array([4, 1, 1])), jnp.array([0.0, 2, 0, 0, 1]))
    assert sj.segment_sum(jnp.ones(0), jnp.zeros(0, "int32")).shape == (0,)
    assert sj.segment_sum(jnp.ones((0, 3)), jnp.zeros(0, "int32"), 0).shape == (0, 3)


def test_sums_have_the_same_bits_in_every_run(rng):
    data, ids = rows_of(rng, "float32", 50000, 8), jnp.asarray((rng.random(50000) ** 4 * 500).astype(np.int32))
    runs = [sj.segment_sum(data, ids, 500) for _ in range(3)]
    same(runs[1], runs[0])
    same(runs[2], runs[0])


@pytest.mark.parametrize("op", ["add", "mean", "min", "max", "mul"])
@pytest.mark.parametrize("dtype", FLOATS + ["int32", "uint8"])
def test_gather_reduce(rng, dtype, op):
    table, index = rows_of(rng, dtype, ROWS, 3), jnp.asarray(LISTS["some"])
    for offsets in ([0, 2, 2, 7], [1, 4], [0], [0, 7]):
        offsets = jnp.asarray(offsets)
        made = both(lambda t, i, o: sj.gather_reduce(t, i, o, op), table, index, offsets)
        wide = table.astype("float32") if dtype in FLOATS[:2] else table
        ids = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        entries = jnp.take(wide, index[int(offsets[0]) : int(offsets[-1])], axis=0)
        close(made, sj.segment_reduce(entries, jnp.asarray(ids), len(offsets) - 1, op).astype(dtype))
        if op in ("add", "mean") and dtype in FLOATS:
            weights = rows_of(rng, dtype, 7)
            weighted = both(lambda t, i, o, w: sj.gather_reduce(t, i, o, op, weights=w), table, index, offsets, weights)
            factors = weights.astype(wide.dtype)[int(offsets[0]) : int(offsets[-1]), None]
            wanted = sj.segment_reduce(entries * factors, jnp.asarray(ids), len(offsets) - 1, op)
            close(weighted, wanted.astype(dtype))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
def test_sort_and_argsort(rng, dtype, descending):
    for count in (0, 1, 5000) if dtype == "float32" else (5000,):
        numbers = rng.normal(size=count) * 3 if dtype in FLOATS else rng.integers(0, 100, count)
        for a in (jnp.asarray(numbers).astype(dtype), jnp.ones(count, dtype)):
            same(sj.sort(a, descending=descending), jnp.sort(a, descending=descending))
            order = sj.argsort(a, descending=descending)
            same(order, jnp.argsort(a, stable=True, descending=descending))
    for index_type in INDEX_TYPES:
        call = lambda a, index_type=index_type: sj.argsort(a, descending=descending, dtype=index_type)  # noqa: E731
        same(both(call, a), order.astype(index_type))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_are_ordered_totally(dtype):
    a = jnp.array([np.nan, 1, 0.0, -0.0, -np.inf, -np.nan, np.inf]).astype(dtype)
    a = a.at[5].set(-jnp.abs(a[0]))  # a NaN with a sign
    assert np.signbit(np.asarray(a[5], np.float32))
    same(sj.argsort(a), jnp.array([5, 4, 3, 2, 1, 6, 0]))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_products(rng, dtype, transposed):
    A, dense = matrix(rng, dtype)
    wide = dense.astype("float64").T if transposed else dense.astype("float64")
    x = rows_of(rng, dtype, wide.shape[1], 4)
    call = lambda A, x: sj.spmm(A, x, shape=(6, 5), transposed=transposed)  # noqa: E731
    close(both(call, A, x), (wide @ x.astype("float64")).astype(dtype))
    any_order = sj.spmm(A, x, shape=(6, 5), transposed=transposed, order="any")
    close(any_order, (wide @ x.astype("float64")).astype(dtype))
    assert call(A, x[:, :0]).shape == (wide.shape[0], 0)
    if dtype in FLOATS[2:]:
        call = lambda A, x: sj.spmv(A, x, shape=(6, 5), transposed=transposed)  # noqa: E731
        close(both(call, A, x[:, 0]), wide.astype(dtype) @ x[:, 0])
        any_order = sj.spmv(A, x[:, 0], shape=(6, 5), transposed=transposed, order="any")
        close(any_order, wide.astype(dtype) @ x[:, 0])
    else:
        data32 = A[0].astype("float32"), *A[1:]
        close(sj.spmm(data32, x, shape=(6, 5), transposed=transposed), (wide @ x.astype("float64")).astype(dtype))


def test_matrices_of_jax(rng):
    A, dense = matrix(rng)
    bcsr = sparse.BCSR(A, shape=dense.shape)
    x = rows_of(rng, "float64", 5, 3)
    close(both(sj.spmm, bcsr, x), dense @ x)
    close(both(sj.spmv, bcsr, x[:, 0]), dense @ x[:, 0])
    close(sj.spmm(bcsr, dense, transposed=True), dense.T @ dense)
    gradient = jax.grad(lambda bcsr: sj.spmv(bcsr, x[:, 0]).sum(), allow_int=True)(bcsr)
    assert gradient.data.shape == A[0].shape and float(jnp.abs(gradient.data).sum()) > 0
    none = jnp.zeros(0), jnp.zeros(0, "int32"), jnp.zeros(4, "int32")
    same(sj.spmv(none, jnp.ones(2)), jnp.zeros(3))
    same(sj.spmv(none, jnp.ones(3), shape=(3, 2), transposed=True), jnp.zeros(2))


# Gradients


def bent(made):
    """The sine, and 0 for infinities: what a minimum or maximum has for a segment without rows."""
    return jnp.sin(jnp.where(jnp.isfinite(made), made, 0))


def graded(call, *arrays):
    """Gradients, and gradients of gradients, against differences."""
    check_grads(jax.jit(call), arrays, order=2, modes=["rev"], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", LISTS)
def test_gradients_by_index(rng, name):
    ids = jnp.asarray(LISTS[name][:50])
    table, data = rows_of(rng, "float64", ROWS, 3), rows_of(rng, "float64", len(ids), 3)
    graded(lambda t: jnp.sin(sj.gather(t, ids)), table)
    for op in ("add", "mean", "min", "max", "mul"):
        if op != "mul" or name != "equal":  # a product of 40 numbers is too steep
            graded(lambda d, op=op: bent(sj.segment_reduce(d, ids, ROWS, op)), data)


def test_gradients_are_those_of_jax(rng):
    ids, data = jnp.asarray(LISTS["skewed"]), rows_of(rng, "float64", 312, 3)
    table = rows_of(rng, "float64", ROWS, 3)
    mine = jax.grad(lambda t: jnp.sin(sj.gather(t, ids)).sum())(table)
    close(mine, jax.grad(lambda t: jnp.sin(t[ids]).sum())(table))
    for op in ("add", "max", "min"):
        mine = jax.grad(lambda d, op=op: bent(sj.segment_reduce(d, ids, ROWS, op)).sum())(data)
        close(mine, jax.grad(lambda d, op=op: bent(OPERATIONS[op](d, ids, ROWS)).sum())(data))


def test_extremes_share_among_ties_and_products_know_zeros():
    ids = jnp.array([0, 0, 0, 1])
    shares = jax.grad(lambda d: sj.segment_reduce(d, ids, 2, "max")[0])(jnp.array([3.0, 1.0, 3.0, 5.0]))
    same(shares, jnp.array([0.5, 0, 0.5, 0]))
    for numbers in ([2.0, 0.0, 3.0, 4.0], [0.0, 0.0, 3.0, 4.0]):
        mine = jax.grad(lambda d: sj.segment_reduce(d, ids, 2, "mul").sum())(jnp.array(numbers))
        a, b, c, _ = numbers
        same(mine, jnp.array([b * c, a * c, a * b, 1.0]))


@pytest.mark.parametrize("dtype", FLOATS[:3])
def test_gradients_have_the_type_of_the_values(rng, dtype):
    ids, data = jnp.asarray(LISTS["some"]), rows_of(rng, dtype, 7, 3)
    wider = "float32"
    for op in ("add", "mean", "max", "mul"):
        gradient = jax.grad(lambda d, op=op: sj.segment_reduce(d, ids, ROWS, op, dtype=wider).sum())(data)
        assert gradient.dtype == dtype and float(jnp.abs(gradient).sum()) > 0
    table, offsets = rows_of(rng, dtype, ROWS, 3), jnp.array([0, 2, 7])
    for op in ("add", "mean", "max"):
        gradient = jax.grad(lambda t, op=op: sj.gather_reduce(t, ids, offsets, op, dtype=wider).sum())(table)
        assert gradient.dtype == dtype and float(jnp.abs(gradient).sum()) > 0
    weights = jnp.ones(7, "float32")
    gradients = jax.grad(lambda t, w: sj.gather_reduce(t, ids, offsets, weights=w).sum(), (0, 1))(table, weights)
    assert gradients[0].dtype == dtype and gradients[1].dtype == "float32"


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_counts_beyond_the_range_of_16_bits_divide_gradients(dtype):
    many, upstream = 65791, jnp.full(1, 127, dtype)  # float16 ends before, and bfloat16 has 65,536 next to it
    ids, ones, offsets = jnp.zeros(many, "int32"), jnp.ones(many, dtype), jnp.array([0, many])
    wanted = jnp.full(many, 127 / many, dtype)  # rounded once
    for op in ("mean", "min", "max"):
        back = jax.vjp(lambda d, op=op: sj.segment_reduce(d, ids, 1, op), ones)[1]
        same(back(upstream)[0], wanted)
        wider = jax.vjp(lambda d, op=op: sj.segment_reduce(d, ids, 1, op, dtype="float32"), ones)[1]
        same(wider(upstream.astype("float32"))[0], wanted)
        back = jax.vjp(lambda t, op=op: sj.gather_reduce(t, jnp.arange(many), offsets, op), ones)[1]
        same(back(upstream)[0], wanted)
        back = jax.vjp(lambda t, op=op: sj.gather_reduce(t, ids, offsets, op), ones[:1])[1]
        close(back(upstream)[0], upstream)  # all of the shares come back to the one row


@pytest.mark.parametrize("offsets", [[0, 2, 2, 7], [1, 4], [0]])
def test_gradients_of_gather_reduce(rng, offsets):
    table, index, offsets = rows_of(rng, "float64", ROWS, 3), jnp.asarray(LISTS["some"]), jnp.asarray(offsets)
    for op in ("add", "mean", "min", "max"):
        graded(lambda t, op=op: bent(sj.gather_reduce(t, index, offsets, op)), table)
    weights = rows_of(rng, "float64", 7)
    for op in ("add", "mean"):
        graded(lambda t, w, op=op: jnp.sin(sj.gather_reduce(t, index, offsets, op, weights=w)), table, weights)
    wide = rows_of(rng, "float64", ROWS, 1025)  # more columns than a product has
    gradient = jax.grad(lambda t: sj.gather_reduce(t, index, offsets, weights=weights).sum())(wide)
    close(gradient[:, :3], jax.grad(lambda t: sj.gather_reduce(t, index, offsets, weights=weights).sum())(table))
    with pytest.raises(NotImplementedError, match="'mul' has no gradient"):
        jax.grad(lambda t: sj.gather_reduce(t, index, offsets, "mul").sum())(table)


def test_gradients_of_rows_too_wide_to_gather(rng):
    """A row that is reduced may have more bytes than one that is gathered."""
    ids, offsets, weights = jnp.array([2, 0, 2, 1]), jnp.array([0, 2, 4]), jnp.arange(1.0, 5)
    data = jnp.round(rows_of(rng, "float64", 4, 2, 5000))
    calls = {op: lambda d, op=op: sj.segment_reduce(d, ids, 3, op) for op in ("add", "mean", "max", "mul")}
    calls |= {"bags, " + op: lambda t, op=op: sj.gather_reduce(t, ids, offsets, op) for op in ("add", "mean", "max")}
    for name, call in calls.items():
        square = lambda d, call=call: (call(d) ** 2).sum()  # noqa: E731
        apart = jnp.concatenate([jax.grad(square)(part) for part in jnp.split(data, 2, axis=2)], axis=2)
        np.testing.assert_array_equal(jax.grad(square)(data), apart, err_msg=name)
    twice = lambda d: jax.grad(lambda d: (calls["add"](d) ** 3).sum())(d)  # noqa: E731
    parts = [jax.grad(lambda d: twice(d).sum())(part) for part in jnp.split(data, 2, axis=2)]
    close(jax.grad(lambda d: twice(d).sum())(data), jnp.concatenate(parts, axis=2))
    by_weight = lambda t: jax.grad(lambda w: sj.gather_reduce(t, ids, offsets, weights=w).sum())(weights)  # noqa: E731
    close(by_weight(data), sum(by_weight(part) for part in jnp.split(data, 2, axis=2)))


def test_gradients_leave_out_entries_outside_of_segments(rng):
    """Lists padded to a fixed size end with numbers that name no row."""
    index, offsets = jnp.array([99, 3, 0, 3, -1]), jnp.array([1, 3, 4])
    table, weights = rows_of(rng, "float64", ROWS, 3), rows_of(rng, "float64", 5)
    weighted = lambda t, w: jnp.sin(sj.gather_reduce(t, index, offsets, weights=w)).sum()  # noqa: E731
    inside = lambda t, w: jnp.sin(sj.gather_reduce(t, index[1:4], offsets - 1, weights=w[1:4])).sum()  # noqa: E731
    for wide in (table, rows_of(rng, "float64", ROWS, 1025)):
        jax.tree.map(close, jax.grad(weighted, (0, 1))(wide, weights), jax.grad(inside, (0, 1))(wide, weights))
    mine = jax.grad(lambda t: jnp.sin(sj.gather_reduce(t, index, offsets, "max")).sum())(table)
    close(mine, jax.grad(lambda t: jnp.sin(sj.gather_reduce(t, index[1:4], offsets - 1, "max")).sum())(table))
    (data, indices, indptr), dense = matrix(rng)
    bcsr = sparse.BCSR.fromdense(dense, nse=len(data) + 4)
    x = rows_of(rng, "float64", 5, 3)
    for product, by in ((sj.spmm, x), (sj.spmv, x[:, 0])):
        places = bcsr.indices, bcsr.indptr
        mine = jax.grad(lambda d: jnp.sin(product((d, *places), by)).sum())(bcsr.data)  # noqa: B023
        wanted = jax.grad(lambda d: jnp.sin(product((d, indices, indptr), by)).sum())(data)  # noqa: B023
        close(mine[: len(data)], wanted)
        same(mine[len(data) :], jnp.zeros(4))


def test_gradients_of_gradients_leave_out_entries_outside_of_segments():
    """They name row 0, which may have numbers whose products with 0 are NaN."""
    places, offsets = jnp.array([1, 2, 9, 9]), jnp.array([0, 1, 2])
    for fault in (np.inf, np.nan):
        x = jnp.array([fault, 2.0, 3.0])
        for product in (
            lambda d, x: sj.spmv((d, places, offsets), x),
            lambda d, x: sj.spmm((d, places, offsets), x[:, None])[:, 0],
            lambda d, x: sj.gather_reduce(x, places, offsets, weights=d),
        ):
            by_value = lambda g, x: jax.vjp(lambda d: product(d, x), jnp.ones(4))[1](g)[0].sum()  # noqa: B023, E731
            gradients = jax.grad(by_value, (0, 1))(jnp.ones(2), x)
            jax.tree.map(same, gradients, (x[1:], jnp.array([0.0, 1, 1])))
            of_fault = jax.grad(by_value, 1)(jnp.array([fault, 1.0]), jnp.ones(3))
            same(of_fault, jnp.array([0.0, fault, 1]))


def test_nan_has_the_gradient_of_an_extreme_that_it_is():
    numbers, ids = jnp.array([1.0, np.nan, 2.0, 3.0]), jnp.array([0, 0, 0, 1])
    for op in ("min", "max"):
        same(jax.grad(lambda d, op=op: sj.segment_reduce(d, ids, 2, op).sum())(numbers), jnp.array([0.0, 1, 0, 1]))
        by_segments = jax.grad(lambda t, op=op: sj.gather_reduce(t, jnp.arange(4), jnp.array([0, 3, 4]), op).sum())
        same(by_segments(numbers), jnp.array([0.0, 1, 0, 1]))


@pytest.mark.parametrize("descending", [False, True])
def test_gradients_of_sort(rng, descending):
    weights = jnp.arange(9.0)
    a = jnp.asarray(rng.permutation(9) + 0.5)
    graded(lambda a: jnp.sin(sj.sort(a, descending=descending)) * weights, a)
    by_order = lambda a: (a[sj.argsort(a, descending=descending)] * weights).sum()  # noqa: E731
    same(jax.grad(by_order)(a), jax.grad(lambda a: (sj.sort(a, descending=descending) * weights).sum())(a))


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_products(rng, transposed):
    (data, *places), _ = matrix(rng)
    x = rows_of(rng, "float64", 6 if transposed else 5, 3)
    how = {"shape": (6, 5), "transposed": transposed}
    graded(lambda d, x: jnp.sin(sj.spmm((d, *places), x, **how)), data, x)
    graded(lambda d, x: jnp.sin(sj.spmv((d, *places), x, **how)), data, x[:, 0])


def test_integers_beside_floats_have_no_gradient():
    ids = jnp.array([0, 1, 0])
    counted = lambda x: (sj.segment_sum(jnp.array([1, 2, 3]), ids, 2) * sj.gather(x, ids[:2])).sum()  # noqa: E731
    same(jax.grad(counted)(jnp.array([1.0, 1.0])), jnp.array([4.0, 2.0]))
    _, back = jax.vjp(lambda x: sj.segment_reduce(x, ids, 2, "mean", counts=True)[0], jnp.ones(3))
    same(back(jnp.ones(2))[0], jnp.array([0.5, 1.0, 0.5]))


# vmap


def handlers_in(call, *arrays):
    """How many calls of handlers a program has, loops not unrolled, and whether there is a loop."""
    text = jax.jit(call).lower(*arrays).as_text()
    return text.count("stablehlo.custom_call @sheaf"), "stablehlo.while" in text


def mapped(call, axes, *arrays, in_one_call=False):
    one_by_one = [call(*(a if axis is None else a[i] for a, axis in zip(arrays, axes, strict=True))) for i in range(3)]
    close(jax.vmap(call, axes)(*arrays), jnp.stack(one_by_one))
    calls, loops = handlers_in(jax.vmap(call, axes), *arrays)
    assert calls == 1 and loops is not in_one_call


def test_vmap(rng):
    tables, lists = rows_of(rng, "float64", 3, ROWS, 2), jnp.asarray(rng.integers(0, ROWS, (3, 7)))
    mapped(sj.gather, (None, 0), tables[0], lists, in_one_call=True)
    mapped(sj.gather, (0, None), tables, lists[0])
    mapped(sj.gather, (0, 0), tables, lists)
    data = rows_of(rng, "float64", 3, 7, 2)
    for op in ("add", "mean", "max"):
        reduce = lambda d, i, op=op: sj.segment_reduce(d, i, ROWS, op)  # noqa: E731
        mapped(reduce, (0, None), data, lists[0], in_one_call=True)
        mapped(reduce, (0, 0), data, lists)
        mapped(reduce, (None, 0), data[0], lists)
    offsets = jnp.array([0, 3, 7])
    bags = lambda t, i: sj.gather_reduce(t, i, offsets)  # noqa: E731
    mapped(bags, (0, None), tables, lists[0], in_one_call=True)
    mapped(bags, (0, 0), tables, lists)
    mapped(sj.sort, (0,), data[:, :, 0])
    mapped(sj.argsort, (0,), data[:, :, 0])
    (data, *places), _ = matrix(rng)
    x = rows_of(rng, "float64", 3, 5, 2)
    mapped(lambda x: sj.spmm((data, *places), x), (0,), x, in_one_call=True)
    mapped(lambda x: sj.spmv((data, *places), x), (0,), x[:, :, 0], in_one_call=True)
    mapped(lambda d, x: sj.spmv((d, *places), x), (0, 0), jnp.stack([data, 2 * data, 3 * data]), x[:, :, 0])


def test_vmap_over_a_batch_of_none():
    ids, offsets, none = jnp.array([2, 0, 2]), jnp.array([0, 3]), jnp.ones((0, 3, 2))
    for op in ("add", "mean", "max"):
        reduce = lambda d, i=ids, op=op: sj.segment_reduce(d, i, 4, op, counts=True)  # noqa: E731
        for made, counts in (jax.vmap(reduce)(none), jax.vmap(reduce)(none, jnp.zeros((0, 3), "int32"))):
            assert made.shape == (0, 4, 2) and counts.shape == (0, 4) and counts.dtype == "int32"
        assert jax.vmap(jax.vmap(reduce))(jnp.ones((5, 0, 3, 2)))[0].shape == (5, 0, 4, 2)
        assert jax.vmap(jax.vmap(reduce))(jnp.ones((0, 5, 3, 2)))[1].shape == (0, 5, 4)
        gradient = jax.vmap(jax.grad(lambda d, reduce=reduce: jnp.sin(reduce(d)[0]).sum()))(none)
        assert gradient.shape == none.shape
    A = jnp.ones(3), ids, offsets
    for call, shape in [
        (lambda t: sj.gather(t, ids), (0, 3, 2)),
        (lambda t: sj.gather_reduce(t, ids, offsets), (0, 1, 2)),
        (lambda x: sj.spmm(A, x), (0, 1, 2)),
        (lambda x: sj.spmv(A, x[:, 0]), (0, 1)),
        (lambda a: sj.sort(a[:, 0]), (0, 3)),
    ]:
        assert jax.vmap(call)(none).shape == shape


def test_vmap_of_gradients_and_of_vmap(rng):
    tables, lists = rows_of(rng, "float64", 3, ROWS, 2), jnp.asarray(rng.integers(0, ROWS, (3, 7)))
    loss = lambda t, i: jnp.sin(sj.gather(t, i)).sum()  # noqa: E731
    wanted = jnp.stack([jax.grad(loss)(t, i) for t, i in zip(tables, lists, strict=True)])
    close(jax.vmap(jax.grad(loss))(tables, lists), wanted)
    close(jax.grad(lambda t: jax.vmap(loss)(t, lists).sum())(tables), wanted)
    data = rows_of(rng, "float64", 2, 3, 7, 2)
    twice = jax.vmap(jax.vmap(lambda d: sj.segment_sum(d, lists[0], ROWS)))
    close(twice(data)[1, 2], sj.segment_sum(data[1, 2], lists[0], ROWS))
    assert handlers_in(twice, data) == (1, False)
    counts = jax.vmap(lambda d: sj.segment_reduce(d, lists[0], ROWS, "mean", counts=True)[1])(data[0])
    same(counts[2], jnp.asarray(np.bincount(lists[0], minlength=ROWS).astype(np.int32)))
    many = rows_of(rng, "float64", 2, 7, 40000)  # more numbers than a row may have
    close(jax.vmap(lambda d: sj.segment_sum(d, lists[0], ROWS))(many)[1], sj.segment_sum(many[1], lists[0], ROWS))


# Other places of programs


def test_loops_and_conditions(rng):
    ids, x = jnp.asarray(LISTS["some"]), rows_of(rng, "float64", ROWS, 3)

    def step(x, _):
        return sj.segment_sum(sj.gather(x, ids), ids, ROWS) / 3, None

    wanted = x
    for _ in range(4):
        wanted = jax.ops.segment_sum(wanted[ids], ids, ROWS) / 3
    close(jax.lax.scan(step, x, None, length=4)[0], wanted)
    close(jax.checkpoint(lambda x: step(x, None)[0])(x), step(x, None)[0])
    close(jax.lax.cond(True, lambda x: step(x, None)[0], lambda x: x, x), step(x, None)[0])


SHARDED = """
import jax, jax.numpy as jnp, numpy as np, sheaf.jax as sj
from jax.sharding import Mesh, PartitionSpec as P

assert len(jax.devices()) == 4
mesh, whole, split = Mesh(np.array(jax.devices()), ("d",)), P(), P("d")
table, index, data = jnp.arange(12.0).reshape(4, 3), jnp.arange(16) * 7 % 4, jnp.arange(48.0).reshape(16, 3)
offsets, starts = jnp.array([0, 2, 4]), jnp.arange(0, 17, 2)
ids = jnp.array([0, 0, 1, 2] * 4)


def spread(call, given, made):
    return jax.jit(jax.shard_map(call, mesh=mesh, in_specs=given, out_specs=made))


def refused(call, *arrays):
    try:
        spread(call, (split, split), whole)(*arrays)
    except ValueError as error:
        return "replicat" in str(error) or "out_specs" in str(error)
    return False


def close(name, got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-5, err_msg=name)


squares = lambda rows: (rows**2).sum()
wanted = jax.grad(lambda t: squares(t[index]))(table)
assert float(wanted.sum()) == 528
rows = spread(sj.gather, (whole, split), split)
close("rows", rows(table, index), table[index])
close("outside", jax.grad(lambda t: squares(rows(t, index)))(table), wanted)
inside = spread(lambda t, i: jax.grad(lambda t: squares(sj.gather(t, i)))(t), (whole, split), whole)
close("inside", inside(table, index), wanted)

total = spread(lambda v, i: jax.lax.psum(sj.segment_sum(v, i, 4), "d"), (split, split), whole)
close("sums", total(data, index), jax.ops.segment_sum(data, index, 4))
mine = jax.grad(lambda v: squares(total(v, index)))(data)
close("of sums", mine, jax.grad(lambda v: squares(jax.ops.segment_sum(v, index, 4)))(data))
for sums in (jax.ops.segment_sum, sj.segment_sum):
    assert refused(lambda v, i, sums=sums: sums(v, i, 4), data, index), sums
assert refused(lambda v, i: sj.segment_reduce(v, i, 4, counts=True)[1], data, index)

parts = jnp.repeat(jnp.arange(4), 4) * 3 + ids
for op in ("max", "mean", "mul"):
    each = spread(lambda v, i, op=op: sj.segment_reduce(v, i, 3, op), (split, split), split)
    close(op, each(data, ids), sj.segment_reduce(data, parts, 12, op))
    mine = jax.grad(lambda v: jnp.sin(each(v, ids)).sum())(data)
    close("of " + op, mine, jax.grad(lambda v: jnp.sin(sj.segment_reduce(v, parts, 12, op)).sum())(data))
for op in ("max", "mean", "add"):
    bags = spread(lambda t, i, op=op: sj.gather_reduce(t, i, offsets, op), (whole, split), split)
    close("bags, " + op, bags(table, index), sj.gather_reduce(table, index, starts, op))
    mine = jax.grad(lambda t: squares(bags(t, index)))(table)
    close("of bags, " + op, mine, jax.grad(lambda t: squares(sj.gather_reduce(t, index, starts, op)))(table))
weights = jnp.arange(4.0)
weighted = spread(lambda t, i, w: sj.gather_reduce(t, i, offsets, weights=w), (whole, split, whole), split)
mine = jax.grad(lambda w: squares(weighted(table, index, w)))(weights)
fourfold = lambda w: squares(sj.gather_reduce(table, index, starts, weights=jnp.tile(w, 4)))
close("of weights", mine, jax.grad(fourfold)(weights))

places, x = (jnp.arange(4), offsets), jnp.arange(32.0).reshape(4, 8)
product = spread(lambda d, x: sj.spmm((d, *places), x), (whole, P(None, "d")), P(None, "d"))
mine = jax.grad(lambda d: squares(product(d, x)))(weights)
close("of a matrix", mine, jax.grad(lambda d: squares(sj.spmm((d, *places), x)))(weights))
vector = spread(lambda d, x: sj.spmv((d, *places), x), (whole, split), split)
mine = jax.grad(lambda d: squares(vector(d, x.reshape(32)[:16])))(weights)
columns = x.reshape(32)[:16].reshape(4, 4).T
close("of a vector", mine, jax.grad(lambda d: squares(sj.spmm((d, *places), columns)))(weights))
sorts = spread(sj.sort, (split,), split)
steps = jnp.arange(16.0)
keys = -steps * 7 % 5
mine = jax.grad(lambda a: (sorts(a) * steps).sum())(keys)
close("of sort", mine, jax.grad(lambda a: (jax.vmap(jnp.sort)(a.reshape(4, 4)).reshape(16) * steps).sum())(keys))
assert refused(lambda v, i: sj.argsort(i), data, index)
"""


def test_inside_of_shard_map_what_varies_is_known():
    """With JAX's own check of it: gradients of what is the same on all devices are sums over them."""
    flags = os.environ["XLA_FLAGS"] + " --xla_force_host_platform_device_count=4"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    program = [sys.executable, "-c", SHARDED]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr


def test_without_64_bits(rng):
    with jax.enable_x64(False):
        assert sj.argsort(jnp.array([2.0, 1.0])).dtype == "int32"
        assert sj.gather(np.arange(3.0), np.array([2, 0])).dtype == "float32"  # as jnp.asarray makes of it
        same(jax.grad(lambda t: sj.gather(t, jnp.array([1, 1])).sum())(jnp.ones(2)), jnp.array([0.0, 2.0]))
        with pytest.raises(ValueError, match="jax_enable_x64"):
            sj.argsort(jnp.array([2.0]), dtype="int64")
        with pytest.raises(ValueError, match="jax_enable_x64"):
            sj.segment_sum(jnp.ones(2, "int8"), jnp.zeros(2, "int32"), 1, dtype="int64")


def test_without_64_bits_numbers_that_need_them_are_refused():
    """JAX would wrap them, and make a good index of a bad one."""
    far, table = np.array([1, 2**32 + 1]), np.arange(4.0)
    with jax.enable_x64(False):
        for wrong, words in [
            (lambda: sj.gather(table, far), r"gather: index has 4294967297, which JAX holds only where"),
            (lambda: sj.gather(table, far[1]), "gather: index has 4294967297"),
            (lambda: sj.gather(table, far.astype("uint64")), "gather: index has 4294967297"),
            (lambda: sj.gather(far, np.array([0])), "gather: table has 4294967297"),
            (lambda: sj.segment_sum(table[:2], -far, 2), "segment_reduce: segment_ids has -4294967297"),
            (lambda: sj.segment_sum(far, np.array([0, 1]), 2), "segment_reduce: data has 4294967297"),
            (lambda: sj.gather_reduce(table, np.array([0]), far), "gather_reduce: offsets has 4294967297"),
            (lambda: sj.spmv((table[:1], far[1:], np.array([0, 1])), table), "spmv: indices has 4294967297"),
            (lambda: sj.sort(far), "sort: a has 4294967297"),
        ]:
            with pytest.raises(ValueError, match=words):
                wrong()
        same(sj.gather(table, np.array([3, 0], "uint64")), jnp.array([3.0, 0]))
        same(sj.sort(np.array([2**31 - 1, -(2**31)])), jnp.array([-(2**31), 2**31 - 1], "int32"))
    same(sj.sort(far[::-1].copy()), jnp.asarray(far))


# Errors

FAULTS = (jax.errors.JaxRuntimeError, ValueError)  # the latter where the first run of a program has ended well


@pytest.mark.parametrize("inside", [False, True])
def test_a_bad_index_names_its_place(inside):
    wrap = jax.jit if inside else lambda call: call
    table, bad = jnp.ones((4, 2)), jnp.array([1, 4, 9])
    with pytest.raises(FAULTS, match=r"OUT_OF_RANGE: gather: index\[1\] is 4"):
        wrap(sj.gather)(table, bad).block_until_ready()
    with pytest.raises(FAULTS, match=r"index\[2\] is -1"):
        wrap(lambda d, i: sj.segment_sum(d, i, 3))(jnp.ones(3), jnp.array([0, 2, -1])).block_until_ready()
    with pytest.raises(FAULTS, match="OUT_OF_RANGE"):
        wrap(sj.gather_reduce)(table, jnp.array([1, 2]), jnp.array([0, 3])).block_until_ready()
    faulty = jnp.ones(2), jnp.array([0, 5]), jnp.array([0, 1, 2])
    with pytest.raises(FAULTS, match="OUT_OF_RANGE.*5"):
        wrap(sj.spmv)(faulty, jnp.ones(2)).block_until_ready()
    same(wrap(sj.gather)(table, jnp.array([3])), table[3:])  # the next call is well
    sj.check()


def test_a_bad_index_after_good_ones_names_its_place():
    table, good, bad = jnp.ones((4, 5)), jnp.array([1, 3, 0]), jnp.array([1, 4, 9])  # no shapes of other tests
    step = jax.jit(jax.value_and_grad(lambda t, i: sj.gather(t, i).sum()))
    for call in (sj.gather, jax.jit(sj.gather), step):
        for _ in range(2):
            jax.block_until_ready(call(table, good))
            with pytest.raises(FAULTS, match=r"OUT_OF_RANGE: gather: index\[1\] is 4"):
                jax.block_until_ready(call(table, bad))
    sj.check()


def test_wrong_arguments_are_refused_when_traced():
    ids = jnp.array([0, 1])
    for wrong, kind, words in [
        (lambda: sj.gather(jnp.ones(3), jnp.ones(2)), TypeError, "index has float64, not int32"),
        (lambda: sj.gather(jnp.ones(()), ids), ValueError, "no dimensions"),
        (lambda: sj.gather(jnp.ones(3, "int4"), ids), TypeError, "table has int4, whose numbers are no whole bytes"),
        (lambda: sj.gather(jax.random.split(jax.random.key(0)), ids), TypeError, "table has key"),
        (lambda: sj.segment_sum(jnp.ones(3), ids, 2), ValueError, r"does not begin with segment_ids' shape \(2,\)"),
        (lambda: sj.segment_sum(jnp.ones(2) * 1j, ids, 2), TypeError, "data has complex128"),
        (lambda: sj.segment_sum(jnp.ones(2), ids, -1), ValueError, "num_segments is -1"),
        (lambda: sj.segment_reduce(jnp.ones(2), ids, 2, "median"), ValueError, "op is 'median', not one of 'add'"),
        (lambda: sj.segment_sum(jnp.ones(2), ids, 2, order="none"), ValueError, "order is 'none'"),
        (lambda: sj.gather_reduce(jnp.ones(2), ids, jnp.zeros(0, int)), ValueError, "offsets has no entry"),
        (lambda: sj.gather_reduce(jnp.ones(2), ids, ids, weights=jnp.ones(1)), ValueError, "weights has shape"),
        (lambda: sj.gather_reduce(jnp.ones(2), ids, ids, "max", weights=jnp.ones(2)), ValueError, "weights are for"),
        (lambda: sj.sort(jnp.ones((2, 2))), ValueError, "jax.vmap sorts rows"),
        (lambda: sj.sort(jnp.ones(2) * 1j), TypeError, "a has complex128"),
        (lambda: sj.argsort(jnp.ones(2), dtype="int8"), ValueError, "dtype is 'int8'"),
        (lambda: sj.spmv((jnp.ones(2), ids), jnp.ones(2)), ValueError, "and here are 2"),
        (lambda: sj.spmv(jnp.ones((2, 2)), jnp.ones(2)), TypeError, "no BCSR matrix"),
        (lambda: sj.spmv((jnp.ones(2), ids, ids), jnp.ones(2), transposed=True), ValueError, "needs shape="),
        (lambda: sj.spmv((jnp.ones(2), ids, ids), jnp.ones(3), shape=(1, 2)), ValueError, "x has 3 rows"),
        (lambda: sj.spmv((jnp.ones(2), ids, ids), jnp.ones(2), shape=(4, 2)), ValueError, "indptr has 2 entries"),
        (lambda: sj.spmv((jnp.ones(2, "f4"), ids, ids), jnp.ones(2)), TypeError, "data has float32, and x float64"),
        (lambda: sj.spmm((jnp.ones(2), ids, ids), jnp.ones(2)), ValueError, "spmv multiplies vectors"),
    ]:
        with pytest.raises(kind, match=words):
            wrong()


def test_numbers_of_segments_are_whole_and_static():
    ids, ones = jnp.array([0, 1]), jnp.ones(2)
    for wrong in (2.9, 2.0, True, np.bool_(True), "2", jnp.ones(1), jnp.array(2.0)):
        with pytest.raises(TypeError, match="segment_reduce: num_segments is .*, not an int"):
            sj.segment_sum(ones, ids, wrong)
    for right in (2, np.int64(2), np.uint8(2), jnp.array(2)):
        assert sj.segment_sum(ones, ids, right).shape == (2,)
    with pytest.raises(TypeError, match="num_segments is left out.*inside of jit"):
        jax.jit(lambda i: sj.segment_sum(ones, i))(ids)
    with pytest.raises(TypeError, match="num_segments is traced.*inside of jit"):
        jax.jit(lambda n: sj.segment_sum(ones, ids, n))(2)


def test_what_the_library_refuses_is_an_invalid_argument():
    with pytest.raises(FAULTS, match="INVALID_ARGUMENT.*65,?536"):
        sj.segment_sum(jnp.ones((1, 65537)), jnp.array([0]), 1).block_until_ready()


def test_threads_take_turns(rng):
    from concurrent.futures import ThreadPoolExecutor

    data, ids = rows_of(rng, "float32", 20000, 4), jnp.asarray(rng.integers(0, 50, 20000))
    wanted = sj.segment_sum(data, ids, 50)
    with ThreadPoolExecutor(8) as pool:
        for made in pool.map(lambda _: sj.segment_sum(data, ids, 50), range(32)):
            same(made, wanted)


def test_large_and_small_calls_at_once(rng):
    """The former are done by one thread, the latter by who calls; a bad index is an error of its own call."""
    from concurrent.futures import ThreadPoolExecutor

    large, small = rows_of(rng, "float32", 100000, 4), rows_of(rng, "float32", 50, 4)
    of_large, of_small = (jnp.asarray(rng.integers(0, 50, len(rows))) for rows in (large, small))
    wanted, bad = (sj.segment_sum(large, of_large, 50), sj.segment_sum(small, of_small, 50)), of_large.at[7].set(50)

    def work(turn):
        if turn % 5 == 0:
            with pytest.raises(FAULTS, match=r"index\[7\] is 50"):
                sj.segment_sum(large, bad, 50).block_until_ready()
        same(sj.segment_sum(large, of_large, 50), wanted[0])
        same(sj.segment_sum(small, of_small, 50), wanted[1])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(24)))


def test_an_older_jax_than_that_of_the_build_is_refused(tmp_path):
    from sheaf.jax import _operators

    header = tmp_path / "xla/ffi/api/c_api.h"
    header.parent.mkdir(parents=True)
    major, minor = sheaf._sheaf._jax_version()
    version = "#define XLA_FFI_API_MAJOR {}\n#define XLA_FFI_API_MINOR {}\n"
    header.write_text(version.format(major, minor - 1))
    with pytest.raises(ImportError, match="built with a later jax than"):
        _operators.require_version(tmp_path)
    for later in (minor, minor + 1):
        header.write_text(version.format(major, later))
        _operators.require_version(tmp_path)


def test_calls_of_sheaf_and_of_sheaf_jax_in_one_program():
    program = (
        "import numpy as np, sheaf, jax.numpy as jnp, sheaf.jax\n"
        "a = sheaf.gather(np.arange(4), np.array([3])); b = sheaf.jax.gather(jnp.arange(4), jnp.array([3]))\n"
        "assert int(a[0]) == int(b[0]) == 3"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
