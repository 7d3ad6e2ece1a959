"""How papers/*/claims.py say what a paper claims, and how that is measured in the recorded rows of a run.

A claim reads rows: `rows("9", who=r"\\w+\\.multipass:passes=\\d+,segments=1")`. Patterns match whole texts. Rows are
told apart by their keys, and what is computed of several selections is computed of the rows whose keys are equal. A
row's key is its problem or input, or in place of it the named groups of `of`; the named groups of `who` and `where` are
added. Arithmetic on selections is on the seconds of their rows, key by key. At the end stands one number: the least,
the most, the mean of all keys.
"""

import math
import re

VERDICTS = ("holds", "holds by less", "does not hold today")
BACKENDS = ("cuda", "cpu", "opengl")


class ClaimError(Exception):
    pass


def as_rounded(value):
    """Three digits, as the page shows it: verdicts are those of the number that is seen."""
    return value if not math.isfinite(value) or value == 0 else float(f"{value:.3g}")


class Values:
    """A number for each key of a run's rows. `make(run)` returns them, {key: number}."""

    def __init__(self, make, selections):
        self.make = make
        self.selections = selections

    def of(self, run):
        return self.make(run)

    def _with(self, other, operation):
        if isinstance(other, (int, float)):
            return Values(lambda run: {key: operation(value, other) for key, value in self.of(run).items()},
                          self.selections)

        def make(run):
            mine, theirs = self.of(run), other.of(run)
            return {key: operation(mine[key], theirs[key]) for key in mine if key in theirs}

        return Values(make, self.selections + other.selections)

    def __truediv__(self, other):
        return self._with(other, lambda mine, theirs: mine / theirs)

    def __mul__(self, factor):
        return self._with(factor, lambda mine, theirs: mine * theirs)

    def __add__(self, other):
        return self._with(other, lambda mine, theirs: mine + theirs)

    def __sub__(self, other):
        return self._with(other, lambda mine, theirs: mine - theirs)


class Selection(Values):
    """Rows of a figure; as values, the seconds of the first row of each key."""

    def __init__(self, figure, of, who, where, prepared, beside):
        self.figure, self.prepared, self.beside = figure, prepared, beside
        self.patterns = {field: None if pattern is None else re.compile(pattern)
                         for field, pattern in (("of", of), ("who", who), ("where", where))}
        super().__init__(lambda run: {key: row.seconds for key, row in self.firsts(run).items()}, [self])

    def __str__(self):
        said = [f"{field} {pattern.pattern!r}" for field, pattern in self.patterns.items() if pattern is not None]
        return " ".join([f"figure {self.figure}", *said] + ([f"of the {self.beside}'s run"] if self.beside else []))

    def matches(self, run):
        """[(groups, row)]; groups are a tuple of (name, text)."""
        found = []
        for row in run.rows_of(self.figure, self.beside):
            if self.prepared is not None and row.is_prepared != self.prepared:
                continue
            groups = []
            for field, pattern in self.patterns.items():
                match = None if pattern is None else pattern.fullmatch(row.texts[field])
                if pattern is not None and match is None:
                    break
                named = {} if match is None else {n: t for n, t in match.groupdict().items() if t is not None}
                if field == "of" and not named:
                    named = {"of": row.texts["of"]}
                groups += sorted(named.items())
            else:
                row.is_read = True
                found.append((tuple(groups), row))
        return found

    def firsts(self, run):
        rows = {}
        for key, row in self.matches(run):
            rows.setdefault(key, row)
        return rows


def rows(figure, of=None, who=None, where=None, prepared=None, beside=None):
    """Rows of a figure. `beside="cpu"`: of that backend's run on the machine, in place of the run that is looked at."""
    return Selection(figure, of, who, where, prepared, beside)


def _gathered(selection, choose):
    def make(run):
        groups = {}
        for key, row in selection.matches(run):
            groups.setdefault(key, []).append(row.seconds)
        return {key: choose(seconds) for key, seconds in groups.items()}

    return Values(make, [selection])


def fastest(selection):
    """The least seconds of the rows of each key."""
    return _gathered(selection, min)


def slowest(selection):
    return _gathered(selection, max)


def summed(selection):
    """The seconds of a key's rows, such as steps, which `who` names by a group `step`, together."""
    def make(run):
        sums = {}
        for key, row in selection.firsts(run).items():
            short = _without(key, "step")
            sums[short] = sums.get(short, 0) + row.seconds
        return sums

    return Values(make, [selection])


def _of_rows(selection, number):
    def make(run):
        found = {key: number(row) for key, row in selection.firsts(run).items()}
        return {key: value for key, value in found.items() if value is not None}

    return Values(make, [selection])


