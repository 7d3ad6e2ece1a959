"""The calls for users.

Each writes into `out`, without gradients; or runs the operator's function at once, if nobody is to be told; or calls
the operator in the way that `_dispatch` chooses.
"""

import torch

import sheaf

from . import _operators
from ._operators import bare
from ._dispatch import calls, is_plain, is_tensor_alone, is_watched, records, refuse_forward_mode


def write_into(out, name, tensors, run, made):
    """`run` with `out`, which autograd is told of as of any tensor that changes in place.

    Where operators are watched, `made()` is copied, because only operators are seen.
    """
    if records(out, *tensors):
        raise RuntimeError(f"{name}: out= has no gradients; leave it out, detach the tensors or use torch.no_grad()")
    if is_watched() or not is_tensor_alone(out, *tensors):
        refuse_forward_mode((out, *tensors))
        result = made()
        if out.dtype != result.dtype or out.shape != result.shape:
            raise ValueError(f"{name}: out is no {result.dtype} of shape {tuple(result.shape)}")
        return out.copy_(result)
    run(bare(out))
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)
    return out


def gather(table, index, *, out=None):
    """Gather rows by an index list: ``table[index]``.

    Parameters
    ----------
    table : Tensor of shape (rows, ...)
        Of any type. The elements of a row lie side by side; rows may lie apart.
    index : Tensor of int32 or int64
        Row numbers, of one dimension or more. Negative ones are bad indices.
    out : Tensor, optional
        Where the rows go, without gradients.

    Returns
    -------
    Tensor of shape (*index.shape, ...)

    Raises
    ------
    IndexError
        For the first bad index, with its position. On a GPU the next call on the stream raises it.
    ValueError
        If an argument would have to be copied, or types or shapes do not fit.

    Notes
    -----
    Gradient of `table`: the sums of the rows that go back to each row (`scatter_reduce`), with the same bits in every
    run. It has gradients itself.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> table = torch.tensor([[0., 1.], [2., 3.], [4., 5.]], requires_grad=True)
    >>> sheaf.torch.gather(table, torch.tensor([2, 0, 2])).sum().backward()
    >>> table.grad
    tensor([[1., 1.],
            [0., 0.],
            [2., 2.]])
    """
    if out is None:
        return _operators.gather(table, index) if is_plain(table, index) else calls.gather(table, index)
    run = lambda to: sheaf.gather(bare(table), index, out=to)  # noqa: E731
    return write_into(out, "gather", (table,), run, lambda: calls.gather(table, index))


def scatter(values, index, base, *, duplicates="any", out=None):
    """Replace rows by an index list: a copy of `base` with ``base[index[i]] = values[i]``.

    Parameters
    ----------
    values : Tensor
        One row for each entry of `index`; its first dimensions are index's.
    index : Tensor of int32 or int64
        Rows of `base`.
    base : Tensor
        Of the type of `values`. It stays as it is.
    duplicates : {'any', 'last'}
        Which row wins where `index` names one more than once. Where gradients are recorded 'any' is 'last', too.
    out : Tensor, optional
        Takes base's place (pass None for that) and changes, as that of `sheaf.scatter`; without gradients.

    Returns
    -------
    Tensor of the shape of `base`

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    Gradients: of `values` the rows of the gradient that `index` names, and 0 for rows that others overwrote; of `base`
    the rows that nobody names. They have gradients themselves.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> sheaf.torch.scatter(torch.tensor([7., 8.]), torch.tensor([3, 1]), torch.zeros(4))
    tensor([0., 8., 0., 7.])
    """
    if out is None:
        if is_plain(values, index, base):
            return _operators.scatter(values, index, base, duplicates)
        return calls.scatter(values, index, base, "last" if records(values, base) else duplicates)
    if base is not None:
        raise ValueError("scatter: give base or out, not both")
    run = lambda to: sheaf.scatter(bare(values), index, to, duplicates=duplicates)  # noqa: E731
    return write_into(out, "scatter", (values,), run, lambda: calls.scatter(values, index, out, duplicates))


