"""How arrays get in and out: each protocol, and that nothing is copied or kept."""

import array
import ctypes
import importlib.util
import sys
import types

import numpy as np
import pytest

import sheaf

INDEX = np.array([2, 0])


def test_buffers():
    for table in (b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), array.array("B", b"abcd")):
        assert sheaf.gather(table, INDEX).tobytes() == b"ca"
    out = bytearray(2)
    assert sheaf.gather(b"abcd", INDEX, out=out) is out and out == b"ca"
    np.testing.assert_array_equal(sheaf.gather(array.array("d", [1, 2, 3]), array.array("q", [2, 0])), [3.0, 1.0])


class Interface:
    def __init__(self, of, **changes):
        self.of = of
        self.__array_interface__ = {**of.__array_interface__, **changes}


def test_array_interface():
    table = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(sheaf.gather(Interface(table), INDEX), table[INDEX])
    apart = np.arange(12.0).reshape(6, 2)[::2]
    np.testing.assert_array_equal(sheaf.gather(Interface(apart), INDEX), apart[INDEX])
    with pytest.raises(ValueError, match="elements of type '\\|O'"):
        sheaf.gather(Interface(table, typestr="|O"), INDEX)
    with pytest.raises(ValueError, match="has a mask"):
        sheaf.gather(Interface(table, mask=np.zeros(6, bool)), INDEX)
    with pytest.raises(ValueError, match="odd strides"):
        sheaf.gather(Interface(table, strides=(8,)), INDEX)
    with pytest.raises(ValueError, match="read-only"):
        sheaf.gather(table, INDEX, out=Interface(np.zeros((2, 2)), data=(table.ctypes.data, True)))


class Dlpack:
    """Only DLPack, of version 1 or before."""

    def __init__(self, of, versions=True, device=None):
        self.of, self.versions, self.device = of, versions, device

    def __dlpack_device__(self):
        return self.device or self.of.__dlpack_device__()

    def __dlpack__(self, **options):
        if self.versions:
            return self.of.__dlpack__(**options)
        if "max_version" in options:
            raise TypeError("unexpected keyword max_version")
        return self.of.__dlpack__(**options)


@pytest.mark.parametrize("versions", [True, False])
def test_dlpack(versions):
    table, out = np.arange(12.0).reshape(6, 2), np.zeros((2, 2))
    before = sys.getrefcount(table)
    np.testing.assert_array_equal(sheaf.gather(Dlpack(table, versions), Dlpack(INDEX, versions)), table[INDEX])
    sheaf.gather(Dlpack(table[::2], versions), INDEX, out=Dlpack(out, versions))
    np.testing.assert_array_equal(out, table[::2][INDEX])
    assert sys.getrefcount(table) == before


def test_dlpack_of_read_only_arrays_and_other_devices():
    read_only = np.zeros((2, 2))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        sheaf.gather(np.zeros((4, 2)), INDEX, out=Dlpack(read_only))

    class Broken(Dlpack):
        def __dlpack__(self, **options):
            raise BufferError("this one has none")

    with pytest.raises(BufferError, match="this one has none"):
        sheaf.gather(Broken(np.zeros(3)), INDEX)

    class Odd(Dlpack):
        def __dlpack__(self, **options):
            return 5

    with pytest.raises(TypeError, match="no capsule"):
        sheaf.gather(Odd(np.zeros(3)), INDEX)


def test_own_memory_is_taken_by_others():
    offsets, ids = sheaf.HashIndex(np.arange(4)).search(Dlpack(np.array([3, 1])))
    memory = ids.base
    while not isinstance(memory, (sheaf.Memory, memoryview)):
        memory = memory.base
    memory = getattr(memory, "obj", memory)
    np.testing.assert_array_equal(np.from_dlpack(memory), [3, 1])
    np.testing.assert_array_equal(sheaf.gather(np.arange(4.0), memory), [3.0, 1.0])
    assert memory.__dlpack_device__() == (1, 0) and len(memory) == 2
    assert not hasattr(memory, "__cuda_array_interface__")
    memory.__dlpack__()  # a capsule that nobody takes
    memory.__dlpack__(max_version=(1, 0))


