"""reduce: rows of numbers that an index names alike are combined."""

import math

from arrays import draw_numbers_file, is_npy, pack, put_array, random_floats, random_items, rounded_to_f32, swapped, unpack
from movement import PATTERNS, draw_index, shape_of, write_index
from trial import Trial

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "f2", "f4", "f8"]
OPS = ["add", "min", "max", "subtract", "multiply", "mean", "count"]
WIDTHS = [2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 256, 300, 515, 1024]
MOST_NUMBERS = 12000  # of IN, and of the result
MOST_VALUES = 65536  # of a row

POSITIVE_NAN = {"f2": pack("u2", [0x7E00]), "f4": pack("u4", [0x7FC00000]), "f8": pack("u8", [0x7FF8 << 48])}

# In what floats are combined, whatever they are: bits of its mantissas, largest number, exponents of the first power of
# two that it has not, and of the least normal number.
SUM_BITS = {"f2": 24, "f4": 24, "f8": 53}
SUM_LARGEST = {"f2": 3.4e38, "f4": 3.4e38, "f8": 1.79e308}
SUM_EXPONENTS = {"f2": (128, -126), "f4": (128, -126), "f8": (1024, -1022)}


def rounded(code, number):
    """What is combined, rounded to the type of the result. It is f32 before it becomes f16."""
    if code == "f8":
        return number
    number = rounded_to_f32(number)
    if code == "f4" or number != number:
        return number
    try:
        return unpack("f2", pack("f2", [number]))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def wrapped(number, bits, is_signed):
    number %= 1 << bits
    return number - (1 << bits) if is_signed and number >> (bits - 1) else number


def whole_result(code, op, before, values):
    """Of integers. @param before  the number that they are combined with, or None"""
    bits, is_signed = 8 * int(code[1]), code[0] == "i"
    if op in ("min", "max"):
        largest, least = (1 << (bits - is_signed)) - 1, -(1 << (bits - 1)) if is_signed else 0
        all_values = values + ([] if before is None else [before])
        return (min if op == "min" else max)(all_values, default=largest if op == "min" else least)
    if op == "mean":
        count = len(values) + (before is not None)
        total = wrapped(sum(values) + (before or 0), 64, is_signed)
        result = abs(total) // max(count, 1) * (-1 if total < 0 else 1)
    elif op == "count":
        result = (before or 0) + len(values)
    elif op == "multiply":
        result = 1 if before is None else before
        for value in values:
            result = wrapped(result * value, bits, is_signed)
    else:
        result = (before or 0) + (sum(values) if op == "add" else -sum(values))
    return wrapped(result, bits, is_signed)


def any_of(number):
    return number, number


def float_range(code, op, before, values, lost):
    """The least and the greatest number that floats may become, in any order of their combination; or (NaN, NaN).
    @param lost  what each operation may lose where numbers below the normal ones count as zero
    @returns None where some order may leave the range"""
    if op == "count":
        return any_of(rounded(code, (before or 0.0) + len(values)))
    if op == "subtract":
        values = [-value for value in values]
    if before is not None:
        values = values + [before]
    if any(value != value for value in values):
        return any_of(math.nan)
    if op == "multiply":
        return product_range(code, values)
    count = len(values)
    infinite = {value for value in values if math.isinf(value)}
    magnitudes = sum(abs(value) for value in values if not math.isinf(value))
    if magnitudes > SUM_LARGEST[code] / 2:
        return None
    if infinite:
        return any_of(infinite.pop() if len(infinite) == 1 else math.nan)
    total = math.fsum(values)
    bound = 1.01 * (count + 2) * 2.0 ** -SUM_BITS[code] * magnitudes + (count + 2) * lost
    if not lost and are_multiples_of_one(values, magnitudes, SUM_BITS[code]):
        bound = 0.0
    divisor = max(count, 1) if op == "mean" else 1
    return rounded(code, (total - bound) / divisor), rounded(code, (total + bound) / divisor)


def are_multiples_of_one(values, magnitudes, bits):
    """Whether all are multiples of one power of two, and so few of it that no sum of them has an error."""
    parts = max((value.as_integer_ratio()[1] for value in values), default=1)
    return parts < 1 << 200 and magnitudes * parts < 1 << bits


def product_range(code, values):
    """The same of products."""
    sign = -1.0 if sum(math.copysign(1, value) < 0 for value in values) % 2 else 1.0
    sizes = [abs(value) for value in values]
    logs = [math.log2(size) for size in sizes if 0 < size < math.inf]
    above, below = SUM_EXPONENTS[code]
    if sum(log for log in logs if log > 0) > above - 2 or sum(log for log in logs if log < 0) < below + 2:
        return None
    if math.inf in sizes:
        return any_of(math.nan if 0.0 in sizes else sign * math.inf)
    if 0.0 in sizes:
        return any_of(sign * 0.0)
    size, odd = math.prod(sizes), 1
    for each in sizes:
        numerator = each.as_integer_ratio()[0]
        odd *= numerator // (numerator & -numerator)
        if odd >> SUM_BITS[code]:
            break
    bound = 0.0 if odd < 1 << SUM_BITS[code] else 1.01 * (len(sizes) + 1) * 2.0 ** -SUM_BITS[code] * size
    return tuple(sorted(rounded(code, sign * end) for end in (size - bound, size + bound)))


