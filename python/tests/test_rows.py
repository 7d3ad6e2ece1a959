"""Rows of numbers, combined by lists and multiplied by sparse matrices, against NumPy and SciPy in float64."""

import sys

import numpy as np
import pytest
import scipy.sparse

import sheaf

UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum, "subtract": np.subtract, "mul": np.multiply}
NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
WIDER = [("i1", "i4"), ("i1", "i8"), ("i2", "i4"), ("i2", "i8"), ("u1", "u4"), ("u1", "u8"), ("u2", "u4"), ("u2", "u8")]


def combined(values, index, out, op, start="out"):
    """scatter_reduce by NumPy, in out's type; floats in float64."""
    whole = out.astype("f8") if out.dtype.kind == "f" else out.copy()
    came = np.bincount(index, minlength=len(out)).astype(np.int64)
    if op == "count":
        return whole * (start == "out") + came.reshape(-1, *[1] * (out.ndim - 1))
    if start == "identity":
        limits = (-np.inf, np.inf) if out.dtype.kind == "f" else (np.iinfo(out.dtype).min, np.iinfo(out.dtype).max)
        whole[...] = {"mul": 1, "min": limits[1], "max": limits[0]}.get(op, 0)
    ufunc = np.add if op == "mean" else UFUNCS[op]
    ufunc.at(whole, index, values.astype(whole.dtype))
    if op == "mean":
        rows = np.maximum(came + (start == "out"), 1).reshape(-1, *[1] * (out.ndim - 1))
        whole = np.trunc(whole / rows) if out.dtype.kind != "f" else whole / rows
    return whole


def near(dtype):
    return {"f2": 1e-2, "f4": 1e-5, "f8": 1e-12}.get(np.dtype(dtype).str[1:], 0)


@pytest.mark.parametrize("op", [*UFUNCS, "mean", "count"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_scatter_reduce_of_rows(rng, op, dtype):
    values = rng.integers(1, 3, (60, 5)).astype(dtype)
    index = rng.integers(0, 12, 60)
    out = rng.integers(3, 9, (13, 5)).astype(dtype)  # no row comes to the last one
    wanted = combined(values, index, out, op).astype(dtype)
    kept = out[12].copy()
    assert sheaf.scatter_reduce(values, index, out, op) is out
    np.testing.assert_allclose(out, wanted, rtol=near(dtype))
    np.testing.assert_array_equal(out[12], kept)


@pytest.mark.parametrize("op", [*UFUNCS, "mean", "count"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_a_new_output_begins_with_the_identity(rng, op, dtype):
    values = rng.integers(1, 3, (60, 3)).astype(dtype)
    index = rng.integers(0, 12, 60).astype("i4")
    made, counts = sheaf.scatter_reduce(values, index, op=op, size=13, counts=True)
    assert made.shape == (13, 3) and made.dtype == (np.int64 if op == "count" else dtype)
    wanted = combined(values, index, np.zeros((13, 3), made.dtype), op, "identity")
    np.testing.assert_allclose(made, wanted.astype(made.dtype), rtol=near(dtype))
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, np.bincount(index, minlength=13))


def test_start_and_counts_by_word(rng):
    values, index = rng.normal(size=(50, 4)), rng.integers(0, 9, 50)
    out, counts = np.full((10, 4), np.nan), np.full(10, 99, np.uint32)
    got = sheaf.scatter_reduce(values, index, out, start="identity", counts=counts)
    assert got[0] is out and got[1] is counts
    np.testing.assert_allclose(out, combined(values, index, np.zeros((10, 4)), "add"))
    np.testing.assert_array_equal(counts, np.bincount(index, minlength=10))
    assert np.isnan(sheaf.scatter_reduce(values, index, np.full((10, 4), np.nan), start="out")).all()
    assert sheaf.scatter_reduce(values, index, size=10, counts=False).shape == (10, 4)


@pytest.mark.parametrize("narrow, wide", [("f2", "f4"), *WIDER])
def test_outputs_may_be_wider(rng, narrow, wide):
    values, index = np.full((4000, 2), 60, narrow), np.zeros(4000, np.int64)
    got = sheaf.scatter_reduce(values, index, size=1, dtype=np.dtype(wide))
    assert got.dtype == wide
    np.testing.assert_array_equal(got, np.full((1, 2), 60 * 4000 % 2**32))
    name = np.dtype(wide).name
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, size=1, dtype=name), got)
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, np.zeros((1, 2), wide)), got)
    np.testing.assert_array_equal(sheaf.gather_reduce(values, index, np.array([0, 4000]), dtype=getattr(np, name)), got)


