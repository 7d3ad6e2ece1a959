"""Arrays in the memory of CUDA devices, of torch and of CuPy. Skipped where there is no device."""

import numpy as np
import pytest
from conftest import device_library

import sheaf


@pytest.fixture
def torch():
    return device_library("torch")


@pytest.fixture
def cupy():
    return device_library("cupy")


def test_torch_calls(torch, rng):
    table = torch.as_tensor(rng.normal(size=(1000, 8)), device="cuda")
    index = torch.as_tensor(rng.integers(0, 1000, 5000), device="cuda")
    rows = sheaf.gather(table, index)
    assert isinstance(rows, torch.Tensor) and rows.device == table.device
    assert torch.equal(rows, table[index])
    out = torch.empty_like(rows)
    assert sheaf.gather(table, index, out=out) is out and torch.equal(out, rows)
    keys = torch.randint(0, 1000, (10000,), device="cuda")
    assert torch.equal(sheaf.sort(keys), torch.sort(keys)[0])
    order = sheaf.argsort(keys)
    assert order.dtype == torch.int64 and torch.equal(order, torch.sort(keys, stable=True)[1])
    values, sums = torch.rand(10000, device="cuda"), torch.zeros(1000, device="cuda")
    torch.testing.assert_close(
        sheaf.scatter_reduce(values, keys, sums), torch.zeros_like(sums).index_add_(0, keys, values)
    )
    again = sheaf.scatter_reduce(values, keys, torch.zeros(1000, device="cuda"))
    assert torch.equal(again, sums)
    offsets, ids = sheaf.HashIndex(keys).search(keys[:50])
    assert isinstance(ids, torch.Tensor) and torch.equal(keys[ids.long()], keys[:50].repeat_interleave(offsets.diff()))


def test_products_in_any_order(torch, rng):
    rows, columns = torch.arange(5000, device="cuda").repeat_interleave(8), 40000
    entries = torch.as_tensor(rng.normal(size=40000), device="cuda")
    offsets = torch.arange(0, 40001, 8, device="cuda")
    a = sheaf.csr((entries, torch.as_tensor(rng.integers(0, columns, 40000), device="cuda"), offsets), (5000, columns))
    x = torch.as_tensor(rng.normal(size=5000), device="cuda")
    choices = {order: sheaf.explain("csr.rmatvec", a, x, order=order).choice for order in ("deterministic", "any")}
    assert choices["any"] == "cuda.atomic" != choices["deterministic"]
    wanted = torch.zeros(columns, device="cuda", dtype=torch.float64)
    wanted.index_add_(0, a.indices, entries * x[rows])
    for order in choices:
        torch.testing.assert_close(a.rmatvec(x, order=order), wanted)
        torch.testing.assert_close(a.prepare(2, transposed=True, order=order).matvec(x), wanted)
    again = [a.rmatvec(x).cpu().numpy().tobytes() for _ in range(3)]
    assert len(set(again)) == 1


def test_the_current_device(torch, cupy):
    last = torch.cuda.device_count() - 1
    with torch.cuda.device(last):
        stream = torch.cuda.Stream()
        index = torch.tensor([2, 0], device="cuda")
        for ctx in (sheaf.context("cuda"), sheaf.context(), sheaf.context(torch.device("cuda"))):
            assert ctx.device == f"cuda:{last}"
            assert sheaf.gather(torch.arange(3, device="cuda"), index, ctx=ctx).tolist() == [2, 0]
    with cupy.cuda.Device(last):
        assert sheaf.context("cuda").device == f"cuda:{last}"
        other = cupy.cuda.Stream(non_blocking=True)
    with torch.cuda.device(0):
        assert sheaf.context("cuda").device == "cuda:0"
        assert sheaf.context(stream=stream).device == sheaf.context("cuda", stream=stream).device == f"cuda:{last}"
        assert sheaf.context(stream=other).device == f"cuda:{last}"