def extreme(code, op, before, values):
    """Bytes of a minimum or maximum, where -0 is below 0, and NaN is the positive one."""
    values = values + ([] if before is None else [before])
    if any(value != value for value in values):
        return POSITIVE_NAN[code]
    choose, none = (min, math.inf) if op == "min" else (max, -math.inf)
    return pack(code, [choose(values, key=lambda value: (value, math.copysign(1, value)), default=none)])


class Reduction:
    """What the rows of an output have to be."""

    def __init__(self, code, op, width, rows, index, before, data, lost):
        self.code, self.op, self.width, self.rows, self.lost = code, op, width, rows, lost
        self.before = None if before is None else unpack(code, before)
        self.bytes_before = before
        self.values = unpack(code, data)
        self.came = [[] for _ in range(rows)]
        for row, to in enumerate(index):
            self.came[to].append(row)

    def look(self, data):
        bytes_of_value = int(self.code[1])
        if len(data) != self.rows * self.width * bytes_of_value:
            return f"{len(data)} bytes of data, not {self.rows} rows of {self.width} {self.code}"
        for to, came in enumerate(self.came):
            for k in range(self.width):
                at = to * self.width + k
                place = slice(at * bytes_of_value, (at + 1) * bytes_of_value)
                if not came and self.before is not None:
                    mistake = None if data[place] == self.bytes_before[place] else "changed, though no row comes to it"
                else:
                    values = [self.values[row * self.width + k] for row in came]
                    mistake = self.mistake(data[place], None if self.before is None else self.before[at], values)
                if mistake:
                    return f"value {k} of row {to}, to which {len(came)} rows come, {mistake}"
        return None

    def mistake(self, found, before, values):
        number = unpack(self.code, found)[0]
        if self.code[0] != "f":
            wanted = whole_result(self.code, self.op, before, values)
            return None if number == wanted else f"is {number}, not {wanted}"
        if self.op in ("min", "max"):
            wanted = extreme(self.code, self.op, before, values)
            return None if found == wanted else f"is {found.hex()} ({number}), not {wanted.hex()}"
        allowed = float_range(self.code, self.op, before, values, self.lost)
        if allowed is None:
            return None
        least, most = allowed
        if least != least:
            return None if number != number else f"is {number}, not NaN"
        has_sign = least == most == 0 and self.op == "multiply"
        is_right = least <= number <= most and not (has_sign and math.copysign(1, number) != math.copysign(1, least))
        return None if is_right else f"is {number!r}, not {least!r}" + (f" to {most!r}" if most != least else "")


def draw_values(case, code, op, count):
    """Bytes of numbers. Floats often have special ones among them."""
    rng = case.random
    if code[0] != "f":
        return random_items(rng, count, int(code[1]))
    if case.chance(0.3):
        return random_floats(rng, count, int(code[1]))
    if op == "multiply":
        some = case.pick([[1.0, -1.0, 0.5, 2.0], [1.0] * 20 + [3.0, -5.0, 0.25], [1.0009765625, 0.9990234375, -1.0]])
        return pack(code, rng.choices(some, k=count))
    if case.chance(0.5):
        return pack(code, [float(rng.randint(-9, 9)) for _ in range(count)])
    scale = 10.0 ** rng.randint(-4, 4 if code == "f2" else 6)
    return pack(code, [rng.uniform(-scale, scale) for _ in range(count)])


def write_numbers(case, stem, code, shape, data):
    """Writes an array of numbers in either order of bytes. @returns how a command names it"""
    width = int(code[1])
    if width > 1 and case.chance(0.08):
        return put_array(case, stem, f"'>{code}'", shape, swapped(data, width), width)
    return put_array(case, stem, descr_of(code), shape, data, width)


def descr_of(code):
    return f"'{'|' if code[1] == '1' else '<'}{code}'"


def draw_row_shape(case):
    """The shape of a row, of one number or of many."""
    width = case.pick(WIDTHS)
    return case.pick([(), (), (1,), (width,), (width,), (width,), (2, width), (width, 1), (2, 1, 3)])


def write_places(case, trial, index, bound, shape, is_raw):
    """Writes INDEX, of a table of `bound` rows, or of as many as it names. @returns the name of the file"""
    if bound is not None:
        return write_index(case, trial, index, bound, shape, is_raw)
    # A large number names many rows: only numbers below 0 are wrong.
    is_wrong = index and case.chance(0.08)
    if is_wrong:
        place = case.random.randrange(len(index))
        index[place] = case.pick([-1, -7, -2**31])
    name, raw_type = draw_numbers_file(case, "index", index, shape, is_raw, case.pick(["i4", "i8"]) if is_wrong else None)
    if raw_type:
        trial.options["--index-type"] = raw_type
    if is_wrong:
        trial.fail_with(3, name, f"index[{place}] is {index[place]}")
    return name