@pytest.mark.parametrize(
    "one, other", [("f4", "f8"), ("f8", "f4"), ("i1", "u4"), ("i4", "i8"), ("f2", "f8"), ("u1", "u2")]
)
def test_types_that_do_not_go_together(one, other):
    values, index, out = np.ones((2, 3), one), np.array([0, 1]), np.zeros((2, 3), other)
    with pytest.raises(ValueError, match="values of type"):
        sheaf.scatter_reduce(values, index, out)
    with pytest.raises(ValueError, match="values of type"):
        sheaf.gather_reduce(values, index, np.array([0, 1, 2]), out=out)
    assert not out.any()


def test_rows_may_lie_apart_and_have_dimensions(rng):
    whole, index = rng.normal(size=(80, 9)), rng.integers(0, 6, 40)
    out = np.full((12, 7), 5.0)
    sheaf.scatter_reduce(whole[::2, 2:6], index, out[::2, 1:5])
    wanted = np.full((12, 7), 5.0)
    np.add.at(wanted[::2, 1:5], index, whole[::2, 2:6])
    np.testing.assert_allclose(out, wanted)
    deep, lists = rng.normal(size=(4, 5, 3, 2)), rng.integers(0, 6, (4, 5))
    got = sheaf.scatter_reduce(deep, lists, size=6)
    assert got.shape == (6, 3, 2)
    np.testing.assert_allclose(got, combined(deep.reshape(20, 3, 2), lists.ravel(), np.zeros((6, 3, 2)), "add"))
    column = whole[:40, 3]  # numbers that lie apart are rows of one
    np.testing.assert_allclose(
        sheaf.scatter_reduce(column, index, size=6), np.bincount(index, column, minlength=6), atol=1e-12
    )


def test_rows_of_nothing_and_of_one():
    none = np.zeros(0, np.int64)
    out = np.array([[1.0, 2.0]])
    assert sheaf.scatter_reduce(np.zeros((0, 2)), none, out) is out and out.tolist() == [[1.0, 2.0]]
    assert sheaf.scatter_reduce(np.zeros((0, 2)), none, size=3, op="mul").tolist() == [[1.0, 1.0]] * 3
    assert sheaf.scatter_reduce(np.zeros((0, 2)), none, size=0).shape == (0, 2)
    assert sheaf.scatter_reduce(np.array([[7]]), np.array([0]), size=1).tolist() == [[7]]
    assert sheaf.gather_reduce(np.zeros((0, 2)), none, np.array([0])).shape == (0, 2)
    assert sheaf.gather_reduce(np.zeros((0, 2)), none, np.array([0, 0]), "max").tolist() == [[-np.inf] * 2]
    empty = sheaf.csr((np.zeros(0), none, np.zeros(3, int)), (2, 2))
    assert (empty @ np.ones((2, 3))).tolist() == [[0.0] * 3] * 2


def test_sums_of_rows_have_the_same_bits_for_all_threads(rng):
    values, index = rng.normal(size=(20000, 3)).astype("f4"), (rng.pareto(1, 20000) % 50).astype(int)
    made = []
    for threads in (1, 2, 5):
        with sheaf.context("cpu", threads=threads):
            made.append(sheaf.scatter_reduce(values, index, size=50).tobytes())
            made.append(sheaf.scatter_reduce(values, index, size=50).tobytes())
    assert len(set(made)) == 1
    loose = sheaf.scatter_reduce(values, index, size=50, order="any")
    np.testing.assert_allclose(loose, combined(values, index, np.zeros((50, 3)), "add"), rtol=1e-3, atol=1e-3)


