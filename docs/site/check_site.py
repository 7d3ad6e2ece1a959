#!/usr/bin/env python3
"""check_site.py FOLDER: checks the site that Doxygen wrote into FOLDER/html, and what it read of the headers (FOLDER/xml).

Every link leads to a file of the site and to a place that is there; nothing is loaded from a network; every public function
that docs/site/declarations.py finds is in the reference, and Doxygen found no other; every name of Python has its page.
"""

import re
import sys
import xml.etree.ElementTree as tree
from html import unescape
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parent))
import python_reference  # noqa: E402
from declarations import all_declarations  # noqa: E402


def faults_of_links(html):
    pages = {path: path.read_text(errors="replace") for path in sorted(html.glob("**/*.html"))}
    places = {path: set(re.findall(r"""\b(?:id|name)\s*=\s*["']([^"']+)["']""", text)) for path, text in pages.items()}
    links = 0
    for path, text in pages.items():
        shown = re.sub(r"<!--.*?-->", "", text, flags=re.S)
        loads = re.findall(r"""<(?:script|img|iframe|source|object|embed)\b[^>]*\b(?:src|data)\s*=\s*["'](\w+:)?//""", shown)
        loads += re.findall(r"""<link\b[^>]*\bhref\s*=\s*["'](?:\w+:)?//""", shown)
        if loads:
            yield f"{path.name}: loads something from a network"
        for target in re.findall(r"""\b(?:href|src)\s*=\s*["']([^"']*)["']""", shown):
            target = unescape(target)
            if re.match(r"(https?|mailto|javascript):", target) or not target:
                continue
            links += 1
            name, _, part = target.partition("#")
            to = (path.parent / unquote(name)).resolve() if name else path
            if not to.exists():
                yield f"{path.name}: no {target}"
            elif part and to in places and unquote(part) not in places[to]:
                yield f"{path.name}: no place {target}"
    if links < 1000:
        yield f"only {links} links"


def faults_of_functions(xml):
    doxygen = set()
    for path in xml.glob("*.xml"):
        if not re.match(r"(namespace|class|struct|group)", path.name):
            continue
        for member in tree.parse(path).getroot().iter("memberdef"):
            if member.get("kind") != "function" or member.get("prot") != "public":
                continue
            *scope, name = re.sub(r"<[^<>]*>", "", member.find("qualifiedname").text).split("::")
            is_special = re.match(r"operator\b|~", name) or (scope and name == scope[-1])
            if not is_special and "detail" not in scope:
                doxygen.add("::".join([*scope, name]))
    ours = {d.full_name for d in all_declarations() if d.kind == "function"}
    for name in sorted(ours - doxygen):
        yield f"{name}: not in the reference that Doxygen wrote"
    for name in sorted(doxygen - ours):
        yield f"{name}: Doxygen found it, docs/site/declarations.py did not"


def faults_of_python(html):
    for module, names in python_reference.public_names().items():
        for name in names:
            if not (html / f"{python_reference.page_of(module, name)}.html").exists():
                yield f"{module}.{name}: no page"


if __name__ == "__main__":
    out = Path(sys.argv[1]).resolve()
    faults = [*faults_of_links(out / "html"), *faults_of_functions(out / "xml"), *faults_of_python(out / "html")]
    for fault in faults[:100]:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} faults of the site")