def draw_op(case, trial):
    op = case.pick(OPS)
    if op != "add" or case.chance(0.3):
        trial.options["--op"] = op
    return op


def reduce(case):
    trial = Trial("reduce")
    code, op = case.pick(TYPES), draw_op(case, trial)
    row_shape = draw_row_shape(case)
    width = math.prod(row_shape)
    count = min(case.count(), MOST_NUMBERS // width)
    rows = min(case.count(), MOST_NUMBERS // width)
    index = draw_index(case, count, rows)
    data = draw_values(case, code, op, count * width)
    start = case.pick(["table", "table", "into", "into", "index"])
    before = None
    if start == "table":
        trial.options["--table"] = rows
    elif start == "into":
        before = draw_values(case, code, op, rows * width)
        trial.options["--into"] = write_numbers(case, "base", code, (rows,) + row_shape, before)
    else:
        index = index if rows else []
        count, data = len(index), data[:len(index) * width * int(code[1])]
        rows = max(index, default=-1) + 1
    is_raw = case.chance(0.3)
    shape = (count,) if is_raw else shape_of(case, count)
    index_name = write_places(case, trial, index, None if start == "index" else rows, shape, is_raw)
    trial.operands = [write_numbers(case, "in", code, (count,) + row_shape, data), index_name]
    trial.options["-o"] = out = case.name("out", ".npy")
    draw_more(case, trial)
    if trial.exits == {0} and case.chance(0.08):
        spoil_arrays(case, trial, code, row_shape, count, rows)
    backend = case.add_context(trial)
    if 0 in trial.exits:
        flushes = backend == "cuda" and trial.options.get("--order") == "unordered"
        wanted = Reduction(code, op, width, rows, index, before, data, 2.0 ** -126 if flushes and code != "f8" else 0.0)
        trial.outputs[out] = is_npy(descr_of(code), (rows,) + row_shape, check=wanted.look)
        trial.report = report_of(count, width * int(code[1]))
    case.force_variant(trial, "scatter_reduce_rows")
    return trial


def report_of(count, record_bytes):
    def report(document):
        found = document["records"], document["record_bytes"]
        return None if found == (count, record_bytes) else \
            f"{found[0]} records of {found[1]} bytes, not {count} of {record_bytes}"
    return report


def draw_more(case, trial):
    """Options that change nothing of the answer."""
    if case.chance(0.2):
        trial.options["--pattern"] = case.pick(PATTERNS)
    if case.chance(0.3):
        trial.options["--order"] = case.pick(["deterministic", "unordered"])
    if case.chance(0.05):
        trial.options["--temporary"] = "."


def spoil_arrays(case, trial, code, row_shape, count, rows):
    """One of the arrays is of a type or shape that does not go with the others."""
    width = math.prod(row_shape)
    way = case.pick(["type", "no axis", "empty rows", "wide rows", "raw", "count", "index type"]
                    + ["base type", "base width"] * ("--into" in trial.options))
    place = 1 if way == "count" else 0
    named = trial.operands[place]
    if way == "type":
        descr, item = case.pick([("'|b1'", 1), ("'<c8'", 8), ("'|S3'", 3), ("'<U1'", 4), ("'<M8[s]'", 8),
                                 ("[('a', '<f4')]", 4)])
        named = put_array(case, "other", descr, (count,) + row_shape, bytes(count * width * item), item)
    elif way == "no axis":
        named = put_array(case, "other", descr_of(code), (), bytes(int(code[1])), int(code[1]))
    elif way == "empty rows":
        named = put_array(case, "other", descr_of(code), (count, 0), b"", int(code[1]))
    elif way == "wide rows":
        values = MOST_VALUES + 1 if count < 3 else 0
        named = put_array(case, "other", descr_of(code), (count, values), bytes(count * values * int(code[1])), int(code[1]))
    elif way == "raw":
        named = case.put("other.bin", bytes(count * width * int(code[1])))
    elif way == "count":
        more = count + case.pick([1, 2, -1] if count else [1, 2])
        trial.operands[0] = write_numbers(case, "other", code, (more,) + row_shape, bytes(more * width * int(code[1])))
    elif way == "index type":
        place, floats = 1, pack("f8", [0.0] * count)
        named = put_array(case, "other", "'<f8'", (count,), floats, 8)
        trial.options.pop("--index-type", None)
    else:
        of_base = case.pick([c for c in TYPES if c != code]) if way == "base type" else code
        more = row_shape if way == "base type" else row_shape + (2,)
        named = write_numbers(case, "other", of_base, (rows,) + more, bytes(rows * math.prod(more) * int(of_base[1])))
        trial.options["--into"] = named
        place = None
    if place is not None:
        trial.operands[place] = named
    trial.fail_with(3, named)


FAMILY = {reduce: 5}