def test_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array([1.5, 2.5, 3.5, 4.5])
    index = pyarrow.array([3, 0], pyarrow.int32())
    np.testing.assert_array_equal(sheaf.gather(column, index), [4.5, 1.5])
    np.testing.assert_array_equal(sheaf.gather(column.slice(1), INDEX), [4.5, 2.5])
    np.testing.assert_array_equal(sheaf.sort(pyarrow.array([3, 1, 2])), [1, 2, 3])
    np.testing.assert_array_equal(sheaf.HashIndex(pyarrow.array([30, 10])).find(pyarrow.array([10])), [1])
    days = pyarrow.array([3, 1, 2], pyarrow.timestamp("s"))
    assert sheaf.sort(days).view("M8[s]").tolist() == sorted(days.to_numpy().tolist())
    fixed = pyarrow.array([b"ab", b"cd", b"ef"], pyarrow.binary(2))
    assert sheaf.gather(fixed, INDEX).tobytes() == b"efab"
    for column, words in (
        (pyarrow.array([1, None]), "nulls"),
        (pyarrow.array(["a", "b"]), "no column of numbers"),
        (pyarrow.array([True, False]), "no column of numbers|less than a byte"),
        (pyarrow.array(["a", "b"]).dictionary_encode(), "no column of numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            sheaf.gather(column, INDEX)
    with pytest.raises(ValueError, match="read-only"):
        sheaf.gather(np.zeros(4), INDEX, out=pyarrow.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="ChunkedArray"):
        sheaf.gather(pyarrow.chunked_array([[1, 2]]), INDEX)


def test_pandas_is_no_array_but_its_values_are():
    class Series:
        def __array__(self, dtype=None, copy=None):
            raise AssertionError("this would copy")

    with pytest.raises(TypeError, match="is a Series, which is no array"):
        sheaf.gather(Series(), INDEX)


# The exchange of DLPack 1.3, which torch has, by functions of C in Python.
class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


pointer = ctypes.POINTER
Allocate = ctypes.PYFUNCTYPE(
    ctypes.c_int, pointer(Tensor), pointer(pointer(Versioned)), ctypes.c_void_p, ctypes.c_void_p
)
FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, pointer(pointer(Versioned)))
ToObject = ctypes.PYFUNCTYPE(ctypes.c_int, pointer(Versioned), pointer(ctypes.c_void_p))
View = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, pointer(Tensor))
Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, pointer(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    _fields_ = [
        ("version", Version),
        ("previous", ctypes.c_void_p),
        ("allocate", Allocate),
        ("managed", FromObject),
        ("to_object", ToObject),
        ("view", View),
        ("stream", Stream),
    ]


CODES = {"f": 2, "i": 0, "u": 1, "b": 6, "V": 4}  # V2 are the bits of bfloat16
kept = []


def fill(tensor, a):
    shape = (ctypes.c_int64 * a.ndim)(*a.shape)
    strides = (ctypes.c_int64 * a.ndim)(*(s // a.itemsize for s in a.strides))
    kept.append((shape, strides, a))
    tensor.data, tensor.device, tensor.device_id, tensor.ndim = a.ctypes.data, 1, 0, a.ndim
    tensor.code, tensor.bits, tensor.lanes = CODES[a.dtype.kind], 8 * a.itemsize, 1
    tensor.shape, tensor.strides, tensor.byte_offset = shape, strides, 0


class FakeTensor:
    """An array of a library that has the exchange, with its own outputs."""

    def __init__(self, a):
        self.a = a


@Allocate
def allocate(prototype, out, context, set_error):
    p = prototype.contents
    kind = {code: kind for kind, code in CODES.items()}[p.code]
    a = np.zeros(p.shape[: p.ndim], f"{kind}{p.bits // 8}")
    made = Versioned()
    made.version.major = 1
    fill(made.tensor, a)
    kept.append(made)
    out[0] = ctypes.pointer(made)
    return 0


@ToObject
def to_object(versioned, out):
    t = versioned.contents.tensor
    for held in kept:
        if isinstance(held, tuple) and held[2].ctypes.data == t.data:
            made = FakeTensor(held[2])
            break
    else:  # memory of the library's own
        kinds = {code: kind for kind, code in CODES.items()}
        size = t.bits // 8
        memory = (ctypes.c_char * (t.shape[0] * size)).from_address(t.data)
        made = FakeTensor(np.frombuffer(memory, f"{kinds[t.code]}{size}"))
        kept.append(versioned)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    out[0] = id(made)
    return 0


@View
def view(tensor, out):
    fill(out.contents, tensor.a)
    return 0


@Stream
def stream(kind, device, out):
    out[0] = None
    return 0


@FromObject
def managed(tensor, out):
    return -1


api = Exchange(Version(1, 3), None, allocate, managed, to_object, view, stream)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = b"dlpack_exchange_api"  # the capsule refers to it
FakeTensor.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(api), capsule_name, None)


def test_exchange():
    table = FakeTensor(np.arange(12.0).reshape(6, 2))
    taken = sheaf.gather(table, FakeTensor(INDEX))
    assert type(taken) is FakeTensor
    np.testing.assert_array_equal(taken.a, table.a[INDEX])
    out = FakeTensor(np.zeros((2, 2)))
    assert sheaf.gather(table, INDEX, out=out) is out
    np.testing.assert_array_equal(out.a, table.a[INDEX])
    order = sheaf.argsort(FakeTensor(np.array([3.0, 1.0, 2.0], "f4")))
    assert order.a.dtype == np.int64 and list(order.a) == [1, 2, 0]
    offsets, ids = sheaf.HashIndex(FakeTensor(np.array([5, 6]))).search(FakeTensor(np.array([6])))
    assert type(ids) is FakeTensor and list(ids.a) == [1] and list(offsets.a) == [0, 1]


def test_exchange_of_bfloat16():
    values = np.array([1.0, 2.0, 3.0, 300.0], "f4")
    brain = FakeTensor((values.view("u4") >> 16).astype("u2").view("V2").reshape(2, 2))
    added = sheaf.scatter_reduce(brain, FakeTensor(np.array([1, 1])), size=2)
    assert type(added) is FakeTensor and added.a.dtype == "V2"
    np.testing.assert_array_equal((added.a.view("u2").astype("u4") << 16).view("f4"), [[0, 0], [4, 302]])
    wide = sheaf.gather_reduce(brain, FakeTensor(np.array([1, 1])), FakeTensor(np.array([0, 2])), dtype="float32")
    np.testing.assert_array_equal(wide.a, [[6, 600]])
    with pytest.raises(ValueError, match="table has values of type bf16, but out has f16"):
        sheaf.gather_reduce(brain, FakeTensor(np.array([1])), FakeTensor(np.array([0, 1])), dtype="float16")


def test_exchange_is_not_inherited():
    class Derived(FakeTensor):  # such as a fake tensor of torch, whose memory is nowhere
        pass

    with pytest.raises(TypeError, match="Derived"):
        sheaf.gather(Derived(np.zeros(3)), INDEX)


def test_tensors_of_torch_are_looked_at(monkeypatch):
    """By a class that says it is torch.Tensor: torch itself is too large for continuous integration."""
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("test_devices.py has tensors of torch itself")
    strided = object()

    class Tensor(FakeTensor):
        __module__ = "torch"
        __dlpack_c_exchange_api__ = FakeTensor.__dlpack_c_exchange_api__
        requires_grad, layout, negated, conjugate = False, strided, False, False

        def is_neg(self):
            return self.negated

        def is_conj(self):
            return self.conjugate

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(strided=strided))
    table = Tensor(np.arange(12.0).reshape(6, 2))
    np.testing.assert_array_equal(sheaf.gather(table, INDEX).a, table.a[INDEX])
    for attribute, words in (
        ("requires_grad", "requires a gradient"),
        ("layout", "sparse tensor"),
        ("negated", "negated or conjugate"),
        ("conjugate", "negated or conjugate"),
    ):
        changed = Tensor(table.a)
        setattr(changed, attribute, True)
        with pytest.raises(ValueError, match=words):
            sheaf.gather(changed, INDEX)


def test_exchange_of_tvm():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    from tvm_ffi.core import DLTensorTestWrapper

    table = np.arange(6.0)
    wrapped = DLTensorTestWrapper(tvm_ffi.from_dlpack(table))
    out = np.zeros(2)
    sheaf.gather(wrapped, INDEX, out=out)
    np.testing.assert_array_equal(out, table[INDEX])
    np.testing.assert_array_equal(sheaf.gather(tvm_ffi.from_dlpack(table), tvm_ffi.from_dlpack(INDEX)), [2.0, 0.0])


def test_nothing_is_kept():
    table, index, out = np.zeros((4, 2)), np.array([1]), np.zeros((1, 2))
    counts = [sys.getrefcount(a) for a in (table, index, out)]
    for _ in range(10):
        sheaf.gather(table, index, out=out)
        with pytest.raises(ValueError):
            sheaf.gather(table, index, out=table)
        with pytest.raises(IndexError):
            sheaf.gather(table, np.array([9]), out=out)
    assert [sys.getrefcount(a) for a in (table, index, out)] == counts
    table.resize((8, 2), refcheck=True)  # refused while a buffer of it is held
