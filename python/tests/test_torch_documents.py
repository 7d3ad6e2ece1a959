"""What is written of sheaf.torch is true. Most of it is checked without torch."""

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sheaf

PYTHON = Path(__file__).resolve().parents[1]
PAGE = (PYTHON.parent / "docs/torch.md").read_text()
SOURCES = {path.stem: ast.parse(path.read_text()) for path in (PYTHON / "sheaf/torch").glob("*.py")}


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_import_sheaf_does_not_import_torch():
    done = run("import sys, sheaf; assert not any(name.partition('.')[0] == 'torch' for name in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_torch_one_line_says_what_is_missing():
    done = run("import sys; sys.modules['torch'] = None; import sheaf; print('here'); import sheaf.torch")
    assert done.stdout == "here\n" and done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert lines[-1] == "ImportError: sheaf.torch needs torch, which is not installed: pip install torch"
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr


def test_the_sources_are_of_python_3_11():
    for path in (PYTHON / "sheaf/torch").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 11))


def public():
    """The names that sheaf.torch has, with their definitions."""
    (names,) = [n.value for n in SOURCES["__init__"].body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"]
    defined = {n.name: n for part in ("_calls", "_layers") for n in SOURCES[part].body if hasattr(n, "name")}
    return {name: defined[name] for name in ast.literal_eval(names)}


def test_every_parameter_is_described():
    described = 0
    for name, node in public().items():
        functions = [(name, node, ast.get_docstring(node))]
        if isinstance(node, ast.ClassDef):
            made = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            functions = [(f"{name}.forward", n, ast.get_docstring(n)) for key, n in made.items() if key == "forward"]
            assert len(ast.get_docstring(node)) > 40, name
        for label, function, text in functions:
            assert text and "Returns\n-------" in text, label
            arguments = [a.arg for a in function.args.args + function.args.kwonlyargs if a.arg != "self"]
            for argument in arguments:
                assert re.search(rf"^(\w+, )*{argument}(, \w+)*( :|$)", text, re.M), f"{label}: {argument}"
                described += 1
    assert described > 50


def test_the_page_names_every_call():
    for name in public():
        if name != "EdgeLists":
            assert f"`{name}" in PAGE or f"torch.{name}" in PAGE, name
    schemas = [
        n
        for n in ast.walk(SOURCES["_operators"])
        if isinstance(n, ast.Call) and n.func.__dict__.get("id") == "Operator"
    ]
    table = PAGE[PAGE.index("## Gradients") : PAGE.index("## Layers")]
    for call in schemas:
        name = call.args[0].value
        assert f"`{name}`" in table or name == "permute", name


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE, re.S)


def test_code_of_the_page_compiles():
    assert len(blocks()) > 3
    for block in blocks():
        compile(block, "docs/torch.md", "exec")


def test_code_of_the_page_runs():
    pytest.importorskip("torch")
    names = {}
    for block in blocks():
        exec(compile(block, "docs/torch.md", "exec"), names)


def test_docstrings():
    pytest.importorskip("torch")
    module = importlib.import_module("sheaf.torch")
    assert sheaf.torch is module and sorted(module.__all__, key=str.lower) == module.__all__
    for name in module.__all__:
        results = []
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(module, name)), {}, name, None, 0)
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=results.append)
        assert not any("Failed example" in r for r in results), "".join(results)


def test_the_benchmark_runs():
    pytest.importorskip("torch")
    sizes = ["--edges", "2000", "--rows", "500", "--lookups", "410", "--width", "20", "--seconds", "0.01"]
    program = [sys.executable, "-m", "sheaf.torch.bench", "--device", "cpu", *sizes]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for words in ("index_add_", "deterministic", "embedding_bag", "index_select", "prepare_edges takes"):
        assert words in done.stdout
