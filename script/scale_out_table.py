"""The table of docs/scale-out.md: calls between devices beside the same call on one, as `sheaf-bench scale-out` and
lab/peers/scale_out/torch_calls.py recorded them."""

import collections

from results_file import BadInput, check_number, machine_text, shown, table

TRANSPORTS = {"copies": "copies", "nccl": "NCCL", "threads": "threads"}
PEERS = {"cub.nccl.by_hand": "CUB, NCCL, CUB by hand", "torch": "`torch.distributed`"}
NOTHING = "Nothing has been recorded yet."
MODEL_HOLDS = 0.15  # at most so far off


class Call:
    """What was recorded of one call on so many devices by one transport."""

    def __init__(self, row, recorded, origin):
        self.recorded, self.origin = recorded, origin
        self.name, self.is_prepared = row["problem"], row["is_prepared"]
        self.machine_name, self.devices, self.transport = row["machine"], row["devices"], row["transport"]
        self.seconds, self.one_seconds = row["median_seconds"], row["one_seconds"]
        self.bound_seconds, self.predicted_seconds = row["bound_seconds"], row["predicted_seconds"]

    @property
    def ratio(self):
        """How many times the rows of one device all do in its time."""
        return self.devices * self.one_seconds / self.seconds

    @property
    def model(self):
        return None if self.predicted_seconds is None else self.predicted_seconds / self.seconds


def check_text(row, field, place):
    value = row.get(field)
    if not isinstance(value, str) or not value or len(value) > 256 or not value.isprintable() or set(value) & set("|`<>"):
        raise BadInput(f"{place}: {field} is {shown(value)}, not a text that a table can show")


def check_row(row, place):
    for field in ("problem", "who", "machine", "transport"):
        check_text(row, field, place)
    if row["transport"] not in TRANSPORTS:
        raise BadInput(f"{place}: transport is {shown(row['transport'])}, not one of {', '.join(TRANSPORTS)}")
    if not isinstance(row.get("is_prepared"), bool):
        raise BadInput(f"{place}: is_prepared is {shown(row.get('is_prepared'))}, not true or false")
    devices = row.get("devices")
    if isinstance(devices, bool) or not isinstance(devices, int) or not 2 <= devices <= 1024:
        raise BadInput(f"{place}: devices is {shown(devices)}, not a number from 2 to 1024")
    place = f"{place} ({row['problem']}/{row['who']})"
    check_number(row, "median_seconds", place)
    if row["who"] == "sheaf":
        check_number(row, "one_seconds", place)
    for field in ("one_seconds", "bound_seconds", "predicted_seconds"):
        row.setdefault(field, None)
        if row[field] is not None:
            check_number(row, field, place)
    if row.get("verified") is not True:
        raise BadInput(f"{place}: the answer was not verified")


def rows_of(document, recorded, path):
    """The calls of a file of --json, and the peers' rows: ({key: Call}, {key: [row]}). Most files have none."""
    rows = document.get("scale_out_rows", [])
    if not isinstance(rows, list):
        raise BadInput(f"{path}: scale_out_rows is no list")
    calls = {}
    peers = collections.defaultdict(list)
    for number, row in enumerate(rows):
        place = f"{path}: row {number} of scale_out_rows"
        if not isinstance(row, dict):
            raise BadInput(f"{place}: is not an object")
        machines = document["machines"]
        backend = row.get("backend")
        if not isinstance(backend, str) or backend not in machines:
            raise BadInput(f"{place}: backend is {shown(backend)}, of which machines has none")
        row = {**row, "machine": machines[backend].get("machine")}
        check_row(row, place)
        where = (row["machine"], row["devices"], row["problem"])
        if row["who"] != "sheaf":
            peers[where].append(row)
            continue
        key = (*where, row["is_prepared"], row["transport"])
        if key in calls:
            raise BadInput(f"{place}: {row['problem']} appears twice")
        calls[key] = Call(row, recorded, path)
    return calls, peers


def newest_of(files):
    """Of (calls, peers) of many files, with when each was recorded: the newest of each."""
    calls = {}
    peers = {}
    for recorded, found, others in sorted(files, key=lambda file: file[0]):
        for key, call in found.items():
            before = calls.get(key)
            if before is not None and before.recorded == call.recorded:
                raise BadInput(f"{call.origin} and {before.origin} were recorded at the same time and both have {call.name}")
            calls[key] = call
        for key, rows in others.items():
            for row in rows:
                peers.setdefault(key, {})[(row["who"], row["is_prepared"])] = row
    return calls, peers


def time_text(seconds):
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def bold_below(value, limit):
    text = f"{value:.2f}"
    return f"**{text}**" if value < limit else text


def peer_cells(call, peers):
    """The fastest peer of a call, and its time over ours."""
    rows = peers.get((call.machine_name, call.devices, call.name), {}).values()
    rows = [row for row in rows if row["is_prepared"] <= call.is_prepared]
    if not rows:
        return ["", ""]
    best = min(rows, key=lambda row: row["median_seconds"])
    return [PEERS.get(best["who"], best["who"]), bold_below(best["median_seconds"] / call.seconds, 1)]


def line_of(call, texts, peers):
    model = "" if call.model is None else f"{call.model:.2f}"
    if call.model is not None and abs(call.model - 1) > MODEL_HOLDS:
        model = f"**{model}**"
    share = "" if call.bound_seconds is None else f"{100 * call.bound_seconds / call.seconds:.0f} %"
    return [texts[call.name] + (", prepared" if call.is_prepared else ""), TRANSPORTS[call.transport],
            time_text(call.one_seconds), time_text(call.seconds), bold_below(call.ratio, 1), model, share,
            *peer_cells(call, peers)]


def model_text(calls):
    off = [abs(call.model - 1) for call in calls if call.model is not None]
    if not off:
        return []
    return [f"The model is off by {100 * sum(off) / len(off):.0f} % in the mean of these rows, at most by "
            f"{100 * max(off):.0f} %; {sum(o <= MODEL_HOLDS for o in off)} of {len(off)} are within "
            f"{100 * MODEL_HOLDS:.0f} %."]


def lines(files, describe):
    """The lines between the marks of docs/scale-out.md. @param describe  {name: text} of names of problems"""
    calls, peers = newest_of(files)
    if not calls:
        return ["", NOTHING, ""]
    texts = describe(sorted({call.name for call in calls.values()}))
    places = collections.defaultdict(list)
    for call in calls.values():
        places[(call.devices, machine_text(call.machine_name))].append(call)
    out = []
    for (devices, machine), found in sorted(places.items()):
        heads = ["each device has", "by", "one device", f"all {devices}", "times the rows", "model / measured",
                 "NCCL's all-to-all", "best peer", "peer / ours"]
        dates = sorted({call.recorded[:10] for call in found})
        date = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        out += ["", f"{devices} x {machine}, recorded {date}:", "",
                *table(heads, [line_of(call, texts, peers) for call in found], left=2), "", *model_text(found)]
    return [*out, ""]
