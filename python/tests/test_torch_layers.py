"""The layers of sheaf.torch beside torch's own: equal training curves. Skipped without torch."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

import sheaf.torch as st  # noqa: E402  (it needs torch)
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from test_torch import F64, checked, seeded  # noqa: E402, F401  (the fixture seeds each test here, too)


def trained(make, forward, target, rate=0.05, steps=40):
    """The losses of a training."""
    module = make()
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (forward(module) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses), module


# The losses of 40 steps agree to 17 roundings of float32: sums are made in other orders, and a training that converges
# does not blow that up.
CURVES = {"rtol": 2e-6, "atol": 0}


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("form", ["offsets", "last offset", "rows", "int32"])
@pytest.mark.parametrize("padding", [None, 2, -1])
@pytest.mark.parametrize("weighted", [False, True])
def test_embedding_bag_trains_like_torchs(mode, form, padding, weighted):
    if weighted and mode != "sum":
        pytest.skip("torch has weights of sums only")
    index = torch.randint(0, 20, (60,))
    index[7:9], index[20:24] = 2, 19
    offsets = torch.tensor([0, 9, 9, 20, 41, 60])
    if form == "rows":
        index, offsets = index.reshape(12, 5), None
    elif form != "last offset":
        offsets = offsets[:-1]
    if form == "int32":
        index, offsets = index.int(), offsets.int()
    weights = torch.rand(index.shape) if weighted else None
    theirs = torch.nn.EmbeddingBag(20, 6, mode=mode, padding_idx=padding, include_last_offset=form == "last offset")
    state = copy.deepcopy(theirs.state_dict())
    ours = st.EmbeddingBag(20, 6, mode=mode, padding_idx=padding, include_last_offset=form == "last offset")
    ours.load_state_dict(state)
    if mode != "sum" or not weighted:
        torch.testing.assert_close(ours(index, offsets), theirs(index, offsets))
    target = torch.randn(theirs(index, offsets).shape)
    curves = []
    for module in (ours, theirs):
        losses, module = trained(lambda module=module: module, lambda m: m(index, offsets, weights), target)
        curves.append(losses)
    torch.testing.assert_close(curves[0], curves[1], **CURVES)
    assert curves[0][-1] < 0.9 * curves[0][0]
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=1e-4, atol=2e-6)
    theirs.load_state_dict(ours.state_dict())


def test_gradients_of_weights_of_bags():
    index, offsets = torch.randint(0, 20, (30,)), torch.tensor([0, 9, 9, 20])
    theirs = torch.nn.EmbeddingBag(20, 6, mode="sum", padding_idx=3)
    index[5] = 3
    ours = st.EmbeddingBag(20, 6, mode="sum", padding_idx=3)
    ours.load_state_dict(theirs.state_dict())
    grads = []
    for module in (ours, theirs):
        weights = torch.linspace(-1, 1, 30, requires_grad=True)
        (grad,) = torch.autograd.grad(module(index, offsets, weights).sin().sum(), weights)
        grads.append(grad)
    kept = index != 3
    torch.testing.assert_close(grads[0][kept], grads[1][kept])
    assert (grads[0][~kept] == 0).all()


def test_bags_of_given_weights():
    bags = st.EmbeddingBag.from_pretrained(torch.eye(4), mode="sum")
    assert not bags.weight.requires_grad
    assert bags(torch.tensor([[0, 3], [1, 1]])).tolist() == [[1, 0, 0, 1], [0, 2, 0, 0]]


def test_bags_that_are_refused():
    for options in ({"sparse": True}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}, {"mode": "median"}):
        with pytest.raises(ValueError, match="EmbeddingBag"):
            st.EmbeddingBag(4, 2, **options)
    bags = st.EmbeddingBag(4, 2)
    index = torch.tensor([0, 1])
    for arguments in ((index,), (index[None], index), (index, index, torch.ones(2)), (index[None, None], None)):
        with pytest.raises(ValueError, match="EmbeddingBag"):
            bags(*arguments)
    for option in ("max_norm", "sparse", "scale_grad_by_freq"):
        changed = st.EmbeddingBag(4, 2)
        setattr(changed, option, 1.0)
        with pytest.raises(ValueError, match=option):
            changed(index, index)
    with pytest.raises(ValueError, match="per_sample_weights is of"):
        st.EmbeddingBag(4, 2, mode="sum")(index, index, torch.ones(3))
    with pytest.raises(IndexError, match=r"index\[1\] is 4"):
        bags(torch.tensor([0, 4]), torch.tensor([0]))


def passed(x, edges, weights, reduce, size):
    """Messages by torch's index_add and scatter_reduce."""
    rows = x[edges[0]] if weights is None else x[edges[0]] * weights[:, None]
    if reduce == "add":
        return torch.zeros(size, x.shape[1]).index_add(0, edges[1], rows)
    where = edges[1][:, None].expand_as(rows)
    name = {"mean": "mean", "min": "amin", "max": "amax"}[reduce]
    return torch.zeros(size, x.shape[1]).scatter_reduce(0, where, rows, name, include_self=False)


