"""script/record-papers and script/update-papers-results on runs and claims that are made here: what they write, and
what they say of claims that nothing holds and of files that they cannot use."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "script"))
import paper_claims as claims  # noqa: E402
from paper_runs import PAPERS, Row  # noqa: E402

BENCH = os.environ.get("SHEAF_BENCH")  # asked for its figures if given
HEAD = """from paper_claims import *
from paper_claims import Claim, Described, Paper
"""
GAIN = 'most(rows("9", who="one pass") / rows("9", who="many"))'
CLAIM = ('Claim("9", "Many passes are faster.", "2x", "one pass over many", {measure}, at_least=2, less=1.1, on={on}, '
         'why={why})')


def row(who, seconds, problem="scatter/permutation/r8/u32/n=1024", figure="he2007/9", backend="cpu", **more):
    return {"problem": problem, "backend": backend, "who": who, "variant": "cpu.direct", "primitive": "scatter",
            "pattern": "permutation", "record_bytes": 8, "index_type": "u32", "count": 1024, "calls": 3,
            "median_seconds": seconds, "least_seconds": seconds, "most_seconds": seconds, "predicted_seconds": None,
            "peer_ratio": None, "bytes_per_second": 123456789.0, "verified": True, "figure": figure, **more}


def input_row(who, seconds, **more):
    return {"figure": "he2007/9", "input": "words", "where": "cpu, 1 thread", "backend": "cpu", "who": who,
            "is_prepared": False, "loading_seconds": 0.0, "calls": 1, "median_seconds": seconds,
            "least_seconds": seconds, "most_seconds": seconds, "verified": True, "largest_error": None,
            "machine": "CPU, 2 threads", **more}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.page = self.folder / "page.md"
        self.write_claims()

    def write_claims(self, measure=GAIN, on='("cpu",)', why='{"cpu": "The list lies in the cache."}', figures='"9"'):
        """Papers of one described figure each, and he2007 of the claim."""
        for name in PAPERS:
            folder = self.folder / "papers" / name
            folder.mkdir(parents=True, exist_ok=True)
            table = '[Described("1", "A drawing.")]'
            if name == "he2007":
                table = f'[Described("1", "A drawing."), {CLAIM.format(measure=measure, on=on, why=why)}]'
            names = '{"1": "Figure 1. Drawn"' + (', "9": "Figure 9. Passes"}' if name == "he2007" else "}")
            (folder / "claims.py").write_text(f'{HEAD}PAPER = Paper("{name}", "The paper {name}", {names}, {table})\n',
                                              encoding="utf-8")

    def put(self, rows, backend="cpu", machine="Some CPU, 2 threads", folder="two-cores", size="small", inputs=(),
            name=None, **changed):
        machines = {backend: {"machine": machine, "versions": {}}}
        machines.update({each["backend"]: machines.get(each["backend"], {"machine": "Some CPU, 1 threads"})
                         for each in [*rows, *inputs]})
        document = {"schema_version": 2, "recorded": "2026-11-20T12:00:00Z", "commit": "abc", "machines": machines,
                    "rows": rows, "input_rows": list(inputs), **changed}
        raw = self.folder / (name or f"{backend}.json")
        raw.write_text(json.dumps(document), encoding="utf-8")
        return self.run_script("record-papers", "--size", size, "--machine", folder, str(raw))

    def run_script(self, script, *options):
        return subprocess.run([sys.executable, str(ROOT / "script" / script), "--results", str(self.folder / "results"),
                               *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def update(self, *options):
        return self.run_script("update-papers-results", "--papers", str(self.folder / "papers"), "--page",
                               str(self.page), *options)

    def text(self):
        done = self.update()
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.page.read_text(encoding="utf-8")

    def assert_refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class Verdicts(Folder):
    def cell(self, many_seconds):
        self.assertEqual(self.put([row("one pass", 4.0), row("many", many_seconds)]).returncode, 0)
        line = [each for each in self.text().split("\n") if each.startswith("| 1. Many passes")]
        self.assertEqual(len(line), 1)
        return line[0].split(" | ")[-1]

    def test_are_computed_from_the_recorded_rows(self):
        self.assertEqual(self.cell(2.0), "2x, holds |")
        self.assertEqual(self.cell(2.5), "1.6x, holds by less |")
        self.assertEqual(self.cell(4.0), "1x, does not hold today |")

    def test_are_those_of_the_number_that_is_seen(self):
        self.assertEqual(self.cell(2.0008), "2x, holds |")
        self.assertEqual(self.cell(2.02), "1.98x, holds by less |")

    def test_a_reason_stands_under_the_table_only_where_one_is_needed(self):
        self.cell(2.0)
        self.assertNotIn("The list lies in the cache.", self.text())
        self.cell(4.0)
        self.assertIn("\n- 1, on Some, 2 threads: The list lies in the cache.\n", self.text() + "\n")

    def test_without_a_reason_are_an_error(self):
        self.write_claims(why='{"cuda": "Only of a GPU."}')
        self.put([row("one pass", 4.0), row("many", 4.0)])
        self.assert_refused(self.update(), "Many passes are faster", "1x, does not hold today", "no reason why")
        self.assertFalse(self.page.exists())

    def test_the_folders_reason_comes_before_the_backends(self):
        self.write_claims(why='{"cpu": "Of CPUs.", "two-cores": "Of these two cores."}')
        self.cell(4.0)
        self.assertIn("Of these two cores.", self.text())


class Page(Folder):
    def test_check_fails_until_it_is_written_and_where_a_figure_is_typed(self):
        self.put([row("one pass", 4.0), row("many", 2.0)])
        self.assert_refused(self.update("--check"), "run script/update-papers-results")
        self.assertFalse(self.page.exists())
        text = self.text()
        self.assertEqual(self.update("--check").returncode, 0)
        self.page.write_text(text.replace("2x, holds", "3x, holds"), encoding="utf-8")
        self.assert_refused(self.update("--check"), "run script/update-papers-results")

    def test_a_further_machine_is_a_further_column(self):
        self.put([row("one pass", 4.0), row("many", 2.0)])
        self.put([row("one pass", 9.0), row("many", 3.0)], machine="Other CPU, 16 threads", folder="other")
        text = self.text()
        self.assertIn("| holds at | Other, 16 threads | Some, 2 threads |", text)
        self.assertIn("| 3x, holds | 2x, holds |", text)

    def test_two_folders_of_one_machine_are_an_error(self):
        for folder in ("a", "b"):
            self.put([row("one pass", 4.0), row("many", 2.0)], folder=folder)
        self.assert_refused(self.update(), "another folder has runs of 'Some, 2 threads'")

    def test_a_claim_whose_rows_nobody_recorded_is_an_error(self):
        self.put([row("one pass", 4.0), row("other", 2.0)])
        self.assert_refused(self.update(), "no recorded run has its rows", "who 'many'")

    def test_a_claim_of_a_backend_without_runs_says_so(self):
        self.write_claims(on='("cuda",)')
        self.put([row("one pass", 4.0), row("many", 2.0)])
        self.assertIn("not recorded: of CUDA |", self.text())

    def test_a_claim_of_large_sizes_is_not_about_a_small_run(self):
        self.write_claims(on='("cpu",), large=True')
        self.put([row("one pass", 4.0), row("other", 2.0)])
        self.assertIn("| of larger sizes |", self.text())

    def test_a_claim_may_read_the_cpu_of_the_same_machine(self):
        self.write_claims('most(rows("9", who="one pass", beside="cpu") / rows("9", who="many"))', on='("cuda",)')
        self.put([row("many", 2.0, backend="cuda")], "cuda", "NVIDIA H200", "gpu")
        self.assertIn("needs a CPU's run beside", self.text())
        self.put([row("one pass", 8.0, figure="he2007/1")], folder="gpu")  # a run of another figure does not help
        self.assertIn("needs a CPU's run beside", self.text())
        self.put([row("one pass", 8.0)], folder="gpu")
        self.assertIn("| 4x, holds |", self.text())

    def test_a_figure_without_a_claim_is_an_error(self):
        with self.assertRaisesRegex(claims.ClaimError, "figure 2 has no claim"):
            claims.Paper("he2007", "title", {"1": "Figure 1", "2": "Figure 2"}, [claims.Described("1", "A drawing.")])
        with self.assertRaisesRegex(claims.ClaimError, "figure 3 is not listed"):
            claims.Paper("he2007", "title", {"1": "Figure 1"},
                         [claims.Described("1", "A drawing."), claims.Described("3", "A drawing.")])

    @unittest.skipUnless(BENCH, "no sheaf-bench is given")
    def test_a_figure_of_the_benchmark_without_a_claim_is_an_error(self):
        self.put([row("one pass", 4.0), row("many", 2.0)])
        self.assert_refused(self.update("--bench", BENCH), "papers/he2007/claims.py: no claim of figure 6, 7, 8, 10")

    def test_an_empty_line_of_a_figure_is_an_error(self):
        path = self.folder / "papers" / "wei2010" / "claims.py"
        path.write_text(path.read_text(encoding="utf-8").replace("A drawing.", ""), encoding="utf-8")
        self.put([row("one pass", 4.0), row("many", 2.0)])
        self.assert_refused(self.update(), "has nothing under it")

    def test_the_projects_own_claims_are_of_figures_that_stand_once(self):
        for name in PAPERS:
            text = (ROOT / "papers" / name / "claims.py").read_text(encoding="utf-8")
            self.assertIn(f'PAPER = Paper("{name}"', text)


class Recording(Folder):
    def recorded(self, name="he2007-cpu.json"):
        return json.loads((self.folder / "results" / "two-cores" / name).read_text(encoding="utf-8"))

    def test_keeps_what_claims_read_in_five_digits(self):
        self.put([row("one pass", 4.123456789), row("many", 2.0, bytes_by_misses=77)],
                 inputs=[input_row("scan", 1.0, largest_load=5)])
        document = self.recorded()
        self.assertEqual((document["size"], document["schema_version"]), ("small", 2))
        self.assertEqual(document["rows"][0]["median_seconds"], 4.1235)
        self.assertNotIn("least_seconds", document["rows"][0])
        self.assertEqual(document["rows"][1]["bytes_by_misses"], 77)
        self.assertEqual(document["input_rows"][0]["largest_load"], 5)

    def test_of_a_large_run_keeps_the_rows_that_the_papers_claims_read(self):
        rows = [row("one pass", 4.0, problem=f"scatter/permutation/r8/u32/n={n}") for n in range(1, 2000)]
        read = [row(f"cpu.multipass:passes={passes},segments=1", 2.0) for passes in (1, 16)]
        self.put([*rows, *read])
        kept = [each["who"] for each in self.recorded()["rows"]]
        self.assertEqual(kept, [each["who"] for each in read])

    def test_joins_files_of_other_figures_of_one_run(self):
        self.put([row("one pass", 4.0)], name="a.json", recorded="2026-11-20T12:00:00Z")
        self.put([row("many", 2.0, figure="he2007/10")], name="b.json", recorded="2026-11-21T12:00:00Z")
        files = [str(self.folder / name) for name in ("a.json", "b.json")]
        options = ("--size", "small", "--machine", "two-cores")
        done = self.run_script("record-papers", *options, *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = self.recorded()
        self.assertEqual([each["figure"] for each in document["rows"]], ["he2007/9", "he2007/10"])
        self.assertEqual(document["recorded"], "2026-11-21T12:00:00Z")
        done = self.run_script("record-papers", *options, files[0], files[0])
        self.assert_refused(done, "has figure 9 of he2007, as")
        self.put([row("many", 2.0, figure="he2007/10")], name="b.json", machine="Other CPU, 4 threads")
        self.assert_refused(self.run_script("record-papers", *options, *files), "'Other CPU, 4 threads', and 'Some CPU")

    def test_refuses_what_is_no_run_of_one_paper_on_one_backend(self):
        good = row("many", 2.0)
        for rows, words in (
                ([good, row("many", 2.0, figure="wei2010/4")], "rows of 2 papers"),
                ([good, row("many", 2.0, figure="other/4")], "not of one of he2007"),
                ([row("many", 2.0, verified=False)], "was not verified"),
                ([row("many", float("nan"))], "median_seconds"),
                ([row("many", -1.0)], "median_seconds"),
                ([row("a\nb", 2.0)], "who is"),
                ([], "rows of 0 papers")):
            self.assert_refused(self.put(rows), "cpu.json", words)
        self.assert_refused(self.put([good, row("many", 1.0, backend="cuda"), row("many", 1.0, backend="opengl")]),
                            "name one backend by --backend")
        self.assert_refused(self.put([good], folder="Not a name"), "is no name of a folder")
        self.assert_refused(self.put([good], schema_version=1), "schema_version is 1")
        self.assertFalse((self.folder / "results" / "two-cores").exists())

    def test_a_file_that_says_no_size_or_another_run_is_refused(self):
        self.put([row("one pass", 4.0), row("many", 2.0)])
        path = self.folder / "results" / "two-cores" / "he2007-cpu.json"
        document = self.recorded()
        other = copy.deepcopy(document)
        del other["size"]
        path.write_text(json.dumps(other), encoding="utf-8")
        self.assert_refused(self.update(), "size is None")
        path.rename(path.with_name("wei2010-cpu.json"))
        path.with_name("wei2010-cpu.json").write_text(json.dumps(document), encoding="utf-8")
        self.assert_refused(self.update(), "has the run of he2007-cpu.json")


class FakeRun:
    """Rows of one figure."""

    def __init__(self, *rows):
        self.rows = [Row(each, "row") for each in rows]

    def rows_of(self, figure, beside=None):
        return [each for each in self.rows if each.figure == figure]


def at(n, who, seconds, **more):
    return row(who, seconds, problem=f"scatter/permutation/r8/u32/n={n}", **more)


class Measures(unittest.TestCase):
    N = r"scatter/.*/n=(?P<n>\d+)"
    PASSES = r"passes=(?P<passes>\d+)"

    def of(self, measure, *rows):
        return measure.of(FakeRun(*rows))

    def test_rows_pair_by_their_keys(self):
        rows = [at(1, "a", 6.0), at(2, "a", 8.0), at(2, "b", 2.0), at(1, "b", 3.0), at(4, "a", 1.0)]
        ratio = claims.rows("9", who="a") / claims.rows("9", who="b")
        self.assertEqual(self.of(claims.least(ratio), *rows), 2.0)
        self.assertEqual(self.of(claims.most(ratio), *rows), 4.0)
        self.assertEqual(self.of(claims.mean(ratio), *rows), 3.0)
        self.assertIsNone(self.of(claims.mean(ratio), at(1, "a", 6.0)))

    def test_the_first_of_equal_rows_counts_but_for_fastest_and_slowest(self):
        rows = [at(1, "a", 6.0), at(1, "a", 2.0), at(1, "a", 9.0)]
        self.assertEqual(self.of(claims.most(claims.rows("9", who="a")), *rows), 6.0)
        self.assertEqual(self.of(claims.most(claims.fastest(claims.rows("9", who="a"))), *rows), 2.0)
        self.assertEqual(self.of(claims.most(claims.slowest(claims.rows("9", who="a"))), *rows), 9.0)

    def test_best_growth_spread_and_scaling_are_by_a_group(self):
        rows = [at(1, "passes=1", 8.0), at(1, "passes=2", 4.0), at(1, "passes=8", 5.0)]
        by = claims.rows("9", of=self.N, who=self.PASSES)
        self.assertEqual(self.of(claims.most(claims.best(by, "passes")), *rows), 2.0)
        self.assertEqual(self.of(claims.most(claims.growth(by, "passes")), *rows), 5.0 / 8.0)
        self.assertEqual(self.of(claims.most(claims.spread_by(by, "passes")), *rows), 2.0)
        self.assertEqual(self.of(claims.most(claims.scaling(by, "passes")), *rows), 8.0 / 5.0 / 8.0)
        self.assertEqual(self.of(claims.most(claims.scaling(by, "passes", 2)), *rows), 1.0)
        self.assertEqual(self.of(claims.most(claims.past(by, "passes", 4)), *rows), 5.0 / 4.0)
        self.assertIsNone(self.of(claims.most(claims.past(by, "passes", 3)), *rows))

    def test_the_models_choice_is_that_with_its_least_prediction(self):
        rows = [at(1, "passes=1", 8.0, he2007_seconds=1.0), at(1, "passes=2", 4.0, he2007_seconds=3.0)]
        by = claims.rows("9", of=self.N, who=self.PASSES)
        self.assertEqual(self.of(claims.most(claims.by_model(by, "passes")), *rows), 8.0)
        self.assertEqual(self.of(claims.mean(claims.accuracy(by)), *rows), (1 / 8 + 3 / 4) / 2)

    def test_steps_are_summed_and_divided_by_records(self):
        rows = [at(4, "x: step 1", 1.0), at(4, "x: step 3", 7.0), at(4, "x: step 3", 99.0)]
        steps = claims.summed(claims.rows("9", of=self.N, who=r"x: (?P<step>step \d)"))
        self.assertEqual(self.of(claims.most(steps), *rows), 8.0)
        self.assertEqual(self.of(claims.most(claims.per_record(steps)), *rows), 2.0)

    def test_loading_that_never_pays_is_infinite(self):
        def rows_of(seconds):
            return [input_row("plain", 2.0), input_row("form", seconds, loading_seconds=10.0)]

        form, plain = claims.rows("9", who="form"), claims.rows("9", who="plain")
        # Their keys are equal: both are of the input "words".
        measure = claims.most(claims.runs_to_amortise(claims.loading(form), plain, form))
        self.assertEqual(self.of(measure, *rows_of(1.0)), 10.0)
        self.assertEqual(self.of(measure, *rows_of(2.0)), float("inf"))
        claim = claims.Claim("9", "Pays.", "10", "runs", measure, unit="", at_most=10)
        self.assertEqual((claim.text(float("inf")), claim.verdict(float("inf"))), ("never", "does not hold today"))

    def test_a_published_table_pairs_with_its_rows(self):
        rows = [at(8, "a", 0.5), at(16, "a", 4.0)]
        paper = claims.published(({"n": "8"}, 1.0), ({"n": "16"}, 2.0), ({"n": "32"}, 2.0))
        ratio = paper / claims.rows("9", of=self.N, who="a")
        self.assertEqual(self.of(claims.least(ratio), *rows), 0.5)

    def test_accesses_of_the_memory_test_are_counted_from_its_name(self):
        rows = [at(8, "memory test, reads, 2 x 3 x 4", 48.0)]
        tests = claims.rows("9")
        self.assertEqual(self.of(claims.most(tests / claims.accesses(tests)), *rows), 2.0)

    def test_numbers_beside_the_time_and_quotients(self):
        rows = [at(8, "a", 2.0, bytes_by_misses=6, bytes_per_second=5.0), at(8, "b", 1.0, bytes_per_second=10.0)]
        a, b = claims.rows("9", who="a"), claims.rows("9", who="b")
        self.assertEqual(self.of(claims.most(claims.fact(a, "bytes_by_misses") / a), *rows), 3.0)
        self.assertEqual(self.of(claims.most(claims.rate(a)).over(claims.most(claims.rate(b))), *rows), 0.5)
        self.assertIsNone(self.of(claims.most(claims.fact(b, "bytes_by_misses")), *rows))

    def test_a_claim_needs_one_bound_and_no_empty_text(self):
        measure = claims.most(claims.rows("9"))
        for wrong in ({}, {"at_least": 1, "at_most": 2}, {"at_least": 1, "unit": "miles"},
                      {"at_least": 1, "on": ("tpu",)}, {"at_least": 1, "why": {"cpu": ""}}):
            with self.assertRaises(claims.ClaimError):
                claims.Claim("9", "Says.", "2x", "here", measure, **wrong)
        with self.assertRaises(claims.ClaimError):
            claims.Claim("9", "", "2x", "here", measure, at_least=1)


if __name__ == "__main__":
    unittest.main()
