"""What is written of sheaf.jax is true. Most of it is checked without jax."""

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys

import pytest
from test_torch_documents import PYTHON, run

import sheaf

PAGE = (PYTHON.parent / "docs/jax.md").read_text()
SOURCES = {path.stem: ast.parse(path.read_text()) for path in (PYTHON / "sheaf/jax").glob("*.py")}
HAS_HANDLERS = hasattr(sheaf._sheaf, "_jax_handlers")


def with_handlers():
    pytest.importorskip("jax")
    if not HAS_HANDLERS:
        pytest.skip("this sheaf was built without jax")
    return importlib.import_module("sheaf.jax")


def the_one_line(program):
    """The message of the ImportError with which a program ends."""
    done = run(program)
    assert done.stdout == "here\n" and done.returncode == 1, done.stderr
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_import_sheaf_does_not_import_jax():
    done = run("import sys, sheaf; assert not any(name.partition('.')[0] in ('jax', 'jaxlib') for name in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_jax_one_line_says_what_is_missing():
    line = the_one_line("import sys; sys.modules['jax'] = None; import sheaf; print('here'); import sheaf.jax")
    assert line == "ImportError: sheaf.jax needs jax, which is not installed: pip install jax"


def test_without_handlers_one_line_says_how_to_build_them():
    """A module that stands in for jax, so that this is tested without it."""
    line = the_one_line(
        "import sys, types; sys.modules.setdefault('jax', types.ModuleType('jax')); import sheaf\n"
        "vars(sheaf._sheaf).pop('_jax_handlers', None); print('here'); import sheaf.jax"
    )
    assert line.startswith("ImportError: sheaf.jax: this sheaf was built without jax; beside jax, build it again")
    command = line.partition("sources: ")[2]
    assert "SHEAF_JAX_INCLUDE" in command and command in PAGE


def test_the_sources_are_of_python_3_11():
    for path in (PYTHON / "sheaf/jax").glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 11))


def public():
    """The names that sheaf.jax has, with their definitions."""
    (names,) = [n.value for n in SOURCES["__init__"].body if isinstance(n, ast.Assign)]
    defined = {n.name: n for n in SOURCES["_calls"].body if isinstance(n, ast.FunctionDef)}
    return {name: defined[name] for name in ast.literal_eval(names)}


def test_every_parameter_is_described():
    for name, node in public().items():
        text = ast.get_docstring(node)
        assert text and "Returns\n-------" in text and "Raises\n------" in text, name
        for argument in node.args.args + node.args.kwonlyargs:
            assert re.search(rf"^(\w+, )*{argument.arg}(, \w+)*( :|$)", text, re.M), f"{name}: {argument.arg}"


def test_errors_of_programs_are_described_with_both_types():
    for name, node in public().items():
        for line in re.findall(".*JaxRuntimeError.*", ast.get_docstring(node)):
            assert "ValueError" in line, name


def test_the_page_names_every_call():
    table = PAGE[PAGE.index("## Gradients") : PAGE.index("## Errors")]
    for name in public():
        assert f"`{name}`" in table or name == "check", name
        assert f"{name}(" in PAGE, name


def test_the_page_names_every_handler():
    limits = PAGE[PAGE.index("## Limits") :]
    for name in getattr(sheaf._sheaf, "_jax_handlers", dict)():
        assert f"`{name.removeprefix('sheaf_')}`" in limits, name


def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE, re.S)


def test_code_of_the_page_compiles():
    assert len(blocks()) > 4
    for block in blocks():
        compile(block, "docs/jax.md", "exec")


def test_code_of_the_page_runs(capsys):
    with_handlers()
    names = {}
    for block in blocks():
        exec(compile(block, "docs/jax.md", "exec"), names)
    (said,) = re.findall(r"print\(error\)  # (.*)", PAGE)
    assert said in capsys.readouterr().out
    (caught,) = [block for block in blocks() if "print(error)" in block]
    names["jax"].clear_caches()  # JAX raises another error where the first run of a program has ended well
    exec("jax.block_until_ready(sheaf.jax.gather(table, jnp.array([1, 3])))", names)
    exec(compile(caught, "docs/jax.md", "exec"), names)
    assert said in capsys.readouterr().out


def test_docstrings():
    module = with_handlers()
    assert sheaf.jax is module and sorted(module.__all__, key=str.lower) == module.__all__
    for name in module.__all__:
        results = []
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(module, name)), {}, name, None, 0)
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=results.append)
        assert not any("Failed example" in r for r in results), "".join(results)


def test_the_benchmark_runs():
    with_handlers()
    program = [sys.executable, "-m", "sheaf.jax.bench", "--rows", "2000", "--width", "20", "--seconds", "0.01"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for words in ("in any order, order 'deterministic'", "sorted, order 'any'", "JAX / sheaf"):
        assert words in done.stdout
