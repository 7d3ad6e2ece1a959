"""edges: sums over the edges of graphs and meshes, and median duals."""

import math

from arrays import draw_numbers_file, is_npy, moderate_floats, pack, put_floats, random_floats, rounded_to_f32, unpack
from meshes import draw_mesh, write_mesh
from movement import draw_index, spoil_index
from sparse import EPSILON, LARGEST, SMALLEST, as_read
from trial import Trial


class Sums:
    """What the sums of a graph may be in f32 or f64, whatever the order of their terms."""

    def __init__(self, nodes, components, code):
        self.components, self.code = components, code
        self.terms = [[] for _ in range(nodes * components)]
        self.lost = [0.0] * (nodes * components)

    def take(self, edge, values, weight, function):
        i, j = (end * self.components for end in edge)
        difference = [values[j + k] - values[i + k] for k in range(self.components)]
        factor, lost = weight, 4 * SMALLEST[self.code] * (1 + abs(weight))
        if function == "inverse_square":
            square = math.fsum(d * d for d in difference)
            factor = weight / square / math.sqrt(square) if square else 0.0
            lost *= 1 + 1 / square + abs(factor) if square else 0
        for k, d in enumerate(difference):
            for at, term in ((i + k, factor * d), (j + k, -(factor * d))):
                self.terms[at].append(term)
                self.lost[at] += lost if math.isfinite(lost) else 0.0

    def look(self, data):
        found = unpack(self.code, data)
        if len(found) != len(self.terms):
            return f"{len(found)} numbers, not {len(self.terms)}"
        for at, number in enumerate(found):
            mistake = self.mistake(at, number)
            if mistake:
                return f"component {at % self.components} of node {at // self.components} {mistake}"
        return None

    def mistake(self, at, found):
        terms = self.terms[at]
        finite = [t for t in terms if math.isfinite(t)]
        magnitudes = sum(map(abs, finite))
        if magnitudes > LARGEST[self.code] / 4:
            return None
        odd = {repr(t) for t in terms if not math.isfinite(t)}
        if odd:
            wanted = float(odd.pop()) if len(odd) == 1 else math.nan
            is_right = found != found if wanted != wanted else found == wanted
            return None if is_right else f"is {found}, not {wanted}"
        wanted = math.fsum(finite)
        bound = (len(finite) + 12) * EPSILON[self.code] * magnitudes + self.lost[at]
        if all(t == int(t) for t in finite) and magnitudes < 2**24:
            bound = max(0.0, self.lost[at])
        return None if abs(found - wanted) <= bound else f"is {found!r}, not {wanted!r} within {bound:g}"


def draw_graph(case, trial):
    """Writes an array of edges. @returns (its name, the edges, how many nodes there are)"""
    nodes = max(1, case.count(800))
    count = case.count(2000)
    ends = [end for pair in zip(draw_index(case, count, nodes), draw_index(case, count, nodes)) for end in pair]
    is_wrong = ends and case.chance(0.08)
    if is_wrong:
        place, value = spoil_index(case, ends, nodes)
    name, _ = draw_numbers_file(case, "edges", ends, (count, 2), False, "i8" if is_wrong else None)
    if is_wrong:
        trial.fail_with(3, name, str(value))
    return name, list(zip(ends[::2], ends[1::2])), nodes


def draw_values(case, trial, nodes, components, function, narrow):
    """Writes VALUES. @returns the numbers that are summed"""
    code = case.pick(["f4", "f8"])
    count = nodes * components
    if function == "weighted_difference" and case.chance(0.15):
        values = unpack(code, random_floats(case.random, count, int(code[1])))
    else:
        values = moderate_floats(case.random, count, code)
    shape = case.pick([(nodes,), (nodes, 1)]) if components == 1 else (nodes, components)
    name = put_floats(case, "values", code, shape, values)
    trial.operands.append(name)
    return as_read(case, trial, name, values, narrow)


