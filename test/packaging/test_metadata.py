# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The descriptions of the package agree with each other and with the tree."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

import ros2_cosim
from ros2_cosim.core.messages.packages import STANDARD_PACKAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def package_xml() -> ElementTree.Element:
    return ElementTree.parse(ROOT / "package.xml").getroot()


def locked_versions() -> dict[str, set[str]]:
    """Return the versions in requirements.lock by normalised name."""
    versions: dict[str, set[str]] = {}
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
        versions.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
    return versions


def test_name_and_version_agree(pyproject, package_xml):
    assert package_xml.findtext("version") == ros2_cosim.__version__
    assert pyproject["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "ros2_cosim.__version__"
    }
    project = re.search(r"^project\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert project is not None
    names = {package_xml.findtext("name"), pyproject["project"]["name"], project.group(1)}
    assert names == {"ros2_cosim"}
    assert citation()["version"] == ros2_cosim.__version__


def test_tools_of_ros_make_a_release_of_the_changelog(tmp_path, monkeypatch, capsys):
    tag = pytest.importorskip("catkin_pkg.cli.tag_changelog")
    for name in ("package.xml", "CHANGELOG.rst", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    tag.main(["--bump", "minor"])
    assert "Tag version 0.2.0" in capsys.readouterr().out
    versions = list(tag.get_changelog_from_path(".", "ros2_cosim").foreach_version(reverse=True))
    version, _, content = versions[0]
    assert version == "0.2.0" and content, "the section Forthcoming has no item"


def test_rosdoc2_is_told_where_the_pages_are(package_xml):
    kind, told = yaml.safe_load_all((ROOT / package_xml.findtext("export/rosdoc2")).read_text())
    assert kind == {"type": "rosdoc2 config", "version": 1}
    assert (ROOT / told["settings"]["python_source"] / "__init__.py").is_file()
    (builder,) = told["builders"]
    assert (ROOT / builder["sphinx"]["user_doc_dir"] / "index.md").is_file()


def citation() -> dict[str, Any]:
    """The content of CITATION.cff, which ``cffconvert --validate`` takes."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_licences_and_people_agree(pyproject, package_xml):
    assert package_xml.findtext("license") == pyproject["project"]["license"] == "Apache-2.0"
    assert citation()["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    maintainer = package_xml.find("maintainer")
    people = {"name": maintainer.text, "email": maintainer.get("email")}
    assert pyproject["project"]["maintainers"] == citation()["authors"] == [people]


def test_addresses_agree(pyproject, package_xml):
    addresses = {url.get("type"): url.text for url in package_xml.findall("url")}
    # The three kinds of REP 149.
    assert addresses.keys() == {"website", "repository", "bugtracker"}
    assert pyproject["project"]["urls"] == addresses
    cited = citation()
    assert (cited["url"], cited["repository-code"]) == (
        addresses["website"],
        addresses["repository"],
    )


def test_package_is_an_ament_interface_package(package_xml):
    assert package_xml.get("format") == "3"
    assert package_xml.findtext("export/build_type") == "ament_cmake"
    assert package_xml.findtext("member_of_group") == "rosidl_interface_packages"


def test_ros_requirements_are_declared_on_both_sides(pyproject, package_xml):
    """A ROS package that pip installs at run time is one that rosdep installs, too."""
    declared = {
        element.text for kind in ("depend", "exec_depend") for element in package_xml.findall(kind)
    }
    for requirement in pyproject["project"]["dependencies"]:
        name = re.split(r"[\[=<>~!; ]", requirement)[0]
        if name.startswith("ros-"):
            package = name.removeprefix("ros-").removeprefix("jazzy-").replace("-", "_")
            assert package in declared, f"{requirement}: no {package} in package.xml"


def test_what_cmake_finds_is_declared(package_xml):
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    declared = {element.text for element in package_xml if element.tag.endswith("depend")}
    for name in re.findall(r"find_package\((\w+)", text):
        assert name in declared, f"CMakeLists.txt finds {name}, package.xml does not name it"


def test_lock_covers_every_requirement(pyproject):
    requirements = pytest.importorskip("packaging.requirements")
    locked = locked_versions()
    asked = [
        *pyproject["project"]["dependencies"],
        *pyproject["build-system"]["requires"],
        *pyproject["dependency-groups"]["dev"],
    ]
    for text in asked:
        requirement = requirements.Requirement(text)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        assert name in locked, f"{text} is not in requirements.lock: run make lock"
        for version in locked[name]:
            assert requirement.specifier.contains(version), f"{text}, but locked {version}"


def imported_by(directory: Path) -> set[str]:
    """Return the top names of all modules that the Python files below a directory import."""
    names: set[str] = set()
    for path in directory.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize(
    ("name", "place"), [("fmpy", "slave/fmu_description.py"), ("cypcap", "tools/capture.py")]
)
def test_the_advice_to_install_a_package_names_the_right_version(pyproject, name, place):
    (pin,) = (r for r in pyproject["project"]["dependencies"] if r.startswith(f"{name}=="))
    source = ROOT / "ros2_cosim" / "dcp" / place
    assert f"pip install {pin}" in source.read_text(encoding="utf-8")


#: Distribution -> module, where the names differ.
MODULES = {"PyYAML": "yaml"}


def test_run_requirements_are_what_the_package_imports(pyproject):
    imported = imported_by(ROOT / "ros2_cosim")
    for requirement in pyproject["project"]["dependencies"]:
        name = re.split(r"[\[=<>~!; ]", requirement)[0]
        if not name.startswith("ros-"):
            assert MODULES.get(name, name) in imported, f"{requirement}: nothing imports it"


def test_python_requirements_are_declared_on_both_sides(pyproject, package_xml):
    declared = {element.text for element in package_xml.findall("exec_depend")}
    declared |= {str(name).removesuffix("-pip") for name in declared}
    for requirement in pyproject["project"]["dependencies"]:
        name = re.split(r"[\[=<>~!; ]", requirement)[0]
        if not name.startswith("ros-"):
            module = MODULES.get(name, name)
            assert {f"python3-{module}", module} & declared, f"{requirement}: not in package.xml"
    imported = imported_by(ROOT / "ros2_cosim")
    for name in declared:
        if name.startswith("python3-") and not name.endswith("-pip"):
            module = name.removeprefix("python3-")
            assert module in imported, f"{name}: nothing imports it"


def test_lock_has_hashes_and_no_addresses():
    for path in ROOT.glob("requirements*.lock"):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "-index-url" not in text and "--find-links" not in text
        for entry in re.split(r"\n(?=[^\s#])", text):
            if "==" in entry:
                assert "--hash=sha256:" in entry, f"no hash: {entry.splitlines()[0]}"


def test_each_extra_has_a_lock_that_names_its_packages(pyproject):
    extras = pyproject["project"]["optional-dependencies"]
    assert {f"requirements-{name}.lock" for name in extras} == {
        path.name for path in ROOT.glob("requirements-*.lock")
    }
    core = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, requirements in extras.items():
        text = core + (ROOT / f"requirements-{name}.lock").read_text(encoding="utf-8")
        for requirement in requirements:
            package = re.split(r"[\[=<>~!; ]", requirement)[0].replace("_", "-")
            assert f"\n{package}==" in text, f"{package} is in no lock: run make lock"


def test_the_extra_messages_has_what_own_messages_are_built_with(pyproject):
    """What the build needs, but for what a run needs and what makes the wheel itself."""
    own = {"setuptools>=77,<80", "mypy", "numpy"}
    needed = set(pyproject["build-system"]["requires"]) - own
    needed -= set(pyproject["project"]["dependencies"])
    further = set(pyproject["project"]["optional-dependencies"]["messages"]) - needed
    assert len(further) + len(needed) == len(
        pyproject["project"]["optional-dependencies"]["messages"]
    )
    names = {re.split("==", text)[0].removeprefix("ros-").replace("-", "_") for text in further}
    assert names == STANDARD_PACKAGES


def test_every_node_has_a_main_function():
    programs = [
        path
        for path in sorted((ROOT / "ros2_cosim").glob("*/programs/*.py"))
        if not path.name.startswith("_")
    ]
    assert programs
    for path in programs:
        assert "main" in defined_names(path), f"{path.name} becomes an executable and needs main()"


def defined_names(path: Path) -> set[str]:
    """Return the names that a module defines or imports at its top level, without running it."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {item.id for item in node.targets if isinstance(item, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def source_of(module: str) -> Path:
    """Return where the source of a module of this package is or would be."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_entry_points_lead_somewhere(pyproject):
    for group, members in pyproject["project"].get("entry-points", {}).items():
        for name, target in members.items():
            module, _, attribute = target.partition(":")
            path = source_of(module)
            assert path.is_file(), f"{group}: {name} = {target}: no such module"
            assert attribute in defined_names(path), f"{group}: {name} = {target}: no such name"


def test_command_leads_to_a_function(pyproject):
    module, _, function = pyproject["project"]["scripts"]["cosim"].partition(":")
    path = source_of(module)
    if not path.is_file():
        pytest.skip(f"this tree has no {module}")
    assert function in defined_names(path), f"{path} has no function {function}"


def requirements_of(pyproject: dict[str, Any]) -> list[str]:
    return [r for r in pyproject["project"]["dependencies"] if not r.startswith("ros-")]


def test_a_workspace_gets_the_same_python_packages(pyproject, package_xml):
    text = (ROOT / "requirements-workspace.txt").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line[:1] != "#"] == requirements_of(pyproject)
    bounds = {
        re.sub("^python3-|-pip$", "", str(element.text)): element.attrib
        for element in package_xml.findall("exec_depend")
    }
    for requirement in requirements_of(pyproject):
        name, relation, version = re.fullmatch(r"([\w-]+)(==|>=)(.+)", requirement).groups()
        key = "version_eq" if relation == "==" else "version_gte"
        assert bounds[MODULES.get(name, name)] == {key: version}, requirement


@pytest.mark.parametrize(
    ("found", "said"),
    [("1.10.14", "found pydantic 1.10.14; needed is 2.6 or newer"), ("2.6.0", ""), ("10.0", "")],
)
def test_a_package_that_is_too_old_is_one_sentence(found, said, monkeypatch):
    from ros2_cosim import requirements

    monkeypatch.setattr(requirements, "version_of", lambda name: found)
    assert said in requirements.fault() and bool(said) == bool(requirements.fault())
    if said:
        with pytest.raises(SystemExit, match="pip install -r requirements-workspace.txt"):
            requirements.check_for_program()


@pytest.mark.parametrize(
    "place",
    [
        "docs/how-to/use-it-in-a-ros-2-workspace.md",
        "docker/Dockerfile",
        ".github/workflows/jazzy.yml",
    ],
)
def test_every_recipe_for_a_workspace_has_the_same_steps(place, package_xml):
    text = (ROOT / place).read_text(encoding="utf-8")
    assert "python3 -m venv --system-site-packages venv" in text
    assert "pip install -r" in text.replace("--no-cache-dir ", "")
    skipped = re.search(r'--skip-keys "([^"]+)"', text)
    declared = {str(e.text) for e in package_xml.findall("exec_depend")}
    assert skipped and set(skipped[1].split()) == {n for n in declared if n.endswith("-pip")}
