"""Recorded runs of `sheaf-bench papers`, and the claims that read them."""

import importlib.util
import pathlib

from results_file import BadInput, check_number, read_document, recorded_rows, shown

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "lab" / "results" / "papers"
PAPERS = ("he2007", "patidar2009", "wei2010", "ujaldon2005")  # in the order of the page
SIZES = ("tiny", "small", "medium", "paper", "device")
# What rows say beside these is a fact that was counted.
KNOWN = {"problem", "backend", "who", "variant", "primitive", "pattern", "record_bytes", "index_type", "count", "calls",
         "median_seconds", "least_seconds", "most_seconds", "predicted_seconds", "peer_ratio", "bytes_per_second",
         "verified", "he2007_seconds", "figure", "promises_less", "input", "where", "is_prepared", "loading_seconds",
         "largest_error", "machine"}


class Row:
    """A row of a run: of a problem, or of an input."""

    def __init__(self, row, place):
        self.document = row
        self.is_read = False  # by a claim
        named = "problem" if "problem" in row else "input"
        for field in (named, "who", "figure", "backend"):
            if not isinstance(row.get(field), str) or not row[field].isprintable():
                raise BadInput(f"{place}: {field} is {shown(row.get(field))}, not a text")
        place = f"{place} ({row[named]}, {row['who']})"
        check_number(row, "median_seconds", place)
        if row.get("verified") is not True:
            raise BadInput(f"{place}: the answer was not verified")
        self.paper, slash, self.figure = row["figure"].partition("/")
        if not slash or self.paper not in PAPERS:
            raise BadInput(f"{place}: figure is {shown(row['figure'])}, not of one of {', '.join(PAPERS)}")
        self.texts = {"of": row[named], "who": row["who"], "where": row.get("where", row["backend"])}
        self.seconds = row["median_seconds"]
        self.model_seconds = row.get("he2007_seconds")
        self.bytes_per_second = row.get("bytes_per_second")
        self.loading_seconds = row.get("loading_seconds")
        self.is_prepared = row.get("is_prepared") is True
        self.facts = {name: value for name, value in row.items() if name not in KNOWN}


class Run:
    """A run of one paper on one backend of a machine."""

    def __init__(self, path, document, folder, size):
        self.path, self.document, self.folder, self.size = path, document, folder, size
        recorded_rows(document, path)  # judges the document
        self.recorded, self.commit = document["recorded"], document.get("commit", "unknown")
        self.rows = [Row(row, f"{path}: {named} {number}") for named in ("rows", "input_rows")
                     for number, row in enumerate(document.get(named, []))]
        papers = {row.paper for row in self.rows}
        if len(papers) != 1:
            raise BadInput(f"{path}: has rows of {len(papers)} papers, not of one")
        self.paper = papers.pop()
        machines = document["machines"]
        devices = [backend for backend in ("cuda", "opengl") if backend in machines]
        if len(devices) > 1 or not (devices or "cpu" in machines):
            raise BadInput(f"{path}: machines are {shown(sorted(machines))}; name one backend by --backend")
        self.backend = devices[0] if devices else "cpu"
        self.machine = machines[self.backend].get("machine")
        if not isinstance(self.machine, str) or not self.machine:
            raise BadInput(f"{path}: the machine of {self.backend} has no name")
        self.beside = {self.backend: self}  # the paper's runs on this machine
        self.by_figure = {}
        for row in self.rows:
            self.by_figure.setdefault(row.figure, []).append(row)

    def rows_of(self, figure, beside=None):
        run = self if beside is None else self.beside.get(beside)
        return [] if run is None else run.by_figure.get(figure, [])

    @property
    def kinds(self):
        """What reasons call the run's machine, the most special first."""
        return ("llvmpipe", "opengl") if self.machine.startswith("llvmpipe") else (self.backend,)

    @property
    def name(self):
        return f"{self.paper}-{self.backend}.json"


def read_runs(folder):
    """The runs of folder/<machine>/<paper>-<backend>.json, as script/record-papers leaves them."""
    runs = []
    for path in sorted(folder.glob("*/*")):
        document = read_document(path)
        if document.get("size") not in SIZES:
            raise BadInput(f"{path}: size is {shown(document.get('size'))}, not one of {', '.join(SIZES)}")
        run = Run(path, document, path.parent.name, document["size"])
        if path.name != run.name:
            raise BadInput(f"{path}: has the run of {run.name}")
        runs.append(run)
    for run in runs:
        run.beside.update({other.backend: other for other in runs
                           if (other.folder, other.paper) == (run.folder, run.paper)})
    return runs


def read_paper(name, folder=ROOT / "papers"):
    """The claims of papers/<name>/claims.py."""
    spec = importlib.util.spec_from_file_location(f"claims_of_{name}", folder / name / "claims.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAPER
