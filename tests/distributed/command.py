#!/usr/bin/env python3
"""command.py SHEAF STARTER...: the command on several of MPI's processes writes what it writes on one, or nothing."""
import hashlib
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sheaf, starter = sys.argv[1], sys.argv[2:]
# Numbers of processes; the first is that of the runs that go wrong.
counts = (2, 4) if "openmpi" in starter[0] else (3, 1, 2, 4, 8)
failed = 0


def say(condition, *words):
    global failed
    if not condition:
        failed += 1
        print("WRONG:", *words)


def run(ranks, *arguments, **environment):
    """Code, what is on standard output, and on standard error. ranks 0: without MPI."""
    before = starter + ["-n", str(ranks)] if ranks > 0 else []
    done = subprocess.run(before + [sheaf, *arguments], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def write_array(path, descr, code, numbers, shape=None):
    shape = shape or (len(numbers),)
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (descr, ", ".join(map(str, shape)))
    head = head.encode() + b" " * (63 - (10 + len(head)) % 64) + b"\n"
    order = ">" if descr[0] == ">" else "<"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        file.write(struct.pack("%s%d%s" % (order, len(numbers), code), *numbers))


def write_matrix(path, kind, rows, columns, entries):
    with open(path, "w") as file:
        file.write("%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n" % (kind, rows, columns, len(entries)))
        file.writelines("%d %d %r\n" % (row + 1, column + 1, value) for row, column, value in entries)


def grid(side, is_symmetric):
    """A positive definite matrix of a grid's points, in any order; its lower triangle where it is symmetric."""
    entries = []
    for point in range(side * side):
        entries.append((point, point, 4 + 0.001 * (point % 7)))
        for other in [point + side] * (point + side < side * side) + [point + 1] * ((point + 1) % side != 0):
            value = -random.uniform(0.5, 1)
            entries.append((other, point, value))
            if not is_symmetric:
                entries.append((point, other, value))
    random.shuffle(entries)
    return entries


def write_inputs():
    random.seed(11)
    count = 30011
    with open("in.bin", "wb") as file:
        for i in range(count):
            file.write(struct.pack("<IQB", random.randrange(50), i, i % 7))
    with open("cut.bin", "wb") as file, open("in.bin", "rb") as whole:
        file.write(whole.read()[:-5])
    with open("index.bin", "wb") as file:
        file.write(struct.pack("<20000I", *(random.randrange(count) for _ in range(20000))))
    with open("bad.bin", "wb") as file:
        file.write(struct.pack("<300I", *(count + 4 if i == 211 else i for i in range(300))))
    write_array("short.npy", "<i4", "i", [3, -1, 2, -7, 0])
    write_array("none.npy", "<i4", "i", [])
    with open("cut.npy", "wb") as file, open("short.npy", "rb") as whole:
        file.write(whole.read()[:-3])
    categories = [random.randrange(37) for _ in range(count)]
    write_array("categories.npy", "<u2", "H", categories)
    categories[20011] = 99
    write_array("bad.npy", "<u2", "H", categories)
    rows = [0]
    for _ in range(count):
        rows.append(rows[-1] + random.randrange(4))
    write_array("rows.npy", "<i8", "q", rows)
    members = [random.randrange(37) for _ in range(rows[-1])]
    write_array("members.npy", ">u2", "H", members)
    write_matrix("grid.mtx", "symmetric", 3721, 3721, grid(61, True))
    general = grid(53, False)
    write_matrix("general.mtx", "general", 2809, 2809, general)
    place = max(i for i, entry in enumerate(general) if entry[0] == 2600 and entry[1] != 2600)
    general[place] = (*general[place][:2], 0.25)
    write_matrix("lopsided.mtx", "general", 2809, 2809, general)
    write_matrix("wide.mtx", "general", 3001, 777,
                 [(random.randrange(3001), random.randrange(777), random.gauss(0, 1)) for _ in range(20000)])
    write_matrix("negative.mtx", "symmetric", 900, 900, [(i, i, -1 if i == 700 else 1) for i in range(900)])
    with open("cut.mtx", "w") as file, open("grid.mtx") as whole:
        file.write(whole.read()[:50000])
    write_array("x.npy", "<f8", "d", [random.gauss(0, 1) for _ in range(777)])
    write_array("y.npy", ">f8", "d", [random.gauss(0, 1) for _ in range(3001)])
    write_array("b.npy", "<f4", "f", [math.sin(i) for i in range(3721)])


raw = ["--record-bytes", "13"]
of_members = ["--row-offsets", "rows.npy", "--keys", "members.npy", "--categories", "40"]
of_categories = ["--keys", "categories.npy", "--categories", "40"]
# Arguments, and outputs, which the arguments name.
right = (
    (["sort", "in.bin", *raw, "--key", "0:4:u:desc", "-o", "out"], ["out"]),
    (["sort", "short.npy", "-o", "out.npy"], ["out.npy"]),
    (["sort", "none.npy", "-o", "out.npy"], ["out.npy"]),
    (["gather", "in.bin", "index.bin", *raw, "--index-type", "u32", "-o", "out"], ["out"]),
    (["split", "in.bin", *raw, *of_categories, "-o", "out", "--offsets", "at.npy"], ["out", "at.npy"]),
    (["split", "in.bin", *raw, "--key", "0:2", "--bits", "1:9", "-o", "out"], ["out"]),
    (["multi-split", "in.bin", *raw, *of_members, "-o", "out", "--sources", "from.npy", "--offsets", "at.npy"],
     ["out", "from.npy", "at.npy"]),
    (["split", *of_members, "--index", "gather", "-o", "out.npy"], ["out.npy"]),
    (["spmv", "wide.mtx", "x.npy", "-o", "out.npy", "--alpha", "1.7", "--beta", "-0.3", "--y", "y.npy"], ["out.npy"]),
    (["spmv", "grid.mtx", "b.npy", "-o", "out.npy", "--value-type", "f32"], ["out.npy"]),
    (["solve", "grid.mtx", "b.npy", "-o", "out.npy"], ["out.npy"]),
    (["solve", "general.mtx", "-o", "out.npy", "--jacobi", "--history", "steps.csv"], ["out.npy", "steps.csv"]),
)
# Code, arguments and what is said.
wrong = (
    (3, ["gather", "in.bin", "bad.bin", *raw, "--index-type", "u32", "-o", "out"],
     "bad.bin: index[211] is 30015, past the table's 30011 records"),
    (3, ["gather", "in.bin", "absent.bin", *raw, "--index-type", "u32", "-o", "out"], "absent.bin"),
    (3, ["split", "in.bin", *raw, "--keys", "bad.npy", "--categories", "40", "-o", "out", "--offsets", "at.npy"],
     "bad.npy: category[20011] is 99, past the 40 categories"),
    (2, ["split", "in.bin", *raw, "--key", "colour", "-o", "out"], "colour"),
    (2, ["split", "in.bin", *raw, "--key", "0:1", "--index", "gather", "-o", "out"], "--index"),
    (5, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "absent/out"], "absent/out"),
    (5, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "/proc/out"], "/proc/out"),
    (5, ["solve", "grid.mtx", "-o", "out.npy", "--history", "absent/steps.csv"], "absent/steps.csv"),
    (3, ["sort", "cut.bin", *raw, "--key", "0:4", "-o", "out"], "cut.bin"),
    (3, ["sort", "cut.npy", "-o", "out.npy"], "cut.npy"),
    (2, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "out", "--verify"], "--verify"),
    (2, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "out", "--devices", "all"], "--devices is for one process"),
    (2, ["sort", "in.bin", *raw, "--key", "11:4", "-o", "out"], "13"),
    (2, ["sort", "in.bin", *raw, "--key", "0:4", "-o", "-"], "stream"),
    (2, ["sort", "/dev/stdin", *raw, "--key", "0:4", "-o", "out"], "stream"),
    (2, ["sort", "in.bin", "--quick", "-o", "out"], "--quick"),
    (3, ["spmv", "cut.mtx", "-o", "out.npy"], "cut.mtx: line"),
    (3, ["spmv", "wide.mtx", "b.npy", "-o", "out.npy"], "b.npy: 3721 numbers, but wide.mtx has 777 columns"),
    (2, ["spmv", "wide.mtx", "-o", "out.npy", "--transposed"], "--transposed"),
    (3, ["solve", "lopsided.mtx", "-o", "out.npy"], "lopsided.mtx: the matrix is not symmetric: row "),
    (3, ["solve", "wide.mtx", "-o", "out.npy"], "wide.mtx: the matrix is 3001 x 777, not square"),
    (2, ["npb-cg", "S", "--variant", "cpu.fused"], "--variant"),
    (2, ["reduce", "in.bin", "index.bin", "--op", "add", "-o", "out"], "does not divide its work"),
    (2, ["demo"], "does not divide its work"),
    (2, ["machine", "--calibrate"], "--calibrate"),
    (2, [], "subcommand"),
)