def test_an_order_of_work_is_planned_and_named(rng):
    values, index = rng.normal(size=(1000, 8)), rng.integers(0, 30, 1000)
    out = np.zeros((30, 8))
    plan = sheaf.explain("scatter_reduce", values, index, out)
    assert plan.primitive == "scatter_reduce_rows" and not out.any()
    wanted = combined(values, index, out, "add")
    names = [v["variant"] for v in plan.variants if v["applicable"]]
    assert len(names) > 2
    for variant in names:
        np.testing.assert_allclose(sheaf.scatter_reduce(values, index, size=30, variant=variant), wanted)
    assert sheaf.explain("scatter_reduce", values[:, 0].copy(), index, out[:, 0].copy()).primitive == "scatter_reduce"
    offsets = np.array([0, 500, 1000])
    assert sheaf.explain("gather_reduce", values, index, offsets).choice == "cpu.segments"
    a = scipy.sparse.csr_array(np.eye(30))
    assert sheaf.explain("spmm", a, out).primitive == "spmm"
    assert sheaf.explain("spmm", a, out[:, :1].copy()).choice == "vector"
    assert sheaf.explain("prepare_spmm", a, runs=100).primitive == "prepare_spmm"
    assert sheaf.explain("prepare_scatter_reduce", index, 30, runs=100).primitive == "prepare_scatter_reduce"


def test_prepared_reductions(rng):
    index = rng.integers(0, 20, 500)
    combine = sheaf.prepare_scatter_reduce(index, 21, runs=50, row_bytes=24)
    assert set(combine.report) >= {"variant", "kept_bytes"}
    index_before, index[:] = index.copy(), 0  # it is not needed afterwards
    for op in [*UFUNCS, "mean", "count"]:
        values = rng.integers(1, 3, (500, 3)).astype("f8")
        out = rng.normal(size=(21, 3))
        wanted = combined(values, index_before, out, op)
        assert combine(values, out, op) is out
        np.testing.assert_allclose(out, wanted)
        made, counts = combine(values, op=op, counts=True, dtype="float64")
        np.testing.assert_allclose(made, combined(values, index_before, out, op, "identity"))
        np.testing.assert_array_equal(counts, np.bincount(index_before, minlength=21))
    small = rng.integers(-9, 9, (1000, 2)).astype("i1")[::2]
    got = combine(small, dtype="int32")
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, combined(small, index_before, np.zeros((21, 2), "i4"), "add"))
    for variant in ("kept", "cpu.by_slot"):
        again = sheaf.prepare_scatter_reduce(index_before, 21, runs=5, variant=variant)
        assert again.report["variant"] == variant
        np.testing.assert_allclose(again(small.astype("f4")), got)
    with pytest.raises(ValueError, match="500"):
        combine(np.ones((4, 3)))
    with pytest.raises(ValueError, match="rows of out"):
        combine(np.ones((500, 3)), np.ones((21, 4)))
    with pytest.raises(ValueError, match="21"):
        combine(np.ones((500, 3)), np.ones((20, 3)))


def segments(table, index, offsets, op, weights=None):
    whole = table.astype("f8") if table.dtype.kind == "f" else table.astype("i8")
    made = []
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        rows = whole[index[begin:end]]
        if weights is not None:
            rows = (rows.T * weights[begin:end]).T
        if op == "count":
            made.append(np.full(whole.shape[1:], end - begin))
        elif op == "mean":
            made.append(rows.sum(axis=0) / max(1, end - begin))
        else:
            made.append({"add": np.sum, "min": np.min, "max": np.max, "mul": np.prod}[op](rows, axis=0))
    return np.array(made)


