#!/usr/bin/env python3
"""command.py SHEAF STARTER...: the command on several of MPI's processes writes what it writes on one, or nothing."""
import os
import random
import struct
import subprocess
import sys
import tempfile

sheaf, starter = sys.argv[1], sys.argv[2:]
failed = 0


def say(condition, *words):
    global failed
    if not condition:
        failed += 1
        print("WRONG:", *words)


def run(ranks, *arguments):
    before = starter + ["-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run(before + [sheaf, *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def read(path):
    with open(path, "rb") as file:
        return file.read()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    random.seed(11)
    count = 30011
    with open("in.bin", "wb") as file:
        for i in range(count):
            file.write(struct.pack("<IQB", random.randrange(50), i, i % 7))
    with open("index.bin", "wb") as file:
        file.write(struct.pack("<20000I", *(random.randrange(count) for _ in range(20000))))
    with open("bad.bin", "wb") as file:
        file.write(struct.pack("<300I", *(count + 4 if i == 211 else i for i in range(300))))
    with open("short.npy", "wb") as file:
        head = b"{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }"
        head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<5i", 3, -1, 2, -7, 0))
    raw = ["--record-bytes", "13"]
    sort = ["sort", "in.bin", *raw, "--key", "0:4:u:desc", "-o"]
    gather = ["gather", "in.bin", "index.bin", *raw, "--index-type", "u32", "-o"]
    numbers = ["sort", "short.npy", "-o"]
    for name, arguments in (("sort", sort), ("gather", gather), ("numbers.npy", numbers)):
        code, said = run(1, *arguments, name)
        say(code == 0, said)
        for ranks in (2, 3, 4):
            code, said = run(ranks, *arguments, "out" + name)
            say(code == 0, ranks, said)
            say(os.path.exists("out" + name) and read("out" + name) == read(name), name, "on", ranks, "processes", said)
            say(said.count("processes") == 1, "not one report:", said)
    here = sorted(os.listdir())
    wrong = (
        (3, ["gather", "in.bin", "bad.bin", *raw, "--index-type", "u32", "-o", "none"], "index[211] is 30015"),
        (3, ["gather", "in.bin", "absent.bin", *raw, "--index-type", "u32", "-o", "none"], "absent.bin"),
        (5, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "absent/none"], "absent/none"),
        (2, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "none", "--verify"], "--verify"),
        (2, ["sort", "in.bin", *raw, "--key", "11:4", "-o", "none"], "13"),
        (2, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "-"], "stream"),
    )
    for expected, arguments, words in wrong:
        code, said = run(3, *arguments)
        say(code == expected, "code", code, "in place of", expected, said)
        say(words in said, "nothing of", words, "in", said)
    say(sorted(os.listdir()) == here, "files are left:", set(os.listdir()) - set(here))
sys.exit(1 if failed else 0)
