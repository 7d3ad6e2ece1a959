"""``python -m sheaf.bench``: the calls beside NumPy, SciPy, torch and CuPy, each in turn with ours.

Times are medians. The last column is the peer's time over ours: above 1, sheaf is faster. Lines of goals say what was
asked for and what was measured.
"""

import argparse
import importlib
import subprocess
import sys
import time

import numpy as np

import sheaf


def library(name):
    """A library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Timer:
    """Times two functions in turn, each run being of as many calls as take a hundredth of the time."""

    def __init__(self, seconds, wait=lambda: None):
        self.seconds, self.wait = seconds, wait

    def once(self, function, calls):
        self.wait()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        self.wait()
        return (time.perf_counter() - begin) / calls

    def both(self, ours, theirs):
        calls = []
        for function in (ours, theirs):
            self.once(function, 2)
            calls.append(max(1, int(self.seconds / 100 / max(self.once(function, 3), 1e-7))))
        runs = ([], [])
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end or len(runs[0]) < 3:
            for times, function, count in zip(runs, (ours, theirs), calls, strict=True):
                times.append(self.once(function, count))
        return float(np.median(runs[0])), float(np.median(runs[1]))

    def one(self, function):
        return self.both(function, lambda: None)[0]


def text_of(seconds):
    for unit, factor in (("us", 1e6), ("ms", 1e3), ("s", 1)):
        if seconds * factor < 1000 or unit == "s":
            return f"{seconds * factor:.2f} {unit}"


class Report:
    def __init__(self, timer):
        self.timer = timer

    def row(self, what, ours, peer, theirs):
        mine, other = self.timer.both(ours, theirs)
        print(f"{what:<44} {text_of(mine):>11}  {peer:<34} {text_of(other):>11}  {other / mine:6.2f}", flush=True)
        return mine, other

    def goal(self, what, value, limit, unit="us"):
        reached = "reached" if value <= limit else "MISSED"
        print(f"goal: {what}: {value:.3g} {unit}, at most {limit:.3g} {unit} asked for: {reached}", flush=True)


def binding_share(ours, table, index, out):
    """Seconds that a call takes beyond the same call in C++."""
    return ours - min(sheaf._sheaf._seconds_of_gather(table, index, out, 10000) for _ in range(5))


def small_calls(report):
    table, index, out = np.arange(1000.0), np.array([5]), np.zeros(1)
    with sheaf.context("cpu", threads=1):
        ours, _ = report.row(
            "gather of one row, out=",
            lambda: sheaf.gather(table, index, out=out),
            "numpy.take, mode='clip'",
            lambda: np.take(table, index, out=out, mode="clip"),
        )
        report.goal("checked gather of one row", ours * 1e6, 0.5)
        report.goal("binding's share with three arrays", binding_share(ours, table, index, out) * 1e6, 0.3)


def cpu_gathers(report, rows):
    rng = np.random.default_rng(1)
    for width in (8, 128):
        table = rng.integers(0, 256, (rows, width), np.uint8)
        index, out = rng.permutation(rows), np.empty_like(table)
        with sheaf.context("cpu", threads=1):
            run = lambda: sheaf.gather(table, index, out=out, pattern="random")  # noqa: E731
            ours, checked = report.row(
                f"gather {rows} rows of {width} bytes, 1 thread",
                run,
                "numpy.take, out=",
                lambda: np.take(table, index, axis=0, out=out),
            )
            again, clipped = report.row(
                f"gather {rows} rows of {width} bytes, 1 thread",
                run,
                "numpy.take, out=, mode='clip'",
                lambda: np.take(table, index, axis=0, out=out, mode="clip"),
            )
        if width == 128:
            report.goal("time over numpy.take's", ours / checked, 1 / 3, "times")
            report.goal("time over numpy.take's with mode='clip'", again / clipped, 1.0, "times")
        report.row(
            f"gather {rows} rows of {width} bytes",
            run,
            "numpy.take, out=",
            lambda: np.take(table, index, axis=0, out=out),
        )


def cpu_calls(report, rows):
    rng = np.random.default_rng(2)
    values, index = rng.normal(size=rows), rng.integers(0, max(1, rows // 16), rows)
    sums = np.zeros(max(1, rows // 16))
    report.row(
        f"scatter_reduce {rows} values",
        lambda: sheaf.scatter_reduce(values, index, sums),
        "numpy.add.at",
        lambda: np.add.at(sums, index, values),
    )
    report.row(
        f"scatter_reduce {rows} values",
        lambda: sheaf.scatter_reduce(values, index, sums),
        "numpy.bincount",
        lambda: np.bincount(index, values, len(sums)),
    )
    keys = rng.integers(0, 1 << 60, rows)
    report.row(f"sort {rows} int64", lambda: sheaf.sort(keys), "numpy.sort", lambda: np.sort(keys))
    report.row(
        f"argsort {rows} int64",
        lambda: sheaf.argsort(keys),
        "numpy.argsort, stable",
        lambda: np.argsort(keys, kind="stable"),
    )
    records = np.zeros(rows, [("a", "i4"), ("b", "f8"), ("c", "S4")])
    records["a"], records["b"] = index, values
    report.row(
        f"sort {rows} records by two fields",
        lambda: sheaf.sort(records, keys=["a", "b"]),
        "numpy.sort, order=",
        lambda: np.sort(records, order=["a", "b"]),
    )
    probes = rng.choice(keys, rows)
    found = sheaf.HashIndex(keys)
    report.row(f"HashIndex of {rows} keys", lambda: sheaf.HashIndex(keys), "numpy.argsort", lambda: np.argsort(keys))
    ordered = np.sort(keys)
    report.row(
        f"find {rows} probes",
        lambda: found.find(probes),
        "numpy.searchsorted",
        lambda: np.searchsorted(ordered, probes),
    )
    category = (index % 256).astype(np.uint8)
    report.row(
        f"split {rows} rows by 256 categories",
        lambda: sheaf.split(values, category),
        "numpy.argsort and take",
        lambda: values[np.argsort(category, kind="stable")],
    )


def cpu_rows(report, rows):
    """Rows of 64 float32, combined by a list and by segments."""
    rng = np.random.default_rng(4)
    count, width = max(1, rows // 16), 64
    slots = max(1, count // 16)
    values = rng.normal(size=(count, width)).astype("f4")
    index = rng.integers(0, slots, count)
    sums = np.zeros((slots, width), "f4")
    combine = sheaf.prepare_scatter_reduce(index, slots, 100, row_bytes=4 * width)
    what = f"scatter_reduce {count} rows of {width} float32"
    ours = lambda: sheaf.scatter_reduce(values, index, sums)  # noqa: E731
    report.row(what, ours, "numpy.add.at", lambda: np.add.at(sums, index, values))
    report.row(
        "the same, prepared",
        lambda: combine(values, sums),
        "numpy.add.at",
        lambda: np.add.at(sums, index, values),
    )
    torch = library("torch")
    if torch is not None:
        theirs, there, added = torch.from_numpy(sums.copy()), torch.from_numpy(index), torch.from_numpy(values)
        report.row(what, ours, "torch index_add_", lambda: theirs.index_add_(0, there, added))
    offsets = np.linspace(0, count, slots + 1).astype(np.int64)
    report.row(
        f"gather_reduce {count} rows of {width} float32",
        lambda: sheaf.gather_reduce(values, index, offsets, out=sums),
        "numpy.add.reduceat of a take",
        lambda: np.add.reduceat(values[index], offsets[:-1], axis=0, out=sums),
    )
    numbers = values[:, 0].copy()
    wide = numbers.astype("f8")
    report.row(
        f"gather_reduce {count} float32",
        lambda: sheaf.gather_reduce(numbers, index, offsets),
        "numpy.add.reduceat of a take",
        lambda: np.add.reduceat(numbers[index], offsets[:-1]),
    )
    report.row(
        f"scatter_reduce {count} float64, size=",
        lambda: sheaf.scatter_reduce(wide, index, size=slots),
        "numpy.bincount",
        lambda: np.bincount(index, wide, slots),
    )


def cpu_sparse(report, rows):
    if library("scipy") is None:
        return print("scipy is not installed: no rows beside it")
    import scipy.sparse
    import scipy.sparse.linalg

    rng = np.random.default_rng(3)
    side = max(4, rows // 16)
    ends = rng.integers(0, side, (2, 8 * side))
    matrix = scipy.sparse.csr_matrix((rng.random(8 * side), tuple(ends)), (side, side))
    matrix = (matrix + matrix.T).tocsr()
    matrix = (scipy.sparse.diags(np.asarray(matrix.sum(axis=1)).ravel() + 1) - matrix).tocsr()
    x, mine = rng.normal(size=side), sheaf.csr(matrix)
    prepared = mine.prepare(1000)
    report.row(f"A @ x, {matrix.nnz} entries", lambda: mine @ x, "scipy.sparse A @ x", lambda: matrix @ x)
    report.row("the same, prepared", lambda: prepared @ x, "scipy.sparse A @ x", lambda: matrix @ x)
    many = rng.normal(size=(side, 16))
    product, transposed = sheaf.prepare_spmm(mine, 1000, columns=16), sheaf.prepare_spmm(mine, 1000, transposed=True)
    report.row("A @ X, 16 columns", lambda: mine @ many, "scipy.sparse A @ X", lambda: matrix @ many)
    report.row("the same, prepared", lambda: product @ many, "scipy.sparse A @ X", lambda: matrix @ many)
    report.row("A.T @ X, prepared", lambda: transposed @ many, "scipy.sparse A.T @ X", lambda: matrix.T @ many)
    report.row("cg", lambda: sheaf.cg(mine, x), "scipy.sparse.linalg.cg", lambda: scipy.sparse.linalg.cg(matrix, x))


def import_time(report):
    def seconds(statement):
        program = f"import numpy, time; begin = time.perf_counter(); {statement}; print(time.perf_counter() - begin)"
        return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5))

    report.goal("import beside NumPy's own", seconds("import sheaf") * 1e3, 60, "ms")


def torch_on_device(seconds, rows):
    torch = library("torch")
    if torch is None or not torch.cuda.is_available():
        return print("torch, or a device for it, is not here: no rows beside it")
    report = Report(Timer(seconds, torch.cuda.synchronize))
    table = torch.rand(rows, 32, device="cuda")
    for count in (1000, rows):
        index = torch.randint(0, rows, (count,), device="cuda")
        out = torch.empty(count, 32, device="cuda")
        ours, theirs = report.row(
            f"gather {count} rows of 128 bytes, out=",
            lambda: sheaf.gather(table, index, out=out),
            "torch.index_select, out=",
            lambda: torch.index_select(table, 0, index, out=out),
        )
        report.row(
            f"gather {count} rows of 128 bytes",
            lambda: sheaf.gather(table, index),
            "torch.index_select",
            lambda: torch.index_select(table, 0, index),
        )
        if count == 1000:
            report.goal("gather of 1,000 rows over torch.index_select with out=", ours / theirs, 1.0, "times")
            report.goal("time over the same call in C++", binding_share(ours, table, index, out) * 1e6, 0.6)
        values = torch.rand(count, device="cuda")
        sums = torch.zeros(rows, device="cuda")
        report.row(
            f"scatter_reduce {count} values",
            lambda: sheaf.scatter_reduce(values, index, sums),
            "torch index_add_",
            lambda: sums.index_add_(0, index, values),
        )
        report.row(
            "the same, order='any'",
            lambda: sheaf.scatter_reduce(values, index, sums, order="any"),
            "torch index_add_",
            lambda: sums.index_add_(0, index, values),
        )
        many, into = torch.rand(count, 32, device="cuda"), torch.zeros(rows, 32, device="cuda")
        report.row(
            f"scatter_reduce {count} rows of 32 float32",
            lambda: sheaf.scatter_reduce(many, index, into),
            "torch index_add_",
            lambda: into.index_add_(0, index, many),
        )
        report.row(
            "the same, order='any'",
            lambda: sheaf.scatter_reduce(many, index, into, order="any"),
            "torch index_add_",
            lambda: into.index_add_(0, index, many),
        )
        offsets = torch.arange(0, count + 1, 8, device="cuda")
        report.row(
            f"gather_reduce {count} rows of 32 float32",
            lambda: sheaf.gather_reduce(table, index, offsets),
            "torch embedding_bag, mode='sum'",
            lambda: torch.nn.functional.embedding_bag(index, table, offsets[:-1], mode="sum"),
        )
        keys = torch.randint(0, 1 << 60, (count,), device="cuda")
        report.row(f"sort {count} int64", lambda: sheaf.sort(keys), "torch.sort", lambda: torch.sort(keys))


def cupy_on_device(seconds, rows):
    cupy = library("cupy")
    if cupy is None:
        return print("cupy is not installed: no rows beside it")
    report = Report(Timer(seconds, cupy.cuda.runtime.deviceSynchronize))
    table = cupy.random.rand(rows, 16)
    for count in (1000, rows):
        index = cupy.random.randint(0, rows, count)
        out = cupy.empty((count, 16))
        report.row(
            f"gather {count} rows of 128 bytes, out=",
            lambda: sheaf.gather(table, index, out=out),
            "cupy.take, out=",
            lambda: cupy.take(table, index, axis=0, out=out),
        )
        keys = cupy.random.randint(0, 1 << 60, count)
        report.row(f"argsort {count} int64", lambda: sheaf.argsort(keys), "cupy.argsort", lambda: cupy.argsort(keys))


def main():
    parser = argparse.ArgumentParser(prog="python -m sheaf.bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=1 << 22, help="rows of the large calls (default: 2^22)")
    parser.add_argument("--seconds", type=float, default=0.5, help="time of each comparison (default: 0.5)")
    parser.add_argument("--device", choices=["cpu", "cuda", "both"], default="both")
    options = parser.parse_args()
    if options.rows < 1:
        parser.error("--rows is to be 1 or more")
    with sheaf.context("cpu") as ctx:
        print(f"sheaf {sheaf.__version__}, NumPy {np.__version__}, {sheaf.machine(ctx)['name']}, {ctx.threads} threads")
    if options.device != "cuda":
        report = Report(Timer(options.seconds))
        small_calls(report)
        cpu_gathers(report, options.rows)
        cpu_calls(report, options.rows)
        cpu_rows(report, options.rows)
        cpu_sparse(report, options.rows)
        import_time(report)
    if options.device != "cpu":
        torch_on_device(options.seconds, options.rows)
        cupy_on_device(options.seconds, options.rows)


if __name__ == "__main__":
    main()
