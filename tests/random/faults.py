"""Spoils commands that would do their work: a file is damaged, the command line is wrong, or the result has nowhere to
go. What must come of it is known for all but some damage."""

import os

import usage
from damage import CERTAIN, draw_damage

# Subcommands whose results show in their exit code.
EXITS_OF_ANY_INPUT = {"sort": {4}, "solve": {7}}


def spoil(case, trial):
    """Makes one in five commands fail."""
    if trial.exits - {5} != {0} or trial.killed_by or trial.environment.get("SHEAF_VARIANT") or not case.chance(0.25):
        return
    way = case.pick([damage_input, damage_input, wrong_usage, wrong_usage, no_place])
    way(case, trial)


def used_files(case, trial):
    """Names of inputs that the command reads, as they are in the case's files."""
    words = [str(word) for word in trial.operands + list(trial.options.values())]
    if trial.options.get("--beta", "0.0") == "0.0" and "--y" in trial.options:
        words.remove(trial.options["--y"])  # not read without beta
    if trial.subcommand == "reduce" and not {"--table", "--into"} & set(trial.options):
        words.remove(trial.operands[1])  # what its damage makes of it may name more rows than a disk holds
    paths = [os.path.normpath(word.split(".npz:")[0] + ".npz" if ".npz:" in word else word) for word in words]
    return [path for path in paths if path in case.files]


def damage_input(case, trial):
    names = used_files(case, trial)
    if not names:
        return
    name = case.pick(names)
    content, verdict = draw_damage(case, name, case.files[name])
    if content == case.files[name]:
        return
    case.files[name] = content
    if trial.subcommand != "sort":
        trial.options.pop("--memory", None)
    trial.outputs_of_damage()
    if verdict == CERTAIN:
        trial.fail_with(3, name)
    else:
        trial.exits = {0, 2, 3} | EXITS_OF_ANY_INPUT.get(trial.subcommand, set())


def wrong_usage(case, trial):
    usage.spoil(case, trial)
    trial.exits = {2}
    trial.outputs_of_damage()


def no_place(case, trial):
    """The result's folder is missing, its name is that of a folder or of an input, or too long."""
    if "-o" not in trial.options or trial.subcommand in ("search", "edges"):
        wrong_usage(case, trial)
        return
    way = case.pick(["missing folder", "folder", "input", "long", "not a folder"])
    inputs = used_files(case, trial)
    trial.outputs_of_damage()
    exit_code = 5
    ending = os.path.splitext(trial.options["-o"])[1]
    if way == "missing folder":
        trial.options["-o"] = "missing/out" + ending
    elif way == "folder":
        exit_code = 2
        case.files["place"] = "folder"
        trial.options["-o"] = "place"
    elif way == "long":
        trial.options["-o"] = "n" * 300 + ending
    elif way == "not a folder" and inputs:
        trial.options["-o"] = f"{inputs[0]}/out{ending}"
    elif inputs:
        exit_code = 2
        trial.options["-o"] = case.pick([inputs[0], f"./{inputs[0]}"])
    else:
        wrong_usage(case, trial)
        return
    trial.exits = {exit_code}
