"""split and multi-split: the records of each category together, in order."""

from collections import Counter

from arrays import draw_numbers_file, draw_records, is_npy, is_raw, npy, pack, write_records
from keys import draw_structures
from trial import Trial

INDEX_LIMITS = {"u32": 2**32, "u64": 2**63, "i32": 2**31, "i64": 2**63}


def field_of(row, offset, bits, from_left):
    """The number that lies in these bits of a record."""
    if from_left:
        return int.from_bytes(row, "big") >> (8 * len(row) - offset - bits) & ((1 << bits) - 1)
    return int.from_bytes(row, "little") >> offset & ((1 << bits) - 1)


def draw_bits(case, trial, width):
    """--key, --bits and --from-left for records of this width. @returns (offset, bits, from_left)"""
    most = min(96, 8 * width)
    bits = case.random.randint(1, min(most, case.pick([1, 2, 4, 8, 8, 8, 11, 16, 32, 96])))
    offset = case.pick([0, 8 * width - bits, case.random.randint(0, 8 * width - bits)])
    from_left = case.chance(0.3)
    if offset % 8 == 0 and bits % 8 == 0 and case.chance(0.5):
        trial.options["--key"] = f"{offset // 8}:{bits // 8}"
    elif case.chance(0.3):  # bits of bytes that begin before them
        first = case.random.randint(0, offset // 8)
        trial.options["--key"] = f"{first}:{width - first}"
        trial.options["--bits"] = f"{offset - 8 * first}:{bits}"
    else:
        trial.options["--bits"] = f"{offset}:{bits}"
    if from_left:
        trial.options["--from-left"] = None
    return offset, bits, from_left


def draw_field(case, trial, count, stem):
    """Writes structures, and --key says a field of theirs, or bits of it. @returns (records, categories, how many)"""
    whole = case.pick([("'|u1'", "u", 1, False), ("'<u2'", "u", 2, False), ("'>u2'", "u", 2, True),
                       ("'<i4'", "i", 4, False), ("'>u8'", "u", 8, True), ("'|b1'", "b", 1, False)])
    descr, width, data, fields = draw_structures(case, count, whole)
    records = write_records(case, stem, data, width, descr, (count,), 1)
    field = fields[0]
    first, bits = 0, 8 * field.width
    if bits > 16 or case.chance(0.4):
        bits = case.random.randint(1, min(bits, 12))
        first = case.random.randint(0, 8 * field.width - bits)
        trial.options["--bits"] = f"{first}:{bits}"
    trial.options["--key"] = field.name
    taken = [row[field.offset:field.offset + field.width] for row in records.rows()]
    of = [int.from_bytes(number, "big" if field.is_big else "little") >> first & ((1 << bits) - 1) for number in taken]
    return records, of, 1 << bits


def draw_categories(case, trial, count, is_raw_file):
    """Writes KEYS that are categories. @returns (the category of each record, how many there are)"""
    categories = case.pick([1, 2, 3, 7, 16, 100, 255, 256, 257, 1000, 5000, 70000])
    codes = [code for code, most in (("u1", 256), ("u2", 65536), ("u4", 2**32)) if categories <= most]
    code = case.pick(codes)
    of = [int(categories * case.random.random() ** case.pick([1, 1, 6])) for _ in range(count)]
    trial.options["--categories"] = categories
    name = "categories.bin" if is_raw_file else "categories.npy"
    if count and categories < 256 ** int(code[1]) and case.chance(0.1):
        wrong = case.random.randrange(count)
        of[wrong] = case.random.randint(categories, min(256 ** int(code[1]) - 1, categories + 3))
        trial.fail_with(3, name, str(of[wrong]))
    data = pack(code, of)
    if is_raw_file:
        trial.options["--key-bytes"] = int(code[1])
        case.put(name, data)
    else:
        case.put(name, npy("'|u1'" if code == "u1" else f"'<{code}'", (count,), data))
    trial.options["--keys"] = name
    return of, categories


def draw_keys(case, trial, count):
    """Writes KEYS. @returns (their categories, how many there are)"""
    if case.chance(0.1):
        keys, of, categories = draw_field(case, trial, count, "keys")
        trial.options["--keys"] = keys.name
        return keys, of, categories
    keys = draw_records(case, "keys", count, most_bytes=1 << 16)
    trial.options["--keys"] = keys.name
    if keys.descr is None:
        trial.options["--key-bytes"] = keys.width
    field = draw_bits(case, trial, keys.width)
    return keys, [field_of(row, *field) for row in keys.rows()], 1 << field[1]


def bounds_of(of, categories):
    """Where each category begins, and where the last ends."""
    counts = Counter(of)
    bounds = [0]
    for category in range(categories):
        bounds.append(bounds[-1] + counts[category])
    return bounds


def split(case):
    trial = Trial("split")
    count = case.count()
    kind = case.pick(["records", "records", "records", "gather", "scatter"])
    source = case.pick(["record", "record", "keys", "categories"])
    has_in = kind == "records" or source == "record" or case.chance(0.5)
    is_named = source == "record" and case.chance(0.1)
    records = draw_records(case, "in", count) if has_in and not is_named else None
    keys = None
    if is_named:
        records, of, categories = draw_field(case, trial, count, "in")
    elif source == "record":
        field = draw_bits(case, trial, records.width)
        of, categories = [field_of(row, *field) for row in records.rows()], 1 << field[1]
    elif source == "keys":
        keys, of, categories = draw_keys(case, trial, count)
    else:
        is_raw_file = case.chance(0.3)
        of, categories = draw_categories(case, trial, count, is_raw_file)
    if has_in:
        trial.operands = [records.name]
        if records.descr is None:
            trial.options["--record-bytes"] = records.width
    order = sorted(range(count), key=lambda i: of[i])  # Python's sort is stable, as a split is
    like_raw = records.descr is None if has_in else keys.descr is None if keys else is_raw_file
    trial.options["-o"] = out = case.name("out", ".bin" if like_raw else ".npy")
    if kind == "records":
        look = look_at_records(case, trial, records, of, order)
    else:
        look = look_at_index(case, trial, kind, order, like_raw)
    wants_offsets = categories <= 1 << 16 and case.chance(0.4)
    if wants_offsets:
        trial.options["--offsets"] = "offsets.npy"
    if trial.exits == {0}:
        trial.outputs[out] = look
        if wants_offsets:
            data = pack("u8", bounds_of(of, categories))
            trial.outputs["offsets.npy"] = is_npy("'<u8'", (categories + 1,), data, 8)
        trial.report = lambda d: None if d["records"] == count else f"{d['records']} records, not {count}"
    case.add_context(trial)
    call = {"records": "split_unstable" if "--unstable" in trial.options else "split",
            "gather": "split_gather_index", "scatter": "split_scatter_index"}[kind]
    case.force_variant(trial, call)
    return trial


def look_at_records(case, trial, records, of, order):
    rows = records.rows()
    if not case.chance(0.3):
        return records.is_like((records.count,), b"".join(rows[i] for i in order))
    trial.options["--unstable"] = None
    bounds = bounds_of([of[i] for i in order], max(of, default=0) + 1) if max(of, default=0) < 1 << 17 else None

    def check(data):
        found = [data[i:i + records.width] for i in range(0, len(data), records.width)]
        wanted = [rows[i] for i in order]
        if len(found) != len(wanted):
            return f"{len(found)} records, not {len(wanted)}"
        if bounds is None:
            return None if sorted(found) == sorted(wanted) else "other records than IN has"
        for category, (begin, end) in enumerate(zip(bounds, bounds[1:])):
            if sorted(found[begin:end]) != sorted(wanted[begin:end]):
                return f"category {category} has other records than those of IN"
        return None
    return records.is_like((records.count,), check=check)


def look_at_index(case, trial, kind, order, like_raw):
    trial.options["--index"] = kind
    code = "u4"
    if case.chance(0.4):
        name = case.pick(list(INDEX_LIMITS))
        trial.options["--output-type"] = name
        code = name[0] + str(int(name[1:]) // 8)
    if kind == "scatter":
        places = [0] * len(order)
        for place, i in enumerate(order):
            places[i] = place
        order = places
    data = pack(code, order)
    return is_raw(data, int(code[1])) if like_raw else is_npy(f"'<{code}'", (len(order),), data, int(code[1]))


def draw_first(case, trial, lengths, name_of_categories):
    """Writes FIRST: where the categories of each record begin. One in ten is wrong."""
    first = [0]
    for length in lengths:
        first.append(first[-1] + length)
    is_wrong = case.chance(0.1)
    if is_wrong:
        at = case.random.randrange(len(first))
        if at == 0:
            first[0], words = 1, ["[0] is 1, not 0"]
        elif at == len(first) - 1 or first[at] == 0:
            first[-1] += 1
            words = [f"[{len(first) - 1}], the last, is {first[-1]}", name_of_categories]
        else:
            first[at] += first[-1]
            words = [f"[{at + 1}] is {first[at + 1]}, below [{at}], which is {first[at]}"]
    name, raw_type = draw_numbers_file(case, "first", first, (len(first),), case.chance(0.3))
    trial.options["--row-offsets"] = name
    if raw_type:
        trial.options["--index-type"] = raw_type
    if is_wrong:
        trial.fail_with(3, name.split(".npz:")[0], *words)


def multi_split(case):
    """Of either subcommand: split does it with --row-offsets, and writes the sources by --index gather, too."""
    of_split = case.chance(0.5)
    trial = Trial("split" if of_split else "multi-split")
    count = case.count(1500)
    most = case.pick([0, 1, 2, 3, 8])
    lengths = [case.random.randint(0, most) if case.chance(0.9) else case.random.randint(0, 20) for _ in range(count)]
    of, categories = draw_categories(case, trial, sum(lengths), case.chance(0.3))
    draw_first(case, trial, lengths, trial.options["--keys"])
    record_of = [record for record, length in enumerate(lengths) for _ in range(length)]
    sources = [record_of[e] for e in sorted(range(len(of)), key=lambda e: of[e])]
    wants_records = case.chance(0.7)
    looks = {}
    if wants_records:
        records = draw_records(case, "in", count, most_bytes=1 << 17)
        trial.operands = [records.name]
        if records.descr is None:
            trial.options["--record-bytes"] = records.width
        trial.options["-o"] = out = case.name("out", ".bin" if records.descr is None else ".npy")
        rows = records.rows()
        looks[out] = records.is_like((len(sources),), b"".join(rows[i] for i in sources))
    if not wants_records or case.chance(0.5):
        code = "u4"
        if case.chance(0.4):
            name = case.pick(list(INDEX_LIMITS))
            trial.options["--output-type"] = name
            code = name[0] + str(int(name[1:]) // 8)
        out, data = "sources.npy", pack(code, sources)
        look = is_npy(f"'<{code}'", (len(sources),), data, int(code[1]))
        if of_split and not wants_records and case.chance(0.5):
            is_raw_index = "--key-bytes" in trial.options
            trial.options["--index"] = "gather"
            trial.options["-o"] = out = case.name("index", ".bin" if is_raw_index else ".npy")
            look = is_raw(data, int(code[1])) if is_raw_index else look
        else:
            trial.options["--sources"] = out
        looks[out] = look
    if categories <= 1 << 16 and case.chance(0.4):
        trial.options["--offsets"] = "offsets.npy"
        data = pack("u8", bounds_of(of, categories))
        looks["offsets.npy"] = is_npy("'<u8'", (categories + 1,), data, 8)
    if trial.exits == {0}:
        trial.outputs = looks
        trial.report = lambda d: None if d["records"] == len(of) else f"{d['records']} records, not {len(of)}"
    case.add_context(trial)
    case.force_variant(trial, "split")  # its variants are those of the split inside
    return trial


FAMILY = {split: 4, multi_split: 2}
