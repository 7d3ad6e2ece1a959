"""As much of numpy as the examples of the command's help take, for machines without it."""

import random as drawn
import struct


class ndarray:
    def __init__(self, numbers, shape, dtype):
        self.numbers, self.shape, self.dtype = list(numbers), tuple(shape), dtype

    def reshape(self, *shape):
        return ndarray(self.numbers, shape, self.dtype)

    def astype(self, dtype):
        return ndarray(self.numbers, self.shape, dtype)

    def __mod__(self, number):
        return ndarray([n % number for n in self.numbers], self.shape, self.dtype)


def flat(numbers):
    if not isinstance(numbers, (list, tuple)):
        return [numbers], ()
    parts = [flat(number) for number in numbers]
    return [n for part, _ in parts for n in part], (len(numbers), *(parts[0][1] if parts else ()))


def array(numbers, dtype=None):
    values, shape = flat(numbers)
    return ndarray(values, shape, dtype or ("f8" if any(isinstance(v, float) for v in values) else "i8"))


def arange(count, dtype="i8"):
    return ndarray(range(count), (count,), dtype)


def ones(count):
    return ndarray([1.0] * count, (count,), "f8")


class random:
    @staticmethod
    def rand(count):
        return ndarray([drawn.Random(1).random() for _ in range(count)], (count,), "f8")


def save(name, values):
    code = {"u1": "B", "u2": "H", "u4": "I", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}[values.dtype]
    convert = float if code in "fd" else int
    order = "|" if values.dtype == "u1" else "<"
    header = f"{{'descr': '{order}{values.dtype}', 'fortran_order': False, 'shape': {values.shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values.numbers)}{code}", *map(convert, values.numbers)))
