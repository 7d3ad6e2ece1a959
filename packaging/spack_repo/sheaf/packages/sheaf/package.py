from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Sheaf(CMakePackage, CudaPackage):
    """Irregular memory access at memory speed: gather, scatter, split and sort of records, scans of linked lists, hash
    search, sparse products, conjugate gradient and sums over edges, on multicore CPUs and GPUs."""

    # The tree that this recipe lies in. A recipe of a published release has its address here.
    git = Path(__file__).resolve().parents[5].as_uri()

    license("Apache-2.0", checked_by="the sheaf authors")

    version("0.2.0", tag="v0.2.0")

    variant("command", default=True, description="Build the command, sheaf")
    variant("highway", default=True, description="Sort numbers in vector registers by Highway")
    variant(
        "mpi", default="none", values=("none", "mpich", "openmpi"), multi=False, description="Work on processes of this MPI"
    )

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("fmt", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("zlib-api")
    depends_on("cli11", type="build", when="+command")
    depends_on("highway", when="+highway")
    depends_on("mpich", when="mpi=mpich")
    depends_on("openmpi", when="mpi=openmpi")
    depends_on("cuda@12:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="name the architectures: cuda_arch=80,90")

    def cmake_args(self):
        args = [
            self.define_from_variant("SHEAF_BUILD_CLI", "command"),
            self.define_from_variant("SHEAF_CUDA", "cuda"),
            self.define_from_variant("SHEAF_HIGHWAY", "highway"),
            self.define("SHEAF_OPENGL", "OFF"),  # Spack builds libepoxy without EGL
            self.define("SHEAF_BUILD_TESTS", False),
            self.define("SHEAF_BUILD_BENCH", False),
            self.define("SHEAF_BUILD_EXAMPLES", False),
        ]
        mpi = self.spec.variants["mpi"].value
        args.append(self.define("SHEAF_MPI", "OFF" if mpi == "none" else mpi))
        if mpi == "openmpi":
            args.append(self.define("SHEAF_OPENMPI_INCLUDE", self.spec["openmpi"].prefix.include))
            args.append(self.define("SHEAF_OPENMPI_LIBRARY", join_path(self.spec["openmpi"].prefix.lib, "libmpi.so")))
        if "+cuda" in self.spec:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
