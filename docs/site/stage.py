#!/usr/bin/env python3
"""stage.py FOLDER: writes what Doxygen reads into FOLDER/input, and files that pages link to into FOLDER/files.

Headers get their examples, and pages the names and links that Doxygen knows: Markdown stays what GitHub shows, headers stay
free of what only Doxygen needs. script/docs calls it.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import python_reference  # noqa: E402
from declarations import ROOT, all_declarations, public_headers  # noqa: E402
from examples import examples, key_of  # noqa: E402

# Pages under which others stand in the tree beside every page. Those of the guides are in docs/guides/README.md.
PARENTS = {
    "measured": ("How it is measured", "Times, how they are taken and recorded, and what they say of four papers.",
                 ["docs/results.md", "lab/README.md", "docs/papers-results.md", "docs/papers.md",
                  "docs/experiments/README.md", "docs/experiments/*.md", "papers/README.md", "lab/**/README.md"]),
    "manuals": ("Manuals", "The library, the command and Python, each on one page.",
                ["docs/library.md", "docs/command.md", "docs/python.md", "docs/torch.md", "docs/jax.md",
                 "docs/scale-out.md"]),
    "inside": ("Inside", "How the project is built, for those who change it.",
               ["docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md", "CHANGELOG.md", "src/**/README.md", "*"]),
}
LEFT_OUT = {"README.md"}  # the start of the guides takes its place


def page_id(name):
    if name == "docs/guides/start.md":
        return "mainpage"
    if name == "docs/guides/README.md":
        return "guides"
    if name.startswith("docs/guides/"):
        return "guide-" + Path(name).stem
    if re.fullmatch(r"docs/[^/]*\.md", name):
        return "doc-" + Path(name).stem
    return "page-" + re.sub(r"[^a-z0-9]+", "-", name.removesuffix(".md").lower()).strip("-")


def slug(title):
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower().replace("`", "")).strip().replace(" ", "-")


class Pages:
    def __init__(self, root, out):
        self.root, self.out = root, out
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root, capture_output=True, text=True).stdout.split()
        if not names:  # a tree without git
            names = [str(p.relative_to(root)) for p in sorted(root.rglob("*.md")) if "build" not in p.parts]
        self.names = [name for name in names if name not in LEFT_OUT]
        if not all((root / name).exists() for name in self.names):
            self.names = [name for name in self.names if (root / name).exists()]
        self.files = set()

    def write(self):
        for name in self.names:
            text = self.converted(name, (self.root / name).read_text())
            target = self.out / "input" / "pages" / (page_id(name) + ".md")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.write_parents()
        for name in sorted(self.files):
            target = self.out / "html" / "files" / shown_as(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / name, target)

    def write_parents(self):
        menu = self.out / "menu.txt"  # for layout.py: label, title, label of the parent
        menu.write_text("")
        guides = re.findall(r"^- \[(.*?)\]\((\w+\.md)\)", (self.root / "docs/guides/README.md").read_text(), re.M)
        with menu.open("a") as rows:
            for title, name in guides:
                if name != "start.md":
                    rows.write(f"guides|{page_id('docs/guides/' + name)}|{title}\n")
            for module in python_reference.MODULES:
                rows.write(f"python|{python_reference.page_of(module, '')}|{module}\n")
            for module, names in python_reference.public_names(self.root).items():
                for name in names:
                    parent = python_reference.page_of(module, "")
                    rows.write(f"{parent}|{python_reference.page_of(module, name)}|{name}\n")
        placed = {"docs/guides/start.md", *(n for n in self.names if n.startswith("docs/guides/"))}
        for label, (title, said, patterns) in PARENTS.items():
            lines = [f"# {title} {{#{label}}}", "", said, ""]
            for pattern in patterns:
                matches = sorted(self.names) if pattern == "*" else [
                    str(p.relative_to(self.root)) for p in sorted(self.root.glob(pattern))]
                for name in matches:
                    if name in self.names and name not in placed:
                        placed.add(name)
                        where = f" (`{Path(name).parent}`)" if name.endswith("/README.md") else ""
                        lines.append(f"- @subpage {page_id(name)}{where}")
                        if pattern == name:
                            title = re.search(r"^# (.*)", (self.root / name).read_text(), re.M).group(1)
                            with menu.open("a") as rows:
                                rows.write(f"{label}|{page_id(name)}|{title.split(':')[0]}\n")
            (self.out / "input" / "pages" / f"{label}.md").write_text("\n".join(lines) + "\n")

    def converted(self, name, text):
        text = re.sub(r"\A(<!--.*?-->\s*)+", "", text, flags=re.S)
        chunks = re.split(r"(^[ ]*```.*?^[ ]*```[ ]*$)", text, flags=re.S | re.M)
        self.slugs, self.is_index, self.listed = {}, name == "docs/guides/README.md", set()
        done, titled = [], False
        for chunk in chunks:
            if re.match(r"[ ]*```", chunk):
                done.append(re.sub(r"^([ ]*```)(cpp|sh|python|cmake|json|text)$", fence, chunk, count=1, flags=re.M))
                continue
            lines = []
            for block in re.split(r"(\n\s*\n)", chunk):
                lines.append(block if not block.strip() else self.prose(name, block))
            done.append("".join(lines))
        text = "".join(done)
        title = re.match(r"# (.*)", text)
        if title is None:
            raise SystemExit(f"{name}: the first line is no heading")
        rest = text[title.end():]
        titled = re.sub(r"\s*\{#.*\}$", "", title.group(1))
        return f"# {titled} {{#{page_id(name)}}}\n{rest}"

    def prose(self, name, block):
        block = re.sub(r"<!--.*?-->\n?", "", block, flags=re.S)
        parts = re.split(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", block, flags=re.S)
        # Text, backticks, code, text, ...: links may have code in their text, so marks stand for code meanwhile.
        codes, text = [], parts[0]
        for _, code, after in zip(parts[1::3], parts[2::3], parts[3::3]):
            codes.append(code)
            text += f"\x00{len(codes) - 1}\x00" + after
        text = re.sub(r"\\([_*<>#])", r"\1", text)
        text = re.sub(r"[@\\](?!\|)", lambda f: "\\" + f.group(), text)
        text = re.sub(r"<(?!https?:)(?=[\w/])", r"\\<", text)
        text = re.sub(r"(?<![\w-])--(?=\w)", r"\\--", text)
        text = re.sub(r"\*\*(\x00\d+\x00)\*\*", r"<b>\1</b>", text)  # Doxygen 1.9.4 knows bold code at a start alone
        text = re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", lambda f: self.link(name, *f.groups()), text)
        text = re.sub(r"^(#{2,4}) (.*)$", lambda f: self.heading(name, f, codes), text, flags=re.M)
        in_table = lambda at: text.startswith("|", text.rfind("\n", 0, at) + 1)  # noqa: E731
        return re.sub("\x00(\\d+)\x00", lambda f: code_span(codes[int(f.group(1))], in_table(f.start())), text)

    def heading(self, name, found, codes):
        title = re.sub("\x00(\\d+)\x00", lambda f: codes[int(f.group(1))], found.group(2))
        anchor = slug(title)
        count = self.slugs.get(anchor, 0)
        self.slugs[anchor] = count + 1
        shown = re.sub(r"([<>@\\])", r"\\\1", title) if codes else found.group(2)
        return f"{found.group(1)} {shown} {{#{page_id(name)}-{anchor}{f'-{count}' if count else ''}}}"

    def link(self, name, image, words, target):
        words = " ".join(words.split())  # Doxygen 1.9.4 loses its place behind a link of two lines
        if re.match(r"https?:|mailto:", target):
            return f"{image}[{words}]({target})"
        path, _, part = target.partition("#")
        if not path:
            return f"[{words}](@ref {page_id(name)}-{part})"
        full = (self.root / name).parent / path
        relative = str(full.resolve().relative_to(self.root))
        if image:
            self.files.add(relative)
            return f'<img src="files/{shown_as(relative)}" alt="{words}">'
        if full.is_dir():
            readme = relative + "/README.md"
            if readme not in self.names:
                return "[%s](@ref cpp)" % words if relative.startswith("include/sheaf") else words
            relative = readme
        if relative in LEFT_OUT:
            return f"[{words}](@ref mainpage)"
        if relative in self.names:
            label = page_id(relative) + (f"-{part}" if part else "")
            if self.is_index and not part and label not in self.listed:
                self.listed.add(label)
                return f'@subpage {label} "{words}"'
            return f"[{words}](@ref {label})"
        if relative.startswith("include/sheaf/"):
            return f"[{words}](@ref {group_of(relative.removeprefix('include/'))})"
        self.files.add(relative)
        return f"[{words}](files/{shown_as(relative)})"


def shown_as(name):
    """Sources are copied as text, which every browser shows and none downloads."""
    return name if re.search(r"\.(svg|png|html|txt)$", name) else name + ".txt"


def fence(found):
    names = {"cpp": "{.cpp}", "python": "{.py}", "sh": "{.sh}", "cmake": "{.cmake}", "json": "{.json}", "text": ""}
    return found.group(1) + names[found.group(2)]


def code_span(code, in_table):
    """Doxygen ends a span of one backtick at an apostrophe, and a cell at a | in any span."""
    code = code.replace("\\|", "|")
    if "|" in code and in_table:
        return f"<code>{python_reference.plain(' '.join(code.split()))}</code>"
    return f"``{code}``" if "'" in code or '"' in code else f"`{code}`"


def comment_of(lines, declared, before):
    """The comment of a declaration; without one that of the declaration right before it, with which it stands."""
    first, behind = declared.comment
    if first < behind:
        return lines[first:behind]
    return before if before and not declared.member_of and lines[declared.line - 1].strip() else []


def for_doxygen(comment):
    """Lines of a comment: a paragraph for what follows the parameters and errors, and no words that look like tags."""
    made, inside = [], ""
    for line in comment:
        indent, said = re.match(r"(\s*)/// ?(.*)", line).groups()
        said = re.sub(r"<(?=[a-z]+>)", r"\\<", said).replace("et al. ", r"et al.\ ")  # no end of a sentence
        ends = r"\.$|[):]$|toolkit$" if re.match(r"[A-Z]", said) else r"\.$"
        if not said or said.startswith("@"):
            inside = ""
        elif inside == "throws" and re.search(ends, made[-1].rstrip()) or inside == "param" and not said.startswith(" "):
            made.append(f"{indent}///")
            inside = ""
        for command in re.findall(r"@(param|tparam|throws)\b", said):
            inside = "throws" if command == "throws" else "param"
        said = re.sub(r"@param (\w+), (\w+(?:\.\w+)?)\b", param_of_two, said)
        # What is thrown takes one sentence, which may end amid a line.
        rest = re.search(r"(?<=\.) +(?=\w)", said[max(said.rfind("@throws"), 0):]) if inside == "throws" else None
        if rest:
            at = max(said.rfind("@throws"), 0)
            made += [f"{indent}/// {said[:at + rest.start()]}", f"{indent}///"]
            said, inside = said[at + rest.end():], ""
        made.append(f"{indent}/// {said}".rstrip())
    return made


def param_of_two(found):
    first, second = found.groups()
    return f"@param {first} and {second}: " if "." in second else f"@param {first},{second} "


def comments_of_all(text):
    """What is said of a header's calls together: comments that stand apart from any declaration."""
    about = []
    for found in re.finditer(r"(?:^//(?: .*)?\n)+", text, re.M):
        if re.match(r"\n|#include|(?:struct \w+;.*\n)*\s*namespace sheaf", text[found.end():]):
            lines = ["///" + line.removeprefix("//") for line in found.group().strip().split("\n")]
            about += ["///", *for_doxygen(lines)] if about else for_doxygen(lines)
    return about


