"""sheaf.torch in the memory of CUDA devices. Skipped where there is no device, or no torch."""

import pytest
from conftest import device_library

import sheaf

torch = device_library("torch")

import sheaf.torch as st  # noqa: E402  (it needs torch)
from test_torch import LISTS, ROWS, samples  # noqa: E402
from test_torch_layers import CURVES, passed, trained  # noqa: E402
from torch import library  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(20260)


def on(device, argument):
    if not isinstance(argument, torch.Tensor):
        return argument
    return argument.detach().to(device).requires_grad_(argument.requires_grad)


def result_and_gradients(call, arguments):
    made = call(*arguments)
    made = made[0] if isinstance(made, tuple) else made
    wanted = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    return made.detach(), *(torch.autograd.grad(made.sin().sum(), wanted) if wanted else ())


@pytest.mark.parametrize("by_dispatcher", [False, True])
def test_operators_do_what_they_do_on_the_cpu(by_dispatcher):
    from sheaf.torch._dispatch import calls

    for name, arguments in samples():
        call = getattr(calls, name)
        call = call.dispatch if by_dispatcher else call
        there = result_and_gradients(call, [on("cuda", a) for a in arguments])
        for one, other in zip(there, result_and_gradients(call, arguments), strict=True):
            assert one.is_cuda
            torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_operators_by_torchs_own_checks():
    for name, arguments in samples():
        library.opcheck(getattr(torch.ops.sheaf, name).default, tuple(on("cuda", a) for a in arguments))


def test_gradients_have_the_same_bits_in_every_run():
    index = (torch.rand(200000, device="cuda") ** 4 * 500).long()
    table = torch.randn(500, 64, device="cuda", requires_grad=True)
    weights = torch.randn(200000, device="cuda", requires_grad=True)
    offsets = torch.arange(0, 200001, 40, device="cuda")
    edges, layer = torch.stack([index, index.flip(0)]), st.MessagePassing("mean")
    runs = []
    for _ in range(5):
        y = st.gather(table, index).sin().sum() + st.gather_reduce(table, index, offsets, weights=weights).sin().sum()
        y = y + layer(table, edges, weights).sin().sum()
        runs.append(torch.autograd.grad(y, (table, weights)))
    for run in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(runs[0], run, strict=True))


def test_work_is_queued_on_the_current_stream():
    table = torch.zeros(1 << 20, 16, device="cuda", requires_grad=True)
    index = torch.randint(0, 1 << 20, (1 << 20,), device="cuda")
    target = torch.zeros(1 << 20, 16, device="cuda")
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    for step, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            target.fill_(step + 1)  # late, on this stream alone
            rows = st.gather(table, index) * 0 + st.gather(target, index)
            (rows * rows.detach()).sum().backward()
        torch.cuda.current_stream().wait_stream(stream)
        counts = torch.bincount(index, minlength=1 << 20)
        assert bool((rows == step + 1).all()) and bool((table.grad == 0).all())
        torch.testing.assert_close(
            st.scatter_reduce(rows.detach(), index, size=1 << 20), counts[:, None] * torch.full_like(table, step + 1)
        )
        table.grad = None


@pytest.mark.parametrize("what", ["gather", "reduce", "messages", "bags"])
def test_a_captured_graph_of_forward_and_backward(what):
    table = torch.randn(1000, 16, device="cuda", requires_grad=True)
    index = torch.randint(0, 1000, (5000,), device="cuda")
    edges = torch.randint(0, 1000, (2, 5000), device="cuda")
    lists = st.prepare_edges(edges, 1000)
    offsets = torch.arange(0, 5001, 10, device="cuda")
    forms = {
        "gather": lambda t: st.gather(t, index).sin().sum(),
        "reduce": lambda t: st.scatter_reduce(st.gather(t, index), index, size=1000, op="mean").sin().sum(),
        "messages": lambda t: st.MessagePassing("max")(t, lists).sin().sum() + st.MessagePassing()(t, lists).sum(),
        "bags": lambda t: st.gather_reduce(t, index, offsets, "mean").sin().sum(),
    }
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # first calls make the contexts
        for _ in range(3):
            table.grad = None
            forms[what](table).backward()
    torch.cuda.synchronize()
    table.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        loss = forms[what](table)
        loss.backward()
    for _ in range(3):
        with torch.no_grad():
            table.copy_(torch.randn_like(table))
        table.grad.zero_()
        index.copy_(torch.randint_like(index, 1000))
        graph.replay()
        torch.cuda.synchronize()
        leaf = table.detach().clone().requires_grad_()
        wanted = forms[what](leaf)
        wanted.backward()
        torch.testing.assert_close(loss, wanted)
        torch.testing.assert_close(table.grad, leaf.grad)


