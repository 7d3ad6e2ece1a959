"""Numbers, records and .npy files, by Python's standard library alone."""

import ast
import io
import struct
import zipfile

# numpy's letter and width of the numbers -> struct's letter
NUMBERS = {"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
           "f2": "e", "f4": "f", "f8": "d"}

# Types of elements that records are made of: as a header has them, and their bytes.
ELEMENTS = [("'<f4'", 4), ("'<f8'", 8), ("'<i8'", 8), ("'|u1'", 1), ("'<u2'", 2), ("'>i4'", 4), ("'>f8'", 8),
            ("'|b1'", 1), ("'<c16'", 16), ("'|S7'", 7), ("'<U3'", 12), ("'|V5'", 5), ("'<M8[ns]'", 8), ("'<m8[25s]'", 8),
            ("[('a', '<i4'), ('b', '|u1', (3,))]", 7), ("[('x', '<f8'), ('y', [('z', '>u2')])]", 10)]

# Bits of floats that a program may get wrong: zeros, ones, infinities, NaN of both signs, denormal and extreme numbers.
SPECIAL_BITS = {
    2: [0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x0001, 0x8001, 0x7BFF, 0x0400],
    4: [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 1, 0x80000001,
        0x7F7FFFFF, 0x00800000],
    8: [0, 1 << 63, 0x3FF << 52, 0xBFF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0xFFF8 << 48) + 1, 1,
        (1 << 63) + 1, (0x7FF << 52) - 1, 1 << 52],
}


def pack(code, values):
    """Little-endian bytes of numbers, "u4" and so on."""
    return struct.pack(f"<{len(values)}{NUMBERS[code]}", *values)


def unpack(code, data):
    return list(struct.unpack(f"<{len(data) // int(code[1])}{NUMBERS[code]}", data))


def swapped(data, width):
    """Numbers of this width with their bytes the other way round."""
    turned = bytearray(len(data))
    for byte in range(width):
        turned[byte::width] = data[width - 1 - byte::width]
    return bytes(turned)


def put_floats(case, stem, code, shape, values):
    """Writes floats, in either order of bytes. @returns how a command names them"""
    data, width = pack(code, values), int(code[1])
    is_big = case.chance(0.08)
    descr = f"'{'>' if is_big else '<'}{code}'"
    return put_array(case, stem, descr, shape, swapped(data, width) if is_big else data, width)


def rounded_to_f32(number):
    """As C does it: what is past the range becomes infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def random_items(rng, count, width, special=()):
    """Bytes of `count` items: any, few that repeat, mostly one, all one, in order, or those in `special`."""
    style = rng.choice(["any", "any", "few", "few", "skewed", "same", "ascending", "small", "special"])
    if style == "any" or count == 0:
        return rng.randbytes(count * width)
    if style in ("ascending", "small"):
        # Little-endian numbers that differ in their lowest bytes alone.
        bits = 8 * width
        numbers = [(rng.getrandbits(6) if style == "small" else i) % (1 << bits) for i in range(count)]
        if rng.random() < 0.5:
            numbers.reverse()
        return b"".join(number.to_bytes(width, "little") for number in numbers)
    if style == "special" and special:
        pool = list(special)
    else:
        pool = [rng.randbytes(width) for _ in range(1 if style == "same" else rng.randint(2, 20))]
    weights = [4.0 ** -i for i in range(len(pool))] if style == "skewed" else None
    return b"".join(rng.choices(pool, weights, k=count))


def random_floats(rng, count, width):
    """Bytes of floats, often with special ones among them."""
    return random_items(rng, count, width, [bits.to_bytes(width, "little") for bits in SPECIAL_BITS[width]])


def moderate_floats(rng, count, code):
    """Floats whose sums and products stay far from the ends of their range. Half of the time they are small whole
    numbers, of which sums have no error."""
    if rng.random() < 0.5:
        values = [float(rng.randint(-9, 9)) for _ in range(count)]
    else:
        scale = 10.0 ** rng.randint(-6, 6)
        values = [rng.uniform(-scale, scale) for _ in range(count)]
    return unpack(code, pack(code, values))


def npy(descr, shape, data, version=1, fortran=False, padding=None):
    """The bytes of an .npy file. `descr` is as the header has it, quotes included."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}"
    encoded = text.encode("utf-8" if version == 3 else "latin-1")
    front = 10 if version == 1 else 12
    pad = -(front + len(encoded) + 1) % 64 if padding is None else padding
    encoded += b" " * pad + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(encoded))
    return b"\x93NUMPY" + bytes([version, 0]) + length + encoded + data


