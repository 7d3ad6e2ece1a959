"""A case: a command of sheaf with files of its own, made from a seed and a number alone, and what must come of it."""

import os
import random

# Where work can be done, and how often it is: a device of Mesa's takes a quarter of a second to open.
BACKENDS = {"cpu": 10, "reference": 6, "auto": 3, "opengl": 1, "cuda": 5}

REPEATED = {"gather", "scatter", "reduce", "split", "multi-split", "rank", "scan", "spmm"}  # which have --runs
LEARNING = {"gather", "scatter", "reduce"}  # which have --learn, as sort has


class Trial:
    """A command line and what must come of it. Families make it right, and faults.py spoils some of them."""

    def __init__(self, subcommand, operands=(), options=None):
        self.subcommand = subcommand
        self.operands = list(operands)
        self.options = dict(options or {})  # a value, None for a flag, or a list for an option that is given several times
        self.environment = {}
        self.exits = {0}  # the exit codes that are right
        self.writes_at = {0}  # the exit codes with which outputs are there; with others there is none of them
        self.named = []  # what the message of a failure must say: the file, a place, a value
        self.outputs = {}  # file name -> function(content) that returns what is wrong with it, or None
        self.writes_any = False  # whether what is written is not known beforehand
        self.report = None  # function(document) that returns what is wrong with the report of --json, or None
        self.is_silent = True  # nothing on stderr but for failures
        self.killed_by = None  # (signal, seconds after the beginning), of a command that is not to end by itself
        self.piped_input = None  # (name, content) of an input that comes through standard input
        self.piped_output = None  # name of an output that goes to standard output
        self.judge = None  # function(exit code, document) for what no table above says

    def fail_with(self, exit_code, *named):
        """What is wrong, unless it was something that is found earlier: a backend that is not here."""
        if self.exits == {6}:
            return
        self.options.pop("--memory", None)
        self.exits = {exit_code}
        self.named = list(named)

    def draw_pipes(self, case):
        """Gives an input or the output of a command that succeeds to a pipe."""
        if self.exits != {0} or self.killed_by:
            return
        words = [str(word) for value in self.options.values() for word in (value if isinstance(value, list) else [value])]
        for place, operand in enumerate(self.operands):
            content = case.files.get(os.path.normpath(operand))
            is_alone = operand not in words and self.operands.count(operand) == 1
            if isinstance(content, bytes) and is_alone and case.chance(0.1):
                self.operands[place] = case.pick(["-", "/dev/stdin", "/dev/fd/0"])
                self.piped_input = (operand, content)
                break
        output = self.options.get("-o")
        if output in self.outputs and self.is_silent and case.chance(0.1):
            self.options["-o"] = case.pick(["-", "/dev/stdout"])
            self.piped_output = output

    def outputs_of_damage(self):
        """Nobody knows the answer any more."""
        self.writes_any = True
        self.outputs, self.report, self.judge = {}, None, None

    def words(self, rng):
        """The arguments in one of their many orders, in which operands keep theirs, and so do those of one option."""
        placed = []

        def place(groups):
            placed.extend(zip(sorted(rng.random() for _ in groups), groups))

        place([[operand] for operand in self.operands])
        for name, value in self.options.items():
            place([spelled(name, each, rng) for each in (value if isinstance(value, list) else [value])])
        return [self.subcommand] + [word for _, group in sorted(placed, key=lambda p: p[0]) for word in group]


def spelled(name, value, rng):
    """An option as a command line may have it."""
    if value is None:
        return [name]
    if name.startswith("--") and rng.random() < 0.2:
        return [f"{name}={value}"]
    return [name, str(value)]


class Case:
    """What a family makes its trial with: random numbers, and a folder that it puts files into."""

    def __init__(self, seed, number, machine):
        self.random = random.Random(f"{seed}/{number}")
        self.machine = machine
        self.files = {}  # name -> content, of the inputs and of what lies in the way of an output

    def chance(self, share):
        return self.random.random() < share

    def pick(self, choices):
        return self.random.choice(choices)

    def count(self, most=3000):
        """A number of items: none and one, sizes around those of blocks, and any, small ones more often."""
        if self.chance(0.12):
            return self.pick([0, 1, 2])
        if self.chance(0.15):
            return min(most, self.pick([255, 256, 257, 1023, 1024, 1025, 2047, 2049]))
        return min(most, int(2 ** (self.random.random() * 12)))

    def put(self, name, content):
        key = os.path.normpath(name)
        assert key not in self.files, name
        self.files[key] = content
        return name

    def name(self, stem, ending):
        """A name for a file. Names may have spaces, and letters that are not ASCII."""
        return self.pick([stem] * 6 + [f"{stem} 2", f"{stem}-ü", f"./{stem}"]) + ending

    def add_context(self, trial, supported=("cpu", "reference", "auto", "cuda"), memory=True, verify=True):
        """Options that most subcommands have. A backend that this machine has not is an error of its own."""
        rng = self.random
        backend = rng.choices(list(BACKENDS), weights=list(BACKENDS.values()))[0]
        if self.machine.only_backend:
            backend = self.machine.only_backend
        if backend not in supported or (backend == "auto" and self.machine.best_backend not in supported):
            backend = "cpu"
        if not self.machine.has(backend):
            if self.chance(0.1) and trial.exits == {0}:
                trial.fail_with(6, backend)
            else:
                backend = "cpu"
        if backend != "auto" or self.chance(0.5):
            trial.options["--backend"] = backend
        if backend in ("cpu", "reference") and self.chance(0.5):
            trial.options["--threads"] = rng.choice([1, 1, 2, 3, 4, 7])
        if memory and trial.exits == {0} and self.chance(0.15):
            trial.options["--memory"] = rng.choice(["64M", "1G", "1.5GiB", "20000000", "0", "1", "4K", "100KB"])
            trial.exits = {0, 5}  # too little for every plan is an error
        if verify and self.chance(0.4):
            trial.options["--verify"] = None
        return self.machine.best_backend if backend == "auto" else backend

    def add_printing(self, trial):
        if self.chance(0.75):
            trial.options["--json"] = None
        if trial.subcommand not in ("plan", "version") and self.chance(0.1):
            trial.options["--quiet"] = None
        elif trial.subcommand in REPEATED | {"spmv"} and self.chance(0.05):
            trial.options["--verbose"] = None
            trial.is_silent = False

    def force_variant(self, trial, call):
        """Makes the call take one of its variants, whether it is the cheapest or not, and maybe several times."""
        if trial.subcommand in REPEATED and self.chance(0.1):
            trial.options["--runs"] = self.pick([1, 2, 5])
            if trial.subcommand in LEARNING and self.chance(0.5):
                trial.options["--learn"] = None
                return  # a named variant excludes it
        names = self.machine.variants(call, trial.options.get("--backend", "auto"))
        if not names or trial.exits != {0} or "--memory" in trial.options or not self.chance(0.4):
            return
        if self.chance(0.5):
            trial.options["--variant"] = self.pick(names)
        else:
            trial.environment["SHEAF_VARIANT"] = f"{call.split()[0]}:{self.pick(names)}"
        trial.exits = {0, 2}  # a variant need not be able to do everything

    def draw_environment(self, trial):
        if self.chance(0.1):
            trial.environment["OMP_NUM_THREADS"] = self.pick(["1", "2", "5"])
        if self.chance(0.1):
            trial.environment["SHEAF_THREADS"] = self.pick(["1", "2", "6"])
