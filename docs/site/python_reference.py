"""Pages of Python's reference, from the docstrings of the stubs and sources: sheaf, sheaf.torch and sheaf.jax."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "sheaf": ("python/sheaf/__init__.py", ("python/sheaf/_sheaf.pyi", "python/sheaf/_api.py")),
    "sheaf.torch": ("python/sheaf/torch/__init__.py", ("python/sheaf/torch/_calls.py", "python/sheaf/torch/_layers.py")),
    "sheaf.jax": ("python/sheaf/jax/__init__.py", ("python/sheaf/jax/_calls.py",)),
}


def public_names(root=ROOT):
    """Of each module the names in its __all__, with their definitions."""
    modules = {}
    for module, (package, sources) in MODULES.items():
        defined = {}
        for source in sources:
            for node in ast.parse((root / source).read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    defined[node.name] = node
        (names,) = [
            ast.literal_eval(node.value)
            for node in ast.parse((root / package).read_text()).body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        ]
        functions = [name for name in names if not name.startswith("__") and name not in ("has_cuda", "has_opengl")]
        modules[module] = {name: defined.get(name) for name in sorted(functions, key=str.lower)}
    return modules


def page_of(module, name):
    return f"python-{module.replace('.', '-')}-{name}".lower() if name else f"python-{module.replace('.', '-')}"


def signature(node, name):
    arguments = ast.unparse(node.args)
    arguments = re.sub(r": object( \| None)?|: context \| None|(?<!\w)self, |^self$", "", arguments)
    arguments = re.sub(r"\s*=\s*", "=", arguments)
    line = f"{name}({arguments})"
    if len(line) <= 100:
        return line
    parts, lines = arguments.split(", "), []
    for part in parts:  # a line break where a line grows long
        if lines and len(lines[-1]) + len(part) < 96:
            lines[-1] += f" {part},"
        else:
            lines.append(f"    {part},")
    return f"{name}(\n" + "\n".join(lines).rstrip(",") + ")"


def escaped(text):
    """Words of a docstring as Markdown that Doxygen takes as they are, but for what stands between backticks."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.S)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\@<>*#\[\]|~&])", r"\\\1", parts[i]) if parts[i] else ""
        parts[i] = parts[i].replace("\\[", "[").replace("\\]", "]").replace("\\|", "|")
    return "".join(parts)


def linked(text, module, known):
    """`name` in backticks becomes a link to the page of that name."""

    def link(found):
        name = found.group(1)
        for where in (module, "sheaf"):
            bare = name.removeprefix(where + ".")
            if bare in known[where]:
                return f'<a href="{page_of(where, bare)}.html">`{name}`</a>'
        return found.group()

    return re.sub(r"(?<!`)`([\w.]+)`(?!`)", link, text)


SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


def body_of(text, module, name, known, level):
    """The sections of a docstring, as Markdown."""
    parts = SECTION.split(text)
    out = [paragraphs(parts[0], module, name, known)]
    for title, content in zip(parts[1::2], parts[2::2]):
        out.append(f"{'#' * level} {title}")
        if title == "Examples":
            out.append("```{.py}\n" + content.strip("\n") + "\n```")
        elif title in ("Parameters", "Returns", "Raises", "Warns"):
            out.append(items(content, module, name, known))
        else:
            out.append(paragraphs(content, module, name, known))
    return "\n\n".join(out)


def paragraphs(text, module, name, known):
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n\n".join(linked_unless(name, escaped(" ".join(block.split())), module, known) for block in blocks)


def linked_unless(name, text, module, known):
    others = {m: {k: v for k, v in names.items() if k != name} for m, names in known.items()}
    return linked(text, module, others)


def items(text, module, name, known):
    """Parameters and the like: a line at the margin, and what is said of it, indented."""
    rows = []
    for line in text.strip("\n").split("\n"):
        if line and not line.startswith(" "):
            term, colon, kind = line.partition(" : ")
            rows.append([f"**{escaped(term)}**" + (f" : {escaped(kind)}" if colon else ""), []])
        elif rows:
            rows[-1][1].append(line.strip())
    made = ['<dl class="python">']
    for term, said in rows:
        said = linked_unless(name, escaped(" ".join(said)), module, known).strip()
        made.append(f"<dt>{html(term)}</dt><dd>{html(said)}</dd>")
    return "\n".join(made) + "\n</dl>"


