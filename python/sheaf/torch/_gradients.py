"""The gradients of the operators, made of operators, so that they have gradients themselves and compile.

Each operator has a function that keeps what its gradient needs, and one that returns the gradients of its arguments.
No sum here is made by atomics: gradients have the same bits in every run.
"""

import math

import torch
from torch import library

from ._dispatch import calls
from ._operators import LIBRARY, NARROW

NO_LISTS = (None, None, None, None)
MOST_COLUMNS = 1024  # of a product with a sparse matrix


def scatter_add(rows, index, size, dtype=None):
    """The sums of the rows that go to each of `size` rows."""
    made = calls.scatter_reduce(rows.contiguous(), index, None, size, "add", dtype, "deterministic", False)
    return made[0]


def per_row(numbers, rows):
    """One number for each row, in a shape that multiplies rows."""
    return numbers.reshape(-1, *[1] * (rows.ndim - 1))


def segments_of(offsets, entries):
    """The segment of each of so many entries, and whether it has one: some may lie outside of all segments."""
    numbers = torch.arange(entries, dtype=offsets.dtype, device=offsets.device)
    segments = torch.searchsorted(offsets, numbers, right=True) - 1
    last = offsets.shape[0] - 2
    return segments.clamp(0, max(last, 0)), (segments >= 0) & (segments <= last)


def inside_only(index, inside):
    """An index whose entries outside of all segments, of any value, name row 0."""
    return index if inside is None else torch.where(inside, index, 0)


def is_extreme(rows, extreme):
    """Where rows have the extreme value; NaN is one where it is the result."""
    return (rows == extreme) | (rows.isnan() & extreme.isnan())


def dots(a, rows_of_a, b, rows_of_b, inside, dtype):
    """The products of pairs of rows, in float32 at least; 0 for pairs that are not inside."""
    rows_of_b = inside_only(rows_of_b, inside)
    left, right = calls.gather(a.contiguous(), rows_of_a), calls.gather(b, rows_of_b)
    if inside is not None:  # before they are multiplied: what is not inside may be infinite
        left, right = (torch.where(per_row(inside, rows), rows, 0) for rows in (left, right))
    wide = torch.float32 if left.dtype in NARROW else left.dtype
    products = left.to(wide) * right.to(wide)
    return (products.flatten(1).sum(1) if products.ndim > 1 else products).to(dtype)


def gather_keep(ctx, inputs, output):
    table, index = inputs
    ctx.save_for_backward(index)
    ctx.rows = table.shape[0]


def gather_backward(ctx, gradient):
    (index,) = ctx.saved_tensors
    return scatter_add(gradient, index, ctx.rows), None


def permute_keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs[1:])


def permute_backward(ctx, gradient):
    order, inverse = ctx.saved_tensors
    return calls.permute(gradient.contiguous(), inverse, order), None, None


def scatter_keep(ctx, inputs, output):
    values, index, base, duplicates = inputs
    ctx.save_for_backward(index)


def scatter_backward(ctx, gradient):
    """The last of the rows that go to one place gets its gradient; base gets that of rows which no index names."""
    (index,) = ctx.saved_tensors
    gradient = gradient.contiguous()
    numbers = torch.arange(index.numel(), device=index.device)
    nobody = torch.full((gradient.shape[0],), -1, dtype=torch.int64, device=index.device)
    winners = calls.scatter(numbers, index.reshape(-1), nobody, "last")
    of_values = of_base = None
    if ctx.needs_input_grad[0]:
        rows = calls.gather(gradient, index.reshape(-1))
        wins = calls.gather(winners, index.reshape(-1)) == numbers
        of_values = torch.where(per_row(wins, rows), rows, 0).reshape(*index.shape, *gradient.shape[1:])
    if ctx.needs_input_grad[2]:
        of_base = torch.where(per_row(winners < 0, gradient), gradient, 0)
    return of_values, None, of_base, None


