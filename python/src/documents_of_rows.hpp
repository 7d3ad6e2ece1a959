#pragma once

// What help() says of the calls that combine rows of numbers, in the form of numpydoc. Tests run the examples.
namespace sheaf::python::documents {

inline constexpr char scatter_reduce[] =
    R"(Combine numbers, or whole rows of them, by an index list: ``out[index[i]] = out[index[i]] op values[i]``.

Parameters
----------
values : array of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
    A number or a row for each entry of `index`: index's shape, then that of a row of up to 65,536 numbers, which lie
    side by side. Behind an index of one dimension rows may lie apart.
index : array of int32, int64, uint32 or uint64
    Rows of `out`. Entries may repeat.
out : array, optional
    Rows like those of `values`, which may lie apart. Without it, `size` makes a new one.
op : {'add', 'min', 'max', 'subtract', 'mul', 'mean', 'count'}
    A mean is the sum over the number of rows; one of integers is rounded towards zero. 'count' counts rows and looks at
    no number of `values`.
size : int, optional
    Rows of a new output.
dtype : str or dtype, optional
    Type of a new output; without it that of `values`, and int64 for 'count'. See Notes.
start : {'out', 'identity'}, optional
    Whether rows are combined with what `out` holds, which a mean takes for one more row, or with the identity of the
    operation, which rows get that no entry names: 0; 1 of 'mul'; infinity, or the largest number, of 'min', and the
    least of 'max'. Without it 'out' if there is one.
counts : bool or array of int32, int64, uint32 or uint64, optional
    Where to write how many rows came to each row of `out`; True makes an array of int64. The call then returns both.
order : {'deterministic', 'any'}
    Whether sums of floats have the same bits in every run, or may be added in any order.
pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array
    `out`, or with `counts` the tuple (out, counts).

Raises
------
IndexError
    For the first bad index, which changes nothing and counts nowhere; when it is raised is said of `gather`.

Notes
-----
`out` has the type of `values`, or a wider one: float32 for float16 and bfloat16, int32 or int64 for int8 and int16,
uint32 or uint64 for uint8 and uint16; counts may have any. Floats of 16 bits are combined in float32 and rounded once,
at the end. Integers wrap around. A minimum or maximum of a NaN is NaN.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.scatter_reduce(np.array([1., 2., 3.]), np.array([0, 2, 0]), np.zeros(3))
array([4., 0., 2.])
>>> rows = np.array([[1., 10.], [2., 20.], [3., 30.]])
>>> sheaf.scatter_reduce(rows, np.array([0, 2, 0]), size=3, op="mean", counts=True)
(array([[ 2., 20.],
       [ 0.,  0.],
       [ 2., 20.]]), array([2, 0, 1]))
)";

inline constexpr char prepared_scatter_reduce[] =
    R"(Reductions by a list that `prepare_scatter_reduce` inspected.

Call it with rows of any type and width, as ``prepared(values, out=None, op='add', ...)``; the others are the
parameters `dtype`, `start` and `counts` of `scatter_reduce`. The order is always deterministic, though another one than
there, so that last bits of sums may differ. `report` says what the preparation took and saves.
)";

inline constexpr char prepare_scatter_reduce[] = R"(Inspect an index list once, for many reductions of rows by it.

Parameters
----------
index : array of int32, int64, uint32 or uint64
    One-dimensional. It is not needed afterwards.
out_count : int
    Rows of the outputs to come.
runs : int
    How many reductions are expected.
row_bytes : int
    Bytes of a row of most of them.
pattern, ctx, variant
    As for `gather`.

Returns
-------
PreparedScatterReduce

Raises
------
IndexError
    For the first bad index, at once.

Examples
--------
>>> import numpy as np, sheaf
>>> combine = sheaf.prepare_scatter_reduce(np.array([2, 0, 2]), out_count=3, runs=10)
>>> combine(np.array([[1, 5], [2, 6], [3, 4]]), op="max", start="out", out=np.zeros((3, 2), int))
array([[2, 6],
       [0, 0],
       [3, 5]])
)";

inline constexpr char gather_reduce[] =
    R"(Gather numbers, or rows of them, and combine them by segments, in one pass.

``out[s]`` is the reduction of ``table[index[offsets[s]:offsets[s + 1]]]``.

