#pragma once

// What help() says of sorts, splits and hash search, in the form of numpydoc. Tests run the examples.
namespace sheaf::python::documents {

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
>>> index.count(np.array([10, 99]))
array([2, 0])
>>> index.contains(np.array([10, 99]))
array([ True, False])
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

}  // namespace sheaf::python::documents
