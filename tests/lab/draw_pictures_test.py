"""script/draw-pictures: the pictures of docs/pictures can be read by all, and say what lab/results has."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

# The sheaf-bench that the script asks what rows are; the one that was built last unless given.
BENCH = os.environ.get("SHEAF_BENCH")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "script" / "draw-pictures"
SVG = "{http://www.w3.org/2000/svg}"

sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPT.parent))
import pictures  # noqa: E402
import svg_drawing  # noqa: E402


def run_script(*options):
    return subprocess.run([sys.executable, str(SCRIPT), *(["--bench", BENCH] if BENCH else []), *map(str, options)],
                          capture_output=True, text=True, check=False)


class Nothing:
    """Results of which nothing was recorded."""

    problems = ()

    def has(self, file):
        return False

    def recorded(self, file, name, variants):
        return None

    def problem(self, backend, name, machine):
        return None

    def plan(self):
        return None

    def require(self, folder):
        pass

    def scale_out(self):
        return []


class Problem:
    def __init__(self, backend, family, factor, predicted=1e-3):
        self.backend, self.family, self.factor = backend, family, factor
        self.machine_name, self.peer_text = "A machine", "`peer`"
        self.ours = {"median_seconds": 1e-3, "predicted_seconds": predicted}


class Made(Nothing):
    def __init__(self, problems):
        self.problems = problems

    def check_prediction(self, problem):
        pass


def texts_of(drawing):
    return [text.text for text in xml.etree.ElementTree.fromstring(drawing.svg()).iter(SVG + "text")]


class Script(unittest.TestCase):
    def test_check_fails_where_a_picture_is_changed_and_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for picture in (ROOT / "docs" / "pictures").glob("*.svg"):
                shutil.copy(picture, folder)
            peers = folder / "peers.svg"
            changed = peers.read_text(encoding="utf-8").replace("median", "medial", 1)
            peers.write_text(changed, encoding="utf-8")
            done = run_script("--check", "--pictures", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{peers}: not what lab/results has; run script/draw-pictures", done.stderr)
            self.assertEqual(peers.read_text(encoding="utf-8"), changed)
            done = run_script("--pictures", folder)
            self.assertEqual((done.returncode, done.stdout), (0, f"wrote {peers}\n"), done.stderr)
            self.assertEqual(peers.read_bytes(), (ROOT / "docs" / "pictures" / "peers.svg").read_bytes())

    def test_a_picture_that_nothing_draws_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            left = pathlib.Path(folder) / "left.svg"
            left.write_text("", encoding="utf-8")
            done = run_script("--pictures", folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{left}: is no picture of this script", done.stderr)

    def test_a_plan_that_is_none_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.json"
            good = json.loads((ROOT / "docs" / "pictures" / "plan.json").read_text(encoding="utf-8"))
            no_terms = {**good, "variants": [{**good["variants"][0], "terms": None}]}
            for text in ("{", json.dumps({**good, "problem": 3}), json.dumps(no_terms)):
                plan.write_text(text, encoding="utf-8")
                done = run_script("--check", "--plan", plan)
                self.assertEqual(done.returncode, 1)
                self.assertIn(str(plan), done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_calls_between_devices_are_drawn_once_they_are_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(ROOT / "lab" / "results", folder / "results")
            (folder / "pictures").mkdir()
            row = {"problem": "sort_keys/uniform/r8/u64/n=2147483648", "backend": "cuda", "who": "sheaf", "devices": 2,
                   "transport": "copies", "is_prepared": False, "verified": True, "one_seconds": 0.004,
                   "median_seconds": 0.005}
            document = {"schema_version": 2, "recorded": "2126-11-30T00:00:00Z", "rows": [],
                        "machines": {"cuda": {"machine": "NVIDIA H200"}}, "scale_out_rows": [row]}
            (folder / "results" / "two.json").write_text(json.dumps(document), encoding="utf-8")
            done = run_script("--results", folder / "results", "--pictures", folder / "pictures")
            self.assertEqual(done.returncode, 0, done.stderr)
            drawn = (folder / "pictures" / "scale-out.svg").read_text(encoding="utf-8")
            self.assertIn("1.60 (copies)", drawn)
            self.assertIn("sort 2^31 keys of 8 bytes", drawn)
            document["scale_out_rows"][0]["verified"] = False
            (folder / "results" / "two.json").write_text(json.dumps(document), encoding="utf-8")
            done = run_script("--results", folder / "results", "--pictures", folder / "pictures")
            self.assertEqual(done.returncode, 1)
            self.assertIn("two.json: row 0 of scale_out_rows: is no verified row", done.stderr)


class Pictures(unittest.TestCase):
    """What every picture in the source has."""

    def each(self):
        files = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
        self.assertTrue(files)
        return [(file, xml.etree.ElementTree.parse(file).getroot()) for file in files]

    def test_a_screen_reader_has_a_title_and_a_description(self):
        for _, root in self.each():
            self.assertEqual(root.get("role"), "img")
            named = {element.get("id"): element.text for element in root if element.get("id")}
            self.assertEqual(root.get("aria-labelledby").split(), ["title", "description"])
            self.assertGreater(len(named["title"]), 5)
            self.assertGreater(len(named["description"]), 100)

    def test_all_stand_on_the_page_of_pictures(self):
        page = (ROOT / "docs" / "pictures" / "README.md").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"\]\(([\w-]+\.svg)\)", page)), {file.name for file, _ in self.each()})

    def test_both_colour_schemes_colour_everything(self):
        for _, root in self.each():
            style = root.find(SVG + "style").text
            light, dark = style.split("@media(prefers-color-scheme:dark)")
            names = [set(re.findall(r"\.([\w-]+)\{(?:fill|stroke):#", scheme)) for scheme in (light, dark)]
            self.assertEqual(*names)
            for element in root.iter():
                if element.tag in (SVG + "title", SVG + "desc", SVG + "style", SVG + "svg"):
                    continue
                self.assertIn(element.get("class"), names[0])
                self.assertIsNone(element.get("fill"))
                self.assertIsNone(element.get("stroke"))

    def test_nothing_from_elsewhere_is_needed(self):
        for file, _ in self.each():
            text = file.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
            for outside in ("http", "href", "url(", "@import", "<image", "<script"):
                self.assertNotIn(outside, text)
            self.assertEqual(set(re.findall(r"font-family:([^;}]*)", text)), {"sans-serif"})

    def test_no_text_leaves_the_picture(self):
        for _, root in self.each():
            width, height = float(root.get("width")), float(root.get("height"))
            for text in root.iter(SVG + "text"):
                size = float(text.get("font-size"))
                self.assertGreaterEqual(size, 10, text.text)
                # Letters of wide fonts, such as DejaVu Sans, take 0.56 of their size in the mean.
                length = len(text.text) * size * 0.56
                x, y = float(text.get("x")), float(text.get("y"))
                if text.get("transform"):
                    self.assertGreater(y - length / 2, 0, text.text)
                    self.assertLess(y + length / 2, height, text.text)
                    continue
                before = {None: 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
                self.assertGreaterEqual(x - before, 0, text.text)
                self.assertLessEqual(x - before + length, width, text.text)
                self.assertGreater(y - size, 0, text.text)
                self.assertLess(y, height, text.text)

    def test_the_plan_is_of_a_recorded_problem(self):
        plan = json.loads((ROOT / "docs" / "pictures" / "plan.json").read_text(encoding="utf-8"))
        record = json.loads((ROOT / plan["profile"]).read_text(encoding="utf-8"))
        self.assertEqual(plan["machine"], record["machine"])
        able = [v for v in plan["variants"] if v["applicable"] and not v["reason"]]
        self.assertGreaterEqual(len(able), 2)
        for variant in able:
            self.assertIn(variant["variant"], record["seconds"][plan["problem"]])
            self.assertAlmostEqual(sum(term["seconds"] for term in variant["terms"]) / variant["predicted_seconds"], 1,
                                   delta=0.001)


class Functions(unittest.TestCase):
    def test_what_was_not_recorded_is_left_out(self):
        drawn = {name for name, draw in pictures.PICTURES.items() if draw(Nothing())}
        self.assertEqual(drawn, {"layers"})

    def test_peers_are_counted_by_family_and_backend(self):
        made = Made([Problem("cuda", "sort", factor) for factor in (0.5, 1.5, 2.0)] + [Problem("cpu", "sort", 0.96)])
        texts = texts_of(pictures.over_peers(made))
        self.assertIn("Time of the best peer over ours, 4 recorded calls", texts)
        self.assertIn("median 1.50", texts)
        self.assertIn("3 calls, 1 below 0.97", texts)
        self.assertIn("1 call, 1 below 0.97", texts)
        self.assertIn("1.0", texts)
        self.assertIn("beside peer", texts)

    def test_predictions_within_a_quarter_are_counted(self):
        made = Made([Problem("cuda", "sort", 1, predicted) for predicted in (1e-3, 1.2e-3, 2e-3, 0.5e-3)])
        texts = texts_of(pictures.predicted_and_measured(made))
        self.assertIn("4 recorded calls, 50 % of them predicted within a factor of 1.25", texts)
        self.assertIn("4 calls, 50 % within 1.25", texts)

    def test_devices_are_compared_with_one_of_them(self):
        class Devices(Nothing):
            def scale_out(self):
                return [{"devices": devices, "machine": "NVIDIA H200", "problem": f"{text}/n={length}", "text": text,
                         "is_prepared": False, "one_seconds": 1e-3, "median_seconds": seconds, "transport": transport}
                        for devices, text, length, seconds, transport in (
                            (2, "sort", 8, 2e-3, "nccl"), (2, "sort", 8, 3e-3, "copies"), (2, "sort", 4, 1e-3, "nccl"),
                            (2, "spmv", 8, 1.25e-3, "nccl"), (4, "sort", 8, 5e-3, "nccl"))]
        texts = texts_of(pictures.scale_out(Devices()))
        self.assertIn("2 x H200", texts)
        self.assertIn("1.00 (nccl)", texts)
        self.assertIn("1.60 (nccl)", texts)
        self.assertIn("4 x H200", texts)
        self.assertIn("0.80 (nccl)", texts)
        # The fastest transport of the longest rows.
        self.assertEqual(sum(text.endswith((" (nccl)", "(copies)")) for text in texts), 3)

    def test_codes_have_equal_numbers_of_keys(self):
        for parts in (2, 3, 12):
            ends = pictures.equal_shares(pictures.KEY_DENSITY, parts)
            self.assertEqual(len(ends), parts - 1)
            for keys in pictures.parts_of(pictures.KEY_DENSITY, ends):
                self.assertAlmostEqual(keys, sum(pictures.KEY_DENSITY) / parts)

    def test_texts_are_escaped(self):
        drawing = svg_drawing.Drawing(10, 10, "a < b", "c & d")
        drawing.text(1, 1, "<e>")
        root = xml.etree.ElementTree.fromstring(drawing.svg())
        self.assertEqual([element.text for element in root if element.text][:2], ["a < b", "c & d"])
        self.assertEqual(root.find(SVG + "text").text, "<e>")

    def test_numbers_have_one_form(self):
        self.assertEqual([svg_drawing.number(value) for value in (0, -0.01, 1.04, 2, 10.25, 3.96)],
                         ["0", "0", "1", "2", "10.2", "4"])


if __name__ == "__main__":
    unittest.main()
