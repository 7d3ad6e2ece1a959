"""Random dtypes, strides, index types and calls against NumPy."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sheaf

INDEX_TYPES = st.sampled_from(["i4", "i8", "u4", "u8"])
NUMBERS = st.sampled_from(["i4", "i8", "u4", "u8", "f4", "f8"])
DTYPES = st.one_of(
    st.sampled_from(["i1", "u2", "f2", "f4", "f8", "c8", "c16", "?", ">i4", "S3", "V7", "U2", "M8[D]"]).map(np.dtype),
    hnp.array_dtypes(subtype_strategy=st.sampled_from(["i1", "<f8", "S2", ">u4"]).map(np.dtype), max_size=4),
)


@st.composite
def tables(draw, least=0):
    """An array of any dtype and up to two more dimensions, and the step of the rows of it that are meant."""
    rows = draw(st.integers(least, 40))
    row = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3)) if draw(st.booleans()) else ()
    step = draw(st.integers(1, 3))
    dtype = draw(DTYPES)
    count = int(np.prod((rows * step, *row)))
    seed = draw(st.integers(0, 2**31))
    data = np.random.default_rng(seed).integers(0, 2, count * dtype.itemsize, np.uint8).tobytes()
    return np.frombuffer(bytearray(data), dtype, count).reshape((rows * step, *row)), step


@st.composite
def indices(draw, rows):
    count = draw(st.integers(0, 60)) if rows else 0
    values = draw(st.lists(st.integers(0, rows - 1), min_size=count, max_size=count)) if rows else []
    return np.array(values, draw(INDEX_TYPES))


@settings(max_examples=100)
@given(st.data())
def test_gather(data):
    whole, step = data.draw(tables())
    table = whole[::step]
    if table.dtype.itemsize == 0:
        return
    index = data.draw(indices(len(table)))
    variant = data.draw(st.sampled_from(["", "cpu.direct", "reference.serial"]))
    taken = sheaf.gather(table, index, variant=variant)
    assert taken.dtype == table.dtype and taken.tobytes() == table[index].tobytes()


@settings(max_examples=100)
@given(st.data())
def test_scatter(data):
    whole, step = data.draw(tables(least=1))
    out, wanted = whole[::step], whole.copy()
    if out.dtype.itemsize == 0:
        return
    index = data.draw(indices(len(out)))
    values = out[np.arange(len(index)) % len(out)].copy()
    for i, row in enumerate(index):
        wanted[int(row) * step] = values[i]
    sheaf.scatter(values, index, out, duplicates="last")
    assert whole.tobytes() == wanted.tobytes()  # what lies between the rows is as it was


@settings(max_examples=100)
@given(st.data())
def test_scatter_reduce(data):
    out = data.draw(hnp.arrays(data.draw(NUMBERS), st.integers(1, 30), elements=st.integers(0, 50)))
    index = data.draw(indices(len(out)))
    values = data.draw(hnp.arrays(out.dtype, len(index), elements=st.integers(0, 50)))
    op, ufunc = data.draw(
        st.sampled_from([("add", np.add), ("min", np.minimum), ("max", np.maximum), ("subtract", np.subtract)])
    )
    wanted = out.copy()
    ufunc.at(wanted, index, values)
    np.testing.assert_array_equal(sheaf.scatter_reduce(values, index, out, op), wanted)


@st.composite
def rows_of_numbers(draw, dtype, rows):
    """Rows side by side or apart, and whether they are numbers alone; and the whole array, of which they are a part."""
    step, width, before, behind = (draw(st.integers(least, 3)) for least in (1, 1, 0, 0))
    elements = st.integers(1, 3)
    if draw(st.booleans()):
        whole = draw(hnp.arrays(dtype, rows * step, elements=elements))
        return whole[::step], whole
    whole = draw(hnp.arrays(dtype, (rows * step, before + width + behind), elements=elements))
    return whole[::step, before : before + width], whole


@settings(max_examples=200)
@given(st.data())
def test_reductions_of_rows(data):
    dtype = data.draw(st.sampled_from(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]))
    out, whole = data.draw(rows_of_numbers(dtype, data.draw(st.integers(1, 20))))
    index = data.draw(indices(len(out)))
    values, _ = data.draw(rows_of_numbers(dtype, len(index)))
    if values.shape[1:] != out.shape[1:]:
        with np.testing.assert_raises(ValueError):
            sheaf.scatter_reduce(values, index, out)
        return
    op, ufunc = data.draw(
        st.sampled_from([("add", np.add), ("min", np.minimum), ("max", np.maximum), ("subtract", np.subtract)])
    )
    wanted, made = whole.copy(), sheaf.scatter_reduce(values, index, size=len(out), op="add")
    # The same part of a copy.
    part = np.lib.stride_tricks.as_strided(wanted.reshape(-1)[out_offset(out, whole) :], out.shape, out.strides)
    added = np.zeros(out.shape, dtype)
    np.add.at(added, index, values)
    ufunc.at(part, index, values)
    assert sheaf.scatter_reduce(values, index, out, op) is out
    np.testing.assert_array_equal(whole, wanted)  # what lies between the rows is as it was
    np.testing.assert_array_equal(made, added)
    offsets = np.array([0, len(index) // 2, len(index)], data.draw(INDEX_TYPES))
    halves = sheaf.gather_reduce(out, index, offsets)
    with np.errstate(over="ignore"):
        for s in (0, 1):
            rows = out[index[offsets[s] : offsets[s + 1]]].astype("f8" if dtype[0] == "f" else "i8")
            np.testing.assert_allclose(halves[s], rows.sum(axis=0).astype(dtype), rtol=2e-3, atol=0.1)


def out_offset(part, whole):
    return (part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // whole.itemsize


@settings(max_examples=100)
@given(st.data())
def test_sort(data):
    dtype = data.draw(st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "S4", "?"]))
    a = data.draw(hnp.arrays(dtype, st.integers(0, 80)))
    a = a[:: data.draw(st.integers(1, 3))]
    if a.dtype.kind == "f":
        a = np.where(np.isnan(a), 0, a) + 0.0  # of NaN and -0 the order is another than NumPy's
    np.testing.assert_array_equal(sheaf.sort(a), np.sort(a, kind="stable"))
    np.testing.assert_array_equal(sheaf.argsort(a), np.argsort(a, kind="stable"))


@settings(max_examples=100)
@given(st.data())
def test_split(data):
    whole, step = data.draw(tables())
    table = whole[::step]
    if table.dtype.itemsize == 0:
        return
    key = data.draw(
        hnp.arrays(
            data.draw(st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4"])), len(table), elements=st.integers(0, 6)
        )
    )
    out, offsets = sheaf.split(table, key, 7)
    order = np.argsort(key, kind="stable")
    assert out.tobytes() == table[order].tobytes()
    np.testing.assert_array_equal(sheaf.split_index(key, 7)[0], order)
    np.testing.assert_array_equal(offsets, np.searchsorted(key[order], np.arange(8)))


@settings(max_examples=100)
@given(st.data())
def test_hash_index(data):
    dtype = data.draw(st.sampled_from(["i4", "i8", "u4", "u8"]))
    keys = data.draw(hnp.arrays(dtype, st.integers(0, 60), elements=st.integers(0, 20)))
    probes = data.draw(hnp.arrays(dtype, st.integers(0, 30), elements=st.integers(0, 30)))
    index = sheaf.HashIndex(keys)
    rows = [np.flatnonzero(keys == p) for p in probes]
    offsets, ids = index.search(probes)
    assert list(ids) == [r for found in rows for r in found]
    assert list(np.diff(offsets)) == [len(r) for r in rows]


@settings(max_examples=100)
@given(st.data())
def test_bad_indices(data):
    rows = data.draw(st.integers(0, 20))
    index = data.draw(hnp.arrays(data.draw(INDEX_TYPES), st.integers(1, 30), elements=st.integers(0, 25)))
    table, out = np.arange(1.0, rows + 1), np.full(len(index), 7.0)
    wrong = np.flatnonzero(index >= rows)
    if len(wrong) == 0:
        np.testing.assert_array_equal(sheaf.gather(table, index, out=out), table[index])
        return
    try:
        sheaf.gather(table, index, out=out)
        raise AssertionError("no error")
    except IndexError as e:
        assert f"index[{wrong[0]}] is {index[wrong[0]]}," in str(e)
    good = index < rows
    assert not out[wrong].any()
    np.testing.assert_array_equal(out[good], table[index[good].astype(int)])
