"""Meshes, their edges and median duals, and files of SU2's format."""

import gzip

# Number of a type of elements in SU2's files -> its nodes, and its edges as pairs of their places.
TRIANGLE, QUADRILATERAL, TETRAHEDRON, HEXAHEDRON = 5, 9, 10, 12
EDGES = {
    TRIANGLE: [(0, 1), (1, 2), (2, 0)],
    QUADRILATERAL: [(0, 1), (1, 2), (2, 3), (3, 0)],
    TETRAHEDRON: [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    HEXAHEDRON: [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)],
}
# Each of the six tetrahedra of a cube goes along three of its edges from one corner to the opposite one.
PATHS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


class Mesh:
    def __init__(self, dimension, points, elements, markers):
        self.dimension = dimension
        self.points = points
        self.elements = elements  # (type, nodes)
        self.markers = markers  # name -> boundary edges (2-D)
        self.zones = [self]

    def edges(self):
        """Each edge once, in ascending order."""
        found = set()
        for kind, nodes in self.elements:
            for a, b in EDGES[kind]:
                found.add((min(nodes[a], nodes[b]), max(nodes[a], nodes[b])))
        return sorted(found)

    def volumes(self):
        """Of the cell around each node: a quarter of a tetrahedron, an eighth of a box, and in the plane the
        quadrilateral between a node, the middles of its two edges and the element's centre."""
        cells = [0.0] * len(self.points)
        for kind, nodes in self.elements:
            corners = [self.points[n] for n in nodes]
            if self.dimension == 3:
                share = tetrahedron_volume(corners) / 4 if kind == TETRAHEDRON else box_volume(corners) / 8
                for node in nodes:
                    cells[node] += abs(share)
                continue
            centre = middle(corners)
            for i, node in enumerate(nodes):
                before, after = corners[i - 1], corners[(i + 1) % len(corners)]
                outline = [corners[i], middle([corners[i], after]), centre, middle([before, corners[i]])]
                cells[node] += abs(area(outline))
        return cells

    def normals_in_plane(self):
        """Of the dual face of each edge, from its lower node to its higher one."""
        sums = {edge: [0.0, 0.0] for edge in self.edges()}
        for _, nodes in self.elements:
            corners = [self.points[n] for n in nodes]
            centre = middle(corners)
            for i, node in enumerate(nodes):
                following = nodes[(i + 1) % len(nodes)]
                low, high = min(node, following), max(node, following)
                halfway = middle([corners[i], corners[(i + 1) % len(corners)]])
                # The face goes from the edge's middle to the centre; its normal is that turned by a right angle.
                normal = [centre[1] - halfway[1], halfway[0] - centre[0]]
                along = [self.points[high][axis] - self.points[low][axis] for axis in (0, 1)]
                sign = 1 if normal[0] * along[0] + normal[1] * along[1] > 0 else -1
                for axis in (0, 1):
                    sums[low, high][axis] += sign * normal[axis]
        return [sums[edge] for edge in self.edges()]


def middle(points):
    return [sum(p[axis] for p in points) / len(points) for axis in range(len(points[0]))]


def area(outline):
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(outline, outline[1:] + outline[:1])) / 2


def determinant(a, b, c):
    return (a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]))


def differences(corners, places):
    return [[corners[p][axis] - corners[0][axis] for axis in range(3)] for p in places]


def tetrahedron_volume(corners):
    return determinant(*differences(corners, (1, 2, 3))) / 6


def box_volume(corners):
    return determinant(*differences(corners, (1, 3, 4)))


def draw_mesh(case):
    """A mesh of one zone, or of several, whose nodes follow each other."""
    mesh = draw_grid(case, case.pick([2, 2, 3]))
    if case.chance(0.06):
        mesh.zones = [mesh] + [draw_grid(case, mesh.dimension) for _ in range(case.pick([1, 2]))]
        return joined(mesh.zones)
    return mesh


def joined(zones):
    """The mesh that a file of several zones is."""
    points, elements = [], []
    for zone in zones:
        first = len(points)
        elements += [(kind, [first + node for node in nodes]) for kind, nodes in zone.elements]
        points += zone.points
    whole = Mesh(zones[0].dimension, points, elements, {})
    whole.zones = zones
    return whole


