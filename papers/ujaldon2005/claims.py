"""What Ujaldon and Saltz 2005 claim, figure by figure: see script/paper_claims.py."""

from paper_claims import (
    Claim, Described, Paper, fastest, least, loading, mean, most, rows, runs_to_amortise)

# The paper's three matrices and three meshes, or what stands for them; BCSSTK16 is not the paper's.
MATRIX = r"(?P<input>BCSSTK(?:15|29|30)(?:, stand-in)?)"
MESH = r"(?P<input>\d+k mesh(?:, stand-in)?)"
ALL_THREADS = r"opengl|cuda|cpu, \d+ threads"
PIPELINE = ("opengl",)


def step(who):
    """A step of table 1 on the pipeline, alone: what it reads is on the device, and its answer stays there."""
    return rows("table1", who=f"{who}, draw alone", where="opengl")


def plain(table, of):
    return rows(table, of=of, who="plain loop", where="cpu, 1 thread")


def form(table, of, who):
    """A prepared form of the pipeline."""
    return rows(table, of=of, who=who, where="opengl", prepared=True)


def any_form(table, of):
    return fastest(rows(table, of=of, who=r"(?:opengl|cuda|cpu)\.\w+", where=ALL_THREADS))


def bits(texel, pixel, of):
    return rows("3", of=rf"{of}, {texel} bits a texel, {pixel} a pixel", who="points")


TEXTURE, POINTS = r"opengl\.texture", r"opengl\.points"
SOFTWARE = ("llvmpipe draws in software: a point goes through the whole pipeline on two CPU cores, which do the same "
            "product or sum directly in far fewer instructions.")
FEW_POINTS = ("Points of one pixel are the slowest that today's pipelines draw: {0}, while CPUs have become some ten "
              "times as fast as those of 2005.")
CPU_SMALL = ("These inputs lie in a core's caches, and a call takes so short that starting and joining threads takes "
             "as long.")
TWO_CORES = "Preparation and drawing share two cores, which one of them already fills."