def scatter_reduce_keep(ctx, inputs, output):
    values, index, base, size, op, dtype, order, counts = inputs
    out, counted = output
    ctx.mark_non_differentiable(counted)
    ctx.op, ctx.size, ctx.type, ctx.has_base = op, size, values.dtype, base is not None
    if op in ("add", "subtract"):
        ctx.save_for_backward(index)
    elif op == "mean":
        came = counted if counts else scatter_add(torch.ones_like(index), index, size)
        ctx.save_for_backward(index, came)
    elif op in ("min", "max"):
        ctx.save_for_backward(index, values, base, out)
    else:
        ctx.save_for_backward(index, values, base)


def scatter_reduce_backward(ctx, gradient, _):
    index, *kept = ctx.saved_tensors
    gradient = gradient.contiguous()
    if ctx.op not in SCATTER_REDUCE:
        raise NotImplementedError(f"scatter_reduce: {ctx.op!r} has no gradient")
    of_values, of_base = SCATTER_REDUCE[ctx.op](ctx, gradient, index, *kept)
    of_base = of_base if ctx.has_base and ctx.needs_input_grad[2] else None
    of_values = of_values.to(ctx.type) if ctx.needs_input_grad[0] else None
    return of_values, None, of_base, None, None, None, None, None


def of_sums(ctx, gradient, index):
    return (calls.gather(gradient, index) if ctx.needs_input_grad[0] else None), gradient


def of_differences(ctx, gradient, index):
    return of_sums(ctx, -gradient, index)[0], gradient


def of_means(ctx, gradient, index, came):
    share = gradient / per_row((came + int(ctx.has_base)).clamp(min=1), gradient)
    return calls.gather(share, index), share


def of_extremes(ctx, gradient, index, values, base, out):
    """All rows that have the extreme value share its gradient."""
    hit = is_extreme(values, calls.gather(out, index))
    ties = scatter_add(hit.to(torch.int8), index, ctx.size, torch.int32)
    base_hit = None if base is None else is_extreme(base, out)
    if base is not None:
        ties = ties + base_hit
    share = gradient / ties.clamp(min=1)
    of_base = None if base is None else torch.where(base_hit, share, 0)
    return torch.where(hit, calls.gather(share, index), 0), of_base


def of_products(ctx, gradient, index, values, base):
    """The product of the others: of all that are not 0, where none or only the row itself is 0."""
    zero, one_base, base_zero = values == 0, None, None
    others = torch.where(zero, 1, values)
    zeros = scatter_add(zero.to(torch.int8), index, ctx.size, torch.int32)
    if base is not None:
        base_zero = base == 0
        one_base = torch.where(base_zero, 1, base)
        zeros = zeros + base_zero
    product, _ = calls.scatter_reduce(
        others, index, one_base, ctx.size, "mul", None if base is not None else gradient.dtype, "deterministic", False
    )
    product = product * gradient
    without_zeros, with_one = torch.where(zeros == 0, product, 0), torch.where(zeros == 1, product, 0)
    of_values = torch.where(zero, calls.gather(with_one, index), calls.gather(without_zeros, index) / others)
    of_base = None if base is None else torch.where(base_zero, with_one, without_zeros / one_base)
    return of_values, of_base


SCATTER_REDUCE = {
    "add": of_sums,
    "subtract": of_differences,
    "mean": of_means,
    "min": of_extremes,
    "max": of_extremes,
    "mul": of_products,
}


def gather_reduce_keep(ctx, inputs, output):
    table, index, offsets, weights, op, *lists = inputs
    ctx.op = op
    out = output if op in ("min", "max") else None
    ctx.save_for_backward(table, index, offsets, weights, out, *lists)


def gather_reduce_backward(ctx, gradient):
    table, index, offsets, weights, out, *lists = ctx.saved_tensors
    if ctx.op not in ("add", "mean", "min", "max"):
        raise NotImplementedError(f"gather_reduce: {ctx.op!r} has no gradient; gather and scatter_reduce have one")
    if offsets.shape[0] == 1:  # no segments
        return torch.zeros_like(table), None, None, None if weights is None else torch.zeros_like(weights), *[None] * 5
    of_table = of_weights = None
    if ctx.op == "mean":
        gradient = gradient / per_row(offsets.diff().clamp(min=1), gradient)
    gradient = gradient.contiguous()
    if ctx.op in ("min", "max"):
        of_table = of_extremes_of_segments(gradient, table, index, offsets, out, lists)
    elif ctx.needs_input_grad[0]:
        of_table = of_table_of_sums(gradient, table, index, offsets, weights, lists)
    if weights is not None and ctx.needs_input_grad[3]:
        segments, inside = (lists[0], None) if lists[0] is not None else segments_of(offsets, index.shape[0])
        of_weights = dots(gradient, segments, table, index, inside, weights.dtype)
    return of_table, None, None, of_weights, None, None, None, None, None


