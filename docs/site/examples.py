"""Reads the parts of example programs that the reference shows: what stands between two lines `//! [name]`."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"^\s*(?://!|#!) \[([\w:]+)\]$")


@dataclass
class Example:
    file: str  # "examples/calls/movement.cpp"
    text: str


def examples(root=ROOT):
    """Examples by name. @raises ValueError where a mark has no second one, or a name two examples."""
    found = {}
    for path in sorted((root / "examples").rglob("*")):
        if path.suffix not in (".cpp", ".cu", ".hpp"):
            continue
        begun, lines = {}, path.read_text().split("\n")
        for number, line in enumerate(lines):
            mark = MARK.match(line)
            if not mark:
                continue
            name = mark.group(1)
            if name not in begun:
                begun[name] = number
                continue
            if name in found:
                raise ValueError(f"{path}: {name} is an example in {found[name].file}, too")
            inside = [text for text in lines[begun.pop(name) + 1 : number] if not MARK.match(text)]
            found[name] = Example(str(path.relative_to(root)), textwrap.dedent("\n".join(inside)).strip("\n"))
        if begun:
            raise ValueError(f"{path}: no second line //! [{next(iter(begun))}]")
    return found


def key_of(declared):
    """The name of the example of a function or class: that of the call, with "cuda::" before those for nvcc."""
    return ("cuda::" if declared.header.startswith("sheaf/cuda/") else "") + declared.short_name
