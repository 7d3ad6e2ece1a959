#!/usr/bin/env python3
"""layout.py FILE: puts our menu into the layout that this Doxygen writes (doxygen -l FILE), whatever its version."""

import re
import sys
from pathlib import Path

MENU = """  <navindex>
    <tab type="mainpage" visible="yes" title="Start"/>
    <tab type="user" url="@ref guides" title="Guides"/>
    <tab type="usergroup" url="@ref cpp" title="C++">
      <tab type="user" url="@ref cpp" title="Calls by header"/>
      <tab type="classlist" visible="yes" title="Classes"/>
      <tab type="filelist" visible="yes" title="Headers"/>
      <tab type="namespacemembers" visible="yes" title="All names"/>
    </tab>
    <tab type="user" url="@ref python" title="Python"/>
    <tab type="user" url="@ref manuals" title="Manuals"/>
    <tab type="user" url="@ref measured" title="Measured"/>
    <tab type="user" url="@ref inside" title="Inside"/>
  </navindex>
"""

if __name__ == "__main__":
    layout = Path(sys.argv[1])
    text, found = re.subn(r"[ ]*<navindex>.*?</navindex>\n", lambda _: MENU, layout.read_text(), flags=re.S)
    if found != 1:
        raise SystemExit(f"{layout}: no <navindex>")
    layout.write_text(text)
