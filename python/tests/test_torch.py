"""sheaf.torch: results, gradients, torch.compile and autocast, against torch's own. Skipped without torch."""

import pytest

torch = pytest.importorskip("torch")

import sheaf.torch as st  # noqa: E402  (it needs torch)
from torch import library  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

F64 = torch.float64
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
INDEX_TYPES = [torch.int32, torch.int64]
# How the lists of indices look: some of 12 rows stay unnamed, or nobody names any, or all name one.
LISTS = {
    "some": torch.tensor([3, 0, 7, 7, 3, 10, 7]),
    "empty": torch.tensor([], dtype=torch.int64),
    "one": torch.tensor([5]),
    "equal": torch.full((40,), 4),
    "skewed": torch.cat([torch.zeros(300, dtype=torch.int64), torch.arange(12)]),
}
ROWS = 12


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20260)


def rows_of(dtype, *shape):
    if dtype.is_floating_point:
        return torch.randn(*shape, dtype=F64).to(dtype)
    return torch.randint(1, 4, shape).to(dtype)


def close(got, wanted, dtype=None):
    dtype = dtype or got.dtype
    rough = {torch.float16: 1e-2, torch.bfloat16: 6e-2, torch.float32: 1e-5, torch.float64: 1e-12}.get(dtype, 0)
    torch.testing.assert_close(got.to(F64), wanted.to(F64), rtol=rough, atol=rough)


def matrix(dtype=F64, rows=6, columns=5):
    """A sparse matrix with an empty row, as (data, indices, indptr), and dense."""
    dense = torch.randn(rows, columns, dtype=F64) * (torch.rand(rows, columns) < 0.5)
    dense[2] = 0
    dense[0, 0] = 1.5
    sparse = dense.to_sparse_csr()
    # Copies: torch.compile takes no views of sparse tensors.
    return (
        sparse.values().to(dtype, copy=True),
        sparse.col_indices().clone(),
        sparse.crow_indices().clone(),
    ), dense.to(dtype)


def laplacian(nodes=8, dtype=F64):
    """A symmetric positive definite matrix, as data, indices, indptr, and dense."""
    dense = 4 * torch.eye(nodes, dtype=dtype)
    for i in range(nodes - 1):
        dense[i, i + 1] = dense[i + 1, i] = -1.0
    sparse = dense.to_sparse_csr()
    return sparse.values().clone(), sparse.col_indices().clone(), sparse.crow_indices().clone(), dense


# Results


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool, torch.complex64])
def test_gather(dtype, index_type):
    table = rows_of(dtype, ROWS, 3) if dtype not in (torch.bool, torch.complex64) else torch.ones(ROWS, 3).to(dtype)
    for index in LISTS.values():
        index = index.to(index_type)
        assert torch.equal(st.gather(table, index), table[index.long()])
        assert torch.equal(st.gather(table[:, 1].contiguous(), index), table[:, 1][index.long()])
    assert torch.equal(st.gather(table, index[:300].reshape(30, 10)), table[index[:300].long()].reshape(30, 10, 3))
    wide = torch.cat([table, table], 1)
    assert torch.equal(st.gather(wide[:, 2:5], index), wide[:, 2:5][index.long()])  # rows that lie apart


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_scatter(dtype, index_type):
    base = rows_of(dtype, ROWS, 3)
    before = base.clone()
    for index in LISTS.values():
        values = rows_of(dtype, len(index), 3)
        wanted = base.clone()
        for i, row in zip(index.tolist(), values, strict=True):
            wanted[i] = row
        assert torch.equal(st.scatter(values, index.to(index_type), base, duplicates="last"), wanted)
        unique = torch.randperm(ROWS)[: min(len(index), ROWS)].to(index_type)
        got = st.scatter(values[: len(unique)], unique, base)
        assert torch.equal(got, base.index_copy(0, unique.long(), values[: len(unique)]))
    assert torch.equal(base, before)


TORCH_NAMES = {"add": "sum", "mean": "mean", "min": "amin", "max": "amax", "mul": "prod"}


def reduced(values, index, base, op):
    """scatter_reduce by torch, in float64."""
    where = index.long().reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    return base.to(F64).scatter_reduce(0, where, values.to(F64), TORCH_NAMES[op], include_self=True)


@pytest.mark.parametrize("op", TORCH_NAMES)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_scatter_reduce(dtype, op):
    for name, index in LISTS.items():
        if not dtype.is_floating_point and (op == "mean" or name == "skewed"):
            continue
        values, base = rows_of(dtype, len(index), 3), rows_of(dtype, ROWS, 3)
        if op == "mul":  # products of many stay near 1
            values = torch.where(values > 0, 1, -1).to(dtype)
        before = base.clone()
        got = st.scatter_reduce(values, index.int(), base, op)
        wanted = reduced(values, index, base, op)
        close(got, wanted if dtype.is_floating_point else wanted.to(torch.int64).to(dtype))
        assert torch.equal(base, before) and got.dtype == dtype
        made, counts = st.scatter_reduce(values, index, op=op, size=ROWS, counts=True)
        assert torch.equal(counts, torch.bincount(index, minlength=ROWS))
        named = counts > 0
        include = torch.zeros_like(base, dtype=F64).scatter_reduce(
            0, index[:, None].expand(-1, 3), values.to(F64), TORCH_NAMES[op], include_self=False
        )
        close(made[named], include[named].to(dtype))
        assert torch.equal(st.scatter_reduce(values, index, base, op, start="identity")[named], made[named])