def html(text):
    """What escaped() and linked() make, as HTML: inside a block of it Doxygen reads no Markdown."""
    text = re.sub(r"``(.*?)``|`([^`]*)`", lambda f: f"<code>{plain(f.group(1) or f.group(2))}</code>", text, flags=re.S)
    text = re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", text)
    return text


def plain(text):
    """Code between tags of HTML, where Doxygen still looks for commands and tags."""
    return re.sub(r"([\\@<>&#%|]|--)", r"\\\1", text)


def pages(root=ROOT):
    """Name and text of every page."""
    known = public_names(root)
    for module, names in known.items():
        package = ast.parse((root / MODULES[module][0]).read_text())
        rows = []
        for name, node in names.items():
            rows.append((name, ((ast.get_docstring(node) or "") if node else "").split("\n")[0]))
            yield page_of(module, name), page(module, name, node, known)
        text = [f"# {'%' if '.' in module else ''}{module} {{#{page_of(module, '')}}}", paragraphs(ast.get_docstring(package), module, "", known)]
        functions = [row for row in rows if not isinstance(names[row[0]], ast.ClassDef)]
        errors = [row for row in rows if is_error(names[row[0]])]
        classes = [row for row in rows if row not in functions and row not in errors]
        for title, part in (("Functions", functions), ("Classes", classes), ("Errors", errors)):
            if part:
                text.append(f"## {title} {{#{page_of(module, '')}-{title.lower()}}}")
                text.append("| | |\n|---|---|\n" + "\n".join(
                    f"| @subpage {page_of(module, n)} \"{n}\" | {linked_unless(n, escaped(said), module, known)} |" for n, said in part))
        yield page_of(module, ""), "\n\n".join(text) + "\n"


def is_error(node):
    return isinstance(node, ast.ClassDef) and any(getattr(b, "id", "") in ("Error", "Exception") for b in node.bases)


def page(module, name, node, known):
    full = f"{module}.{name}"
    lines = [f"# {name} ({module}) {{#{page_of(module, name)}}}"]  # a search finds the first word
    if is_error(node):
        bases = [b.id for b in node.bases]
        lines.append(f"An exception that is also {' and '.join(f'`{b}`' for b in bases)}. Its `code` has the library's name of "
                     f"the error. @ref guide-python says when it is raised.")
        lines.append("```{.py}\nimport numpy as np, sheaf\n\ntry:\n    sheaf.gather(np.arange(3.0), np.array([999]))\n"
                     f"except sheaf.{name if name in ('Error', 'BadIndex') else 'Error'} as error:\n    print(error.code, error)\n```")
        return "\n\n".join(lines) + "\n"
    made = node
    if isinstance(node, ast.ClassDef):
        made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name in ("__init__", "__call__")), None)
    if isinstance(made, ast.FunctionDef):
        shown = name if made is not node and made.name == "__call__" else full
        lines.append("```{.py}\n" + signature(made, shown) + "\n```")
    lines.append(body_of(ast.get_docstring(node) or "", module, name, known, 2))
    if isinstance(node, ast.ClassDef):
        members, properties = [], []
        for member in node.body:
            if not isinstance(member, ast.FunctionDef) or member.name.startswith("_"):
                continue
            if any(getattr(d, "id", "") == "property" for d in member.decorator_list):
                kind = f": {ast.unparse(member.returns)}" if member.returns else ""
                properties.append(f"- `{member.name}`{kind.replace(': Any', '')}")
            elif not member.decorator_list and ast.get_docstring(member):
                members.append(f"## {name}.{member.name} {{#{page_of(module, name)}-{member.name.replace('_', '-')}}}")
                members.append("```{.py}\n" + signature(member, member.name) + "\n```")
                members.append(body_of(ast.get_docstring(member), module, name, known, 3))
        lines += members
        if properties:
            lines += [f"## Properties {{#{page_of(module, name)}-properties}}", "\n".join(properties)]
    from check_reference import SHOWN_BY

    if module == "sheaf" and name in SHOWN_BY:
        example = re.search(r"^Examples\n-+\n(.*)", ast.get_docstring(known[module][SHOWN_BY[name]]), re.S | re.M).group(1)
        lines += [f"## Examples {{#{page_of(module, name)}-examples}}",
                  f"From <a href=\"{page_of(module, SHOWN_BY[name])}.html\">`{SHOWN_BY[name]}`</a>:",
                  "```{.py}\n" + example.strip("\n") + "\n```"]
    return "\n\n".join(lines) + "\n"
