"""The operators of the namespace sheaf: what each does, what it returns for tensors without data, and autocast.

An operator changes none of its inputs and returns new tensors that lie in one piece. Its function here is called in
the ways that `_dispatch` describes.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import library

import sheaf

NARROW = (torch.float16, torch.bfloat16)


def bare(tensor):
    """The tensor without its gradient, which the binding refuses. Whoever calls an operator's function has recorded."""
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor


def gather(table, index):
    return sheaf.gather(bare(table), index)


def fake_gather(table, index):
    return table.new_empty((*index.shape, *table.shape[1:]))


def permute(a, order, inverse):
    return sheaf.gather(bare(a), order)


def fake_permute(a, order, inverse):
    return a.new_empty(a.shape)


def scatter(values, index, base, duplicates):
    out = bare(base).clone(memory_format=torch.contiguous_format)
    return sheaf.scatter(bare(values), index, out, duplicates=duplicates)


def fake_scatter(values, index, base, duplicates):
    return base.new_empty(base.shape)


def scatter_reduce(values, index, base, size, op, dtype, order, counts):
    values = bare(values)
    counted = None
    if counts:
        counted = torch.empty((size,), dtype=torch.int64, device=values.device)
    if base is None:
        out = sheaf.scatter_reduce(values, index, op=op, size=size, dtype=dtype, order=order, counts=counted)
    else:
        out = bare(base).clone(memory_format=torch.contiguous_format)
        out = sheaf.scatter_reduce(values, index, out, op, start="out", order=order, counts=counted)
    return out if counts else (out, torch.empty((0,), dtype=torch.int64, device=values.device))


def fake_scatter_reduce(values, index, base, size, op, dtype, order, counts):
    made = dtype or (torch.int64 if op == "count" else values.dtype)
    shape = (size, *values.shape[index.ndim :])
    out = values.new_empty(shape, dtype=made) if base is None else base.new_empty(base.shape)
    return out, index.new_empty((size if counts else 0,), dtype=torch.int64)


def gather_reduce(table, index, offsets, weights, op, segments, table_offsets, table_entries, table_segments):
    return sheaf.gather_reduce(bare(table), index, offsets, op, weights=bare(weights))


def fake_gather_reduce(table, index, offsets, weights, op, segments, table_offsets, table_entries, table_segments):
    made = torch.int64 if op == "count" else table.dtype
    return table.new_empty((offsets.shape[0] - 1, *table.shape[1:]), dtype=made)


def sort(a, descending):
    a = bare(a)
    return sheaf.sort_pairs(a, torch.arange(a.shape[0], device=a.device), descending=descending)


def fake_sort(a, descending):
    return a.new_empty(a.shape), a.new_empty(a.shape, dtype=torch.int64)


def argsort(a, descending, dtype):
    if dtype not in (torch.int32, torch.int64):
        raise ValueError(f"argsort: dtype is torch.int32 or torch.int64, not {dtype}")
    return sheaf.argsort(bare(a), descending=descending, dtype="int32" if dtype == torch.int32 else "int64")


def fake_argsort(a, descending, dtype):
    return a.new_empty(a.shape, dtype=dtype)


def matrix_of(data, indices, indptr, rows, columns):
    return sheaf.csr((bare(data), indices, indptr), (rows, columns))


def spmv(data, indices, indptr, rows, columns, x, transposed, order):
    matrix = matrix_of(data, indices, indptr, rows, columns)
    return matrix.rmatvec(bare(x), order=order) if transposed else matrix.matvec(bare(x))


def fake_spmv(data, indices, indptr, rows, columns, x, transposed, order):
    return x.new_empty((columns if transposed else rows,))


def spmm(data, indices, indptr, rows, columns, x, transposed, order):
    matrix = matrix_of(data, indices, indptr, rows, columns)
    return sheaf.spmm(matrix, bare(x), transposed=transposed, order=order)


def fake_spmm(data, indices, indptr, rows, columns, x, transposed, order):
    return x.new_empty((columns if transposed else rows, x.shape[1]))


def cg(data, indices, indptr, b, x0, rtol, atol, maxiter, jacobi, warns):
    rows = b.shape[0]
    matrix = matrix_of(data, indices, indptr, rows, rows)
    preconditioner = "jacobi" if jacobi else None
    x, info = sheaf.cg(matrix, bare(b), bare(x0), rtol=rtol, atol=atol, maxiter=maxiter, M=preconditioner)
    if warns and info != 0:
        warnings.warn(f"cg: the solve for a gradient did not converge: info is {info}", stacklevel=2)
    return x, torch.tensor(info, device="cpu")


def fake_cg(data, indices, indptr, b, x0, rtol, atol, maxiter, jacobi, warns):
    return b.new_empty(b.shape), torch.empty((), dtype=torch.int64, device="cpu")


def edge_sum(edges, second, values, weights, function, order):
    edges = edges if second is None else (edges, second)
    return sheaf.edge_sum(edges, bare(values), bare(weights), function, order=order)