def group_of(header):
    return "calls-" + re.sub(r"[^a-z0-9]+", "-", header.removeprefix("sheaf/").rsplit(".", 1)[0])


def header_for_doxygen(text, declared, shown, header):
    lines = text.split("\n")
    made = {}  # the new lines in place of the lines [first, behind)
    before, done = [], set()
    options = {d.name for d in declared}
    shown_classes = {d.name for d in declared if d.kind == "class" and key_of(d) in shown}
    for d in declared:
        comment = comment_of(lines, d, before) if d.kind == "function" else lines[slice(*d.comment)]
        before = comment if d.kind == "function" else []
        indent = re.match(r"\s*", lines[d.line]).group()
        if not comment and d.kind == "class" and d.name.endswith("_options"):
            call = d.name.removesuffix("_options")
            comment = [f"{indent}/// Options of {call}()." if call in options else f"{indent}/// Options of {call.replace('_', ' ')} calls."]
        if "///<" in lines[d.line]:
            continue
        if not comment and d.member_of and d.kind == "function" and d.member_of in shown_classes:
            comment = [f"{indent}/// The example of @ref {'::'.join(d.scope)} shows it."]
        comment = for_doxygen(comment)
        key = key_of(d)
        if key in shown and not d.member_of and d.kind in ("function", "class"):
            comment += [f"{indent}///", f"{indent}/// @par Example", f"{indent}/// @code{{.cpp}}"]
            comment += [f"{indent}/// {line}".rstrip() for line in shown[key].text.split("\n")]
            comment += [f"{indent}/// @endcode", f"{indent}/// <small>A part of {shown[key].file}, which a test runs.</small>"]
        if d.line not in done:
            done.add(d.line)
            made[d.comment] = comment
    # A group for each header, so that its functions have a page of their own.
    out, at = [f"/// @file {header}", "", f"/// @defgroup {group_of(header)} {header}"], 0
    about = comments_of_all(text)
    out += [*about, ""] if about else [f"/// What `#include <{header}>` declares.", ""]
    for (first, behind), comment in sorted(made.items()):
        out += lines[at:first] + comment
        at = behind
    text = "\n".join(out + lines[at:])
    # Functions whose contract stands in another header, as their comment says, are described there alone.
    for name in {d.name for d in declared if any("/// Declared with" in line for line in lines[slice(*d.comment)])}:
        text = re.sub(rf"(?:^///.*\n)*^SHEAF_API [\w ]*\b{name}\([^;]*;\n", "", text, flags=re.M)
    text = re.sub(r"^(namespace sheaf.*\{)$", rf"\1\n/// @addtogroup {group_of(header)}\n/// @{{\n", text, flags=re.M)
    text = re.sub(r"^(\}  // namespace sheaf.*)$", r"/// @}\n\n\1", text, flags=re.M)
    # Doxygen links to friends, and describes none of them.
    return re.sub(r"^ *friend [^;{]*(;|\{[^}]*\})\n", "", text, flags=re.M)


