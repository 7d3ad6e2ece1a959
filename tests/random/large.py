"""Arrays of up to a million records, made, written, read and answered by NumPy. Where it is not there, these cases are
small ones of their subcommands."""

import io

import lists
import movement
import reduce
import search
import sort
import split
from trial import Trial

try:
    import numpy
    VERSION = numpy.__version__
except ImportError:
    numpy = None
    VERSION = "not here"

TYPES = ["u1", "i2", "u4", "i4", "f4", "u8", "i8", "f8", "c16"]
INDICES = ["u4", "u8", "i4", "i8"]


def count_of(case):
    return int(10 ** case.random.uniform(3.5, 6)) + case.pick([0, 0, 1])


def generator(case):
    return numpy.random.Generator(numpy.random.PCG64(case.random.getrandbits(64)))


def put(case, name, array):
    """Writes an array as NumPy does, some in archives, some in Fortran order. @returns how a command names it"""
    file = io.BytesIO()
    if array.ndim > 1 and case.chance(0.3):
        array = numpy.asfortranarray(array)
    if case.chance(0.9):
        numpy.save(file, array)
        return case.put(f"{name}.npy", file.getvalue())
    case.pick([numpy.savez, numpy.savez_compressed])(file, other=numpy.arange(3), wanted=array)
    case.put(f"{name}.npz", file.getvalue())
    return f"{name}.npz:wanted"


def numbers(rng, case, count, code):
    """Numbers of a type, any or few that repeat."""
    width = numpy.dtype(code).itemsize
    if case.chance(0.3):
        pool = rng.bytes(width * 37)
        return numpy.frombuffer(pool, code)[rng.integers(0, 37, count)]
    return numpy.frombuffer(rng.bytes(width * count), code)


