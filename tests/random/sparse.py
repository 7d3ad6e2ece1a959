"""spmv, spmm, solve and npb-cg: products by sparse matrices, and linear systems."""

import math
import os

from arrays import is_npy, moderate_floats, pack, put_array, put_floats, random_floats, read_npy, rounded_to_f32, unpack
from matrices import draw_matrix, write_vector
from trial import Trial

EPSILON = {"f4": 2.0**-23, "f8": 2.0**-52}
LARGEST = {"f4": 3.4e38, "f8": 1.79e308}
SMALLEST = {"f4": 2.0**-126, "f8": 2.0**-1022}
OFFICIAL_ZETA = {"S": 8.5971775078648, "W": 10.362595087124}


def draw_vector(case, count, code):
    """Numbers of a vector file. Those of f32 that are read as such may be special ones."""
    if case.chance(0.15):
        return unpack(code, random_floats(case.random, count, int(code[1])))
    if code == "f2":
        return unpack(code, pack(code, [case.random.uniform(-1000, 1000) for _ in range(count)]))
    return moderate_floats(case.random, count, code)


def as_read(case, trial, name, values, narrow, bound=LARGEST["f4"]):
    """The numbers that a command works with. Finite ones that become infinite in f32 are refused."""
    if not narrow:
        return values
    rounded = [rounded_to_f32(v) for v in values]
    if any(math.isinf(r) and not math.isinf(v) for v, r in zip(values, rounded)) and trial.exits != {3}:
        trial.fail_with(3, name)  # the first that is read
    return rounded


class Sum:
    """What a sum of products may be in f32 or f64, whatever the order of its terms."""

    def __init__(self, code):
        self.code = code
        self.terms = []
        self.lost = 0.0  # what is lost where numbers below the normal ones count as zero
        self.parts = 0.0  # sizes of products of two of the factors, which a third may make small again

    def take(self, *factors):
        pairs = [abs(a * b) for i, a in enumerate(factors) for b in factors[:i] if math.isfinite(a) and math.isfinite(b)]
        self.parts += max(pairs, default=0.0)
        product = 1.0
        for factor in factors:
            product *= factor
        self.terms.append(product)
        if any(0 < abs(factor) < SMALLEST[self.code] for factor in factors):
            self.lost += abs(product)
        self.lost += 2 * SMALLEST[self.code] * max([1.0] + [abs(f) for f in factors if math.isfinite(f)])

    def mistake(self, found):
        finite = [t for t in self.terms if math.isfinite(t)]
        magnitudes = sum(map(abs, finite))
        if max(magnitudes, self.parts) > LARGEST[self.code] / 4:
            return None  # some part of the sum may be infinite
        odd = {repr(t) for t in self.terms if not math.isfinite(t)}
        if odd:
            wanted = float(odd.pop()) if len(odd) == 1 else math.nan
            is_right = found != found if wanted != wanted else found == wanted
            return None if is_right else f"is {found}, not {wanted}"
        wanted = math.fsum(finite)
        bound = (len(finite) + 4) * EPSILON[self.code] * magnitudes + self.lost
        if all(t == int(t) for t in finite) and magnitudes < 2**24:  # sums of small whole numbers have no error
            bound = 0.0
        return None if abs(found - wanted) <= bound else f"is {found!r}, not {wanted!r} within {bound:g}"


def draw_value_type(case, trial, narrow):
    """--value-type, where it is not the one that is taken without it."""
    if narrow or case.chance(0.2):
        trial.options["--value-type"] = "f32" if narrow else "f64"


def draw_order(case, trial):
    """--order of a transposed product. @returns what the call has more than without it"""
    if case.chance(0.5):
        return ""
    trial.options["--order"] = order = case.pick(["deterministic", "unordered"])
    return " --order unordered" if order == "unordered" else ""


