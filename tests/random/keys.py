"""What records are sorted by: bytes at a place, numbers, dates and strings of an array, fields of structures."""

from arrays import pack, random_floats, random_items, swapped

KEY_TYPES = ["u", "i", "f", "bytes", None]

# numpy's letter and width of what has an order.
TYPES = [("u", 1), ("u", 2), ("u", 4), ("u", 8), ("i", 1), ("i", 2), ("i", 4), ("i", 8), ("f", 2), ("f", 4), ("f", 8),
         ("b", 1), ("M", 8), ("m", 8), ("S", 1), ("S", 5), ("S", 32), ("U", 4), ("U", 12), ("U", 32), ("U", 48)]
CODE_POINTS = [0, 0x61, 0x62, 0xE9, 0x3B1, 0xFFFD, 0x1F600, 0x10FFFF]
DATES = [-2**63, -2**63 + 1, -1, 0, 1, 2**63 - 1]  # the lowest number is NaT


def ordered(number, width, kind):
    """A number of so many bytes whose unsigned order is that of a key's: of integers with a sign, of floats with -0
    below 0 and NaN at the ends, of dates with NaT behind all others."""
    top = 1 << (8 * width - 1)
    if kind == "i":
        return number ^ top
    if kind == "f":
        return number ^ (2 * top - 1 if number & top else top)
    if kind in ("M", "m"):
        return ((number ^ top) - 1) % (1 << 64)
    return number


class Column:
    """A part of a record that has an order."""

    def __init__(self, offset, width, kind, is_big=False, descending=False):
        self.offset, self.width, self.kind = offset, width, kind
        self.is_big, self.descending = is_big, descending

    def of(self, row):
        taken = row[self.offset:self.offset + self.width]
        if self.kind == "U":  # characters of 4 bytes each
            number = 0
            for at in range(0, self.width, 4):
                number = number << 32 | int.from_bytes(taken[at:at + 4], "big" if self.is_big else "little")
        else:
            is_text = self.kind in ("S", "bytes", None)
            number = ordered(int.from_bytes(taken, "big" if self.is_big or is_text else "little"), self.width, self.kind)
        return (1 << 8 * self.width) - 1 - number if self.descending else number


def order_of(columns):
    return lambda row: tuple(column.of(row) for column in columns)


def draw_places(case, trial, width):
    """--key OFFSET:BYTES, up to 8 times, for records of this width. @returns their order"""
    all_descend = case.chance(0.2)
    if all_descend:
        trial.options["--descending"] = None
    columns, texts, left = [], [], 32
    for _ in range(case.pick([1, 1, 1, 1, 2, 2, 3, 8])):
        kind = case.pick(KEY_TYPES)
        widths = [w for w in ((2, 4, 8) if kind == "f" else (1, 2, 3, 4, 5, 8, 10, 16, 32)) if w <= min(width, left)]
        if not widths:
            continue
        taken = case.pick(widths)
        left -= taken
        offset = case.random.randint(0, width - taken)
        way = case.pick(["", "", ":asc", ":desc"])
        columns.append(Column(offset, taken, kind, False, way == ":desc" or (way == "" and all_descend)))
        texts.append(f"{offset}:{taken}" + (f":{kind}" if kind else "") + way)
    if not columns:
        columns, texts = [Column(0, 1, "bytes", False, all_descend)], ["0:1"]
    trial.options["--key"] = texts
    return order_of(columns)


def draw_type(case):
    """@returns (numpy's name of a type, its letter, its width, whether its bytes are in the other order)"""
    kind, width = case.pick(TYPES)
    is_big = width > 1 and kind != "S" and case.chance(0.2)
    mark = "|" if width == 1 or kind == "S" else ">" if is_big else "<"
    unit = case.pick(["[ns]", "[D]", "[25s]"]) if kind in "Mm" else ""
    return f"'{mark}{kind}{width // 4 if kind == 'U' else width}{unit}'", kind, width, is_big


def random_values(rng, count, kind, width, is_big):
    """Bytes of values of a type."""
    if kind == "f":
        data = random_floats(rng, count, width)
    elif kind in "Mm":
        data = random_items(rng, count, 8, [pack("i8", [n]) for n in DATES])
    elif kind == "U":
        data = pack("u4", rng.choices(CODE_POINTS, k=count * width // 4))
    elif kind == "b":
        data = bytes(rng.choices([0, 1], k=count))
    else:
        data = random_items(rng, count, width)
    return swapped(data, 4 if kind == "U" else width) if is_big else data


def draw_array(case, trial, count):
    """An array of one dimension, whose type says how it is sorted. @returns (descr, width, data, order)"""
    descr, kind, width, is_big = draw_type(case)
    descending = case.chance(0.3)
    if descending:
        trial.options["--descending"] = None
    data = random_values(case.random, count, kind, width, is_big)
    return descr, width, data, order_of([Column(0, width, kind, is_big, descending)])


class Field:
    """A field of a structure, by its name."""

    def __init__(self, name, offset, kind, width, is_big):
        self.name, self.offset, self.kind, self.width, self.is_big = name, offset, kind, width, is_big


def draw_structures(case, count, first_type=None):
    """An array of structures. @returns (descr, width, data, fields)"""
    fields, parts, offset = [], [], 0
    for i in range(case.random.randint(1, 5)):
        descr, kind, width, is_big = first_type if first_type and i == 0 else draw_type(case)
        name = case.pick(["id", "x", "tag", "größe", "in"]) + str(i)
        if case.chance(0.2):  # a field of a structure inside the structure
            parts.append(f"('{name}', [('low', {descr})])")
            name += ".low"
        else:
            parts.append(f"('{name}', {descr})")
        fields.append(Field(name, offset, kind, width, is_big))
        offset += width
    data = bytearray(offset * count)
    for field in fields:
        values = random_values(case.random, count, field.kind, field.width, field.is_big)
        for byte in range(field.width):
            data[field.offset + byte::offset] = values[byte::field.width]
    return "[" + ", ".join(parts) + "]", offset, bytes(data), fields


def draw_names(case, trial, fields):
    """--key NAME, for some fields of structures. @returns their order"""
    columns, texts, left = [], [], 32
    for field in case.random.sample(fields, case.random.randint(1, len(fields))):
        way = case.pick(["", "", ":asc", ":desc"])
        taken = (field.width // 4 * 21 + 7) // 8 if field.kind == "U" else field.width  # a character has 21 bits
        if taken > left:
            continue
        left -= taken
        columns.append(Column(field.offset, field.width, field.kind, field.is_big, way == ":desc"))
        texts.append(field.name + way)
    trial.options["--key"] = texts
    return order_of(columns)
