"""plan, machine, demo and version: commands that say something of this machine."""

import json
import math

from trial import Trial

PATTERNS = ["unknown", "sequential", "random", "partitioned:8", "clustered:64", "strided:16", "skewed", "repeated:4"]
INDEX_TYPES = ["u32", "u64", "i32", "i64"]
FLOATS = ["f32", "f64"]
VALUES = ["i32", "u32", "i64", "u64", "f32", "f64"]
ROW_VALUES = VALUES + ["i8", "u8", "i16", "u16", "f16", "bf16"]
REDUCTIONS = ["add", "min", "max", "subtract", "multiply", "mean", "count"]
ORDERS = ["deterministic", "unordered"]


def size(case):
    return int(2 ** (case.random.random() * 34)) if case.chance(0.9) else case.pick([0, 1, 2**31, 2**32, 2**40])


# For each primitive: options that it must have, and those that it may have. None is a flag.
def fields(case):
    width = case.pick([1, 2, 4, 8, 12, 16, 32])
    index = {"--index-type": case.pick(INDEX_TYPES), "--pattern": case.pick(PATTERNS)}
    key = f"{case.random.randint(0, width - 1)}:1" + case.pick(["", ":u", ":i", ":bytes", ":u:desc"])
    table = {"--table": size(case), "--key-bytes": case.pick([4, 8]), "--repeats": case.pick([1, 7, "zipf"])}
    bits = {"--bits": f"{case.random.randint(0, 7)}:{case.random.randint(1, 8)}", "--from-left": None}
    return {
        "gather": ({"--count": size(case), "--table": size(case), "--record-bytes": width}, index),
        "scatter": ({"--count": size(case), "--table": size(case), "--record-bytes": width},
                    {**index, "--duplicates": case.pick(["any", "last"])}),
        "split": ({"--count": size(case), "--record-bytes": width * 4}, bits),
        "split_unstable": ({"--count": size(case), "--record-bytes": width}, {"--categories": case.random.randint(1, 1 << 16)}),
        "split_gather_index": ({"--count": size(case), "--key-bytes": 4}, {**bits, "--output-type": "u64"}),
        "split_scatter_index": ({"--count": size(case), "--key-bytes": 8}, {**bits, "--output-type": "u64"}),
        "multi_split": ({"--count": size(case), "--records": size(case), "--record-bytes": width,
                         "--categories": case.random.randint(1, 1 << 20)}, {}),
        "sort_keys": ({"--count": size(case), "--record-bytes": width}, {"--key": key}),
        "sort_pairs": ({"--count": size(case), "--key-bytes": width, "--value-bytes": case.pick([[4, 8], [16]])}, {}),
        "sort_records": ({"--count": size(case), "--record-bytes": width}, {"--key": [key, "0:1"]}),
        "sort_gather_index": ({"--count": size(case), "--record-bytes": width}, {"--key": key, "--output-type": "u64"}),
        "build_hash_index": ({"--count": size(case)}, {"--load": case.random.randint(20, 90)}),
        "hash_search": ({"--count": size(case)}, table),
        "hash_count": ({"--count": size(case)}, table),
        "hash_contains": ({"--count": size(case)}, table),
        "hash_find": ({"--count": size(case)}, table),
        "scatter_reduce": ({"--count": size(case), "--table": size(case)},
                           {**index, "--value-type": case.pick(VALUES), "--op": case.pick(["add", "min", "max", "subtract"])}),
        "scatter_reduce_rows": ({"--count": size(case), "--table": size(case), "--record-bytes": width * 8},
                                {**index, "--value-type": case.pick(ROW_VALUES), "--op": case.pick(REDUCTIONS),
                                 "--order": case.pick(ORDERS), "--start": case.pick(["out", "identity"]),
                                 "--result-type": case.pick(ROW_VALUES)}),
        "gather_reduce": ({"--count": size(case), "--table": size(case), "--record-bytes": width * 8},
                          {**index, "--value-type": case.pick(ROW_VALUES), "--op": case.pick(REDUCTIONS),
                           "--segment-entries": case.pick([1, 7, 1000]), "--weighted": None}),
        "spmm": ({"--count": size(case), "--record-bytes": width * 8},
                 {"--rows": size(case), "--columns": size(case), "--value-type": case.pick(FLOATS),
                  "--order": case.pick(ORDERS), "--transposed": None}),
        "list_rank": ({"--count": size(case)}, {"--lists": case.pick(["one", "many"]), "--pattern": "random"}),
        "list_scan": ({"--count": size(case)}, {"--value-type": case.pick(VALUES), "--op": case.pick(["add", "min", "mul"]),
                                                "--exclusive-from": case.pick(["0", "1.5", "-7"])}),
        "spmv": ({"--count": size(case)}, {"--rows": size(case), "--value-type": case.pick(FLOATS),
                                           "--order": case.pick(ORDERS), "--transposed": None}),
        "conjugate_gradient": ({"--count": size(case)}, {"--rows": size(case), "--value-type": case.pick(FLOATS),
                                                         "--iterations": case.random.randint(1, 500), "--jacobi": None}),
        "edge_sum": ({"--count": size(case)}, {"--nodes": size(case), "--components": case.random.randint(1, 8),
                                               "--value-type": case.pick(FLOATS), "--weighted": None}),
    }


def plan(case):
    """The choice is the cheapest variant, whose terms are its seconds."""
    all_fields = fields(case)
    primitive = case.pick(list(all_fields))
    required, others = all_fields[primitive]
    trial = Trial("plan", [primitive], required)
    trial.options.update({name: value for name, value in others.items() if case.chance(0.4)})
    case.add_context(trial, ("cpu", "reference", "auto", "opengl", "cuda"), verify=False)
    if trial.exits != {6}:
        trial.exits = {0, 2}  # sizes that the types cannot number are refused
    trial.options["--json"] = None
    trial.report = plan_mistake
    return trial