def accuracy(selection):
    """1 - |measured - predicted| / measured of the 2007 model's predictions."""
    def of(row):
        return None if row.model_seconds is None else 1 - abs(row.seconds - row.model_seconds) / row.seconds

    return _of_rows(selection, of)


def loading(selection):
    return _of_rows(selection, lambda row: row.loading_seconds)


def rate(selection):
    """Bytes a second, as the row has them."""
    return _of_rows(selection, lambda row: row.bytes_per_second)


def fact(selection, name):
    """A number that stands beside the time."""
    return _of_rows(selection, lambda row: row.facts.get(name))


def per_record(values):
    """Over the records of the problem, whose number is `n` of the key or stands at the end of its name."""
    def number(key):
        for name, text in key:
            if name == "n":
                return float(text)
            match = re.search(r"(?:/n=|^)(\d+)\b", text) if name == "of" else None
            if match:
                return float(match[1])
        raise ClaimError(f"no number of records in {key}")

    return Values(lambda run: {key: value / number(key) for key, value in values.of(run).items()}, values.selections)


def _without(key, name):
    return tuple(part for part in key if part[0] != name)


def _by(values, name, run):
    """{key without the group: {number of the group: value}}"""
    tables = {}
    for key, value in values.of(run).items():
        numbers = [text for group, text in key if group == name]
        if len(numbers) != 1:
            raise ClaimError(f"no group {name} in {key}")
        tables.setdefault(_without(key, name), {})[float(numbers[0])] = value
    return tables


def _of_tables(values, name, compute, least=2):
    def make(run):
        return {key: compute(table) for key, table in _by(values, name, run).items() if len(table) >= least}

    return Values(make, values.selections)


def number(values, name):
    """The number that a group of the key is, in place of the value."""
    return Values(lambda run: {key: float(dict(key)[name]) for key in values.of(run)}, values.selections)


def best(values, name):
    """The number of this group with the least value."""
    return _of_tables(values, name, lambda table: min(table, key=table.get))


def growth(values, name):
    """The value at the largest number of this group over that at the least."""
    return _of_tables(values, name, lambda table: table[max(table)] / table[min(table)])


def spread_by(values, name):
    """The most over the least of the values that differ in this group alone."""
    return _of_tables(values, name, lambda table: max(table.values()) / min(table.values()))


def scaling(values, name, up_to=math.inf):
    """How much of its share each of this number, such as threads, adds: 1 where twice as many take half the time. From
    the least number to the largest that is at most `up_to` times it."""
    def compute(table):
        first = min(table)
        last = max(n for n in table if n <= first * up_to)
        return math.nan if last == first else table[first] / table[last] / (last / first)

    return _of_tables(values, name, compute)


def past(values, name, factor):
    """The value at the largest number of this group over that at 1/factor of it."""
    def compute(table):
        return table[max(table)] / table[max(table) / factor] if max(table) / factor in table else math.nan

    return _of_tables(values, name, compute)


def by_model(selection, name):
    """The seconds at the number of this group, such as passes, for which the 2007 model predicts the least."""
    def make(run):
        tables = {}
        for key, row in selection.firsts(run).items():
            if row.model_seconds is not None:
                tables.setdefault(_without(key, name), []).append((row.model_seconds, row.seconds))
        return {key: min(table)[1] for key, table in tables.items()}

    return Values(make, [selection])


def accesses(selection):
    """The product of the numbers in `16 x 64 x 4096` of who."""
    def of(row):
        match = re.search(r"(\d+) x (\d+) x (\d+)", row.texts["who"])
        return None if match is None else float(match[1]) * float(match[2]) * float(match[3])

    return _of_rows(selection, of)


def published(*points):
    """Numbers of a paper's table: published(({"record": "32", "n": "8388608"}, 0.270), ...)."""
    table = {tuple(sorted(key.items())): seconds for key, seconds in points}
    return Values(lambda run: dict(table), [])


def runs_to_amortise(load, plain, run_of):
    """The runs after which loading pays beside a plain loop; infinite where each run takes longer than the loop."""
    def make(run):
        loads, plains, seconds = load.of(run), plain.of(run), run_of.of(run)
        return {key: loads[key] / (plains[key] - seconds[key]) if plains[key] > seconds[key] else math.inf
                for key in loads if key in plains and key in seconds}

    return Values(make, load.selections + plain.selections + run_of.selections)


class Measure:
    """One number of a run, or None where its rows are not there."""

    def __init__(self, values, reduce):
        self.values, self.reduce = values, reduce

    @property
    def selections(self):
        return self.values.selections

    def of(self, run):
        found = [value for value in self.values.of(run).values() if not math.isnan(value)]
        return self.reduce(found) if found else None

    def over(self, other):
        """This number over another one of other rows."""
        return Quotient(self, other)


