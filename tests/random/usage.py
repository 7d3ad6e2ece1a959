"""What may be wrong with a command line."""

WHOLE = ["", " ", "-1", "+1", "1.5", "1e3", "0x10", "1 2", "x", "18446744073709551616"]
NUMBER_FROM_1 = WHOLE + ["0"]
REAL = ["", " ", "nan", "inf", "-inf", "1e400", "1,5", "x", "1.5x"]
SIZE = ["", " ", "-1", "12Q", "1.5", "1..5K", "K", "1KiBB", "99999999999999999999"]
SORT_SIZE = SIZE + ["0", "1K", "1048575"]
WORD = ["", " ", "nonsense", "ALL"]
PATTERN = ["", "clustered", "clustered:0", "clustered:x", "random:3", "strided:-1", "Random", "nonsense"]
PLACES = ["", ":", "1", "1:", ":1", "0:0", "0:13", "-1:4", "0:x", "0:4:u", "99999999:8"]
BITS = ["", ":", "1", "1:", ":1", "0:0", "0:97", "-1:4", "0:x", "0:8:u", "99999999:8"]
KEYS = ["", ":", "1", "1:", ":1", "0:0", "0:33", "-1:4", "0:4:x", "0:3:f", "0:4:u:up", "99999999:8", "0:4:u:desc:asc"]
PLAN_KEYS = [key for key in KEYS[:10] if key != "0:33"] + ["0:97"]
PLACE = ["", ":", "0", "0:", "0:3", "x:4", "-1:4", "99999999:4"]
FILE = [""]
GPUS = ["", " ", "x", "ALL", "-1", "1.5", "0,", ",0", "0,,1", "0,0", "all,0"]

CONTEXT = {"--backend": WORD, "--threads": NUMBER_FROM_1 + ["4097"]}
DEVICES = {"--devices": GPUS}
MEMORY = {"--memory": SIZE}
TEMPORARY = {"--temporary": ["", "no folder"]}
VARIANT = {"--variant": WORD}
REPEATED = {**VARIANT, "--runs": NUMBER_FROM_1}
MOVEMENT = {"-o": FILE, "--record-bytes": NUMBER_FROM_1 + ["65537"], "--index-type": WORD, "--pattern": PATTERN,
            **CONTEXT, **MEMORY, **REPEATED, **TEMPORARY}
LISTS = {"-o": FILE, "--lists": WORD, "--index-type": WORD, "--pattern": PATTERN, **CONTEXT, **MEMORY, **REPEATED,
         **TEMPORARY}

# For each subcommand: its options that have a value, and values that are none.
OPTIONS = {
    "gather": {**MOVEMENT, **DEVICES},
    "scatter": {**MOVEMENT, "--table": WHOLE, "--into": FILE, "--duplicates": WORD},
    "reduce": {**{option: values for option, values in MOVEMENT.items() if option != "--record-bytes"}, "--op": WORD,
               "--order": WORD, "--table": WHOLE, "--into": FILE},
    "split": {"-o": FILE, "--key": PLACES, "--bits": BITS, "--keys": FILE, "--categories": NUMBER_FROM_1 + ["4294967297"],
              "--index": WORD, "--output-type": WORD, "--offsets": FILE, "--record-bytes": NUMBER_FROM_1 + ["65537"],
              "--row-offsets": FILE, "--index-type": WORD, "--sources": FILE,
              "--key-bytes": NUMBER_FROM_1 + ["65537"], **CONTEXT, **DEVICES, **MEMORY, **REPEATED, **TEMPORARY},
    "multi-split": {"-o": FILE, "--row-offsets": FILE, "--keys": FILE, "--categories": NUMBER_FROM_1 + ["4294967297"],
                    "--sources": FILE, "--offsets": FILE, "--output-type": WORD, "--index-type": WORD,
                    "--record-bytes": NUMBER_FROM_1 + ["65537"], "--key-bytes": NUMBER_FROM_1 + ["3", "5"],
                    **CONTEXT, **MEMORY, **REPEATED, **TEMPORARY},
    "sort": {"-o": FILE, "--key": KEYS, "--index": WORD, "--output-type": WORD, "--record-bytes": NUMBER_FROM_1 + ["65537"],
             "--memory": SORT_SIZE, **CONTEXT, **DEVICES, **REPEATED, **TEMPORARY},
    "search": {"-o": FILE, "--key": PLACE, "--payload": FILE, "--matches": WORD, "--key-bytes": WORD + ["3", "16"],
               "--payload-bytes": NUMBER_FROM_1 + ["65537"], "--record-bytes": NUMBER_FROM_1 + ["65537"],
               "--load": NUMBER_FROM_1 + ["4", "100"], **CONTEXT, **MEMORY, **REPEATED, **TEMPORARY},
    "rank": {**LISTS, "--output-type": WORD},
    "scan": {**LISTS, "--op": WORD, "--exclusive-from": ["", " ", "x", "1e999"], "--value-type": WORD},
    "spmv": {"-o": FILE, "--alpha": REAL, "--beta": REAL, "--y": FILE, "--runs": NUMBER_FROM_1, "--value-type": WORD,
             "--order": WORD, **CONTEXT, **DEVICES, **MEMORY, **VARIANT, **TEMPORARY},
    "spmm": {"-o": FILE, "--alpha": REAL, "--beta": REAL, "--y": FILE, "--runs": NUMBER_FROM_1, "--value-type": WORD,
             "--order": WORD, **CONTEXT, **MEMORY, **VARIANT, **TEMPORARY},
    "solve": {"-o": FILE, "--tolerance": REAL + ["-1"], "--absolute": REAL + ["-1"], "--iterations": WHOLE, "--history": FILE,
              "--value-type": WORD, **CONTEXT, **DEVICES, **MEMORY, **REPEATED, **TEMPORARY},
    "edges": {"-o": FILE, "--dual": FILE, "--weights": FILE, "--function": WORD, "--runs": NUMBER_FROM_1,
              "--zone": NUMBER_FROM_1, "--value-type": WORD, **CONTEXT, **MEMORY, **VARIANT, **TEMPORARY},
    "npb-cg": {"--matrix": FILE, "--value-type": WORD, **CONTEXT, **DEVICES, **MEMORY, **VARIANT, **TEMPORARY},
    "plan": {"--count": WHOLE, "--table": WHOLE, "--record-bytes": NUMBER_FROM_1, "--pattern": PATTERN, "--index-type": WORD,
             "--bounds": WORD, "--duplicates": WORD, "--key-bytes": NUMBER_FROM_1, "--key": PLAN_KEYS,
             "--categories": WHOLE, "--records": WHOLE, "--value-type": WORD, "--bits": BITS, "--output-type": WORD,
             "--value-bytes": NUMBER_FROM_1, "--exclusive-from": ["", " ", "x"],
             "--op": WORD, "--order": WORD, "--lists": WORD,
             "--repeats": WORD + ["-1"], "--load": WHOLE + ["101"], "--rows": WHOLE, "--columns": WHOLE,
             "--offset-type": WORD, "--sums": WORD, "--nodes": WHOLE, "--components": NUMBER_FROM_1 + ["9"],
             "--function": WORD, "--iterations": NUMBER_FROM_1, "--result-type": WORD, "--start": WORD,
             "--segment-entries": NUMBER_FROM_1, "--like": WORD + ["machine"], **CONTEXT, **MEMORY, **VARIANT},
    "machine": {"--save": FILE, "--seconds": NUMBER_FROM_1 + ["3601"], **CONTEXT},
    "demo": {"--size": WORD, "--report": FILE, "--profiles": FILE, **CONTEXT, **MEMORY},
    "version": {},
}