@pytest.mark.parametrize("reduce", ["add", "mean", "min", "max"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [None, 9])
def test_message_passing_trains_like_torchs(reduce, weighted, size):
    edges = torch.stack([torch.randint(0, 30, (200,)), torch.randint(0, (size or 30) - 2, (200,))])
    x, weights = torch.randn(30, 5), torch.rand(200) if weighted else None
    target = torch.randn(size or 30, 4)
    layer, first = st.MessagePassing(reduce), torch.nn.Linear(5, 4)
    curves = []
    for run in (
        lambda m: layer(torch.tanh(m(x)), edges, weights, size),
        lambda m: passed(torch.tanh(m(x)), edges, weights, reduce, size or 30),
    ):
        losses, _ = trained(lambda: copy.deepcopy(first), run, target, rate=0.002 if reduce == "add" else 0.05)
        curves.append(losses)
    torch.testing.assert_close(curves[0], curves[1], **CURVES)
    assert curves[0][-1] < curves[0][0]


def test_lists_of_edges_are_kept_while_they_hold():
    edges = torch.stack([torch.randint(0, 9, (20,)), torch.randint(0, 9, (20,))])
    x, layer = torch.randn(9, 2), st.MessagePassing()
    layer(x, edges)
    kept = layer._kept[-1]
    layer(x, edges)
    assert layer._kept[-1] is kept
    edges[1] = edges[1].flip(0)
    torch.testing.assert_close(layer(x, edges), passed(x, edges, None, "add", 9))
    assert layer._kept[-1] is not kept
    kept = layer._kept[-1]
    same = edges.clone()
    layer(x, same)
    assert layer._kept[-1] is not kept
    torch.testing.assert_close(layer(x, edges, None, 12)[:9], passed(x, edges, None, "add", 9))
    torch.testing.assert_close(layer(x, tuple(edges)), passed(x, edges, None, "add", 9))
    with torch.inference_mode():
        inner = edges.clone()
        torch.testing.assert_close(layer(x, inner), passed(x, edges, None, "add", 9))
    again = pickle.loads(pickle.dumps(layer))
    assert again.reduce == "add" and again._kept is None
    assert copy.deepcopy(layer)._kept is None and layer.state_dict() == {} and "add" in repr(layer)


def test_messages_by_prepared_lists():
    edges = torch.stack([torch.randint(0, 9, (40,)), torch.randint(0, 7, (40,))])
    lists = st.prepare_edges(edges, 9, 7)
    for one, other in zip(lists, st.prepare_edges(tuple(edges.int()), 9, 7), strict=True):
        assert torch.equal(one, other)
    assert all(part.dtype == torch.int32 for part in lists)
    assert torch.equal(lists.offsets.diff(), torch.bincount(edges[1], minlength=7).int())
    assert torch.equal(edges[0][lists.order.long()].int(), lists.index)
    x, weights = torch.randn(9, 3, dtype=F64), torch.randn(40, dtype=F64)
    for reduce in ("add", "mean", "min", "max"):
        layer = st.MessagePassing(reduce)
        checked(lambda u, w, layer=layer: layer(u, lists, w), x, weights)
        checked(lambda u, layer=layer: layer(u, lists), x)
    empty = torch.zeros(2, 0, dtype=torch.int64)
    assert st.MessagePassing("max")(x, empty).tolist() == torch.zeros(9, 3).tolist()
    with pytest.raises(ValueError, match="8 rows"):
        layer(x[:8], lists)
    with pytest.raises(ValueError, match="size is 5"):
        layer(x, lists, size=5)
    with pytest.raises(ValueError, match="reduce"):
        st.MessagePassing("median")


def test_edges_and_weights_that_do_not_fit_are_refused():
    x, edges = torch.ones(3, 1), torch.tensor([[0, 1, 2], [1, 2, 0]])
    layer = st.MessagePassing()
    for weights in (torch.ones(4), torch.ones(2), torch.ones(3, 1)):
        with pytest.raises(ValueError, match="weights has shape .* there are 3 edges"):
            layer(x, edges, weights)
    for wrong in ((edges[0], edges[1, :2]), torch.tensor([[0, 1], [1, 2], [2, 0]]), edges.reshape(2, 3, 1)):
        with pytest.raises(ValueError, match="two lists of one length, not"):
            layer(x, wrong)
    assert layer(x, edges, torch.tensor([1.0, 2.0, 3.0])).flatten().tolist() == [3, 1, 2]


def test_layers_take_lists_that_do_not_lie_in_one_piece():
    bags, theirs = st.EmbeddingBag(10, 3, mode="sum"), torch.nn.EmbeddingBag(10, 3, mode="sum")
    theirs.load_state_dict(bags.state_dict())
    offsets = torch.tensor([0, 3])
    for given in (torch.arange(10)[::2], torch.tensor([1]).expand(6)):
        torch.testing.assert_close(bags(given, offsets), theirs(given, offsets))
    weights = torch.tensor([2.0]).expand(5)
    given = torch.arange(5)
    torch.testing.assert_close(bags(given, offsets, weights), theirs(given, offsets, weights.contiguous()))
    edges = torch.tensor([[0, 1], [1, 2], [2, 0]])
    x = torch.tensor([[1.0], [10.0], [100.0]])
    layer = st.MessagePassing()
    assert layer(x, edges.t()).flatten().tolist() == [100, 1, 10]
    kept = torch.tensor([[0, 1, 2], [1, 2, 0]])
    assert layer(x, kept).flatten().tolist() == [100, 1, 10]
    kept.data = torch.tensor([[0], [0]])
    assert layer(x, kept).flatten().tolist() == [1, 0, 0]


def test_layers_that_are_watched_bring_their_edges_into_order():
    x = torch.tensor([[1.0], [2.0], [4.0]])
    cycle, others = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([[0, 0, 0], [1, 1, 0]])
    layer = st.MessagePassing()
    layer(x, cycle)  # its lists are kept
    traced = make_fx(lambda x, edges: layer(x, edges))(x, cycle)
    assert traced(x, others).flatten().tolist() == [1, 2, 0]
    exported = torch.export.export(layer, (x, cycle), strict=False).module()
    assert exported(x, others).flatten().tolist() == [1, 2, 0]


def test_lists_made_in_inference_mode_serve_training():
    x, edges = torch.randn(3, 2, requires_grad=True), torch.tensor([[0, 1, 2], [1, 0, 0]])
    layer = st.MessagePassing()
    with torch.inference_mode():
        layer(x, edges)
        lists = st.prepare_edges(edges, 3)
    for given in (edges, lists):
        (of_x,) = torch.autograd.grad(layer(x, given).sum(), x)
        assert of_x.tolist() == [[1, 1], [1, 1], [1, 1]]
