"""sort: records by their keys, in memory and in runs, and where they would come from."""

import os

from arrays import draw_records, is_npy, is_raw, npy, pack, random_floats, random_items, swapped, write_records
from trial import Trial

KEY_TYPES = ["u", "i", "f", "bytes", None]


def ordered(number, width, kind):
    """A number of so many bits whose unsigned order is that of a key's: of integers with a sign, of floats with -0 below
    0 and NaN at the ends."""
    top = 1 << (8 * width - 1)
    if kind == "i":
        return number ^ top
    if kind == "f":
        return number ^ (2 * top - 1 if number & top else top)
    return number


class Field:
    """A part of a key, as --key has it."""

    def __init__(self, offset, width, kind, descending):
        self.offset, self.width, self.kind, self.descending = offset, width, kind, descending

    def of(self, row):
        taken = row[self.offset:self.offset + self.width]
        number = int.from_bytes(taken, "little" if self.kind in ("u", "i", "f") else "big")
        number = ordered(number, self.width, self.kind)
        return (1 << 8 * self.width) - 1 - number if self.descending else number


def draw_fields(case, trial, width):
    """--key, up to 8 times, for records of this width."""
    all_descend = case.chance(0.2)
    if all_descend:
        trial.options["--descending"] = None
    fields, texts, left = [], [], 32
    for _ in range(case.pick([1, 1, 1, 1, 2, 2, 3, 8])):
        kind = case.pick(KEY_TYPES)
        widths = [w for w in ((2, 4, 8) if kind == "f" else (1, 2, 3, 4, 5, 8, 10, 16, 32)) if w <= min(width, left)]
        if not widths:
            continue
        taken = case.pick(widths)
        left -= taken
        offset = case.random.randint(0, width - taken)
        way = case.pick(["", "", ":asc", ":desc"])
        descending = way == ":desc" or (way == "" and all_descend)
        fields.append(Field(offset, taken, kind, descending))
        texts.append(f"{offset}:{taken}" + (f":{kind}" if kind else "") + way)
    if not fields:
        fields, texts = [Field(0, 1, "bytes", all_descend)], ["0:1"]
    trial.options["--key"] = texts
    return lambda row: tuple(field.of(row) for field in fields)


def named_fields(case, trial):
    """A structured array, sorted by fields of it that have names. @returns its records' type, width and order"""
    descr = "[('id', '<u4'), ('x', '<f8'), ('when', '<i2'), ('tag', '|S3')]"
    known = {"id": (0, 4, "u"), "x": (4, 8, "f"), "when": (12, 2, "i"), "tag": (14, 3, "bytes")}
    fields, texts = [], []
    for name in case.random.sample(list(known), case.pick([1, 1, 2, 3])):
        way = case.pick(["", "", ":asc", ":desc"])
        offset, width, kind = known[name]
        fields.append(Field(offset, width, kind, way == ":desc"))
        texts.append(name + way)
    trial.options["--key"] = texts
    return descr, 17, lambda row: tuple(field.of(row) for field in fields)