def has_bytes_of(wanted):
    """What looks at an output that NumPy reads."""
    def look(content):
        try:
            found = numpy.load(io.BytesIO(content))
        except ValueError as e:
            return f"no .npy file: {e}"
        if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
            return f"it has {found.dtype} {found.shape}, not {wanted.dtype} {wanted.shape}"
        if found.tobytes() == wanted.tobytes():
            return None
        width = max(1, wanted.nbytes // max(1, len(wanted)))
        pairs = numpy.frombuffer(found.tobytes(), f"V{width}"), numpy.frombuffer(wanted.tobytes(), f"V{width}")
        at = int(numpy.flatnonzero(pairs[0] != pairs[1])[0])
        return f"row {at} is {pairs[0][at].tobytes()[:40].hex()}, not {pairs[1][at].tobytes()[:40].hex()}"
    return look


def index_of(rng, case, count, bound):
    order = case.pick(["any", "any", "permuted", "sequential", "clustered", "skewed"])
    if order == "any":
        made = rng.integers(0, bound, count)
    elif order == "permuted":
        made = rng.permutation(bound)[numpy.arange(count) % bound]
    elif order == "sequential":
        made = numpy.arange(count) % bound
    elif order == "clustered":
        made = numpy.minimum(bound - 1, rng.integers(0, bound, count) // 64 * 64 + numpy.arange(count) % 64)
    else:
        made = (bound * rng.random(count) ** 6).astype("i8")
    return made.astype(case.pick(INDICES) if case.chance(0.8) else case.pick([">u4", ">i8"]))


def gather_of_many(case):
    if numpy is None:
        return movement.gather(case)
    rng = generator(case)
    rows = count_of(case)
    shape = (rows,) + case.pick([(), (), (2,), (3,), (5,)])
    table = numbers(rng, case, int(numpy.prod(shape)), case.pick(TYPES)).reshape(shape)
    index = index_of(rng, case, count_of(case), rows)
    trial = Trial("gather", [put(case, "table", table), put(case, "index", index)], {"-o": "out.npy"})
    trial.outputs["out.npy"] = has_bytes_of(numpy.take(table, index, axis=0))
    movement.add_context(case, trial, table.nbytes // rows, len(index))
    case.force_variant(trial, "gather")
    return trial


def scatter_of_many(case):
    if numpy is None:
        return movement.scatter(case)
    rng = generator(case)
    rows, count = count_of(case), count_of(case)
    records = numbers(rng, case, count, case.pick(TYPES))
    index = index_of(rng, case, count, rows)
    wanted = numpy.zeros(rows, records.dtype)
    last = numpy.full(rows, -1, "i8")
    numpy.maximum.at(last, index, numpy.arange(count))
    wanted[last >= 0] = records[last[last >= 0]]
    trial = Trial("scatter", [put(case, "in", records), put(case, "index", index)],
                  {"-o": "out.npy", "--table": rows})
    trial.outputs["out.npy"] = has_bytes_of(wanted)
    movement.add_context(case, trial, records.itemsize, count)
    case.force_variant(trial, "scatter")
    return trial


def as_unsigned(keys):
    """Unsigned numbers in the order of a sort's keys: of floats -0 comes before 0, and NaN at the ends."""
    kind, width = keys.dtype.kind, keys.dtype.itemsize
    bits = keys.view(f"u{width}")
    top = bits.dtype.type(1 << (8 * width - 1))
    if kind == "i":
        return bits ^ top
    if kind == "f":
        return numpy.where(bits & top, ~bits, bits ^ top)
    return bits


def sort_of_many(case):
    if numpy is None:
        return sort.sort(case)
    rng = generator(case)
    keys = numbers(rng, case, count_of(case), case.pick(["u1", "i2", "u4", "i4", "f4", "u8", "i8", "f8"]))
    order = as_unsigned(keys)
    trial = Trial("sort", [put(case, "in", keys)], {"-o": "out.npy"})
    if case.chance(0.3):
        trial.options["--descending"] = None
        order = ~order
    places = numpy.argsort(order, kind="stable")
    call = case.pick(["sort_records", "sort_gather_index"])
    if call == "sort_gather_index":
        trial.options["--index"] = "gather"
        trial.outputs["out.npy"] = has_bytes_of(places.astype("u4"))
    else:
        trial.outputs["out.npy"] = has_bytes_of(keys[places])
    if case.chance(0.3):
        trial.options["--memory"] = case.pick(["1M", "2M", "5M"])
    case.add_context(trial, memory=False)
    case.force_variant(trial, call)
    return trial


def split_of_many(case):
    if numpy is None:
        return split.split(case)
    rng = generator(case)
    count = count_of(case)
    records = numbers(rng, case, count, case.pick(TYPES))
    categories = case.pick([2, 16, 200, 256, 1000, 65536])
    code = case.pick(["u1", "u2", "u4"] if categories <= 256 else ["u2", "u4"])
    of = (categories * rng.random(count) ** case.pick([1, 5])).astype(code)
    trial = Trial("split", [put(case, "in", records)], {
        "-o": "out.npy", "--keys": put(case, "of", of), "--categories": categories, "--offsets": "offsets.npy"})
    trial.outputs["out.npy"] = has_bytes_of(records[numpy.argsort(of, kind="stable")])
    bounds = numpy.concatenate([[0], numpy.cumsum(numpy.bincount(of, minlength=categories))]).astype("u8")
    trial.outputs["offsets.npy"] = has_bytes_of(bounds)
    case.add_context(trial)
    case.force_variant(trial, "split")
    return trial


def search_of_many(case):
    if numpy is None:
        return search.search(case)
    rng = generator(case)
    code = case.pick(["u4", "i8"])
    table = numbers(rng, case, count_of(case), code)
    pool = numpy.concatenate([table, numbers(rng, case, len(table) // 4 + 1, code)])
    keys = pool[rng.integers(0, len(pool), count_of(case))]
    order = numpy.argsort(table, kind="stable")
    begin = numpy.searchsorted(table[order], keys, "left")
    counts = numpy.searchsorted(table[order], keys, "right") - begin
    trial = Trial("search", [put(case, "keys", keys), put(case, "table", table)], {"-o": "found"})
    if case.chance(0.5):
        trial.options["--matches"] = "count"
        trial.outputs["found.counts.npy"] = has_bytes_of(counts.astype("u4"))
    else:
        trial.options["--matches"] = "first"
        first = numpy.where(counts > 0, order[numpy.minimum(begin, len(order) - 1)], 2**32 - 1)
        trial.outputs["found.ids.npy"] = has_bytes_of(first.astype("u4"))
    case.add_context(trial)
    return trial


def scan_of_many(case):
    if numpy is None:
        return lists.scan(case)
    rng = generator(case)
    count = count_of(case)
    nodes = rng.permutation(count) if case.chance(0.7) else numpy.arange(count)
    successors = numpy.empty(count, case.pick(["i4", "i8"]))
    successors[nodes[:-1]], successors[nodes[-1]] = nodes[1:], -1
    values = numbers(rng, case, count, case.pick(["i4", "u4", "i8", "u8"]))
    op = case.pick(["add", "min", "max", "mul", "and", "or", "xor"])
    put_together = {"add": numpy.add, "min": numpy.minimum, "max": numpy.maximum, "mul": numpy.multiply,
                    "and": numpy.bitwise_and, "or": numpy.bitwise_or, "xor": numpy.bitwise_xor}[op]
    wanted = numpy.empty_like(values)
    wanted[nodes] = put_together.accumulate(values[nodes], dtype=values.dtype)
    trial = Trial("scan", [put(case, "list", successors), put(case, "values", values)],
                  {"-o": "out.npy", "--op": op})
    trial.outputs["out.npy"] = has_bytes_of(wanted)
    case.add_context(trial)
    case.force_variant(trial, "list_scan")
    return trial


def reduce_of_many(case):
    """Whole numbers, which wrap around, or small ones as floats, whose sums have no error in any order."""
    if numpy is None:
        return reduce.reduce(case)
    rng = generator(case)
    width = case.pick([1, 1, 2, 3, 4, 7, 16, 32, 64, 130])
    count, rows = max(1, count_of(case) // width), max(1, count_of(case) // width)
    code = case.pick(["i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
    op = case.pick(["add", "subtract", "min", "max", "count", "mean"])
    is_float = code[0] == "f"

    def draw(height):
        if is_float:  # of f2 so small that sums of a row stay within what it holds
            return rng.integers(-3, 4, (height, width)).astype(code)
        return numbers(rng, case, height * width, code).reshape(height, width)
    values, index = draw(count), index_of(rng, case, count, rows)
    trial = Trial("reduce", [put(case, "in", values), put(case, "index", index)], {"-o": "out.npy", "--op": op})
    base = draw(rows) if case.chance(0.5) else None
    if base is None:
        trial.options["--table"] = rows
    else:
        trial.options["--into"] = put(case, "base", base)
    trial.outputs["out.npy"] = has_bytes_of(reduced(op, values, index.astype("i8"), rows, base))
    reduce.draw_more(case, trial)
    case.add_context(trial)
    case.force_variant(trial, "scatter_reduce_rows")
    return trial


def reduced(op, values, index, rows, base):
    """What reduce makes of these rows, of which the same row's lie side by side once they are in its order."""
    code = values.dtype
    is_float = code.kind == "f"
    wide = numpy.dtype("f8" if is_float else f"{code.kind}8") if op == "mean" else numpy.dtype("f4") if code == "f2" else code
    came = numpy.bincount(index, minlength=rows)[:, None]
    if op == "count":
        held = numpy.zeros((rows, values.shape[1]), code) if base is None else base
        return (held.astype("f8") + came).astype(code) if is_float else held + came.astype(code)
    if op in ("min", "max"):
        limits = (-numpy.inf, numpy.inf) if is_float else (numpy.iinfo(code).min, numpy.iinfo(code).max)
        none = numpy.full((rows, values.shape[1]), limits[op == "min"], wide)
    else:
        none = numpy.zeros((rows, values.shape[1]), wide)
    wanted = none if base is None else base.astype(wide)
    order = numpy.argsort(index, kind="stable")
    begins = numpy.flatnonzero(numpy.diff(index[order], prepend=-1))
    named = index[order][begins]
    combine = {"min": numpy.minimum, "max": numpy.maximum}.get(op, numpy.add)
    parts = combine.reduceat(values[order].astype(wide), begins, axis=0, dtype=wide)
    wanted[named] = (numpy.subtract if op == "subtract" else combine)(wanted[named], parts)
    if op == "mean":
        divisor = numpy.maximum(1, came + (base is not None))
        if is_float:
            return (wanted / divisor).astype("f4" if code == "f2" else code).astype(code)
        divisor = divisor.astype(wide)
        rounded_down = wanted // divisor
        return (rounded_down + ((wanted < 0) & (rounded_down * divisor != wanted))).astype(code)
    return wanted.astype(code)


FAMILY = {gather_of_many: 0.25, scatter_of_many: 0.25, sort_of_many: 0.25, split_of_many: 0.25, search_of_many: 0.25,
          scan_of_many: 0.25, reduce_of_many: 0.25}