@pytest.mark.parametrize("op", ["add", "min", "max", "mul", "mean", "count"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u1"])
@pytest.mark.parametrize("row", [(), (1,), (5,), (2, 3)])
def test_gather_reduce(rng, op, dtype, row):
    table = rng.integers(1, 3, (30, *row)).astype(dtype)
    index = rng.integers(0, 30, 60)
    offsets = np.array([2, 3, 10, 30, 36, 37, 41])  # none is empty; some entries belong to none
    if op == "mul" and dtype in ("f2", "u1"):
        offsets = np.array([2, 3, 8, 15, 16])
    wanted = segments(table, index, offsets, op)
    got = sheaf.gather_reduce(table, index, offsets, op)
    assert got.shape == wanted.shape and got.dtype == (np.int64 if op == "count" else dtype)
    if np.dtype(dtype).kind != "f":
        wanted = np.trunc(wanted)
    np.testing.assert_allclose(got, wanted, rtol=near(dtype))
    out = np.full_like(got, 77)
    assert sheaf.gather_reduce(table, index.astype("u4"), offsets.astype("i4"), op, out=out) is out
    np.testing.assert_array_equal(out, got)


@pytest.mark.parametrize("table_type, weight_type", [("f8", "f8"), ("f4", "f4"), ("f2", "f2"), ("f2", "f4")])
@pytest.mark.parametrize("op", ["add", "mean"])
def test_gather_reduce_by_weights(rng, table_type, weight_type, op):
    table = rng.normal(size=(60, 4)).astype(table_type)[::2, 1:]
    index, weights = rng.integers(0, 30, 90), rng.normal(size=90).astype(weight_type)
    offsets = np.sort(np.concatenate([[0, 90], rng.integers(0, 91, 9)]))
    wanted = segments(table, index, offsets, op, weights.astype("f8"))
    got = sheaf.gather_reduce(table, index, offsets, op, weights=weights)
    np.testing.assert_allclose(got, wanted, rtol=near(table_type), atol=3 * near(table_type))
    out = np.full((10, 5), 2.0, table_type)
    sheaf.gather_reduce(table, index, offsets, weights=weights, out=out[:, 1:4], start="out")
    wanted = 2 + segments(table, index, offsets, "add", weights.astype("f8"))
    np.testing.assert_allclose(out[:, 1:4], wanted, rtol=near(table_type), atol=9 * near(table_type))
    assert (out[:, [0, 4]] == 2).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [1, 3, 64])
@pytest.mark.parametrize("transposed", [False, True])
def test_spmm(rng, dtype, columns, transposed):
    a = scipy.sparse.random_array((60, 40), density=0.1, rng=rng, format="csr").astype(dtype)
    plain = a.astype("f8").T if transposed else a.astype("f8")
    x = rng.normal(size=(plain.shape[1] * 2, columns + 3)).astype(dtype)[::2, 1 : columns + 1]
    close = {"rtol": 10 * near(dtype), "atol": 10 * near(dtype)}
    got = sheaf.spmm(a, x, transposed=transposed)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, plain @ x, **close)
    y = rng.normal(size=(plain.shape[0], columns + 2)).astype(dtype)
    before, part = y.copy(), y[:, 1 : columns + 1]
    assert sheaf.spmm(sheaf.csr(a), x, part, alpha=2, beta=3, transposed=transposed) is part
    np.testing.assert_allclose(part, 2 * (plain @ x) + 3 * before[:, 1 : columns + 1], **close)
    assert (y[:, [0, -1]] == before[:, [0, -1]]).all()
    assert sheaf.spmm(a, x, transposed=transposed, order="any").tobytes() == got.tobytes()  # on the CPU
    out = np.full((plain.shape[0], columns), np.nan, dtype)
    np.testing.assert_allclose(sheaf.spmm(a, x, out, transposed=transposed), plain @ x, **close)
    for variant in ("", "kept"):
        prepared = sheaf.prepare_spmm(a, 30, columns=columns, transposed=transposed, variant=variant)
        np.testing.assert_allclose(prepared @ x, plain @ x, **close)
        prepared(x, out, alpha=-1)
        np.testing.assert_allclose(out, -(plain @ x), **close)
        assert prepared.report["variant"]
    if not transposed:
        np.testing.assert_allclose(sheaf.csr(a) @ x, plain @ x, **close)


