"""What is written is true: docstrings, stubs, the page, the examples, the command."""

import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stubs

import sheaf

PYTHON = Path(__file__).resolve().parents[1]
ROOT = PYTHON.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
    for name in sheaf.__all__:
        thing = getattr(sheaf, name)
        if not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            for member in vars(thing):
                if not member.startswith("_") and callable(getattr(thing, member)):
                    yield f"{name}.{member}", getattr(thing, member)


@pytest.mark.parametrize("name, thing", list(documented()), ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings(name, thing):
    text = thing.__doc__ or ""
    assert len(text) > 20, f"{name} has no docstring"
    results = []
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=results.append)
    assert not any("Failed example" in r for r in results), "".join(results)


def test_every_parameter_is_described():
    all_stubs, described = stubs.stub(), 0
    for name in sheaf.__all__:
        text = getattr(getattr(sheaf, name), "__doc__", None) or ""
        if name not in vars(sheaf._sheaf) or "Parameters\n" not in text:
            continue
        signature = re.search(
            rf"^def {name}\((.*)\) ->|^class {name}:.*?def __init__\(self, (.*?)\) ->", all_stubs, re.M | re.S
        )
        line = (signature.group(1) or signature.group(2)).partition("\n")[0]
        for parameter in re.findall(r"(\w+): ", line):
            assert re.search(rf"^ *\*?(\w+, )*{parameter}(, \w+)*( :|$)", text, re.M), (
                f"{name} does not describe {parameter}"
            )
            described += 1
    assert described > 100


def test_stubs_are_those_of_the_module():
    wanted = (PYTHON / "sheaf/_sheaf.pyi").read_text()
    assert stubs.stub() == wanted, "python python/tests/stubs.py > python/sheaf/_sheaf.pyi"
    compile(wanted, "_sheaf.pyi", "exec")


def test_every_call_of_the_library_has_its_place():
    """A call that a header gets is bound, or named here with the reason why not."""
    bound = {
        "gather": "gather",
        "scatter": "scatter",
        "scatter_reduce": "scatter_reduce",
        "prepare_gather": "prepare_gather",
        "prepare_scatter": "prepare_scatter",
        "prepare_scatter_reduce": "prepare_scatter_reduce",
        "gather_reduce": "gather_reduce",
        "spmm": "spmm",
        "prepare_spmm": "prepare_spmm",
        "sort_records": "sort",
        "sort_gather_index": "argsort",
        "sort_pairs": "sort_pairs",
        "split": "split",
        "split_unstable": "split",
        "split_gather_index": "split_index",
        "split_scatter_index": "split_index",
        "multi_split": "multi_split",
        "build_hash_index": "HashIndex",
        "hash_search": "HashIndex",
        "hash_count": "HashIndex",
        "hash_contains": "HashIndex",
        "hash_find": "HashIndex",
        "list_rank": "list_rank",
        "list_scan": "list_scan",
        "spmv": "csr",
        "prepare_spmv": "csr",
        "conjugate_gradient": "cg",
        "edge_sum": "edge_sum",
        "prepare_edge_sum": "prepare_edge_sum",
        "format_machine": "machine",
        "parse_machine": "machine",
        "calibrate": "calibrate",
        "store_machine": "calibrate",
    }
    left_out = {
        "hash_search_into": "search returns arrays that fit",
        "multi_split_index": "multi_split returns the sources",
        "copy_bytes": "arrays have a library of their own that copies",
        "opengl_run": "for programs with OpenGL",
        "name": "of enumerations, which are strings here",
        "list_scan_by": "functions of C++",
        "list_scan_packed_by": "functions of C++",
        "edge_sum_by": "functions of C++",
        "load_machine": "json.load and machine(use=)",
        "save_machine": "json.dump of machine()",
        "shipped_machines": "machine() is the one in use",
        "nearest_machine": "as above",
        "load_stored_machine": "as above",
        "default_machine_path": "calibrate(store=True)",
        "device_edge_shape": "",
        "opengl_import": "for programs with OpenGL",
    }
    declared = set()
    for header in (ROOT / "include/sheaf").glob("*.hpp"):
        for found in re.finditer(r"^SHEAF_API [\w:<>, ]*?[ &*](\w+)\(", header.read_text(), re.M):
            declared.add(found.group(1))
    declared = {name for name in declared if not name.startswith("explain_")}
    assert len(declared) > 25
    assert declared <= set(bound) | set(left_out), declared - set(bound) - set(left_out)
    assert set(bound) <= declared and set(bound.values()) <= set(sheaf.__all__)


def code_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_code_of_pages_runs(page):
    blocks = [block for block in code_of(ROOT / page) if not re.search(r"import (torch|cupy)", block)]
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_code_for_devices_compiles():
    for block in code_of(ROOT / "docs/python.md"):
        compile(block, "docs/python.md", "exec")


@pytest.mark.parametrize("example", sorted(p.name for p in (PYTHON / "examples").glob("*.py")))
def test_examples(example):
    if "import torch" in (PYTHON / "examples" / example).read_text():
        pytest.importorskip("torch")
    done = subprocess.run([sys.executable, PYTHON / "examples" / example], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.parametrize("program", sorted(p.name for p in (PYTHON / "examples/primitives").glob("*.py")))
def test_primitives_print_what_they_say(program):
    source = PYTHON / "examples/primitives" / program
    said = source.read_text().partition("\n# Prints:\n")[2]
    done = subprocess.run([sys.executable, source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert said and done.stdout.splitlines() == [line.removeprefix("#").removeprefix(" ") for line in said.splitlines()]


def test_every_primitive_has_a_program_in_both_languages():
    programs = {p.stem for p in (PYTHON / "examples/primitives").glob("*.py")}
    assert len(programs) == 10 and programs == {p.stem for p in (ROOT / "examples/primitives").glob("*.cpp")}


def test_there_are_four_examples():
    assert len(list((PYTHON / "examples").glob("*.py"))) == 4


def test_the_command(tmp_path):
    command = Path(sheaf.__file__).parent / "bin/sheaf"
    has_command = hasattr(sheaf._sheaf, "_command") or command.exists()
    done = subprocess.run([sys.executable, "-m", "sheaf", "version"], capture_output=True, text=True)
    if not has_command:
        assert done.returncode == 1 and "libcli11-dev" in done.stderr
        pytest.skip("built without the command")
    assert done.returncode == 0 and sheaf.__version__ in done.stdout
    np.save(tmp_path / "a.npy", np.array([3, 1, 2]))
    subprocess.run([sys.executable, "-m", "sheaf", "sort", "a.npy", "-o", "b.npy"], cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), sheaf.sort(np.load(tmp_path / "a.npy")))
    assert subprocess.run([sys.executable, "-m", "sheaf", "nothing"], capture_output=True).returncode == 2
    assert (
        subprocess.run([sys.executable, "-m", "sheaf", "sort", "none.npy", "-o", "b"], capture_output=True).returncode
        == 3
    )


def test_the_benchmark_runs():
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "sheaf.bench", "--rows", "1000", "--seconds", "0.02", "--device", "cpu"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for words in ("numpy.take", "numpy.add.at", "numpy.add.reduceat", "A @ X", "binding", "import", "scipy"):
        assert words in done.stdout
