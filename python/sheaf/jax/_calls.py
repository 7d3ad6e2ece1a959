"""The calls for users: they check types and shapes, which are known when a program is traced."""

import operator
import re

import jax.numpy as jnp
import numpy as np
from jax.dtypes import canonicalize_dtype, extended
from jax.errors import ConcretizationTypeError, TracerIntegerConversionError

from .. import _sheaf
from . import _gradients

INDEX_TYPES = ("int32", "int64", "uint32", "uint64")
NUMBERS = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "uint8", "uint16", *INDEX_TYPES)
WIDER = {
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "int8": ("int32", "int64"),
    "int16": ("int32", "int64"),
    "uint8": ("uint32", "uint64"),
    "uint16": ("uint32", "uint64"),
}
OPERATIONS = ("add", "min", "max", "mul", "mean")


def jax_array(array, call, what):
    """An array of JAX. Where JAX has no 64 bits, whole numbers of NumPy that need them are refused: they would wrap."""
    if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind in "iu" and array.size:
        held = np.iinfo(canonicalize_dtype(array.dtype))
        for number in (int(array.min()), int(array.max())) if held.bits < 8 * array.dtype.itemsize else ():
            if not held.min <= number <= held.max:
                raise ValueError(f"{call}: {what} has {number}, which JAX holds only where jax_enable_x64 is set")
    return jnp.asarray(array)


def index_array(array, call, what, dimensions=1):
    """An index as an array of JAX. None for `dimensions` is any number of them."""
    index = jax_array(array, call, what)
    if str(index.dtype) not in INDEX_TYPES:
        raise TypeError(f"{call}: {what} has {index.dtype}, not int32, int64, uint32 or uint64")
    if dimensions is not None and index.ndim != dimensions:
        raise ValueError(f"{call}: {what} has {index.ndim} dimensions, not {dimensions}")
    return index


def number_array(array, call, what, types=NUMBERS):
    numbers = jax_array(array, call, what)
    if str(numbers.dtype) not in types:
        raise TypeError(f"{call}: {what} has {numbers.dtype}, not one of {', '.join(types)}")
    return numbers


def require_bytes(array, call, what):
    """Refuses types whose numbers have no bytes of their own, as int4, or are of JAX alone, as keys of jax.random."""
    if jnp.issubdtype(array.dtype, extended) or re.match(r"(u?int|float)[1-7](_|$)", str(array.dtype)):
        raise TypeError(f"{call}: {what} has {array.dtype}, whose numbers are no whole bytes")
    return array


def rows_array(array, call, what):
    rows = jax_array(array, call, what)
    if rows.ndim == 0:
        raise ValueError(f"{call}: {what} has no dimensions, and so no rows")
    return rows


def one_of(given, names, call, what):
    if given not in names:
        raise ValueError(f"{call}: {what} is {given!r}, not one of {', '.join(map(repr, names))}")
    return given


def require_held(named, call):
    """Refuses 64 bits where JAX has none."""
    if canonicalize_dtype(named) != named:
        raise ValueError(f"{call}: dtype is {named}, which JAX has where jax_enable_x64 is set")
    return named


def type_of_result(dtype, values, call):
    """The name of the result's type: that of the values, or the wider one that is asked for."""
    own = str(values.dtype)
    named = own if dtype is None else str(jnp.dtype(dtype))
    if named != own and named not in WIDER.get(own, ()):
        raise ValueError(f"{call}: dtype is {named}, and {own} goes to {' or '.join((own, *WIDER.get(own, ())))}")
    return require_held(named, call)


def number_of_segments(given, ids, call):
    """As it is given, or one more than the largest of the segments."""
    try:
        number = operator.index(given) if given is not None else int(ids.max()) + 1 if ids.size else 0
    except (ConcretizationTypeError, TracerIntegerConversionError):
        which = "left out" if given is None else "traced"
        raise TypeError(
            f"{call}: num_segments is {which}, but the shape of the result depends on it: inside of jit it is to be "
            "given as an int (static_argnames of jax.jit)"
        ) from None
    except TypeError:
        raise TypeError(f"{call}: num_segments is {given!r}, not an int") from None
    if isinstance(given, bool):
        raise TypeError(f"{call}: num_segments is {given!r}, not an int")
    if number < 0:
        raise ValueError(f"{call}: num_segments is {number}, below 0")
    return number