def test_spmm_of_16_bits(rng):
    a = scipy.sparse.random_array((50, 40), density=0.2, rng=rng, format="csr")
    x = rng.normal(size=(40, 8)).astype("f2")
    for data in ("f2", "f4"):
        m = sheaf.csr((a.data.astype(data), a.indices, a.indptr), (50, 40))
        rounded = a.data.astype(data).astype("f8")
        wanted = scipy.sparse.csr_array((rounded, a.indices, a.indptr), (50, 40)) @ x.astype("f8")
        got = m @ x
        assert got.dtype == np.float16
        np.testing.assert_allclose(got, wanted, rtol=1e-2, atol=1e-2)
        wide = sheaf.spmm(m, x, dtype="float32")
        assert wide.dtype == np.float32
        np.testing.assert_allclose(wide, wanted, rtol=1e-5, atol=1e-5)
    half = sheaf.csr((a.data.astype("f2"), a.indices, a.indptr), (50, 40))
    for call in (lambda: half @ np.ones(40), lambda: half.prepare(3), lambda: sheaf.cg(half, np.ones(40))):
        with pytest.raises(ValueError, match="data has float16, by which spmm alone multiplies"):
            call()


def test_a_prepared_matrix_is_held(rng):
    prepared = sheaf.prepare_spmm(scipy.sparse.csr_array(np.diag(np.arange(1.0, 1001))), 10, variant="kept")
    np.full(3000, 7.0)  # would take the memory of arrays that nobody holds
    np.testing.assert_array_equal(prepared @ np.ones((1000, 2)), np.repeat(np.arange(1.0, 1001), 2).reshape(-1, 2))


def test_bfloat16(rng):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    values = rng.normal(size=(300, 4)).astype(bfloat16)
    index = rng.integers(0, 7, 300)
    wanted = combined(values.astype("f8"), index, np.zeros((7, 4)), "add")
    got = sheaf.scatter_reduce(values, index, size=7)
    assert got.dtype == bfloat16
    np.testing.assert_allclose(got.astype("f8"), wanted, rtol=1e-2, atol=0.1)
    wide = sheaf.scatter_reduce(values, index, size=7, dtype="float32")
    assert wide.dtype == np.float32
    np.testing.assert_allclose(wide, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(got, wide.astype(bfloat16))  # rounded once
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, size=7, dtype=bfloat16), got)
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, np.zeros((7, 4), bfloat16)), got)
    offsets = np.array([0, 100, 300])
    most = sheaf.gather_reduce(values, index, offsets, "max")
    np.testing.assert_array_equal(most, segments(values.astype("f4"), index, offsets, "max").astype(bfloat16))
    a = scipy.sparse.csr_array((rng.random(7).astype("f4"), np.arange(7), np.arange(8)), (7, 7))
    np.testing.assert_allclose((sheaf.csr(a) @ got).astype("f8"), a.astype("f8") @ got.astype("f8"), rtol=1e-2)
    assert sheaf.gather(values, index).dtype == bfloat16
    with pytest.raises(ValueError, match="bfloat16"):
        sheaf.sort(values[:, 0].copy())
    with pytest.raises(ValueError, match="type bf16"):
        sheaf.scatter_reduce(values, index, np.zeros((7, 4), np.float16))


