"""Layers: bags of embeddings, and messages along the edges of a graph."""

import weakref
from typing import NamedTuple

import torch

from ._calls import argsort, gather, gather_reduce, reduce_by_lists, scatter, scatter_reduce
from ._dispatch import calls, is_watched


class EdgeLists(NamedTuple):
    """The edges of a graph by target and by source, as `prepare_edges` makes them for many layers and steps."""

    order: torch.Tensor  # numbers of the edges, by target
    inverse: torch.Tensor  # the place of each edge in that order
    index: torch.Tensor  # the source of each edge in that order
    offsets: torch.Tensor  # the edges to node v are those from offsets[v] to offsets[v + 1] in that order
    segments: torch.Tensor  # the target of each edge in that order
    source_offsets: torch.Tensor  # the same by source: where the edges of each begin,
    source_entries: torch.Tensor  # their places in the order by target,
    source_targets: torch.Tensor  # and their targets


def prepare_edges(edges, sources, targets=None):
    """Bring the edges of a graph into order, once for many reductions along them.

    Parameters
    ----------
    edges : Tensor of shape (2, m), or tuple of two tensors of int32 or int64
        Sources and targets of the edges, as torch_geometric's edge_index.
    sources : int
        How many nodes edges may come from.
    targets : int, optional
        How many they may go to; as many as sources without it.

    Returns
    -------
    EdgeLists
        Eight tensors, of int32 unless there are more than 2**31 edges or nodes.

    Raises
    ------
    IndexError
        For the first bad source or target, with its position.
    ValueError
        Unless edges are two lists of one length.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> lists = sheaf.torch.prepare_edges(torch.tensor([[0, 1, 2], [2, 0, 2]]), 3)
    >>> lists.index, lists.offsets
    (tensor([1, 0, 2], dtype=torch.int32), tensor([0, 1, 1, 3], dtype=torch.int32))
    """
    if not is_watched() and torch.is_inference_mode_enabled():  # a later training may use the lists
        with torch.inference_mode(False):
            return prepare_edges(edges, sources, targets)
    if len(edges) != 2 or edges[0].ndim != 1 or edges[0].shape != edges[1].shape:
        shapes = " and ".join(str(tuple(end.shape)) for end in edges) if len(edges) == 2 else f"{len(edges)} parts"
        raise ValueError(f"prepare_edges: edges are sources and targets, two lists of one length, not {shapes}")
    source, target = (end.contiguous() for end in edges)
    targets = sources if targets is None else targets
    narrow = max(source.shape[0], sources, targets) < 2**31
    dtype = torch.int32 if narrow else torch.int64
    source_offsets, offsets = offsets_of(source, sources, dtype), offsets_of(target, targets, dtype)
    source, target = source.to(dtype), target.to(dtype)
    order = argsort(target, dtype=dtype)
    index, segments = gather(source, order), gather(target, order)
    source_entries = argsort(index, dtype=dtype)
    numbers = torch.arange(order.shape[0], dtype=dtype, device=order.device)
    inverse = scatter(numbers, order, torch.empty_like(order))
    return EdgeLists(
        order, inverse, index, offsets, segments, source_offsets, source_entries, gather(segments, source_entries)
    )


def offsets_of(ends, nodes, dtype):
    """Where the edges of each node begin, if they are in its order; bad ends raise here, by their positions."""
    counts = scatter_reduce(ends, ends, op="count", size=nodes)
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).to(dtype)


