from typing import Any

class Error(Exception):
    code: str

class BackendUnavailable(Error, NotImplementedError):
    code: str

class BadArgument(Error, ValueError):
    code: str

class BadIndex(Error, IndexError):
    code: str

class BadInput(Error, ValueError):
    code: str

class DeviceFailure(Error, OSError):
    code: str

class InternalError(Error, RuntimeError):
    code: str

class IoFailure(Error, OSError):
    code: str

class MeasurementFailed(Error, RuntimeError):
    code: str

class NoVariant(Error, NotImplementedError):
    code: str

class OutOfMemory(Error, MemoryError):
    code: str

class context:
    """
    Where calls run: a device and a stream, or threads of the CPU.

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
    """

    def __init__(self, device: object | None = None, stream: object | None = None, threads: int = 0, scratch_limit: object | None = None, scratch: object | None = None, learn: object | None = None) -> None: ...

    def wait(self) -> None:
        """
        Wait until all queued work is done.

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
        """

    def __enter__(self) -> context: ...

    def __exit__(self, type: object | None, value: object | None, traceback: object | None) -> None: ...

    @property
    def device(self) -> str: ...

    @property
    def backend(self) -> str: ...

    @property
    def threads(self) -> int: ...

    @property
    def stream(self) -> int: ...

    @property
    def scratch_limit(self) -> Any: ...

    @scratch_limit.setter
    def scratch_limit(self, bytes: object | None) -> None: ...

    @property
    def learns(self) -> bool: ...

    @learns.setter
    def learns(self, wanted: bool) -> None: ...

    @property
    def status(self) -> str: ...

    def __repr__(self) -> str: ...

class Memory:
    """
    Memory that the library made, for other libraries to take: by DLPack, the buffer protocol and
    ``__cuda_array_interface__``.
    """

    def __len__(self) -> int: ...

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> Any:
        """The memory as a capsule of DLPack."""

    def __dlpack_device__(self) -> tuple:
        """The device of the memory, as DLPack counts them."""

    @property
    def __cuda_array_interface__(self) -> dict:
        """The memory as CUDA's array interface."""

