#!/usr/bin/env python3
"""dependencies_test.py SOURCES: packaging/dependencies.json has what CMake, pyproject.toml, script/bootstrap and the
sources ask for, and nothing else; sheaf.spdx.json, NOTICE and the recipes of packaging/ follow from it. Reads sources
alone."""

import ast
import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCES = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
TABLE = json.loads((SOURCES / "packaging/dependencies.json").read_text())
DEPENDENCIES = TABLE["dependencies"]
FOLDERS = ("apps", "cmake", "examples", "fuzz", "lab", "papers", "python", "src", "tests")
# Projects of their own, which use an installed sheaf.
CONSUMERS = SOURCES / "tests/install"


def files(*endings, folders=FOLDERS):
    for folder in folders:
        for file in sorted((SOURCES / folder).rglob("*")):
            if file.name.endswith(endings) and CONSUMERS not in file.parents:
                yield file


def cmake_files(folders=FOLDERS):
    yield from files("CMakeLists.txt", ".cmake", folders=folders)


def code_of(file):
    """The text of a CMake file without comments."""
    return re.sub(r"(?m)#.*$", "", file.read_text())


CMAKE = "\n".join([code_of(SOURCES / "CMakeLists.txt"), *map(code_of, cmake_files())])


def named(member):
    return {name for dependency in DEPENDENCIES for name in dependency.get(member, ())}


def found(pattern, text=CMAKE):
    return {name for name in re.findall(pattern, text) if name != "sheaf" and "$" not in name}


def parts_of(dependency, *links):
    return {part for link in links for part in dependency.get(link, ())}


