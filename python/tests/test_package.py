"""What pip gets: the source distribution has all that the wheel is built from, and both have the licenses."""

import importlib.metadata
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2]
# What the wheel is built from, and what goes into it.
NEEDED = "apps cmake include lab/description lab/harness lab/inputs profiles python/sheaf python/src src".split()


def run(*command):
    said = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def version():
    text = (SOURCES / "CMakeLists.txt").read_text()
    number = re.search(r"project\(sheaf VERSION ([0-9.]+)", text).group(1)
    return number + re.search(r'set\(SHEAF_PRERELEASE "(\w*)"\)', text).group(1)


def hook(name, folder):
    """What a hook of the build backend returns, called as pip calls it."""
    pytest.importorskip("scikit_build_core")
    code = f"import scikit_build_core.build as b, sys; print(b.{name}(sys.argv[1]), file=sys.stderr)"
    said = subprocess.run([sys.executable, "-c", code, folder], cwd=SOURCES, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    name = hook("build_sdist", folder)
    assert name == f"sheaf_access-{version()}.tar.gz"
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder)
    return folder / name.removesuffix(".tar.gz")


def test_the_sdist_has_what_the_wheel_is_built_from(sdist):
    for folder in NEEDED:
        files = [f for f in (SOURCES / folder).rglob("*") if f.is_file() and "__pycache__" not in f.parts]
        assert files
        for file in files:
            copy = sdist / file.relative_to(SOURCES)
            assert copy.is_file() and copy.read_bytes() == file.read_bytes(), f"{copy} is not in the sdist"


def test_the_sdist_has_the_licenses_and_neither_tests_nor_results(sdist):
    for name in ("LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff"):
        assert (sdist / name).read_bytes() == (SOURCES / name).read_bytes()
    for folder in (".ci", ".git", "build", "fuzz", "lab/results", "python/tests", "tests"):
        assert not (sdist / folder).exists(), folder
    size = sum(file.stat().st_size for file in sdist.rglob("*") if file.is_file())
    assert size < 20_000_000


def test_cmake_accepts_the_sdist(sdist):
    pytest.importorskip("nanobind")
    defined = re.findall(r'(?m)^(SHEAF_\w+) = "(\w+)"$', (SOURCES / "pyproject.toml").read_text())
    assert len(defined) >= 6
    options = [f"-D{name}={value}" for name, value in [*defined, ("SKBUILD", 2), ("SHEAF_CUDA", "OFF")]]
    run("cmake", "-S", sdist, "-B", sdist / "build", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", *options)
    assert (sdist / "build/build.ninja").is_file()


def test_the_wheel_names_its_license_files(tmp_path):
    name = hook("prepare_metadata_for_build_wheel", tmp_path)
    metadata = (tmp_path / name / "METADATA").read_text()
    assert f"\nName: sheaf-access\nVersion: {version()}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    for file in ("LICENSE", "NOTICE"):
        assert f"\nLicense-File: {file}\n" in metadata
        assert (tmp_path / name / "licenses" / file).read_bytes() == (SOURCES / file).read_bytes()


def test_the_installed_package_has_its_license_files():
    try:
        package = importlib.metadata.distribution("sheaf-access")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("sheaf is not installed by pip here")
    assert package.version == version()
    licenses = {file.name: file.locate().read_bytes() for file in package.files if "licenses" in file.parts}
    assert licenses == {name: (SOURCES / name).read_bytes() for name in ("LICENSE", "NOTICE")}
