#pragma once

// What help() says of each call, in the form of numpydoc. Tests run the examples.
namespace sheaf::python::documents {

inline constexpr char context[] = R"(Where calls run: a device and a stream, or threads of the CPU.

Most programs need none: a call runs on the device and the stream of its arrays' library, or on the CPU, by a context
that the thread keeps. A context is used by one thread at a time; others wait for it.

Parameters
----------
device : str, optional
    'cpu', 'cuda', 'cuda:1', 'opengl' or a torch.device. Without it, the first CUDA device if there is one, else the CPU.
stream : int or stream of torch, CuPy or CUDA, optional
    Without it, a stream of the context's own. Calls then wait for what the arrays' library has queued on its current
    stream, and that stream waits for them.
threads : int
    Of the CPU; 0 takes SHEAF_THREADS or what OpenMP would take. In a forked process it takes one.
scratch_limit : int, optional
    Most bytes of scratch of one call.
scratch : {'torch', 'cupy'} or pair of functions, optional
    Whose memory is taken for scratch: torch's or CuPy's pool, or functions allocate(bytes, stream), which returns an
    address or None, and release(address, bytes, stream).

Notes
-----
``with context(...):`` makes it the context of all calls of the thread inside; the end waits, and raises what a bad
index left. A context must outlive the CUDA graphs that captured its calls. Those that threads keep always do.

Examples
--------
>>> import numpy as np, sheaf
>>> with sheaf.context('cpu', threads=1) as ctx:
...     ctx, sheaf.sort(np.array([2, 1]))
(sheaf.context('cpu', threads=1), array([1, 2]))
)";

inline constexpr char wait[] = R"(Wait until all queued work is done.

Raises
------
IndexError
    For the first bad index since the last wait. The context remains usable.
)";

inline constexpr char gather[] = R"(Gather rows by an index list: ``out[i] = table[index[i]]``.

Parameters
----------
table : array
    Rows of axis 0, of any element type and up to 64 KiB each. The elements of a row lie side by side; rows may lie at
    any distance that is not below their width.
index : array of int32, int64, uint32 or uint64
    Row numbers, of any shape. A negative number names no row: it is a bad index and does not count from the end.
out : array, optional
    Where the rows go: index's shape, then that of a row. It may not overlap an input.
pattern : str, optional
    What is known of the order of the rows: 'sequential', 'random', 'partitioned:N', 'clustered:N', 'strided:N',
    'skewed' or 'repeated:N'. It decides speed alone.
check : {'deferred', 'now'}
    When a bad index raises. See Notes.
ctx : context, optional
    Where the call runs. Without it, the context of the innermost ``with``, or this thread's own for the arrays.
variant : str, optional
    Name of a variant to run in place of the planner's choice.

Returns
-------
array
    `out`, or a new array of table's library.

Raises
------
IndexError
    For the first bad index. On the CPU the call itself raises. On a GPU the call only queues its work, and the next
    call on the context, ``wait()`` or the end of its ``with`` raises; check='now' waits and raises at once.
ValueError
    If shapes or types disagree, or an array would have to be copied.

Notes
-----
The row of a bad index is filled with zeros.

Examples
--------
>>> import numpy as np, sheaf
>>> table = np.array([[0., 1.], [2., 3.], [4., 5.]])
>>> sheaf.gather(table, np.array([2, 0]))
array([[4., 5.],
       [0., 1.]])
>>> sheaf.gather(table, np.array([3]))
Traceback (most recent call last):
    ...
sheaf.BadIndex: gather: index[0] is 3, past the table's 3 records
)";

inline constexpr char scatter[] = R"(Scatter rows by an index list: ``out[index[i]] = values[i]``.

Parameters
----------
values : array
    One row for each entry of `index`; its first dimensions are index's.
index : array of int32, int64, uint32 or uint64
    Rows of `out`.
out : array
    Rows that no index names keep their value.
duplicates : {'any', 'last'}
    Which writer wins where `index` names a row more than once: one of them, or the one at the last position.
pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array
    `out`.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.scatter(np.array([7, 8]), np.array([3, 1]), np.zeros(4, np.int64))
array([0, 8, 0, 7])
)";

inline constexpr char prepared_gather[] = R"(A gather by a list that `prepare_gather` inspected.

Call it with a table, as ``prepared(table, out=None)``. `report` says what the preparation took and saves.
)";

inline constexpr char prepared_scatter[] = R"(A scatter by a list that `prepare_scatter` inspected.

Call it with rows and an output, as ``prepared(values, out)``. `report` says what the preparation took and saves.
)";

inline constexpr char prepare_gather[] = R"(Inspect an index list once, for many gathers by it.

Parameters
----------
index : array of int32, int64, uint32 or uint64
    One-dimensional. It is not needed afterwards.
table_count, row_bytes : int
    Rows of the tables to come, and bytes of a row.
runs : int
    How many gathers are expected.
pattern, ctx, variant
    As for `gather`.

Returns
-------
PreparedGather

Examples
--------
>>> import numpy as np, sheaf
>>> table = np.arange(5.0)
>>> take = sheaf.prepare_gather(np.array([4, 0, 2]), table_count=5, row_bytes=8, runs=10)
>>> take(table)
array([4., 0., 2.])
)";

inline constexpr char prepare_scatter[] = R"(Inspect an index list once, for many scatters by it.

Parameters
----------
index : array of int32, int64, uint32 or uint64
out_count, row_bytes : int
    Rows of the outputs to come, and bytes of a row.
runs : int
    How many scatters are expected.
duplicates : {'any', 'last'}
pattern, ctx, variant
    As for `gather`.

Returns
-------
PreparedScatter

Examples
--------
>>> import numpy as np, sheaf
>>> put = sheaf.prepare_scatter(np.array([2, 0]), out_count=3, row_bytes=8, runs=10)
>>> put(np.array([5.0, 6.0]), np.zeros(3))
array([6., 0., 5.])
)";

inline constexpr char sort[] = R"(Sort numbers, records or rows, stably.

Parameters
----------
a : array
    One-dimensional: numbers, strings of bytes, or records of a structured dtype. Or of two dimensions, with `keys`.
keys : str, int or list of them, optional
    Names of fields, or numbers of columns, by which rows are compared, up to 8 of 256 bits together. Without it, the
    number itself, or all fields in their order.
descending : bool or list of bool
    For all keys, or for each.
out : array, optional
    Of the shape and type of `a`; not `a` itself.
check, ctx, variant
    As for `gather`.

Returns
-------
array

Notes
-----
Floats have the total order of IEEE 754: -0.0 comes before 0.0, and NaN with the sign bit before everything, without it
after everything. NumPy sorts every NaN to the end. NaT is the lowest time, which NumPy sorts to the end.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.sort(np.array([3, 1, 2]), descending=True)
array([3, 2, 1])
>>> people = np.array([(2, 1.5), (1, 2.5), (2, 0.5)], dtype=[('age', 'i4'), ('size', 'f8')])
>>> sheaf.sort(people, keys=['age', 'size'])['size']
array([2.5, 0.5, 1.5])
)";

inline constexpr char argsort[] = R"(Find the order into which `sort` would bring the rows of an array.

Parameters
----------
a, keys, descending, check, ctx, variant
    As for `sort`.
dtype : {'int64', 'int32', 'uint32', 'uint64'}
    Type of the row numbers.
out : array, optional

Returns
-------
array
    Row numbers: ``gather(a, argsort(a))`` is ``sort(a)``.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.argsort(np.array([30, 10, 20]))
array([1, 2, 0])
)";

inline constexpr char sort_pairs[] = R"(Sort arrays of values by keys in an array of their own, stably.

Parameters
----------
k : array
    The keys, as `a` of `sort`.
*values : array
    Up to 8 arrays with a row for each key.
keys, descending, check, ctx, variant
    As for `sort`.