def of_table_of_sums(gradient, table, index, offsets, weights, lists):
    """The transposed product: by lists of the table's rows where they are given."""
    _, table_offsets, table_entries, table_segments = lists
    if table_offsets is not None:
        factors = None if weights is None else calls.gather(weights, table_entries)
        return calls.gather_reduce(gradient, table_segments, table_offsets, factors, "add", *NO_LISTS)
    width = math.prod(gradient.shape[1:])
    if 1 <= width <= MOST_COLUMNS:
        factors = torch.ones_like(index, dtype=table.dtype) if weights is None else weights
        rows = gradient.reshape(-1, width)
        made = calls.spmm(factors, index, offsets, rows.shape[0], table.shape[0], rows, True, "deterministic")
        return made.reshape(table.shape)
    segments, inside = segments_of(offsets, index.shape[0])
    rows = calls.gather(gradient, segments)
    if weights is not None:
        rows = rows * per_row(weights, rows)
    rows = torch.where(per_row(inside, rows), rows, 0).to(table.dtype)
    return scatter_add(rows, inside_only(index, inside), table.shape[0])


def of_extremes_of_segments(gradient, table, index, offsets, out, lists):
    """All entries of a segment that have its extreme value share its gradient."""
    segments, table_offsets, table_entries, _ = lists
    inside = None
    if segments is None:
        segments, inside = segments_of(offsets, index.shape[0])
        index = inside_only(index, inside)
    rows = calls.gather(table, index)
    hit = is_extreme(rows, calls.gather(out, segments))
    if inside is not None:
        hit = hit & per_row(inside, rows)
    ties = scatter_add(hit.to(torch.int8), segments, out.shape[0], torch.int32)
    shares = torch.where(hit, calls.gather(gradient / ties.clamp(min=1), segments), 0)
    if table_offsets is None:
        return scatter_add(shares, index, table.shape[0])
    return calls.gather_reduce(shares, table_entries, table_offsets, None, "add", *NO_LISTS)


def sort_keep(ctx, inputs, output):
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1])


def sort_backward(ctx, gradient, _):
    (order,) = ctx.saved_tensors
    numbers = torch.arange(order.shape[0], device=order.device)
    inverse = calls.scatter(numbers, order, torch.empty_like(order), "any")
    return calls.permute(gradient.contiguous(), inverse, order), None


def product_keep(ctx, inputs, output):
    data, indices, indptr, ctx.rows, ctx.columns, x, ctx.transposed, _ = inputs
    ctx.save_for_backward(data, indices, indptr, x)


def product_backward(call):
    """The gradient of spmv or spmm: for x the product the other way, for data the dots of the rows of an entry."""

    def backward(ctx, gradient):
        data, indices, indptr, x = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_data = of_x = None
        if ctx.needs_input_grad[5]:
            other_way = not ctx.transposed
            of_x = call(data, indices, indptr, ctx.rows, ctx.columns, gradient, other_way, "deterministic")
        if ctx.needs_input_grad[0]:
            rows, inside = segments_of(indptr, indices.shape[0])
            by_row, by_column = (x, gradient) if ctx.transposed else (gradient, x)
            of_data = dots(by_row, rows, by_column, indices, inside, data.dtype)
        return of_data, None, None, None, None, of_x, None, None

    return backward


def cg_keep(ctx, inputs, output):
    data, indices, indptr, b, x0, ctx.rtol, ctx.atol, ctx.maxiter, ctx.jacobi, _ = inputs
    x, info = output
    ctx.mark_non_differentiable(info)
    ctx.save_for_backward(data, indices, indptr, x)


