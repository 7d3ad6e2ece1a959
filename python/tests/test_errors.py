"""Every error: its class, its code and its words."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import sheaf

T, I = np.zeros((5, 2)), np.array([0, 1])


def bad(match, function, *arguments, error=sheaf.BadArgument, **options):
    with pytest.raises(error, match=match) as caught:
        function(*arguments, **options)
    return caught.value


def test_classes_are_pythons_and_the_librarys():
    pairs = [
        (sheaf.BadArgument, ValueError, "bad_argument"),
        (sheaf.BadIndex, IndexError, "bad_index"),
        (sheaf.BadInput, ValueError, "bad_input"),
        (sheaf.NoVariant, NotImplementedError, "no_variant"),
        (sheaf.OutOfMemory, MemoryError, "out_of_memory"),
        (sheaf.IoFailure, OSError, "io_failure"),
        (sheaf.BackendUnavailable, NotImplementedError, "backend_unavailable"),
        (sheaf.DeviceFailure, OSError, "device_failure"),
        (sheaf.MeasurementFailed, RuntimeError, "measurement_failed"),
        (sheaf.InternalError, RuntimeError, "internal"),
    ]
    for made, base, code in pairs:
        assert issubclass(made, base) and issubclass(made, sheaf.Error) and made.code == code
        assert made.__module__ == "sheaf"


def test_bad_index_names_place_and_value():
    assert (
        bad("index\\[1\\] is 7, past the table's 5 records", sheaf.gather, T, np.array([0, 7]), error=IndexError).code
        == "bad_index"
    )
    bad("-1", sheaf.gather, T, np.array([-1]), error=IndexError)
    bad("index\\[0\\] is 9", sheaf.scatter, T[:1], np.array([9]), np.zeros((5, 2)), error=IndexError)
    bad("index\\[0\\] is 9", sheaf.scatter_reduce, np.ones(1), np.array([9]), np.zeros(5), error=IndexError)
    bad("3", sheaf.split, T, np.array([0, 1, 3, 0, 0], np.uint8), 3, error=IndexError)
    bad("cycle", sheaf.list_rank, np.array([1, 0]), error=IndexError)
    bad("9", sheaf.edge_sum, np.array([[0, 9]]), np.ones(2), error=IndexError)
    matrix = sheaf.csr((np.ones(1), np.array([4]), np.array([0, 1])), (1, 2))
    bad("4", lambda: matrix @ np.ones(2), error=IndexError)
    bad("4", matrix.prepare, 10, variant="cpu.transposed", transposed=True, error=IndexError)


def test_the_row_of_a_bad_index_is_zero_and_the_context_goes_on():
    out = np.full(3, 7.0)
    bad("index\\[1\\]", sheaf.gather, np.ones(2), np.array([0, 5, 1]), out=out, error=IndexError)
    assert list(out) == [1.0, 0.0, 1.0]
    assert sheaf.gather(np.ones(2), np.array([1])) == [1.0]


def test_shapes_and_types_that_disagree():
    bad("out has not the shape", sheaf.gather, T, I, out=np.zeros((3, 2)))
    bad("out has float32, table has float64", sheaf.gather, T, I, out=np.zeros((2, 2), "f4"))
    bad("index has int16, not int32", sheaf.gather, T, I.astype("i2"))
    bad("index has float64", sheaf.gather, T, I.astype("f8"))
    bad("index has bool", sheaf.gather, T, I.astype(bool))
    bad("index has int64 of the other byte order", sheaf.gather, T, I.astype(">i8"))
    bad("values do not begin with the dimensions of index", sheaf.scatter, T, np.array([[1]]), np.zeros((5, 2)))
    bad("scatter", sheaf.scatter, T[:3], I, np.zeros((5, 2)))
    bad("overlap", sheaf.gather, T, I, out=T[:2])
    bad("has no dimensions", sheaf.gather, T, np.array(3))
    bad("has no dimensions", sheaf.gather, np.float64(3), I)
    bad("17 dimensions, more than 16", sheaf.gather, np.zeros((1,) * 17), I)
    bad("not the shape and elements of a", sheaf.sort, np.arange(3), out=np.zeros(3))
    bad("complex128", sheaf.sort, np.zeros(3, complex))
    bad("x has 2 dimensions", sheaf.csr(scipy.sparse.csr_array(np.eye(2))).matvec, np.eye(2))
    bad("keys", sheaf.HashIndex, np.zeros(3, "i2"))


def test_arrays_that_would_have_to_be_copied():
    bad("do not lie side by side", sheaf.gather, np.zeros((4, 4))[:, ::2], I)
    bad("do not lie side by side", sheaf.gather, np.asfortranarray(np.zeros((4, 4))), I)
    bad("index do not lie side by side", sheaf.gather, T, np.arange(4)[::2])
    bad("reversed and broadcast", sheaf.gather, T[::-1], I)
    bad("reversed and broadcast", sheaf.gather, np.broadcast_to(np.ones(3), (4, 3)), I)
    bad("index do not lie side by side", sheaf.scatter_reduce, np.zeros(2), np.arange(4)[::2], np.zeros(4))
    bad("format 'csc'", sheaf.csr, scipy.sparse.csc_array(np.eye(2)))


def test_things_that_are_no_arrays():
    for thing in ([1, 2], (1, 2), 5, "text", None, {}, object()):
        bad("table", sheaf.gather, thing, I, error=TypeError)
    bad("numpy.asarray", sheaf.gather, T, [0, 1], error=TypeError)
    bad("Python objects", sheaf.gather, np.array([1, "a"], object), I)
    bad("Python objects", sheaf.gather, np.zeros(3, [("a", "i4"), ("b", "O")]), I)
    bad("strings of any length", sheaf.gather, np.array(["a", "b"], np.dtypes.StringDType()), I)
    bad("has a mask", sheaf.gather, np.ma.array([1, 2], mask=[0, 1]), I, error=TypeError)
    read_only = np.zeros((2, 2))
    read_only.flags.writeable = False
    bad("out is read-only", sheaf.gather, T, I, out=read_only)
    bad("out is read-only", sheaf.scatter, np.zeros(1, "u1"), np.array([0]), b"abc")
    bad("no sparse matrix", sheaf.csr, np.eye(2), error=TypeError)
    bad("neither a matrix in rows nor an operator", sheaf.cg, np.eye(2), np.ones(2), error=TypeError)


def test_options_that_are_none():
    bad("check is 'later', which is none of 'deferred', 'now'", sheaf.gather, T, I, check="later")
    bad("check is not a string", sheaf.gather, T, I, check=1, error=TypeError)
    bad("op is 'pow'", sheaf.scatter_reduce, np.ones(2), I, np.zeros(5), "pow")
    bad("duplicates is 'first'", sheaf.scatter, T[:2], I, T.copy(), duplicates="first")
    for pattern in ("random:3", "clustered", "clustered:0", "clustered:x", "walk"):
        bad("is none of unknown", sheaf.gather, T, I, pattern=pattern)
    bad("pattern is not a string", sheaf.gather, T, I, pattern=3, error=TypeError)
    bad("cpu.nothing", sheaf.gather, T, I, variant="cpu.nothing")
    bad("ctx is not a sheaf.context", sheaf.gather, T, I, ctx="cpu", error=TypeError)
    bad("dtype is 'int8'", sheaf.argsort, np.arange(3), dtype="int8")
    bad("categories=", sheaf.split, T, np.zeros(5, np.int32))
    bad("bits= says", sheaf.split, T)
    bad("either categories or bits", sheaf.split, T, np.zeros(5, np.int32), 3, bits=(0, 2))
    bad("bits is not a pair", sheaf.split, T, bits=3, error=TypeError)
    bad("categories are integers of 1, 2 or 4 bytes", sheaf.split, T, np.zeros(5), 3)
    bad("'size' is to be one", sheaf.sort, np.arange(3), keys="size")
    bad("no field 'size'", sheaf.sort, np.zeros(3, [("a", "i4")]), keys="size")
    bad("column 2 is none of a's 2", sheaf.sort, T, keys=[2])
    bad("only rows of 2 have columns", sheaf.sort, np.arange(3), keys=[0])
    bad("keys= names the columns", sheaf.sort, T)
    bad("keys is empty", sheaf.sort, T, keys=[])
    bad("9 keys, more than 8", sheaf.sort, np.zeros((2, 9), "u1"), keys=list(range(9)))
    bad("descending has 1 entries for 2 keys", sheaf.sort, T, keys=[0, 1], descending=[True])
    bad("parts of its own", sheaf.sort, np.zeros(3, [("a", "i4", 2)]))
    bad("no option wrong", sheaf.sort_pairs, np.arange(3), wrong=1, error=TypeError)
    bad("indptr has 2 entries for 2 rows, not 3", sheaf.csr, (np.ones(1), np.zeros(1, int), np.zeros(2, int)), (2, 2))
    bad("shape says", sheaf.csr, (np.ones(1), np.zeros(1, int), np.zeros(2, int)))
    bad("data has int64, not float32, float64", sheaf.csr, scipy.sparse.csr_array(np.eye(2, dtype=int)))
    bad("offsets has no entry", sheaf.gather_reduce, np.ones(2), I, np.zeros(0, int))
    bad("beta multiplies out", sheaf.csr(scipy.sparse.csr_array(np.eye(2))).matvec, np.ones(2), beta=1.0)
    bad(
        "M is None or 'jacobi'",
        sheaf.cg,
        scipy.sparse.csr_array(np.eye(2)),
        np.ones(2),
        M=np.eye(2),
        error=NotImplementedError,
    )
    bad("no diagonal", sheaf.cg, lambda x: x, np.ones(2), M="jacobi")
    bad("\\(m, 2\\)", sheaf.edge_sum, np.zeros((2, 3), int), np.ones(2))
    bad("9 components, not 1 to 8", sheaf.edge_sum, np.zeros((1, 2), int), np.ones((2, 9)))
    with pytest.raises(TypeError):
        sheaf.gather(T, I, wrong=1)
    with pytest.raises(TypeError):
        sheaf.gather(T)
    bad("not the type", sheaf.list_scan, np.array([-1]), np.array([1]), initial="a", error=TypeError)


def test_contexts_that_there_are_not():
    bad("device 'gpu'", sheaf.context, "gpu")
    bad("no such number", sheaf.context, "cpu:1")
    bad("no such number", sheaf.context, "cuda:x")
    bad("only the CPU has threads", sheaf.context, "cuda", threads=2)
    bad("only CUDA has streams", sheaf.context, "cpu", stream=0)
    bad("-1 threads, not 0 to 4096", sheaf.context, "cpu", threads=-1)
    bad("neither an address nor a stream", sheaf.context, "cuda", stream="a", error=TypeError)
    bad("scratch is not", sheaf.context, "cpu", scratch="malloc")
    bad("for CUDA alone", sheaf.context, "cpu", scratch="torch")
    bad("device|no backend", sheaf.context, "cuda:63", error=sheaf.BackendUnavailable)


def test_scratch_that_is_too_low():
    with sheaf.context("cpu", threads=1, scratch_limit=16) as ctx:
        assert ctx.scratch_limit == 16
        bad("limit", sheaf.argsort, np.arange(100000), error=MemoryError)
        ctx.scratch_limit = None
        sheaf.argsort(np.arange(100000))


def test_a_file_of_a_profile_that_is_damaged():
    code = """
import numpy, sheaf
try: sheaf.gather(numpy.ones(1), numpy.array([0]))
except sheaf.BadInput as e: print(e.code)
"""
    environment = {**os.environ, "SHEAF_PROFILE": __file__}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "bad_input\n"