Returns
-------
tuple of array
    The keys in order, then each array of values in the order of the keys.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.sort_pairs(np.array([2, 1]), np.array([b'two', b'one']))
(array([1, 2]), array([b'one', b'two'], dtype='|S3'))
)";

inline constexpr char split[] = R"(Bring the rows of each category together, in order.

Parameters
----------
a : array
    Rows of axis 0.
key : array, optional
    The category of each row: integers of 1, 2 or 4 bytes below `categories`. With `bits`, records of which these bits
    are the category. Without it, `bits` are bits of the rows of `a`.
categories : int, optional
    How many there are. A key of bool has 2 and one of uint8 has 256 unless this says otherwise.
bits : (int, int), optional
    First bit and number of bits of the category; bit 0 is the lowest of byte 0.
stable : bool
    Whether the rows of a category keep their order.
out : array, optional
check, ctx, variant
    As for `gather`.

Returns
-------
out : array
offsets : array of int64, or None
    Category c is ``out[offsets[c]:offsets[c + 1]]``. None if there are more than 32 bits.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.split(np.array([10, 11, 12, 13]), np.array([1, 0, 1, 0], np.uint8), categories=2)
(array([11, 13, 10, 12]), array([0, 2, 4]))
)";

inline constexpr char split_index[] = R"(Find where `split` would take rows from, without moving them.

Parameters
----------
key, categories, bits, out, check, ctx, variant
    As for `split`.
inverse : bool
    Where each row would go to, in place of where each comes from.
dtype : {'int64', 'int32', 'uint32', 'uint64'}

Returns
-------
index : array
offsets : array of int64, or None

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.split_index(np.array([True, False, True]))
(array([1, 0, 2]), array([0, 1, 3]))
)";

inline constexpr char multi_split[] =
    R"(Write every row once for each category that it belongs to, category by category.

Parameters
----------
a : array
    Rows of axis 0.
first : array of int64
    Row r belongs to ``category[first[r]:first[r + 1]]``.
category : array of integers of 1, 2 or 4 bytes
categories : int
    How many there are.
check, ctx, variant
    As for `gather`.

Returns
-------
out : array
sources : array of int64
    The row of `a` that each row of `out` is.
offsets : array of int64

Examples
--------
>>> import numpy as np, sheaf
>>> out, sources, offsets = sheaf.multi_split(np.array([10, 20]), np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 2)
>>> out, offsets
(array([10, 10, 20]), array([0, 1, 3]))
)";

inline constexpr char hash_index[] = R"(An index of keys, which finds the numbers of the rows that have a key.

Parameters
----------
keys : array
    One-dimensional, of elements of 4 or 8 bytes, at any stride. Keys may repeat. They are equal if their bits are, so
    that -0.0 is not 0.0. They are not needed afterwards.
load : float
    Load factor of the table; 0 leaves it to the library.
ctx, variant
    As for `gather`.

Examples
--------
>>> import numpy as np, sheaf
>>> index = sheaf.HashIndex(np.array([30, 10, 20, 10]))
>>> index.find(np.array([10, 99]))
array([ 1, -1], dtype=int32)
>>> index.search(np.array([10, 99, 30]))
(array([0, 2, 2, 3]), array([1, 3, 0], dtype=int32))
)";

inline constexpr char hash_find[] = R"(The lowest row number of each probe; -1 (all bits set) where no row has the key.

Parameters
----------
probes : array
    Keys as wide as those of the index.
out : array, optional
check, ctx, variant
    As for `gather`.

Returns
-------
array of int32, from 2**31 keys on uint32, from 2**32 on int64
)";

inline constexpr char hash_count[] = R"(How many rows have the key of each probe.

Parameters
----------
probes : array
out : array, optional
check, ctx, variant
    As for `gather`.

Returns
-------
array of int64
)";

inline constexpr char hash_contains[] = R"(Whether a row has the key of each probe.

Parameters
----------
probes : array
out : array, optional
check, ctx, variant
    As for `gather`.