def scatter_reduce(
    values,
    index,
    base=None,
    op="add",
    *,
    size=None,
    dtype=None,
    start="out",
    counts=False,
    order="deterministic",
    out=None,
):
    """Combine numbers, or whole rows of them, by an index list.

    Row r of the result is the reduction of all ``values[i]`` with ``index[i] == r``, and of ``base[r]`` if it is given.

    Parameters
    ----------
    values : Tensor of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
        One row for each entry of `index`; its first dimensions are index's.
    index : Tensor of int32 or int64
        Rows of the result.
    base : Tensor, optional
        What the result begins with, of the type of `values` or a wider one. It stays as it is. Without it the result
        begins with the identity of the operation, which rows get that nobody names.
    op : {'add', 'mean', 'min', 'max', 'mul', 'subtract', 'count'}
        'count' has no gradient. A base counts as one row of a mean.
    size : int
        Rows of the result, where neither `base` nor `out` is given.
    dtype : torch.dtype, optional
        float32 for values of 16 bits, as for `sheaf.scatter_reduce`.
    start : {'out', 'identity'}
        Whether the result begins with what `base` or `out` holds; with 'identity' they only say shape and type.
    counts : bool
        Whether to return, too, how many rows came to each row of the result.
    order : {'deterministic', 'any'}
        Whether sums of floats have the same bits in every run. Gradients always have.
    out : Tensor, optional
        Takes base's place and changes, as that of `sheaf.scatter_reduce`; without gradients.

    Returns
    -------
    Tensor of shape (size, ...), or with `counts` the tuple (result, counts)

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    Sums of 16-bit floats are made in float32 and rounded once. Gradients of `values`: 'add' gathers; 'mean' gathers and
    divides by the counts; 'min' and 'max' share among all rows that have the extreme value; 'mul' gives the product of
    the others. `base` gets its part likewise. All have gradients themselves; those of 'mul' are right where nothing is
    0.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> rows = torch.tensor([[1., 10.], [2., 20.], [3., 30.]], requires_grad=True)
    >>> most = sheaf.torch.scatter_reduce(rows, torch.tensor([0, 2, 0]), op="max", size=3)
    >>> most[0].sum().backward()
    >>> rows.grad
    tensor([[0., 0.],
            [0., 0.],
            [1., 1.]])
    """
    if out is not None:
        if base is not None or size is not None or dtype is not None:
            raise ValueError("scatter_reduce: give base or out, not both; size and dtype are those of out")
        return _scatter_reduce_into(values, index, op, start, counts, order, out)
    if start not in ("out", "identity"):
        raise ValueError(f"scatter_reduce: start is 'out' or 'identity', not {start!r}")
    if base is None and size is None:
        raise ValueError("scatter_reduce: give size, base or out")
    if base is not None:
        if size is not None or dtype is not None:
            raise ValueError("scatter_reduce: size and dtype are those of base")
        size = base.shape[0]
        if start == "identity":
            base, dtype = None, base.dtype
    if is_plain(values, index, base):
        made = _operators.scatter_reduce(values, index, base, size, op, dtype, order, counts)
    else:
        counted = counts or (op == "mean" and records(values, base))  # which the gradient divides by
        made = calls.scatter_reduce(values, index, base, size, op, dtype, order, counted)
    return made if counts else made[0]


def _scatter_reduce_into(values, index, op, start, counts, order, out):
    came = torch.empty(out.shape[0], dtype=torch.int64, device=out.device) if counts else None

    def run(to):
        sheaf.scatter_reduce(bare(values), index, to, op, start=start, order=order, counts=came)

    def made():
        result = scatter_reduce(values, index, out, op, start=start, counts=counts, order=order)
        if counts:
            result, rows = result
            came.copy_(rows)
        return result

    write_into(out, "scatter_reduce", (values,), run, made)
    return (out, came) if counts else out


