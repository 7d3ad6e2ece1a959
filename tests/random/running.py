"""Runs a trial in a folder of its own, and compares all that came of it with what must."""

import json
import os
import shutil
import signal
import subprocess

CODES = {2: {"usage", "bad_argument", "no_variant"}, 3: {"bad_input", "bad_index"}, 4: {"verification_failed"},
         5: {"out_of_memory", "io_failure"}, 6: {"backend_unavailable"}, 7: {"not_converged"}, 8: {"measurement_failed"}}
REPORTS_OF_SANITIZERS = ["AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "MemorySanitizer"]
# Exit codes with which a command prints what it found all the same, without --json too.
PRINTS_AT = {0, 4, 7}


class Outcome:
    """What a command left behind."""

    def __init__(self, exit_code, out, err, after):
        self.exit_code, self.out, self.err = exit_code, out, err
        self.after = after  # path -> content, None for a folder and other things that are no files


def put_files(files, folder):
    for name, content in files.items():
        path = os.path.join(folder, name)
        if content == "missing":
            continue
        if content == "folder":
            os.makedirs(path)
        else:
            with open(path, "wb") as file:
                file.write(content)


def look_into(folder):
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(place, name), folder)] = "folder"
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def run(machine, words, trial, folder, limit_s):
    """@returns the outcome; its exit code is None where the command was still running when its time was over"""
    env = machine.environment(os.path.join(folder, "cache"))
    env.update(trial.environment)
    content = None if trial.piped_input is None else trial.piped_input[1]
    with subprocess.Popen([machine.sheaf, *words], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL if content is None else subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, err = communicate(process, trial.killed_by, limit_s, content)
            exit_code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            exit_code = None
    after = look_into(folder)
    if trial.piped_output is not None:  # what is printed makes room for it
        if exit_code == 0:
            after[os.path.normpath(trial.piped_output)] = out
        elif out:
            after["standard output"] = out
        out, err = (err, b"") if exit_code == 0 else (b"", err)
    return Outcome(exit_code, out, err.decode("utf-8", "replace"), after)


def communicate(process, killed_by, limit_s, content):
    if killed_by:
        number, delay_s = killed_by
        try:
            return process.communicate(timeout=delay_s)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    return process.communicate(content, timeout=limit_s)


def mistakes(trial, files, outcome, limit_s):
    """All that is wrong, in words."""
    code = outcome.exit_code
    if code is None:
        return [f"still running after {limit_s:g} s"]
    found = [f"a sanitizer says: {line}" for line in outcome.err.splitlines()
             if any(words in line for words in REPORTS_OF_SANITIZERS)][:3]
    if trial.killed_by and code == -trial.killed_by[0]:
        return found + files_mistakes(trial, files, outcome, code)
    if code < 0:
        return found + [f"ended by {signal.Signals(-code).name}"]
    if code not in trial.exits:
        wanted = " or ".join(map(str, sorted(trial.exits)))
        return found + [f"exit code {code}, not {wanted}"] + files_mistakes(trial, files, outcome, code)
    found += files_mistakes(trial, files, outcome, code)
    found += said_mistakes(trial, outcome, code)
    return found


def files_mistakes(trial, files, outcome, code):
    """Of what lies in the folder: inputs as they were, outputs whole and right or not there at all."""
    found = []
    writes = code in trial.writes_at and code in trial.exits
    # What was killed may have been done already: its outputs are whole then.
    is_killed = trial.killed_by and code < 0
    before = {os.path.normpath(name): content for name, content in files.items() if content != "missing"}
    outputs = {os.path.normpath(name): look for name, look in trial.outputs.items()
               if writes or (is_killed and outcome.after.get(os.path.normpath(name)) != files.get(os.path.normpath(name)))}
    for name, content in before.items():
        if name not in outputs and outcome.after.get(name) != content:
            found.append(f"{name} is no longer what it was")
    for name in outcome.after:
        is_temporary = os.path.basename(name).startswith(".sheaf-")
        if name not in before and name not in outputs and (is_temporary or not (writes and trial.writes_any)):
            found.append(f"{name} is left behind")
    for name, look in outputs.items():
        content = outcome.after.get(name)
        if content is None or content == "folder":
            found.append(f"{name} is missing")
            continue
        mistake = look(content)
        if mistake:
            found.append(f"{name}: {mistake}")
    return found


def no_constant(text):
    raise ValueError(f"{text} is no number of JSON's")


def said_mistakes(trial, outcome, code):
    """Of what was printed: one document with --json, nothing with --quiet, words on stderr for failures alone."""
    found = []
    document = None
    says_more = "--quiet" not in trial.options
    if "--json" in trial.options and (says_more or code != 0):
        try:
            document = json.loads(outcome.out.decode(), parse_constant=no_constant)
        except ValueError as e:
            return [f"stdout is not one JSON document: {e}"]
        if document.get("schema_version") != 1:
            found.append(f"schema_version is {document.get('schema_version')}")
    elif outcome.out and (code not in PRINTS_AT or not says_more):
        found.append(f"stdout is {outcome.out[:80]!r}")
    elif not outcome.out and code == 0 and says_more:
        found.append("nothing was printed")
    if code == 0:
        if outcome.err and trial.is_silent:
            found.append(f"stderr is {outcome.err[:200]!r}")
    else:
        found += failure_mistakes(trial, outcome, code, document)
    if code in trial.writes_at | {4} and document is not None:
        found += report_mistakes(trial, document, code)
    if not found and trial.judge and code in trial.writes_at:
        mistake = trial.judge(code, document, outcome.after)
        found += [mistake] if mistake else []
    return found


def failure_mistakes(trial, outcome, code, document):
    found = []
    if not outcome.err.startswith(f"sheaf {trial.subcommand}: ") or not outcome.err.endswith("\n"):
        found.append(f"stderr is {outcome.err[:200]!r}")
    for words in trial.named if len(trial.exits) == 1 else []:
        if words not in outcome.err:
            found.append(f"the message does not say '{words}': {outcome.err[:300]!r}")
    if document is not None:
        error = document.get("error", {})
        if error.get("code") not in CODES.get(code, set()):
            found.append(f"exit code {code} with the error '{error.get('code')}'")
        if not error.get("message") or error["message"] not in outcome.err:
            found.append(f"the document's message is {error.get('message')!r}, stderr has {outcome.err[:200]!r}")
    return found


def report_mistakes(trial, document, code):
    found = []
    if code == 0 and "error" in document:
        found.append("a document of success with an error")
    if "verified" in document and document["verified"] != ("--verify" in trial.options):
        found.append(f"verified is {document['verified']}")
    threads = trial.options.get("--threads")
    if threads and document.get("threads", threads) != threads:
        found.append(f"threads are {document['threads']}, not {threads}")
    if trial.report and (code == 0 or code == 4):
        mistake = trial.report(document)
        found += [mistake] if mistake else []
    return found


def prepared_folder(parent, number, files):
    folder = os.path.join(parent, f"case-{number}")
    os.mkdir(folder)
    put_files(files, folder)
    return folder


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
