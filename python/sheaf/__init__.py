"""Irregular memory access on NumPy, torch, CuPy and other arrays: gather, scatter, split, sort, search and more.

Arrays go in and come out as they are: nothing is copied in silence. Arrays in the memory of a CUDA device are worked on
there, on the stream of their own library; all others on the CPU.
"""

from . import _sheaf
from ._api import calibrate, explain, machine, top_k
from ._sheaf import (
    BackendUnavailable,
    BadArgument,
    BadIndex,
    BadInput,
    DeviceFailure,
    Error,
    Explanation,
    HashIndex,
    InternalError,
    IoFailure,
    MeasurementFailed,
    Memory,
    NoVariant,
    OutOfMemory,
    PreparedEdgeSum,
    PreparedGather,
    PreparedMatrix,
    PreparedScatter,
    Progress,
    __version__,
    argsort,
    cg,
    context,
    csr,
    edge_sum,
    gather,
    gather_reduce,
    has_cuda,
    list_rank,
    list_scan,
    multi_split,
    prepare_edge_sum,
    prepare_gather,
    prepare_scatter,
    scatter,
    scatter_reduce,
    sort,
    sort_pairs,
    split,
    split_index,
)

__all__ = [name for name in dir() if not name.startswith("_")] + ["__version__"]