def check_outputs():
    for arguments, outputs in right:
        expected = []
        for ranks in (0, *counts):
            for path in outputs:
                with open(path, "wb") as file:
                    file.write(b"of before")
            code, out, errors = run(ranks, *arguments)
            say(code == 0, arguments, "on", ranks, "processes:", code, out, errors)
            hashes = []
            for path in outputs:
                with open(path, "rb") as file:
                    hashes.append(hashlib.sha256(file.read()).hexdigest())
            expected = expected or hashes
            say(hashes == expected, arguments, "has other bytes on", ranks, "processes")
            say(out.count(" records of ") + out.count(" nonzeros") == 1, arguments, "on", ranks, "not one report:", out)
        for path in outputs:
            os.remove(path)


def check_benchmark():
    answers = []
    for ranks in (0, *counts):
        code, out, errors = run(ranks, "npb-cg", "S", "--json")
        say(code == 0, "npb-cg on", ranks, "processes:", code, out, errors)
        document = json.loads(out)  # one document, from the first process alone
        say(document.get("processes", 1) == max(1, ranks), document)
        answers.append((document["zeta"].hex(), document["residual"].hex(), document["verification"]))
    say(len(set(answers)) == 1 and answers[0][2] == "SUCCESSFUL", "npb-cg has several answers:", answers)


