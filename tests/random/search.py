"""search: which rows of a table have each key of a list."""

from collections import Counter

from arrays import Records, draw_records, is_npy, pack, put_array, random_items, swapped
from movement import shape_of
from trial import Trial

# What keys may be: their bits are compared, so signs do not matter and the units of dates do.
KEY_TYPES = [("'<u4'", "'<i4'", 4), ("'<i8'", "'<u8'", 8), ("'<f4'", "'<f4'", 4), ("'<f8'", "'>f8'", 8),
             ("'>u4'", "'<i4'", 4), ("'<M8[s]'", "'<M8[s]'", 8), ("'<m8[ns]'", "'>m8[ns]'", 8)]


def draw_keys(case, width):
    """Bytes of keys for a table, and of keys to look for, of which many are in the table."""
    rng = case.random
    table = random_items(rng, case.count(), width)
    rows = [table[i:i + width] for i in range(0, len(table), width)]
    if case.chance(0.3) and rows:  # a key that many rows have
        rows = [rows[0] if rng.random() < 0.5 else row for row in rows]
    pool = rows + [rng.randbytes(width) for _ in range(max(1, len(rows) // 4))]
    wanted = rng.choices(pool, k=case.count())
    most_matches = 50000
    times = Counter(rows)
    while sum(times[key] for key in wanted) > most_matches:
        wanted = wanted[:len(wanted) // 2]
    return rows, wanted


def in_file(key, descr, is_raw_file):
    """The bytes of a little-endian number as a file of this type has them."""
    return key if is_raw_file or descr[1] != ">" else key[::-1]


def write_table(case, trial, rows, width, descr):
    """Writes TABLE, whose rows are the keys or have them inside. Rows that have them are longer."""
    data = b"".join(rows)
    if descr is None:
        trial.options["--record-bytes"] = width
        return Records(case.put(case.name("table", ".bin"), data), data, width)
    if case.chance(0.6):
        shape = case.pick([(len(rows),), (len(rows), 1)])
        data = swapped(data, width) if descr[1] == ">" else data
        return Records(put_array(case, "table", descr, shape, data, width), data, width, descr, shape)
    return write_table_around(case, trial, rows, width, descr)


def write_structures(case, trial, rows, width, descr, before, behind):
    """A table of structures, of which --key names a field. Its order of bytes is known."""
    data = b"".join(case.random.randbytes(before) + (row[::-1] if descr[1] == ">" else row) + case.random.randbytes(behind)
                    for row in rows)
    trial.options["--key"] = name = case.pick(["key", "größe", "a.b"])
    structure = f"[('x', '|V{before}'), ('{name}', {descr}), ('y', '|S{behind}')]"
    row_bytes = before + width + behind
    operand = put_array(case, "table", structure, (len(rows),), data, row_bytes)
    return Records(operand, data, row_bytes, structure, (len(rows),))


def write_table_around(case, trial, rows, width, descr):
    before, behind = case.random.randint(0, 9), case.random.randint(0, 9)
    if before and behind and case.chance(0.2):
        return write_structures(case, trial, rows, width, descr, before, behind)
    rows = [case.random.randbytes(before) + row + case.random.randbytes(behind) for row in rows]
    data = b"".join(rows)
    row_bytes = before + width + behind
    trial.options["--key"] = f"{before}:{width}"
    if case.chance(0.5):
        trial.options["--record-bytes"] = row_bytes
        return Records(case.put(case.name("table", ".bin"), data), data, row_bytes)
    shape = (len(rows), row_bytes)
    return Records(put_array(case, "table", "'|u1'", shape, data, 1), data, row_bytes, "'|u1'", shape)


def write_keys(case, trial, wanted, width, descr):
    """Writes KEYS. @returns its name and shape"""
    data = b"".join(wanted)
    if descr is None:
        trial.options["--key-bytes"] = width
        return case.put(case.name("keys", ".bin"), data), (len(wanted),)
    shape = shape_of(case, len(wanted))
    return put_array(case, "keys", descr, shape, swapped(data, width) if descr[1] == ">" else data, width), shape


def search(case):
    trial = Trial("search")
    of_keys, of_table, width = case.pick(KEY_TYPES)
    rows, wanted = draw_keys(case, width)
    keys_name, shape = write_keys(case, trial, wanted, width, None if case.chance(0.25) else of_keys)
    table = write_table(case, trial, rows, width, None if case.chance(0.25) else of_table)
    is_place = ":" in trial.options.get("--key", "")
    if table.descr is None or is_place or "--key-bytes" in trial.options:
        # Keys of raw files, and those at a place in rows, are compared as their bytes lie.
        wanted = [in_file(key, of_keys, "--key-bytes" in trial.options) for key in wanted]
        rows = [in_file(row, of_table, table.descr is None or is_place) for row in rows]
    trial.operands = [keys_name, table.name]
    trial.options["-o"] = prefix = case.name("found", "")
    places = {}
    for i, row in enumerate(rows):
        places.setdefault(row, []).append(i)
    kind = case.pick(["all", "all", "first", "count"])
    if kind == "first":
        trial.options["--matches"] = "first"
        found = [places.get(key, [2**32 - 1])[0] for key in wanted]
        trial.outputs[f"{prefix}.ids.npy"] = is_npy("'<u4'", shape, pack("u4", found), 4)
        matches = sum(key in places for key in wanted)
    elif kind == "count":
        trial.options["--matches"] = "count"
        found = [len(places.get(key, [])) for key in wanted]
        trial.outputs[f"{prefix}.counts.npy"] = is_npy("'<u4'", shape, pack("u4", found), 4)
        matches = sum(found)
    else:
        matches = look_for_all(case, trial, prefix, places, wanted, len(rows))

    def report(document):
        facts = {"keys": len(wanted), "records": len(rows), "distinct": len(places), "matches": matches}
        found = {name: document.get(name) for name in facts}
        return None if found == facts else f"the report has {found}, not {facts}"
    trial.report = report
    case.add_context(trial)
    case.force_variant(trial, case.pick(["build_hash_index", {"all": "hash_search", "first": "hash_find",
                                                              "count": "hash_count"}[kind]]))
    return trial


def look_for_all(case, trial, prefix, places, wanted, row_count):
    """Puts the files of a search for all matches into the trial. @returns how many matches there are"""
    ids, offsets = [], [0]
    for key in wanted:
        ids += places.get(key, [])
        offsets.append(len(ids))
    trial.outputs[f"{prefix}.offsets.npy"] = is_npy("'<u8'", (len(offsets),), pack("u8", offsets), 8)
    trial.outputs[f"{prefix}.ids.npy"] = is_npy("'<u4'", (len(ids),), pack("u4", ids), 4)
    if case.chance(0.3) and len(ids) < 20000:
        records = draw_records(case, "records", row_count, most_bytes=1 << 16)
        trial.options["--payload"] = records.name
        if records.descr is None:
            trial.options["--payload-bytes"] = records.width
        rows = records.rows()
        ending = "bin" if records.descr is None else "npy"
        trial.outputs[f"{prefix}.records.{ending}"] = records.is_like((len(ids),), b"".join(rows[i] for i in ids))
    return len(ids)


FAMILY = {search: 4}
