"""sort: records by their keys, in memory and in runs, and where they would come from."""

import os
import signal

from arrays import draw_records, is_npy, is_raw, npy, pack, write_records
from keys import draw_array, draw_names, draw_places, draw_structures
from trial import Trial


def draw_input(case, trial, count, may_be_wide=True):
    """Writes IN. @returns its records, and what they are sorted by"""
    if case.chance(0.1):
        descr, width, data, fields = draw_structures(case, count)
        order = draw_names(case, trial, fields)
    elif case.chance(0.4):
        descr, width, data, order = draw_array(case, trial, count)
    else:
        records = draw_records(case, "in", count, 1 << 18 if may_be_wide else 64 * count)
        return records, draw_places(case, trial, records.width)
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
    keys = [order(row) for row in rows]
    places = sorted(range(count), key=keys.__getitem__)  # Python's sort is stable
    trial.options["-o"] = out = case.name("out", ".bin" if records.descr is None else ".npy")
    call = "sort_records"
    if case.chance(0.3):
        call = "sort_gather_index"
        trial.outputs[out] = look_at_index(case, trial, places, records)
    else:
        trial.outputs[out] = records.is_like((count,), b"".join(rows[i] for i in places))
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
        trial.options["--output-type"] = f"{code[0]}{8 * int(code[1])}"
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
    if case.chance(0.6) and records.is_plain:
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


def killed(case):
    """A sort in runs that is told to end: no file of its own is left, and the result is whole or not there."""
    trial = Trial("sort")
    count = case.random.randint(50000, 100000)
    data = case.random.randbytes(64 * count)
    rows = [data[i:i + 64] for i in range(0, len(data), 64)]
    trial.operands = [case.put("in.bin", data)]
    trial.options = {"--record-bytes": 64, "--key": "0:10", "--memory": "1M", "-o": "out.bin"}
    trial.outputs["out.bin"] = is_raw(b"".join(sorted(rows, key=lambda row: row[:10])), 64)
    case.add_context(trial, ("cpu", "cuda"), memory=False)
    trial.killed_by = case.pick([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL]), case.random.uniform(0, 0.3)
    return trial


FAMILY = {sort: 5, check: 1, killed: 0.2}