def gather_reduce(table, index, offsets, op="add", *, weights=None, out=None):
    """Gather numbers, or rows of them, and combine them by segments, in one pass.

    Row s of the result is the reduction of ``table[index[offsets[s]:offsets[s + 1]]]``.

    Parameters
    ----------
    table : Tensor of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
        Rows of axis 0.
    index : Tensor of int32 or int64
        Rows of `table`; of one dimension. Entries outside of all segments are left out.
    offsets : Tensor of int32 or int64
        One more than segments.
    op : {'add', 'mean', 'min', 'max', 'mul', 'count'}
        The last two have no gradient.
    weights : Tensor, optional
        A factor for each entry of `index`, with 'add' and 'mean', of the type of `table`, or float32 where that has 16
        bits. A mean divides by the number of entries all the same.
    out : Tensor, optional
        Without gradients. What it holds is not read.

    Returns
    -------
    Tensor of shape (segments, ...)

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    The same bits in every run. Gradient of `table`: for 'add' and 'mean' a transposed product, of which no row for each
    entry is stored; 'min' and 'max' share among all entries that have the extreme value. Of `weights`: the dots of
    gradient and table, for which two rows of each entry are stored. All have gradients themselves.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> table = torch.tensor([[1., 2.], [10., 20.], [100., 200.]], requires_grad=True)
    >>> bags = sheaf.torch.gather_reduce(table, torch.tensor([0, 2, 1]), torch.tensor([0, 2, 3]), "mean")
    >>> bags.sum().backward()
    >>> table.grad
    tensor([[0.5000, 0.5000],
            [1.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    if out is None:
        return reduce_by_lists(table, index, offsets, op, weights, (None, None, None, None))
    run = lambda to: sheaf.gather_reduce(bare(table), index, offsets, op, weights=bare(weights), out=to)  # noqa: E731
    made = lambda: gather_reduce(table, index, offsets, op, weights=weights)  # noqa: E731
    return write_into(out, "gather_reduce", (table, weights), run, made)


def reduce_by_lists(table, index, offsets, op, weights, lists):
    """gather_reduce with lists for its gradient: those of `EdgeLists`, or none."""
    call = _operators.gather_reduce if is_plain(table, index, offsets, weights) else calls.gather_reduce
    return call(table, index, offsets, weights, op, *lists)


def sort(a, *, descending=False, out=None):
    """Sort numbers, stably.

    Parameters
    ----------
    a : Tensor
        One-dimensional, of integers, float16, float32 or float64.
    descending : bool
    out : Tensor, optional
        Of the shape and type of `a`; without gradients.

    Returns
    -------
    Tensor

    Notes
    -----
    Floats have the total order of IEEE 754: -0.0 before 0.0, and NaN by its sign to either end. Gradient: that of the
    result, brought back by the permutation. It has gradients itself.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> sheaf.torch.sort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    if out is None:
        return sheaf.sort(bare(a), descending=descending) if is_plain(a) else calls.sort(a, descending)[0]
    run = lambda to: sheaf.sort(bare(a), descending=descending, out=to)  # noqa: E731
    return write_into(out, "sort", (a,), run, lambda: calls.sort(a, descending)[0])


def argsort(a, *, descending=False, dtype=None, out=None):
    """Find the order into which `sort` would bring numbers. It has no gradient.

    Parameters
    ----------
    a, descending
        As for `sort`.
    dtype : torch.int64 or torch.int32
        Type of the row numbers: int64, or that of `out`, unless it is given.
    out : Tensor, optional
        Of that type.

    Returns
    -------
    Tensor of `dtype`

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> sheaf.torch.argsort(torch.tensor([30, 10, 20]), dtype=torch.int32)
    tensor([1, 2, 0], dtype=torch.int32)
    """
    if dtype not in (None, torch.int32, torch.int64):
        raise ValueError(f"argsort: dtype is torch.int32 or torch.int64, not {dtype}")
    if out is not None and (out.dtype not in (torch.int32, torch.int64) or dtype not in (None, out.dtype)):
        raise ValueError(f"argsort: out is of {out.dtype}, not of {dtype or 'torch.int32 or torch.int64'}")
    a = a.detach() if a.requires_grad else a
    if out is None:
        call = _operators.argsort if is_plain(a) else calls.argsort
        return call(a, descending, dtype or torch.int64)
    name = str(out.dtype).removeprefix("torch.")
    run = lambda to: sheaf.argsort(a, descending=descending, dtype=name, out=to)  # noqa: E731
    return write_into(out, "argsort", (), run, lambda: calls.argsort(a, descending, out.dtype))