def draw_grid(case, dimension):
    """A grid of quadrilaterals or triangles whose nodes are moved a little, or one of boxes or tetrahedra."""
    extents = [case.random.randint(1, 9 if dimension == 2 else 4) for _ in range(dimension)]
    counts = [extent + 1 for extent in extents]

    def number(place):
        at = 0
        for axis in reversed(range(dimension)):
            at = at * counts[axis] + place[axis]
        return at

    places = [[]]
    for axis in range(dimension):
        places = [place + [i] for place in places for i in range(counts[axis])]
    places.sort(key=number)
    kind = case.pick([TRIANGLE, QUADRILATERAL] if dimension == 2 else [TETRAHEDRON, HEXAHEDRON])
    is_bent = kind != HEXAHEDRON  # boxes stay boxes, whose volume everybody knows
    scale = 10.0 ** case.pick([0, 0, -3, 3])
    shift = [case.random.uniform(-2, 2) for _ in range(dimension)]
    points = [[scale * (p + s + (case.random.uniform(-0.2, 0.2) if is_bent else 0)) for p, s in zip(place, shift)]
              for place in places]
    elements = []
    for corner in [p for p in places if all(p[axis] < extents[axis] for axis in range(dimension))]:
        elements += cut(case, kind, corner, number)
    if case.chance(0.3):
        case.random.shuffle(elements)
    elements = [(kind, turned(case, kind, nodes)) for nodes in elements]
    if case.chance(0.2):  # a node of no element
        points.append([scale * 17.0] * dimension)
    markers = {}
    if dimension == 2 and case.chance(0.7):
        bottom = [(number([i, 0]), number([i + 1, 0])) for i in range(extents[0])]
        markers = {"lower": bottom, "left": [(number([0, i + 1]), number([0, i])) for i in range(extents[1])]}
    return Mesh(dimension, points, elements, markers)


def cut(case, kind, corner, number):
    """The elements of one cell of the grid."""
    def at(*steps):
        return number([c + s for c, s in zip(corner, steps)])
    if kind == QUADRILATERAL:
        return [[at(0, 0), at(1, 0), at(1, 1), at(0, 1)]]
    if kind == TRIANGLE:
        if case.chance(0.5):
            return [[at(0, 0), at(1, 0), at(1, 1)], [at(0, 0), at(1, 1), at(0, 1)]]
        return [[at(0, 0), at(1, 0), at(0, 1)], [at(1, 0), at(1, 1), at(0, 1)]]
    if kind == HEXAHEDRON:
        return [[at(0, 0, 0), at(1, 0, 0), at(1, 1, 0), at(0, 1, 0), at(0, 0, 1), at(1, 0, 1), at(1, 1, 1), at(0, 1, 1)]]
    elements = []
    for path in PATHS:
        steps = [0, 0, 0]
        nodes = [at(*steps)]
        for axis in path:
            steps[axis] = 1
            nodes.append(at(*steps))
        elements.append(nodes)
    return elements


def turned(case, kind, nodes):
    """An element may begin at any node of its cycle, and go the other way around: it then counts as its mirror image."""
    if kind in (TRIANGLE, QUADRILATERAL):
        first = case.random.randrange(len(nodes))
        nodes = nodes[first:] + nodes[:first]
        return nodes[::-1] if case.chance(0.05) else nodes
    if kind == TETRAHEDRON and case.chance(0.3):
        return [nodes[1], nodes[0], nodes[2], nodes[3]]
    return nodes


def write_mesh(case, mesh):
    """Writes an SU2 file in one of the forms that SU2 reads. @returns its name"""
    lines = [f"NZONE= {len(mesh.zones)}"] if len(mesh.zones) > 1 else []
    for i, zone in enumerate(mesh.zones):
        lines += ([f"IZONE= {i + 1}"] if len(mesh.zones) > 1 else []) + zone_lines(case, zone)
    if case.chance(0.3):
        lines.insert(case.random.randrange(len(lines)), "% a comment")
    text = case.pick(["\n", "\n", "\r\n"]).join(lines) + "\n"
    is_packed = case.chance(0.2)
    content = gzip.compress(text.encode(), mtime=0) if is_packed else text.encode()
    return case.put(case.name("mesh", ".su2.gz" if is_packed else ".su2"), content)


def zone_lines(case, mesh):
    """The lines of one zone."""
    numbered = case.chance(0.7)
    third = mesh.dimension == 2 and case.chance(0.1)
    points = ["NPOIN= {}{}".format(len(mesh.points), case.pick(["", f" {len(mesh.points)}"]))]
    for i, point in enumerate(mesh.points):
        words = [repr(c) for c in point] + (["0.0"] if third else []) + ([str(i)] if numbered or third else [])
        points.append(case.pick([" ", "\t", "  "]).join(words))
    elements = [f"NELEM= {len(mesh.elements)}"]
    for i, (kind, nodes) in enumerate(mesh.elements):
        elements.append(" ".join(map(str, [kind, *nodes] + ([i] if numbered else []))))
    markers = [f"NMARK= {len(mesh.markers)}"]
    for name, ends in mesh.markers.items():
        tag = case.pick(["MARKER_TAG= ", "MARKER_TAG=", "MARKER_TAG = "]) + name
        if case.chance(0.04):
            tag = case.pick([f"MARKERTAG= {name}", f"MARKER_TAG= {name} wall"])
        markers += [tag, f"MARKER_ELEMS= {len(ends)}"] + [f"3 {a} {b}" for a, b in ends]
    parts = [elements, points, markers]
    if case.chance(0.3):
        case.random.shuffle(parts)
    if case.chance(0.05):
        parts.append(["FFD_NBOX= 1", "FFD_TAG= BOX", "FFD_SURFACE_POINTS= 1", "lower 0 0.1 0.2 0.0"])
    return [f"NDIME= {mesh.dimension}"] + [line for part in parts for line in part]
