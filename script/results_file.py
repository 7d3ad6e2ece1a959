"""Reading the results files of sheaf-bench, which are untrusted, and writing what is made of them."""

import datetime
import difflib
import json
import os
import pathlib
import re
import shutil
import sys

# Times have the bounds of lab/harness/results_file.cpp, so that every quotient of two is finite and above 0.
BOUNDS = {
    "median_seconds": (1e-12, 1e6),
    "least_seconds": (1e-12, 1e6),
    "most_seconds": (1e-12, 1e6),
    "predicted_seconds": (1e-12, 1e6),
    "one_seconds": (1e-12, 1e6),
    "bound_seconds": (1e-12, 1e6),
    "bytes_per_second": (1, 1e18),
    "record_bytes": (1, 65536),
    "count": (1, 2**63),
}


class BadInput(Exception):
    pass


def shown(value):
    """A value for a message: short, and without what a terminal would act on."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:60] + "..."


def read_text(path):
    """The text of a regular file, line ends as they are. A named pipe would wait for its writer."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{path}: not a regular file")
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as problem:
        raise BadInput(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise BadInput(f"{path}: byte {problem.start} is not UTF-8") from None


def object_of(pairs):
    """An object of a document. Of a name that appears twice, the parser would take the last."""
    members = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"{shown(name)} appears twice")
        members[name] = value
    return members


def read_document(path):
    """The object of a file of --json, or of --record, which has "seconds" in place of "rows"."""
    try:
        document = json.loads(read_text(path), object_pairs_hook=object_of)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"{path}: {problem}") from None
    if not isinstance(document, dict):
        raise BadInput(f"{path}: is not an object")
    return document


def is_record(document):
    return "rows" not in document and "seconds" in document


def is_time(text):
    """Whether text is a time such as 2026-11-20T12:00:00Z. Times of this form are ordered like their texts."""
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.ASCII):
        return False
    try:
        datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return False
    return True


def machine_text(machine):
    text = re.sub(r"\(R\)|\(TM\)|NVIDIA |Intel|AMD | Processor| CPU", "", machine)
    return re.sub(r"\b1 threads$", "1 thread", " ".join(text.split()).replace(" ,", ","))


def table(heads, lines, left=1):
    """A table in Markdown; columns from `left` on are set right, but for names."""
    rule = ["---" if column < left or head == "which is" else "---:" for column, head in enumerate(heads)]
    return ["| " + " | ".join(line) + " |" for line in [heads, rule, *lines]]


def changes_text(path, before, text):
    changes = difflib.unified_diff(before.split("\n"), text.split("\n"), str(path), "from lab/results", n=0,
                                   lineterm="")
    return "\n".join(list(changes)[:20])


def say(text):
    try:
        print(text, flush=True)
    except OSError as problem:
        # The interpreter writes what is left once more when it ends, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise BadInput(f"standard output cannot be written: {problem.strerror}") from None


def recorded_rows(document, path):
    """When a file of --json was recorded, and its rows, each with the machine of its backend."""
    version = document.get("schema_version")
    if version is True or version != 2:
        raise BadInput(f"{path}: schema_version is {shown(version)}, not 2")
    recorded = document.get("recorded")
    if not is_time(recorded):
        raise BadInput(f"{path}: recorded is {shown(recorded)}, not a time such as 2026-11-20T12:00:00Z")
    if not isinstance(document.get("rows"), list):
        raise BadInput(f"{path}: rows is missing, or no list")
    machines = document.get("machines")
    if not isinstance(machines, dict) or not all(isinstance(of, dict) for of in machines.values()):
        raise BadInput(f"{path}: machines is missing, or no object of objects")
    rows = []
    for number, row in enumerate(document["rows"]):
        if not isinstance(row, dict):
            raise BadInput(f"{path}: row {number}: is not an object")
        backend = row.get("backend")
        if not isinstance(backend, str) or backend not in machines:
            raise BadInput(f"{path}: row {number}: backend is {shown(backend)}, of which machines has none")
        rows.append({**row, "machine": machines[backend].get("machine")})
    return recorded, rows


def check_number(row, field, place):
    least, most = BOUNDS[field]
    value = row.get(field)
    # The comparison is false for a NaN.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise BadInput(f"{place}: {field} is {shown(value)}, not a number from {least:g} to {most:g}")


def write_whole(texts):
    """Replaces every file by its text, {path: text}. None appears in part, and none changes unless all can be written.

    Every text is written beside its file first. Symbolic links are followed, and permissions stay.
    """
    temporaries = {}
    try:
        for path, text in texts.items():
            target = pathlib.Path(os.path.realpath(path))
            if target.exists() and not target.is_file():
                raise BadInput(f"{path}: not a regular file")
            if target.exists() and not os.access(target, os.W_OK):
                raise BadInput(f"{path}: is read-only")
            temporary = target.with_name(f".{target.name}.{os.getpid()}")
            temporaries[temporary] = target
            try:
                temporary.write_bytes(text.encode("utf-8"))
                if target.exists():
                    shutil.copymode(target, temporary)
            except OSError as problem:
                raise BadInput(f"{path}: cannot be written: {problem.strerror}") from None
        for temporary, target in temporaries.items():
            os.replace(temporary, target)
    finally:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