def gather(table, index):
    """Gather rows by an index list: ``table[index]``.

    Parameters
    ----------
    table : Array of shape (rows, ...)
        Of any type whose numbers have 8 bits or more; a row has up to 65,536 bytes.
    index : Array of int32, int64, uint32 or uint64
        Row numbers, of any shape. Negative ones are bad indices.

    Returns
    -------
    Array of shape (*index.shape, ...)

    Raises
    ------
    TypeError, ValueError
        For types and shapes that do not fit, when the call is traced.
    jax.errors.JaxRuntimeError, ValueError
        For the first bad index, with its position; the latter, with the same message, where the first run of the
        program, or of a call with these shapes, has ended well. On a GPU the row is zero, and the next call on the
        stream, or `check`, raises.

    Notes
    -----
    Gradient of `table`: the sums of the rows that go back to each row (`segment_sum`), with the same bits in every run.
    It has gradients itself. Under vmap over `index` alone it is one call.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, sheaf.jax
    >>> table = jnp.array([[0., 1.], [2., 3.], [4., 5.]])
    >>> jax.jit(sheaf.jax.gather)(table, jnp.array([2, 0])).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    >>> jax.grad(lambda t: sheaf.jax.gather(t, jnp.array([2, 0, 2])).sum())(table).tolist()
    [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    """
    table = require_bytes(rows_array(table, "gather", "table"), "gather", "table")
    index = index_array(index, "gather", "index", None)
    return _gradients.gather(table, index, table.shape[0])


def segment_sum(data, segment_ids, num_segments=None, *, dtype=None, order="deterministic"):
    """Sum the rows of each segment: ``jax.ops.segment_sum``, in any order of the segments, with checked indices.

    Parameters
    ----------
    data, segment_ids, num_segments, dtype, order
        As for `segment_reduce`.

    Returns
    -------
    Array of shape (num_segments, ...)

    Raises
    ------
    TypeError, ValueError, jax.errors.JaxRuntimeError
        As `segment_reduce`. Rows whose segment does not exist are errors, and JAX leaves them out in silence.

    Notes
    -----
    The same bits in every run; 16-bit floats are summed in float32 and rounded once. Gradient of `data`: `gather`. It
    has gradients itself. Under vmap over `data` alone it is one call.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> sheaf.jax.segment_sum(jnp.array([1., 2., 4.]), jnp.array([2, 0, 2]), 3).tolist()
    [2.0, 0.0, 5.0]
    """
    return segment_reduce(data, segment_ids, num_segments, "add", dtype=dtype, order=order)


def segment_reduce(data, segment_ids, num_segments=None, op="add", *, dtype=None, order="deterministic", counts=False):
    """Combine the rows of each segment: row s of the result is the reduction of ``data[segment_ids == s]``.

    Parameters
    ----------
    data : Array of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
        Its first dimensions are those of `segment_ids`; what follows is a row, of up to 65,536 numbers.
    segment_ids : Array of int32, int64, uint32 or uint64
        The segment of each row, in any order.
    num_segments : int
        Rows of the result. It is known when the call is traced. Outside of jit it may be left out: it is then one more
        than the largest of `segment_ids`.
    op : {'add', 'mean', 'min', 'max', 'mul'}
        A segment without rows gets 0, 0, the largest and the least number of the type (infinities of floats), and 1.
    dtype : optional
        The type of the result: float32 for 16-bit floats, 32 or 64 bits for shorter integers.
    order : {'deterministic', 'any'}
        Whether sums of floats have the same bits in every run. Gradients always have.
    counts : bool
        Whether to return, too, how many rows each segment has.

    Returns
    -------
    Array of shape (num_segments, ...), or with `counts` the tuple (result, counts of int32)

    Raises
    ------
    TypeError, ValueError
        For types, shapes and options that do not fit, when the call is traced.
    jax.errors.JaxRuntimeError, ValueError
        For the first bad index, with its position; the latter, with the same message, where the first run of the
        program, or of a call with these shapes, has ended well. On a GPU its row is left out, and the next call on the
        stream, or `check`, raises.

    Notes
    -----
    16-bit floats are combined in float32 and rounded once; integers wrap around. Gradients of `data`: 'add' gathers;
    'mean' gathers and divides by the counts; 'min' and 'max' share among all rows that have the extreme value; 'mul'
    gives the product of the others, where the product of all is in the range of the type; else it is 0, infinite or
    NaN. All have gradients themselves; those of 'mul' are right where nothing is 0. Under vmap over `data` alone it is
    one call.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, sheaf.jax
    >>> rows, segments = jnp.array([[1., 10.], [2., 20.], [3., 30.]]), jnp.array([0, 1, 0])
    >>> sheaf.jax.segment_reduce(rows, segments, 2, "mean").tolist()
    [[2.0, 20.0], [2.0, 20.0]]
    >>> jax.grad(lambda r: sheaf.jax.segment_reduce(r, segments, 2, "max")[0].sum())(rows).tolist()
    [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    """
    call = "segment_reduce"
    data = number_array(data, call, "data")
    ids = index_array(segment_ids, call, "segment_ids", None)
    if ids.ndim == 0 or data.shape[: ids.ndim] != ids.shape:
        raise ValueError(f"{call}: data of shape {data.shape} does not begin with segment_ids' shape {ids.shape}")
    one_of(op, OPERATIONS, call, "op")
    one_of(order, ("deterministic", "any"), call, "order")
    num_segments = number_of_segments(num_segments, ids, call)
    dtype = type_of_result(dtype, data, call)
    row = data.shape[ids.ndim :]
    how = _gradients.Reduction(num_segments, op, str(data.dtype), dtype, order == "any", bool(counts))
    if 0 in row:  # no numbers to combine, but rows to count
        ones = jnp.ones(ids.shape, "int8")
        came = _gradients.scatter_reduce(ones, ids, how._replace(op="add", of="int8", to="int8"))[1]
        made = jnp.zeros((num_segments, *row), dtype)
    else:
        made, came = _gradients.scatter_reduce(data, ids, how)
    return (made, came) if counts else made


def gather_reduce(table, index, offsets, op="add", *, weights=None, dtype=None):
    """Gather rows and combine them by segments, in one pass: nothing in between is stored.

    Row s of the result is the reduction of ``table[index[offsets[s]:offsets[s + 1]]]``.

    Parameters
    ----------
    table : Array of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
        Of shape (rows, ...).
    index : Array of int32, int64, uint32 or uint64
        Rows of `table`; of one dimension. Entries outside of all segments are left out.
    offsets : Array of int32, int64, uint32 or uint64
        Of one dimension: where each segment begins, and where the last one ends.
    op : {'add', 'mean', 'min', 'max', 'mul'}
        A mean divides by the number of entries, with weights too.
    weights : Array, optional
        A factor for each entry of `index`, with 'add' and 'mean' of floats: of the table's type, or of float32.
    dtype : optional
        As for `segment_reduce`.

    Returns
    -------
    Array of shape (len(offsets) - 1, ...)

    Raises
    ------
    TypeError, ValueError, jax.errors.JaxRuntimeError
        As `segment_reduce`; offsets that run past `index` or back are errors like bad indices.

    Notes
    -----
    The same bits in every run. Gradients: of `table` the transposed product (`spmm`); of `weights` the dots of gradient
    and table, for which two rows of each entry are stored; 'min' and 'max' share among all entries that have the
    extreme value, for which a row of each entry is stored; 'mul' has none. They have gradients themselves. Under vmap
    over `table` alone it is one call.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> table = jnp.array([[0., 1.], [2., 3.], [4., 5.]])
    >>> sheaf.jax.gather_reduce(table, jnp.array([2, 0, 1]), jnp.array([0, 2, 3])).tolist()
    [[4.0, 6.0], [2.0, 3.0]]
    """
    call = "gather_reduce"
    table = rows_array(number_array(table, call, "table"), call, "table")
    index = index_array(index, call, "index")
    offsets = index_array(offsets, call, "offsets")
    one_of(op, OPERATIONS, call, "op")
    if offsets.shape[0] == 0:
        raise ValueError(f"{call}: offsets has no entry; there is one more than rows of the result")
    dtype = type_of_result(dtype, table, call)
    own = str(table.dtype)
    if weights is None:
        weights = jnp.zeros(0, table.dtype)
    else:
        factors = (own, "float32") if own in ("float16", "bfloat16") else (own,)
        weights = number_array(weights, call, "weights", factors)
        if op not in ("add", "mean") or not _gradients.is_float(table.dtype):
            raise ValueError(f"{call}: weights are for 'add' and 'mean' of floats")
        if weights.shape != index.shape:
            raise ValueError(f"{call}: weights has shape {weights.shape}, and index {index.shape}")
    if 0 in table.shape[1:]:
        return jnp.zeros((offsets.shape[0] - 1, *table.shape[1:]), dtype)
    return _gradients.gather_reduce(table, index, offsets, weights, op, dtype)


