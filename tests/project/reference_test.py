#!/usr/bin/env python3
"""reference_test.py SOURCES: docs/site/check_reference.py finds what is missing, in a tree that is planted for it."""

import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "docs/site"))
import check_reference  # noqa: E402
from declarations import declarations_of  # noqa: E402

HEADER = """#pragma once
namespace sheaf {
/// Options.
struct move_options {
  int passes = 1;
};
/// Moves.
SHEAF_API void move(int from, const move_options& options = {});
/// A counter.
class SHEAF_API counter {
 public:
  explicit counter(int first) : count_{first} {}
  /// Counts.
  int next() { return count_++; }
  bool operator==(const counter&) const = default;

 private:
  void hidden();
  int count_ = next_of(0);
};
namespace detail {
void inner(int);
}
}  // namespace sheaf
"""
EXAMPLE = """int main() {
  //! [move]
  sheaf::move(1);
  //! [move]
  //! [counter]
  sheaf::counter count(1);
  count.next();
  //! [counter]
}
"""
STUBS = 'def take(a):\n    """\n    Take.\n\n    Examples\n    --------\n    >>> take(1)\n    """\n'
GUIDE = "# Guide\n\n```cpp\nsheaf::move(1);\n```\n"


class Planted(unittest.TestCase):
    def faults(self, header=HEADER, example=EXAMPLE, stubs=STUBS, guide=GUIDE):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {"include/sheaf/move.hpp": header, "examples/calls/move.cpp": example, "docs/guides/guide.md": guide,
                     "python/sheaf/__init__.py": '__all__ = ["take"]\n', "python/sheaf/_sheaf.pyi": stubs,
                     "python/sheaf/_api.py": "", "python/examples/a.py": ""}
            for part in ("torch", "jax"):
                files[f"python/sheaf/{part}/__init__.py"] = "__all__ = []\n"
                files[f"python/sheaf/{part}/_calls.py"] = files[f"python/sheaf/{part}/_layers.py"] = ""
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = [check(root) for check in (check_reference.faults_of_headers, check_reference.faults_of_python,
                                               check_reference.faults_of_guides)]
            return " ".join(fault for faults, _ in found for fault in faults)

    def test_a_whole_tree_passes(self):
        self.assertEqual(self.faults(), "")

    def test_a_function_without_an_example(self):
        self.assertIn("sheaf::move: no example", self.faults(example=EXAMPLE.replace("[move]", "[moved]")))
        self.assertIn("[moved] is the example of nothing", self.faults(example=EXAMPLE.replace("[move]", "[moved]")))

    def test_a_class_whose_example_leaves_a_function_out(self):
        self.assertIn("does not call it", self.faults(example=EXAMPLE.replace("  count.next();\n", "")))

    def test_a_mark_without_its_second(self):
        self.assertIn("no second line", self.faults(example=EXAMPLE.replace("  //! [counter]\n}", "}")))

    def test_a_function_without_a_comment(self):
        self.assertIn("sheaf::move: no comment", self.faults(header=HEADER.replace("/// Moves.\n", "\n")))

    def test_a_name_of_python_without_an_example(self):
        self.assertIn("sheaf.take: its docstring has no example", self.faults(stubs=STUBS.replace(">>>", "")))
        self.assertIn("sheaf.take: its docstring has no example", self.faults(stubs=""))

    def test_a_method_of_python_that_no_example_calls(self):
        stubs = 'class take:\n    """\n    Take.\n\n    >>> take(1).all()\n    """\n    def all(self):\n        """All."""\n'
        self.assertEqual(self.faults(stubs=stubs), "")
        half = '    def half(self):\n        """Half."""\n'
        self.assertIn("sheaf.take.half: no example calls it", self.faults(stubs=stubs + half))

    def test_code_of_a_guide_that_is_of_no_example(self):
        self.assertIn("guide.md:3: this code", self.faults(guide=GUIDE.replace("(1)", "(2)")))

    def test_what_is_no_public_function_is_none(self):
        names = [d.full_name for d in declarations_of("sheaf/move.hpp", HEADER) if d.kind == "function"]
        self.assertEqual(names, ["sheaf::move", "sheaf::counter::next"])


if __name__ == "__main__":
    unittest.main()
