"""Reads what the public headers declare: functions, classes, and the comments before them.

The headers are formatted by clang-format, and this reads no other C++: it keeps scopes apart by braces, takes the words
before a brace or semicolon for a declaration, and skips bodies, namespaces called detail and private members. `script/docs`
compares what it finds with what Doxygen found.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = {"detail", "edge_kernels", "list_kernels", "primitives", "core"}
NO_NAMES = {"requires", "noexcept", "static_assert", "sizeof", "decltype", "alignof", "__attribute__", "explicit", "return"}


@dataclass
class Declaration:
    header: str  # "sheaf/gather.hpp"
    kind: str  # "function", "class", "enum" or "concept"
    name: str  # "gather"
    scope: tuple  # ("sheaf", "distributed"), with the class of a member
    member_of: str  # name of the class, or ""
    line: int  # of its first word, from 0
    comment: tuple  # first line of the comment before it and the line behind that; both `line` where there is none

    @property
    def full_name(self):
        return "::".join((*self.scope, self.name))

    @property
    def short_name(self):
        """As the full name, without the namespace that all have: "distributed::gather", "context::wait"."""
        return "::".join((*self.scope[1:], self.name))


def public_headers(root=ROOT):
    include = root / "include"
    for path in sorted(include.glob("sheaf/**/*")):
        if path.suffix in (".hpp", ".cuh") and "detail" not in path.parts:
            yield path, str(path.relative_to(include))


def without_comments(text):
    """The text with comments, strings and preprocessor's lines blanked, every character in its place."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.S | re.M)


def function_name(words):
    """The name of the function that these words declare, "" where a class has declared it before, or None."""
    words = re.sub(r"->.*", "", words, flags=re.S)
    while True:  # the arguments of templates
        shorter = re.sub(r"<[^<>()]*(?:\([^()]*\)[^<>()]*)*>", " ", words)
        if shorter == words:
            break
        words = shorter
    depth = 0
    for found in re.finditer(r"[()]|=(?!=)|\b(?:\w+::)*(\w+)(?=\()|~", words):
        if found.group() == "(":
            depth += 1
        elif found.group() == ")":
            depth -= 1
        elif depth == 0 and found.group() in ("=", "~"):
            return None
        elif depth == 0 and found.group(1) not in NO_NAMES:
            return found.group(1) if found.group() == found.group(1) else ""
    return None


def declarations_of(header, text):
    code, lines = without_comments(text), text.split("\n")
    found, scopes = [], []  # of scopes: kind, name, whether members are public
    start, at, parentheses = 0, 0, 0

    def note(kind, name, words_at):
        first = code.count("\n", 0, words_at)
        comment = first
        while comment > 0 and lines[comment - 1].lstrip().startswith("///"):
            comment -= 1
        names = tuple(part for _, scope, _ in scopes for part in scope.split("::"))
        member_of = scopes[-1][1] if scopes and scopes[-1][0] == "class" else ""
        found.append(Declaration(header, kind, name, names, member_of, first, (comment, first)))

    def is_open():
        return all(public and not HIDDEN & set(name.split("::")) for _, name, public in scopes)

    while at < len(code):
        character = code[at]
        if character in "()":
            parentheses += 1 if character == "(" else -1
        if parentheses > 0 or character not in "{};":
            at += 1
            continue
        words = code[start:at]
        for label in re.finditer(r"\b(public|private|protected)\s*:(?!:)", words):
            kind, name, _ = scopes[-1]
            scopes[-1] = (kind, name, label.group(1) == "public")
            start += label.end() - (start - (at - len(words)))
            words = code[start:at]
        begin = start + len(words) - len(words.lstrip())
        words = words.strip()
        plain = re.sub(r"^template\s*<.*?>\s*(?=\w)", "", words, flags=re.S)
        if character == "}":
            if scopes:
                scopes.pop()
        elif character == ";":
            name = function_name(words)
            hidden = re.match(r"(using|friend|typedef|extern|static_assert)\b", plain) or re.search(r"\boperator\b", words)
            if "concept " in words and is_open():
                note("concept", re.search(r"concept (\w+)", words).group(1), begin)
            elif name and not hidden and is_open() and not (scopes and scopes[-1][1] == name):
                note("function", name, begin)
        else:
            space = re.match(r"(?:inline )?namespace\s*([\w:]*)", words)
            kind = re.search(r"\b(enum class|enum|class|struct|union)\s+(?:SHEAF_API\s+)?(\w+)[\w\s:,<>]*$", plain)
            if space:
                scopes.append(("namespace", space.group(1), True))
                start = at = at + 1
                continue
            if kind and not kind.group(1).startswith("enum"):
                if is_open():
                    note("class", kind.group(2), begin)
                scopes.append(("class", kind.group(2), kind.group(1) == "struct"))
                start = at = at + 1
                continue
            name = function_name(words)
            if is_open():
                if kind:
                    note("enum", kind.group(2), begin)
                elif name and "concept " not in words and not re.search(r"\boperator\b", words) and not words.startswith(","):
                    if not (scopes and scopes[-1][1] == name) and not plain.startswith("friend"):
                        note("function", name, begin)
            depth = 1
            while depth > 0:
                at += 1
                depth += {"{": 1, "}": -1}.get(code[at], 0)
            # Behind the braces of a body come other words; behind those of a value or concept the same declaration goes on.
            if name is None and kind is None and words:
                at += 1
                continue
        start = at = at + 1
    return found


def all_declarations(root=ROOT):
    return [d for path, header in public_headers(root) for d in declarations_of(header, path.read_text())]


if __name__ == "__main__":
    for declared in all_declarations():
        bare = "" if declared.comment[0] < declared.line else "  (no comment)"
        print(f"{declared.header}:{declared.line + 1}: {declared.kind} {declared.full_name}{bare}")