def keys_array(a, call):
    keys = number_array(a, call, "a", (*NUMBERS, "bool"))
    if keys.ndim != 1:
        raise ValueError(f"{call}: a has {keys.ndim} dimensions, not 1; jax.vmap sorts rows")
    return keys


def sort(a, *, descending=False):
    """Sort numbers.

    Parameters
    ----------
    a : Array of float16, bfloat16, float32, float64, bool, or integers of 8 to 64 bits
        Of one dimension.
    descending : bool
        Whether the largest comes first.

    Returns
    -------
    Array of the shape of `a`

    Raises
    ------
    TypeError, ValueError
        When the call is traced.

    Notes
    -----
    Floats are ordered totally: -0.0 before 0.0, NaN by its sign to either end. Gradient: that of the result, brought
    back by the permutation. It has gradients itself.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> sheaf.jax.sort(jnp.array([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    return _gradients.sort(keys_array(a, "sort"), bool(descending))


def argsort(a, *, descending=False, dtype=None):
    """Find the order of numbers: ``a[argsort(a)]`` is sorted. Equal ones keep their order.

    Parameters
    ----------
    a, descending
        As for `sort`.
    dtype : {'int32', 'int64', 'uint32', 'uint64'}, optional
        Of the result: int64 without it, or int32 where JAX has no 64 bits.

    Returns
    -------
    Array of the shape of `a`

    Raises
    ------
    TypeError, ValueError
        When the call is traced.

    Notes
    -----
    It has no gradient.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> sheaf.jax.argsort(jnp.array([3., 1., 2., 1.])).tolist()
    [1, 3, 2, 0]
    """
    keys = keys_array(a, "argsort")
    named = str(canonicalize_dtype("int64") if dtype is None else jnp.dtype(dtype))
    one_of(named, INDEX_TYPES, "argsort", "dtype")
    return _gradients.argsort(keys, bool(descending), require_held(named, "argsort"))


def matrix_arrays(A, shape, x, transposed, call):
    """Values, columns, offsets and number of columns of a sparse matrix."""
    if isinstance(A, (tuple, list)):
        if len(A) != 3:
            raise ValueError(f"{call}: a matrix of arrays is (data, indices, indptr), and here are {len(A)}")
        data, indices, indptr = A
    elif all(hasattr(A, part) for part in ("data", "indices", "indptr", "shape")):
        data, indices, indptr = A.data, A.indices, A.indptr
        if shape is not None and tuple(shape) != tuple(A.shape):
            raise ValueError(f"{call}: shape is {tuple(shape)}, and the matrix has {tuple(A.shape)}")
        shape = A.shape
    else:
        raise TypeError(f"{call}: A is no BCSR matrix and no tuple (data, indices, indptr)")
    indices = index_array(indices, call, "indices")
    indptr = index_array(indptr, call, "indptr")
    if shape is None:
        if transposed:
            raise ValueError(f"{call}: a transposed product by (data, indices, indptr) needs shape=(rows, columns)")
        shape = indptr.shape[0] - 1, x.shape[0]
    rows, columns = (int(n) for n in shape)
    if indptr.shape[0] != rows + 1:
        raise ValueError(f"{call}: indptr has {indptr.shape[0]} entries for {rows} rows, not {rows + 1}")
    if x.shape[0] != (rows if transposed else columns):
        raise ValueError(f"{call}: x has {x.shape[0]} rows, and the matrix is {rows} x {columns}")
    data = number_array(data, call, "data", NUMBERS[:4])
    if data.shape != indices.shape:
        raise ValueError(f"{call}: data has shape {data.shape}, and indices {indices.shape}")
    return data, indices, indptr, columns


def spmv(A, x, *, shape=None, transposed=False, order="deterministic"):
    """Multiply a sparse matrix by a vector.

    Parameters
    ----------
    A : jax.experimental.sparse.BCSR, or tuple (data, indices, indptr)
        Of float32 or float64, without batches or dense dimensions.
    x : Array
        Of the type of the matrix's values.
    shape : (int, int), optional
        Needed for transposed products by a tuple.
    transposed : bool
        Whether the product is by the transpose.
    order : {'deterministic', 'any'}
        Whether transposed products have the same bits in every run. Gradients always have.

    Returns
    -------
    Array of one dimension

    Raises
    ------
    TypeError, ValueError
        For types and shapes that do not fit, when the call is traced.
    jax.errors.JaxRuntimeError, ValueError
        For the first fault of the matrix: a row that runs past the entries or back, or a column that does not exist.
        The latter, with the same message, where the first run of the program, or of a call with these shapes, has ended
        well. On a GPU the next call on the stream, or `check`, raises.

    Notes
    -----
    Gradients: of `x` the product the other way; of the values ``g[row] * x[column]``. They have gradients themselves.
    Under vmap over `x` alone, of up to 1,024, it is one product with a dense matrix.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> A = jnp.array([2., 1., 3.]), jnp.array([0, 0, 1]), jnp.array([0, 1, 3])
    >>> sheaf.jax.spmv(A, jnp.array([1., 10.])).tolist()
    [2.0, 31.0]
    """
    x = number_array(x, "spmv", "x", ("float32", "float64"))
    if x.ndim != 1:
        raise ValueError(f"spmv: x has {x.ndim} dimensions, not 1; spmm multiplies matrices")
    one_of(order, ("deterministic", "any"), "spmv", "order")
    data, indices, indptr, columns = matrix_arrays(A, shape, x, transposed, "spmv")
    if data.dtype != x.dtype:
        raise TypeError(f"spmv: data has {data.dtype}, and x {x.dtype}")
    return _gradients.spmv(data, indices, indptr, x, columns, bool(transposed), order == "any")


def spmm(A, x, *, shape=None, transposed=False, order="deterministic"):
    """Multiply a sparse matrix by a dense one.

    Parameters
    ----------
    A, shape, transposed, order
        As for `spmv`; of float16 or bfloat16, too, or float32 where `x` has 16 bits.
    x : Array of float16, bfloat16, float32 or float64
        Of two dimensions, with up to 1,024 columns.

    Returns
    -------
    Array of two dimensions, of the type of `x`

    Raises
    ------
    TypeError, ValueError, jax.errors.JaxRuntimeError
        As `spmv`.

    Notes
    -----
    Sums of 16-bit floats are made in float32. Gradients: of `x` the product the other way; of the values the dots
    ``g[row] . x[column]``, for which two rows of each entry are stored. They have gradients themselves. Under vmap over
    `x` alone, with up to 1,024 columns in all, it is one call.

    Examples
    --------
    >>> import jax.numpy as jnp, sheaf.jax
    >>> A = jnp.array([2., 1., 3.]), jnp.array([0, 0, 1]), jnp.array([0, 1, 3])
    >>> sheaf.jax.spmm(A, jnp.array([[1., 2.], [10., 20.]])).tolist()
    [[2.0, 4.0], [31.0, 62.0]]
    """
    x = number_array(x, "spmm", "x", NUMBERS[:4])
    if x.ndim != 2:
        raise ValueError(f"spmm: x has {x.ndim} dimensions, not 2; spmv multiplies vectors")
    one_of(order, ("deterministic", "any"), "spmm", "order")
    data, indices, indptr, columns = matrix_arrays(A, shape, x, transposed, "spmm")
    if data.dtype != x.dtype and not (str(data.dtype) == "float32" and x.dtype in _gradients.NARROW):
        raise TypeError(f"spmm: data has {data.dtype}, and x {x.dtype}")
    if x.shape[1] == 0:
        return jnp.zeros((columns if transposed else indptr.shape[0] - 1, 0), x.dtype)
    return _gradients.spmm(data, indices, indptr, x, columns, bool(transposed), order == "any")


def check():
    """Wait for the calls that JAX has started, and raise what they found on devices.

    On a CPU each call raises its own bad index. On a GPU the next call on the same stream does, or this one. JAX starts
    programs in its own time: ``jax.block_until_ready`` of a result comes first.

    Returns
    -------
    None

    Raises
    ------
    sheaf.BadIndex
        For the first bad index of the calls before.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, sheaf.jax
    >>> rows = jax.block_until_ready(sheaf.jax.gather(jnp.arange(4.0), jnp.array([3, 0])))
    >>> sheaf.jax.check()
    """
    _sheaf._jax_wait()