def cg_backward(ctx, gradient, _):
    """One more solve, with the same matrix, because it is symmetric. atol is of the scale of b, not of a gradient's."""
    data, indices, indptr, x = ctx.saved_tensors
    atol = 0.0 if ctx.rtol > 0 else ctx.atol
    of_b, _ = calls.cg(
        data, indices, indptr, gradient.contiguous(), None, ctx.rtol, atol, ctx.maxiter, ctx.jacobi, True
    )
    of_data = None
    if ctx.needs_input_grad[0]:
        rows, inside = segments_of(indptr, indices.shape[0])
        of_data = -dots(of_b, rows, x, indices, inside, data.dtype)
    return of_data, None, None, of_b, None, None, None, None, None, None


def edge_sum_keep(ctx, inputs, output):
    edges, second, values, weights, ctx.function, _ = inputs
    ctx.save_for_backward(edges, second, values, weights)


def edge_sum_backward(ctx, gradient):
    edges, second, values, weights = ctx.saved_tensors
    gradient = gradient.contiguous()
    of_values = of_weights = None
    linear = ctx.function == "difference"
    if linear and ctx.needs_input_grad[2]:  # the matrix of these sums is symmetric
        of_values = calls.edge_sum(edges, second, gradient, weights, "difference", "deterministic")
    wants_weights = weights is not None and ctx.needs_input_grad[3]
    if wants_weights or not linear:
        first, second = (edges, second) if second is not None else edges.t().contiguous().unbind()
        step = differences(values, first, second)
        change = -differences(gradient, first, second)
        along = (step * change).sum(1)
        if linear:
            of_weights = along
        else:
            square = (step * step).sum(1)
            apart = square > 0  # nodes at one place contribute nothing
            inverse = torch.where(apart, torch.where(apart, square, 1) ** -1.5, 0)
            of_weights = along * inverse
            if ctx.needs_input_grad[2]:
                bent = 3 * along * inverse / torch.where(apart, square, 1)
                moved = per_row(inverse, change) * change - per_row(bent, step) * step
                moved = moved if weights is None else moved * per_row(weights, moved)
                sums = scatter_add(torch.cat([moved, -moved]), torch.cat([second, first]), values.shape[0])
                of_values = sums.reshape(values.shape)
    return None, None, of_values, of_weights if wants_weights else None, None, None


def differences(values, first, second):
    """values[second] - values[first], as rows."""
    step = calls.gather(values, second) - calls.gather(values, first)
    return step.reshape(step.shape[0], -1)


GRADIENTS = {
    "gather": (gather_keep, gather_backward),
    "permute": (permute_keep, permute_backward),
    "scatter": (scatter_keep, scatter_backward),
    "scatter_reduce": (scatter_reduce_keep, scatter_reduce_backward),
    "gather_reduce": (gather_reduce_keep, gather_reduce_backward),
    "sort": (sort_keep, sort_backward),
    "spmv": (product_keep, product_backward(calls.spmv)),
    "spmm": (product_keep, product_backward(calls.spmm)),
    "cg": (cg_keep, cg_backward),
    "edge_sum": (edge_sum_keep, edge_sum_backward),
}


def recorded(run, keep, backward):
    """An operator with its gradient for autograd alone: a third of the time that the dispatcher's way takes."""

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *arguments):
            output = run(*arguments)
            keep(ctx, arguments, output)
            return output

    Recorded.backward = staticmethod(backward)
    return Recorded.apply


class KernelOfAutograd:
    """The library, as `register_autograd` sees it: the kernel that it makes runs where torch looks, and only there."""

    def __init__(self, call):
        self.call = call

    def impl(self, name, kernel, key, *, with_keyset):
        call = self.call

        def run(keyset, *arguments):
            run = call.at_once(arguments)
            if run is not None:
                return run(*arguments)
            call.refuse_forward_mode(arguments)
            return kernel(keyset, *arguments)

        LIBRARY.impl(name, run, key, with_keyset=with_keyset)


for name, (keep, backward) in GRADIENTS.items():
    call = getattr(calls, name)
    call.record = recorded(call.run, keep, backward)
    library.register_autograd(f"sheaf::{name}", backward, setup_context=keep, lib=KernelOfAutograd(call))