def test_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    index = LISTS["some"].to("cuda:1")
    with torch.cuda.device(0):
        table = torch.randn(ROWS, 3, device="cuda:1", requires_grad=True)
        rows = st.gather(table, index)
        sums = st.gather_reduce(table, index, torch.tensor([0, 3, 7], device="cuda:1"), "mean")
        (rows.square().sum() + sums.square().sum()).backward()
        assert rows.device == sums.device == table.grad.device == table.device
        assert torch.cuda.current_device() == 0
        assert torch.equal(rows, table[index])
        for name, arguments in samples():
            made = getattr(torch.ops.sheaf, name).default(*(on("cuda:1", a) for a in arguments))
            made = made[0] if isinstance(made, tuple) else made
            assert made.device == table.device
    with pytest.raises(ValueError, match="device"):
        st.gather(table, index.to("cuda:0"))


def test_bad_indices_are_raised_later():
    table = torch.randn(ROWS, 3, device="cuda", requires_grad=True)
    good, bad = torch.tensor([1, 2], device="cuda"), torch.tensor([0, 1, ROWS], device="cuda")
    rows = st.gather(table, bad)
    torch.cuda.synchronize()
    with pytest.raises(IndexError, match=rf"index\[2\] is {ROWS}"):
        st.gather(table, good)
    # The gradient meets it, too; its calls are those of autograd's thread.
    with pytest.raises(IndexError, match=rf"index\[2\] is {ROWS}"):
        for _ in range(3):
            rows.sum().backward(retain_graph=True)
            torch.cuda.synchronize()
    table.grad = None
    st.gather(table, good).sum().backward()
    assert table.grad.sum().item() == 6


def test_autocast():
    table = torch.randn(ROWS, 4, device="cuda")
    index, linear = LISTS["some"].cuda(), torch.nn.Linear(4, 4).cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        rows = linear(table)
        assert rows.dtype == torch.float16 and st.gather(rows, index).dtype == torch.float16
        assert st.scatter_reduce(table[index], index, rows).dtype == torch.float32
        assert st.edge_sum(tuple(torch.tensor([[0, 1], [1, 2]], device="cuda")), rows).dtype == torch.float32


@pytest.mark.parametrize("reduce", ["add", "mean", "max"])
def test_layers_train_like_torchs(reduce):
    edges = torch.randint(0, 300, (2, 5000), device="cuda")
    x, target = torch.randn(300, 16, device="cuda"), torch.randn(300, 4, device="cuda")
    layer, curves = st.MessagePassing(reduce), []
    state = torch.nn.Linear(16, 4).state_dict()

    def module():
        made = torch.nn.Linear(16, 4)
        made.load_state_dict(state)
        return made.cuda()

    for run in (
        lambda m: layer(torch.tanh(m(x)), edges),
        lambda m: passed(torch.tanh(m(x)), edges, None, reduce, 300),
    ):
        with torch.device("cuda"):
            losses, _ = trained(module, run, target, rate=0.002 if reduce == "add" else 0.05)
        curves.append(losses)
    torch.testing.assert_close(curves[0], curves[1], rtol=10 * CURVES["rtol"], atol=0)


def test_compile():
    torch._dynamo.reset()
    table, index = torch.randn(ROWS, 3, device="cuda", requires_grad=True), LISTS["some"].cuda()
    function = lambda t: st.scatter_reduce(st.gather(t, index) * 2, index, t, "max").sin().sum()  # noqa: E731
    (wanted,) = torch.autograd.grad(function(table), table)
    (got,) = torch.autograd.grad(torch.compile(function, fullgraph=True)(table), table)
    torch.testing.assert_close(got, wanted)
    assert sheaf.has_cuda
