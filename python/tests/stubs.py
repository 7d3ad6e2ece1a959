"""Prints python/sheaf/_sheaf.pyi, as nanobind's stubgen makes it from the module: python python/tests/stubs.py > FILE.

What stubgen cannot know is put in: results are arrays of the caller's library, which no stub can name, and the classes
of errors are the module's own.
"""

import re

import sheaf
from nanobind.stubgen import StubGen


def error_classes():
    made = [sheaf.Error] + [c for c in vars(sheaf).values() if isinstance(c, type) and sheaf.Error in c.__bases__]
    for c in made:
        yield f"class {c.__name__}({', '.join(base.__name__ for base in c.__bases__)}):\n    code: str\n"


def stub():
    generator = StubGen(sheaf._sheaf)
    generator.put(sheaf._sheaf)
    text = re.sub(r"from sheaf import \(.*?\n\)\n", "", generator.get(), flags=re.S)
    text = re.sub(r"\ndef (_command|_seconds_of_gather)\(.*\n", "", text)
    text = re.sub(r"^(\w+: (bool|str)) = .*", r"\1", text, flags=re.M)
    # What Python 3.12 and later say of every exporter of a buffer.
    text = re.sub(r'    def __(release_)?buffer__\(.*?""".*?"""\n\n', "", text, flags=re.S)
    text = text.replace("-> object:", "-> Any:").replace("ctx: object | None", "ctx: context | None")
    text = text.replace("def __enter__(self) -> Any", "def __enter__(self) -> context")
    return "from typing import Any\n\n" + "\n".join(error_classes()) + "\n" + text.strip() + "\n"


if __name__ == "__main__":
    print(stub(), end="")