def test_bfloat16_without_ml_dtypes(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # an import fails
    with pytest.raises(ValueError, match="NumPy has no bfloat16 without ml_dtypes; give the outputs"):
        sheaf.scatter_reduce(np.ones(2, "f4"), np.array([0, 1]), size=2, dtype="bfloat16")


def test_bad_indices_change_nothing():
    index = np.array([0, 5, 1, -1])
    out, counts = np.full((2, 2), 10), np.full(2, 9)
    with pytest.raises(IndexError, match="index\\[1\\] is 5"):
        sheaf.scatter_reduce(np.ones((4, 2), int), index, out, counts=counts)
    assert out.tolist() == [[11, 11], [11, 11]] and counts.tolist() == [1, 1]
    with pytest.raises(IndexError, match="index\\[1\\] is 5"):
        sheaf.prepare_scatter_reduce(index, 2, runs=3)
    out = np.full((2, 2), 7)
    with pytest.raises(IndexError, match="index\\[1\\] is 5"):
        sheaf.gather_reduce(np.ones((2, 2), int), index, np.array([0, 2, 4]), out=out)
    assert out.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(IndexError, match="segment 1 ends at 9"):
        sheaf.gather_reduce(np.ones((2, 2), int), index, np.array([0, 1, 9]))
    with pytest.raises(IndexError, match="segment 0 begins at 2 and ends at 1"):
        sheaf.gather_reduce(np.ones((2, 2), int), index, np.array([2, 1]))
    m = sheaf.csr((np.ones(2), np.array([0, 4]), np.array([0, 2])), (1, 2))
    for call in (lambda: m @ np.ones((2, 3)), lambda: sheaf.prepare_spmm(m, 9, transposed=True) @ np.ones((1, 3))):
        with pytest.raises(IndexError, match="4"):
            call()


def bad(match, function, *arguments, **options):
    with pytest.raises(sheaf.BadArgument, match=match):
        function(*arguments, **options)


def test_what_is_refused():
    v, i, o, at = np.ones((2, 3)), np.array([0, 1]), np.zeros((5, 3)), np.array([0, 2])
    reduce, by_segments, eye = sheaf.scatter_reduce, sheaf.gather_reduce, scipy.sparse.csr_array(np.eye(3))
    bad("size says how many rows", reduce, v, i)
    bad("size is for a new output", reduce, v, i, o, size=5)
    bad("size is -1, below 0", reduce, v, i, size=-1)
    bad("dtype is for a new output", reduce, v, i, o, dtype="float64")
    bad("dtype is 'complex64', which is none of 'float16', 'bfloat16'", reduce, v, i, size=5, dtype="complex64")
    bad("start is 'out', which is not given", reduce, v, i, size=5, start="out")
    bad("start is 'zero', which is none of 'out', 'identity'", reduce, v, i, o, start="zero")
    bad("values do not begin with the dimensions of index", reduce, np.ones((3, 3)), i, o)
    bad("values do not begin with the dimensions of index", reduce, np.ones(4), np.zeros((2, 2), int), o)
    bad("rows of out have not the shape of rows of values", reduce, v, i, np.zeros((5, 2)))
    bad("rows of out have not the shape of rows of values", reduce, v, i, np.zeros(5))
    bad("values has complex128, not float16", reduce, v.astype(complex), i, size=5)
    bad("values has bool, not float16", reduce, v.astype(bool), i, size=5)
    bad("values has float64 of the other byte order", reduce, v.astype(">f8"), i, size=5, dtype="float64")
    bad("elements of a row of values do not lie side by side", reduce, np.ones((2, 6))[:, ::2], i, o)
    bad("elements of a row of values do not lie side by side", reduce, np.asfortranarray(v), i, o)
    bad("reversed and broadcast", reduce, v[::-1], i, o)
    bad("reversed and broadcast", reduce, v, i, np.broadcast_to(np.zeros(3), (5, 3)).copy()[::-1])
    bad("overlap", reduce, o[:2], i, o)
    bad("counts has values of type f64", reduce, v, i, o, counts=np.zeros(5))
    bad("counts has 4 values for 5 rows of out", reduce, v, i, o, counts=np.zeros(4, int))
    bad("counts has 0 values for 5 rows of out", reduce, v, i, o, counts=np.zeros(0, int))
    bad("counts has 2 dimensions", reduce, v, i, o, counts=np.zeros((5, 1), int))
    bad("order is 'never', which is none of 'deterministic', 'any'", reduce, v, i, o, order="never")
    bad("order is 'never', which is none of 'deterministic', 'any'", sheaf.spmm, eye, np.ones((3, 2)), order="never")
    bad("order is 'never', which is none of 'deterministic', 'any'", sheaf.csr(eye).rmatvec, np.ones(3), order="never")
    bad("rows of 0 values", reduce, np.ones((2, 0)), i, size=5)
    bad("rows of 65537 values", reduce, np.ones((1, 65537), "i1"), i[:1], size=1)
    read_only = np.zeros((5, 3))
    read_only.flags.writeable = False
    bad("out is read-only", reduce, v, i, read_only)
    still = np.zeros(5, int)
    still.flags.writeable = False
    bad("counts is read-only", reduce, v, i, o, counts=still)
    bad("not a multiple", reduce, np.zeros(4, [("a", "i1"), ("b", "f8")])["b"], np.arange(4), np.zeros(5))
    bad("subtract", by_segments, v, i, at, "subtract")
    bad("offsets has no entry", by_segments, v, i, np.zeros(0, int))
    bad("weights go with add and mean", by_segments, v, i, at, "max", weights=np.ones(2))
    bad("weights go with floats", by_segments, v.astype(int), i, at, weights=np.ones(2, int))
    bad("weights has values of type f32", by_segments, v, i, at, weights=np.ones(2, "f4"))
    bad("weights has 0 values for 2 entries", by_segments, v, i, at, weights=np.ones(0))
    bad("offsets for 2 rows of out", by_segments, v, i, at, out=np.zeros((2, 3)))
    bad("rows of out have not the shape of rows of table", by_segments, v, i, at, out=np.zeros((1, 2)))
    bad("start is 'out', which is not given", by_segments, v, i, at, start="out")
    bad("x has 1 dimensions, not 2; csr.matvec", sheaf.spmm, eye, np.ones(3))
    bad("x has 2 rows for 3 columns", sheaf.spmm, eye, np.ones((2, 4)))
    bad("beta multiplies out, which is not given", sheaf.spmm, eye, np.ones((3, 2)), beta=1)
    bad("rows of out have not the shape of rows of x", sheaf.spmm, eye, np.ones((3, 2)), np.ones((3, 1)))
    bad("but the matrix has f64", sheaf.spmm, eye, np.ones((3, 2), "f4"))
    bad("not f16, bf16, f32 or f64", sheaf.spmm, eye, np.ones((3, 2), int))
    bad("rows of 1025 values, not 1 to 1024", sheaf.spmm, eye, np.ones((3, 1025)))
    bad("overlap", sheaf.spmm, eye, v2 := np.ones((3, 2)), v2)
    bad("format 'csc'", sheaf.spmm, eye.tocsc(), np.ones((3, 2)))
    bad("row_bytes is 0", sheaf.prepare_scatter_reduce, i, 5, 3, row_bytes=0)
    with pytest.raises(TypeError):
        reduce([[1.0]], i, o)
    with pytest.raises(TypeError):
        sheaf.spmm(np.eye(3), np.ones((3, 2)))


def test_no_array_is_kept():
    v, i, o, c = np.ones((2, 3)), np.array([0, 1]), np.zeros((5, 3)), np.zeros(5, int)
    before = [sys.getrefcount(a) for a in (v, i, o, c)]
    for _ in range(10):
        sheaf.scatter_reduce(v, i, o, counts=c)
        sheaf.gather_reduce(v, i, np.array([0, 2]), out=o[:1])
        with pytest.raises(ValueError):
            sheaf.scatter_reduce(v, i, o, counts=o)
    assert [sys.getrefcount(a) for a in (v, i, o, c)] == before
