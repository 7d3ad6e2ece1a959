#pragma once

// What help() says of lists, sparse matrices and edges, in the form of numpydoc. Tests run the examples.
namespace sheaf::python::documents {

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
>>> A.matvec(np.array([1., 10.]), alpha=2)
array([ 4., 62.])
>>> A.rmatvec(np.array([1., 10.]))
array([12., 30.])
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

inline constexpr char rmatvec[] = R"(``alpha A^T x + beta out``.

Parameters
----------
order : {'deterministic', 'any'}
    Whether the product has the same bits in every run; those of `matvec` always have.
x, out, alpha, beta, sums, pattern, check, ctx, variant
    As for `matvec`.

Returns
-------
array
)";

inline constexpr char prepare_csr[] = R"(Inspect the matrix once, for many products.

Parameters
----------
runs : int
    How many products are expected.
transposed : bool
    Whether the products are by the transpose.
sums : {'as_values', 'float64'}
    The type in which products are summed.
order : {'deterministic', 'any'}
    Whether products by the transpose have the same bits in every run. With 'any' a matrix that is not worth preparing
    is multiplied as by ``rmatvec(x, order='any')``, and what a preparation saves is counted against that.
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

}  // namespace sheaf::python::documents
