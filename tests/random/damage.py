"""What may be wrong with a file: each way says what must come of it."""

import gzip
import re

CERTAIN, MAYBE = "certain", "maybe"  # whether the command has to refuse the file


def empty(case, content):
    return b"", CERTAIN


def garbage(case, content):
    return case.random.randbytes(case.random.randint(1, 300)), CERTAIN


def cut_short(case, content):
    return content[:case.random.randrange(len(content))], CERTAIN


def cut_inside(case, content):
    """A text that ends early may end in a shorter number."""
    return content[:case.random.randrange(len(content))], MAYBE


def longer(case, content):
    return content + case.random.randbytes(case.random.randint(1, 9)), CERTAIN


def flipped_bits(case, content):
    damaged = bytearray(content)
    for _ in range(case.pick([1, 1, 3, 20])):
        damaged[case.random.randrange(len(damaged))] ^= 1 << case.random.randrange(8)
    return bytes(damaged), MAYBE


def header_of_npy(change):
    """Changes the text of a header, whose length stays what it was."""
    def damaged(case, content):
        length = int.from_bytes(content[8:10], "little")
        if content[6] != 1 or 10 + length > len(content):
            return empty(case, content)
        text = content[10:10 + length]
        changed = change(case, text)
        # One row more of rows that are empty is as good as before.
        verdict = MAYBE if change is one_row_more and re.search(rb"'shape': \(\d+(, \d+)*, 0\b", changed) else CERTAIN
        return content[:10] + changed.ljust(length)[:length - 1] + b"\n" + content[10 + length:], verdict
    return damaged


def many_elements(case, text):
    huge = case.pick([2**61, 2**63, 2**64, 2**40, 10**30])
    return re.sub(rb"'shape': \(.*\),", b"'shape': (%d, 3)," % huge, text)


def one_row_more(case, text):
    """The shape of a scalar becomes that of two."""
    found = re.search(rb"'shape': \((\d*)", text)
    rows = int(found.group(1) or 1) + 1
    return text[:found.start()] + b"'shape': (%d" % rows + (b"," if not found.group(1) else b"") + text[found.end():]


def without_key(case, text):
    return text.replace(case.pick([b"'descr'", b"'shape'", b"'fortran_order'"]), b"'wrong'", 1)


def with_objects(case, text):
    return re.sub(rb"'descr': .*, 'fortran", b"'descr': '|O', 'fortran", text)


def other_version(case, content):
    return content[:6] + bytes([case.pick([0, 4, 9, 255])]) + content[7:], CERTAIN


def number_becomes_word(case, content):
    """A number of the lines behind the first becomes none."""
    lines = content.split(b"\n")
    places = [i for i, line in enumerate(lines) if i > 0 and line[:1].isdigit()]
    if not places:
        return empty(case, content)
    at = case.pick(places)
    words = lines[at].split()
    words[case.random.randrange(len(words))] = case.pick([b"x", b"--1", b"1e", b"0x10", b"\xff"])
    lines[at] = b" ".join(words)
    return b"\n".join(lines), MAYBE  # what follows an element or a point in a mesh's line may be ignored


def count_is_other(case, content):
    """The number of entries, points or elements becomes another."""
    if content.startswith(b"%%MatrixMarket"):
        lines = content.split(b"\n")
        at = next((i for i, line in enumerate(lines) if i and line.strip() and not line.startswith(b"%")), None)
        if at is None or b"coordinate" not in lines[0].lower():
            return empty(case, content)
        words = lines[at].split()
        words[-1] = b"%d" % case.pick([int(words[-1]) + 1, 2**40, 2**64])
        lines[at] = b" ".join(words)
        return b"\n".join(lines), CERTAIN
    name = case.pick([b"NPOIN", b"NELEM"])
    found = re.search(name + rb"= (\d+)", content)
    if not found:
        return empty(case, content)
    wrong = b"%d" % case.pick([int(found.group(1)) + 1, 2**40, 2**64])
    return content[:found.start(1)] + wrong + content[found.end(1):], CERTAIN


# What stands in the way of a file itself, as the runner makes it.
NO_FILES = ["missing", "folder"]

OF_NPY = [empty, garbage, cut_short, longer, flipped_bits, flipped_bits, other_version, header_of_npy(many_elements),
          header_of_npy(one_row_more), header_of_npy(without_key), header_of_npy(with_objects)]
OF_TEXT = [empty, garbage, cut_inside, flipped_bits, flipped_bits, number_becomes_word, count_is_other]
OF_PACKED = [empty, garbage, cut_short, flipped_bits]
OF_RAW = [flipped_bits]


def draw_damage(case, name, content):
    """@returns (what the file becomes, whether that must be refused)"""
    if case.chance(0.2):
        return case.pick(NO_FILES), CERTAIN
    if content.startswith(b"\x93NUMPY"):
        way = case.pick(OF_NPY)
    elif name.endswith(".npz"):
        way = case.pick(OF_PACKED)
    elif name.endswith((".mtx.gz", ".su2.gz")):
        if case.chance(0.5):  # what is inside, in a sound archive
            damaged, verdict = case.pick(OF_TEXT)(case, gzip.decompress(content))
            return gzip.compress(damaged, mtime=0), verdict
        way = case.pick(OF_PACKED)
    elif name.endswith((".mtx", ".su2")):
        way = case.pick(OF_TEXT)
    else:
        way = case.pick(OF_RAW) if content else (lambda case, content: ("missing", CERTAIN))
    return way(case, content)