def spmv(case):
    trial = Trial("spmv")
    matrix = draw_matrix(case)
    narrow = case.chance(0.4)
    backend = case.add_context(trial, ("cpu", "reference", "auto", "cuda") + (("opengl",) if narrow else ()))
    code = "f4" if narrow else "f8"
    transposed = case.chance(0.3)
    x_count, y_count = (matrix.rows, matrix.columns) if transposed else (matrix.columns, matrix.rows)
    trial.operands = [matrix.name]
    x = [1.0] * x_count
    if case.chance(0.7):
        file_code = case.pick(["f4", "f8"])
        values = draw_vector(case, x_count, file_code)
        trial.operands.append(write_vector(case, "x", values, file_code))
        x = as_read(case, trial, trial.operands[1], values, narrow)
    alpha, beta, before = draw_scaling(case, trial, narrow, lambda: draw_vector_before(case, y_count))
    call = "spmv"
    if transposed:
        trial.options["--transposed"] = None
        call += " --transposed"
        call += draw_order(case, trial)
    draw_value_type(case, trial, narrow)
    if case.chance(0.3):
        trial.options["--runs"] = case.pick([1, 2, 20])
    trial.options["-o"] = out = case.name("y", ".npy")
    if {0} <= trial.exits:
        sums = [Sum(code) for _ in range(y_count)]
        for to, terms in enumerate(matrix.row_terms(x, transposed)):
            for value, of in terms:
                sums[to].take(value, of, alpha)
            if beta != 0:
                sums[to].take(beta, before[to])
        trial.outputs[out] = is_npy(f"'<{code}'", (y_count,), check=look_at_sums(sums, code, "y"))
    trial.report = lambda d: None if (d["rows"], d["columns"]) == (matrix.rows, matrix.columns) else \
        f"{d['rows']} x {d['columns']}, not {matrix.rows} x {matrix.columns}"
    if "--runs" not in trial.options and backend != "reference":
        case.force_variant(trial, call)
    return trial


def draw_vector_before(case, count):
    """Writes the vector of --y. @returns (its name, its numbers)"""
    code = case.pick(["f4", "f8"])
    values = draw_vector(case, count, code)
    return write_vector(case, "y before", values, code), values


def draw_rows(case, stem, count, width):
    """Writes a dense matrix. @returns (its name, its numbers row by row)"""
    code = case.pick(["f2", "f4", "f8"])
    values = draw_vector(case, count * width, code)
    return put_floats(case, stem, code, (count, width), values), values


def spmm(case):
    trial = Trial("spmm")
    matrix = draw_matrix(case)
    narrow = case.chance(0.5)
    code = "f4" if narrow else "f8"
    transposed = case.chance(0.4)
    x_count, y_count = (matrix.rows, matrix.columns) if transposed else (matrix.columns, matrix.rows)
    most = 20000 // max(1, x_count, y_count, len(matrix.values))
    width = max(1, min(most, case.pick([1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100, 128, 300, 1024])))
    case.add_context(trial)
    name, values = draw_rows(case, "x", x_count, width)
    trial.operands = [matrix.name, name]
    x = as_read(case, trial, name, values, narrow)
    alpha, beta, before = draw_scaling(case, trial, narrow, lambda: draw_rows(case, "y before", y_count, width))
    call = "spmm"
    if transposed:
        trial.options["--transposed"] = None
        call += " --transposed" + draw_order(case, trial)
    draw_value_type(case, trial, narrow)
    if case.chance(0.05):
        trial.options["--temporary"] = "."
    if trial.exits == {0} and case.chance(0.08):
        spoil_rows(case, trial, x_count, y_count, width)
    trial.options["-o"] = out = case.name("y", ".npy")
    if 0 in trial.exits:
        sums = [Sum(code) for _ in range(y_count * width)]
        for to, terms in enumerate(matrix.row_terms(range(x_count), transposed)):
            for value, of in terms:
                for k in range(width):
                    sums[to * width + k].take(value, x[of * width + k], alpha)
        if beta != 0:
            for each, number in zip(sums, before):
                each.take(beta, number)
        trial.outputs[out] = is_npy(f"'<{code}'", (y_count, width), check=look_at_sums(sums, code, "y"))
        wanted = {"records": len(matrix.values), "record_bytes": width * int(code[1]), "transposed": transposed,
                  "order": trial.options.get("--order", "deterministic")}
        trial.report = lambda d: None if {name: d[name] for name in wanted} == wanted else f"the report has {d}, not {wanted}"
    case.force_variant(trial, call)
    return trial