class MessagePassing(torch.nn.Module):
    """Combine the features of each node's neighbours: ``out[v]`` reduces ``weight * x[u]`` over the edges from u to v.

    Parameters
    ----------
    reduce : {'add', 'mean', 'min', 'max'}
        A mean divides by the number of edges, whatever their weights. Nodes without edges get 0.

    Notes
    -----
    The lists that an edge list is brought into are kept as long as the next calls pass the same tensor, unchanged, and
    the same numbers of nodes. `prepare_edges` makes them by word, for several layers and for torch.compile, in which
    nothing is kept. Results and gradients have the same bits in every run. No row for each edge is stored, except for
    the gradient of weights, and by 'min' and 'max'.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> layer = sheaf.torch.MessagePassing("mean")
    >>> layer(torch.tensor([[1.], [3.], [5.]]), torch.tensor([[0, 1, 2], [2, 2, 0]]))
    tensor([[5.],
            [0.],
            [2.]])
    """

    def __init__(self, reduce="add"):
        super().__init__()
        if reduce not in ("add", "mean", "min", "max"):
            raise ValueError(f"MessagePassing: reduce is 'add', 'mean', 'min' or 'max', not {reduce!r}")
        self.reduce = reduce
        self._kept = None

    def forward(self, x, edges, weights=None, size=None):
        """Reduce along the edges.

        Parameters
        ----------
        x : Tensor of shape (sources, ...)
            Of floats.
        edges : Tensor of shape (2, m), tuple of two tensors, or EdgeLists
        weights : Tensor of shape (m,), optional
            Of the type of `x`, or float32 where that has 16 bits.
        size : int, optional
            Nodes of the output, if they are not those of `x`.

        Returns
        -------
        Tensor of shape (size, ...)
        """
        lists = edges if isinstance(edges, EdgeLists) else self._lists_of(edges, x.shape[0], size)
        if size is not None and lists.offsets.shape[0] - 1 != size:
            raise ValueError(f"MessagePassing: size is {size}, and the lists are of {lists.offsets.shape[0] - 1} nodes")
        if lists.source_offsets.shape[0] - 1 != x.shape[0]:
            raise ValueError(
                f"MessagePassing: x has {x.shape[0]} rows, and the lists are of {lists.source_offsets.shape[0] - 1}"
            )
        if weights is not None:
            if weights.shape != lists.order.shape:
                shape, count = tuple(weights.shape), lists.order.shape[0]
                raise ValueError(f"MessagePassing: weights has shape {shape}, and there are {count} edges")
            weights = calls.permute(weights, lists.order, lists.inverse)
        for_gradient = lists[4:]
        if self.reduce in ("add", "mean"):
            return reduce_by_lists(x, lists.index, lists.offsets, self.reduce, weights, for_gradient)
        if weights is None:
            made = reduce_by_lists(x, lists.index, lists.offsets, self.reduce, None, for_gradient)
        else:
            rows = gather(x, lists.index)
            rows = rows * weights.to(x.dtype).reshape(-1, *[1] * (x.ndim - 1))
            numbers = torch.arange(rows.shape[0], dtype=lists.index.dtype, device=rows.device)
            made = gather_reduce(rows, numbers, lists.offsets, self.reduce)
        return zero_where_empty(made, lists.offsets)

    def _lists_of(self, edges, sources, targets):
        targets = sources if targets is None else targets
        if is_watched():
            return prepare_edges(edges, sources, targets)
        tensors = (edges,) if isinstance(edges, torch.Tensor) else tuple(edges)
        if any(tensor.is_inference() for tensor in tensors):  # these do not say when they change
            return prepare_edges(edges, sources, targets)
        versions = [(t._version, t.data_ptr(), t.shape, t.dtype) for t in tensors]
        if self._kept is not None:
            references, *key, lists = self._kept
            if key == [versions, sources, targets] and len(references) == len(tensors):
                if all(reference() is tensor for reference, tensor in zip(references, tensors, strict=True)):
                    return lists
        lists = prepare_edges(edges, sources, targets)
        self._kept = [weakref.ref(tensor) for tensor in tensors], versions, sources, targets, lists
        return lists

    def __getstate__(self):
        return {**super().__getstate__(), "_kept": None}

    def extra_repr(self):
        return repr(self.reduce)


def zero_where_empty(made, offsets):
    empty = (offsets.diff() == 0).reshape(-1, *[1] * (made.ndim - 1))
    return torch.where(empty, 0, made)


