"""sheaf for torch with gradients: calls for autograd, torch.compile and autocast, and layers that are made of them.

``import sheaf.torch`` needs torch, ``import sheaf`` never imports it. The calls have the names of those of `sheaf`, but
return new tensors unless `out` is given. docs/torch.md of the sources says what takes the place of what.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise ImportError("sheaf.torch needs torch, which is not installed: pip install torch") from None

from . import _gradients as _gradients
from ._calls import argsort, cg, edge_sum, gather, gather_reduce, scatter, scatter_reduce, sort, spmm, spmv
from ._layers import EdgeLists, EmbeddingBag, MessagePassing, prepare_edges

__all__ = [
    "argsort",
    "cg",
    "edge_sum",
    "EdgeLists",
    "EmbeddingBag",
    "gather",
    "gather_reduce",
    "MessagePassing",
    "prepare_edges",
    "scatter",
    "scatter_reduce",
    "sort",
    "spmm",
    "spmv",
]
