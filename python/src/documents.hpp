#pragma once

// What help() says of contexts, movements and plans, in the form of numpydoc. Tests run the examples. Other families
// have files of their own.
namespace sheaf::python::documents {

inline constexpr char context[] = R"(Where calls run: a device and a stream, or threads of the CPU.

Most programs need none: a call runs on the device and the stream of its arrays' library, or on the CPU, by a context
that the thread keeps. A context is used by one thread at a time; others wait for it.

Parameters
----------
device : str, optional
    'cpu', 'cuda', 'cuda:1', 'opengl' or a torch.device. 'cuda' is the stream's device, or else the one that is current
    on the thread, as torch and CuPy have it. Without device, 'cuda' if there is such a device, else the CPU.
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
learn : bool, optional
    Whether the context times the first calls of a shape by the two variants that are predicted to be the fastest, where
    they are close, and goes on by the faster: of gathers, scatters, sums by index, sorts and splits on the CPU. Results
    stay the same. Without it, SHEAF_LEARN=1 decides. ``ctx.learns = True`` begins anew.

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

Examples
--------
>>> import numpy as np, sheaf
>>> ctx = sheaf.context('cpu', threads=1)
>>> rows = sheaf.gather(np.array([5., 6.]), np.array([1, 0]), ctx=ctx)
>>> ctx.wait()
>>> rows
array([6., 5.])
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

inline constexpr char explanation[] =
    R"(What the planner predicts of a call: `primitive`, `machine`, `choice`, `variants` and `learned`.

`learned` is what a context that learns has timed of such calls, or ''. A notebook shows it as a table.
)";

}  // namespace sheaf::python::documents