def parts_of(A, shape, name):
    """Values, columns, row offsets and shape (None if the caller did not say) of a matrix in compressed rows."""
    if isinstance(A, (tuple, list)):
        if len(A) != 3:
            raise ValueError(f"{name}: a matrix of tensors is (data, indices, indptr), and here are {len(A)}")
        return *A, shape
    if isinstance(A, torch.Tensor) and A.layout == torch.sparse_csr:
        if shape is not None and tuple(shape) != tuple(A.shape):
            raise ValueError(f"{name}: shape is {tuple(shape)}, and the matrix has {tuple(A.shape)}")
        return A.values(), A.col_indices(), A.crow_indices(), A.shape
    raise TypeError(f"{name}: A is no tensor in the layout torch.sparse_csr and no tuple (data, indices, indptr)")


def product_parts(A, x, shape, transposed, name):
    data, indices, indptr, shape = parts_of(A, shape, name)
    if shape is None:
        if transposed:
            raise ValueError(f"{name}: a transposed product by (data, indices, indptr) needs shape=(rows, columns)")
        shape = indptr.shape[0] - 1, x.shape[0]
    return data, indices, indptr, shape[0], shape[1], x, transposed


def spmv(A, x, *, shape=None, transposed=False, order="deterministic", out=None):
    """Multiply a sparse matrix by a vector.

    Parameters
    ----------
    A : Tensor in the layout torch.sparse_csr, or tuple (data, indices, indptr)
        Of float32 or float64. torch.compile takes the tuple only.
    x : Tensor
        Of the type of the matrix's values.
    shape : (int, int), optional
        Needed for transposed products by a tuple.
    transposed : bool
        Whether the product is by the transpose.
    order : {'deterministic', 'any'}
        Whether transposed products have the same bits in every run. Gradients always have.
    out : Tensor, optional
        Without gradients.

    Returns
    -------
    Tensor

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    Gradients: of `x` the product the other way; of the values ``g[row] * x[column]``. They have gradients themselves.
    Autocast brings 16 bits to float32.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> A = torch.tensor([2., 1., 3.]), torch.tensor([0, 0, 1]), torch.tensor([0, 1, 3])
    >>> sheaf.torch.spmv(A, torch.tensor([1., 10.]))
    tensor([ 2., 31.])
    """
    if order not in ("deterministic", "any"):
        raise ValueError(f"spmv: order is 'deterministic' or 'any', not {order!r}")
    arguments = *product_parts(A, x, shape, transposed, "spmv"), order
    if out is None:
        return _operators.spmv(*arguments) if is_plain(arguments[0], x) else calls.spmv(*arguments)

    def run(to):
        matrix = _operators.matrix_of(*arguments[:5])
        matrix.rmatvec(bare(x), out=to, order=order) if transposed else matrix.matvec(bare(x), out=to)

    return write_into(out, "spmv", (arguments[0], x), run, lambda: calls.spmv(*arguments))