CLAIMS = [
    Described("1", "A drawing of the compressed rows and of the geometry of a product."),
    Described("2", "A drawing of the data and of the accesses of the Euler kernel."),
    Claim("table1", "A lookup by the color table takes 0.01 ms where one by textures takes 0.65 ms.", "65x",
          "textures over color table, drawing alone", least(step("texture") / step("color table")), at_least=65,
          less=1.02, on=PIPELINE,
          why={"llvmpipe": "A table of constants and a texture are both arrays in the host's caches.",
               "opengl": "Today's hardware has no color table; a block of constants stands for it, whose lookups take "
                         "as long as a texture's."}),
    Claim("table1", "Vertex indices are the slowest scheme: 2.40 ms, where textures take 0.65 ms.", "3.7x",
          "vertex indices over textures, drawing alone", least(step("vertex index") / step("texture")), at_least=3.7,
          less=1.05, on=PIPELINE,
          why={"opengl": "Vertices pass through caches and shaders that are the same as those of texture lookups.",
               "llvmpipe": "Vertices pass through the same shaders as lookups."}),
    Claim("table1", "A lookup of all of BCSSTK15 by textures takes 0.65 ms.", "0.65 ms",
          "textures, whole x, drawing alone", most(step("texture, whole x")), unit="ms", at_most=0.65e-3, less=2.6e-3,
          on=PIPELINE, why={"llvmpipe": SOFTWARE, "opengl": FEW_POINTS.format("the driver draws them on few of its "
                                                                              "multiprocessors")}),
    Claim("table1", "A lookup by vertex indices takes 2.40 ms.", "2.40 ms", "vertex indices, whole x, drawing alone",
          most(step("vertex index, whole x")), unit="ms", at_most=2.4e-3, less=9.6e-3, on=PIPELINE,
          why={"llvmpipe": SOFTWARE, "opengl": FEW_POINTS.format("and a geometry stage stands before them")}),
    Claim("table1", "Up to four nested indirections are solved in one pass.", "4 deep",
          "four deep by textures over one, drawing alone", most(step("4 deep, textures") / step("texture")), at_most=4,
          less=8, on=PIPELINE, why={"opengl": "Each of the four lookups waits for the one before.",
                                    "llvmpipe": "Each of the four lookups is computed in software."}),
    Claim("table1", "A texture of two dimensions is slightly faster than those of one or three.", "slightly",
          "one dimension over two", least(rows("table1", who="1 dimension", where="opengl") /
                                           rows("table1", who="2 dimensions", where="opengl")), at_least=1.02,
          less=0.98, on=PIPELINE, why={"opengl": "Textures of all dimensions are arrays behind the same caches today.",
                            "llvmpipe": "In software a second dimension costs a multiplication more."}),
    Claim("table1", "Overlapping communication with computation, beside a faster bus, cuts the I/O overhead by 40 % to "
                    "almost a half.", "40 to 50 %", "time saved by loading one half while the other is drawn, the mean",
          mean((rows("table1", who="loading, then drawing") - rows("table1", who="loading while drawing")) /
               rows("table1", who="loading, then drawing")), unit="%", at_least=0.4, less=0.03, on=("opengl", "cuda"),
          why={"llvmpipe": TWO_CORES,
               "opengl": "Preparation on the CPU takes most of the time, and drawing the rest, of which alone "
                         "overlapping can save.",
               "cuda": "Preparation takes most of the time, and one run next to none, of which alone overlapping can "
                       "save."}),
    Claim("table1", "The GPU is a co-processor that reduces the CPU's workload.", "no number in the text",
          "all of the work on the CPU over the best share of it, the most",
          most(rows("table1", who="100 % on the CPU") / fastest(rows("table1", who=r"(?:25|50|75) % on the CPU"))),
          at_least=1.05, less=1.0, on=("opengl", "cuda"),
          why={"llvmpipe": SOFTWARE,
               "opengl": FEW_POINTS.format("the CPU has finished all of the work before a quarter is drawn"),
               "cuda": "The answer's way back and the thread that waits for it take as long as all of such small "
                       "inputs on the CPU."}),
    Described("table2", "Table 2 describes the CPUs and GPUs of 2003 to 2005. It is a description, not a measurement; "
                        "the machines measured here stand at the head of this page."),
    Described("table3", "The matrices BCSSTK15, 29 and 30. It is a description, not a measurement: BCSSTK15 is the "
                        "paper's (3948 rows, 60,882 nonzeros), 29 and 30 are matrices of as many rows and nonzeros "
                        "where their files are not at hand. A nonzero's vertex has 12 bytes here, and 32 in the "
                        "paper."),
    Described("table4", "The meshes of 2 k, 10 k and 50 k nodes. It is a description, not a measurement: NASA's are "
                        "not public, and tetrahedra of 2566, 11,214 and 53,222 nodes stand for them. An edge has 8 "
                        "bytes here, and 64 in the paper."),
    Claim("table5", "The GPU is 1.5 times as fast as the CPU on average, with textures.", "1.5x",
          "plain loop of one thread over opengl.texture, prepared, the mean of the three matrices",
          mean(plain("table5", MATRIX) / form("table5", MATRIX, TEXTURE)), at_least=1.5, less=1, on=PIPELINE,
          why={"llvmpipe": SOFTWARE, "opengl": FEW_POINTS.format("a product takes a point for each nonzero")}),
    Claim("table5", "The same by the fastest form of the library.", "1.5x",
          "plain loop of one thread over the fastest form, the mean of the three matrices",
          mean(plain("table5", MATRIX) / any_form("table5", MATRIX)), at_least=1.5, less=1,
          on=("cuda", "cpu", "opengl"),
          why={"llvmpipe": SOFTWARE, "cpu": CPU_SMALL,
               "opengl": "The draw of a frame and the wait for it take longer than one thread takes for such small "
                         "matrices in its cache.",
               "cuda": "The start of a kernel and the wait for it take as long as one thread takes for such small "
                       "matrices in its cache."}),
    Claim("table5", "Loading pays after 26 to 55 iterations on the hardware of 2005.", "26 to 55",
          "runs of opengl.texture that make up for loading beside the plain loop, the most",
          most(runs_to_amortise(loading(form("table5", MATRIX, TEXTURE)), plain("table5", MATRIX),
                                form("table5", MATRIX, TEXTURE))), unit="", at_most=55, less=499, on=PIPELINE,
          why={"llvmpipe": SOFTWARE + " So loading never pays.",
               "opengl": "Where a run takes longer than the CPU's loop, loading never pays."}),
    Claim("table5", "With vertices in main memory times are four times as long as with vertices in video memory.", "4x",
          "vertices sent in every run over vertices that stay, opengl.texture, the most",
          most(form("table5", MATRIX, TEXTURE + ", vertices sent") / form("table5", MATRIX, TEXTURE)), at_least=4,
          less=1.05, on=PIPELINE,
          why={"llvmpipe": "The device's memory is the host's, so that vertices are sent by one copy in a cache.",
               "opengl": "A few megabytes of vertices cross today's bus in a fraction of the time that their points "
                         "are drawn in."}),
    Claim("table5", "Packaging four nonzeros in one color is fast, but loading hurts.", "no number in the text",
          "opengl.texture over opengl.packed, prepared, the least",
          least(form("table5", MATRIX, TEXTURE) / form("table5", MATRIX, r"opengl\.packed")), at_least=1.2, less=1.0,
          on=PIPELINE, why={"opengl": "Rows of these matrices that are no multiple of four are filled up.",
                            "llvmpipe": "Four lookups of a point take as long in software as four points."}),
    Claim("table6", "The GPU is 2.7 times as fast as the CPU on average.", "2.7x",
          "plain loop of one thread over opengl.points, prepared, the mean of the three meshes",
          mean(plain("table6", MESH) / form("table6", MESH, POINTS)), at_least=2.7, less=1, on=PIPELINE,
          why={"llvmpipe": SOFTWARE, "opengl": FEW_POINTS.format("an edge takes two of them")}),
    Claim("table6", "Some cases are over 4 times as fast.", "4.25x",
          "plain loop of one thread over opengl.points, prepared, the most",
          most(plain("table6", MESH) / form("table6", MESH, POINTS)), at_least=4, less=1, on=PIPELINE,
          why={"llvmpipe": SOFTWARE, "opengl": FEW_POINTS.format("an edge takes two of them")}),
    Claim("table6", "The same average by the fastest form of the library.", "2.7x",
          "plain loop of one thread over the fastest form, the mean of the three meshes",
          mean(plain("table6", MESH) / any_form("table6", MESH)), at_least=2.7, less=1, on=("cuda", "cpu", "opengl"),
          why={"llvmpipe": SOFTWARE, "cpu": CPU_SMALL,
               "opengl": "The draw of a frame and the wait for it take longer than one thread takes for meshes in its "
                         "cache.",
               "cuda": "The start of a kernel and the wait for it take as long as one thread takes for the smaller "
                       "meshes in its cache."}),
    Claim("table6", "Loading pays after barely 10 iterations in 2005 (10 to 12).", "10 to 12",
          "runs of opengl.points that make up for loading beside the plain loop, the most",
          most(runs_to_amortise(loading(form("table6", MESH, POINTS)), plain("table6", MESH),
                                form("table6", MESH, POINTS))), unit="", at_most=12, less=120, on=PIPELINE,
          why={"llvmpipe": SOFTWARE + " So loading never pays.",
               "opengl": "Where a run takes longer than the CPU's loop, loading never pays."}),
    Claim("table6", "On the GPU four color components cost just what one does.", "1x",
          "sums over edges of four components over those of one, the most",
          most(rows("table6", of=MESH, who="edge sums, 4 components", where="opengl") /
               rows("table6", of=MESH, who="edge sums, 1 component", where="opengl")), at_most=1.1, less=2, on=PIPELINE,
          why={"llvmpipe": "In software each component is computed, or four at once by vector instructions where one "
                           "would leave them idle.",
               "opengl": "Components are blended and written one after the other by today's scalar cores."}),
    Claim("table6", "On the CPU four components take four times as long as one.", "4x",
          "sums over edges of four components over those of one, one thread, the least",
          least(rows("table6", of=MESH, who="edge sums, 4 components", where="cpu, 1 thread") /
                rows("table6", of=MESH, who="edge sums, 1 component", where="cpu, 1 thread")), at_least=3.5, less=1.2,
          on=PIPELINE,
          why={"opengl": "Four components of a node lie in one line and are added by one vector instruction.",
               "llvmpipe": "Four components of a node lie in one line and are added by one vector instruction."}),
    Claim("3", "The Euler kernel is not slower with 16 bits for a color than with 8.", "1x",
          "frame buffers of 16 bits over those of 8, textures alike, the mean",
          mean(bits(r"(?P<texel>\d+)", 16, MESH) / bits(r"(?P<texel>\d+)", 8, MESH)), at_most=1.05, less=1.5,
          on=PIPELINE, why={"opengl": "Colors of 16 bits are twice as many bytes to blend."}),
    Claim("3", "The product is not slower with 16 bits for a color than with 8.", "1x",
          "frame buffers of 16 bits over those of 8, textures alike, the mean",
          mean(bits(r"(?P<texel>\d+)", 16, MATRIX) / bits(r"(?P<texel>\d+)", 8, MATRIX)), at_most=1.05, less=1.5,
          on=PIPELINE, why={"opengl": "Colors of 16 bits are twice as many bytes to blend."}),
    Claim("3", "Textures of 16 and 32 bits are no slower than those of 8.", "1x",
          "textures of 32 bits over those of 8, frame buffers alike, products, the mean",
          mean(bits(32, r"(?P<pixel>\d+)", MATRIX) / bits(8, r"(?P<pixel>\d+)", MATRIX)), at_most=1.05, less=1.5,
          on=PIPELINE, why={"opengl": "Textures of 32 bits are four times as many bytes to read."}),
    Claim("table7", "A reduction by blending in one rendering pass needs none of the log N passes of related work.",
          "one pass suffices", "log N passes over one, the mean",
          mean(rows("table7", who=r"\d+ passes", where="opengl") / rows("table7", who="one pass", where="opengl")),
          at_least=1, less=0.8, on=PIPELINE,
          why={"opengl": "Blending adds at a pixel one point after the other; passes that combine four values each "
                         "draw pixels side by side, and there are few of them.",
               "llvmpipe": "Blending adds at a pixel one point after the other, each through the whole pipeline; "
                           "passes that combine four values each draw fewer and fewer pixels."}),
    Claim("table7", "A banded matrix of 40,960 nonzeros takes 0.72 ms by related work, about as long as BCSSTK15, "
                      "which has half as many again, takes here.", "1.07x", "the banded matrix over BCSSTK15, "
                                                                            "opengl.texture",
          least(rows("table7", of=r"10 diagonals of \d+", who=TEXTURE)).over(
              least(rows("table7", of="BCSSTK15", who=TEXTURE))), within=(0.5, 1.2), less=(0.2, 1.5),
          on=PIPELINE, why={"opengl": "Both are drawn by the same form here, point by point: time is by nonzeros.",
                            "llvmpipe": "Both are drawn by the same form here, point by point: time is by nonzeros."}),
    Claim("abstract", "GPUs outperform CPUs even by 400 %.", "4.25x",
          "plain loop of one thread over the fastest form, all matrices and meshes: see tables 5 and 6; here the most "
          "of the meshes", most(plain("table6", MESH) / any_form("table6", MESH)), at_least=4, less=1,
          on=("cuda", "cpu", "opengl"),
          why={"llvmpipe": SOFTWARE, "cpu": CPU_SMALL,
               "opengl": "The draw of a frame and the wait for it take longer than one thread takes for meshes in its "
                         "cache.",
               "cuda": "The start of a kernel and the wait for it take as long as one thread takes for the smaller "
                       "meshes in its cache."}),
]

FIGURES = {
    "1": "Figure 1. The sparse matrix-vector multiply",
    "2": "Figure 2. The Euler kernel",
    "table1": "Table 1 and section 5.1. Parts of the pipeline as parts of a program, and indirection schemes",
    "table2": "Table 2. Hardware",
    "table3": "Table 3. Matrices",
    "table4": "Table 4. Meshes",
    "table5": "Table 5. Sparse matrix-vector products",
    "table6": "Table 6. The Euler kernel",
    "3": "Figure 3. Precision",
    "table7": "Section 7. Related work; sheaf-bench calls it table 7",
    "abstract": "Abstract",
}

PAPER = Paper("ujaldon2005", "Ujaldon and Saltz 2005, irregular reductions", FIGURES, CLAIMS)
