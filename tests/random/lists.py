"""rank and scan: linked lists in arrays."""

import math

from arrays import draw_numbers_file, is_npy, is_raw, moderate_floats, pack, put_array, random_floats, random_items, \
    swapped, unpack
from trial import Trial

PATTERNS = ["unknown", "sequential", "random", "partitioned:4", "clustered:16", "strided:3"]
EPSILON = {"f4": 2.0**-23, "f8": 2.0**-52}
LARGEST = {"f4": 3.4e38, "f8": 1.79e308}
POSITIVE_NAN = {"f4": pack("u4", [0x7FC00000]), "f8": pack("u8", [0x7FF8 << 48])}
NAMES = {"i4": "i32", "u4": "u32", "i8": "i64", "u8": "u64", "f4": "f32", "f8": "f64"}


def draw_lists(case, trial):
    """Writes LIST. @returns (its name, its nodes list by list in their order, whether it is raw)"""
    rng = case.random
    count = case.count()
    nodes = list(range(count))
    order = case.pick(["random", "random", "sequential", "reverse", "strided"])
    if order == "random":
        rng.shuffle(nodes)
    elif order == "reverse":
        nodes.reverse()
    elif order == "strided" and count:
        step = next(s for s in range(max(1, count // 3), count + 1) if math.gcd(s, count) == 1 or s == 1)
        nodes = [i * step % count for i in range(count)]
    has_many = case.chance(0.4)
    cuts = sorted(rng.sample(range(1, count), rng.randint(0, min(count - 1, case.pick([1, 5, count]))))) \
        if has_many and count > 1 else []
    lists = [nodes[a:b] for a, b in zip([0] + cuts, cuts + [count])] if count else []
    if has_many:
        trial.options["--lists"] = "many"
    elif case.chance(0.2):
        trial.options["--lists"] = "one"
    code = case.pick(["u4", "u8", "i4", "i8"])
    if 0 < count < 255 and case.chance(0.2):
        code = None  # any type that numpy has for whole numbers
    successors = [0] * count
    for each in lists:
        for node, following in zip(each, each[1:]):
            successors[node] = following
        successors[each[-1]] = end_of(case, each[-1], code)
    is_raw_file = code is not None and case.chance(0.3)
    is_wrong = count > 0 and case.chance(0.12) and spoil(case, successors, lists, has_many, code)
    name, raw_type = draw_numbers_file(case, "list", successors, (count,), is_raw_file, code)
    if raw_type:
        trial.options["--index-type"] = raw_type
    if is_wrong:
        trial.fail_with(3, name)
    return name, lists, is_raw_file


def end_of(case, node, code):
    """What ends a list: a negative number, all bits set, or the node's own."""
    if code is None or code[0] == "i":
        return case.pick([-1, node] + ([-2, -100] if code else []))
    return case.pick([256 ** int(code[1]) - 1, node])


def spoil(case, successors, lists, has_many, code):
    """Makes the successors of some lists those of no list. @returns whether that could be done"""
    rng = case.random
    count = len(successors)
    ways = ["past"] if code else []
    longest = max(lists, key=len)
    if len(longest) > 2:
        ways += ["cycle", "joined"]
    if not has_many and count > 1:
        ways.append("two")
    if not ways:
        return False
    way = case.pick(ways)
    if way == "past":
        successors[rng.randrange(count)] = case.pick([count, count + 1, count + 12345])
    elif way == "cycle":  # the last node of a list leads to one of its own
        successors[longest[-1]] = longest[rng.randrange(len(longest) - 1)]
    elif way == "joined":  # two nodes lead to one
        at = rng.randrange(2, len(longest))
        successors[longest[at - 2]] = longest[at]
    elif way == "two":
        node = longest[rng.randrange(len(longest) - 1)]
        successors[node] = node
    return True


def rank(case):
    trial = Trial("rank")
    name, lists, is_raw_file = draw_lists(case, trial)
    trial.operands = [name]
    code = "u4"
    if case.chance(0.3):
        code = case.pick(["u4", "u8", "i4", "i8"])
        trial.options["--output-type"] = f"{code[0]}{8 * int(code[1])}"
    count = sum(map(len, lists))
    ranks = [0] * count
    for each in lists:
        for place, node in enumerate(each):
            ranks[node] = place
    trial.options["-o"] = out = case.name("ranks", ".bin" if is_raw_file else ".npy")
    data = pack(code, ranks)
    if trial.exits == {0}:
        trial.outputs[out] = is_raw(data, int(code[1])) if is_raw_file else \
            is_npy(f"'<{code}'", (count,), data, int(code[1]))
    finish(case, trial, "list_rank", count)
    return trial


def finish(case, trial, call, count):
    if case.chance(0.2):
        trial.options["--pattern"] = case.pick(PATTERNS)
    trial.report = lambda d: None if d["records"] == count else f"{d['records']} nodes, not {count}"
    case.add_context(trial)
    case.force_variant(trial, call)


def together(op, code, earlier, later):
    """Integers put together, which wrap around."""
    bits = 8 * int(code[1])
    result = {"add": lambda: earlier + later, "mul": lambda: earlier * later, "min": lambda: min(earlier, later),
              "max": lambda: max(earlier, later), "and": lambda: earlier & later, "or": lambda: earlier | later,
              "xor": lambda: earlier ^ later}[op]()
    result %= 1 << bits
    return result - (1 << bits) if code[0] == "i" and result >> (bits - 1) else result


def scan(case):
    trial = Trial("scan")
    name, lists, _ = draw_lists(case, trial)
    count = sum(map(len, lists))
    code = case.pick(["i4", "u4", "i8", "u8", "f4", "f8", "f4", "f8"])
    is_float = code[0] == "f"
    op = case.pick(["add", "add", "min", "max", "mul"] + ([] if is_float else ["and", "or", "xor"]))
    data = draw_values(case, code, op, count)
    values = unpack(code, data)
    is_raw_file = case.chance(0.3)
    if is_raw_file:
        trial.options["--value-type"] = NAMES[code]
        values_name = case.put(case.name("values", ".bin"), data)
    else:
        is_big = case.chance(0.08)
        values_name = put_array(case, "values", f"'{'>' if is_big else '<'}{code}'", (count,),
                                swapped(data, int(code[1])) if is_big else data, int(code[1]))
    initial = None
    if case.chance(0.3):
        initial = unpack(code, pack(code, [float(case.pick([0, 1, -2.5, 7])) if is_float else case.pick([0, 1, 7])]))[0]
        trial.options["--exclusive-from"] = repr(initial) if is_float else initial
    if op != "add" or case.chance(0.5):
        trial.options["--op"] = op
    trial.operands = [name, values_name]
    trial.options["-o"] = out = case.name("sums", ".bin" if is_raw_file else ".npy")
    look = look_at_floats(code, op, lists, values, initial) if is_float else \
        look_at_integers(code, op, lists, values, initial)
    if trial.exits == {0}:
        trial.outputs[out] = is_raw(check=look) if is_raw_file else is_npy(f"'<{code}'", (count,), check=look)
    finish(case, trial, "list_scan", count)
    return trial


def draw_values(case, code, op, count):
    """Bytes of numbers. Floats often have special ones among them."""
    if code[0] != "f":
        return random_items(case.random, count, int(code[1]))
    if case.chance(0.4):
        return random_floats(case.random, count, int(code[1]))
    if op == "mul":
        return pack(code, [case.pick([1.0, -1.0, 0.5, 2.0, 1.25]) for _ in range(count)])
    return pack(code, moderate_floats(case.random, count, code))


def look_at_integers(code, op, lists, values, initial):
    def look(data):
        if len(data) != len(values) * int(code[1]):
            return f"{len(data)} bytes of data, not {len(values)} numbers of {code}"
        found = unpack(code, data)
        for each in lists:
            running = initial
            for node in each:
                wanted = running
                running = values[node] if running is None else together(op, code, running, values[node])
                wanted = running if initial is None else wanted
                if found[node] != wanted:
                    return f"the result of node {node} is {found[node]}, not {wanted}"
        return None
    return look


def look_at_floats(code, op, lists, values, initial):
    """Minima and maxima have no error. Sums and products have one of a rounding for each value."""
    width = int(code[1])

    def look(data):
        if len(data) != len(values) * width:
            return f"{len(data)} bytes of data, not {len(values)} numbers of {code}"
        for each in lists:
            running = Running(op, code)
            if initial is not None:
                running.take(initial)
            for node in each:
                if initial is None:
                    running.take(values[node])
                mistake = running.mistake(data[node * width:(node + 1) * width])
                if mistake:
                    return f"the result of node {node} {mistake}"
                if initial is not None:
                    running.take(values[node])
        return None
    return look


class Running:
    """The values of a list so far."""

    def __init__(self, op, code):
        self.op, self.code = op, code
        self.count = 0
        self.has_nan = False
        self.value = 0.0  # by a walk from the head, in f64
        self.parts = []  # of a sum: floats whose sum is that of all values without any error
        self.magnitudes = 0.0
        self.infinities = set()
        self.is_whole = True
        self.is_judged = True

    def take(self, value):
        self.count += 1
        self.has_nan = self.has_nan or value != value
        if self.op in ("min", "max"):
            below = (value, math.copysign(1, value)) < (self.value, math.copysign(1, self.value))
            if self.count == 1 or below == (self.op == "min"):
                self.value = value
        elif self.op == "add":
            self.add(value)
        else:
            self.multiply(value)

    def add(self, value):
        if math.isinf(value):
            self.infinities.add(value)
        elif value == value:
            self.magnitudes += abs(value)
            if self.magnitudes > LARGEST[self.code] / 2:  # some stretch of the list may overflow
                self.is_judged = False
                return
            self.is_whole = self.is_whole and value == int(value)
            grow(self.parts, value)

    def multiply(self, value):
        self.value = value if self.count == 1 else self.value * value
        # Of stretches of the list that leave the range, and of zeros and infinities, other orders make other products.
        self.is_judged = self.is_judged and 1e-15 < abs(self.value) < 1e15

    def mistake(self, found):
        number = unpack(self.code, found)[0]
        if self.op in ("min", "max"):
            wanted = POSITIVE_NAN[self.code] if self.has_nan else pack(self.code, [self.value])
            return None if found == wanted else f"is {found.hex()} ({number}), not {wanted.hex()}"
        if self.has_nan:
            return None if number != number else f"is {number}, not NaN"
        if not self.is_judged:
            return None
        return self.sum_mistake(number) if self.op == "add" else self.product_mistake(number)

    def sum_mistake(self, number):
        if len(self.infinities) == 2:
            return None if number != number else f"is {number}, not NaN"
        if self.infinities:
            wanted = next(iter(self.infinities))
            return None if number == wanted else f"is {number}, not {wanted}"
        wanted = math.fsum(self.parts)
        bound = 1.01 * self.count * EPSILON[self.code] / 2 * self.magnitudes
        if self.is_whole and self.magnitudes < 2**24:  # sums of small whole numbers have no error
            bound = 0.0
        return None if abs(number - wanted) <= bound else f"is {number!r}, not {wanted!r} within {bound:g}"

    def product_mistake(self, number):
        bound = 1.01 * self.count * EPSILON[self.code] * abs(self.value)
        return None if abs(number - self.value) <= bound else f"is {number!r}, not {self.value!r} within {bound:g}"


def grow(parts, value):
    """Adds to a sum without error (Shewchuk 1997): parts do not overlap, and what is lost of two becomes one."""
    kept = 0
    for part in parts:
        if abs(value) < abs(part):
            value, part = part, value
        high = value + part
        low = part - (high - value)
        if low:
            parts[kept] = low
            kept += 1
        value = high
    parts[kept:] = [value]


FAMILY = {rank: 3, scan: 4}