def test_torch_types_that_numpy_has_not(torch):
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.complex64, torch.bool):
        table = torch.rand(64, 4, device="cuda").to(dtype)
        index = torch.arange(63, -1, -1, device="cuda")
        assert torch.equal(sheaf.gather(table, index).view(torch.uint8), table[index].view(torch.uint8))


def test_torch_tensors_that_are_refused(torch):
    index = torch.tensor([0], device="cuda")
    with pytest.raises(ValueError, match="requires a gradient"):
        sheaf.gather(torch.ones(3, device="cuda", requires_grad=True), index)
    with pytest.raises(ValueError, match="negated or conjugate"):
        sheaf.gather(torch.ones(3, device="cuda", dtype=torch.complex64).conj(), index)
    with pytest.raises(ValueError, match="sparse tensor"):
        sheaf.gather(torch.eye(3, device="cuda").to_sparse(), index)
    with pytest.raises(ValueError, match="memory"):
        sheaf.gather(torch.ones(3, device="cuda"), index.cpu())
    with pytest.raises(ValueError, match="memory"):
        sheaf.gather(torch.ones(3, device="cuda"), index, ctx=sheaf.context("cpu"))


def test_torch_on_the_cpu(rng):
    torch = pytest.importorskip("torch")
    table = torch.as_tensor(rng.normal(size=(100, 4)))
    index = torch.as_tensor(rng.integers(0, 100, 50))
    rows = sheaf.gather(table, index)
    assert isinstance(rows, torch.Tensor) and torch.equal(rows, table[index])
    with pytest.raises(ValueError, match="requires a gradient"):
        sheaf.gather(table.requires_grad_(), index)