class Quotient:
    def __init__(self, above, below):
        self.above, self.below = above, below
        self.selections = above.selections + below.selections

    def of(self, run):
        above, below = self.above.of(run), self.below.of(run)
        return None if above is None or below is None else above / below


def least(values):
    return Measure(values, min)


def most(values):
    return Measure(values, max)


def mean(values):
    return Measure(values, lambda found: math.fsum(found) / len(found))


def median(values):
    return Measure(values, lambda found: sorted(found)[len(found) // 2])


def spread(values):
    """The most over the least of all values."""
    return Measure(values, lambda found: max(found) / min(found))


# Units: factor of the number that is shown, and what stands behind it.
UNITS = {"x": (1, "x"), "%": (100, " %"), "ms": (1e3, " ms"), "ns": (1e9, " ns"), "GB/s": (1e-9, " GB/s"), "": (1, "")}


class Claim:
    """What a figure shows, in one sentence of the paper's, with how it is measured.

    figure    as sheaf-bench calls it, "9" or "table1"; or, of what no run measures, as the paper calls it
    says      the claim
    paper     its number in the paper, as a text
    here      what is measured, in a few words
    measure   one number of a run
    unit      of UNITS
    bounds    at_least, at_most or within=(low, high): the number at which the claim holds
    less      with at_least or at_most the number to which it still holds by less; with within a wider (low, high)
    on        backends whose runs are looked at
    large     whether it is about sizes past a small run's
    why       {"cuda" or "cpu" or "opengl" or "llvmpipe" or a folder of recordings: the reason where it does not hold}
    """

    def __init__(self, figure, says, paper, here, measure, unit="x", at_least=None, at_most=None, within=None,
                 less=None, on=("cuda", "cpu"), large=False, why=None):
        self.figure, self.says, self.paper, self.here, self.measure = figure, says, paper, here, measure
        self.unit, self.at_least, self.at_most, self.within, self.less = unit, at_least, at_most, within, less
        self.on, self.large, self.why = on, large, why or {}
        self.check()

    def check(self):
        place = f"figure {self.figure}: {self.says}"
        if sum(bound is not None for bound in (self.at_least, self.at_most, self.within)) != 1:
            raise ClaimError(f"{place}: one of at_least, at_most and within is needed")
        if self.unit not in UNITS or not self.on or not set(self.on) <= set(BACKENDS):
            raise ClaimError(f"{place}: unknown unit or backend")
        if not all((self.says, self.paper, self.here, self.measure.selections)) or not all(self.why.values()):
            raise ClaimError(f"{place}: something is empty")

    def value(self, run):
        value = self.measure.of(run)
        return None if value is None else as_rounded(value)

    def verdict(self, value):
        if self.within is not None:
            wider = self.less or self.within
            holds, nearly = (low <= value <= high for low, high in (self.within, wider))
        elif self.at_least is not None:
            holds, nearly = value >= self.at_least, self.less is not None and value >= self.less
        else:
            holds, nearly = value <= self.at_most, self.less is not None and value <= self.less
        return VERDICTS[0 if holds else 1 if nearly else 2]

    def reason(self, run):
        for name in (run.folder, *run.kinds):
            if name in self.why:
                return self.why[name]
        return None

    def bound_text(self):
        if self.within is not None:
            return f"{self.text(self.within[0])} to {self.text(self.within[1])}"
        return f"{'at least' if self.at_most is None else 'at most'} " \
               f"{self.text(self.at_least if self.at_most is None else self.at_most)}"

    def text(self, value):
        if math.isinf(value):
            return "never"
        factor, unit = UNITS[self.unit]
        digits = f"{value * factor:.3g}"
        return (digits if "e" not in digits else f"{float(digits):,.0f}") + unit


class Described:
    """A figure that is a drawing, a listing or a description, of which there is nothing to measure."""

    def __init__(self, figure, says):
        self.figure, self.says = figure, says


class Paper:
    """A paper's claims, in the order of the page.

    figures   {"9": caption}: all figures and tables of the paper, and sections that are measured; in order
    """

    def __init__(self, name, title, figures, claims):
        self.name, self.title, self.figures, self.claims = name, title, figures, claims
        for claim in claims:
            if claim.figure not in figures:
                raise ClaimError(f"{name}: figure {claim.figure} is not listed")
        for figure in figures:
            if all(claim.figure != figure for claim in claims):
                raise ClaimError(f"{name}: figure {figure} has no claim")