def sbom():
    """script/sbom as a module."""
    loader = importlib.machinery.SourceFileLoader("sbom", str(SOURCES / "script/sbom"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
    loader.exec_module(module)
    return module


class Dependencies(unittest.TestCase):
    maxDiff = None

    def test_packages_are_those_that_cmake_looks_for(self):
        self.assertEqual(named("packages"), found(r"find_package\((\w+)"))

    def test_libraries_headers_and_programs_are_those_that_cmake_looks_for(self):
        self.assertEqual(named("libraries"), found(r"find_library\(\w+ ([\w.-]+)"))
        self.assertEqual(named("headers"), found(r"find_path\(\w+ ([\w./-]+)"))
        self.assertEqual(named("programs"), found(r"find_program\(\w+ ([\w.-]+)"))
        self.assertEqual(named("modules"), found(r"pkg_check_modules\(\w+ (?:QUIET |REQUIRED )*(\w+)"))

    def test_imported_targets_are_those_that_cmake_links(self):
        linked = found(r"\b([A-Z]\w*::\w+|fmt::\w+|nlohmann_json::\w+)")
        listed = {name for name in named("targets") if "::" in name}
        self.assertEqual(listed, linked)

    def test_each_part_links_what_is_listed_for_it(self):
        for part, what in TABLE["parts"].items():
            text = "\n".join(map(code_of, cmake_files(what["folders"])))
            for dependency in DEPENDENCIES:
                targets = dependency.get("targets")
                if not targets:
                    continue
                is_linked = any(re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", text) for name in targets)
                is_listed = part in parts_of(dependency, "compiled", "static", "dynamic")
                self.assertEqual(is_listed, is_linked, f"{dependency['name']} in the part {part}")

    def test_included_headers_are_listed(self):
        known = {"cub/", "cuda/std/", "thrust/", "xla/ffi/"}
        self.assertEqual(named("includes"), known)
        for part, what in TABLE["parts"].items():
            sources = [f.read_text() for f in files(".cpp", ".hpp", ".cu", ".cuh", folders=what["folders"])]
            for dependency in DEPENDENCIES:
                for folder in dependency.get("includes", ()):
                    is_included = any(f"#include <{folder}" in text for text in sources)
                    is_listed = part in parts_of(dependency, "compiled")
                    self.assertEqual(is_listed, is_included, f"{dependency['name']} in the part {part}")

    def test_loaded_libraries_are_those_that_the_sources_name(self):
        for part in ("library", "command", "python"):
            listed = {n for d in DEPENDENCIES if part in d.get("loaded", ()) for n in d["names"]}
            sources = files(".cpp", folders=TABLE["parts"][part]["folders"])
            names = {n for f in sources for n in re.findall(r'"(lib\w+\.so(?:\.\d+)?)"', f.read_text())}
            self.assertEqual(listed, names, part)

    def test_python_packages_are_those_of_pyproject(self):
        text = (SOURCES / "pyproject.toml").read_text()
        lists = re.findall(r'(?m)^(?:requires|dependencies|test) = (\[.*\])$', text)
        self.assertEqual(len(lists), 3)
        asked = {}
        for entries in lists:  # those for tests last, of which one that runs, too, may be newer
            for name, version in (re.match(r"([\w-]+)(.*)", entry).groups() for entry in ast.literal_eval(entries)):
                asked.setdefault(name, version)
        self.assertEqual({d["pypi"]: d["version"] for d in DEPENDENCIES if "pypi" in d}, asked)
        python = re.search(r'requires-python = "(.*)"', text).group(1)
        self.assertEqual(next(d for d in DEPENDENCIES if d["name"] == "Python")["version"], python)

    def test_imported_python_packages_are_listed(self):
        names = set()
        for file in files(".py", folders=["python/sheaf"]):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names.add(node.module.split(".")[0])
        listed = {name for name in named("imports")}
        standard = getattr(sys, "stdlib_module_names", names - listed)  # from Python 3.10 on
        self.assertEqual(names - set(standard) - {"sheaf"}, listed)

    def test_versions_are_those_that_cmake_asks_for(self):
        asked = dict(re.findall(r"find_package\((\w+) ([0-9.]+)", CMAKE))
        self.assertEqual(asked.pop("Python3"), "3.9")  # for tests
        asked["CMake"] = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", CMAKE).group(1)
        listed = {}
        for dependency in DEPENDENCIES:
            for name in dependency.get("packages", ()) or [dependency["name"]]:
                if name in asked:
                    listed[name] = dependency["version"]
        self.assertEqual(listed, {name: f">={version}" for name, version in asked.items()})

    def test_debian_packages_are_those_of_bootstrap(self):
        text = (SOURCES / "script/bootstrap").read_text()
        first = re.findall(r'(?m)^(?:packages|optional)="(.*)"', text)
        wanted = set(" ".join(first).replace("$packages", "").split())
        listed = named("debian")
        self.assertEqual(wanted - listed, set(), "script/bootstrap installs what the table does not have")
        self.assertEqual(listed - wanted - {"libegl-dev"}, set(), "script/bootstrap does not install these")
        pip = re.findall(r'IN ITEMS (".*")\)', (SOURCES / "cmake/pip_packages.cmake").read_text())
        for name, debian in re.findall(r'"(\w+);([\w-]+)"', " ".join(pip)):
            self.assertIn(debian, next(d for d in DEPENDENCIES if name in d.get("packages", ()))["debian"])

    def test_licenses_of_what_is_inside_are_in_notice(self):
        notice = (SOURCES / "NOTICE").read_text()
        copyrights = (SOURCES / "packaging/debian/copyright").read_text()
        for dependency in DEPENDENCIES:
            inside = parts_of(dependency, "compiled", "static")
            if inside & {"library", "command", "python"}:
                self.assertTrue(dependency["name"] in notice, f"NOTICE has no license of {dependency['name']}")
            if inside & {"library", "command"}:
                self.assertTrue(dependency["name"] in copyrights, f"copyright has no {dependency['name']}")

    def test_recipes_name_this_version_and_what_the_library_and_the_command_need(self):
        version = sbom().version_of((SOURCES / "CMakeLists.txt").read_text())
        port = json.loads((SOURCES / "packaging/vcpkg/sheaf/vcpkg.json").read_text())
        spack = (SOURCES / "packaging/spack_repo/sheaf/packages/sheaf/package.py").read_text()
        conan = (SOURCES / "packaging/conan/conanfile.py").read_text()
        citation = (SOURCES / "CITATION.cff").read_text()
        self.assertEqual(port["version"], version)
        self.assertEqual(re.findall(r'(?m)^    version\("([^"]*)"', spack), [version])
        self.assertEqual(re.findall(r"(?m)^version: (.*)$", citation), [version])
        for text in (spack, conan):
            compile(text, "recipe", "exec")

        entries = port["dependencies"] + [d for f in port["features"].values() for d in f["dependencies"]]
        names = {"vcpkg": {entry if isinstance(entry, str) else entry["name"] for entry in entries}}
        names["vcpkg"] -= {"vcpkg-cmake", "vcpkg-cmake-config"}
        names["spack"] = {re.match(r"[\w-]+", n).group() for n in re.findall(r'depends_on\("([^"]*)"', spack)}
        names["spack"] -= {"cxx", "cmake"}
        names["conan"] = set(re.findall(r'self\.requires\("([\w-]+)/', conan))
        for kind, asked in names.items():
            listed = {d[kind] for d in DEPENDENCIES if kind in d}
            self.assertEqual(asked, listed, kind)
        needed = {"compiled", "static", "dynamic"}
        for dependency in DEPENDENCIES:
            if parts_of(dependency, *needed) & {"library", "command"} and "optional" not in dependency:
                if dependency["name"] != "OpenMP runtime":
                    self.assertLessEqual({"spack", "vcpkg", "conan"}, set(dependency), dependency["name"])

    def test_document_is_up_to_date(self):
        said = subprocess.run([sys.executable, SOURCES / "script/sbom", "--check"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))

    def test_document_is_whole(self):
        document = json.loads((SOURCES / "packaging/sheaf.spdx.json").read_text())
        elements = {"SPDXRef-DOCUMENT", *(package["SPDXID"] for package in document["packages"])}
        self.assertEqual(len(elements), 1 + len(document["packages"]), "two packages have one name")
        for relationship in document["relationships"]:
            self.assertIn(relationship["spdxElementId"], elements)
            self.assertIn(relationship["relatedSpdxElement"], elements)
        used = {name for p in document["packages"] for name in re.findall(r"LicenseRef-[\w-]+", p["licenseDeclared"])}
        self.assertEqual(used, {license["licenseId"] for license in document["hasExtractedLicensingInfos"]})

    def test_a_change_is_found(self):
        changed = json.loads(json.dumps(TABLE))
        changed["dependencies"][0]["license"] = "MIT"
        self.assertNotEqual(sbom().document_of(TABLE, "1.0.0"), sbom().document_of(changed, "1.0.0"))
        self.assertEqual(sbom().version_of('project(sheaf VERSION 1.0.0)\nset(SHEAF_PRERELEASE "rc1")'), "1.0.0-rc1")


if __name__ == "__main__":
    unittest.main()
