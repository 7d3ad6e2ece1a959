#!/usr/bin/env python3
"""Random tests of the sheaf command: random arrays, options, damaged files and wrong command lines of every subcommand
and backend, whose results are compared with answers that this program finds by itself.

    random_commands.py --sheaf build/release/bin/sheaf                      a minute
    random_commands.py --sheaf build/release/bin/sheaf --seconds 7200 --seed $RANDOM --jobs 4
    random_commands.py --sheaf build/release/bin/sheaf --seed 1 --case 4711 --keep      one case again

A case follows from its seed and its number, with or without NumPy, which adds cases of a million records. The last line
is 'N cases, M wrong', and the exit code is 1 if any was wrong."""

import argparse
import os
import random
import shlex
import sys
import tempfile
import threading
import time
import traceback

import edges
import faults
import here
import large
import lists
import movement
import reduce
import reports
import running
import search
import sort
import sparse
import split
from trial import Case

FAMILIES = [movement, split, sort, search, lists, sparse, edges, reports, large, reduce]


def drawers():
    """(subcommand's drawer, weight) of all families, in an order that does not change."""
    return [(draw, weight) for family in FAMILIES for draw, weight in family.FAMILY.items()]


def subcommand_of(draw):
    """The subcommand that a drawer is named after, or its file where it draws something special of it."""
    special = {"check": "sort", "killed": "sort", "calibrate": "machine", "profile": "plan"}
    name = draw.__name__.replace("_of_many", "").replace("_", "-")
    return special.get(name, name)


def draw_case(seed, number, machine, only=None):
    """@returns (the case, its trial), or None where it is of no subcommand in `only`"""
    case = Case(seed, number, machine)
    choices = drawers()
    draw = case.random.choices([d for d, _ in choices], [w for _, w in choices])[0]
    if only and subcommand_of(draw) not in only:
        return None
    trial = draw(case)
    case.add_printing(trial)
    case.draw_environment(trial)
    if case.chance(0.08) and reports.may_be_planned(trial):
        trial = reports.planned(trial)
    else:
        faults.spoil(case, trial)
    trial.draw_pipes(case)
    if trial.outputs and case.chance(0.15):  # what an earlier command wrote there
        for name in trial.outputs:
            case.files.setdefault(os.path.normpath(name), b"from an earlier command\n")
    return case, trial


class Tester:
    """Draws and runs cases until its time is over."""

    def __init__(self, options, machine, parent):
        self.options, self.machine, self.parent = options, machine, parent
        self.end = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.next_number = options.first
        self.done = self.wrong = 0
        self.counts = {}

    def take_number(self):
        with self.lock:
            if self.options.case is not None:
                number, self.options.case = self.options.case, None
                self.end = 0
                return number
            is_over = time.monotonic() >= self.end or self.wrong >= self.options.stop_after
            if is_over or (self.options.count is not None and self.next_number >= self.options.first + self.options.count):
                return None
            self.next_number += 1
            return self.next_number - 1

    def work(self):
        for number in iter(self.take_number, None):
            try:
                drawn = draw_case(self.options.seed, number, self.machine, self.options.only)
                if drawn is not None:
                    self.run(number, *drawn)
            except Exception:  # of this program, whatever brought it about: that is no reason to stop, nor to be silent
                with self.lock:
                    self.done += 1
                    self.wrong += 1
                    print(f"case {number}: this program failed\n{traceback.format_exc()}", flush=True)

    def run(self, number, case, trial):
        words = trial.words(random.Random(f"{self.options.seed}/{number}/words"))
        folder = running.prepared_folder(self.parent, number, case.files)
        outcome = running.run(self.machine, words, trial, folder, self.options.limit)
        found = running.mistakes(trial, case.files, outcome, self.options.limit)
        with self.lock:
            self.done += 1
            key = (trial.subcommand, outcome.exit_code)
            self.counts[key] = self.counts.get(key, 0) + 1
            if found:
                self.wrong += 1
                self.tell(number, words, trial, folder, outcome, found)
        if not (found and self.options.keep):
            running.remove(folder)
        elif self.options.keep:
            print(f"  files:   {folder}", flush=True)

    def tell(self, number, words, trial, folder, outcome, found):
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in trial.environment.items())
        print(f"case {number}: {found[0]}")
        for more in found[1:]:
            print(f"  and:     {more}")
        print(f"  command: {variables}sheaf {' '.join(map(shlex.quote, words))}")
        if outcome.err:
            print(f"  stderr:  {outcome.err.strip()[:500]}")
        backend = f" --backend {self.options.backend}" if self.options.backend else ""
        print(f"  again:   {shlex.quote(sys.argv[0])} --sheaf {shlex.quote(self.machine.sheaf)} --seed "
              f"{self.options.seed}{backend} --case {number} --keep", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sheaf", required=True, help="the program to test")
    parser.add_argument("--seconds", type=float, default=60, help="when no more case is begun; 60 unless given")
    parser.add_argument("--count", type=int, help="end after so many cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", action="append", help="cases of this subcommand alone; may be given several times")
    parser.add_argument("--backend", choices=["cpu", "reference", "opengl", "cuda", "auto"],
                        help="work there, wherever a subcommand can")
    parser.add_argument("--jobs", type=int, default=1, help="commands that run at a time")
    parser.add_argument("--limit", type=float, default=30, help="seconds that a command may take")
    parser.add_argument("--stop-after", type=int, default=20, help="end after so many wrong cases")
    parser.add_argument("--keep", action="store_true", help="leave the files of wrong cases where they are")
    parser.add_argument("--verbose", action="store_true", help="say how many cases ended with which exit code")
    return parser.parse_args()


def main():
    options = arguments()
    if not os.access(options.sheaf, os.X_OK):
        raise SystemExit(f"random_commands.py: --sheaf {options.sheaf} is no program")
    parent = tempfile.mkdtemp(prefix="sheaf-random-")
    machine = here.Machine(options.sheaf, options.backend, parent)
    tester = Tester(options, machine, parent)
    print(f"seed {options.seed}; backends here: {', '.join(machine.backends())}; NumPy: {large.VERSION}", flush=True)
    threads = [threading.Thread(target=tester.work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not (options.keep and tester.wrong):
        running.remove(parent)
    if options.verbose:
        for (subcommand, code), count in sorted(tester.counts.items(), key=str):
            print(f"  {subcommand:8} exit {code}: {count}")
    print(f"{tester.done} cases, {tester.wrong} wrong")
    return 1 if tester.wrong or tester.done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
