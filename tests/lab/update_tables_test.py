"""script/update-tables on results that are made here: what it writes, and what it says of files it cannot use.

Most tests call its main here, and ask sheaf-bench once about each row: an interpreter and one or two sheaf-benches, each
of which loads the libraries of the peers in a tenth of a second, took most of the time. What needs a process of its own
has one.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# The sheaf-bench that the script asks what rows are; the one that was built last unless given.
BENCH = os.environ.get("SHEAF_BENCH")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "script" / "update-tables"
EMPTY_README = "<!-- table: overview -->\nold\n<!-- end -->"
EMPTY_SCALE_OUT = "above\n<!-- table: scale-out -->\nold\n<!-- end -->\nbelow\n"
PAGE_TABLES = {"summary": "\n# Results\n", "headline": "\n## Headline rows\n",
               "slower": "\n## Where it is not faster\n"}


def load_script():
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SCRIPT.parent))
    loader = importlib.machinery.SourceFileLoader("update_tables", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("update_tables", loader))
    loader.exec_module(module)
    return module


TABLES = load_script()


class AskedOnce:
    """Asks a sheaf-bench once about each row: what it says follows from the row's name."""

    def __init__(self, ask):
        self.ask = ask
        self.documents, self.rows = {}, {}

    def __call__(self, bench, names):
        bench = str(bench)
        rows = self.rows.setdefault(bench, {})
        unknown = [name for name in names if name not in rows]
        if unknown or bench not in self.documents:
            self.documents[bench] = self.ask(bench, unknown)
            rows.update(zip(unknown, self.documents[bench]["rows"]))
        return {**self.documents[bench], "rows": [rows[name] for name in names]}


TABLES.descriptions = AskedOnce(TABLES.descriptions)


def ask_about(names):
    """Asks about all rows of a test at once."""
    TABLES.descriptions(BENCH or TABLES.find_bench(), list(names))


def row(problem, who, seconds, backend="cuda", **changed):
    variant = {"sheaf": f"{backend}.direct", "sheaf.prepared": "prepared"}.get(who, "")
    return {"problem": problem, "backend": backend, "who": who, "variant": variant, "machine": "NVIDIA H200",
            "median_seconds": seconds, "bytes_per_second": 1e9, "verified": True, **changed}


def described(rows):
    """The problem of rows that have one, as the script describes it."""
    problem = TABLES.Problem(rows[0], "2026-01-01T00:00:00Z", "a.json", "row 0", False)
    for each in rows:
        problem.add(each, "row")
    TABLES.describe_all([problem], BENCH)
    return problem


def headlines():
    rows = []
    with_peers = set()
    for name in TABLES.HEADLINES:
        backend, *prepared, problem = name.split(" ")
        rows.append(row(problem, "sheaf.prepared" if prepared else "sheaf", 1e-3, backend))
        if (backend, problem) not in with_peers:
            rows.append(row(problem, "peer", 2e-3, backend))
        with_peers.add((backend, problem))
    return rows


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.readme = self.folder / "README.md"
        self.page = self.folder / "results.md"
        self.readme.write_text(EMPTY_README, encoding="utf-8")
        self.scale_out = self.folder / "scale-out.md"
        self.scale_out.write_text(EMPTY_SCALE_OUT, encoding="utf-8")
        (self.folder / "results").mkdir()

    def put(self, name, rows, recorded="2026-01-01T00:00:00Z"):
        """Writes a results file of rows, whose machines stand once for each backend."""
        machines = {each["backend"]: {"machine": each["machine"]} for each in rows}
        rows = [{field: value for field, value in each.items() if field != "machine"} for each in rows]
        document = {"schema_version": 2, "recorded": recorded, "machines": machines, "rows": rows}
        (self.folder / "results" / name).write_text(json.dumps(document), encoding="utf-8")

    def options(self, *options):
        return ["--results", str(self.folder / "results"), "--readme", str(self.readme), "--page", str(self.page),
                "--scale-out", str(self.scale_out), *(["--bench", BENCH] if BENCH else []), *options]

    def run_script(self, *options):
        """The script's main, as a process that has ended. What it does not catch fails the test."""
        out, errors = io.StringIO(), io.StringIO()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                TABLES.main(self.options(*options))
            except SystemExit as end:  # with a message, the interpreter prints it and ends with 1
                code = 1 if isinstance(end.code, str) else end.code or 0
                if isinstance(end.code, str):
                    errors.write(end.code + "\n")
        return subprocess.CompletedProcess(options, code, out.getvalue(), errors.getvalue())

    def run_program(self, *options, stdout=subprocess.PIPE):
        return subprocess.run([sys.executable, str(SCRIPT), *self.options(*options)], stdout=stdout,
                              stderr=subprocess.PIPE, text=True, check=False)

    def lines_of(self, rows, table="slower"):
        """What a table of the page, or the overview of README.md, has of headline rows and these."""
        self.put("a.json", headlines() + rows)
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        if table == "overview":
            text = self.readme.read_text(encoding="utf-8")
            return text.split("<!-- table: overview -->\n")[1].split("\n<!-- end -->")[0].split("\n")[2:]
        section = self.page.read_text(encoding="utf-8").split(PAGE_TABLES[table])[1].split("\n## ")[0]
        return [line for line in section.split("\n") if line.startswith("| ")][2:]