def reductions(torch, device, dtype):
    """Rows of numbers, combined by lists and multiplied, against torch in float64."""
    values = torch.rand(5000, 20, device=device).to(dtype)[:, 2:18]
    index = torch.randint(0, 99, (5000,), device=device)  # none comes to row 99
    rough = dtype in (torch.float16, torch.bfloat16)
    close = {"rtol": 2e-2 if rough else 1e-4, "atol": 0.5 if rough else 1e-4}
    wanted = torch.zeros(100, 16, device=device, dtype=torch.float64).index_add_(0, index, values.double())
    came = torch.bincount(index, minlength=100)
    made, counts = sheaf.scatter_reduce(values, index, size=100, counts=True)
    assert isinstance(made, torch.Tensor) and made.dtype == dtype and made.device == values.device
    assert torch.equal(counts, came)
    torch.testing.assert_close(made.double(), wanted, **close)
    out = torch.full((100, 32), 3.0, device=device).to(dtype)
    assert sheaf.scatter_reduce(values, index, out[:, 8:24], "max", start="identity").shape == (100, 16)
    most = torch.full((100, 16), -torch.inf, device=device, dtype=torch.float64)
    most.scatter_reduce_(0, index[:, None].expand(-1, 16), values.double(), "amax")
    assert torch.equal(out[:, 8:24].double(), most) and bool((out[:, :8] == 3).all() and (out[:, 24:] == 3).all())
    mean = sheaf.scatter_reduce(values, index, size=100, op="mean", dtype=torch.float32 if rough else None)
    assert mean.dtype == (torch.float32 if rough else dtype)
    torch.testing.assert_close(mean.double(), wanted / came.clamp(min=1)[:, None], rtol=1e-3, atol=1e-3)
    combine = sheaf.prepare_scatter_reduce(index, 100, runs=10, row_bytes=32)
    torch.testing.assert_close(combine(values).double(), wanted, **close)
    offsets = torch.tensor([0, 10, 10, 500, 5000], device=device)
    sums = sheaf.gather_reduce(made, index, offsets, dtype=torch.float32 if rough else None)
    for s in range(4):
        rows = made.double()[index[offsets[s] : offsets[s + 1]]]
        torch.testing.assert_close(sums[s].double(), rows.sum(0), rtol=1e-3, atol=1e-3)
    dense = torch.rand(30, 100, device=device, dtype=torch.float32 if rough else dtype)
    a = (dense * (dense > 0.8)).to_sparse_csr()
    x = torch.rand(100, 16, device=device).to(dtype)
    product = a.to_dense().double() @ x.double()
    torch.testing.assert_close((sheaf.csr(a) @ x).double(), product, rtol=1e-2, atol=1e-2 if rough else 1e-4)
    back = sheaf.prepare_spmm(a, 10, columns=16, transposed=True)(product.to(dtype))
    torch.testing.assert_close(
        back.double(), a.to_dense().double().T @ product.to(dtype).double(), rtol=1e-2, atol=0.5 if rough else 1e-3
    )
    with pytest.raises(IndexError, match="index\\[0\\] is 100"):
        sheaf.scatter_reduce(values, index + 100 - index, size=100, check="now")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rows_of_torch(torch, dtype):
    reductions(torch, "cuda", getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rows_of_torch_on_the_cpu(dtype):
    torch = pytest.importorskip("torch")
    reductions(torch, "cpu", getattr(torch, dtype))


def test_rows_of_cupy(cupy, rng):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    values, index = cupy.asarray(rng.normal(size=(500, 6))), cupy.asarray(rng.integers(0, 9, 500))
    wanted = np.zeros((10, 6))
    np.add.at(wanted, index.get(), values.get())
    made, counts = sheaf.scatter_reduce(values[:, 1:5], index, size=10, counts=True)
    assert isinstance(made, cupy.ndarray) and isinstance(counts, cupy.ndarray)
    np.testing.assert_allclose(made.get(), wanted[:, 1:5], atol=1e-12)
    np.testing.assert_array_equal(counts.get(), np.bincount(index.get(), minlength=10))
    offsets = cupy.asarray([0, 3, 500])
    sums = sheaf.gather_reduce(made, index, offsets)
    np.testing.assert_allclose(sums.get()[0], made.get()[index.get()[:3]].sum(0))
    a = sparse.csr_matrix(cupy.asarray(np.diag(np.arange(1.0, 11.0))))
    np.testing.assert_allclose(sheaf.spmm(a, made).get(), np.arange(1.0, 11.0)[:, None] * made.get())


def test_bad_indices_wait_for_the_next_call(torch):
    table, bad = torch.ones(5, device="cuda"), torch.tensor([7], device="cuda")
    good = torch.tensor([1], device="cuda")
    assert sheaf.gather(table, bad).item() == 0  # item() waits
    with pytest.raises(IndexError, match="index\\[0\\] is 7"):
        sheaf.gather(table, good)
    assert sheaf.gather(table, good).item() == 1  # raised once
    with pytest.raises(IndexError):
        sheaf.gather(table, bad, check="now")
    with pytest.raises(IndexError):
        with sheaf.context("cuda"):
            sheaf.gather(table, bad)
    ctx = sheaf.context("cuda")
    sheaf.gather(table, bad, ctx=ctx)
    with pytest.raises(IndexError):
        ctx.wait()
    torch.ones(1, device="cuda").sum().item()  # CUDA goes on


def test_two_streams(torch):
    table = torch.arange(1 << 20, device="cuda")
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    index = torch.randperm(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(one):
        first = sheaf.gather(table, index)
    two.wait_stream(one)
    with torch.cuda.stream(two):
        second = sheaf.gather(first, index)
    torch.cuda.synchronize()
    assert torch.equal(second, table[index][index])
    # A stream of the context's own is ordered with torch's.
    with sheaf.context("cuda"):
        x = torch.zeros(1 << 22, device="cuda", dtype=torch.int64)
        x += 5
        y = sheaf.gather(x, index)
        assert bool((y == 5).all())


def test_a_captured_graph(torch):
    table, index = torch.rand(1000, 8, device="cuda"), torch.randint(0, 1000, (5000,), device="cuda")
    out = torch.empty(5000, 8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        sheaf.gather(table, index, out=out)  # a first call makes the context
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        sheaf.gather(table, index, out=out)
    for _ in range(3):
        table.copy_(torch.rand_like(table))
        index.copy_(torch.randint_like(index, 1000))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, table[index])


def test_scratch_of_torchs_pool(torch):
    keys = torch.randint(0, 1 << 60, (1 << 20,), device="cuda")
    torch.cuda.synchronize()
    with sheaf.context("cuda", stream=torch.cuda.current_stream(), scratch="torch"):
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        order = sheaf.argsort(keys)
        assert torch.cuda.memory_stats()["allocation.all.allocated"] > before + 1
    assert torch.equal(order, torch.sort(keys, stable=True)[1])


def test_wrong_devices(torch):
    with pytest.raises(sheaf.BackendUnavailable):
        sheaf.context("cuda:63")
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    table, index = torch.ones(5, device="cuda:0"), torch.tensor([1], device="cuda:1")
    with pytest.raises(ValueError, match="device"):
        sheaf.gather(table, index)
    other = torch.arange(5.0, device="cuda:1")
    assert sheaf.gather(other, index).item() == 1


def test_torch_sparse_and_cg(torch, rng):
    dense = np.diag(np.full(50, 4.0)) - np.eye(50, k=1) - np.eye(50, k=-1)
    a = torch.as_tensor(dense, device="cuda").to_sparse_csr()
    x = torch.as_tensor(rng.normal(size=50), device="cuda")
    torch.testing.assert_close(sheaf.csr(a) @ x, a @ x)
    for operator in (a, sheaf.csr(a).matvec, lambda v: a @ v):
        solution, info = sheaf.cg(operator, x, rtol=1e-10)
        assert info == 0
        torch.testing.assert_close(a @ solution, x)


def test_cupy_calls(cupy, rng):
    table = cupy.asarray(rng.normal(size=(1000, 8)))
    index = cupy.asarray(rng.integers(0, 1000, 5000))
    rows = sheaf.gather(table, index)
    assert isinstance(rows, cupy.ndarray) and bool((rows == table[index]).all())
    out = cupy.empty((5000, 8))
    assert sheaf.gather(table, index, out=out) is out and bool((out == rows).all())
    keys = cupy.random.randint(0, 1000, 10000)
    assert bool((sheaf.sort(keys) == cupy.sort(keys)).all())
    offsets, ids = sheaf.HashIndex(keys).search(keys[:50])
    assert isinstance(ids, cupy.ndarray) and int(offsets[-1]) == len(ids)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        again = sheaf.gather(table, index)
        stream.synchronize()
        assert bool((again == rows).all())
    with sheaf.context("cuda", stream=cupy.cuda.get_current_stream(), scratch="cupy"):
        assert bool((keys[sheaf.argsort(keys)] == cupy.sort(keys)).all())


def test_cupy_sparse_and_other_interfaces(cupy, rng):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    a = sparse.csr_matrix(cupy.asarray(np.diag(np.arange(1.0, 9.0))))
    x = cupy.arange(8.0)
    assert bool(cupy.allclose(sheaf.csr(a) @ x, a @ x))

    class Interface:
        def __init__(self, of):
            self.__cuda_array_interface__ = of.__cuda_array_interface__

    index = cupy.arange(3)
    out = cupy.empty(3)
    sheaf.gather(Interface(x), Interface(index), out=out)
    assert bool((out == x[:3]).all())
    with pytest.raises(ValueError, match="give the outputs"):
        sheaf.gather(Interface(x), index)


@pytest.mark.parametrize("order", ["import torch, sheaf", "import sheaf, torch"])
def test_torch_and_sheaf_in_any_order(order):
    pytest.importorskip("torch")
    import subprocess
    import sys

    program = (
        order + "; import numpy; a = numpy.arange(1 << 20)[::-1].copy(); sheaf.sort(a); torch.sort(torch.as_tensor(a))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