Returns
-------
array of bool
)";

inline constexpr char hash_search[] = R"(All rows of all probes.

Parameters
----------
probes : array
check, ctx, variant
    As for `gather`.

Returns
-------
offsets : array of int64
    The rows of probe i are ``ids[offsets[i]:offsets[i + 1]]``, ascending.
ids : array
    Of the type that `find` returns.
)";

inline constexpr char list_rank[] = R"(Number the nodes of linked lists that lie in an array.

Parameters
----------
next : array of int32, int64, uint32 or uint64
    The node after each node. A list ends at a node whose next is negative or the node itself.
lists : {'one', 'many'}
    Whether one list holds all nodes.
out, pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array
    How many nodes come before each in its list.

Raises
------
IndexError
    If the array does not hold lists: for a cycle, or two nodes that lead to one.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.list_rank(np.array([2, -1, 1]))
array([0, 2, 1])
)";

inline constexpr char list_scan[] = R"(Combine the values of linked lists up to each node.

Parameters
----------
next : array of int32, int64, uint32 or uint64
    As for `list_rank`.
values : array of int32, int64, uint32, uint64, float32 or float64
    One for each node.
op : {'add', 'min', 'max', 'mul', 'bit_and', 'bit_or', 'bit_xor'}
lists : {'one', 'many'}
initial : number, optional
    Makes the scan exclusive: a node's result begins with this number and leaves out the node's own value.
out, pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.list_scan(np.array([2, -1, 1]), np.array([1., 10., 100.]))
array([  1., 111., 101.])
)";

inline constexpr char csr[] = R"(A sparse matrix in compressed rows, in the caller's arrays.

Parameters
----------
A : sparse matrix or tuple of array
    A matrix of SciPy or CuPy in the format 'csr', a tensor of torch in the layout sparse_csr, or a tuple (data,
    indices, indptr) or (data, indices, begins, ends). data is float32 or float64, and for `spmm` float16 or bfloat16,
    too. Nothing is copied: the arrays must stay as they are, and the object holds them.
shape : (int, int), optional
    Needed with a tuple.

Notes
-----
It has `shape`, `dtype`, `matvec` and `rmatvec`, so ``scipy.sparse.linalg.aslinearoperator`` takes it, and ``A @ x``
multiplies a vector, or as `spmm` does an array of two dimensions.

Examples
--------
>>> import numpy as np, scipy.sparse, sheaf
>>> A = sheaf.csr(scipy.sparse.csr_array(np.array([[2., 0.], [1., 3.]])))
>>> A @ np.array([1., 10.])
array([ 2., 31.])
)";

inline constexpr char matvec[] = R"(``alpha A x + beta out``.

Parameters
----------
x : array
    Of the type of the matrix's values.
out : array, optional
    Needed unless beta is 0.
alpha, beta : float
sums : {'as_values', 'float64'}
    The type in which products are summed.
pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array
)";

inline constexpr char rmatvec[] = R"(``alpha A^T x + beta out``; parameters are those of `matvec`.)";

inline constexpr char prepare_csr[] = R"(Inspect the matrix once, for many products.

Parameters
----------
runs : int
    How many products are expected.
transposed : bool
    Whether the products are by the transpose.
sums : {'as_values', 'float64'}
    The type in which products are summed.
pattern, ctx, variant
    As for `gather`.

Returns
-------
PreparedMatrix

Examples
--------
>>> import numpy as np, scipy.sparse, sheaf
>>> prepared = sheaf.csr(scipy.sparse.csr_array(np.eye(2))).prepare(runs=100)
>>> prepared @ np.array([1., 2.])
array([1., 2.])
)";

inline constexpr char prepared_matvec[] = R"(``alpha A x + beta out``; parameters are those of `csr.matvec`.)";

inline constexpr char prepared_matrix[] = R"(A matrix that `csr.prepare` inspected, with ``matvec`` and ``@``.)";

inline constexpr char progress[] = R"(What the callback of `cg` is told: iterations, residual and target.)";