def call(problem, seconds, one_seconds, who="sheaf", **changed):
    """A row of a call on two devices."""
    return {"problem": problem, "who": who, "is_prepared": False, "backend": "cuda", "devices": 2,
            "transport": "copies", "median_seconds": seconds, "one_seconds": one_seconds, "bound_seconds": None,
            "predicted_seconds": None, "verified": True, **changed}


class ScaleOut(Folder):
    SORT = "sort_keys/uniform/r8/u64/n=134217728"
    GATHER = "gather/uniform/r128/u32/n=16777216"

    def put_calls(self, name, rows, recorded="2026-01-01T00:00:00Z", machine="NVIDIA H200"):
        document = {"schema_version": 2, "recorded": recorded, "machines": {"cuda": {"machine": machine}}, "rows": [],
                    "scale_out_rows": rows}
        (self.folder / "results" / name).write_text(json.dumps(document), encoding="utf-8")

    def table(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.scale_out.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("above\n") and text.endswith("\nbelow\n"))
        return text.split("<!-- table: scale-out -->\n")[1].split("\n<!-- end -->")[0]

    def lines(self):
        return [line.strip("| ").split(" | ") for line in self.table().split("\n") if line.startswith("| ")][2:]

    def setUp(self):
        super().setUp()
        self.put("rows.json", headlines())

    def test_says_that_nothing_was_recorded(self):
        self.assertEqual(self.table(), "\nNothing has been recorded yet.\n")
        self.put_calls("none.json", [])
        self.assertEqual(self.table(), "\nNothing has been recorded yet.\n")

    def test_shows_losses_the_model_and_the_bound(self):
        self.put_calls("a.json", [call(self.SORT, 4e-3, 3.2e-3, predicted_seconds=3.8e-3, bound_seconds=1e-3),
                                  call(self.GATHER, 3.2e-3, 1.12e-3, is_prepared=True, predicted_seconds=2e-3)])
        self.assertIn("2 x H200, recorded 2026-01-01:", self.table())
        sort, gather = self.lines()
        self.assertEqual(sort[0], "sort 2^27 keys of 8 bytes")
        self.assertEqual(sort[1:7], ["copies", "3.20 ms", "4.00 ms", "1.60", "0.95", "25 %"])
        self.assertTrue(gather[0].endswith(", prepared"))
        self.assertEqual(gather[1:6], ["copies", "1.12 ms", "3.20 ms", "**0.70**", "**0.62**"])
        self.assertIn("off by 21 % in the mean of these rows, at most by 38 %; 1 of 2 are within 15 %", self.table())

    def test_takes_the_fastest_peer_of_any_file(self):
        self.put_calls("a.json", [call(self.SORT, 4e-3, 3.2e-3),
                                  call(self.SORT, 5e-3, None, who="cub.nccl.by_hand", transport="nccl")])
        self.put_calls("torch.json", [call(self.SORT, 2e-3, None, who="torch", transport="nccl")], "2026-01-02T00:00:00Z")
        self.assertEqual(self.lines()[0][-2:], ["`torch.distributed`", "**0.50**"])

    def test_the_newest_row_counts(self):
        self.put_calls("a.json", [call(self.SORT, 4e-3, 3e-3)])
        self.put_calls("b.json", [call(self.SORT, 2e-3, 3e-3)], "2026-02-01T00:00:00Z")
        self.assertEqual([line[4] for line in self.lines()], ["3.00"])

    def test_devices_and_transports_are_rows_of_their_own(self):
        self.put_calls("a.json", [call(self.SORT, 4e-3, 3e-3), call(self.SORT, 5e-3, 3e-3, transport="nccl"),
                                  call(self.SORT, 4e-3, 3e-3, devices=4)])
        self.assertEqual([line[1] for line in self.lines()], ["copies", "NCCL", "by", "---", "copies"])
        self.assertIn("4 x H200", self.table())

    def test_refuses_rows_that_are_damaged(self):
        for changed, message in (({"median_seconds": 0}, "median_seconds is 0"), ({"one_seconds": None}, "one_seconds is None"),
                                 ({"devices": 1}, "devices is 1"), ({"devices": True}, "devices is True"),
                                 ({"transport": "pigeon"}, "transport is 'pigeon'"), ({"verified": False}, "not verified"),
                                 ({"predicted_seconds": -1}, "predicted_seconds is -1"),
                                 ({"problem": "a|b"}, "not a text that a table can show"),
                                 ({"backend": "abacus"}, "of which machines has none"),
                                 ({"problem": "fly/uniform/r8/u64/n=4"}, "fly")):
            self.put_calls("a.json", [call(self.SORT, 4e-3, 3e-3) | changed])
            done = self.run_script()
            self.assertEqual(done.returncode, 1, message)
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        self.put_calls("a.json", [call(self.SORT, 4e-3, 3e-3)] * 2)
        self.assertIn("appears twice", self.run_script().stderr)