def read_npy(content):
    """(descr, shape, data) of an .npy file in C order. @raises ValueError saying what is wrong with it"""
    if content[:6] != b"\x93NUMPY":
        raise ValueError(f"it begins with {content[:6]!r}, not as an .npy file")
    front, letter = (10, "<H") if content[6] == 1 else (12, "<I")
    length = struct.unpack(letter, content[8:front])[0]
    if (front + length) % 64 != 0:
        raise ValueError(f"its data begin at byte {front + length}, not a multiple of 64")
    header = ast.literal_eval(content[front:front + length].decode("utf-8" if content[6] == 3 else "latin-1"))
    if header["fortran_order"]:
        raise ValueError("it is in Fortran order")
    return header["descr"], header["shape"], content[front + length:]


def first_difference(wanted, found, width):
    """In words, or None where both are the same."""
    if wanted == found:
        return None
    if len(wanted) != len(found):
        return f"{len(found)} bytes of data, not {len(wanted)}"
    at = next(i for i, (a, b) in enumerate(zip(wanted, found)) if a != b)
    item = at // width
    begin = item * width
    return (f"item {item} (byte {at}) is {found[begin:begin + width][:40].hex()}, "
            f"not {wanted[begin:begin + width][:40].hex()}")


def is_npy(descr, shape, data=None, width=1, check=None):
    """What looks at an output: an .npy array of this type and shape with these data, or data that `check` likes."""
    def look(content):
        try:
            found_descr, found_shape, found = read_npy(content)
        except (ValueError, SyntaxError, KeyError, IndexError, struct.error) as e:
            return f"no .npy file: {e}"
        if found_descr != ast.literal_eval(descr):
            return f"descr is {found_descr!r}, not {descr}"
        if found_shape != tuple(shape):
            return f"shape is {found_shape}, not {tuple(shape)}"
        return check(found) if check else first_difference(data, found, width)
    return look


def is_raw(data=None, width=1, check=None):
    """What looks at an output that has no header."""
    return check or (lambda content: first_difference(data, content, width))


def column_major(data, shape, item):
    """Elements in Fortran order."""
    places, stride = [0], len(data)
    for extent in shape:
        stride //= extent or 1
        places = [place + i * stride for i in range(extent) for place in places]
    return b"".join(data[place:place + item] for place in places)