Parameters
----------
table : array of float16, bfloat16, float32, float64, or integers of 8 to 64 bits
    Numbers, or rows of axis 0 of up to 65,536 numbers, which lie side by side. Rows may lie apart.
index : array of int32, int64, uint32 or uint64
    Rows of `table`; of one dimension. Entries may repeat. Those before the first segment and behind the last are left
    out.
offsets : array of int32, int64, uint32 or uint64
    One more than `out` has rows.
op : {'add', 'min', 'max', 'mul', 'mean', 'count'}
weights : array, optional
    A factor for each entry of `index`, with 'add' and 'mean' of floats: of the type of `table`, or float32 where that
    has 16 bits. A mean divides by the number of entries all the same.
out : array, optional
dtype : str or dtype, optional
    Type of a new output, as for `scatter_reduce`.
start : {'identity', 'out'}, optional
    As for `scatter_reduce`, but 'identity' is what is done without it.
pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array

Raises
------
IndexError
    For the first segment that begins or ends past `index` or ends before it begins, which counts as empty; or for the
    first bad index, which contributes nothing. When it is raised is said of `gather`.

Notes
-----
The bits are the same in every run and for every number of threads.

Examples
--------
>>> import numpy as np, sheaf
>>> table, index, offsets = np.array([[1., 2.], [10., 20.], [100., 200.]]), np.array([0, 2, 1]), np.array([0, 2, 3])
>>> sheaf.gather_reduce(table, index, offsets)
array([[101., 202.],
       [ 10.,  20.]])
>>> sheaf.gather_reduce(table[:, 0].copy(), index, offsets, "mean")
array([50.5, 10. ])
)";

inline constexpr char spmm[] = R"(Multiply a sparse matrix by a dense one: ``alpha A x + beta out``.

Parameters
----------
A : csr or sparse matrix
    What `csr` takes, but for tuples, of the type of `x`, or of float32 where that has 16 bits.
x : array of float16, bfloat16, float32 or float64
    Of two dimensions: as many rows as `A` has columns (transposed: rows), of up to 1,024 numbers that lie side by side.
    Rows may lie apart.
out : array, optional
    Of x's type, or of float32 where that has 16 bits. Needed unless beta is 0.
alpha, beta : float
    With beta 0, `out` is written and never read.
transposed : bool
    Whether the product is by the transpose.
dtype : str or dtype, optional
    Type of a new output: x's, or 'float32' where that has 16 bits.
order : {'deterministic', 'any'}
    Whether transposed products have the same bits in every run; others always have.
pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array

Raises
------
IndexError
    For the first row that ends past the entries or before it begins, or the first column that `A` does not have.

Notes
-----
float64 is summed in float64, all else in float32. ``A @ x`` is the same for a `csr`.

Examples
--------
>>> import numpy as np, scipy.sparse, sheaf
>>> A = scipy.sparse.csr_array(np.array([[2., 0.], [1., 3.]]))
>>> sheaf.spmm(A, np.array([[1., 2., 3.], [10., 20., 30.]]))
array([[ 2.,  4.,  6.],
       [31., 62., 93.]])
)";

inline constexpr char prepared_spmm[] = R"(Products by a matrix that `prepare_spmm` inspected.

Call it with a dense matrix, as ``prepared(x, out=None, alpha=1, beta=0, dtype=None)``, or write ``prepared @ x``.
`report` says what the preparation took and saves.
)";

inline constexpr char prepare_spmm[] = R"(Inspect a sparse matrix once, for many products with dense ones.

Parameters
----------
A : csr or sparse matrix
    As for `spmm`. Its arrays must stay as they are; the object holds them.
runs : int
    How many products are expected.
columns : int
    Columns of x of most of them.
transposed : bool
    Whether the products are by the transpose.
order : {'deterministic', 'any'}
    Whether products by the transpose have the same bits in every run. With 'any' a matrix that is not worth preparing
    is multiplied as by ``spmm(..., order='any')``, and what a preparation saves is counted against that.
pattern, ctx, variant
    As for `gather`.

Returns
-------
PreparedSpmm

Examples
--------
>>> import numpy as np, scipy.sparse, sheaf
>>> back = sheaf.prepare_spmm(scipy.sparse.csr_array(np.array([[2., 0.], [1., 3.]])), runs=100, transposed=True)
>>> back @ np.array([[1.], [10.]])
array([[12.],
       [30.]])
)";

}  // namespace sheaf::python::documents