class Tables(Folder):
    def test_check_fails_until_they_are_written(self):
        self.put("a.json", headlines())
        before = self.run_program("--check")
        self.assertEqual(before.returncode, 1)
        self.assertIn("run script/update-tables", before.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), EMPTY_README)
        self.assertFalse(self.page.exists())
        self.assertEqual(self.run_program().returncode, 0)
        after = self.run_program("--check")
        self.assertEqual((after.returncode, after.stdout), (0, ""), after.stderr)

    def test_check_fails_where_a_figure_is_typed(self):
        self.put("a.json", headlines())
        self.run_script()
        for file in (self.readme, self.page):
            written = file.read_text(encoding="utf-8")
            file.write_text(written.replace("2.00", "3.00"), encoding="utf-8")
            self.assertEqual(self.run_script("--check").returncode, 1)
            file.write_text(written, encoding="utf-8")
        self.assertEqual(self.run_script("--check").returncode, 0)

    def test_runs_of_papers_are_left_out(self):
        self.put("a.json", headlines())
        (self.folder / "results" / "papers" / "machine").mkdir(parents=True)
        (self.folder / "results" / "papers" / "machine" / "a.json").write_text("not for these tables", encoding="utf-8")
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_text_outside_stays(self):
        self.readme.write_text("above\n" + EMPTY_README + "\nbelow\n", encoding="utf-8")
        self.put("a.json", headlines())
        self.assertEqual(self.run_script().returncode, 0)
        text = self.readme.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("above\n<!-- table: overview -->\n| "))
        self.assertTrue(text.endswith("\n<!-- end -->\nbelow\n"))
        self.assertNotIn("\nold\n", text)

    def test_links_and_permissions_stay(self):
        self.put("a.json", headlines())
        behind = self.folder / "behind.md"
        self.readme.rename(behind)
        self.readme.symlink_to("behind.md")
        behind.chmod(0o640)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertTrue(self.readme.is_symlink())
        self.assertEqual(behind.stat().st_mode & 0o777, 0o640)
        self.assertIn("| H200 |", behind.read_text(encoding="utf-8"))

    def test_headline_has_a_line_for_every_machine(self):
        name = TABLES.HEADLINES[0].split(" ")[1]
        lines = self.lines_of([], "headline")
        self.put("b.json", [row(name, "sheaf", 1e-3, machine="Another"), row(name, "thrust", 5e-4, machine="Another")])
        both = self.lines_of([], "headline")
        self.assertEqual(both[1:], lines)
        self.assertIn("| Another |", both[0])
        self.assertEqual(len(lines), len(TABLES.HEADLINES))

    def test_overview_has_headlines_alone_where_none_is_slower(self):
        self.assertLessEqual(set(TABLES.OVERVIEW), set(TABLES.HEADLINES))
        headline = [line.split(" | ")[0] for line in self.lines_of([], "headline")]
        overview = self.lines_of([], "overview")
        self.assertEqual([line.split(" | ")[0] for line in overview],
                         [headline[TABLES.HEADLINES.index(name)] for name in TABLES.OVERVIEW])
        for line in overview:
            self.assertIn(" | H200 | `peer` | 2.00 ms | 1.00 ms | 2.00 |", line)

    def test_overview_has_a_line_for_every_machine(self):
        name = TABLES.OVERVIEW[0].split(" ")[1]
        lines = self.lines_of([], "overview")
        self.put("b.json", [row(name, "sheaf", 1e-3, machine="Another"), row(name, "thrust", 3e-3, machine="Another")])
        both = self.lines_of([], "overview")
        self.assertEqual(both[1:], lines)
        self.assertIn("| Another |", both[0])

    def test_overview_keeps_what_is_slower_on_each_backend_apart(self):
        rows = []
        for backend, factor in (("cuda", 0.9), ("cpu", 0.8)):
            name = "sort_keys/nested/r4/u32/n=4096"
            rows += [row(name, "sheaf", 1e-3, backend), row(name, "peer", factor * 1e-3, backend)]
        self.assertEqual([line.rsplit(" | ", 2)[1:] for line in self.lines_of(rows, "overview") if "worst" in line],
                         [["1.00 ms", "**0.90** |"], ["1.00 ms", "**0.80** |"]])

    def test_overview_names_a_headline_that_is_the_worst_row_once(self):
        name = TABLES.OVERVIEW[0].split(" ")[1]
        lines = self.lines_of([], "overview")
        self.put("b.json", [row(name, "sheaf", 1e-3), row(name, "thrust", 5e-4)], "2026-01-01T00:00:01Z")
        slower = self.lines_of([], "overview")
        self.assertEqual([line.split(" rows, 1 of them below 0.97: ")[1] for line in slower if "worst" in line],
                         ["`gather` of 2^28, random permutation, records of 8 bytes | H200 | `thrust::gather` | "
                          "500.0 us | 1.00 ms | **0.50** |"])
        self.assertNotIn(lines[0].split(" | ")[0], "\n".join(slower))
        self.assertEqual(len(slower), len(lines))

    def test_slots_follow_the_order_of_the_list(self):
        name = "scatter_reduce/strided:16:s1024/r4/u32+u32/n=4096"
        self.assertIn("into 2^10 slots", self.lines_of([row(name, "sheaf", 1e-3), row(name, "atomics", 5e-4)])[0])

    def test_scatters_say_who_wins(self):
        name = "scatter/zipf/r4/u32+last/n=1024"
        lines = self.lines_of([row(name, "sheaf", 2e-5), row(name, "atomic_max", 1e-5)])
        self.assertTrue(any("records of 4 bytes, the last writer wins" in line for line in lines), lines)

    def test_lists_say_what_is_computed_and_in_which_order(self):
        cases = (
            ("list_rank/permutation/r4/u32/n=4096", "list_rank",
             "ranks of 4 bytes, u32 successors, random permutation"),
            ("list_rank/identity/r8/i64+many/n=4096", "list_rank",
             "many lists, ranks of 8 bytes, i64 successors, list in order"),
            ("list_scan/strided:1001/r4/u32+u32+packed/n=4096", "list_scan",
             "sums of u32 values in packed nodes, u32 successors, stride of 1001 records"),
            ("list_scan/reverse/r8/u32+f64+max+exclusive/n=4096", "list_scan",
             "exclusive max of f64 values, u32 successors, list in reverse order"))
        ask_about(name for name, *_ in cases)
        for name, call, what in cases:
            lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "serial_walk", 5e-4)])
            self.assertEqual(lines, [f"| `{call}` | {what} | H200 | 2^12 | walk of one CPU thread | 0.50 | 1 of 1 |"])

    def test_a_scan_of_an_array_is_no_peer_of_a_list(self):
        name = "list_scan/identity/r4/u32+u32+packed/n=4096"
        lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "serial_walk", 5e-4),
                               row(name, "cub.array_scan", 1e-4)])
        what = "sums of u32 values in packed nodes, u32 successors, list in order"
        self.assertEqual(lines, [f"| `list_scan` | {what} | H200 | 2^12 | walk of one CPU thread | 0.50 | 1 of 1 |"])

    def test_searches_say_what_is_looked_for_where(self):
        cases = (
            ("build_hash_index/x16/r4/k64+load99/n=4096", "build_hash_index",
             "keys of 8 bytes, 16 records each, load 0.99"),
            ("hash_find/zipf:s1024:x1:h50/r4/k32/n=4096", "hash_find",
             "2^10 records, keys of 4 bytes, one record each; 50 % found, Zipf"),
            ("hash_search/strided:7:xzipf:h100/r4/k64+load5/n=4096", "hash_search",
             "2^12 records, keys of 8 bytes, of many records or few, load 0.05; 100 % found, strided"))
        ask_about(name for name, *_ in cases)
        for name, call, what in cases:
            lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "binary_search", 5e-4)])
            peer = "`std::lower_bound` by all threads"
            self.assertEqual(lines, [f"| `{call}` | {what} | H200 | 2^12 | {peer} | 0.50 | 1 of 1 |"])

    def test_products_say_what_the_matrix_is(self):
        cases = (
            ("spmv/banded:x16/r4/u32+f32/n=4096", "banded, 16 a row, u32+f32"),
            ("spmv/grid:x7/r8/u32+u64+f64/n=4096", "grid, 7 a row, u32+u64+f64"),
            ("spmv/uniform:c900:xzipf/r4/i32+f32+transposed+f64_sums/n=4096",
             "random columns, uneven rows, 900 columns, i32+f32, transposed, sums f64"),
            ("spmv/zipf:s70:c900/r8/u64+f64+row_ends/n=4096",
             "Zipf columns, 70 rows, 900 columns, u64+f64, rows with ends of their own"))
        ask_about(name for name, *_ in cases)
        for name, what in cases:
            lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "cusparse", 6e-4),
                                   row(name, "cusparse.alg2.preprocessed", 5e-4)])
            self.assertEqual(lines, [f"| `spmv` | {what} | H200 | 2^12 | cuSPARSE | 0.60 | 1 of 1 |"])

    def test_what_was_prepared_has_a_line_of_its_own(self):
        name = "spmv/banded:x16/r4/u32+f32/n=4096"
        rows = [row(name, "sheaf", 1e-3), row(name, "sheaf.prepared", 8e-4), row(name, "cusparse", 6e-4),
                row(name, "cusparse.alg2.preprocessed", 4e-4)]
        what = "banded, 16 a row, u32+f32 | H200 | 2^12"
        self.assertEqual(self.lines_of(rows),
                         [f"| prepared `spmv` | {what} | cuSPARSE ALG2, preprocessed | 0.50 | 1 of 1 |",
                          f"| `spmv` | {what} | cuSPARSE | 0.60 | 1 of 1 |"])
        summary = [line for line in self.lines_of(rows, "summary") if "| 0.50 |" in line]
        self.assertEqual(len(summary), 1)
        self.assertTrue(summary[0].startswith("| prepared `spmv` | H200 |"), summary[0])
        self.assertIn("## prepared spmv, H200", self.page.read_text(encoding="utf-8"))

    def test_sums_over_edges_say_what_the_graph_is(self):
        cases = (
            ("edge_sum/identity/r12/u32+f32/n=4096", "ends as in a box, 3 components of f32, u32"),
            ("edge_sum/permutation:s900/r40/u64+f64+inverse_square+weights+pairs+unordered/n=4096",
             "ends of a box at random, 900 nodes, 5 components of f64, u64, inverse-square forces, with weights, "
             "ends side by side, in any order"),
            ("edge_sum/zipf/r4/i32+f32/n=4096", "ends Zipf, 1 component of f32, i32"))
        ask_about(name for name, *_ in cases)
        for name, what in cases:
            rows = [row(name, "sheaf", 1e-3), row(name, "atomics", 5e-4)]
            peer = "kernel of `atomicAdd`"
            self.assertEqual(self.lines_of(rows), [f"| `edge_sum` | {what} | H200 | 2^12 | {peer} | 0.50 | 1 of 1 |"])
            self.assertEqual(described(rows).headline, f"sums over 2^12 edges, {what}")

    def test_peers_that_promise_less_are_none(self):
        name = "scatter_reduce/zipf:s1024/r4/u32+f32/n=4096"
        lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "atomics", 1e-4, promises_less=True),
                               row(name, "cub.sort_reduce", 8e-4, promises_less=False)])
        self.assertEqual(len(lines), 1)
        self.assertIn("| CUB sort and reduction | 0.80 |", lines[0])

    def test_products_may_be_headlines(self):
        rows = [row("spmv/banded:x16/r4/u32+f32/n=1048576", "sheaf", 1e-3, "cpu"),
                row("spmv/banded:x16/r4/u32+f32/n=1048576", "eigen", 2e-3, "cpu")]
        problem = described(rows)
        self.assertEqual(problem.headline, "multiply by a matrix of 2^20 entries, banded, 16 a row, u32+f32")
        self.assertEqual(problem.peer_text, "Eigen")

    def test_factor_is_over_the_best_peer(self):
        name = "scatter_reduce/zipf:s1024/r4/u32+f32+unordered/n=4096"
        lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "atomics", 9e-3), row(name, "cub.sort_reduce", 8e-4),
                               row(name, "cuda.atomic", 1e-4, variant="cuda.atomic")])
        self.assertEqual(lines, ["| `scatter_reduce` | floats in any order; values of 4 bytes into 2^10 slots, Zipf | H200 "
                                 "| 2^12 | CUB sort and reduction | 0.80 | 1 of 2 |"])

    def test_slower_rows_are_grouped_worst_first(self):
        rows = []
        for width, count, factor in ((4, 2**18, 0.68), (4, 2**27, 0.87), (8, 2**27, 0.9), (8, 2**20, 0.97)):
            name = f"split/uniform:b8/r{width}/own/n={count}"
            rows += [row(name, "sheaf", 1e-3), row(name, "cub", factor * 1e-3)]
        name = "sort_keys/nested/r4/u32/n=4096"
        rows += [row(name, "sheaf", 1e-3), row(name, "cub", 5e-4)]
        self.assertEqual(self.lines_of(rows), [
            "| `sort_keys` | keys of 4 bytes (u32), nested | H200 | 2^12 | CUB radix sort | 0.50 | 1 of 1 |",
            "| `split` | records of 4, 8 bytes by 8 bits of keys that lie in the record, uniform | H200 | 2^18 to 2^27 | "
            "CUB radix sort | 0.68 to 0.90 | 3 of 5 |"])
        page = self.page.read_text(encoding="utf-8")
        self.assertIn("| 4 | own | uniform:b8 | CUB radix sort | **0.68** |  | **0.87** |  |", page)

    def test_readme_has_the_worst_row_of_a_family_and_the_page_has_all(self):
        rows = []
        for keys, factor in (("nested", 0.5), ("zipf", 0.8)):
            name = f"sort_keys/{keys}/r8/u64/n=4096"
            rows += [row(name, "sheaf", 1e-3), row(name, "cub", factor * 1e-3)]
        wide = "sort_keys/nested/r16/u128/n=4096"
        rows += [row(wide, "sheaf", 1e-3), row(wide, "cub", 6e-4)]
        nested, wider, zipf = self.lines_of(rows)
        self.assertEqual(nested, "| `sort_keys` | keys of 8 bytes (u64), nested | H200 | 2^12 | CUB radix sort | 0.50 "
                                 "| 1 of 1 |")
        self.assertIn("| `sort_keys` | keys of 16 bytes (u128), nested | H200 | 2^12 | CUB radix sort | 0.60 |", wider)
        self.assertIn("| `sort_keys` | keys of 8 bytes (u64), Zipf | H200 | 2^12 | CUB radix sort | 0.80 |", zipf)
        sorts = sum(name.startswith("cuda sort_") for name in TABLES.HEADLINES)
        overview = self.lines_of(rows, "overview")
        worst = (f"| worst of {sorts + 3} rows, 3 of them below 0.97: `sort_keys` of 2^12, keys of 8 bytes (u64), "
                 "nested | H200 | CUB radix sort | 500.0 us | 1.00 ms | **0.50** |")
        self.assertEqual([line for line in overview if "2^12" in line], [worst])
        self.assertTrue(overview[overview.index(worst) - 1].startswith("| sort 2^28 keys"), overview)

    def test_rounding_does_not_hide_that_a_row_is_slower(self):
        name = "sort_keys/nested/r4/u32/n=4096"
        rows = [row(name, "sheaf", 1e-3), row(name, "cub", 0.9699e-3)]
        self.assertIn("| 0.969 |", self.lines_of(rows)[0])
        self.assertIn("| **0.969** |", "\n".join(self.lines_of(rows, "overview")))

    def test_newest_file_counts(self):
        name = TABLES.HEADLINES[0].split(" ")[1]
        self.put("b.json", [row(name, "sheaf", 1e-3), row(name, "thrust", 7e-3)], "2025-01-01T00:00:00Z")
        self.assertIn("| 2.00 |", self.lines_of([], "headline")[0])
        self.put("b.json", [row(name, "sheaf", 1e-3), row(name, "thrust", 7e-3)], "2026-01-01T00:00:01Z")
        self.assertIn("| 7.00 |", self.lines_of([], "headline")[0])

    def test_summary_counts_rows(self):
        name = "sort_gather_index/nested/r4/u32/n=4096"
        lines = self.lines_of([row(name, "sheaf", 1e-3), row(name, "cub", 5e-4)], "summary")
        index = [line for line in lines if line.startswith("| `sort_gather_index`")]
        self.assertEqual(index, ["| `sort_gather_index` | H200 | 4 | 2^12 to 2^28 | 2 | 1.00 | 50 % | 0.50 | "
                                 "`nested/r4/u32/n=4096` |"])


