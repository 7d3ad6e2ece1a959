#!/usr/bin/env python3
"""Whether random_commands.py finds what is wrong with a program: a stand-in for sheaf calls the program, and does one
thing wrong.

    finds_faults.py --sheaf build/release/bin/sheaf"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import usage

TESTER = pathlib.Path(__file__).with_name("random_commands.py")

# What the stand-in does, by the name of the fault. `words` are what the program is called with, `done` is what it did,
# `outputs` are files that are new.
STAND_IN = '''#!{python} -IS
import os, subprocess, sys, time
before = set(os.listdir("."))
words = sys.argv[1:]
if words[0] not in ("plan", "version"):
    {words}
done = subprocess.run([{sheaf!r}] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
out, err, code = done.stdout, done.stderr, done.returncode
if sys.argv[1] in ("plan", "version"):  # which tell the tester what there is
    sys.stdout.buffer.write(out)
    sys.exit(code)
outputs = [name for name in os.listdir(".") if name not in before and os.path.isfile(name)]
{fault}
sys.stdout.buffer.write(out)
sys.stdout.flush()
sys.stderr.buffer.write(err)
sys.exit(code)
'''

FLIP_A_BIT = '''
for name in outputs:
    data = bytearray(open(name, "rb").read())
    if len(data) > 64:
        data[-1] ^= 64
        open(name, "wb").write(data)
'''

# The last bit of the first float that is not 0.
CHANGE_A_LAST_BIT = '''
for name in outputs:
    data = bytearray(open(name, "rb").read())
    begin = 10 + int.from_bytes(data[8:10], "little")
    if data[:6] == bytes([147]) + b"NUMPY" and b"'<f" in data[:begin]:
        width = int(data[data.index(b"'<f") + 3:][:1])
        at = next((i for i in range(begin, len(data), width) if any(data[i:i + width - 1])), None)
        if at is not None:
            data[at] ^= 1
            open(name, "wb").write(data)
'''

# What is done wrong, with which subcommands where not all will do, and what the tester says.
FAULTS = {
    "a flipped bit": (FLIP_A_BIT, ["gather", "split", "multi-split", "sort", "search", "scan", "reduce", "spmv", "spmm",
                                   "edges"], "not"),
    "a float that is not the nearest": (CHANGE_A_LAST_BIT, ["reduce", "spmv", "spmm"], "not"),
    "wrong usage that passes": ("if code == 2: code, err, out = 0, b'', b'{\"schema_version\": 1}'", None,
                                "exit code 0, not 2|is missing"),
    "bad input that passes": ("if code == 3: code, err, out = 0, b'', b'{\"schema_version\": 1}'", None,
                              "exit code 0, not 3"),
    "a file left behind": ("open('.sheaf-0123', 'wb').write(b'half')", None, ".sheaf-0123 is left behind"),
    "a lost output": ("[os.remove(name) for name in outputs]", None, "is missing"),
    "an input that is changed": ("[open(name, 'ab').write(b'x') for name in before if os.path.isfile(name)]", None,
                                 "is no longer what it was"),
    "an output in spite of a failure": ("if code: open('out.npy', 'wb').write(b'half')", None, "out.npy is left behind"),
    "a crash": ("if code == 3: os.abort()", None, "ended by SIGABRT"),
    "a hang": ("if code == 2: time.sleep(60)", None, "still running after"),
    "two documents": ("out += out", None, "not one JSON document"),
    "a message that names nothing": ("err = err and b'sheaf ' + sys.argv[1].encode() + b': something is wrong\\n'", None,
                                     "the message does not say|the document's message is"),
    "a sanitizer's report": ("err += b'x.cpp:1: runtime error: overflow\\n'", None, "a sanitizer says"),
    "words on stderr": ("err = err or b'note\\n'", None, "stderr is"),
    "an exit code that is none": ("code = code and 99", None, "exit code 99, not"),
}

# What the program is told to do instead of what it was to do, with which subcommand, and what the tester says.
INSTEAD = {
    "a sum for a difference": ("words = [w.replace('subtract', 'add') for w in words]", "reduce", "row .* not"),
    "a sum for a mean": ("words = [w.replace('mean', 'add') for w in words]", "reduce", "row .* not"),
    "a sum for a product": ("words = [w.replace('multiply', 'add') for w in words]", "reduce", "row .* not"),
    "a maximum for a minimum": ("words = ['max' if w == 'min' else w.replace('--op=min', '--op=max') for w in words]",
                                "reduce", "row .* not"),
    "a sum for a count": ("words = [w.replace('count', 'add') for w in words]", "reduce", "row .* not"),
    "a matrix that is not transposed": ("words = [w for w in words if w != '--transposed']", "spmm", "not"),
    "a factor that is left out": (
        "words = ['--alpha=1' if w.startswith('--alpha=') else '1' if last == '--alpha' else w"
        " for last, w in zip([''] + words, words)]", "spmm", "y.* not"),
}


class Finds(unittest.TestCase):
    sheaf = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_tester(self, fault, only, seconds=60, words="pass"):
        stand_in = pathlib.Path(tempfile.mkdtemp(dir=self.folder), "sheaf")
        stand_in.write_text(STAND_IN.format(python=sys.executable, sheaf=self.sheaf, words=words, fault=fault),
                            encoding="utf-8")
        stand_in.chmod(0o755)
        command = [sys.executable, str(TESTER), "--sheaf", str(stand_in), "--seconds", str(seconds), "--stop-after", "1",
                   "--limit", "2" if "sleep" in fault else "60", "--backend", "cpu"]
        for subcommand in only or ["gather", "sort", "rank"]:
            command += ["--only", subcommand]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_faults(self):
        trials = [(name, {"fault": fault, "only": only}, said) for name, (fault, subcommands, said) in FAULTS.items()
                  for only in ([[s] for s in subcommands] if subcommands else [None])]
        trials += [(name, {"fault": "", "only": [subcommand], "words": words}, said)
                   for name, (words, subcommand, said) in INSTEAD.items()]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda trial: self.run_tester(**trial[1]), trials))
        for (name, how, said), done in zip(trials, outcomes):
            with self.subTest(fault=name, only=how["only"]):
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, said)
                self.assertIn("again:", done.stdout)

    def test_a_case_is_rebuilt_from_its_seed(self):
        first = self.run_tester(FLIP_A_BIT, ["gather"]).stdout.splitlines()
        again = next(line for line in first if line.startswith("  again:")).split(":", 1)[1].split()
        again.remove("--keep")
        second = subprocess.run([sys.executable] + again, stdout=subprocess.PIPE, text=True, check=False).stdout
        self.assertEqual(second.splitlines()[1:4], first[1:4])

    def test_every_option_that_has_a_value_has_wrong_values(self):
        for subcommand, rows in usage.OPTIONS.items():
            words = subprocess.run([self.sheaf, subcommand, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
            words = words.split("\nExamples:\n")[0]
            found = re.findall(r"^  (?:-[a-z], |    )(--[a-z0-9-]+) \S", words, re.MULTILINE)
            self.assertEqual(sorted({"-o" if name == "--output" else name for name in found}), sorted(rows), subcommand)

    def test_nothing_where_nothing_is_wrong(self):
        done = self.run_tester("", None, seconds=1)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"[1-9]\d* cases, 0 wrong\n$")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sheaf", required=True, help="the program behind the stand-in")
    known, rest = parser.parse_known_args()
    Finds.sheaf = os.path.abspath(known.sheaf)
    unittest.main(argv=sys.argv[:1] + rest)