def packed(name, member, content):
    """An archive as numpy.savez makes it, and how a command names what is in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if len(content) % 2 else zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(f"{member}.npy"), content)
        if len(content) % 3:
            archive.writestr(zipfile.ZipInfo("other.npy"), npy("'<f4'", (1,), bytes(4)))
    return file.getvalue(), f"{name}:{member}"


def put_array(case, stem, descr, shape, data, item):
    """Writes an array in one of the forms that NumPy writes. @returns how a command names it"""
    version = case.pick([1, 1, 1, 2, 3])
    is_fortran = len(shape) > 1 and len(data) // max(item, 1) <= 20000 and case.chance(0.1)
    if is_fortran:
        data = column_major(data, shape, item)
    content = npy(descr, shape, data, version, is_fortran, case.pick([None, None, None, 0, 5]))
    if not case.chance(0.04):
        return case.put(case.name(stem, ".npy"), content)
    name = case.name(stem, ".npz")
    archive, operand = packed(name, case.pick(["arr_0", "x", "made by hand"]), content)
    case.put(name, archive)
    return operand


class Records:
    """A file of records, and what it holds."""

    def __init__(self, name, data, width, descr=None, shape=None, axes=1):
        self.name = name
        self.is_plain = ".npz:" not in name
        self.data = data
        self.width = width  # bytes of a record
        self.descr = descr  # None: raw
        self.shape = (len(data) // width,) if shape is None else shape
        self.row_shape = self.shape[axes:]
        self.count = len(data) // width

    def rows(self):
        return [self.data[i:i + self.width] for i in range(0, len(self.data), self.width)]

    def is_like(self, leading, data=None, check=None):
        """What looks at an output of records of this kind."""
        if self.descr is None:
            return is_raw(data, self.width, check)
        return is_npy(self.descr, tuple(leading) + self.row_shape, data, self.width, check)


def draw_records(case, stem, count, most_bytes=1 << 18, items=random_items, leading=None, like=None):
    """Writes a file of `count` records, raw or .npy. `leading` are the axes that number them; `like` has their type."""
    rng = case.random
    leading = (count,) if leading is None else tuple(leading)
    if like is not None:
        data = items(rng, count, like.width)
        return write_records(case, stem, data, like.width, like.descr, leading + like.row_shape, len(leading))
    most = max(1, most_bytes // max(count, 1))
    width = min(most, rng.choice([1, 2, 3, 4, 4, 8, 8, 12, 16, 16, 20, 24, 32, 33, 64, 100, 128, 256, 1000, 4096, 65536]))
    if case.chance(0.35) and len(leading) == 1:
        return write_records(case, stem, items(rng, count, width), width, None, None, 1)
    descr, item = rng.choice(ELEMENTS)
    row_shape = rng.choice([(), (), (width // item,), (width // item or 1,), (1, width // item or 1), (1, 1, 2)])
    row_bytes = item
    for extent in row_shape:
        row_bytes *= extent
    if row_bytes == 0 or row_bytes > min(most, 65536):
        row_shape, row_bytes = (), item
    return write_records(case, stem, items(rng, count, row_bytes), row_bytes, descr, leading + row_shape, len(leading))


def write_records(case, stem, data, width, descr, shape, axes):
    if descr is None:
        return Records(case.put(case.name(stem, case.pick([".bin", ".dat", ""])), data), data, width)
    item = width
    for extent in shape[axes:]:
        item //= extent
    return Records(put_array(case, stem, descr, shape, data, item), data, width, descr, tuple(shape), axes)


# What an index may be written as. Of one and two bytes, and big-endian, it is converted.
INDEX_TYPES = ["u4", "u8", "i4", "i8"]
CONVERTED_INDEX_TYPES = ["'|u1'", "'|i1'", "'<u2'", "'<i2'", "'>u2'", "'>i4'", "'>u8'", "'>i8'", "'>u4'"]


def draw_numbers_file(case, stem, values, shape, is_raw_file, code=None):
    """Writes whole numbers as an index or as edges. @returns its name, and of a raw file what --index-type has to say"""
    if is_raw_file:
        code = code or case.pick(INDEX_TYPES)
        return case.put(case.name(stem, ".bin"), pack(code, values)), f"{code[0]}{8 * int(code[1])}"
    types = CONVERTED_INDEX_TYPES if case.chance(0.2) else [f"'<{c}'" for c in INDEX_TYPES]
    descr = f"'<{code}'" if code else case.pick(types)
    code, width = descr[2:4], int(descr[3])
    least, most = (0, 256 ** width - 1) if code[0] == "u" else (-(256 ** width) // 2, 256 ** width // 2 - 1)
    if values and not (least <= min(values) and max(values) <= most):
        descr, code, width = "'<i8'", "i8", 8
    data = pack(code, values)
    if descr[1] == ">":
        data = swapped(data, width)
    return put_array(case, stem, descr, shape, data, width), None