def typed_array(case, trial):
    """An array of one dimension, whose type says how it is sorted. @returns (descr, width, order, its items)"""
    kind, width = case.pick([("u", 1), ("u", 2), ("u", 4), ("u", 8), ("i", 1), ("i", 2), ("i", 4), ("i", 8), ("f", 2),
                             ("f", 4), ("f", 8), ("b", 1), ("M", 8), ("m", 8), ("S", 1), ("S", 5), ("S", 32), ("U", 4),
                             ("U", 12), ("U", 32)])
    big = width > 1 and kind != "S" and case.recent(0.2)
    descending = case.chance(0.3)
    if descending:
        trial.options["--descending"] = None
    mark = "|" if width == 1 or kind == "S" else ">" if big else "<"
    unit = case.pick(["[ns]", "[D]", "[25s]"]) if kind in "Mm" else ""
    descr = f"'{mark}{kind}{width // 4 if kind == 'U' else width}{unit}'"

    def order(row):
        if kind == "U":
            step = 4
            number = 0
            for at in range(0, width, step):
                number = number << 32 | int.from_bytes(row[at:at + step], "big" if big else "little")
        else:
            number = int.from_bytes(row, "big" if big or kind == "S" else "little")
            if kind in "Mm":  # NaT, the lowest number, comes last
                number = ((number ^ 1 << 63) - 1) % (1 << 64)
            else:
                number = ordered(number, width, kind)
        return (1 << 8 * width) - 1 - number if descending else number

    def items(rng, count, _):
        if kind == "f":
            data = random_floats(rng, count, width)
        elif kind in "Mm":
            data = random_items(rng, count, 8, [pack("i8", [n]) for n in (-2**63, -2**63 + 1, -1, 0, 1, 2**63 - 1)])
        elif kind == "U":
            data = pack("u4", [rng.choice([0x61, 0x62, 0xE9, 0x3B1, 0x1F600, 0]) for _ in range(count * width // 4)])
        elif kind == "b":
            data = bytes(rng.choices([0, 1], k=count))
        else:
            data = random_items(rng, count, width)
        return swapped(data, 4 if kind == "U" else width) if big else data

    return descr, width, order, items


def draw_input(case, trial, count, may_be_wide=True):
    """Writes IN. @returns its records, and what they are sorted by"""
    source = "fields" if case.recent(0.1) else case.pick(["keys", "keys", "keys", "typed", "typed"])
    if source == "typed":
        descr, width, order, items = typed_array(case, trial)
    elif source == "fields":
        descr, width, order = named_fields(case, trial)
        items = random_items
    else:
        records = draw_records(case, "in", count, 1 << 18 if may_be_wide else 64 * count)
        return records, draw_fields(case, trial, records.width)
    data = items(case.random, count, width)
    return write_records(case, "in", data, width, descr, (count,), 1), order


def sort(case):
    trial = Trial("sort")
    is_external = case.chance(0.06)
    count = case.random.randint(20000, 60000) if is_external else case.count()
    records, order = draw_input(case, trial, count, not is_external)
    trial.operands = [records.name]
    if records.descr is None:
        trial.options["--record-bytes"] = records.width
    rows = records.rows()
    places = sorted(range(count), key=lambda i: order(rows[i]))
    trial.options["-o"] = out = case.name("out", ".bin" if records.descr is None else ".npy")
    call = "sort_records"
    if case.chance(0.3):
        call = "sort_gather_index"
        look = look_at_index(case, trial, places, records)
    else:
        look = records.is_like((count,), b"".join(rows[i] for i in places))
    trial.outputs[out] = look
    trial.report = lambda d: None if d["records"] == count else f"{d['records']} records, not {count}"
    if is_external or case.chance(0.1):
        trial.options["--memory"] = case.pick(["1M", "1MiB", "1048576", "1.5M"])
    case.add_context(trial, memory=False)
    case.force_variant(trial, call)
    return trial


def look_at_index(case, trial, places, records):
    trial.options["--index"] = "gather"
    code = "u4"
    if case.chance(0.4):
        code = case.pick(["u4", "u8", "i4", "i8"])
        trial.options["--index-type"] = f"{code[0]}{8 * int(code[1])}"
    data = pack(code, places)
    if records.descr is None:
        return is_raw(data, int(code[1]))
    return is_npy(f"'<{code}'", (len(places),), data, int(code[1]))


def check(case):
    """sort --check: whether a file is in order, which some are."""
    trial = Trial("sort", options={"--check": None})
    count = case.count()
    records, order = draw_input(case, trial, count)
    rows = records.rows()
    if case.chance(0.6):
        rows.sort(key=order)
        if count > 1 and case.chance(0.4):
            i = case.random.randrange(count - 1)
            rows[i], rows[i + 1] = rows[i + 1], rows[i]
        data = b"".join(rows)
        case.files[os.path.normpath(records.name)] = data if records.descr is None else \
            npy(records.descr, records.shape, data)
    keys = [order(row) for row in rows]
    breaks = [i for i in range(1, count) if keys[i] < keys[i - 1]]
    repeats = sum(keys[i] == keys[i - 1] for i in range(1, count))
    trial.operands = [records.name]
    if records.descr is None:
        trial.options["--record-bytes"] = records.width

    def report(document):
        wanted = {"records": count, "record_bytes": records.width, "sorted": not breaks, "breaks": len(breaks),
                  "first_break": [breaks[0] - 1, breaks[0]] if breaks else None, "duplicate_keys": repeats}
        found = {key: document.get(key) for key in wanted}
        return None if found == wanted else f"the report has {found}, not {wanted}"
    trial.report = report
    if breaks:
        trial.fail_with(4, records.name, f"record {breaks[0]} belongs before record {breaks[0] - 1}")
    return trial


FAMILY = {sort: 5, check: 1}