def spoil_rows(case, trial, x_count, y_count, width):
    """X or --y is of a type or shape that does not go with the matrix."""
    of_y = case.chance(0.5) and trial.options.get("--beta", "0.0") != "0.0"
    count = y_count if of_y else x_count
    way = case.pick(["type", "one axis", "three axes", "rows", "empty rows", "wide rows", "text"] + ["width"] * of_y)
    shape = {"one axis": (count * width,), "three axes": (count, width, 1), "rows": (count + 1, width),
             "empty rows": (count, 0), "wide rows": (count, 1025), "width": (count, width + 1)}.get(way, (count, width))
    descr, item = case.pick([("'<i4'", 4), ("'|u1'", 1), ("'<c8'", 8), ("'|b1'", 1)]) if way == "type" else ("'<f4'", 4)
    if way == "text":
        name = case.put("other.mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n")
    else:
        name = put_array(case, "other", descr, shape, bytes(math.prod(shape) * item), item)
    if of_y:
        trial.options["--y"] = name
    else:
        trial.operands[1] = name
    trial.fail_with(3, name)


def draw_scaling(case, trial, narrow, draw_before):
    """--alpha, --beta and --y. @returns what they are in the type of the sums
    @param draw_before  writes --y, and returns its name and its numbers"""
    alpha, beta, before = 1.0, 0.0, []
    if case.chance(0.3):
        alpha = case.pick([0.0, -1.0, 2.0, 0.5, -3.25, 1e-3])
        trial.options["--alpha"] = repr(alpha)
    if case.chance(0.3):
        beta = case.pick([0.0, 1.0, -1.0, 0.25, -7.5])
        trial.options["--beta"] = repr(beta)
        trial.options["--y"], values = draw_before()
        # Without beta, --y is not read.
        before = as_read(case, trial, trial.options["--y"], values, narrow) if beta else []
    if narrow and case.chance(0.03):
        name = case.pick(["--alpha", "--beta"] if "--y" in trial.options else ["--alpha"])
        trial.options[name] = "1e39"  # finite, and infinite in f32
        trial.fail_with(2, name)
    elif beta and case.chance(0.03):
        del trial.options["--y"]
        trial.fail_with(2, "--beta")
    return (rounded_to_f32(alpha) if narrow else alpha), beta, before


def look_at_sums(sums, code, name):
    def look(data):
        found = unpack(code, data)
        if len(found) != len(sums):
            return f"{len(found)} numbers, not {len(sums)}"
        for i, wanted in enumerate(sums):
            mistake = wanted.mistake(found[i])
            if mistake:
                return f"{name}[{i}] {mistake}"
        return None
    return look


def norm(values):
    return math.sqrt(math.fsum(v * v for v in values))


