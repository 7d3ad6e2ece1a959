"""The pictures of docs/pictures, one function each: what they show is what lab/results has.

Pictures of an algorithm show a small example that is computed here, and times that were recorded.
"""

import collections
import math

from results_file import machine_text
from svg_drawing import SERIES, Drawing, LogAxis, Panel

WIDTH = 880
KIBI, MEBI, GIBI = 1 << 10, 1 << 20, 1 << 30
HOLD = 0.97  # as in script/update-tables

# The names of families, as people call them.
FAMILIES = {"movement": "gather and scatter", "split": "split", "reduce": "sums by index", "sort": "sort",
            "hash": "hash search", "sparse": "sparse products", "edges": "sums over edges",
            "linked_list": "linked lists"}
BACKENDS = {"cuda": "GPUs", "cpu": "CPUs"}


def bytes_text(count):
    for unit, text in ((GIBI, "GiB"), (MEBI, "MiB"), (KIBI, "KiB")):
        if count >= unit:
            return f"{count / unit:.0f} {text}"
    return f"{count} B"


def seconds_text(seconds):
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def power_ticks(low, high):
    """Powers of ten from low to high, with their texts."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [(10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}") for power in range(first, last + 1)]


def quantile(ordered, share):
    return ordered[round(share * (len(ordered) - 1))]


def family_text(family):
    return FAMILIES.get(family, family.replace("_", " "))


# Random access against footprint


WIDTHS_SHOWN = (4, 8, 16, 64, 256)


def round_up(value):
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0**math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))


def access_panel(drawing, profile, field, title, corner, size):
    left, top = corner
    footprints = [rate["footprint_bytes"] for rate in profile[field]]
    copies = [(rate["footprint_bytes"], rate["bytes_per_second"] / 1e9) for rate in profile["streams"]
              if min(footprints) <= rate["footprint_bytes"] <= max(footprints)]
    curves = {width: [(rate["footprint_bytes"], rate["records_per_second"] * width / 1e9) for rate in profile[field]
                      if rate["record_bytes"] == width] for width in WIDTHS_SHOWN}
    rates = [rate for curve in curves.values() for _, rate in curve] + [rate for _, rate in copies]
    low, high = 1 / round_up(1 / min(rates)), round_up(max(rates))
    panel = Panel(drawing, left, top, left + size[0], top + size[1], (min(footprints), max(footprints)), (low, high))
    x_ticks = [(1 << power, bytes_text(1 << power)) for power in range(15, 41, 5)
               if min(footprints) <= 1 << power <= max(footprints)]
    panel.axes(x_ticks, power_ticks(low, high), "footprint", "GB/s of records")
    drawing.text(left, top - 24, title, size=13, bold=True)
    for level, cache in enumerate(profile["cache_levels"], 1):
        if min(footprints) < cache < max(footprints):
            drawing.line(panel.x(cache), top, panel.x(cache), top + size[1], "soft", 1, "2 3")
            x = max(panel.x(cache), left + 34)
            drawing.text(x, top - 6, f"L{level} {bytes_text(cache)}", "soft", 10, "middle")
    panel.curve(copies, "soft", 2, "6 4")
    for place, (width, curve) in enumerate(curves.items()):
        panel.curve(curve, SERIES[place])


def random_access(results):
    pair = [("h200/model.json", "NVIDIA H200"), ("xeon-2-threads/model.json", "Xeon, 2 threads")]
    profiles = [(results.record(file)["profile"], name) for file, name in pair if results.has(file)]
    if not profiles:
        return None
    drawing = Drawing(WIDTH, 40 + 290 * len(profiles), "Random access against footprint",
                      "Rates of random reads and writes of records of 4 to 256 bytes, by the bytes that they are "
                      "spread over, on a GPU and on two threads of a CPU. Rates fall where a cache ends, more for "
                      "short records, of which each costs a whole sector of memory. A dashed line is a streamed copy, "
                      "the limit of the device.")
    for place, width in enumerate(WIDTHS_SHOWN):
        left = 130 + 98 * place
        drawing.line(left, 20, left + 24, 20, SERIES[place], 3)
        drawing.text(left + 30, 24, f"{width} bytes", size=12)
    drawing.text(56, 24, "records of", size=12)
    drawing.line(652, 20, 684, 20, "soft", 2, "6 4")
    drawing.text(692, 24, "a copy, read + written")
    for place, (profile, name) in enumerate(profiles):
        top = 74 + 290 * place
        access_panel(drawing, profile, "random_read", f"{name}: random reads", (72, top), (342, 200))
        access_panel(drawing, profile, "random_write", f"{name}: random writes", (512, top), (338, 200))
    return drawing


# Layers of the library


def layers(results):
    drawing = Drawing(WIDTH, 472, "Layers of the library",
                      "From the top: programs, the command and the laboratory call the public headers. Primitives "
                      "check arguments, describe the problem, choose a variant and run it. They stand on the plan and "
                      "the core. Backends for the CPU, CUDA and OpenGL bring the variants. Calls between ranks are "
                      "made of calls of the primitives. Includes point downwards only.")

    def box(x, y, width, folder, words, look, height=62):
        if folder is not None:
            results.require(folder)
        drawing.rect(x, y, width, height, look, 5, 0.16)
        drawing.frame(x, y, width, height, look)
        drawing.text(x + width / 2, y + 24, folder or "your program", size=13, anchor="middle", bold=True)
        drawing.lines(x + width / 2, y + 42, words, "soft", 11, "middle", 1.25)

    top = 20
    box(20, top, 200, None, ["C++, Python, torch, JAX"], "c2")
    box(235, top, 200, "apps/sheaf", ["the command, works on files"], "c2")
    box(450, top, 200, "lab", ["inputs, peers, measurements"], "c2")
    box(665, top, 195, "papers", ["forms of four papers"], "c2")
    for x in (120, 335, 550, 762):
        drawing.arrow(x, 84, x, 108)
    box(20, 110, 840, "include/sheaf", ["contracts: one header for each primitive; context, memory, records, plan"],
        "c0")
    drawing.arrow(160, 174, 160, 198)
    drawing.arrow(580, 174, 580, 198)
    box(20, 200, 280, "src/distributed", ["calls between processes or GPUs"], "c3")
    drawing.arrow(302, 231, 326, 231)
    box(328, 200, 532, "src/primitives", ["check, describe, choose, run; a serial reference of each"], "c0")
    drawing.arrow(340, 264, 340, 288)
    results.require("src/composition")
    drawing.text(740, 317, "tables of variants", "soft", 11, "end")
    drawing.text(740, 332, "(src/composition)", "soft", 11, "end")
    box(20, 290, 330, "src/plan", ["variants and costs, from measured rates; profiles"], "c0")
    drawing.arrow(352, 321, 376, 321)
    box(378, 290, 212, "src/core", ["contexts, memory, errors"], "c0")
    box(20, 390, 268, "src/cpu", ["threads, with OpenMP"], "c1")
    box(306, 390, 268, "src/cuda", ["kernels for NVIDIA GPUs"], "c1")
    box(592, 390, 268, "src/opengl", ["shaders, through EGL"], "c1")
    for x in (154, 440):
        drawing.line(x, 371, x, 390, "soft", 1.5)
    drawing.line(154, 371, 750, 371, "soft", 1.5)
    drawing.arrow(750, 390, 750, 266)
    return drawing


# A plan and a choice


def plan_and_choose(results):
    plan = results.plan()
    if plan is None:
        return None
    recorded = results.record(plan["profile"].removeprefix("lab/results/"))["seconds"][plan["problem"]]
    variants = plan["variants"]
    able = [v for v in variants if v["applicable"]]
    chosen = min((v for v in able if not v["reason"]), key=lambda v: v["predicted_seconds"])
    drawing = Drawing(WIDTH, 150 + 58 * len(variants), "Plan and choice of one call",
                      f"For a gather of 2^28 records of 8 bytes in random order on an {plan['machine']}, each variant "
                      "says what it would cost, as terms of measured rates, or why it cannot run. "
                      f"{chosen['variant']} is predicted to be fastest and runs; recorded times of the variants "
                      "stand beside the predictions.")
    steps = (("sheaf::gather", "2^28 records of 8 bytes, random"),
             ("plan of each variant", "seconds, by measured rates"),
             ("choose", "the least of those that can run"),
             ("run", "with the plan that won"))
    for place, (name, words) in enumerate(steps):
        left, look = 20 + 215 * place, "c0" if place < 3 else "c2"
        drawing.rect(left, 18, 195, 54, look, 5, 0.16)
        drawing.frame(left, 18, 195, 54, look)
        drawing.text(left + 97.5, 41, name, size=13, anchor="middle", bold=True)
        drawing.text(left + 97.5, 60, words, "soft", 10.5, "middle")
        if place:
            drawing.arrow(left - 19, 45, left - 1, 45)
    most = max(max(v["predicted_seconds"] for v in able), max(recorded.get(v["variant"], 0) for v in able))
    scale = 430 / most
    drawing.text(20, 102, f"sheaf plan {plan['problem']}", size=12, bold=True)
    drawing.rect(480, 93, 24, 10, "c0", 2)
    drawing.text(510, 102, "predicted", "soft", 11)
    drawing.rect(582, 93, 24, 10, "c2", 2)
    drawing.text(612, 102, "predicted, chosen", "soft", 11)
    drawing.line(728, 90, 728, 106, "ink", 3)
    drawing.text(736, 102, "recorded time", "soft", 11)
    for place, v in enumerate(variants):
        y = 122 + 58 * place
        is_chosen = v is chosen
        drawing.text(20, y + 15, v["variant"], size=13, bold=is_chosen)
        if not v["applicable"]:
            drawing.text(170, y + 15, f"cannot: {v['reason']}", "soft", 12)
            continue
        width = v["predicted_seconds"] * scale
        drawing.rect(170, y, width, 20, "c2" if is_chosen else "c0", 2, 0.4 if v["reason"] else None)
        measured = recorded.get(v["variant"])
        if measured is not None:
            drawing.line(170 + measured * scale, y - 4, 170 + measured * scale, y + 24, "ink", 3)
        end = 170 + max(width, (measured or 0) * scale) + 10
        drawing.text(end, y + 15, seconds_text(v["predicted_seconds"]) +
                     (f" (recorded {seconds_text(measured)})" if measured is not None else ""), size=12)
        drawing.text(170, y + 36, terms_text(v["terms"]) + (f"; {v['reason']}" if v["reason"] else ""), "soft", 11)
    drawing.text(170, 132 + 58 * len(variants), "Resources overlap: what that saves is a term below 0.", "soft", 11)
    return drawing


def terms_text(terms):
    texts = []
    for term in terms:
        milliseconds = term["seconds"] * 1e3
        if abs(milliseconds) >= 0.005:
            sign = "- " if milliseconds < 0 else "+ " if texts else ""
            texts.append(f"{sign}{term['what']} {abs(milliseconds):.2f}")
    return " ".join(texts) + " ms"


# Bucketed gather


def cells(drawing, x, y, size, values, looks, marks=None):
    """A row of cells with a number each; what is not there yet is empty."""
    for place, value in enumerate(values):
        left = x + place * size
        if value is not None:
            drawing.rect(left, y, size, size, looks[place], 0, 0.32)
        drawing.frame(left, y, size, size, "soft", 0, 1)
        if value is not None:
            drawing.text(left + size / 2, y + size / 2 + 4, str(value), size=11, anchor="middle")
    if marks:
        for place in marks:
            drawing.line(x + place * size, y - 5, x + place * size, y + size + 5, "ink", 2)


def bucketed_gather(results):
    times = results.recorded("h200/model.json", "gather/permutation/r8/u32/n=268435456",
                             ("cuda.direct", "cuda.bucketed"))
    if times is None:
        return None
    count, buckets, tile = 16, 4, 8
    index = [9, 2, 14, 7, 11, 0, 5, 12, 3, 15, 8, 1, 10, 6, 13, 4]
    look_of = [SERIES[(row * buckets) // count] for row in range(count)]
    drawing = Drawing(WIDTH, 470, "Bucketed gather",
                      "A gather of a long random list, in three steps. The list is cut into tiles; the entries of each "
                      "tile are sorted into buckets of the table. Then the table is read bucket by bucket, while a "
                      "bucket is in the cache. Then each tile's records are brought into the order of the list. On an "
                      f"H200, 2^28 records of 8 bytes take {seconds_text(times[1])} so, and "
                      f"{seconds_text(times[0])} with one random read a record.")
    x, size = 300, 34
    rows = {"index": 32, "lists": 132, "words": 232, "out": 372}

    def label(y, name, *words):
        drawing.text(20, y + 14, name, size=13, bold=True)
        drawing.lines(20, y + 31, words, "soft", 11)

    label(rows["index"], "index", "two tiles of 8 entries;", "colours are buckets of the table")
    cells(drawing, x, rows["index"], size, index, [look_of[row] for row in index], (0, tile, count))
    # A bucket's list has, tile by tile, the entries that name its records.
    order = sorted(range(count), key=lambda place: (look_of_bucket(index[place], count, buckets), place // tile,
                                                    index[place]))
    label(rows["lists"], "1  build_schedule", "sorts the entries of each tile", "into the lists of buckets")
    for slot, place in enumerate(order):
        drawing.line(x + (place + 0.5) * size, rows["index"] + size, x + (slot + 0.5) * size, rows["lists"],
                     look_of[index[place]], 1.3)
    ends = [sum(look_of_bucket(row, count, buckets) <= bucket for row in index) for bucket in range(-1, buckets)]
    order_looks = [look_of[index[place]] for place in order]
    cells(drawing, x, rows["lists"], size, [index[place] for place in order], order_looks, ends)
    label(rows["words"], "2  read_buckets", "reads the table bucket by bucket:", "random reads hit the L2 cache")
    for slot in range(count):
        drawing.line(x + (slot + 0.5) * size, rows["lists"] + size, x + (slot + 0.5) * size, rows["words"], "soft", 1)
    cells(drawing, x, rows["words"], size, [chr(ord("A") + index[place]) for place in order], order_looks, ends)
    for bucket in range(buckets):
        middle = x + (ends[bucket] + ends[bucket + 1]) / 2 * size
        drawing.text(middle, rows["words"] + size + 16, f"bucket {bucket}", "soft", 11, "middle")
    label(rows["out"], "3  collect_tiles", "restores each tile's order in", "shared memory, writes whole lines")
    for slot, place in enumerate(order):
        drawing.line(x + (slot + 0.5) * size, rows["words"] + size + 22, x + (place + 0.5) * size, rows["out"],
                     look_of[index[place]], 1.3)
    cells(drawing, x, rows["out"], size, [chr(ord("A") + row) for row in index], [look_of[row] for row in index],
          (0, tile, count))
    drawing.text(20, 446, f"2^28 records of 8 bytes, random, H200: {seconds_text(times[1])}; one random read a record: "
                          f"{seconds_text(times[0])}", size=13)
    return drawing


def look_of_bucket(row, count, buckets):
    return (row * buckets) // count


# Sort by codes


# How many keys of a list lie in each of 48 equal ranges of their numbers: a bell and a tail.
KEY_DENSITY = [1, 1, 1, 2, 4, 9, 19, 36, 58, 78, 88, 84, 70, 54, 41, 32, 26, 21, 18, 15, 13, 11, 10, 8, 7, 6, 6, 5, 5,
               4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def equal_shares(density, parts):
    """Where the range is cut, in units of a range, so that all parts have as many keys."""
    total, ends, so_far = sum(density), [], 0
    for place, keys in enumerate(density):
        while len(ends) < parts - 1 and so_far + keys >= total * (len(ends) + 1) / parts:
            ends.append(place + (total * (len(ends) + 1) / parts - so_far) / keys)
        so_far += keys
    return ends


def parts_of(density, ends):
    """The keys of each part."""
    bounds = [0, *ends, len(density)]
    parts = []
    for low, high in zip(bounds, bounds[1:]):
        parts.append(sum(keys * max(0, min(high, place + 1) - max(low, place)) for place, keys in enumerate(density)))
    return parts


def sort_by_codes(results):
    problem = results.problem("cuda", "sort_keys/uniform/r8/u64/n=268435456", "H200")
    if problem is None:
        return None
    key_bytes = 8
    # Codes: keys are read once before, read and written in two passes, and once more to finish.
    by_codes = key_bytes * (1 + 2 * 2 + 2)
    by_digits = key_bytes * (1 + 2 * key_bytes)
    parts = 12
    drawing = Drawing(WIDTH, 500, "Sort by codes",
                      "Digits cut the range of keys into equal ranges, of which few have most keys. Codes cut it so "
                      "that all have about as many: a sample of 4096 keys says where. Two passes by codes are enough, "
                      "and then each group of keys fits the shared memory of a block, which finishes it. A sort of "
                      f"2^28 keys of 8 bytes moves {by_codes} bytes a key so, and {by_digits} by digits of 8 bits.")
    left, right = 60, 580

    def distribution(top, title, ends):
        drawing.text(left, top, title, size=13, bold=True)
        bottom, tallest = top + 100, max(KEY_DENSITY)
        width = (right - left) / len(KEY_DENSITY)
        points = [(left, bottom)]
        for place, keys in enumerate(KEY_DENSITY):
            points += [(left + place * width, bottom - 84 * keys / tallest),
                       (left + (place + 1) * width, bottom - 84 * keys / tallest)]
        drawing.shape([*points, (right, bottom)], "c0", 0.35)
        for end in ends:
            drawing.line(left + end * width, top + 8, left + end * width, bottom, "ink", 1)
        drawing.line(left, bottom, right, bottom, "soft", 1)
        share = [keys / sum(KEY_DENSITY) for keys in parts_of(KEY_DENSITY, ends)]
        drawing.text(610, top, "keys in each part", size=12)
        for place, each in enumerate(share):
            drawing.rect(610 + place * 20, bottom - 84 * each / 0.55, 15, 84 * each / 0.55, "c1", 1)
        drawing.line(610, bottom, 610 + 20 * parts - 5, bottom, "soft", 1)
        drawing.text(610, bottom + 16, f"least {100 * min(share):.0f} %, most {100 * max(share):.0f} %", "soft", 11)

    distribution(28, "digits: equal ranges of keys", [len(KEY_DENSITY) * part / parts for part in range(1, parts)])
    distribution(172, "codes: equal numbers of keys", equal_shares(KEY_DENSITY, parts))
    drawing.text((left + right) / 2, 288, "key", "soft", 11, "middle")
    steps = (("sample", "4096 keys choose", "the map to codes"), ("count", "digits of codes", "keys read once"),
             ("2 passes", "by 8 bits of the code,", "decoupled look-back"),
             ("finish", "groups, in shared", "memory"))
    for place, (name, *words) in enumerate(steps):
        x = 60 + 200 * place
        drawing.rect(x, 310, 168, 66, "c0", 5, 0.16)
        drawing.frame(x, 310, 168, 66, "c0")
        drawing.text(x + 84, 331, name, size=13, anchor="middle", bold=True)
        drawing.lines(x + 84, 349, words, "soft", 11, "middle", 1.3)
        if place:
            drawing.arrow(x - 31, 343, x - 2, 343)
    ours, peer = problem.ours["median_seconds"], problem.peer["median_seconds"]
    bars = ((f"by codes: {by_codes} bytes moved a key", ours, "c2"),
            (f"by digits: {by_digits} bytes ({problem.peer_text.replace('`', '')})", peer, "c1"))
    for place, (name, seconds, look) in enumerate(bars):
        y = 416 + 34 * place
        drawing.text(60, y + 14, name, size=12)
        drawing.rect(345, y, 400 * seconds / max(ours, peer), 20, look, 2)
        drawing.text(353 + 400 * seconds / max(ours, peer), y + 15, seconds_text(seconds), size=12)
    drawing.text(60, 402, "2^28 uniform keys of 8 bytes, H200", "soft", 11)
    return drawing


# Predicted against measured


WITHIN = 1.25


def predictions(results):
    """{family: [(backend, measured, predicted)]} of every call that the planner chose for."""
    found = collections.defaultdict(list)
    for problem in results.problems:
        row = problem.ours
        if row.get("predicted_seconds") is not None:
            results.check_prediction(problem)
            found[problem.family].append((problem.backend, row["median_seconds"], row["predicted_seconds"]))
    return found


def predicted_and_measured(results):
    found = predictions(results)
    if not found:
        return None
    columns, wide, high = 4, 205, 232
    lines = -(-len(found) // columns)
    everything = [row for rows in found.values() for row in rows]
    low = min(min(row[1:]) for row in everything) / WITHIN
    top_value = max(max(row[1:]) for row in everything) * WITHIN
    near = share_within(everything)
    drawing = Drawing(WIDTH, 46 + high * lines, "Predicted against measured time",
                      f"Of {len(everything):,} recorded calls, the time that the planner predicted in the same run, "
                      f"against the median time, a plot for each family. {100 * near:.0f} % are within a factor of "
                      f"{WITHIN}. How keys are distributed is not known to a plan, which widens sorts, splits and "
                      "hash searches.")
    drawing.text(20, 26, f"{len(everything):,} recorded calls, {100 * near:.0f} % of them predicted within a factor of "
                         f"{WITHIN}", size=13, bold=True)
    for x, backend, look in ((600, "cuda", "c0"), (700, "cpu", "c1")):
        drawing.rect(x, 16, 11, 11, look)
        drawing.text(x + 17, 26, BACKENDS[backend])
    ticks = [(10.0**power, text) for power, text in ((-6, "1 us"), (-5, ""), (-4, ""), (-3, "1 ms"), (-2, ""), (-1, ""),
                                                     (0, "1 s")) if low <= 10.0**power <= top_value]
    for place, (family, rows) in enumerate(found.items()):
        left, top = 58 + wide * (place % columns), 72 + high * (place // columns)
        panel = Panel(drawing, left, top, left + 150, top + 150, (low, top_value), (low, top_value))
        panel.axes(ticks, ticks if place % columns == 0 else [(value, "") for value, _ in ticks])
        drawing.text(left, top - 22, family_text(family), size=12, bold=True)
        words = f"{len(rows):,} calls, {100 * share_within(rows):.0f} % within {WITHIN}"
        drawing.text(left, top - 7, words, "soft", 11)
        for backend, look in (("cuda", "c0"), ("cpu", "c1")):
            density(panel, [row[1:] for row in rows if row[0] == backend], look)
        panel.curve([(low, low), (top_value, top_value)], "ink", 1)
        if place // columns == lines - 1 or place + columns >= len(found):
            drawing.text(left + 75, top + 184, "measured", "soft", 11, "middle")
        if place % columns == 0:
            drawing.text(left - 42, top + 75, "predicted", "soft", 11, "middle", turn=True)
    return drawing


def share_within(rows):
    return sum(1 / WITHIN <= predicted / measured <= WITHIN for _, measured, predicted in rows) / len(rows)


def density(panel, points, look):
    """Squares of three units, darker where several points lie."""
    counts = collections.Counter((int((panel.x(x) - panel.left) // 3), int((panel.bottom - panel.y(y)) // 3))
                                 for x, y in points)
    for (column, line), count in sorted(counts.items()):
        opacity = 0.45 if count == 1 else 0.7 if count < 4 else 1
        panel.drawing.rect(panel.left + 3 * column, panel.bottom - 3 * line - 3, 3, 3, look, opacity=opacity)


# Speed over peers


def over_peers(results):
    groups = collections.defaultdict(list)
    for problem in results.problems:
        groups[(problem.backend, problem.family)].append(problem)
    if not groups:
        return None
    backends = [backend for backend in BACKENDS if any(key[0] == backend for key in groups)]
    height = 96 + 34 * len(groups) + 34 * len(backends)
    slow = sum(problem.factor < HOLD for problem in results.problems)
    drawing = Drawing(WIDTH, height, "Speed over the best peer, by family",
                      f"The time of the best peer over ours for {len(results.problems):,} recorded calls, by family: "
                      "the median, the middle half, the middle four fifths, and the least and the most. At 1.0 the "
                      f"peer is as fast; {slow:,} calls are below {HOLD}.")
    axis = LogAxis(1 / 8, 32, 230, 690)
    heading = f"Time of the best peer over ours, {len(results.problems):,} recorded calls"
    drawing.text(20, 26, heading, size=14, bold=True)
    drawing.text(860, 26, "mark: median; bar: middle half; pale bar: middle 80 %; line: all", "soft", 11, "end")
    y = 58
    for backend in backends:
        machines = sorted({machine_text(problem.machine_name).replace(" 80GB HBM3", "") for problem in results.problems
                           if problem.backend == backend})
        drawing.text(20, y + 8, f"{BACKENDS[backend]}: {'; '.join(machines)}", "soft", 12)
        y += 18
        rows = {family: found for (of, family), found in groups.items() if of == backend}
        for power in range(-3, 6):
            drawing.line(axis(2.0**power), y, axis(2.0**power), y + 34 * len(rows))
        for family, found in rows.items():
            peer_line(drawing, axis, y + 17, family, found)
            y += 34
        drawing.line(axis(1), y - 34 * len(rows) - 4, axis(1), y + 2, "ink", 2)
        y += 16
    for power in range(-3, 6):
        text = "1.0" if power == 0 else f"1/{2**-power}" if power < 0 else f"{2**power}"
        drawing.text(axis(2.0**power), y + 2, text, "ink" if power == 0 else "soft", 12, "middle", bold=power == 0)
    drawing.text(axis(1) - 10, y + 20, "peer is faster", "soft", 11, "end")
    drawing.text(axis(1) + 10, y + 20, "sheaf is faster", "soft", 11)
    return drawing


def peer_line(drawing, axis, y, family, problems):
    factors = sorted(problem.factor for problem in problems)
    median = quantile(factors, 0.5)
    slow = sum(factor < HOLD for factor in factors)
    peers = {problem.peer_text.replace("`", "") for problem in problems}
    drawing.text(20, y + (-1 if len(peers) == 1 else 4), family_text(family), size=13)
    if len(peers) == 1:
        drawing.text(20, y + 12, f"beside {peers.pop()}", "soft", 10)
    drawing.line(axis(factors[0]), y, axis(factors[-1]), y, "c0", 1.5)
    if factors[-1] > axis.high:
        drawing.arrow(axis(axis.high), y, axis(axis.high) + 10, y, "c0")
    if factors[0] < axis.low:
        drawing.arrow(axis(axis.low), y, axis(axis.low) - 10, y, "c0")
    thin, bar = (quantile(factors, 0.1), quantile(factors, 0.9)), (quantile(factors, 0.25), quantile(factors, 0.75))
    drawing.rect(axis(thin[0]), y - 4, axis(thin[1]) - axis(thin[0]), 8, "c0", 2, 0.4)
    drawing.rect(axis(bar[0]), y - 8, axis(bar[1]) - axis(bar[0]), 16, "c0", 2)
    drawing.rect(axis(median) - 4, y - 11, 8, 22, "page", 3)
    drawing.rect(axis(median) - 2, y - 10, 4, 20, "ink", 2)
    words = f"{len(factors):,} calls" if len(factors) > 1 else "1 call"
    drawing.text(705, y - 2, f"median {median:.2f}", size=12)
    drawing.text(705, y + 12, f"{words}, {slow:,} below {HOLD}", "soft", 11)


# Calls between devices


def longest_of_calls(rows):
    """Of each call the rows of most data, by the transport that is fastest there."""
    best = {}
    for row in rows:
        call, _, length = row["problem"].rpartition("/n=")
        kept = best.setdefault((call, row["is_prepared"]), (int(length), row))
        if (int(length), -row["median_seconds"]) > (kept[0], -kept[1]["median_seconds"]):
            best[(call, row["is_prepared"])] = (int(length), row)
    return [row for _, row in best.values()]


def scale_out(results):
    groups = collections.defaultdict(list)
    for row in results.scale_out():
        groups[(row["devices"], machine_text(row["machine"]))].append(row)
    if not groups:
        return None
    groups = {group: longest_of_calls(rows) for group, rows in groups.items()}
    lines = sum(len(rows) for rows in groups.values())
    most = max(devices for devices, _ in groups)
    drawing = Drawing(WIDTH, 64 + 26 * lines + 34 * len(groups), "Calls between devices",
                      f"How many times the rows of one device up to {most} devices do in its time, for {lines} "
                      "calls, each as long as it was recorded, of which every device has as many rows as the one. At 1 more devices hold more "
                      "rows and are no faster; the end of each axis is the number of devices.")
    drawing.text(20, 26, "Rows of all devices in the time of one device", size=14, bold=True)
    drawing.text(860, 26, "every device has as many rows as the one", "soft", 11, "end")
    y = 56
    for (devices, machine), rows in sorted(groups.items()):
        drawing.text(20, y + 4, f"{devices} x {machine}", "soft", 12)
        scale = 300 / devices
        bottom = y + 14 + 26 * len(rows)
        for times in range(devices + 1):
            if devices <= 8 or times % (devices // 8) == 0:
                drawing.line(420 + scale * times, y + 10, 420 + scale * times, bottom, "ink" if times == 1 else "rule",
                             2 if times == 1 else 1)
                drawing.text(420 + scale * times, y + 6, f"{times}", "soft", 11, "middle")
        for place, row in enumerate(rows):
            line = y + 27 + 26 * place
            times = devices * row["one_seconds"] / row["median_seconds"]
            text = row["text"]
            drawing.text(20, line + 4, text if len(text) <= 62 else text[:59] + "...", size=11)
            drawing.rect(420, line - 8, max(1, min(scale * times, 320)), 16, "c0" if times >= 1 else "c1", 2)
            drawing.text(750, line + 4, f"{times:.2f} ({row.get('transport', '')})", size=11)
        y = bottom + 20
    return drawing


PICTURES = {
    "random-access": random_access, "layers": layers, "plan": plan_and_choose, "bucketed-gather": bucketed_gather,
    "sort-by-codes": sort_by_codes, "predicted": predicted_and_measured, "peers": over_peers,
    "scale-out": scale_out,
}
