"""gather and scatter: records go where an index says."""

from arrays import draw_numbers_file, draw_records
from trial import Trial

BACKENDS = ("cpu", "reference", "auto", "opengl", "cuda")
PATTERNS = ["unknown", "sequential", "random", "partitioned:4", "clustered:16", "strided:3", "skewed", "repeated:7"]


def draw_index(case, count, bound):
    """`count` numbers below `bound`, in one of the orders that lists have."""
    rng = case.random
    if bound == 0:
        return [0] * count
    order = case.pick(["any", "any", "sequential", "reverse", "permuted", "same", "clustered", "strided", "skewed"])
    if order == "sequential":
        return [i % bound for i in range(count)]
    if order == "reverse":
        return [(bound - 1 - i) % bound for i in range(count)]
    if order == "permuted":
        some = list(range(bound))
        rng.shuffle(some)
        return [some[i % bound] for i in range(count)]
    if order == "same":
        return [rng.randrange(bound)] * count
    if order == "clustered":
        return [min(bound - 1, rng.randrange(bound) // 16 * 16 + i % 16) for i in range(count)]
    if order == "strided":
        step = rng.randint(1, bound)
        return [i * step % bound for i in range(count)]
    if order == "skewed":
        return [int(bound * rng.random() ** 4) for _ in range(count)]
    return [rng.randrange(bound) for _ in range(count)]


def spoil_index(case, index, bound):
    """Numbers that no record has, in some places. @returns the first of them: its place and its value"""
    wrong = [bound, bound + 1, bound + 1000, 2**31 - 1, -1, -2**31, 2**32 - 1]
    for _ in range(case.pick([1, 1, 2, 5])):
        index[case.random.randrange(len(index))] = case.pick([w for w in wrong if w < 0 or w >= bound])
    return next((i, value) for i, value in enumerate(index) if not 0 <= value < bound)


def shape_of(case, count):
    """A shape of so many numbers."""
    shapes = [(count,)] * 5 + [(count, 1), (1, count)]
    if count == 1:
        shapes += [(), (1, 1, 1)]
    if count % 2 == 0:
        shapes.append((2, count // 2))
    return case.pick(shapes)


def write_index(case, trial, index, bound, shape, is_raw):
    """Writes INDEX, sometimes with numbers that no record has. @returns the name of the file"""
    is_wrong = index and (bound == 0 or case.chance(0.1))
    place, value = spoil_index(case, index, bound) if is_wrong else (0, 0)
    fitting = [code for code, least, most in (("i8", -2**63, 2**63), ("i4", -2**31, 2**31), ("u4", 0, 2**32))
               if least <= min(index, default=0) and max(index, default=0) < most]
    name, raw_type = draw_numbers_file(case, "index", index, shape, is_raw, case.pick(fitting) if is_wrong else None)
    if raw_type:
        trial.options["--index-type"] = raw_type
    if is_wrong:
        trial.fail_with(3, name, f"index[{place}] is {value}")
    return name


def add_context(case, trial, width, count):
    """OpenGL's textures have records of four widths. Others are refused before an index is looked at, if there is one."""
    if case.add_context(trial, BACKENDS) == "opengl" and width not in (4, 8, 12, 16) and count > 0:
        trial.fail_with(2, "texels hold records of 4, 8, 12 or 16 bytes")


def gather(case):
    trial = Trial("gather")
    table = draw_records(case, "table", case.count())
    index = draw_index(case, case.count(), table.count)
    is_raw = case.chance(0.3)
    shape = (len(index),) if is_raw else shape_of(case, len(index))
    if table.width * len(index) > 1 << 20:
        index, shape = index[:16], (len(index[:16]),)
    name = write_index(case, trial, index, table.count, shape, is_raw)
    trial.operands = [table.name, name]
    if table.descr is None:
        trial.options["--record-bytes"] = table.width
    trial.options["-o"] = out = case.name("out", ".bin" if table.descr is None else ".npy")
    if trial.exits == {0}:
        rows = table.rows()
        trial.outputs[out] = table.is_like(shape, b"".join(rows[i] for i in index))
        trial.report = lambda d: None if (d["records"], d["record_bytes"]) == (len(index), table.width) else \
            f"{d['records']} records of {d['record_bytes']} bytes, not {len(index)} of {table.width}"
    if case.chance(0.2):
        trial.options["--pattern"] = case.pick(PATTERNS)
    add_context(case, trial, table.width, len(index))
    case.force_variant(trial, "gather")
    return trial


def scatter(case):
    trial = Trial("scatter")
    is_raw = case.chance(0.3)
    count = case.count()
    shape = (count,) if is_raw else shape_of(case, count)
    records = draw_records(case, "in", count, leading=shape)
    bound = min(case.count(), (1 << 20) // records.width)
    index = draw_index(case, count, bound)
    name = write_index(case, trial, index, bound, shape if records.descr else (count,), is_raw)
    before = b"\0" * (bound * records.width)
    if case.chance(0.5):
        base = draw_records(case, "base", bound, like=records)
        trial.options["--into"] = base.name
        before = base.data
    else:
        trial.options["--table"] = bound
    if records.descr is None:
        trial.options["--record-bytes"] = records.width
    trial.operands = [records.name, name]
    trial.options["-o"] = out = case.name("out", ".bin" if records.descr is None else ".npy")
    any_wins = case.chance(0.4)
    if any_wins or case.chance(0.3):
        trial.options["--duplicates"] = "any" if any_wins else "last"
    if trial.exits == {0}:
        check = written_by(records, index, before) if any_wins else None
        trial.outputs[out] = records.is_like((bound,), last_wins(records, index, before), check)
    if case.chance(0.2):
        trial.options["--pattern"] = case.pick(PATTERNS)
    add_context(case, trial, records.width, count)
    case.force_variant(trial, "scatter")
    return trial


def last_wins(records, index, before):
    rows = [before[i:i + records.width] for i in range(0, len(before), records.width)]
    for row, to in zip(records.rows(), index):
        rows[to] = row
    return b"".join(rows)


def written_by(records, index, before):
    """What looks at records of which any writer may win: words of up to 16 bytes stay whole, others may mix."""
    width = records.width
    writers = {}
    for row, to in zip(records.rows(), index):
        writers.setdefault(to, set()).add(row)

    def look(data):
        if len(data) != len(before):
            return f"{len(data)} bytes of data, not {len(before)}"
        for to in range(len(before) // width):
            found = data[to * width:(to + 1) * width]
            allowed = writers.get(to, {before[to * width:(to + 1) * width]})
            if found in allowed:
                continue
            if len(allowed) == 1 or width in (1, 2, 4, 8, 16) or \
                    any(byte not in {w[at] for w in allowed} for at, byte in enumerate(found)):
                return f"record {to} is {found[:40].hex()}, which none of its {len(allowed)} writers has"
        return None
    return look


FAMILY = {gather: 3, scatter: 3}