def solve(case):
    trial = Trial("solve")
    matrix = draw_matrix(case, "symmetric", positive=True)
    narrow = case.chance(0.4)
    code = "f4" if narrow else "f8"
    trial.operands = [matrix.name]
    b = [1.0] * matrix.rows
    case.add_context(trial, memory=False)
    if case.chance(0.7):
        file_code = case.pick(["f4", "f8"])
        b = moderate_floats(case.random, matrix.rows, file_code)
        trial.operands.append(write_vector(case, "b", b, file_code))
        b = as_read(case, trial, trial.operands[1], b, narrow)
    tolerance, absolute = 1e-8, 0.0
    if case.chance(0.6):
        tolerance = case.pick([0.0, 0.0, 1e-3, 1e-6, 1e-12])
        trial.options["--tolerance"] = repr(tolerance)
    if case.chance(0.2):
        absolute = case.pick([0.0, 1e-9, 1.0])
        trial.options["--absolute"] = repr(absolute)
    limit = max(100, 10 * matrix.rows)
    if case.chance(0.5 if tolerance == 0 else 0.2):
        limit = case.pick([0, 1, 3, 1000] + [10**9] * 6)  # which ends because rounding is noticed
        trial.options["--iterations"] = limit
    if case.chance(0.4):
        trial.options["--jacobi"] = None
    draw_value_type(case, trial, narrow)
    trial.options["-o"] = out = case.name("x", ".npy")
    trial.outputs[out] = is_npy(f"'<{code}'", (matrix.rows,), check=lambda data: None)
    if case.chance(0.4):
        trial.options["--history"] = "history.csv"
        trial.outputs["history.csv"] = lambda content: None
    target = max(tolerance * norm(b), absolute)
    is_easy = limit >= 100 and max(tolerance, absolute / (norm(b) or 1)) >= (1e-3 if narrow else 1e-8)
    if trial.exits == {0}:
        trial.exits = {0} if is_easy or norm(b) == 0 else {0, 7}
    trial.writes_at = {0, 7}
    trial.judge = lambda exit_code, document, contents: judge_solution(
        matrix, b, code, target, limit, exit_code, document, contents[os.path.normpath(out)],
        contents.get("history.csv"))
    return trial


def judge_solution(matrix, b, code, target, limit, exit_code, document, content, history):
    """Computes the residual of the x that was written, and compares it with what the command says."""
    x = unpack(code, read_npy(content)[2])
    rest, rounding = [], []
    for row, terms in enumerate(matrix.row_terms(x)):
        products = [value * number for value, number in terms]
        rest.append(math.fsum([b[row]] + [-p for p in products]))
        rounding.append((len(products) + 3) * EPSILON[code] * (abs(b[row]) + sum(map(abs, products))))
    found, slack = norm(rest), norm(rounding) + 1e-300
    if not math.isfinite(found):
        return f"x has numbers that are not finite: |b - A x| is {found}"
    if exit_code == 0 and found > target * (1 + 1e-6) + slack:
        return f"|b - A x| is {found:g}, more than the {target:g} that was to be reached"
    if exit_code == 7 and found > norm(b) + slack:
        return f"|b - A x| is {found:g}, more than the {norm(b):g} of x = 0"
    if history is not None:
        lines = history.decode().splitlines()
        if lines[0] != "iteration,residual,relative_residual" or len(lines) < 2:
            return f"the history begins with {lines[:2]}"
        if document and len(lines) != document["iterations"] + 2:
            return f"the history has {len(lines) - 1} lines for {document['iterations']} iterations"
    if document is None:
        return None
    if document["iterations"] > limit:
        return f"{document['iterations']} iterations, more than {limit}"
    # A norm whose square vanishes is not known.
    is_right = found <= slack if document["residual"] is None else abs(document["residual"] - found) <= slack + 1e-6 * found
    if not is_right:
        return f"the residual is said to be {document['residual']}, and is {found:g} within {slack:g}"
    if document["reason"] == "not positive definite":
        return "the matrix is positive definite, and is said not to be"
    if (document["reason"] == "converged") != (exit_code == 0):
        return f"exit code {exit_code} with reason {document['reason']}"
    return None


def npb_cg(case):
    trial = Trial("npb-cg", ["S"])
    case.add_context(trial, memory=False, verify=False)
    narrow = case.chance(0.5)
    draw_value_type(case, trial, narrow)

    def report(document):
        zeta = document["zeta"]
        if abs(zeta - OFFICIAL_ZETA["S"]) > (1e-4 if narrow else 1e-10) * OFFICIAL_ZETA["S"]:
            return f"zeta is {zeta!r}, not {OFFICIAL_ZETA['S']}"
        expected = "UNOFFICIAL" if narrow else "SUCCESSFUL"
        return None if document["verification"] == expected else f"verification is {document['verification']}"
    trial.report = report
    return trial


FAMILY = {spmv: 4, spmm: 4, solve: 3, npb_cg: 0.1}
