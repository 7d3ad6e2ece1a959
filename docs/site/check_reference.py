#!/usr/bin/env python3
"""check_reference.py: names every public function, of C++ and of Python, that the reference would show without an example.

A function at namespace scope has an example of its name in examples/ (`//! [distributed::gather]`; overloads share it). A
class with functions has one of its name, in which each of its public functions is called. A function or class of Python has
Examples in its docstring, in which, or in those of its own, each method is called. Also compares the code of guides with that of examples, which tests run. Reads sources alone.
"""

import ast
import re
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from declarations import ROOT, all_declarations  # noqa: E402
from examples import examples, key_of  # noqa: E402
from python_reference import public_names  # noqa: E402

# Functions that no program of a user calls, and why.
NOT_FOR_PROGRAMS = {
    "context::state": "the library's own view",
    "distributed::group::state": "the library's own view",
    "hash_index::table": "the library's own view",
    "hash_index::was_moved_from": "for the library's messages",
    "distributed::transport": "written by those who bring a transport of their own, called by groups",
}
# Classes of Python that are not made by name, with the functions whose docstrings show one; errors are shown together.
SHOWN_BY = {
    "PreparedGather": "prepare_gather",
    "PreparedScatter": "prepare_scatter",
    "PreparedScatterReduce": "prepare_scatter_reduce",
    "PreparedMatrix": "csr",
    "PreparedSpmm": "prepare_spmm",
    "PreparedEdgeSum": "prepare_edge_sum",
    "Progress": "cg",
    "Explanation": "explain",
}


def has_comment(root, declared, all_of_them):
    """Whether words stand before it, behind it, or before a declaration with which it stands: no empty line between them."""
    lines = (root / "include" / declared.header).read_text().split("\n")
    at = declared.line
    if declared.comment[0] < declared.line or "///<" in lines[at]:
        return True
    while at > 0 and lines[at - 1].strip():
        at -= 1
        if lines[at].startswith("///"):
            return True
    # Overloads share the words of one of them.
    return any(d.comment[0] < d.line for d in all_of_them if d.full_name == declared.full_name and d.header == declared.header)


def faults_of_headers(root):
    try:
        shown = examples(root)
    except ValueError as fault:
        return [str(fault)], 0
    faults, used, functions = [], set(), 0
    declared = all_declarations(root)
    with_functions = {(d.header, d.scope) for d in declared if d.kind == "function" and d.member_of}
    for d in declared:
        key = key_of(d)
        whole = key.rsplit("::", 1)[0] if d.member_of else key
        if key in NOT_FOR_PROGRAMS or whole in NOT_FOR_PROGRAMS:
            continue
        place = f"include/{d.header}:{d.line + 1}: {d.full_name}"
        if d.kind == "function" and not d.member_of and not has_comment(root, d, declared):
            faults.append(f"{place}: no comment")
        if d.kind == "function" and d.member_of:
            functions += 1
            used.add(whole)
            if whole in shown and not re.search(rf"\b{d.name}\b\s*(<[^;=]*>)?\(", shown[whole].text):
                faults.append(f"{place}: the example [{whole}] in {shown[whole].file} does not call it")
        elif d.kind == "function" or (d.kind == "class" and (d.header, (*d.scope, d.name)) in with_functions):
            functions += d.kind == "function"
            used.add(key)
            if key not in shown:
                faults.append(f"{place}: no example, lines //! [{key}] in examples/")
        elif d.kind == "class":
            used.add(key)
    faults += [f"{shown[name].file}: [{name}] is the example of nothing" for name in shown if name not in used]
    return faults, functions


def faults_of_python(root):
    faults, functions = [], 0
    for module, names in public_names(root).items():
        for name, node in names.items():
            functions += 1
            text = ast.get_docstring(node) if node else None
            if isinstance(node, ast.ClassDef) and any(getattr(b, "id", "") == "Error" for b in node.bases):
                continue
            if name in SHOWN_BY or name in ("Error", "Memory", "EdgeLists"):
                continue
            if text is None or ">>>" not in text:
                faults.append(f"{module}.{name}: its docstring has no example")
                continue
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                own = ast.get_docstring(method) if isinstance(method, ast.FunctionDef) else None
                # The reference leaves out what has no docstring. Modules of torch are called, and call their forward().
                if own is None or method.name.startswith("_") or method.decorator_list or method.name == "forward":
                    continue
                called = f".{method.name}("
                if called not in text and called not in own.partition(">>>")[2]:
                    faults.append(f"{module}.{name}.{method.name}: no example calls it")
    return faults, functions


def faults_of_guides(root):
    """Every block of C++ and Python in a guide is a part of an example, line by line, but for its indentation."""
    sources = {"cpp": [], "python": []}
    for folder, ending, language in (("examples", "*.cpp", "cpp"), ("examples", "*.cu", "cpp"),
                                     ("python/examples", "*.py", "python")):
        sources[language] += [path.read_text().split("\n") for path in sorted((root / folder).rglob(ending))]
    faults, blocks = [], 0
    for guide in sorted((root / "docs/guides").glob("*.md")):
        for found in re.finditer(r"^```(cpp|python)\n(.*?)^```", guide.read_text(), re.S | re.M):
            blocks += 1
            wanted = textwrap.dedent(found.group(2)).rstrip("\n").split("\n")
            if not any(holds(lines, wanted) for lines in sources[found.group(1)]):
                line = guide.read_text()[: found.start()].count("\n") + 1
                faults.append(f"docs/guides/{guide.name}:{line}: this code is a part of no example that a test runs")
    return faults, blocks


def holds(lines, wanted):
    """Whether the wanted lines follow one another among lines, all indented alike; marks of examples count for nothing."""
    lines = [line for line in lines if not re.match(r"\s*(//!|#!) \[", line)]
    first = wanted[0].strip()
    for at, line in enumerate(lines):
        if line.strip() == first:
            block = textwrap.dedent("\n".join(lines[at : at + len(wanted)])).rstrip("\n").split("\n")
            if block == wanted:
                return True
    return False


def main(root):
    faults, counted = [], []
    for check, what in ((faults_of_headers, "functions of headers"), (faults_of_python, "names of Python"),
                        (faults_of_guides, "blocks of code in guides")):
        found, count = check(root)
        faults += found
        counted.append(f"{count} {what}")
    for fault in faults:
        print(fault)
    print(", ".join(counted) + (f": {len(faults)} faults" if faults else ": each has its example"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT))