class Errors(Folder):
    def expect(self, message, done=None):
        done = done or self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(self.page.exists())

    def test_row_and_field_are_named(self):
        name = "gather/identity/r4/u32/n=4"
        for changed, message in (({"median_seconds": None}, "median_seconds is None"),
                                 ({"median_seconds": -1}, "median_seconds is -1"),
                                 ({"median_seconds": True}, "median_seconds is True"),
                                 ({"median_seconds": float("nan")}, "median_seconds is nan"),
                                 ({"verified": False}, "the answer was not verified")):
            self.put("bad.json", [row(name, "thrust", 1), row(name, "sheaf", 1, **changed)])
            self.expect(f"bad.json: row 1 ({name}/sheaf): {message}")
        for seconds in (1e-300, 1e299, 10**299):
            self.put("bad.json", [row(name, "sheaf", 1), row(name, "thrust", seconds)])
            self.expect("not a number from 1e-12 to 1e+06")
        self.put("bad.json", [row(name, "sheaf", 1, machine=7)])
        self.expect("bad.json: row 0: machine is 7, not a string")
        self.put("bad.json", [row("gather", "sheaf", 1)])
        self.expect("bad.json: row 0: problem 'gather', character 1: 'gather' is not "
                    "PRIMITIVE/PATTERN/rBYTES/TYPE/n=COUNT")
        for field, value, message in (("backend", "gpu", "backend is 'gpu', not cpu or cuda"),
                                      ("machine", "a|b", "machine is 'a|b', which no table can show"),
                                      ("machine", "a\n\n# b", "machine is 'a\\n\\n# b', which no table can show"),
                                      ("machine", "\ud800", "machine is '\\ud800', which no table can show"),
                                      ("machine", "", "machine is empty"), ("variant", "", "variant is empty")):
            self.put("bad.json", [row(name, "sheaf", 1, **{field: value})])
            self.expect(f"bad.json: row 0: {message}")

    def test_problems_that_no_call_has(self):
        slots = "an order and a number of slots, such as uniform:s1024"
        rows = "a pattern of nonzeros with rows (s1000) or the entries of a row (x16)"
        cases = (("split/uniform/r4/own/n=64", "'uniform' is not a distribution of keys and the bits that"),
                 ("split/uniform:b33/r4/own/n=64", "'33' is not a number of bits that the key has"),
                 ("split/uniform:b8/r4/u32/n=64", "'u32' is not own, k32 or k64"),
                 ("scatter_reduce/zipf/r4/u32+f32/n=64", f"'zipf' is not {slots}"),
                 ("scatter_reduce/zipf:s10/r4/u32/n=64", "'u32' is not an index type and a value type"),
                 ("list_rank/identity/r4/u32+f32/n=64", "'f32' is not the number of lists: many"),
                 ("list_scan/identity/r4/u32+f32+packed+max/n=64", "is written 'list_scan/identity/r4/"),
                 ("hash_find/uniform:s9:x1/r4/k64/n=64", "'uniform:s9:x1' is not an order, the records"),
                 ("hash_find/uniform:x1:h101/r4/k64/n=64", "'101' is not a number of hits in per cent"),
                 ("build_hash_index/x0/r4/k64/n=64", "'0' is not a number of records that share a key"),
                 ("hash_count/uniform:x1:h5/r4/k64+99/n=64", "'99' is not a load factor in per cent"),
                 ("spmv/banded/r4/u32+f32/n=64", f"'banded' is not {rows}"),
                 ("spmv/banded:s9:x3/r4/u32+f32/n=64", f"'banded:s9:x3' is not {rows}"),
                 ("spmv/grid:x8/r4/u32+f32/n=64", "'grid:x8' is not a grid: x5 or x9 for a square"),
                 ("edge_sum/identity:s/r4/u32+f32/n=64", "'' is not the number of nodes of a graph"),
                 ("edge_sum/identity/r4/u32+u32/n=64", "'u32' is not a type of nodes' values: f32, f64"),
                 ("spmv/banded:x3/r4/u32/n=64", "'u32' is not an index type, or two, and a value type"),
                 ("spmv/banded:x3/r4/u32+f32+row_ends+transposed/n=64", "is written 'spmv/banded:x3/r4/"),
                 ("list_scan/identity:s9/r4/u32+f32/n=64", "'identity:s9' is not an access pattern"),
                 ("sort_keys/uniform/r4/own/n=64", "'own' is not a type of keys: u32, i64, f32, bytes10"),
                 ("sort_keys/uniform:b9-3/r4/u32/n=64", "'3' is not a range of the key's bits"),
                 ("gather/clustered:\u00b2/r4/u32/n=64", "is not an access pattern; there are identity, "),
                 ("gather/same/r4/u32/n=\u0663", "character 22: '\\xd9\\xa3' is not a whole number"),
                 ("gather/same/r4/u32/n=0", "(gather/same/r4/u32/n=0): count is 0, not a number from 1"),
                 ("gather/same/r4/u32/n=" + "9" * 5000, "which no table can show"))
        ask_about(name for name, *_ in cases if len(name) < 256)
        for name, message in cases:
            self.put("bad.json", [row(name, "sheaf", 1), row(name, "peer", 1)])
            self.expect("bad.json: row 0")
            self.expect(message)

    def test_rows_that_contradict_each_other(self):
        name = "gather/identity/r4/u32/n=4"
        self.put("bad.json", [row(name, "sheaf", 1), row(name, "thrust", 1), row(name, "thrust", 2)])
        self.expect(f"bad.json: row 2: {name}/thrust appears twice")
        self.put("bad.json", [row(name, "sheaf", 1), row(name, "sheaf", 1)])
        self.expect(f"bad.json: row 1: {name}/sheaf appears twice")
        self.put("bad.json", [row(name, "sheaf", 1, machine="H200"), row(name, "thrust", 1, machine="H200")])
        self.put("a.json", headlines())
        self.expect("the machines 'H200' and 'NVIDIA H200' are both 'H200' in a table")

    def test_files_that_are_no_results(self):
        for text, message in (("{", "bad.json: "), ("[]", "is not an object"),
                              ('{"schema_version": 1}', "schema_version is 1, not 2"),
                              ('{"schema_version": 2}', "recorded is None"),
                              ('{"schema_version": true}', "schema_version is True, not 2"),
                              ('{"schema_version": 2, "schema_version": 1}', "'schema_version' appears twice"),
                              ('{"schema_version": 2, "recorded": "9999-99-99T99:99:99Z"}', "not a time such as"),
                              ('[' * 100000, "bad.json: "), ("\0", "bad.json: "), ("9" * 10000, "bad.json: "),
                              ('{"schema_version": 2, "recorded": "2026-01-01T00:00:00Z"}', "rows is missing"),
                              ('{"schema_version": 2, "recorded": "2026-01-01T00:00:00Z", "rows": []}',
                               "machines is missing"),
                              ('{"schema_version": 2, "recorded": "2026-01-01T00:00:00Z", "machines": {"cpu": 7}, '
                               '"rows": []}', "machines is missing, or no object of objects"),
                              ('{"schema_version": 2, "recorded": "2026-01-01T00:00:00Z", "machines": {}, '
                               '"rows": [7]}', "row 0: is not an object"),
                              ('{"schema_version": 2, "recorded": "2026-01-01T00:00:00Z", "machines": {}, '
                               '"rows": [{"backend": "cuda"}]}', "row 0: backend is 'cuda', of which machines has none")):
            (self.folder / "results" / "bad.json").write_text(text, encoding="utf-8")
            self.expect(message)

    def test_results_that_are_no_files(self):
        os.mkfifo(self.folder / "results" / "pipe.json")
        self.expect("pipe.json: not a regular file")
        (self.folder / "results" / "pipe.json").unlink()
        (self.folder / "results" / "bytes.json").write_bytes(b"{\xff")
        self.expect("bytes.json: byte 1 is not UTF-8")
        (self.folder / "results" / "bytes.json").unlink()
        (self.folder / "results").rmdir()
        self.expect("results: not a folder")

    def test_a_sheaf_bench_that_does_not_answer(self):
        self.put("a.json", headlines())
        for bench, message in ((self.folder / "none", "none: No such file or directory"),
                               (self.folder, "Permission denied"),
                               ("/bin/true", "/bin/true: --describe ended with 0"),
                               ("/bin/false", "/bin/false: --describe ended with 1")):
            done = self.run_program("--bench", str(bench))
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_no_sheaf_bench_that_was_built(self):
        TABLES.ROOT = self.folder
        self.addCleanup(setattr, TABLES, "ROOT", ROOT)
        with self.assertRaisesRegex(TABLES.BadInput, "no build/\\*/bin/sheaf-bench.*or name one by --bench"):
            TABLES.find_bench()
        for preset, age in (("old", 100), ("new", 200), ("older", 50)):
            built = self.folder / "build" / preset / "bin" / "sheaf-bench"
            built.parent.mkdir(parents=True)
            built.touch()
            os.utime(built, (age, age))
        self.assertEqual(TABLES.find_bench(), self.folder / "build" / "new" / "bin" / "sheaf-bench")

    def test_headline_without_a_row(self):
        name = "gather/identity/r4/u32/n=4"
        self.put("a.json", [row(name, "sheaf", 1), row(name, "thrust", 1)])
        self.expect(f"no results file has '{TABLES.HEADLINES[0]}'")

    def test_readme_without_a_table(self):
        self.put("a.json", headlines())
        begin = "<!-- table: overview -->\n"
        for text, message in ((EMPTY_README.replace("table: overview", "overview"), "README.md:3: no table ends here"),
                              (EMPTY_README.replace("table: overview", "table: faster"), "table faster is unknown"),
                              (f"{EMPTY_README}\n{EMPTY_README}", "README.md:4: table overview is unknown or appears twice"),
                              (begin + EMPTY_README, "README.md:2: table overview begins inside table overview"),
                              (EMPTY_README[:-len("<!-- end -->")], "table overview has no end"),
                              ("", "no table overview")):
            self.readme.write_text(text, encoding="utf-8")
            self.expect(message)

    def test_readme_that_is_no_text(self):
        self.put("a.json", headlines())
        self.readme.write_bytes(EMPTY_README.encode() + b"\xff")
        self.expect(f"README.md: byte {len(EMPTY_README)} is not UTF-8")
        self.readme.write_bytes(EMPTY_README.replace("\n", "\r\n").encode())
        self.expect("README.md: has a carriage return")
        self.readme.unlink()
        os.mkfifo(self.readme)
        self.expect("README.md: not a regular file")

    def test_readme_stays_where_the_page_cannot_be_written(self):
        self.put("a.json", headlines())
        page = self.page
        for self.page, message in ((self.folder / "none" / "results.md", "No such file or directory"),
                                   (self.folder / "results" / ".." / "README.md", "are the same file")):
            self.expect_readme_stays(message)
        self.page = page
        self.page.mkdir()
        self.expect_readme_stays("results.md: not a regular file")
        self.page.rmdir()
        self.page.write_bytes(b"\xff")
        self.expect_readme_stays("results.md: byte 0 is not UTF-8")

    def expect_readme_stays(self, message):
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn(message, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(self.readme.read_text(encoding="utf-8"), EMPTY_README)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(".")], [])

    @unittest.skipIf(os.geteuid() == 0, "root may write what is read-only")
    def test_readme_that_is_read_only(self):
        self.put("a.json", headlines())
        self.readme.chmod(0o444)
        self.expect_readme_stays("README.md: is read-only")

    @unittest.skipUnless(pathlib.Path("/dev/full").exists(), "no /dev/full here")
    def test_output_that_is_lost(self):
        self.put("a.json", headlines())
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_program("--check", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output cannot be written", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_two_files_of_one_time(self):
        self.put("a.json", headlines())
        self.put("b.json", headlines())
        self.expect("were recorded at the same time", self.run_program())


if __name__ == "__main__":
    unittest.main()