def edges(case):
    trial = Trial("edges")
    narrow = case.chance(0.4)
    is_mesh = case.chance(0.45)
    mesh = draw_mesh(case) if is_mesh else None
    if is_mesh:
        trial.operands = [write_mesh(case, mesh)]
        if len(mesh.zones) > 1 and case.chance(0.3):
            number = case.random.randrange(len(mesh.zones))
            trial.options["--zone"] = number + 1
            mesh = mesh.zones[number]
        all_edges, nodes = mesh.edges(), len(mesh.points)
    else:
        name, all_edges, nodes = draw_graph(case, trial)
        trial.operands = [name]
    case.add_context(trial, ("cpu", "reference", "auto", "cuda") + (("opengl",) if narrow else ()))
    function = case.pick(["inverse_square", "weighted_difference"])
    if function != "inverse_square" or case.chance(0.3):
        trial.options["--function"] = function
    if is_mesh and case.chance(0.6):
        components = mesh.dimension
        values = [c for point in mesh.points for c in point]
        values = [rounded_to_f32(v) for v in values] if narrow else values
    else:
        components = case.pick([1, 2, 3, 3, 4, 5, 8])
        values = draw_values(case, trial, nodes, components, function, narrow)
    weights = draw_weights(case, trial, len(all_edges), narrow)
    if narrow:
        trial.options["--value-type"] = "f32"
    trial.options["--runs"] = case.pick([1, 2, 5, 20])
    code = "f4" if narrow else "f8"
    wants_dual = is_mesh and case.chance(0.5)
    if not wants_dual or case.chance(0.7):
        trial.options["-o"] = out = case.name("sums", ".npy")
        if 0 in trial.exits:
            sums = Sums(nodes, components, code)
            for edge, weight in zip(all_edges, weights):
                sums.take(edge, values, weight, function)
            trial.outputs[out] = is_npy(f"'<{code}'", (nodes, components), check=sums.look)
    if wants_dual:
        look_at_dual(trial, mesh)

    def report(document):
        wanted = {"nodes": nodes, "edges": len(all_edges), "components": components}
        found = {name: document.get(name) for name in wanted}
        if found != wanted:
            return f"the report has {found}, not {wanted}"
        if wants_dual:
            return dual_mistake(document["dual"], mesh)
        return None
    trial.report = report
    return trial


def draw_weights(case, trial, count, narrow):
    if case.chance(0.6):
        return [1.0] * count
    code = case.pick(["f4", "f8"])
    weights = moderate_floats(case.random, count, code)
    trial.options["--weights"] = put_floats(case, "weights", code, (count,), weights)
    return as_read(case, trial, trial.options["--weights"], weights, narrow)


def is_near(wanted, code):
    """What looks at numbers that have small errors, all of them measured by the largest."""
    largest = max([1e-300] + [abs(w) for w in wanted])

    def look(data):
        for i, (found, right) in enumerate(zip(unpack(code, data), wanted)):
            if not abs(found - right) <= 1e-11 * largest:
                return f"number {i} is {found!r}, not {right!r}"
        return None if len(data) == len(wanted) * int(code[1]) else f"{len(data)} bytes for {len(wanted)} numbers"
    return look


def look_at_dual(trial, mesh):
    trial.options["--dual"] = "dual"
    if 0 not in trial.exits:
        return
    of_edges = mesh.edges()
    data = pack("u4", [end for edge in of_edges for end in edge])
    trial.outputs["dual.edges.npy"] = is_npy("'<u4'", (len(of_edges), 2), data, 4)
    trial.outputs["dual.volumes.npy"] = is_npy("'<f8'", (len(mesh.points),), check=is_near(mesh.volumes(), "f8"))
    shape = (len(of_edges), mesh.dimension)
    check = (lambda data: None) if mesh.dimension == 3 else \
        is_near([axis for normal in mesh.normals_in_plane() for axis in normal], "f8")
    trial.outputs["dual.normals.npy"] = is_npy("'<f8'", shape, check=check)


def dual_mistake(document, mesh):
    volume = math.fsum(mesh.volumes())
    if abs(document["volume"] - volume) > 1e-11 * volume:
        return f"the volume is said to be {document['volume']!r}, and is {volume!r}"
    if not document["closure_error"] < 1e-12:
        return f"the closure error is {document['closure_error']}"
    return None


FAMILY = {edges: 4}
