import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestSheaf(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps", "VirtualRunEnv"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            # The library of a release candidate has the number of the release.
            version = str(self.dependencies["sheaf"].ref.version).partition("-")[0]
            for program in ("static", "shared"):
                self.run(f"{os.path.join(self.cpp.build.bindir, program)} {version}", env="conanrun")