def test_scatter_reduce_of_numbers_and_wider():
    values, index = torch.randn(50), torch.randint(0, ROWS, (50,))
    close(st.scatter_reduce(values, index, size=ROWS), torch.zeros(ROWS).index_add(0, index, values))
    half = torch.full((4000, 2), 60.0).half()
    made = st.scatter_reduce(half, torch.zeros(4000, dtype=torch.int64), size=1, dtype=torch.float32)
    assert made.dtype == torch.float32 and made.tolist() == [[240000.0] * 2]
    loose = st.scatter_reduce(values, index, size=ROWS, order="any")
    torch.testing.assert_close(loose, torch.zeros(ROWS).index_add(0, index, values))
    with pytest.raises(ValueError, match="size, base or out"):
        st.scatter_reduce(values, index)
    with pytest.raises(ValueError, match="those of base"):
        st.scatter_reduce(values, index, torch.zeros(ROWS), size=3)
    with pytest.raises(ValueError, match="start"):
        st.scatter_reduce(values, index, size=3, start="zero")


OFFSETS = torch.tensor([0, 2, 2, 6, 7])


def segment_sums(table, index, offsets, op, weights=None):
    made = []
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        rows = table[index[begin:end].long()].to(F64)
        if weights is not None:
            rows = rows * weights[begin:end, None].to(F64)
        made.append({"add": rows.sum(0), "mean": rows.sum(0) / max(1, end - begin)}.get(op))
        if op in ("min", "max"):
            made[-1] = getattr(rows, "a" + op)(0) if end > begin else torch.full(rows.shape[1:], torch.nan, dtype=F64)
    return torch.stack(made)