def gather(table: object, index: object, *, out: object | None = None, pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Gather rows by an index list: ``out[i] = table[index[i]]``.

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
    """

def scatter(values: object, index: object, out: object, *, duplicates: object = 'any', pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Scatter rows by an index list: ``out[index[i]] = values[i]``.

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
    """

class PreparedGather:
    """
    A gather by a list that `prepare_gather` inspected.

    Call it with a table, as ``prepared(table, out=None)``. `report` says what the preparation took and saves.
    """

    def __call__(self, table: object, *, out: object | None = None, check: object = 'deferred') -> Any: ...

    @property
    def report(self) -> dict: ...

class PreparedScatter:
    """
    A scatter by a list that `prepare_scatter` inspected.

    Call it with rows and an output, as ``prepared(values, out)``. `report` says what the preparation took and saves.
    """

    def __call__(self, values: object, out: object, *, check: object = 'deferred') -> Any: ...

    @property
    def report(self) -> dict: ...

def prepare_gather(index: object, table_count: int, row_bytes: int, runs: int, *, pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedGather:
    """
    Inspect an index list once, for many gathers by it.

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
    """

def prepare_scatter(index: object, out_count: int, row_bytes: int, runs: int, *, duplicates: object = 'any', pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedScatter:
    """
    Inspect an index list once, for many scatters by it.

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
    """

def scatter_reduce(values: object, index: object, out: object | None = None, op: object = 'add', *, size: object | None = None, dtype: object | None = None, start: object | None = None, counts: object | None = None, order: object = 'deterministic', pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Combine numbers, or whole rows of them, by an index list: ``out[index[i]] = out[index[i]] op values[i]``.

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
    """

class PreparedScatterReduce:
    """
    Reductions by a list that `prepare_scatter_reduce` inspected.

    Call it with rows of any type and width, as ``prepared(values, out=None, op='add', ...)``; the others are the
    parameters `dtype`, `start` and `counts` of `scatter_reduce`. The order is always deterministic, though another one than
    there, so that last bits of sums may differ. `report` says what the preparation took and saves.
    """

    def __call__(self, values: object, out: object | None = None, op: object = 'add', *, dtype: object | None = None, start: object | None = None, counts: object | None = None, check: object = 'deferred') -> Any: ...

    @property
    def report(self) -> dict: ...

def prepare_scatter_reduce(index: object, out_count: int, runs: int, *, row_bytes: int = 256, pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedScatterReduce:
    """
    Inspect an index list once, for many reductions of rows by it.

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
    """

def gather_reduce(table: object, index: object, offsets: object, op: object = 'add', *, weights: object | None = None, out: object | None = None, dtype: object | None = None, start: object | None = None, pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Gather numbers, or rows of them, and combine them by segments, in one pass.

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
    """

def sort(a: object, *, keys: object | None = None, descending: object = False, out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Sort numbers, records or rows, stably.

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
    """

def argsort(a: object, *, keys: object | None = None, descending: object = False, dtype: object = 'int64', out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Find the order into which `sort` would bring the rows of an array.

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
    """

def sort_pairs(k: object, *values: object, keys: object = None, descending: object = False, check: str = 'deferred', ctx: context | None = None, variant: str = '') -> tuple:
    """
    Sort arrays of values by keys in an array of their own, stably.

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
    """

def split(a: object, key: object | None = None, categories: object | None = None, *, bits: object | None = None, stable: bool = True, out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Bring the rows of each category together, in order.

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
    """

def split_index(key: object, categories: object | None = None, *, bits: object | None = None, inverse: bool = False, dtype: object = 'int64', out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Find where `split` would take rows from, without moving them.

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
    """

def multi_split(a: object, first: object, category: object, categories: int, *, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Write every row once for each category that it belongs to, category by category.

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
    """

class HashIndex:
    """
    An index of keys, which finds the numbers of the rows that have a key.

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
    >>> index.count(np.array([10, 99]))
    array([2, 0])
    >>> index.contains(np.array([10, 99]))
    array([ True, False])
    >>> index.search(np.array([10, 99, 30]))
    (array([0, 2, 2, 3]), array([1, 3, 0], dtype=int32))
    """

    def __init__(self, keys: object, *, load: float = 0.0, ctx: context | None = None, variant: str = '') -> None: ...

    def find(self, probes: object, *, out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        The lowest row number of each probe; -1 (all bits set) where no row has the key.

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
        """

    def count(self, probes: object, *, out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        How many rows have the key of each probe.

        Parameters
        ----------
        probes : array
        out : array, optional
        check, ctx, variant
            As for `gather`.

        Returns
        -------
        array of int64
        """

    def contains(self, probes: object, *, out: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        Whether a row has the key of each probe.

        Parameters
        ----------
        probes : array
        out : array, optional
        check, ctx, variant
            As for `gather`.

        Returns
        -------
        array of bool
        """

    def search(self, probes: object, *, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        All rows of all probes.

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
        """

    def __len__(self) -> int: ...

    @property
    def distinct(self) -> int: ...

    @property
    def longest_chain(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def load(self) -> float: ...

    @property
    def variant(self) -> str: ...

    def __repr__(self) -> str: ...

def list_rank(next: object, *, lists: object = 'one', out: object | None = None, pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Number the nodes of linked lists that lie in an array.

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
    """

def list_scan(next: object, values: object, op: object = 'add', *, lists: object = 'one', initial: object | None = None, out: object | None = None, pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Combine the values of linked lists up to each node.

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
    """

class PreparedMatrix:
    """A matrix that `csr.prepare` inspected, with ``matvec`` and ``@``."""

    def matvec(self, x: object, *, out: object | None = None, alpha: float = 1.0, beta: float = 0.0, check: object = 'deferred') -> Any:
        """``alpha A x + beta out``; parameters are those of `csr.matvec`."""

    def __matmul__(self, arg: object, /) -> Any: ...

    @property
    def report(self) -> dict: ...

class csr:
    """
    A sparse matrix in compressed rows, in the caller's arrays.

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
    """

    def __init__(self, A: object, shape: object | None = None) -> None: ...

    def matvec(self, x: object, *, out: object | None = None, alpha: float = 1.0, beta: float = 0.0, sums: object = 'as_values', pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        ``alpha A x + beta out``.

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
        """

    def rmatvec(self, x: object, *, out: object | None = None, alpha: float = 1.0, beta: float = 0.0, sums: object = 'as_values', order: object = 'deterministic', pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
        """
        ``alpha A^T x + beta out``.

        Parameters
        ----------
        order : {'deterministic', 'any'}
            Whether the product has the same bits in every run; those of `matvec` always have.
        x, out, alpha, beta, sums, pattern, check, ctx, variant
            As for `matvec`.

        Returns
        -------
        array
        """

    def __matmul__(self, arg: object, /) -> Any: ...

    def prepare(self, runs: int, *, transposed: bool = False, sums: object = 'as_values', order: object = 'deterministic', pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedMatrix:
        """
        Inspect the matrix once, for many products.

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
        """

    @property
    def shape(self) -> tuple: ...

    @property
    def nnz(self) -> int: ...

    @property
    def ndim(self) -> int: ...

    @property
    def dtype(self) -> Any: ...

    @property
    def data(self) -> Any: ...

    @property
    def indices(self) -> Any: ...

    @property
    def indptr(self) -> Any: ...

    def __repr__(self) -> str: ...

def spmm(A: object, x: object, out: object | None = None, *, alpha: float = 1.0, beta: float = 0.0, transposed: bool = False, dtype: object | None = None, order: object = 'deterministic', pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Multiply a sparse matrix by a dense one: ``alpha A x + beta out``.

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
    """

class PreparedSpmm:
    """
    Products by a matrix that `prepare_spmm` inspected.

    Call it with a dense matrix, as ``prepared(x, out=None, alpha=1, beta=0, dtype=None)``, or write ``prepared @ x``.
    `report` says what the preparation took and saves.
    """

    def __call__(self, x: object, out: object | None = None, *, alpha: float = 1.0, beta: float = 0.0, dtype: object | None = None, check: object = 'deferred') -> Any: ...

    def __matmul__(self, arg: object, /) -> Any: ...

    @property
    def report(self) -> dict: ...

def prepare_spmm(A: object, runs: int, *, columns: int = 64, transposed: bool = False, order: object = 'deterministic', pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedSpmm:
    """
    Inspect a sparse matrix once, for many products with dense ones.

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
    """

class Progress:
    """What the callback of `cg` is told: iterations, residual and target."""

    @property
    def iterations(self) -> int: ...

    @property
    def residual(self) -> float: ...

    @property
    def target(self) -> float: ...

    def __repr__(self) -> str: ...

def cg(A: object, b: object, x0: object | None = None, *, rtol: float = 1e-05, atol: float = 0.0, maxiter: object | None = None, M: object | None = None, callback: object | None = None, callback_interval: int = 1, sums: object = 'as_values', ctx: context | None = None, variant: str = '') -> tuple:
    """
    Solve ``A x = b`` for a symmetric positive definite matrix, by conjugate gradient.

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
    """

def edge_sum(edges: object, values: object, weights: object | None = None, function: object = 'difference', *, order: object = 'deterministic', out: object | None = None, pattern: object | None = None, check: object = 'deferred', ctx: context | None = None, variant: str = '') -> Any:
    """
    Sum over the edges of a graph: add at the first end, subtract at the second.

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
    """

class PreparedEdgeSum:
    """
    Sums over edges that `prepare_edge_sum` inspected.

    Call it with values, as ``prepared(values, weights=None, function='difference', out=None)``.
    """

    def __call__(self, values: object, weights: object | None = None, function: object = 'difference', *, out: object | None = None, check: object = 'deferred') -> Any: ...

    @property
    def report(self) -> dict: ...

def prepare_edge_sum(edges: object, nodes: int, components: int, runs: int, *, coordinates: object | None = None, dtype: object = 'float64', function: object = 'difference', edge_weights: int = 0, order: object = 'deterministic', pattern: object | None = None, ctx: context | None = None, variant: str = '') -> PreparedEdgeSum:
    """
    Inspect the edges of a graph once, for many sums over them.

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
    """

class Explanation:
    """
    What the planner predicts of a call: `primitive`, `machine`, `choice`, `variants` and `learned`.

    `learned` is what a context that learns has timed of such calls, or ''. A notebook shows it as a table.
    """

    @property
    def primitive(self) -> str: ...

    @property
    def machine(self) -> str: ...

    @property
    def learned(self) -> str: ...

    @property
    def choice(self) -> Any: ...

    @property
    def variants(self) -> list: ...

    def __repr__(self) -> str: ...

has_cuda: bool

has_opengl: bool
