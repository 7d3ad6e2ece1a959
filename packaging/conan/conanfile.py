import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

required_conan_version = ">=2.0"


class Sheaf(ConanFile):
    """Packages the tree that this recipe lies in: `conan create packaging/conan`."""

    name = "sheaf"
    description = "Irregular memory access at memory speed"
    license = "Apache-2.0"
    topics = ("gather", "scatter", "sort", "hash-join", "sparse", "cuda")
    package_type = "static-library"  # what sheaf::sheaf is, unless BUILD_SHARED_LIBS is on
    settings = "os", "arch", "compiler", "build_type"
    options = {"command": [True, False], "cuda": [True, False], "opengl": [True, False], "highway": [True, False]}
    default_options = {"command": True, "cuda": False, "opengl": False, "highway": False}

    @property
    def _tree(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        text = (self._tree / "CMakeLists.txt").read_text()
        self.version = re.search(r"project\(sheaf VERSION ([0-9.]+)", text).group(1)
        candidate = re.search(r'set\(SHEAF_PRERELEASE "(\w*)"\)', text).group(1)
        if candidate:
            self.version += f"-{candidate}"

    def export_sources(self):
        for folder in ("apps", "cmake", "docs", "include", "lab", "packaging", "profiles", "src"):
            excluded = ("lab/results/*", "*/__pycache__/*")
            copy(self, f"{folder}/*", self._tree, self.export_sources_folder, excludes=excluded)
        for file in ("CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "LICENSE", "NOTICE", "README.md", "SECURITY.md"):
            copy(self, file, self._tree, self.export_sources_folder)

    def requirements(self):
        # None is in a public header.
        self.requires("fmt/[>=9 <13]", visible=False)
        self.requires("nlohmann_json/[>=3.11 <4]", visible=False)
        self.requires("zlib/[>=1.2.11 <2]", visible=False)
        if self.options.command:
            self.requires("cli11/[>=2.1 <3]", visible=False)
        # What the static library links.
        if self.options.highway:
            self.requires("highway/[>=1.0.3 <2]", transitive_libs=True)
        if self.options.opengl:
            self.requires("libepoxy/[>=1.5 <2]", transitive_libs=True)
            self.requires("egl/system")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        self.folders.root = "../.."
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        # sheaf asks for its standard by itself; CMake before 3.26 knows no such number for CUDA.
        toolchain.blocks.remove("cppstd")
        toolchain.cache_variables.update({
            "SHEAF_BUILD_CLI": bool(self.options.command),
            "SHEAF_BUILD_TESTS": False,
            "SHEAF_BUILD_BENCH": False,
            "SHEAF_BUILD_EXAMPLES": False,
            "SHEAF_CUDA": "ON" if self.options.cuda else "OFF",
            "SHEAF_OPENGL": "ON" if self.options.opengl else "OFF",
            "SHEAF_HIGHWAY": "ON" if self.options.highway else "OFF",
            "SHEAF_MPI": "OFF",
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for file in ("LICENSE", "NOTICE"):
            copy(self, file, self.source_folder, Path(self.package_folder) / "licenses")

    def package_info(self):
        # sheaf has a configuration of its own, with sheaf::sheaf, sheaf::static and sheaf::shared.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/sheaf"]
        self.cpp_info.libs = ["sheaf"]
        if self.options.command:
            self.buildenv_info.append_path("PATH", str(Path(self.package_folder) / "bin"))
            self.runenv_info.append_path("PATH", str(Path(self.package_folder) / "bin"))