def write_headers(root, out):
    shown, declared = examples(root), all_declarations(root)
    for path, header in public_headers(root):
        target = out / "input" / header
        target.parent.mkdir(parents=True, exist_ok=True)
        own = [d for d in declared if d.header == header]
        target.write_text(header_for_doxygen(path.read_text(), own, shown, header))
    (out / "input" / "pages" / "cpp.md").write_text(overview(root, declared))


def overview(root, declared):
    said = "Every header, with its functions; then all classes. `sheaf/sheaf.hpp` includes the headers of one device, which come first."
    lines = ["# C++ reference {#cpp}", "", said, ""]
    for path, header in sorted(public_headers(root), key=lambda found: (found[1].count("/"), found[1])):
        functions = [d for d in declared if d.header == header and d.kind == "function" and not d.member_of]
        if not functions:
            continue
        lines += [f"## {header} {{#cpp-{re.sub('[^a-z0-9]+', '-', header)}}}", "", "| | |", "|---|---|"]
        text, seen, before = path.read_text().split("\n"), set(), []
        for d in functions:
            before = comment_of(text, d, before)
            if d.name in seen or any("/// Declared with" in line for line in before):
                continue
            seen.add(d.name)
            said = " ".join(re.sub(r"^\s*/// ?", "", line) for line in before)
            first = re.match(r"(.*?[.:])(\s|$)", said)
            first = python_reference.escaped(first.group(1) if first else said).replace("|", "&#124;")
            lines.append(f"| @ref {d.full_name} \"{d.short_name}\" | {first.rstrip(':')} |")
        lines.append("")
    classes = sorted({d.full_name for d in declared if d.kind == "class" and not d.member_of})
    lines += ["## Classes and options {#cpp-classes}", "", ", ".join(f"@ref {name} \"{name.removeprefix('sheaf::')}\"" for name in classes), ""]
    return "\n".join(lines)


def write_python(root, out):
    folder = out / "input" / "pages"
    for name, text in python_reference.pages(root):
        (folder / f"{name}.md").write_text(text)
    modules = [f"- @subpage {python_reference.page_of(module, '')}" for module in python_reference.MODULES]
    (folder / "python.md").write_text("# Python reference {#python}\n\nFrom the docstrings, whose examples tests run.\n\n" + "\n".join(modules) + "\n")


def main(out):
    for part in ("input", "html/files"):
        shutil.rmtree(out / part, ignore_errors=True)
    (out / "input" / "pages").mkdir(parents=True)
    Pages(ROOT, out).write()
    write_headers(ROOT, out)
    write_python(ROOT, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
