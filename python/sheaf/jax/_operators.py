"""The handlers as functions of arrays: their results' shapes, and what vmap makes of them.

A rule for vmap returns the result of one call for all of the batch, and which parts of it are batched, or None where
there is no such call. Then the handler runs once for each element of the batch.
"""

import math
import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np

from .. import _sheaf

MOST_BYTES = 65536  # of a row that is gathered
MOST_VALUES = 65536  # of a row that is reduced
MOST_COLUMNS = 1024  # of a product with a sparse matrix


def require_version(include):
    """Refuses a jax older than that of the build, whose XLA would refuse the handlers, and lose all of its devices."""
    header = pathlib.Path(include, "xla/ffi/api/c_api.h")
    found = re.findall(r"#define XLA_FFI_API_M(?:AJOR|INOR) (\d+)", header.read_text() if header.exists() else "")
    if len(found) == 2 and tuple(map(int, found)) < _sheaf._jax_version():
        raise ImportError(
            f"sheaf.jax: this sheaf was built with a later jax than {jax.__version__}; beside this one, build it again"
        )


require_version(jax.ffi.include_dir())
for name, platforms in _sheaf._jax_handlers().items():
    for platform, handler in platforms.items():
        jax.ffi.register_ffi_target(name, handler, platform=platform)


def varying_axes(array):
    """The axes of a mesh along which an array may differ between devices, inside of shard_map."""
    kind = jax.typeof(array)
    for part in ("varying", "vma"):  # the name depends on the version of JAX
        axes = getattr(getattr(kind, "manual_axis_type", None), part, None) or getattr(kind, part, None)
        if axes:
            return frozenset(axes)
    return frozenset()


def varying_along(axes, array):
    missing = axes - varying_axes(array)
    return jax.lax.pcast(array, tuple(sorted(missing, key=str)), to="varying") if missing else array


def varying_alike(*arrays):
    """Arrays that all vary along the same axes, those of any of them, and these axes.

    The gradient of an array that was the same on all devices is thereby a sum over them.
    """
    if not hasattr(jax.lax, "pcast"):
        return arrays, frozenset()
    axes = frozenset().union(*map(varying_axes, arrays))
    return tuple(varying_along(axes, array) for array in arrays), axes


def run(name, results, *arrays, **attributes):
    """Calls a handler. Nothing is returned for a wrong call: the handler's errors end the program that it is part of.

    JAX takes results of handlers for the same on all devices, so they are made to vary as the arrays do.
    """
    arrays, axes = varying_alike(*arrays)
    made = jax.ffi.ffi_call("sheaf_" + name, results, vmap_method="sequential")(*arrays, **attributes)
    return jax.tree.map(lambda result: varying_along(axes, result), made) if axes else made


def of(shape, dtype):
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def batched(call, rule, *arrays):
    """`call(*arrays)`; under vmap what the rule says. A rule gets the call with its rules, for a vmap around it."""
    with_rule = jax.custom_batching.custom_vmap(call)

    @with_rule.def_vmap
    def _(size, are_batched, *arrays):
        made = rule(with_rule, size, tuple(are_batched), *arrays)
        if made is not None:
            return made
        made = jax.vmap(call, in_axes=tuple(0 if b else None for b in are_batched))(*arrays)
        return made, jax.tree.map(lambda _: True, made)

    return with_rule(*arrays)


def gather(table, index):
    def call(table, index):
        return run("gather", of(index.shape + table.shape[1:], table.dtype), table, index)

    def rule(call, size, are_batched, table, index):
        return (call(table, index), True) if are_batched == (False, True) else None

    return batched(call, rule, table, index)


def scatter_reduce(values, index, size, op, dtype, any_order, counts):
    """The reductions, and how many rows came to each: of no elements unless counts are wanted."""

    def call(values, index):
        results = of((size, *values.shape[index.ndim :]), dtype), of((size if counts else 0,), np.int32)
        return run("scatter_reduce", results, values, index, op=op, any_order=np.bool_(any_order))

    def rule(call, batch, are_batched, values, index):
        """Where values alone are batched, the batch becomes a dimension of the rows, which have one number or more."""
        width = math.prod(values.shape[1 + index.ndim :]) * batch
        if are_batched != (True, False) or not 0 < width <= MOST_VALUES:
            return None
        made, came = call(jnp.moveaxis(values, 0, index.ndim), index)
        return (jnp.moveaxis(made, 1, 0), came), (True, False)

    return batched(call, rule, values, index)


def no_rule(call, size, are_batched, *arrays):
    """Where no call does all of a batch."""


def gather_reduce(table, index, offsets, weights, op, dtype):
    def call(table, index, offsets, weights):
        shape = (offsets.shape[0] - 1, *table.shape[1:])
        return run("gather_reduce", of(shape, dtype), table, index, offsets, weights, op=op)

    def rule(call, batch, are_batched, table, index, offsets, weights):
        """Where the table alone is batched, the batch becomes a dimension of its rows."""
        if are_batched != (True, False, False, False) or math.prod(table.shape[2:]) * batch > MOST_VALUES:
            return None
        return jnp.moveaxis(call(jnp.moveaxis(table, 0, 1), index, offsets, weights), 1, 0), True

    return batched(call, rule, table, index, offsets, weights)


def sort(a, descending):
    return batched(lambda a: run("sort", of(a.shape, a.dtype), a, descending=np.bool_(descending)), no_rule, a)


def argsort(a, descending, dtype):
    return batched(lambda a: run("argsort", of(a.shape, dtype), a, descending=np.bool_(descending)), no_rule, a)


def rows_of_product(indptr, columns, transposed):
    return columns if transposed else indptr.shape[0] - 1


def spmv(data, indices, indptr, x, columns, transposed, any_order):
    def call(data, indices, indptr, x):
        rows = rows_of_product(indptr, columns, transposed)
        how = {"transposed": np.bool_(transposed), "any_order": np.bool_(any_order)}
        return run("spmv", of((rows,), x.dtype), data, indices, indptr, x, **how)

    def rule(call, batch, are_batched, data, indices, indptr, x):
        """Where x alone is batched, the batch is a dense matrix."""
        if are_batched != (False, False, False, True) or batch > MOST_COLUMNS:
            return None
        return spmm(data, indices, indptr, x.T, columns, transposed, any_order).T, True

    return batched(call, rule, data, indices, indptr, x)


def spmm(data, indices, indptr, x, columns, transposed, any_order):
    def call(data, indices, indptr, x):
        result = of((rows_of_product(indptr, columns, transposed), x.shape[1]), x.dtype)
        how = {"transposed": np.bool_(transposed), "any_order": np.bool_(any_order)}
        return run("spmm", result, data, indices, indptr, x, **how)

    def rule(call, batch, are_batched, data, indices, indptr, x):
        """Where x alone is batched, the columns of all lie side by side."""
        if are_batched != (False, False, False, True) or batch * x.shape[2] > MOST_COLUMNS:
            return None
        beside = jnp.moveaxis(x, 0, 1).reshape(x.shape[1], -1)
        made = call(data, indices, indptr, beside)
        return jnp.moveaxis(made.reshape(made.shape[0], batch, x.shape[2]), 1, 0), True

    return batched(call, rule, data, indices, indptr, x)