def fake_edge_sum(edges, second, values, weights, function, order):
    return values.new_empty(values.shape)


def in_one_type(*places):
    """Autocast: the arguments at these places get the widest of their types; float64 stays, as in torch."""

    def cast(arguments):
        given = [place for place in places if arguments[place] is not None]
        widest = arguments[given[0]].dtype
        for place in given:
            widest = torch.promote_types(widest, arguments[place].dtype)
        return [a.to(widest) if place in given else a for place, a in enumerate(arguments)]

    return cast


def in_one_type_or_mixed(of_rows, factors):
    """Autocast: as `in_one_type`, but factors (or sums) of float32 may stand beside rows of 16 bits."""

    def cast(arguments):
        rows, beside = arguments[of_rows], arguments[factors]
        if beside is None or (rows.dtype in NARROW and beside.dtype == torch.float32):
            return arguments
        return in_one_type(of_rows, factors)(arguments)

    return cast


def in_float32(*places):
    """Autocast: the arguments at these places that have 16 bits become float32."""

    def cast(arguments):
        return [
            a.float() if place in places and a is not None and a.dtype in NARROW else a
            for place, a in enumerate(arguments)
        ]

    return cast


class Operator(NamedTuple):
    name: str
    schema: str
    run: Callable
    fake: Callable
    autocast: Callable | None = None  # what autocast does to the arguments; None: nothing


MATRIX = "Tensor data, Tensor indices, Tensor indptr"
# For the gradient of gather_reduce, all or none: the segment of each entry of index, and for each row of the table its
# entries of index and their segments.
LISTS = "Tensor? segments, Tensor? table_offsets, Tensor? table_entries, Tensor? table_segments"

OPERATORS = [
    Operator("gather", "(Tensor table, Tensor index) -> Tensor", gather, fake_gather),
    Operator("permute", "(Tensor a, Tensor order, Tensor inverse) -> Tensor", permute, fake_permute),
    Operator(
        "scatter",
        "(Tensor values, Tensor index, Tensor base, str duplicates) -> Tensor",
        scatter,
        fake_scatter,
        in_one_type(0, 2),
    ),
    Operator(
        "scatter_reduce",
        "(Tensor values, Tensor index, Tensor? base, SymInt size, str op, ScalarType? dtype, str order, bool counts)"
        " -> (Tensor, Tensor)",
        scatter_reduce,
        fake_scatter_reduce,
        in_one_type_or_mixed(0, 2),
    ),
    Operator(
        "gather_reduce",
        f"(Tensor table, Tensor index, Tensor offsets, Tensor? weights, str op, {LISTS}) -> Tensor",
        gather_reduce,
        fake_gather_reduce,
        in_one_type_or_mixed(0, 3),
    ),
    Operator("sort", "(Tensor a, bool descending) -> (Tensor, Tensor)", sort, fake_sort),
    Operator("argsort", "(Tensor a, bool descending, ScalarType dtype) -> Tensor", argsort, fake_argsort),
    Operator(
        "spmv",
        f"({MATRIX}, SymInt rows, SymInt columns, Tensor x, bool transposed, str order) -> Tensor",
        spmv,
        fake_spmv,
        in_float32(0, 5),
    ),
    Operator(
        "spmm",
        f"({MATRIX}, SymInt rows, SymInt columns, Tensor x, bool transposed, str order) -> Tensor",
        spmm,
        fake_spmm,
        in_one_type_or_mixed(5, 0),
    ),
    Operator(
        "cg",
        f"({MATRIX}, Tensor b, Tensor? x0, float rtol, float atol, int? maxiter, bool jacobi, bool warns)"
        " -> (Tensor, Tensor)",
        cg,
        fake_cg,
        in_float32(0, 3, 4),
    ),
    Operator(
        "edge_sum",
        "(Tensor edges, Tensor? second, Tensor values, Tensor? weights, str function, str order) -> Tensor",
        edge_sum,
        fake_edge_sum,
        in_float32(2, 3),
    ),
]

AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(
    torch._C.DispatchKey.AutocastCUDA
)


def dispatched(operator):
    """The operator as torch's dispatcher calls it."""
    return getattr(torch.ops.sheaf, operator.name).default


def with_autocast(operator):
    """The kernel that autocast runs: it casts and calls the operator again, without autocast."""
    call = dispatched(operator)

    def run(*arguments):
        with torch._C._ExcludeDispatchKeyGuard(AUTOCAST):
            return call(*operator.autocast(arguments))

    return run


LIBRARY = library.Library("sheaf", "DEF")

for operator in OPERATORS:
    LIBRARY.define(operator.name + operator.schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(operator.name, operator.run, key)
    library.register_fake(f"sheaf::{operator.name}", operator.fake, lib=LIBRARY)
    if operator.autocast is not None:
        for key in ("AutocastCPU", "AutocastCUDA"):
            LIBRARY.impl(operator.name, with_autocast(operator), key)
