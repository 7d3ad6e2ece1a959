"""Sparse matrices, and their files of the MatrixMarket format."""

import gzip

from arrays import put_floats, rounded_to_f32


class Matrix:
    """A matrix and the text of its file."""

    def __init__(self, rows, columns, values, name):
        self.rows, self.columns = rows, columns
        self.values = values  # (row, column) -> number
        self.name = name

    def row_terms(self, x, transposed=False):
        """For each row, of the transposed matrix if that is meant: its numbers with those of x."""
        terms = [[] for _ in range(self.columns if transposed else self.rows)]
        for (row, column), value in sorted(self.values.items()):
            to, of = (column, row) if transposed else (row, column)
            terms[to].append((value, x[of]))
        return terms


def number_text(case, value, field):
    """A number as files may write it."""
    if field == "integer":
        return f"{int(value)}" if case.chance(0.9) else f"+{int(value)}" if value >= 0 else f"{int(value)}"
    if value == int(value) and abs(value) < 1e6 and case.chance(0.4):
        return case.pick([f"{int(value)}", f"{int(value)}.", f"{int(value)}.0", f"{int(value)}e0"])
    return case.pick([repr(value), repr(value), f"{value:.17E}"])


def draw_number(case, field, is_whole):
    if field == "pattern":
        return 1.0
    if field == "integer" or is_whole:
        return float(case.random.randint(-9, 9))
    return rounded_to_f32(case.random.uniform(-100, 100))


def draw_matrix(case, symmetric=None, positive=False):
    """Writes a matrix, of numbers that f32 holds. `positive`: symmetric and positive definite."""
    rng = case.random
    symmetry = symmetric or case.pick(["general"] * 4 + ["symmetric", "skew-symmetric"])
    field = case.pick(["real", "real", "real", "double", "integer"] + ["pattern"] * (symmetry != "skew-symmetric"))
    if positive and field == "pattern":
        field = "real"
    rows = case.pick([0, 1, 2, 3]) if case.chance(0.1) else int(2 ** (rng.random() * 8))
    columns = rows if symmetry != "general" or case.chance(0.5) else int(2 ** (rng.random() * 8))
    rows = max(rows, 1) if positive else rows
    columns = rows if positive else columns
    is_whole = case.chance(0.5)
    is_array = field != "pattern" and rows * columns <= 400 and case.chance(0.2)
    lower = draw_places(case, rows, columns, symmetry)
    values = {place: draw_number(case, field, is_whole) for place in lower}
    if positive:
        values = with_heavy_diagonal(case, values, rows, field)
    stored = dict(values)
    if symmetry != "general":
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        values.update({(column, row): sign * value for (row, column), value in stored.items() if row != column})
    write = write_array if is_array else write_coordinates
    text = write(case, rows, columns, stored, field, symmetry)
    if is_array:
        values = {place: value for place, value in values.items() if value != 0}
    is_packed = case.chance(0.2)
    content = gzip.compress(text.encode(), mtime=0) if is_packed else text.encode()
    name = case.put(case.name("a", ".mtx.gz" if is_packed else ".mtx"), content)
    return Matrix(rows, columns, values, name)


def draw_places(case, rows, columns, symmetry):
    """Places of entries: of a symmetric matrix those of the lower triangle."""
    rng = case.random
    if rows == 0 or columns == 0:
        return []
    many = min(rows * columns, int(rows * rng.random() * 8) + 1)
    kind = case.pick(["any", "banded", "one row", "diagonal"])
    places = set()
    for _ in range(many):
        row = rng.randrange(rows)
        column = rng.randrange(columns)
        if kind == "banded":
            column = min(columns - 1, max(0, row + rng.randint(-2, 2)))
        elif kind == "one row" and rng.random() < 0.7:
            row = rows // 2
        elif kind == "diagonal" and rng.random() < 0.7:
            column = min(row, columns - 1)
        if symmetry != "general" and column > row:
            row, column = column, row
        if symmetry != "skew-symmetric" or row != column:
            places.add((row, column))
    places = sorted(places)
    if case.chance(0.4):
        rng.shuffle(places)
    return places


def with_heavy_diagonal(case, values, rows, field):
    """Diagonals that are larger than the rest of their rows together make a matrix positive definite."""
    values = {place: value for place, value in values.items() if place[0] != place[1]}
    sums = [0.0] * rows
    for (row, column), value in values.items():
        sums[row] += abs(value)
        sums[column] += abs(value)
    for row in range(rows):
        more = float(case.random.randint(1, 5)) if field == "integer" else case.random.uniform(0.5, 50)
        values[row, row] = rounded_to_f32(sums[row] + more)
    return values


def banner(case, form, field, symmetry):
    words = ["%%MatrixMarket", "matrix", form, field, symmetry]
    if case.chance(0.2):
        words = [words[0]] + [case.pick([w, w.upper(), w.capitalize()]) for w in words[1:]]
    blank = case.pick([" ", " ", " ", "  ", "\t"])
    line = blank.join(words)
    if case.chance(0.04):
        line = case.pick([" " + line, line[1:], line + " made by hand"])
    comments = "".join(case.pick(["%\n", "% a comment\n", "%1 1 1\n", "\n"]) for _ in range(case.pick([0, 0, 1, 3])))
    return line + "\n" + comments


def write_coordinates(case, rows, columns, stored, field, symmetry):
    lines = []
    upper = symmetry != "general" and case.chance(0.1)
    for (row, column), value in stored.items():
        if upper and case.chance(0.5) and row != column:  # the same entry, said of the upper triangle
            row, column = column, row
            value = -value if symmetry == "skew-symmetric" else value
        words = [str(row + 1), str(column + 1)]
        if field != "pattern":
            words.append(number_text(case, value, field))
        lines.append(case.pick([" ", " ", "  ", "\t"]).join(words))
    if field == "integer" and lines and case.chance(0.05):
        lines[0] += ".0"
    if lines and case.chance(0.05):
        lines[-1] += " % the last"
    return end_lines(case, banner(case, "coordinate", field, symmetry) + f"{rows} {columns} {len(stored)}\n", lines)


def write_array(case, rows, columns, stored, field, symmetry):
    lines = []
    for column in range(columns):
        first = {"general": 0, "symmetric": column, "skew-symmetric": column + 1}[symmetry]
        lines += [number_text(case, stored.get((row, column), 0.0), field) for row in range(first, rows)]
    return end_lines(case, banner(case, "array", field, symmetry) + f"{rows} {columns}\n", lines)


def end_lines(case, front, lines):
    ending = case.pick(["\n", "\n", "\n", "\r\n"])
    text = front.replace("\n", ending) + "".join(line + ending for line in lines)
    if lines and case.chance(0.1):
        text = text[:-len(ending)]
    return text


def write_vector(case, stem, values, code):
    """Numbers as .npy, or as a MatrixMarket array or list of entries of one column. @returns the file's name"""
    if not case.chance(0.08) or not values:
        return put_floats(case, stem, code, (len(values),), values)
    if case.chance(0.5):
        shape = case.pick([f"{len(values)} 1", f"1 {len(values)}"])
        text = f"%%MatrixMarket matrix array real general\n{shape}\n" + "".join(f"{v!r}\n" for v in values)
    else:
        entries = [(i + 1, v) for i, v in enumerate(values) if v != 0]
        text = f"%%MatrixMarket matrix coordinate real general\n{len(values)} 1 {len(entries)}\n"
        text += "".join(f"{i} 1 {v!r}\n" for i, v in entries)
    return case.put(case.name(stem, ".mtx"), text.encode())