@pytest.mark.parametrize("op", ["add", "mean", "min", "max"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_gather_reduce(dtype, op):
    table, index = rows_of(dtype, ROWS, 3), LISTS["some"]
    weights = rows_of(dtype, 7) if op in ("add", "mean") else None
    got = st.gather_reduce(table, index.int(), OFFSETS.int(), op, weights=weights)
    wanted = segment_sums(table, index, OFFSETS, op, weights)
    full = OFFSETS.diff() > 0
    close(got[full], wanted[full])
    none = st.gather_reduce(table, LISTS["empty"], torch.zeros(3, dtype=torch.int64), op)
    assert none.shape == (2, 3) and not (none.isfinite() & (none != 0)).any()


def test_sort_and_argsort():
    for a in (torch.randn(500), torch.randint(0, 9, (500,)), torch.randn(500).half(), torch.ones(40), torch.ones(0)):
        for descending in (False, True):
            values, order = torch.sort(a, stable=True, descending=descending)
            assert torch.equal(st.sort(a, descending=descending), values)
            assert torch.equal(st.argsort(a, descending=descending), order)
            assert torch.equal(st.argsort(a, descending=descending, dtype=torch.int32), order.int())
    with pytest.raises(ValueError, match="int32"):
        st.argsort(a, dtype=torch.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_products(dtype):
    A, dense = matrix(dtype)
    sparse = torch.sparse_csr_tensor(A[2], A[1], A[0], dense.shape)
    x, y = rows_of(dtype, 5, 3), rows_of(dtype, 6, 3)
    close(st.spmm(A, x), dense.to(F64) @ x.to(F64))
    close(st.spmm(sparse, x), dense.to(F64) @ x.to(F64))
    close(st.spmm(A, y, transposed=True, shape=dense.shape), dense.to(F64).T @ y.to(F64))
    close(st.spmm(sparse, y, transposed=True, order="any"), dense.to(F64).T @ y.to(F64))
    if dtype in (torch.float32, F64):
        close(st.spmv(A, x[:, 0].contiguous()), dense @ x[:, 0])
        close(st.spmv(sparse, y[:, 0].contiguous(), transposed=True), dense.T @ y[:, 0])
        close(st.spmv(sparse, y[:, 0].contiguous(), transposed=True, order="any"), dense.T @ y[:, 0])
    else:
        wide = (A[0].float(), *A[1:])
        close(st.spmm(wide, x), dense.to(F64) @ x.to(F64), dtype)


def test_matrices_that_are_refused():
    A, dense = matrix()
    with pytest.raises(TypeError, match="sparse_csr"):
        st.spmm(dense, torch.ones(5, 2, dtype=F64))
    with pytest.raises(TypeError, match="sparse_csr"):
        st.spmm(dense.to_sparse_coo(), torch.ones(5, 2, dtype=F64))
    with pytest.raises(ValueError, match="needs shape"):
        st.spmv(A, torch.ones(6, dtype=F64), transposed=True)
    with pytest.raises(ValueError, match="order is 'deterministic' or 'any', not 'never'"):
        st.spmv(A, torch.ones(5, dtype=F64), order="never")
    with pytest.raises(ValueError, match="here are 2"):
        st.spmv(A[:2], torch.ones(6, dtype=F64))
    with pytest.raises(ValueError, match="not square"):
        st.cg(dense.to_sparse_csr(), torch.ones(6, dtype=F64))
    with pytest.raises(ValueError, match="shape is"):
        st.spmv(dense.to_sparse_csr(), torch.ones(5, dtype=F64), shape=(5, 6))


def test_cg():
    *A, dense = laplacian()
    b = torch.randn(8, dtype=F64)
    for given in (tuple(A), dense.to_sparse_csr()):
        x, info = st.cg(given, b, rtol=1e-12)
        assert info.dtype == torch.int64 and info == 0 and not info
        torch.testing.assert_close(x, torch.linalg.solve(dense, b))
    x, info = st.cg(tuple(A), b, torch.ones(8, dtype=F64), rtol=1e-12, M="jacobi", maxiter=1)
    assert info > 0
    with pytest.raises(ValueError, match="jacobi"):
        st.cg(tuple(A), b, M="ilu")


EDGES = torch.tensor([[0, 1], [1, 2], [3, 0], [2, 2], [1, 3]])


def edge_sums(values, weights, function):
    step = values[EDGES[:, 1]] - values[EDGES[:, 0]]
    if function == "inverse_square":
        length = step.norm(dim=1, keepdim=True)
        step = torch.where(length > 0, step / length.clamp(min=1e-300) ** 3, 0)
    step = step * weights[:, None]
    return torch.zeros_like(values).index_add(0, EDGES[:, 0], step).index_add(0, EDGES[:, 1], -step)


@pytest.mark.parametrize("function", ["difference", "inverse_square"])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_edge_sum(function, dtype):
    values, weights = rows_of(dtype, 5, 3), rows_of(dtype, 5)
    wanted = edge_sums(values, weights, function)
    close(st.edge_sum(EDGES, values, weights, function), wanted)
    close(st.edge_sum(tuple(EDGES.int().t().contiguous()), values, weights, function), wanted)
    close(st.edge_sum(EDGES, values[:, 0].contiguous()), edge_sums(values[:, :1], torch.ones(5), "difference")[:, 0])


# Into given outputs


def into(call, like):
    out = torch.full_like(like, 77)
    before = out._version
    assert call(out) is out
    assert torch.equal(out, like) and out._version > before
    parameter = torch.nn.Parameter(torch.zeros_like(like), requires_grad=like.is_floating_point())
    if parameter.requires_grad:
        with pytest.raises(RuntimeError, match="out= has no gradients"):
            call(parameter)
    with torch.no_grad():
        assert torch.equal(call(parameter), like)


def test_out():
    table, index = torch.randn(ROWS, 3), LISTS["some"]
    A, dense = matrix(torch.float32)
    into(lambda out: st.gather(table, index, out=out), table[index])
    into(lambda out: st.gather_reduce(table, index, OFFSETS, out=out), st.gather_reduce(table, index, OFFSETS))
    into(lambda out: st.sort(table[:, 0].contiguous(), out=out), table[:, 0].sort()[0])
    into(lambda out: st.argsort(table[:, 0].contiguous(), out=out), table[:, 0].argsort())
    into(lambda out: st.spmm(A, table[:5], out=out), st.spmm(A, table[:5]))
    into(lambda out: st.spmv(A, table[:5, 0].contiguous(), out=out), st.spmv(A, table[:5, 0].contiguous()))
    into(lambda out: st.edge_sum(EDGES, table[:5], out=out), st.edge_sum(EDGES, table[:5]))
    sums = st.scatter_reduce(table[index], index, size=ROWS)
    into(lambda out: st.scatter_reduce(table[index], index, start="identity", out=out), sums)
    out = torch.ones(ROWS, 3)
    made, counts = st.scatter_reduce(table[index], index, out=out, counts=True)
    assert made is out and torch.equal(counts, torch.bincount(index, minlength=ROWS))
    torch.testing.assert_close(out, sums + 1)
    assert st.scatter(table[:2], torch.tensor([1, 0]), None, out=out) is out and torch.equal(out[1], table[0])
    for call in (st.scatter, st.scatter_reduce):
        with pytest.raises(ValueError, match="base or out"):
            call(table[index], index, out, out=out)
    leaf = table.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="gather: out= has no gradients"):
        st.gather(leaf, index, out=torch.empty(7, 3))


def test_parameters_without_recording():
    layer = torch.nn.Parameter(torch.randn(ROWS, 3))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            rows = st.gather(layer, LISTS["some"])
            assert torch.equal(rows, layer[LISTS["some"]]) and not rows.requires_grad
            out = torch.zeros(7, 3)
            assert torch.equal(st.gather(layer, LISTS["some"], out=out), rows)


# Bad indices


@pytest.mark.parametrize("bad", [-1, ROWS])
def test_bad_indices(bad):
    table = torch.randn(ROWS, 3, requires_grad=True)
    index = torch.tensor([0, 1, bad, 2, bad])
    A, _ = matrix()
    columns = A[1].clone()
    columns[1] = bad
    x = torch.randn(5, 2, dtype=F64, requires_grad=True)
    edges = EDGES.clone()
    edges[3, 1] = bad
    values = torch.randn(5, 3, requires_grad=True)
    calls = {
        "gather": (r"index\[2\]", lambda: st.gather(table, index)),
        "scatter": (r"index\[2\]", lambda: st.scatter(table[:5], index, table)),
        "scatter_reduce": (r"index\[2\]", lambda: st.scatter_reduce(table[:5], index, size=ROWS)),
        "gather_reduce": (r"index\[2\]", lambda: st.gather_reduce(table, index, torch.tensor([0, 5]))),
        "spmm": (r"\[1\]", lambda: st.spmm((A[0], columns, A[2]), x)),
        "spmv": (r"\[1\]", lambda: st.spmv((A[0], columns, A[2]), x[:, 0].contiguous())),
        "edge_sum": ("3", lambda: st.edge_sum(edges, values)),
        "prepare_edges": (r"\[3\]", lambda: st.prepare_edges(edges.t().contiguous(), 5)),
    }
    for where, call in calls.values():
        for recording in (True, False):
            with torch.set_grad_enabled(recording), pytest.raises(IndexError, match=f"{where}.*{bad}"):
                call()
    with pytest.raises(IndexError, match=r"index\[2\]"):
        torch.ops.sheaf.gather(table, index)


def test_copies_are_refused():
    table = torch.randn(3, ROWS).t().requires_grad_()
    with pytest.raises(ValueError, match="side by side"):
        st.gather(table, LISTS["some"])
    assert torch.equal(st.gather(table.contiguous(), LISTS["some"]), table[LISTS["some"]])


# Gradients

GRADIENT_LISTS = ["some", "empty", "one"]


def checked(function, *arguments, twice=True):
    arguments = [a.detach().clone(memory_format=torch.contiguous_format).requires_grad_() for a in arguments]
    assert torch.autograd.gradcheck(function, arguments)
    if twice:
        assert torch.autograd.gradgradcheck(function, arguments)


@pytest.mark.parametrize("name", GRADIENT_LISTS)
def test_gradients_of_movement(name):
    index = LISTS[name]
    table, rows = torch.randn(ROWS, 3, dtype=F64), torch.randn(len(index), 3, dtype=F64)
    checked(lambda t: st.gather(t, index), table)
    checked(lambda v, b: st.scatter(v, index, b), rows, table)
    checked(lambda v, b: st.scatter(v, index.int(), b, duplicates="last"), rows[:, 0], table[:, 0])
    checked(lambda a: st.sort(a), table[:, 0])
    checked(lambda a: st.sort(a, descending=True), table[:, 0])


@pytest.mark.parametrize("op", [*TORCH_NAMES, "subtract"])
@pytest.mark.parametrize("name", GRADIENT_LISTS)
def test_gradients_of_scatter_reduce(name, op):
    index = LISTS[name]
    rows, base = torch.randn(len(index), 3, dtype=F64), torch.randn(ROWS, 3, dtype=F64)
    checked(lambda v: st.scatter_reduce(v, index, op=op, size=ROWS)[index], rows)
    checked(lambda v, b: st.scatter_reduce(v, index, b, op), rows, base)
    checked(lambda v: st.scatter_reduce(v, index, base, op, counts=True)[0], rows)
    checked(lambda v: st.scatter_reduce(v, index, base, op, start="identity")[index], rows[:, :1])


@pytest.mark.parametrize("op", ["add", "mean", "min", "max"])
@pytest.mark.parametrize("offsets", [[0, 2, 2, 6, 7], [1, 3, 4], [0, 7], [0]])
def test_gradients_of_gather_reduce(op, offsets):
    index, offsets = LISTS["some"], torch.tensor(offsets)
    table, weights = torch.randn(ROWS, 3, dtype=F64), torch.randn(7, dtype=F64)
    full = offsets.diff() > 0
    checked(lambda t: st.gather_reduce(t, index, offsets, op)[full], table)
    checked(lambda t: st.gather_reduce(t, index, offsets, op)[full], table[:, 0])
    if op in ("add", "mean"):
        checked(lambda t, w: st.gather_reduce(t, index, offsets, op, weights=w), table, weights)


def test_gradients_of_wide_rows_and_of_what_has_none():
    index = LISTS["some"]
    table = torch.randn(ROWS, 1100, requires_grad=True)
    weights = torch.randn(7)
    for offsets in (OFFSETS, torch.tensor([1, 4])):
        for factors in (None, weights):
            (got,) = torch.autograd.grad(st.gather_reduce(table, index, offsets, weights=factors).square().sum(), table)
            wanted = segment_sums(table, index, offsets, "add", factors)
            torch.testing.assert_close(got, torch.autograd.grad(wanted.square().sum(), table)[0])
    with pytest.raises(NotImplementedError, match="'mul' has no gradient"):
        st.gather_reduce(table, index, OFFSETS, "mul").sum().backward()
    with pytest.raises(NotImplementedError, match="'count' has no gradient"):
        st.scatter_reduce(table, LISTS["skewed"][-ROWS:], table, op="count").sum().backward()
    assert not st.argsort(table[0]).requires_grad


def test_ties_share():
    index = torch.tensor([0, 0, 1, 0, 1])
    values = torch.tensor([[5.0, 1.0], [5.0, 2.0], [3.0, 4.0], [5.0, 1.0], [3.0, 4.0]], requires_grad=True)
    base = torch.tensor([[5.0, 9.0], [0.0, 4.0]], requires_grad=True)
    for op in ("max", "min"):
        grads = torch.autograd.grad(st.scatter_reduce(values, index, base, op).sum(), (values, base))
        where = index[:, None].expand(-1, 2)
        wanted = torch.autograd.grad(
            base.scatter_reduce(0, where, values, "a" + op, include_self=True).sum(), (values, base)
        )
        for got, want in zip(grads, wanted, strict=True):
            assert torch.equal(got, want)
    got = torch.autograd.grad(st.gather_reduce(values, torch.arange(5), torch.tensor([0, 2, 5]), "max").sum(), values)
    assert got[0].tolist() == [[0.5, 0.0], [0.5, 1.0], [0.0, 0.5], [1.0, 0.0], [0.0, 0.5]]
    # Entries outside of all segments have no share, be they as large.
    got = torch.autograd.grad(st.gather_reduce(values, torch.arange(5), torch.tensor([1, 3]), "max").sum(), values)
    assert got[0].tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_products_with_zeros():
    values = torch.tensor([2.0, 0.0, 3.0, 0.0, 0.0, 5.0], dtype=F64, requires_grad=True)
    base = torch.tensor([4.0, 1.0, 0.0], dtype=F64, requires_grad=True)
    index = torch.tensor([0, 0, 1, 1, 1, 2])
    got = torch.autograd.grad(st.scatter_reduce(values, index, base, "mul").sum(), (values, base))
    wanted = torch.autograd.grad(base.scatter_reduce(0, index, values, "prod").sum(), (values, base))
    assert torch.equal(got[0], wanted[0]) and torch.equal(got[1], wanted[1])


def test_gradients_of_products():
    A, dense = matrix()
    data, *places = A
    x, y = torch.randn(5, 3, dtype=F64), torch.randn(6, 3, dtype=F64)
    checked(lambda d, v: st.spmm((d, *places), v), data, x)
    checked(lambda d, v: st.spmm((d, *places), v, transposed=True, shape=dense.shape), data, y)
    checked(lambda d, v: st.spmv((d, *places), v), data, x[:, 0])
    checked(lambda d, v: st.spmv((d, *places), v, transposed=True, shape=dense.shape), data, y[:, 0])


def test_gradients_reach_a_sparse_tensor():
    (data, columns, begins), dense = matrix()
    x = torch.randn(5, 3, dtype=F64)
    leaf = data.clone().requires_grad_()
    sparse = torch.sparse_csr_tensor(begins, columns, leaf, dense.shape)
    (got,) = torch.autograd.grad(st.spmm(sparse, x).square().sum(), leaf)
    (wanted,) = torch.autograd.grad(st.spmm((leaf, columns, begins), x).square().sum(), leaf)
    assert torch.equal(got, wanted)


def test_gradients_of_cg():
    data, columns, begins, dense = laplacian()
    rows = torch.repeat_interleave(torch.arange(8), begins.diff())
    b = torch.randn(8, dtype=F64)

    def solve(half, b):  # symmetric whatever half is
        whole = torch.zeros(8, 8, dtype=F64).index_put((rows, columns), half)
        values = ((whole + whole.T) / 2)[rows, columns]
        return st.cg((values, columns, begins), b, rtol=1e-14)[0]

    checked(solve, data, b)
    x, info = st.cg((data.requires_grad_(), columns, begins), b, rtol=1e-14)
    assert not info.requires_grad
    assert st.cg((data, columns, begins), b, torch.ones(8, dtype=F64, requires_grad=True))[0].requires_grad
    slow, info = st.cg((data, columns, begins), b.requires_grad_(), maxiter=2, rtol=1e-14)
    assert info > 0
    with pytest.warns(UserWarning, match="did not converge"):
        slow.sum().backward()


def test_the_gradient_of_cg_has_a_tolerance_of_its_own():
    data, columns, begins, dense = laplacian()
    b = torch.randn(8, dtype=F64, requires_grad=True)
    x, _ = st.cg((data, columns, begins), b, rtol=1e-12, atol=1e-3)
    (got,) = torch.autograd.grad(1e-6 * x.sum(), b)
    torch.testing.assert_close(got, 1e-6 * torch.linalg.solve(dense, torch.ones(8, dtype=F64)))


@pytest.mark.parametrize("function", ["difference", "inverse_square"])
def test_gradients_of_edge_sum(function):
    values, weights = torch.randn(5, 3, dtype=F64), torch.randn(5, dtype=F64)
    checked(lambda u, w: st.edge_sum(EDGES, u, w, function), values, weights)
    checked(lambda u: st.edge_sum(tuple(EDGES.t().contiguous()), u, None, function), values)
    # Nodes at one place: the edge from 2 to itself is one, and here 0 and 1 are, too.
    values[1] = values[0]
    leaf = values.requires_grad_()
    (got,) = torch.autograd.grad(st.edge_sum(EDGES, leaf, None, function).square().sum(), leaf)
    assert got.isfinite().all()


def test_gradients_that_lie_anyhow():
    table = torch.randn(ROWS, 3, requires_grad=True)
    index = LISTS["some"]
    for reach in (lambda y: y.sum(), lambda y: (y.t().contiguous() * torch.arange(7.0)).sum(), lambda y: y[:, 1].sum()):
        got = torch.autograd.grad(reach(st.gather(table, index)), table)[0]
        assert torch.equal(got, torch.autograd.grad(reach(table[index]), table)[0])
        reach(st.gather_reduce(table, index, torch.arange(8))).backward()
        torch.testing.assert_close(table.grad, got)
        table.grad = None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_16_bits_are_summed_in_float32(dtype):
    table = torch.ones(2, 2, dtype=dtype, requires_grad=True)
    st.gather(table, torch.zeros(5000, dtype=torch.int64)).sum().backward()
    assert table.grad.dtype == dtype and table.grad[0].tolist() == [torch.tensor(5000.0).to(dtype).item()] * 2
    values = torch.rand(9, 2).to(dtype).requires_grad_()
    wide = st.scatter_reduce(values, torch.arange(9) % 3, size=3, dtype=torch.float32, op="mean")
    wide.sum().backward()
    assert values.grad.dtype == dtype
    close(values.grad, torch.full((9, 2), 1 / 3))


def test_gradients_have_the_same_bits_in_every_run():
    index = (torch.rand(20000) ** 4 * 500).long()
    table, weights = torch.randn(500, 16, requires_grad=True), torch.randn(20000, requires_grad=True)
    offsets = torch.arange(0, 20001, 40)
    runs = []
    for _ in range(3):
        y = st.gather(table, index).sin().sum() + st.gather_reduce(table, index, offsets, weights=weights).sin().sum()
        runs.append(torch.autograd.grad(y, (table, weights)))
    for run in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(runs[0], run, strict=True))


def test_an_output_that_changes_is_noticed():
    a = torch.randn(7, requires_grad=True)
    y = a.exp()
    with torch.no_grad():
        st.gather(torch.zeros(ROWS), LISTS["some"], out=y)
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()


# Operators


def samples():
    """Arguments for every operator, with gradients."""
    table = torch.randn(ROWS, 3, requires_grad=True)
    base = torch.randn(ROWS, 3, requires_grad=True)
    index, weights = LISTS["some"], torch.randn(7, requires_grad=True)
    rows = torch.randn(7, 3, requires_grad=True)
    (data, columns, begins), dense = matrix(torch.float32)
    A = data.requires_grad_(), columns, begins
    x, y = torch.randn(5, 3, requires_grad=True), torch.randn(6, requires_grad=True)
    *solved, _ = laplacian(dtype=torch.float32)
    order = torch.randperm(ROWS)
    values = torch.randn(5, 2, requires_grad=True)
    none = None, None, None, None
    yield "gather", (table, index)
    yield "gather", (table, index[:6].reshape(2, 3).int())
    yield "permute", (table, order, order.argsort())
    yield "scatter", (rows, index, base, "last")
    for op in TORCH_NAMES:
        yield "scatter_reduce", (rows, index, None, ROWS, op, None, "deterministic", False)
        yield "scatter_reduce", (rows, index, base, ROWS, op, None, "deterministic", True)
    yield "scatter_reduce", (rows.detach().half(), index, None, ROWS, "add", torch.float32, "any", False)
    for op in ("add", "mean", "min", "max"):
        yield "gather_reduce", (table, index, OFFSETS, weights if op in ("add", "mean") else None, op, *none)
    lists = st.prepare_edges(torch.tensor([[0, 1, 2, 2], [1, 0, 3, 1]]), ROWS)
    yield "gather_reduce", (table, lists.index, lists.offsets, weights[:4], "mean", *lists[4:])
    yield "gather_reduce", (table, lists.index, lists.offsets, None, "max", *lists[4:])
    yield "gather_reduce", (table.detach(), index, OFFSETS, None, "count", *none)
    yield "sort", (y, True)
    yield "argsort", (y.detach(), False, torch.int32)
    yield "spmv", (*A, 6, 5, x[:, 0].contiguous(), False, "deterministic")
    yield "spmv", (*A, 6, 5, y, True, "any")
    yield "spmm", (*A, 6, 5, x, False, "deterministic")
    yield "spmm", (*A, 6, 5, y[:, None], True, "any")
    yield "cg", (*solved, torch.randn(8, requires_grad=True), None, 1e-6, 0.0, None, True, False)
    yield "edge_sum", (EDGES, None, values, torch.randn(5, requires_grad=True), "difference", "deterministic")
    yield "edge_sum", (*EDGES.t().contiguous(), values, None, "inverse_square", "deterministic")


def test_operators():
    """torch's own checks: schema, gradients, tensors without data, and both with symbolic sizes."""
    seen = set()
    for name, arguments in samples():
        library.opcheck(getattr(torch.ops.sheaf, name).default, arguments)
        seen.add(name)
    from sheaf.torch._operators import OPERATORS

    assert seen == {operator.name for operator in OPERATORS}


def test_all_kinds_of_calls_agree():
    """What a call gives does not depend on who calls: at once, recorded, by the dispatcher, or seen by a mode."""
    from sheaf.torch._dispatch import calls

    for name, arguments in samples():
        call = getattr(calls, name)

        def gradients(run, arguments=arguments):
            leaves = [a.detach().clone().requires_grad_() if getattr(a, "requires_grad", 0) else a for a in arguments]
            made = run(*leaves)
            first = made[0] if isinstance(made, tuple) else made
            wanted = [a for a in leaves if getattr(a, "requires_grad", False)]
            return first.detach(), *(torch.autograd.grad(first.sin().sum(), wanted) if wanted else ())

        at_once = call.run(*arguments)
        at_once = at_once[0] if isinstance(at_once, tuple) else at_once
        recorded, by_dispatcher = gradients(call), gradients(call.dispatch)
        with Seen():  # the kernel that torch made
            seen = gradients(call.dispatch)
        assert torch.equal(at_once, recorded[0])
        for made in (by_dispatcher, seen):
            for one, other in zip(recorded, made, strict=True):
                torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


class Seen(TorchDispatchMode):
    """Operators, and what they were called with."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.calls.append((str(function), arguments))
        return function(*arguments, **(options or {}))


def test_small_calls_avoid_the_dispatcher():
    table, index = torch.randn(ROWS, 3), LISTS["some"]
    with Seen() as seen:  # whoever looks, sees
        st.gather(table, index)
        st.gather(table.clone().requires_grad_(), index).sum().backward()
    names = [name for name, _ in seen.calls]
    assert names.count("sheaf.gather.default") == 2 and "sheaf.scatter_reduce.default" in names
    with torch.profiler.profile() as profile:
        st.gather(table, index)
    assert not any("sheaf" in event.name for event in profile.events())


def test_gradients_are_deterministic_whatever_the_order_of_results():
    A, _ = matrix(torch.float32)
    x, values = torch.randn(5, 2, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    with Seen() as seen:
        st.spmm(A, x, order="any").sum().backward()
        st.spmv(A, x[:, 0].contiguous(), order="any").sum().backward()
        st.edge_sum(EDGES, values, order="any").sum().backward()
        st.scatter_reduce(st.gather(x, LISTS["one"] - 1), LISTS["one"], size=ROWS, order="any").sum().backward()
    calls = ("spmm", "spmv", "edge_sum", "scatter_reduce")
    orders = {f"sheaf.{call}.default": [] for call in calls}
    for name, arguments in seen.calls:
        if name in orders:
            orders[name] += [a for a in arguments if a in ("any", "deterministic")]
    assert all(found == ["any", "deterministic"] for found in orders.values()), orders
    with Seen() as seen:
        st.scatter(x, LISTS["some"][:5] % 5, values)
        st.scatter(x.detach(), LISTS["some"][:5] % 5, values.detach())
    given = [arguments[-1] for name, arguments in seen.calls if name == "sheaf.scatter.default"]
    assert given == ["last", "any"]


def test_what_is_no_tensor_is_refused_by_torch():
    with pytest.raises(RuntimeError, match="'Tensor' for argument 'table'"):
        st.gather([1.0, 2.0], LISTS["one"])
    with pytest.raises(RuntimeError, match="'Tensor' for argument 'index'"):
        st.gather(torch.ones(3), [0, 1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_traces_of_torch_jit_hold_operators():
    traced = torch.jit.trace(lambda t, i: st.gather(t, i) * 2, (torch.ones(ROWS), LISTS["some"]))
    table = torch.randn(ROWS)
    assert torch.equal(traced(table, LISTS["equal"]), table[LISTS["equal"]] * 2)


def test_transforms_and_fake_tensors():
    table, index = torch.randn(ROWS, 3), LISTS["some"]
    with pytest.raises(RuntimeError, match="functorch"):  # torch has no transforms of registered operators
        torch.func.grad(lambda t: st.gather(t, index).square().sum())(table)
    with FakeTensorMode() as mode:
        made = st.gather(mode.from_tensor(table), mode.from_tensor(index))
        assert type(made) is not torch.Tensor and made.shape == (7, 3)
    for gather in (st.gather, torch.ops.sheaf.gather):  # tensors without data
        made = gather(table.to("meta"), index.to("meta"))
        assert made.is_meta and made.shape == (7, 3)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(table, torch.ones_like(table))
        for gather in (st.gather, torch.ops.sheaf.gather, lambda t, i: st.gather(t, i, out=torch.zeros(7, 3))):
            with pytest.raises(NotImplementedError, match="forward mode"):
                gather(dual, index)


# torch.compile


def compiled_functions():
    A, dense = matrix(torch.float32)
    *solved, _ = laplacian(dtype=torch.float32)

    def everything(table, index, weights, offsets):
        rows = st.gather(table, index)
        sums = st.scatter_reduce(rows * 2, index, table, "mean") + st.scatter(rows, index, table)
        most = st.scatter_reduce(rows, index, op="max", size=table.shape[0])
        bags = st.gather_reduce(table, index, offsets, "mean", weights=weights)
        sums = sums + torch.where(most.isfinite(), most, 0)
        return sums.sum(0) + bags.sin().sum(0) + st.sort(rows[:, 0].contiguous())[:1]

    def sparse(table, index, weights, offsets):
        product = st.spmm(A, table[:5]).sum(0) + st.spmv(A, table[:5, 0].contiguous()).sum()
        x, info = st.cg(tuple(solved), table[:8, 1].contiguous(), rtol=1e-7)
        return product + x.sum() + st.edge_sum(EDGES, table[:5], weights[:5]).square().sum(0) + info

    def without_gradients(table, index, weights, offsets):
        with torch.no_grad():
            order = st.argsort(table[:, 0].contiguous())
            out = torch.empty(7, table.shape[1])
            st.gather(table, index, out=out)
        return st.gather(table, order) * 2, out

    bags = st.EmbeddingBag(ROWS, 3, mode="sum", padding_idx=7)

    def embeddings(table, index, weights, offsets):
        return bags(index, offsets[:-1], weights.exp()) + table.sum() + bags(index[None]).sum()

    def layers(table, index, weights, offsets):
        edges = torch.stack([index, index.flip(0)])
        lists = st.prepare_edges(edges, table.shape[0])
        made = st.MessagePassing("mean")(table, lists, weights) + st.MessagePassing("add")(table, edges)
        return made.sin() + st.MessagePassing("max")(table, lists)

    return [everything, sparse, without_gradients, layers, embeddings]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", compiled_functions(), ids=lambda f: f.__name__)
def test_compile(function, backend, dynamic):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    for rows in (ROWS, 17):
        table, weights = torch.randn(rows, 3), torch.randn(7)
        results = []
        for call in (function, compiled):
            leaves = table.clone().requires_grad_(), weights.clone().requires_grad_()
            made = call(leaves[0], LISTS["some"], leaves[1], OFFSETS)
            made = made if isinstance(made, tuple) else (made,)
            made[0].sum().backward()
            results.append([*(m.detach() for m in made), *(leaf.grad for leaf in leaves if leaf.grad is not None)])
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other)


def test_inductor():
    torch._dynamo.reset()
    function = compiled_functions()[0]
    compiled = torch.compile(function, fullgraph=True)
    table, weights = torch.randn(ROWS, 3), torch.randn(7)
    try:
        got_leaf = table.clone().requires_grad_()
        got = compiled(got_leaf, LISTS["some"], weights, OFFSETS)
    except Exception as error:  # no compiler for C++, or no headers
        if "InvalidCxxCompiler" in repr(error) or "CppCompileError" in repr(error) or "Python.h" in repr(error):
            pytest.skip("inductor finds no compiler here")
        raise
    got.sum().backward()
    leaf = table.clone().requires_grad_()
    wanted = function(leaf, LISTS["some"], weights, OFFSETS)
    wanted.sum().backward()
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(got_leaf.grad, leaf.grad)


# Autocast


def test_autocast():
    table, index, weights = torch.randn(ROWS, 4), LISTS["some"], torch.randn(7)
    A, _ = matrix(torch.float32)
    linear = torch.nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = linear(table)
        assert rows.dtype == torch.bfloat16
        assert st.gather(rows, index).dtype == torch.bfloat16
        assert st.scatter_reduce(rows[index], index, size=ROWS).dtype == torch.bfloat16
        assert st.scatter_reduce(rows[index], index, table).dtype == torch.float32
        assert st.scatter_reduce(table[index], index, rows).dtype == torch.float32
        assert st.scatter(rows[index], index, table).dtype == torch.float32
        assert st.gather_reduce(rows, index, OFFSETS, weights=weights).dtype == torch.bfloat16
        assert st.gather_reduce(table, index, OFFSETS, weights=weights.bfloat16()).dtype == torch.float32
        assert st.spmm(A, rows[:5]).dtype == torch.bfloat16
        assert st.spmm((A[0].bfloat16(), *A[1:]), table[:5]).dtype == torch.float32
        assert st.spmv(A, rows[:5, 0].contiguous()).dtype == torch.float32
        assert st.edge_sum(EDGES, rows[:5]).dtype == torch.float32
        *solved, dense = laplacian(dtype=torch.float32)
        x, info = st.cg(tuple(solved), rows[:8, 0].contiguous())
        assert info == 0 and x.dtype == torch.float32
        close(x, torch.linalg.solve(dense, rows[:8, 0].float()), torch.bfloat16)
        assert st.spmv((A[0].double(), *A[1:]), table[:5, 0].double().contiguous()).dtype == F64
        loss = st.gather_reduce(linear(table), index, OFFSETS, "mean").float().square().sum()
    loss.backward()
    assert linear.weight.grad.dtype == torch.float32 and linear.weight.grad.isfinite().all()
    with pytest.raises(ValueError):
        st.scatter(table[index].bfloat16(), index, table)  # without autocast nothing is cast


def test_autocast_in_a_compiled_function():
    torch._dynamo.reset()
    table, index = torch.randn(ROWS, 4, requires_grad=True), LISTS["some"]
    A, _ = matrix(torch.float32)

    def function(table):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rows = table @ torch.ones(4, 4)
            return st.spmv(A, rows[:5, 0].contiguous()), st.scatter_reduce(rows[index], index, table)

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)(table)
    for one, other in zip(compiled, function(table), strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("traced", [False, True])
def test_out_neither_casts_broadcasts_nor_records(traced):
    if traced:
        torch._dynamo.reset()
    table, index, offsets = torch.rand(4, 2), torch.tensor([2, 0, 2]), torch.tensor([0, 1, 3])

    def call(run, *arguments):
        return (torch.compile(run, fullgraph=True, backend="aot_eager") if traced else run)(*arguments)

    for out in (torch.zeros(5, 2), torch.zeros(2, 2, dtype=torch.int32)):
        with pytest.raises(Exception, match="out"):
            call(lambda t, o: st.gather_reduce(t, index, offsets, out=o), table, out)
        assert not out.any()
    recorded = table.clone().requires_grad_()
    with pytest.raises(Exception, match="out= has no gradients"):
        call(lambda t, o: st.gather(t, index, out=o), recorded, torch.zeros(3, 2))
    into = torch.zeros(2, 2)
    assert call(lambda t, o: st.gather_reduce(t, index, offsets, out=o), table, into) is not None
    torch.testing.assert_close(into, torch.stack([table[2], table[0] + table[2]]))
    sums, came = call(lambda t, o: st.scatter_reduce(t[:3], index, out=o, counts=True), table, torch.zeros(3, 2))
    torch.testing.assert_close(sums, torch.zeros(3, 2).index_add(0, index, table[:3]))
    assert came.tolist() == [1, 0, 2]


def test_what_out_decides_is_not_asked_for_twice():
    index = torch.tensor([2, 0, 2])
    for wrong in ({"size": 7}, {"dtype": torch.float64}, {"base": torch.zeros(4)}):
        with pytest.raises(ValueError, match="size and dtype are those of out"):
            st.scatter_reduce(torch.ones(3), index, out=torch.zeros(4), **wrong)
    with pytest.raises(ValueError, match=r"out is of torch\.int32, not of torch\.int64"):
        st.argsort(torch.tensor([3, 1, 2]), dtype=torch.int64, out=torch.empty(3, dtype=torch.int32))
    with pytest.raises(ValueError, match=r"out is of torch\.float32"):
        st.argsort(torch.tensor([3, 1, 2]), out=torch.empty(3))


@pytest.mark.parametrize("width", [(), (3,), (1100,)])
@pytest.mark.parametrize("op", ["add", "mean", "min", "max"])
def test_entries_outside_of_segments_may_be_any_in_gradients_too(op, width):
    index, inner = torch.tensor([-1, 0, 1, 3, 99]), torch.tensor([0, 1, 3])
    weights = torch.rand(5, dtype=F64) if op in ("add", "mean") else None
    made = []
    for some, offsets, factors in (
        (index, torch.tensor([1, 3, 4]), weights),
        (inner, torch.tensor([0, 2, 3]), None if weights is None else weights[1:4]),
    ):
        table = torch.arange(4 * max(1, sum(width)), dtype=F64).sin().reshape(4, *width).requires_grad_()
        factors = None if factors is None else factors.clone().requires_grad_()
        st.gather_reduce(table, some, offsets, op, weights=factors).square().sum().backward()
        made.append((table.grad, None if factors is None else factors.grad))
    (of_table, of_weights), (table, factors) = made
    assert table.any()
    torch.testing.assert_close(of_table, table)
    if weights is not None:
        torch.testing.assert_close(of_weights, torch.nn.functional.pad(factors, (1, 1)))


def test_an_extreme_that_is_nan_has_its_gradient():
    values = torch.tensor([1.0, float("nan"), 3.0, 2.0])
    index, offsets = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 2, 4])
    for op, of in (("max", [0, 1, 1, 0]), ("min", [0, 1, 0, 1])):
        for call in (
            lambda v: st.scatter_reduce(v, index, size=2, op=op),
            lambda v: st.gather_reduce(v, torch.arange(4), offsets, op),
        ):
            v = values.clone().requires_grad_()
            call(v).sum().backward()
            assert v.grad.tolist() == of, op
    v, base = values.clone().requires_grad_(), torch.tensor([float("nan"), 9.0], requires_grad=True)
    st.scatter_reduce(v, index, base, "max").sum().backward()
    assert (v.grad.tolist(), base.grad.tolist()) == ([0, 0.5, 0, 0], [0.5, 1])


def test_out_is_seen_by_whoever_looks():
    index, table, other = torch.tensor([2, 0, 2]), torch.ones(4, 2), torch.full((4, 2), 5.0)

    def filled(t, i):
        out = torch.zeros(3, 2)
        st.gather(t, i, out=out)
        return out

    for traced in (
        make_fx(filled)(table, index),
        make_fx(filled, tracing_mode="fake")(table, index),
        torch.jit.trace(filled, (table, index)),
    ):
        assert torch.equal(traced(other, index), other[index])
    with Seen() as seen:
        assert torch.equal(filled(other, index), other[index])
    assert "sheaf.gather.default" in [name for name, _ in seen.calls]
    with FakeTensorMode() as mode:
        assert filled(mode.from_tensor(table), mode.from_tensor(index)).shape == (3, 2)


def test_rows_outside_of_segments_may_be_infinite_in_second_gradients():
    A = torch.tensor([1.0, 2.0, 9.0, 9.0], requires_grad=True), torch.tensor([1, 2, 9, 9]), torch.tensor([0, 1, 2])
    x = torch.tensor([float("inf"), 2.0, 3.0])
    given = torch.ones(2, requires_grad=True)
    (of_data,) = torch.autograd.grad(st.spmv(A, x), A[0], given, create_graph=True)
    assert of_data.tolist() == [2, 3, 0, 0]
    assert torch.autograd.grad(of_data.sum(), given)[0].tolist() == [2, 3]
    table = torch.ones(4, 1100, requires_grad=True)  # wider than products of matrices
    made = st.gather_reduce(table, torch.tensor([1, 2, 99]), torch.tensor([0, 1, 2]))
    gradient = torch.ones(2, 1100)
    gradient[1] = float("inf")
    (of_table,) = torch.autograd.grad(made, table, gradient)
    assert of_table[:, 0].tolist() == [0, 1, float("inf"), 0]


def test_what_operators_return_beside_tensors():
    data, indices, indptr, _ = laplacian()
    with torch.device("meta"):
        _, info = st.cg((data, indices, indptr), torch.ones(8, dtype=F64, device="cpu"))
    assert info.device.type == "cpu" and info.item() == 0
    with pytest.raises(ValueError, match="not torch.int16"):
        torch.ops.sheaf.argsort(torch.ones(3), False, torch.int16)
