"""Each call against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import sheaf

RECORD = np.dtype([("age", "<i4"), ("name", "S3"), ("size", "<f8")])


def people(rng, n):
    rows = np.zeros(n, RECORD)
    rows["age"] = rng.integers(-5, 5, n)
    rows["name"] = rng.choice([b"ann", b"bo", b"cy", b"d"], n)
    rows["size"] = rng.normal(size=n)
    return rows


def spd(rng, n, dtype=np.float64):
    """A symmetric positive definite matrix: a Laplacian of a random graph plus the identity."""
    a = scipy.sparse.random_array((n, n), density=4 / n, rng=rng, format="csr")
    a = a + a.T
    return (scipy.sparse.diags_array(np.asarray(a.sum(axis=1)).ravel() + 1) - a).tocsr().astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["u1", "i2", "f4", "f8", "c16", "?", "S7", "U3", "M8[ns]", "m8[s]", RECORD, "V5", ">i4", "f2"]
)
def test_gather_moves_every_dtype(rng, dtype):
    table = np.frombuffer(rng.integers(0, 2, 50 * np.dtype(dtype).itemsize, np.uint8).tobytes(), dtype)
    index = rng.integers(0, 50, 70)
    taken = sheaf.gather(table, index)
    assert taken.dtype == table.dtype
    assert taken.tobytes() == table[index].tobytes()


@pytest.mark.parametrize("index_type", ["i4", "i8", "u4", "u8"])
def test_gather_takes_every_index_type_and_shape(rng, index_type):
    table = rng.normal(size=(40, 3, 2))
    index = rng.integers(0, 40, (4, 5)).astype(index_type)
    np.testing.assert_array_equal(sheaf.gather(table, index), table[index])
    out = np.empty((4, 5, 3, 2))
    assert sheaf.gather(table, index, out=out) is out
    np.testing.assert_array_equal(out, table[index])


def test_gather_takes_rows_that_lie_apart(rng):
    table = rng.normal(size=(40, 6))[::2, :4]
    out = np.zeros((7, 9))
    index = rng.integers(0, 20, 7)
    sheaf.gather(table, index, out=out[:, 2:6])
    np.testing.assert_array_equal(out[:, 2:6], table[index])
    assert not out[:, :2].any() and not out[:, 6:].any()


def test_gather_of_nothing_and_of_one(rng):
    assert sheaf.gather(np.zeros((3, 2)), np.zeros(0, np.int64)).shape == (0, 2)
    assert sheaf.gather(np.array([7]), np.array([0])) == [7]


def test_gather_works_on_many_rows(rng):
    table = rng.normal(size=(1 << 16, 4))
    index = rng.permutation(1 << 16)
    np.testing.assert_array_equal(sheaf.gather(table, index, pattern="random"), table[index])


def test_scatter_writes_where_index_says(rng):
    values, index = rng.normal(size=(20, 3)), rng.permutation(30)[:20]
    out, wanted = np.zeros((30, 3)), np.zeros((30, 3))
    wanted[index] = values
    assert sheaf.scatter(values, index, out) is out
    np.testing.assert_array_equal(out, wanted)


def test_scatter_of_the_last_duplicate(rng):
    index = rng.integers(0, 10, 100)
    values, out = np.arange(100), np.full(10, -1)
    wanted = out.copy()
    wanted[index] = values  # NumPy's last one wins, too
    np.testing.assert_array_equal(sheaf.scatter(values, index, out, duplicates="last"), wanted)


@pytest.mark.parametrize(
    "op, ufunc", [("add", np.add), ("min", np.minimum), ("max", np.maximum), ("subtract", np.subtract)]
)
@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8", "f4", "f8"])
def test_scatter_reduce_combines(rng, op, ufunc, dtype):
    values = rng.integers(0, 100, 500).astype(dtype)
    index = rng.integers(0, 20, 500)
    out = rng.integers(0, 100, 20).astype(dtype)
    wanted = out.copy()
    ufunc.at(wanted, index, values)
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, out, op), wanted)


def test_sums_of_floats_have_the_same_bits_every_time(rng):
    values, index = rng.normal(size=100000).astype("f4"), rng.integers(0, 50, 100000)
    once = sheaf.scatter_reduce(values, index, np.zeros(50, "f4"))
    again = sheaf.scatter_reduce(values, index, np.zeros(50, "f4"))
    assert once.tobytes() == again.tobytes()


def test_prepared_movements_do_what_calls_do(rng):
    index, table = rng.permutation(1000), rng.normal(size=(1000, 2))
    take = sheaf.prepare_gather(index, 1000, 16, runs=20)
    np.testing.assert_array_equal(take(table), table[index])
    put = sheaf.prepare_scatter(index, 1000, 16, runs=20)
    wanted = np.zeros((1000, 2))
    wanted[index] = table
    np.testing.assert_array_equal(put(table, np.zeros((1000, 2))), wanted)
    assert set(take.report) == set(put.report) and take.report["variant"]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">u4", "M8[s]"])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_of_numbers(rng, dtype, descending):
    a = rng.integers(0, 100, 300).astype(dtype)
    wanted = np.sort(a)[::-1] if descending else np.sort(a)
    np.testing.assert_array_equal(sheaf.sort(a, descending=descending), wanted)


def test_sort_of_strings_and_of_strided_numbers(rng):
    words = rng.choice([b"", b"a", b"ab", b"b", b"ba"], 50).astype("S2")
    np.testing.assert_array_equal(sheaf.sort(words), np.sort(words))
    a = rng.normal(size=(50, 3))
    np.testing.assert_array_equal(sheaf.sort(a[:, 1]), np.sort(a[:, 1]))


def test_sort_by_fields_is_numpys(rng):
    rows = people(rng, 200)
    np.testing.assert_array_equal(sheaf.sort(rows), np.sort(rows))
    by = sheaf.sort(rows, keys=["name", "age"], descending=[True, False])
    order = np.lexsort((rows["age"], -np.searchsorted([b"ann", b"bo", b"cy", b"d"], rows["name"])))
    np.testing.assert_array_equal(by, rows[order])


def test_sort_of_rows_by_columns(rng):
    rows = rng.integers(0, 4, (100, 3))
    wanted = rows[np.lexsort((-rows[:, 0], rows[:, 2]))]
    np.testing.assert_array_equal(sheaf.sort(rows, keys=[2, 0], descending=[False, True]), wanted)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint32", "uint64"])
def test_argsort_is_stable(rng, dtype):
    a = rng.integers(0, 10, 500)
    order = sheaf.argsort(a, dtype=dtype)
    assert order.dtype == dtype
    np.testing.assert_array_equal(order, np.argsort(a, kind="stable"))


def test_sort_pairs_carries_values_along(rng):
    k, v, w = rng.integers(0, 50, 300), rng.normal(size=(300, 2)), people(rng, 300)
    order = np.argsort(k, kind="stable")
    for got, wanted in zip(sheaf.sort_pairs(k, v, w), (k[order], v[order], w[order]), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_split_brings_categories_together(rng):
    a, key = rng.normal(size=(200, 2)), rng.integers(0, 7, 200).astype(np.int32)
    out, offsets = sheaf.split(a, key, 7)
    np.testing.assert_array_equal(out, a[np.argsort(key, kind="stable")])
    np.testing.assert_array_equal(offsets, np.searchsorted(np.sort(key), np.arange(8)))
    loose, _ = sheaf.split(a, key, 7, stable=False)
    for c in range(7):
        part = slice(offsets[c], offsets[c + 1])
        np.testing.assert_array_equal(np.sort(loose[part], axis=0), np.sort(out[part], axis=0))


def test_split_by_bits(rng):
    a = rng.integers(0, 1 << 16, 300).astype(np.uint32)
    order = np.argsort(a >> 4 & 15, kind="stable")
    out, offsets = sheaf.split(a, bits=(4, 4))
    np.testing.assert_array_equal(out, a[order])
    assert offsets[-1] == 300 and len(offsets) == 17
    np.testing.assert_array_equal(sheaf.split(np.arange(300), a, bits=(4, 4))[0], order)
    wide = a.astype(np.uint64)
    out, none = sheaf.split(wide, bits=(0, 40))
    np.testing.assert_array_equal(out, np.sort(wide))
    assert none is None


def test_split_index_is_where_rows_come_from_and_go_to(rng):
    key = rng.integers(0, 256, 300).astype(np.uint8)
    index, offsets = sheaf.split_index(key)
    np.testing.assert_array_equal(index, np.argsort(key, kind="stable"))
    assert len(offsets) == 257
    inverse, _ = sheaf.split_index(key, inverse=True)
    np.testing.assert_array_equal(inverse[index], np.arange(300))


def test_multi_split_writes_rows_to_each_of_their_categories(rng):
    counts = rng.integers(0, 4, 50)
    first = np.concatenate([[0], np.cumsum(counts)])
    category = rng.integers(0, 5, first[-1]).astype(np.int32)
    a = rng.normal(size=50)
    out, sources, offsets = sheaf.multi_split(a, first, category, 5)
    row = np.repeat(np.arange(50), counts)
    np.testing.assert_array_equal(sources, row[np.argsort(category, kind="stable")])
    np.testing.assert_array_equal(out, a[sources])
    np.testing.assert_array_equal(offsets, np.searchsorted(np.sort(category), np.arange(6)))


@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "S8"])
def test_hash_index_finds_what_is_there(rng, dtype):
    keys = rng.integers(0, 60, 100).astype(dtype)
    probes = rng.integers(0, 90, 200).astype(dtype)
    index = sheaf.HashIndex(keys)
    rows = [np.flatnonzero(keys == p) for p in probes]
    np.testing.assert_array_equal(index.count(probes), [len(r) for r in rows])
    np.testing.assert_array_equal(index.contains(probes), [len(r) > 0 for r in rows])
    np.testing.assert_array_equal(index.find(probes), [r[0] if len(r) else -1 for r in rows])
    offsets, ids = index.search(probes)
    np.testing.assert_array_equal(ids, np.concatenate(rows))
    np.testing.assert_array_equal(np.diff(offsets), [len(r) for r in rows])
    assert len(index) == 100 and index.distinct == len(np.unique(keys))
    ids[:] = 0  # memory of one's own, which outlives the index
    del index
    assert not ids.any()


def test_hash_index_of_a_field_and_of_nothing(rng):
    rows = people(rng, 50)
    assert sheaf.HashIndex(rows["age"]).count(np.array([rows["age"][0]], "i4"))[0] >= 1
    empty = sheaf.HashIndex(np.zeros(0, np.int64))
    assert list(empty.find(np.array([1, 2]))) == [-1, -1]
    offsets, ids = empty.search(np.array([1, 2]))
    assert list(offsets) == [0, 0, 0] and len(ids) == 0


def a_list(rng, n):
    order = rng.permutation(n)
    successor = np.full(n, -1)
    successor[order[:-1]] = order[1:]
    return order, successor


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_list_rank(rng, dtype):
    order, successor = a_list(rng, 400)
    rank = sheaf.list_rank(successor.astype(dtype))
    assert rank.dtype == dtype
    np.testing.assert_array_equal(rank[order], np.arange(400))


@pytest.mark.parametrize(
    "op, combine", [("add", np.add), ("min", np.minimum), ("max", np.maximum), ("bit_xor", np.bitwise_xor)]
)
def test_list_scan(rng, op, combine):
    order, successor = a_list(rng, 400)
    values = rng.integers(0, 1000, 400)
    np.testing.assert_array_equal(sheaf.list_scan(successor, values, op)[order], combine.accumulate(values[order]))


def test_list_scan_that_is_exclusive(rng):
    order, successor = a_list(rng, 400)
    values = rng.integers(0, 1000, 400).astype("f8")
    wanted = 5 + np.concatenate([[0], np.cumsum(values[order])[:-1]])
    np.testing.assert_array_equal(sheaf.list_scan(successor, values, initial=5)[order], wanted)


def test_lists_may_be_many():
    np.testing.assert_array_equal(sheaf.list_rank(np.array([1, -1, 3, 3]), lists="many"), [0, 1, 0, 1])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_csr_multiplies_as_scipy_does(rng, dtype):
    a = scipy.sparse.random_array((60, 40), density=0.1, rng=rng, format="csr").astype(dtype)
    x, y = rng.normal(size=40).astype(dtype), rng.normal(size=60).astype(dtype)
    m = sheaf.csr(a)
    near = {"rtol": 1e-5 if dtype == "f4" else 1e-12, "atol": 1e-6}
    np.testing.assert_allclose(m @ x, a @ x, **near)
    np.testing.assert_allclose(m.rmatvec(y), a.T @ y, **near)
    np.testing.assert_allclose(m.rmatvec(y, out=x.copy(), alpha=2, beta=3, order="any"), 2 * (a.T @ y) + 3 * x, **near)
    np.testing.assert_allclose(m.matvec(x, out=y.copy(), alpha=2, beta=3), 2 * (a @ x) + 3 * y, **near)
    np.testing.assert_allclose(m.prepare(20) @ x, a @ x, **near)
    np.testing.assert_allclose(m.prepare(20, transposed=True).matvec(y), a.T @ y, **near)
    assert m.shape == (60, 40) and m.dtype == dtype and m.nnz == a.nnz
    operator = scipy.sparse.linalg.aslinearoperator(m)
    np.testing.assert_allclose(operator @ x, a @ x, **near)
    np.testing.assert_allclose(operator.T @ y, a.T @ y, **near)


def test_any_order_is_that_of_the_rows_on_the_cpu(rng):
    # In this order the sum is 0, in others 1.
    cancelling = sheaf.csr(scipy.sparse.csr_array(np.array([[1e16], [1.0], [-1e16]])))
    many = scipy.sparse.random_array((20000, 50), density=0.1, rng=rng, format="csr")
    many.data *= 10.0 ** rng.integers(-12, 12, many.nnz)
    x, rows = rng.normal(size=20000), rng.normal(size=(20000, 3))
    edges = rng.integers(0, 50, (20000, 2))
    nodes = rng.normal(size=50) * 10.0 ** rng.integers(-12, 12, 50)
    made = {"rmatvec": set(), "prepare": set(), "spmm": set(), "edge_sum": set()}
    for threads in (1, 2, 5):
        with sheaf.context("cpu", threads=threads):
            for order in ("deterministic", "any"):
                assert cancelling.rmatvec(np.ones(3), order=order).tolist() == [0.0]
                made["rmatvec"].add(sheaf.csr(many).rmatvec(x, order=order).tobytes())
                kept = sheaf.csr(many).prepare(1, transposed=True, order=order, variant="kept")
                made["prepare"].add(kept.matvec(x).tobytes())
                product = sheaf.spmm(many, rows, transposed=True, order=order, variant="cpu.by_value")
                made["spmm"].add(product.tobytes())
                made["edge_sum"].add(sheaf.edge_sum(edges, nodes, order=order).tobytes())
    assert {name: len(bits) for name, bits in made.items()} == dict.fromkeys(made, 1)
    assert made["rmatvec"] == made["prepare"]


@pytest.mark.parametrize("call", ["csr.rmatvec", "csr.prepare", "spmm", "prepare_spmm", "edge_sum", "scatter_reduce"])
def test_an_order_is_one_of_two_words(call):
    a, two = sheaf.csr(scipy.sparse.csr_array(np.eye(2))), np.ones(2)
    index = np.arange(2)
    arguments = {
        "csr.rmatvec": (a, two),
        "csr.prepare": (a, 10),
        "spmm": (a, np.ones((2, 2))),
        "prepare_spmm": (a, 10),
        "edge_sum": (np.array([[0, 1]]), two),
        "scatter_reduce": (two, index, two),
    }[call]
    for order in ("deterministic", "any"):
        assert sheaf.explain(call, *arguments, order=order).choice
    for order in ("unordered", "Any", "", None, 1):
        with pytest.raises((ValueError, TypeError), match="order"):
            sheaf.explain(call, *arguments, order=order)


def test_the_order_that_is_allowed_reaches_plans():
    reasons = {}
    for order in ("deterministic", "any"):
        plan = sheaf.explain("scatter_reduce", np.ones(1000), np.arange(1000) % 10, np.zeros(10), order=order)
        reasons[order] = {v["variant"]: v["applicable"] for v in plan.variants}
    assert not reasons["deterministic"]["cpu.private"] and reasons["any"]["cpu.private"]


def test_csr_of_arrays_and_of_four_arrays():
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1]), np.array([0, 2, 3])
    x = np.array([1.0, 10.0])
    np.testing.assert_array_equal(sheaf.csr((data, indices, indptr), (2, 2)) @ x, [21.0, 30.0])
    begins, ends = np.array([2, 0]), np.array([3, 2])
    np.testing.assert_array_equal(sheaf.csr((data, indices, begins, ends), (2, 2)) @ x, [30.0, 21.0])


class TorchLikeTensor:
    """What csr() asks of a sparse tensor of torch, whose layout is no string."""

    class Layout:
        def __init__(self, name):
            self.name = name

        def __str__(self):
            return f"torch.{self.name}"

    def __init__(self, a, layout="sparse_csr"):
        self.a, self.shape, self.layout = a, a.shape, self.Layout(layout)

    def values(self):
        return self.a.data

    def col_indices(self):
        return self.a.indices

    def crow_indices(self):
        return self.a.indptr


def test_csr_of_tensors_in_torchs_layout(rng):
    a = scipy.sparse.random_array((40, 30), density=0.2, rng=rng, format="csr")
    x = rng.normal(size=30)
    np.testing.assert_allclose(sheaf.csr(TorchLikeTensor(a)) @ x, a @ x)
    with pytest.raises(ValueError, match="torch.sparse_csr"):
        sheaf.csr(TorchLikeTensor(a, "sparse_bsr"))


def test_csr_holds_its_arrays():
    m = sheaf.csr((np.ones(100000), np.arange(100000), np.arange(100001)), (100000, 100000))
    np.full(100000, 7.0)  # would take the memory of arrays that nobody holds
    np.testing.assert_array_equal(m @ np.ones(100000), np.ones(100000))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg_solves(rng, dtype, M):
    a, b = spd(rng, 200, dtype), rng.normal(size=200).astype(dtype)
    x, info = sheaf.cg(a, b, M=M)
    assert info == 0 and x.dtype == dtype
    assert np.linalg.norm(a @ x - b) <= 1.1e-5 * np.linalg.norm(b)


def test_cg_takes_scipys_arguments(rng):
    a, b = spd(rng, 200), rng.normal(size=200)
    wanted, _ = scipy.sparse.linalg.cg(a, b, rtol=1e-10)
    x0 = rng.normal(size=200)
    before = x0.copy()
    x, info = sheaf.cg(a, b, x0, rtol=1e-10, atol=0.0, maxiter=1000)
    np.testing.assert_allclose(x, wanted, rtol=1e-6)
    np.testing.assert_array_equal(x0, before)
    _, info = sheaf.cg(a, b, rtol=1e-14, maxiter=3)
    assert info == 3
    assert sheaf.cg(a, np.zeros(200))[1] == 0


def test_cg_by_an_operator(rng):
    a, b = spd(rng, 100), rng.normal(size=100)
    wanted, _ = sheaf.cg(a, b, rtol=1e-10)
    for operator in (scipy.sparse.linalg.aslinearoperator(a), lambda x: a @ x, sheaf.csr(a).matvec):
        x, info = sheaf.cg(operator, b, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(x, wanted, rtol=1e-6)

    def raises(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sheaf.cg(raises, b)
    with pytest.raises(ValueError, match="another shape"):
        sheaf.cg(lambda x: x[:5], b)


def test_cg_tells_its_callback(rng):
    a, b = spd(rng, 100), rng.normal(size=100)
    seen = []
    sheaf.cg(a, b, callback=seen.append)
    assert [p.iterations for p in seen] == list(range(len(seen))) and seen[-1].residual <= seen[-1].target
    _, info = sheaf.cg(a, b, callback=lambda p: p.iterations < 2)
    assert info == 2

    def raises(p):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sheaf.cg(a, b, callback=raises)


def test_cg_says_what_is_not_positive_definite():
    assert sheaf.cg(scipy.sparse.csr_array(-np.eye(3)), np.ones(3))[1] == -2
    assert sheaf.cg(scipy.sparse.csr_array(np.eye(3)), np.full(3, np.nan))[1] == -1


def edge_sums(edges, values, weights, nodes):
    wanted = np.zeros_like(values)
    difference = values[edges[:, 1]] - values[edges[:, 0]]
    if weights is not None:
        difference = (difference.T * weights).T
    np.add.at(wanted, edges[:, 0], difference)
    np.subtract.at(wanted, edges[:, 1], difference)
    return wanted


@pytest.mark.parametrize("components", [None, 1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_edge_sum(rng, components, weighted):
    edges = rng.integers(0, 50, (300, 2))
    values = rng.normal(size=50 if components is None else (50, components))
    weights = rng.normal(size=300) if weighted else None
    wanted = edge_sums(edges, values, weights, 50)
    np.testing.assert_allclose(sheaf.edge_sum(edges, values, weights), wanted, atol=1e-12)
    ends = tuple(np.ascontiguousarray(edges.T))
    np.testing.assert_allclose(sheaf.edge_sum(ends, values, weights), wanted, atol=1e-12)
    prepared = sheaf.prepare_edge_sum(edges, 50, components or 1, runs=3, edge_weights=int(weighted))
    np.testing.assert_allclose(prepared(values, weights), wanted, atol=1e-12)


def test_edge_sum_of_forces():
    got = sheaf.edge_sum(np.array([[0, 1]]), np.array([[0.0, 0.0], [2.0, 0.0]]), function="inverse_square")
    np.testing.assert_array_equal(got, [[0.25, 0.0], [-0.25, 0.0]])


def test_top_k(rng):
    a = rng.permutation(100)
    values, index = sheaf.top_k(a, 5)
    np.testing.assert_array_equal(values, [99, 98, 97, 96, 95])
    np.testing.assert_array_equal(a[index], values)
    np.testing.assert_array_equal(sheaf.top_k(a, 2, largest=False)[0], [0, 1])
    with pytest.raises(ValueError, match="k is 101"):
        sheaf.top_k(a, 101)


def test_explain_says_what_would_run_and_runs_nothing(rng):
    out = np.zeros(10)
    plan = sheaf.explain("gather", np.ones(1000), np.arange(10), out=out)
    assert not out.any()
    assert plan.primitive == "gather" and plan.choice in [v["variant"] for v in plan.variants]
    assert (
        "* " + plan.choice in repr(plan)
        and "<table>" in plan._repr_html_()
        and f"<b>{plan.choice}</b>" in plan._repr_html_()
    )
    matrix = sheaf.csr(scipy.sparse.csr_array(np.eye(3)))
    index = sheaf.HashIndex(np.arange(5))
    calls = [
        ("scatter", np.ones(5), np.arange(5), np.zeros(5)),
        ("scatter_reduce", np.ones(5), np.arange(5), np.zeros(5)),
        ("sort", np.arange(5)),
        ("argsort", np.arange(5)),
        ("sort_pairs", np.arange(5), np.arange(5)),
        ("split", np.arange(5), np.zeros(5, bool)),
        ("split_index", np.zeros(5, bool)),
        ("list_rank", np.array([-1])),
        ("list_scan", np.array([-1]), np.array([1.0])),
        ("HashIndex", np.arange(5)),
        ("cg", matrix, np.ones(3)),
        ("csr.matvec", matrix, np.ones(3)),
        ("csr.rmatvec", matrix, np.ones(3)),
        ("csr.prepare", matrix, 10),
        ("HashIndex.find", index, np.arange(3)),
        ("HashIndex.search", index, np.arange(3)),
        ("edge_sum", np.array([[0, 1]]), np.ones(2)),
        ("scatter_reduce", np.ones((5, 2)), np.arange(5), np.zeros((5, 2)), "mean"),
        ("gather_reduce", np.ones((5, 2)), np.arange(5), np.array([0, 5])),
        ("spmm", matrix, np.ones((3, 2))),
    ]
    for name, *arguments in calls:
        assert sheaf.explain(name, *arguments).choice is not None, name
    with pytest.raises(ValueError, match="no call 'nothing'"):
        sheaf.explain("nothing")
    with pytest.raises(ValueError, match="there is no plan of prepare_gather"):
        sheaf.explain("prepare_gather", np.arange(3), 3, 8, 10)
    with pytest.raises(ValueError, match="shape"):
        sheaf.explain("gather", np.ones(1000), np.arange(10), out=np.zeros(3))


def test_machine_is_what_plans_go_by():
    with sheaf.context("cpu", threads=1) as ctx:
        profile = sheaf.machine(ctx)
        assert profile["backend"] == "cpu"
        profile["name"] = "another"
        assert sheaf.machine(ctx, use=profile)["name"] == "another"
        assert sheaf.explain("gather", np.ones(5), np.arange(5)).machine == "another"
        with pytest.raises(ValueError, match="machine\\(use=\\)"):
            sheaf.machine(ctx, use={"name": "nothing"})


def test_calibrate_measures_and_plans_by_it():
    steps = []
    with sheaf.context("cpu", threads=1) as ctx:
        try:
            profile = sheaf.calibrate(0.3, progress=lambda what, share: steps.append((what, share)))
        except sheaf.MeasurementFailed:
            pytest.skip("the machine is too busy to be measured")
        assert sheaf.machine(ctx)["copy_bytes_per_second"] == profile["copy_bytes_per_second"] > 0
    assert len(steps) > 10 and steps[0][1] == 0
    with pytest.raises(ValueError, match="not above 0"):
        sheaf.calibrate(0)
    with pytest.raises(ZeroDivisionError):
        sheaf.calibrate(0.3, progress=lambda what, share: 1 / 0)


def test_opengl_by_name():
    if not sheaf.has_opengl:
        pytest.skip("built without OpenGL")
    try:
        ctx = sheaf.context("opengl")
    except sheaf.BackendUnavailable:
        pytest.skip("no device for OpenGL")
    table, index = np.arange(10, dtype="f4"), np.array([3, 1], "i4")
    np.testing.assert_array_equal(sheaf.gather(table, index, ctx=ctx), [3, 1])
    with pytest.raises(IndexError, match="index\\[0\\] is 30"):
        sheaf.gather(table, np.array([30], "i4"), ctx=ctx)
    with pytest.raises(NotImplementedError, match="opengl"):
        sheaf.sort(table, ctx=ctx)