def plan_mistake(document):
    chosen = [v["variant"] for v in document["variants"] if v["chosen"]]
    if chosen != ([document["choice"]] if document["choice"] else []):
        return f"the choice is {document['choice']}, and chosen are {chosen}"
    best = next((v for v in document["variants"] if v["chosen"]), None)
    for v in document["variants"]:
        if not v["applicable"]:
            if not v["reason"]:
                return f"{v['variant']} is not applicable for no reason"
            continue
        total = math.fsum(term["seconds"] for term in v["terms"])
        if not math.isfinite(v["predicted_seconds"]) or v["predicted_seconds"] < 0 or abs(total - v["predicted_seconds"]) > 1e-6 * v["predicted_seconds"] + 1e-15:
            return f"{v['variant']} takes {v['predicted_seconds']} s, and its terms add up to {total} s"
        if best and v["predicted_seconds"] < best["predicted_seconds"] * (1 - 1e-12) and not v["reason"]:
            return f"{v['variant']} is cheaper than {best['variant']}, and nothing says why it is not taken"
    return None


PLANNED = {"gather", "scatter", "reduce", "split", "multi-split", "sort", "search", "rank", "scan", "spmv", "spmm", "solve",
           "edges", "npb-cg"}


class Planned(Trial):
    """`sheaf plan --like` with the arguments of a trial, at times without its output."""

    def words(self, rng):
        words = super().words(rng)
        at = rng.choice([0, 1]) if words[1:2] == ["--json"] else 0  # in front of --like, or behind
        return ["plan", *words[1:1 + at], "--like", words[0], *words[1 + at:]]


def may_be_planned(trial):
    return trial.subcommand in PLANNED and not trial.killed_by and "--check" not in trial.options


def planned(trial):
    """Nothing is written, and what is wrong with numbers that a plan does not read is not found."""
    like = Planned(trial.subcommand, trial.operands, trial.options)
    like.options.pop("--verbose", None)
    if "--quiet" not in like.options:
        like.options["--json"] = None
    like.environment = trial.environment
    like.exits = trial.exits if trial.exits == {6} else trial.exits | {0}
    like.named = trial.named if trial.exits == {6} else []
    like.is_silent = trial.is_silent
    like.report = like_mistake
    return like


def like_mistake(document):
    if document["command"] != "plan" or document["like"] not in PLANNED:
        return f"command is {document['command']}, like is {document['like']}"
    for call in [document, *document["other_calls"]]:
        if mistake := plan_mistake(call):
            return mistake
    return None


def version(case):
    trial = Trial("version")

    def report(document):
        missing = [name for name in ("reference", "cpu") if name not in document["backends"]]
        return f"backends are {document['backends']}" if missing else None
    trial.report = report
    return trial


def machine(case):
    """Shows a profile, and writes it in a form that can be read again."""
    trial = Trial("machine")
    case.add_context(trial, ("cpu", "auto", "opengl", "cuda"), memory=False, verify=False)

    def report(document):
        names = [m["backend"] for m in document["machines"]]
        if trial.options.get("--backend", "auto") != "auto" and names != [trial.options["--backend"]]:
            return f"machines are {names}"
        return None if sum(m["used"] for m in document["machines"]) == 1 else "not one of the machines is used"
    trial.report = report
    if case.chance(0.5):
        trial.options["--save"] = "profile.json"
        trial.outputs["profile.json"] = profile_mistake
    return trial


def profile_mistake(content):
    try:
        profile = json.loads(content)
    except ValueError as e:
        return f"no JSON: {e}"
    return None if profile.get("schema_version") else "the profile has no schema_version"


def calibrate(case):
    """Measures nothing where what is measured has nowhere to go, and leaves what is stored alone."""
    trial = Trial("machine", options={"--calibrate": None, "--backend": "cpu", "--seconds": 1})
    trial.options["--save"] = case.pick(["", "missing/profile.json", "folder"])
    if trial.options["--save"] == "folder":
        case.files["folder"] = "folder"
    trial.fail_with(5 if trial.options["--save"] == "missing/profile.json" else 2)
    return trial


def demo(case):
    """Runs all samples, or none where the page has nowhere to go."""
    trial = Trial("demo", options={"--size": "small", "--backend": case.pick(["cpu", "reference"])})
    trial.options["--report"] = page = case.pick(["", "missing/page.html", "page.html"])
    if page != "page.html":
        trial.fail_with(2 if page == "" else 5)
        return trial
    trial.outputs[page] = lambda content: None if b"</html>" in content else "the page does not end"

    def report(document):
        wrong = [row["problem"] for b in document["backends"] for row in b["rows"] if row["mistakes"]]
        return f"wrong answers of {wrong}" if wrong else None
    trial.report = report
    return trial


def profile(case):
    """SHEAF_PROFILE with what is no profile."""
    trial = Trial("plan", ["gather"], {"--count": 10, "--table": 10, "--record-bytes": 4, "--backend": "cpu"})
    content = case.pick([b"", b"{", b"[]", b"{}", b'{"schema_version": 1}', b"\xff\xfe", b"[" * 5000, b"9" * 5000])
    case.put("profile.json", content)
    trial.environment["SHEAF_PROFILE"] = case.pick(["profile.json", "profile.json", "missing.json", "."])
    trial.fail_with(3, trial.environment["SHEAF_PROFILE"])
    return trial


FAMILY = {plan: 3, version: 0.2, machine: 0.5, calibrate: 0.2, demo: 0.1, profile: 0.3}