inline constexpr char cg[] = R"(Solve ``A x = b`` for a symmetric positive definite matrix, by conjugate gradient.

The signature is that of ``scipy.sparse.linalg.cg``.

Parameters
----------
A : csr, sparse matrix or operator
    What `csr` takes; or an object with ``matvec``, such as SciPy's LinearOperator; or a function of a vector.
b : array of float32 or float64
x0 : array, optional
    The start value, which is not changed; zeros without it.
rtol, atol : float
    The iteration ends where the norm of ``b - A x`` is at most ``max(rtol * norm(b), atol)``.
maxiter : int, optional
    Ten times the rows without it, and at least 100.
M : None or 'jacobi'
    The preconditioner. 'jacobi' needs a matrix.
callback : function, optional
    Called after every `callback_interval` iterations with a `Progress`, not with x as SciPy does, because x lies in
    the library's memory until the end. False ends the iteration.
callback_interval : int
sums : {'as_values', 'float64'}
ctx, variant
    As for `gather`.

Returns
-------
x : array
info : int
    0: converged; above 0: the number of iterations without convergence; -1: a sum was NaN, infinite or 0; -2: the
    matrix is not positive definite.

Examples
--------
>>> import numpy as np, scipy.sparse, sheaf
>>> A = scipy.sparse.diags_array([[-1.] * 3, [2.] * 4, [-1.] * 3], offsets=[-1, 0, 1]).tocsr()
>>> x, info = sheaf.cg(A, np.array([1., 0., 0., 1.]), rtol=1e-10)
>>> info, np.round(x, 6)
(0, array([1., 1., 1., 1.]))
)";

inline constexpr char edge_sum[] = R"(Sum over the edges of a graph: add at the first end, subtract at the second.

Parameters
----------
edges : array of shape (m, 2), or tuple of two arrays
    The ends of each edge. Of an array of shape (2, m) pass ``tuple(edges)``.
values : array of float32 or float64
    Of shape (nodes,) or (nodes, components), with up to 8 components.
weights : array, optional
    One for each edge.
function : {'difference', 'inverse_square'}
    What an edge from i to j contributes: ``w (u_j - u_i)``, or that over the cube of the distance.
order : {'deterministic', 'any'}
out, pattern, check, ctx, variant
    As for `gather`.

Returns
-------
array
    Of the shape of `values`.

Examples
--------
>>> import numpy as np, sheaf
>>> sheaf.edge_sum(np.array([[0, 1], [1, 2]]), np.array([1., 2., 4.]))
array([ 1.,  1., -2.])
)";

inline constexpr char prepared_edge_sum[] = R"(Sums over edges that `prepare_edge_sum` inspected.

Call it with values, as ``prepared(values, weights=None, function='difference', out=None)``.
)";

inline constexpr char prepare_edge_sum[] = R"(Inspect the edges of a graph once, for many sums over them.

Parameters
----------
edges : array of shape (m, 2), or tuple of two arrays
    They must stay as they are; the object holds them.
nodes, components : int
runs : int
    How many sums are expected.
coordinates : array, optional
    Positions of the nodes, 2 or 3 of each, by which near nodes are kept together.
dtype : {'float64', 'float32'}
    Type of the values that runs are expected to have.
function : {'difference', 'inverse_square'}
edge_weights : int
    Weights of an edge that runs are expected to have.
order, pattern, ctx, variant
    As for `edge_sum`.

Returns
-------
PreparedEdgeSum

Examples
--------
>>> import numpy as np, sheaf
>>> sums = sheaf.prepare_edge_sum(np.array([[0, 1], [1, 2]]), nodes=3, components=1, runs=10)
>>> sums(np.array([1., 2., 4.]))
array([ 1.,  1., -2.])
)";

inline constexpr char explanation[] =
    R"(What the planner predicts of a call: `primitive`, `machine`, `choice` and `variants`.

A notebook shows it as a table.
)";

}  // namespace sheaf::python::documents
