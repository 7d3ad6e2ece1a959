"""The operators with gradients, which are made of operators with gradients; so are the forward passes, because those of
gradients of gradients go through them.

No sum here is made by atomics: gradients have the same bits in every run.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from . import _operators

NARROW = (jnp.float16, jnp.bfloat16)


def is_float(dtype):
    return jnp.issubdtype(dtype, jnp.floating)


def with_gradient(run, forward, backward, static=()):
    """`run` compiled, with a gradient where its first array has one; `static` are the places of its options.

    The options come last. Inside of shard_map, arrays vary alike when they come to the rules, so gradients do as well.
    """
    call = jax.custom_vjp(run, nondiff_argnums=static)
    call.defvjp(forward, backward)
    compiled = jax.jit(call, static_argnums=static, inline=True)
    without = jax.jit(run, static_argnums=static, inline=True)

    def choose(*arguments):
        count = len(arguments) - len(static)
        arrays, _ = _operators.varying_alike(*arguments[:count])
        return (compiled if is_float(arrays[0].dtype) else without)(*arrays, *arguments[count:])

    return choose


def per_row(numbers, rows):
    """One number for each row, in a shape that multiplies rows."""
    return numbers.reshape(*numbers.shape, *[1] * (rows.ndim - numbers.ndim))


def segments_of(offsets, entries):
    """The segment of each of so many entries, and whether it has one: some may lie outside of all segments."""
    numbers = jnp.arange(entries, dtype=offsets.dtype)
    after = jnp.searchsorted(offsets, numbers, side="right").astype(jnp.int32)
    last = offsets.shape[0] - 2
    return jnp.clip(after - 1, 0, max(last, 0)), (after > 0) & (after <= last + 1)


def divided(gradient, counts):
    """A gradient over how many share it, in float32 at least, as a count may be beyond the range of 16 bits."""
    wide = jnp.promote_types(gradient.dtype, jnp.float32)
    return gradient.astype(wide) / jnp.maximum(counts, 1).astype(wide)


def inside_only(index, inside):
    """An index whose entries outside of all segments, of any value, name row 0."""
    return jnp.where(inside, index, 0)


def is_extreme(rows, extreme):
    """Where rows have the extreme value; NaN is one where it is the result."""
    return (rows == extreme) | (jnp.isnan(rows) & jnp.isnan(extreme))


def dots(a, rows_of_a, b, rows_of_b, inside, dtype):
    """The products of pairs of rows, in float32 at least; 0 for pairs that are not inside.

    Their rows are 0 before they are multiplied: infinity times 0 would be NaN in gradients of this.
    """
    left, right = rows_at(a, rows_of_a), rows_at(b, inside_only(rows_of_b, inside))
    wide = jnp.promote_types(jnp.promote_types(left.dtype, right.dtype), jnp.float32)
    left, right = (jnp.where(per_row(inside, rows), rows, 0).astype(wide) for rows in (left, right))
    return (left * right).reshape(left.shape[0], -1).sum(1).astype(dtype)


# gather(table, index, rows of the table)


def gather_run(table, index, rows):
    return _operators.gather(table, index)


def gather_forward(table, index, rows):
    return gather(table, index, rows), index


def gather_backward(rows, index, gradient):
    return scatter_add(gradient, index, rows), None


gather = with_gradient(gather_run, gather_forward, gather_backward, (2,))


def rows_at(table, index):
    """`gather` of rows of any width, for gradients of calls that take wider rows: by columns that it can do at once."""
    width, most = math.prod(table.shape[1:]), _operators.MOST_BYTES // table.dtype.itemsize
    if width <= most:
        return gather(table, index, table.shape[0])
    columns = table.reshape(table.shape[0], width)
    parts = [gather(columns[:, begin : begin + most], index, table.shape[0]) for begin in range(0, width, most)]
    return jnp.concatenate(parts, axis=-1).reshape(index.shape + table.shape[1:])


# scatter_reduce(values, index, how): the result, and counts


class Reduction(NamedTuple):
    size: int
    op: str
    of: str  # the type of the values
    to: str  # the type of the result
    any_order: bool = False
    counts: bool = False


def scatter_reduce_run(values, index, how):
    return _operators.scatter_reduce(values, index, how.size, how.op, how.to, how.any_order, how.counts)


def scatter_reduce_forward(values, index, how):
    if how.op == "add":
        return scatter_reduce(values, index, how), (index,)
    if how.op == "mean":
        made, came = scatter_reduce(values, index, how._replace(counts=True))
        return (made, came if how.counts else came[:0]), (index, came)
    made = scatter_reduce(values, index, how)
    return made, (index, values) if how.op == "mul" else (index, values, made[0])


def scatter_reduce_backward(how, kept, gradients):
    return SCATTER_REDUCE[how.op](how, gradients[0], *kept).astype(how.of), None


def of_sums(how, gradient, index):
    return rows_at(gradient, index)


def of_means(how, gradient, index, came):
    return rows_at(divided(gradient, per_row(came, gradient)).astype(how.of), index)


def of_extremes(how, gradient, index, values, made):
    """All rows that have the extreme value share its gradient."""
    hit = is_extreme(values, rows_at(made, index))
    ties = scatter_add(hit.astype(jnp.int8), index, how.size, "int32")
    share = divided(gradient, ties).astype(how.of)
    return jnp.where(hit, rows_at(share, index), 0)


def of_products(how, gradient, index, values):
    """The product of the others: of all that are not 0, where none or only the row itself is 0."""
    zero = values == 0
    others = jnp.where(zero, 1, values)
    zeros = scatter_add(zero.astype(jnp.int8), index, how.size, "int32")
    product = scatter_reduce(others, index, how._replace(any_order=False, counts=False))[0] * gradient
    without_zeros, with_one = jnp.where(zeros == 0, product, 0), jnp.where(zeros == 1, product, 0)
    return jnp.where(zero, rows_at(with_one, index), rows_at(without_zeros, index) / others)


SCATTER_REDUCE = {
    "add": of_sums,
    "mean": of_means,
    "min": of_extremes,
    "max": of_extremes,
    "mul": of_products,
}

scatter_reduce = with_gradient(scatter_reduce_run, scatter_reduce_forward, scatter_reduce_backward, (2,))


def scatter_add(rows, index, size, dtype=None):
    """The sums of the rows that go to each of `size` rows."""
    return scatter_reduce(rows, index, Reduction(size, "add", str(rows.dtype), dtype or str(rows.dtype)))[0]


# gather_reduce(table, index, offsets, weights, op, type of the result): weights of no elements are all 1


def gather_reduce_run(table, index, offsets, weights, op, dtype):
    return _operators.gather_reduce(table, index, offsets, weights, op, dtype)


def gather_reduce_forward(table, index, offsets, weights, op, dtype):
    made = gather_reduce(table, index, offsets, weights, op, dtype)
    return made, (table, index, offsets, weights, made if op in ("min", "max") else None)


def gather_reduce_backward(op, dtype, kept, gradient):
    table, index, offsets, weights, made = kept
    if op not in ("add", "mean", "min", "max"):
        raise NotImplementedError(f"gather_reduce: {op!r} has no gradient; gather and segment_reduce have one")
    if made is not None:
        return of_extremes_of_segments(gradient, table, index, offsets, made), None, None, jnp.zeros_like(weights)
    if op == "mean":
        gradient = divided(gradient, per_row(jnp.diff(offsets), gradient))
    of_weights = jnp.zeros_like(weights)
    if weights.size > 0 and gradient.size > 0:
        segments, inside = segments_of(offsets, index.shape[0])
        of_weights = dots(gradient, segments, table, index, inside, weights.dtype)
    return of_table_of_sums(gradient, table, index, offsets, weights), None, None, of_weights


def of_table_of_sums(gradient, table, index, offsets, weights):
    """The transposed product."""
    if index.size == 0 or offsets.shape[0] == 1 or table.size == 0:
        return jnp.zeros_like(table)
    factors = jnp.ones(index.shape, gradient.dtype) if weights.size == 0 else weights
    if gradient.dtype not in NARROW:
        factors = factors.astype(gradient.dtype)
    width = math.prod(gradient.shape[1:])
    if width <= _operators.MOST_COLUMNS:
        rows = gradient.reshape(-1, width)
        made = spmm(factors, index, offsets, rows, table.shape[0], True, False)
        return made.reshape(table.shape).astype(table.dtype)
    segments, inside = segments_of(offsets, index.shape[0])
    rows = rows_at(gradient, segments)
    rows = jnp.where(per_row(inside, rows), rows * per_row(factors, rows), 0)
    return scatter_add(rows, inside_only(index, inside), table.shape[0]).astype(table.dtype)


def of_extremes_of_segments(gradient, table, index, offsets, made):
    """All entries of a segment that have its extreme value share its gradient."""
    if index.size == 0 or offsets.shape[0] == 1:
        return jnp.zeros_like(table)
    segments, inside = segments_of(offsets, index.shape[0])
    size = gradient.shape[0]
    index = inside_only(index, inside)
    rows = rows_at(table, index)
    hit = is_extreme(rows, rows_at(made, segments)) & per_row(inside, rows)
    ties = scatter_add(hit.astype(jnp.int8), segments, size, "int32")
    shares = jnp.where(hit, rows_at(divided(gradient, ties), segments), 0)
    return scatter_add(shares, index, table.shape[0]).astype(table.dtype)


gather_reduce = with_gradient(gather_reduce_run, gather_reduce_forward, gather_reduce_backward, (4, 5))


# sort(a, descending), and argsort(a, descending, type of the result), which has no gradient


def sort_forward(a, descending):
    order = argsort(a, descending, "int32" if a.shape[0] < 2**31 else "int64")
    return gather(a, order, a.shape[0]), order


def sort_backward(descending, order, gradient):
    """A permutation: no two entries of order are the same, so nothing is added here."""
    return (jnp.zeros_like(gradient).at[order].set(gradient, unique_indices=True),)


def argsort_run(a, descending, dtype):
    return _operators.argsort(jax.lax.stop_gradient(a), descending, dtype)


sort = with_gradient(_operators.sort, sort_forward, sort_backward, (1,))
argsort = jax.jit(argsort_run, static_argnums=(1, 2), inline=True)


# spmv and spmm(data, indices, indptr, x, columns, transposed, any_order)


def product(differentiable):
    """A product, whose gradient is for x the product the other way, and for data the dots of the rows of an entry."""

    def forward(data, indices, indptr, x, *how):
        return differentiable()(data, indices, indptr, x, *how), (data, indices, indptr, x)

    def backward(columns, transposed, any_order, kept, gradient):
        data, indices, indptr, x = kept
        of_x = differentiable()(data, indices, indptr, gradient, columns, not transposed, False)
        if data.size == 0 or x.size == 0 or gradient.size == 0:
            return jnp.zeros_like(data), None, None, of_x
        segments, inside = segments_of(indptr, indices.shape[0])
        by_row, by_column = (x, gradient) if transposed else (gradient, x)
        return dots(by_row, segments, by_column, indices, inside, data.dtype), None, None, of_x

    return forward, backward


spmv = with_gradient(_operators.spmv, *product(lambda: spmv), static=(4, 5, 6))
spmm = with_gradient(_operators.spmm, *product(lambda: spmm), static=(4, 5, 6))
