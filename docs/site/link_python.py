#!/usr/bin/env python3
"""link_python.py HTML: in code of Python, Doxygen takes sheaf.gather for the C++ function; this links it to Python's page."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from python_reference import page_of, public_names  # noqa: E402


def main(html):
    pages = {f"{module}.{name}": page_of(module, name) for module, names in public_names().items() for name in names}

    def to_python(found):
        name = found.group(2)
        return f'<a {found.group(1)} href="{pages[name]}.html">{name}</a>' if name in pages else name

    for path in html.glob("*.html"):
        text = path.read_text()
        linked = re.sub(r'<a (class="[^"]*") href="[^"]*">(sheaf\.[\w.]+)(?:\(\))?</a>', to_python, text)
        if linked != text:
            path.write_text(linked)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