def spmm(A, x, *, shape=None, transposed=False, order="deterministic", out=None):
    """Multiply a sparse matrix by a dense one.

    Parameters
    ----------
    A, shape, transposed, order
        As for `spmv`; of float16 or bfloat16, too, or float32 where `x` has 16 bits.
    x : Tensor of float16, bfloat16, float32 or float64
        Of two dimensions, with up to 1,024 columns.
    out : Tensor, optional
        Without gradients.

    Returns
    -------
    Tensor of two dimensions, of the type of `x`

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    Sums of 16-bit floats are made in float32. Gradients: of `x` the product the other way; of the values the dots
    ``g[row] . x[column]``, for which two rows of each entry are stored. They have gradients themselves.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> A = torch.tensor([2., 1., 3.]), torch.tensor([0, 0, 1]), torch.tensor([0, 1, 3])
    >>> sheaf.torch.spmm(A, torch.tensor([[1., 2.], [10., 20.]]))
    tensor([[ 2.,  4.],
            [31., 62.]])
    """
    arguments = *product_parts(A, x, shape, transposed, "spmm"), order
    if out is None:
        return _operators.spmm(*arguments) if is_plain(arguments[0], x) else calls.spmm(*arguments)

    def run(to):
        sheaf.spmm(_operators.matrix_of(*arguments[:5]), bare(x), to, transposed=transposed, order=order)

    return write_into(out, "spmm", (arguments[0], x), run, lambda: calls.spmm(*arguments))


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None):
    """Solve ``A x = b`` for a symmetric positive definite matrix, by conjugate gradient.

    Parameters
    ----------
    A : Tensor in the layout torch.sparse_csr, or tuple (data, indices, indptr)
        Of float32 or float64.
    b : Tensor
        Of the type of the matrix's values.
    x0 : Tensor, optional
        The start value; zeros without it.
    rtol, atol : float
        The iteration ends where the norm of ``b - A x`` is at most ``max(rtol * norm(b), atol)``.
    maxiter : int, optional
    M : None or 'jacobi'
        The preconditioner.

    Returns
    -------
    x : Tensor
    info : Tensor of int64, of no dimensions, on the CPU
        0 if it converged, else as that of `sheaf.cg`.

    Notes
    -----
    Gradients by one more solve, with the same tolerance: of `b` the solution y for the gradient of x, of the values
    ``-y[row] * x[column]``, which are right as long as the matrix stays symmetric; `x0` gets none. A solve for a
    gradient that does not converge warns. The call waits for its result. Autocast brings 16 bits to float32.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> A = torch.tensor([4., 2.]), torch.tensor([0, 1]), torch.tensor([0, 1, 2])
    >>> x, info = sheaf.torch.cg(A, torch.tensor([4., 6.]))
    >>> x, int(info)
    (tensor([1., 3.]), 0)
    """
    if M not in (None, "jacobi"):
        raise ValueError(f"cg: M is None or 'jacobi', not {M!r}")
    data, indices, indptr, shape = parts_of(A, None, "cg")
    if shape is not None and shape[0] != shape[1]:
        raise ValueError(f"cg: the matrix is not square but {shape[0]} x {shape[1]}")
    call = _operators.cg if is_plain(data, b, x0) else calls.cg
    return call(data, indices, indptr, b, x0, rtol, atol, maxiter, M == "jacobi", False)


def edge_sum(edges, values, weights=None, function="difference", *, order="deterministic", out=None):
    """Sum over the edges of a graph: add at the first end, subtract at the second.

    Parameters
    ----------
    edges : Tensor of shape (m, 2), or tuple of two tensors
        The ends of each edge. Of a tensor of shape (2, m) pass ``tuple(edges)``.
    values : Tensor of float32 or float64
        Of shape (nodes,) or (nodes, components), with up to 8 components.
    weights : Tensor, optional
        One for each edge.
    function : {'difference', 'inverse_square'}
        What an edge from i to j contributes: ``w (u_j - u_i)``, or that over the cube of the distance.
    order : {'deterministic', 'any'}
        Whether sums have the same bits in every run. Gradients always have.
    out : Tensor, optional
        Without gradients.

    Returns
    -------
    Tensor of the shape of `values`

    Raises
    ------
    IndexError, ValueError
        As `gather`.

    Notes
    -----
    Gradients: of `values` for 'difference' the same sum of the gradient, because its matrix is symmetric; for
    'inverse_square' a row for each end is stored. Of `weights` the dots of both differences. They have gradients
    themselves. Autocast brings 16 bits to float32.

    Examples
    --------
    >>> import torch, sheaf.torch
    >>> sheaf.torch.edge_sum(torch.tensor([[0, 1], [1, 2]]), torch.tensor([1., 2., 4.]))
    tensor([ 1.,  1., -2.])
    """
    first, second = edges if isinstance(edges, (tuple, list)) else (edges, None)
    if out is None:
        call = _operators.edge_sum if is_plain(first, second, values, weights) else calls.edge_sum
        return call(first, second, values, weights, function, order)
    run = lambda to: sheaf.edge_sum(edges, bare(values), bare(weights), function, order=order, out=to)  # noqa: E731
    made = lambda: calls.edge_sum(first, second, values, weights, function, order)  # noqa: E731
    return write_into(out, "edge_sum", (values, weights), run, made)