# Options that exclude each other, or need another that is not there.
PAIRS = {
    "scatter": [{"--table": "5", "--into": "in"}],
    "reduce": [{"--table": "5", "--into": "in"}, {"--quiet": None, "--verbose": None}],
    "spmm": [{"--beta": "nan", "--y": "in"}, {"--quiet": None, "--verbose": None}],
    "split": [{"--row-offsets": "in", "--unstable": None}, {"--bits": "0:1", "--keys": "in", "--categories": "5"},
              {"--key": "0:1", "--categories": "5"},
              {"--unstable": None, "--index": "gather"}],
    "multi-split": [{"-o": "same.npy", "--sources": "same.npy"}, {"--sources": "same.npy", "--offsets": "same.npy"}],
    "sort": [{"--check": None, "--memory": "1M"}, {"--check": None, "--verify": None}, {"--check": None, "-o": "out"}],
    "search": [{"--payload": "in", "--matches": "first"}],
    "machine": [{"--seconds": "5"}],
}

# What a subcommand cannot do without.
NEEDED = {"gather": ["-o"], "scatter": ["-o"], "reduce": ["-o"], "spmm": ["-o"], "split": ["-o"],
          "multi-split": ["--row-offsets", "--keys", "--categories"],
          "sort": ["-o"], "search": ["-o"], "rank": ["-o"], "scan": ["-o"], "spmv": ["-o"], "solve": ["-o"]}


def needed(trial):
    """The options of a trial that it cannot do without."""
    names = NEEDED.get(trial.subcommand, []) if "--check" not in trial.options else []
    return [name for name in names if name in trial.options]


def spoil(case, trial):
    """Makes the command line wrong."""
    way = case.pick(["value"] * 6 + ["pair", "unknown", "missing", "more", "less", "empty name"])
    options = OPTIONS[trial.subcommand]
    if way == "value" and options:
        name = case.pick(list(options))
        if name == "--variant":  # is looked for once there is memory for the result
            trial.options.pop("--memory", None)
        # An empty value is what a shell makes of a variable that is not set.
        trial.options[name] = "" if case.chance(0.4) else case.pick(options[name])
    elif way == "pair" and trial.subcommand in PAIRS:
        trial.options.update(case.pick(PAIRS[trial.subcommand]))
    elif way == "missing" and needed(trial):
        del trial.options[case.pick(needed(trial))]
    elif way == "more":
        trial.operands += ["one", "two", "three", "four"]
    elif way == "less" and trial.operands and trial.subcommand != "split":
        trial.operands = []
    elif way == "empty name" and trial.operands:
        trial.operands[case.random.randrange(len(trial.operands))] = ""
    else:
        trial.options[case.pick(["--nonsense", "-z", "--jsom"])] = case.pick([None, "5"])