class EmbeddingBag(torch.nn.EmbeddingBag):
    """``torch.nn.EmbeddingBag`` with sums by sheaf: the same arguments, results and state.

    Parameters
    ----------
    num_embeddings, embedding_dim, mode, include_last_offset, padding_idx, device, dtype
        As for torch.nn.EmbeddingBag. mode is 'sum', 'mean' or 'max'.
    max_norm, scale_grad_by_freq, sparse
        Are not taken: a ValueError says so.

    Notes
    -----
    Gradients are dense and have the same bits in every run. A bad index raises an IndexError and does not end CUDA in
    the process. If an entry of the maximum comes from several rows of a bag, they share its gradient, where torch
    gives it to the first.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> bags = sheaf.torch.EmbeddingBag(10, 3, mode="sum")
    >>> bags(torch.tensor([1, 2, 4, 5, 4]), torch.tensor([0, 3])).shape
    torch.Size([2, 3])
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, *args, **kwargs):
        super().__init__(num_embeddings, embedding_dim, max_norm, *args, **kwargs)
        self._refuse_options()
        if self.mode not in ("sum", "mean", "max"):
            raise ValueError(f"EmbeddingBag: mode is 'sum', 'mean' or 'max', not {self.mode!r}")

    def forward(self, input, offsets=None, per_sample_weights=None):
        """Combine the rows of each bag.

        Parameters
        ----------
        input : Tensor of int32 or int64
            Rows, of one dimension with `offsets`, or of two with a bag in each row.
        offsets : Tensor, optional
            Where each bag begins; with include_last_offset the end of the last, too.
        per_sample_weights : Tensor of the shape of `input`, optional
            Factors, with mode 'sum'.

        Returns
        -------
        Tensor of shape (bags, embedding_dim)
        """
        self._refuse_options()
        index, offsets, weights = self._bags_of(input, offsets, per_sample_weights)
        if self.padding_idx is not None:
            index, offsets, weights = without(self.padding_idx, index, offsets, weights)
        op = {"sum": "add", "mean": "mean", "max": "max"}[self.mode]
        made = gather_reduce(self.weight, index, offsets, op, weights=weights)
        return zero_where_empty(made, offsets) if self.mode == "max" else made

    def _refuse_options(self):
        """They may also be set when the layer stands."""
        if self.max_norm or self.scale_grad_by_freq or self.sparse:
            option = "max_norm" if self.max_norm else "sparse" if self.sparse else "scale_grad_by_freq"
            raise ValueError(f"EmbeddingBag: {option} is not supported here; torch.nn.EmbeddingBag has it")

    def _bags_of(self, input, offsets, weights):
        """The bags as one list with offsets."""
        if weights is not None:
            if self.mode != "sum":
                raise ValueError(f"EmbeddingBag: per_sample_weights go with mode 'sum', not {self.mode!r}")
            if weights.shape != input.shape:
                raise ValueError(f"EmbeddingBag: per_sample_weights is of {weights.shape}, and input of {input.shape}")
        if input.ndim == 2:
            if offsets is not None:
                raise ValueError("EmbeddingBag: input of two dimensions goes without offsets")
            bags, length = input.shape
            offsets = torch.arange(bags + 1, dtype=input.dtype, device=input.device) * length
            return input.reshape(-1), offsets, None if weights is None else weights.reshape(-1)
        if input.ndim != 1 or offsets is None or offsets.ndim != 1:
            raise ValueError("EmbeddingBag: input has two dimensions, or one, with offsets of one dimension")
        if not self.include_last_offset:
            offsets = torch.nn.functional.pad(offsets, (0, 1), value=input.shape[0])
        return input.contiguous(), offsets.contiguous(), None if weights is None else weights.contiguous()


def without(padding, index, offsets, weights):
    """The bags without the entries that are `padding`. What is left moves to the front; the size stays, unread."""
    kept = index != padding
    before = torch.nn.functional.pad(kept.cumsum(0), (1, 0))
    numbers = torch.arange(index.shape[0], device=index.device)
    places = torch.where(kept, before[1:] - 1, index.shape[0])
    sources = torch.zeros_like(before).scatter_(0, places, numbers)[:-1]
    return gather(index, sources), gather(before, offsets), None if weights is None else gather(weights, sources)