def check_refusals():
    here = sorted(os.listdir())
    for expected, arguments, words in wrong:
        code, out, errors = run(counts[0], *arguments)
        say(code == expected, arguments, "code", code, "in place of", expected, out, errors)
        lines = [line for line in errors.splitlines() if line.startswith("sheaf")]
        say(len(lines) == 1 and words in lines[0], arguments, "not once of", words, "in", errors)
        say(out == "", arguments, "prints", out)
    for expected, environment, words in ((2, {"SHEAF_THREADS": "many"}, "SHEAF_THREADS: 'many'"),
                                         (3, {"SHEAF_PROFILE": "absent.json"}, "absent.json: cannot be opened")):
        code, out, errors = run(counts[0], "sort", "short.npy", "-o", "out.npy", **environment)
        say(code == expected and out == "", environment, code, out, errors)
        lines = [line for line in errors.splitlines() if line.startswith("sheaf")]
        say(len(lines) == 1 and lines[0].startswith("sheaf sort: " + words), environment, "not once of", words, errors)
    code, out, errors = run(counts[0], "gather", "in.bin", "bad.bin", *raw, "--index-type", "u32", "-o", "out", "--json")
    say(code == 3 and json.loads(out)["error"]["code"] == "bad_index", code, out, errors)
    say(sorted(os.listdir()) == here, "files are left:", set(os.listdir()) - set(here))
    code, out, errors = run(counts[0], "solve", "negative.mtx", "--jacobi", "-o", "best.npy")
    say(code == 7 and errors.count("row 700 has -1 on the diagonal") == 0 and
        errors.count("row 701 has -1") == 1 and os.path.exists("best.npy"), code, out, errors)


def check_work_of_ones_own():
    """Processes that a launcher starts with other arguments each are no parts of one work."""
    for rank in (0, 1):
        write_array("own%d.npy" % rank, "<i4", "i", [7 - rank, 3, 9 + rank])
    own = '%s sort own$PMI_RANK$OMPI_COMM_WORLD_RANK.npy -o sorted$PMI_RANK$OMPI_COMM_WORLD_RANK.npy' % sheaf
    without = "env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u PMIX_RANK "
    for before, code_right in (("", False), (without, True)):
        done = subprocess.run(starter + ["-n", "2", "sh", "-c", before + own], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        say((done.returncode == 0) == code_right, before, done)
        say(code_right or done.stderr.count("the command line on rank 1 is not that of rank 0") == 1, before, done)
        for rank in (0, 1):
            path = "sorted%d.npy" % rank
            say(os.path.exists(path) == code_right, before, path, done)
            if code_right:
                with open(path, "rb") as file:
                    say(struct.unpack("<3i", file.read()[-12:]) == (3, 7 - rank, 9 + rank), path)
                os.remove(path)


def check_what_prints():
    for arguments in (["version"], ["help"], ["sort", "--help"], ["plan", "--like", "sort", "short.npy", "--threads", "1"]):
        alone = run(0, *arguments)
        together = run(counts[0], *arguments)
        say(together[:2] == alone[:2], arguments, "prints", together, "in place of", alone)
    # srun --mpi=pmix leaves this.
    slurm = {"SLURM_STEP_NUM_TASKS": "2"}
    code, out, errors = run(0, "demo", PMIX_RANK="0", **slurm)
    say(code == 2 and "does not divide" in errors, code, out, errors)
    say(run(0, "demo", PMIX_RANK="1", **slurm) == (0, "", ""), "the second process says something")
    say(run(0, "version", **slurm) == run(0, "version"), "tasks of Slurm without MPI are taken for processes of it")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = folder + "/.cache"
    # Open MPI waits so many seconds for processes that have left already.
    os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
    write_inputs()
    check_outputs()
    check_benchmark()
    check_refusals()
    check_work_of_ones_own()
    check_what_prints()
sys.exit(1 if failed else 0)
