#!/usr/bin/env python3
"""layout.py LAYOUT MENU: puts our menu into the layout that this Doxygen writes (doxygen -l LAYOUT), whatever its version.

MENU has a line for each page, as stage.py writes it: the label of the page above it, its own, and its title.
"""

import re
import sys
from html import escape
from pathlib import Path

TITLES = {"guides": "Guides", "cpp": "C++", "python": "Python", "manuals": "Manuals", "measured": "Measured",
          "inside": "Inside"}


def quoted(words):
    return escape(words, quote=False).replace('"', "&quot;")


def tabs(rows, page, words):
    below = [f'        <tab type="user" url="@ref {name}" title="{quoted(title)}"/>' for up, name, title in rows if up == page]
    if not below:
        return [f'      <tab type="user" url="@ref {page}" title="{quoted(words)}"/>']
    return [f'      <tab type="usergroup" url="@ref {page}" title="{quoted(words)}">', *below, "      </tab>"]


def menu(rows, groups):
    lines = ["  <navindex>", '    <tab type="mainpage" visible="yes" title="Start"/>']
    for label, title in TITLES.items():
        lines.append(f'    <tab type="usergroup" url="@ref {label}" title="{title}">')
        if label == "cpp":
            lines += ['      <tab type="user" url="@ref cpp" title="All calls"/>',
                      f'      <tab type="{groups}" visible="yes" title="By header"/>',
                      '      <tab type="classlist" visible="yes" title="Classes"/>',
                      '      <tab type="namespacemembers" visible="yes" title="Index of names"/>']
        lines += [tab for parent, page, words in rows if parent == label for tab in tabs(rows, page, words)]
        lines.append("    </tab>")
    return "\n".join([*lines, "  </navindex>", ""])


if __name__ == "__main__":
    layout = Path(sys.argv[1])
    rows = [line.split("|") for line in Path(sys.argv[2]).read_text().splitlines()]
    text = layout.read_text()
    groups = "topics" if 'type="topics"' in text else "modules"  # renamed in 1.9.8
    text, found = re.subn(r"[ ]*<navindex>.*?</navindex>\n", lambda _: menu(rows, groups), text, flags=re.S)
    if found != 1:
        raise SystemExit(f"{layout}: no <navindex>")
    layout.write_text(text)
