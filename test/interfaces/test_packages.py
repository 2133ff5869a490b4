# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Message packages as sources: found, offered to the catalogue, refused with a clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.core.documents import extras
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages import building, packages
from ros2_cosim.core.messages.building import build_packages, needed_packages
from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.messages.packages import find_packages


def write(directory: Path, name: str, definitions: dict[str, str], described: str = "") -> Path:
    package = directory / name
    for path, text in definitions.items():
        file = package / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if described:
        (package / "package.xml").write_text(
            f"<package><name>{described}</name><version>1.2.0</version></package>"
        )
    return package


def test_packages_are_found_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "er", "checkout", {"msg/A.msg": "int8 a"}, described="a_msgs")
    write(tmp_path, "b_msgs", {"msg/B.msg": "a_msgs/A a", "srv/S.srv": "---\nc_msgs/C[] c"})
    write(tmp_path, "no_messages", {"src/main.py": ""})
    a, b = find_packages(tmp_path, "here")
    assert (a.name, a.version, list(a.messages)) == ("a_msgs", "1.2.0", ["a_msgs/msg/A"])
    assert (b.name, b.version, [f.name for f in b.files]) == ("b_msgs", "0.0.0", ["B.msg", "S.srv"])
    assert needed_packages(a) == set() and needed_packages(b) == {"a_msgs", "c_msgs"}


def test_wide_strings_are_no_message_of_the_package(tmp_path: Path) -> None:
    plain = "wstring data\nwstring[] more\nwstring[<=5] few\n"
    text = f"{plain}wstring<=9 short\nwstring<=9[<=5] both\n"
    (found,) = find_packages(write(tmp_path, "w_msgs", {"msg/WString.msg": text}), "here")
    assert needed_packages(found) == set()


def test_a_described_package_may_have_its_definitions_by_subject(tmp_path: Path) -> None:
    """As autoware_adapi_v1_msgs has them."""
    for name in ("motion/msg/State.msg", "routing/msg/Route.msg", "routing/srv/Clear.srv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n" if name.endswith("srv") else "uint8 state\n")
    assert [package.name for package in find_packages(tmp_path, "here")] == ["motion", "routing"]
    (tmp_path / "package.xml").write_text("<package><name>by_subject</name></package>")
    (package,) = find_packages(tmp_path, "here")
    assert package.name == "by_subject"
    assert [path.name for path in package.files] == ["State.msg", "Route.msg", "Clear.srv"]
    (tmp_path / "motion" / "msg" / "Route.msg").write_text("uint8 other\n")
    with pytest.raises(ConfigurationError, match=r"Route\.msg: found beside .*Route\.msg"):
        find_packages(tmp_path, "here")


def test_a_whole_disk_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_MAX_DIRECTORIES", 5)
    for name in ("a", "b", "c/d"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="holds no message package"):
        find_packages(tmp_path, "here")
    (tmp_path / "e").mkdir()
    with pytest.raises(ConfigurationError, match="here: found more than 5 directories below"):
        find_packages(tmp_path, "here")


def test_a_definition_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "_MAX_TEXT", 10)
    write(tmp_path, "a_msgs", {"msg/A.msg": "int8 abcdefgh"})
    (found,) = find_packages(tmp_path, "here")
    with pytest.raises(ConfigurationError, match="A.msg: found more than 10 bytes"):
        needed_packages(found)


def test_packages_that_are_wrong_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="here: found .*/none, which is not a directory"):
        find_packages(tmp_path / "none", "here")
    with pytest.raises(ConfigurationError, match="holds no message package; allowed is"):
        find_packages(tmp_path, "here")
    write(tmp_path, "one", {"msg/A.msg": "int8 a"}, described="a_msgs")
    write(tmp_path, "two", {"msg/A.msg": "int8 a"}, described="a_msgs")
    with pytest.raises(ConfigurationError, match="are both package a_msgs"):
        find_packages(tmp_path, "here")
    write(tmp_path, "Three", {"msg/A.msg": "int8 a"})
    with pytest.raises(ConfigurationError, match="found the package name 'Three'; allowed are"):
        find_packages(tmp_path / "Three", "here")


def test_what_cannot_be_built_is_named_before_anything_is(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    needy = write(tmp_path, "needy_msgs", {"msg/A.msg": "radar_msgs/Return[] returns"})
    with pytest.raises(
        ConfigurationError,
        match="package needy_msgs needs package radar_msgs, which is not installed.*"
        "cosim messages build ... DIRECTORY_OF_RADAR_MSGS",
    ):
        build_packages([needy], prefix)
    one = write(tmp_path, "one_msgs", {"msg/A.msg": "two_msgs/B b"})
    two = write(tmp_path, "two_msgs", {"msg/B.msg": "one_msgs/A[] a"})
    with pytest.raises(ConfigurationError, match="packages need each other"):
        build_packages([one, two], prefix)
    wrong = write(tmp_path, "wrong_msgs", {"msg/A.msg": "int8 a\nnonsense"})
    with pytest.raises(ConfigurationError, match="A.msg: wrong_msgs/msg/A, line 2: 'nonsense'"):
        build_packages([wrong], prefix)
    wrong = write(tmp_path, "wrong_msgs", {"msg/A.msg": "int8 a\nint8 b many words"})
    with pytest.raises(ConfigurationError, match="A.msg: .*'many words'.* can not be converted"):
        build_packages([wrong], prefix)
    assert not prefix.exists()


def test_definitions_of_ros_1_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled names the types as ROS 2 does; the checkout stays as it is."""
    text = "Header header\ntime stamp\nduration[2] spans\nstring time_of_day\n# Header\n"
    directory = write(tmp_path, "old_msgs", {"msg/A.msg": text, "srv/S.srv": "time t\n---\nA a\n"})
    compiled: dict[str, str] = {}

    def build(name: str, source: Path, scratch: Path, stage: Path, prefixes: object) -> None:
        compiled.update({path.name: path.read_text() for path in source.glob("[ms]*/*")})

    monkeypatch.setattr(building, "build_interface_package", build)
    (built,) = build_packages([directory], tmp_path / "prefix")
    assert built.types == ("old_msgs/msg/A", "old_msgs/srv/S")
    assert compiled == {
        "A.msg": "std_msgs/Header header\nbuiltin_interfaces/Time stamp\n"
        "builtin_interfaces/Duration[2] spans\nstring time_of_day\n# Header\n",
        "S.srv": "builtin_interfaces/Time t\n---\nA a\n",
    }
    assert (directory / "msg" / "A.msg").read_text() == text


def test_a_type_that_the_package_does_not_have_is_named(tmp_path: Path) -> None:
    directory = write(tmp_path, "a_msgs", {"msg/A.msg": "int8 a\nGhost[] b\n"})
    with pytest.raises(
        ConfigurationError,
        match=r"msg/A.msg: found a field of type a_msgs/msg/Ghost, of which the package has no",
    ):
        build_packages([directory], tmp_path / "prefix")


def test_a_missing_standard_package_is_in_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = write(tmp_path, "needy_msgs", {"msg/A.msg": "radar_msgs/Return[] returns"})
    for module in (building, packages):
        monkeypatch.setattr(module, "STANDARD_PACKAGES", frozenset({"radar_msgs"}))
    said = "package radar_msgs, which is not installed; run 'make setup EXTRAS=messages'$"
    with pytest.raises(ConfigurationError, match=said):
        build_packages([needy], tmp_path / "prefix")
    with pytest.raises(ConfigurationError, match="not installed: run 'make setup EXTRAS=messages'"):
        Catalogue().codec("radar_msgs/msg/Return")


def test_missing_generators_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed wheel has what its own messages need, but not what builds others."""
    monkeypatch.setattr(building, "wheel_prefix", lambda: tmp_path)
    monkeypatch.setattr(extras.ros2_cosim, "__file__", str(tmp_path / "ros2_cosim" / "a.py"))
    with pytest.raises(
        ConfigurationError,
        match="^cosim messages build needs ament_cmake, rosidl_default_generators, which is not "
        r"installed; run 'pip install \"ros2_cosim\[messages\]\"'$",
    ):
        build_packages([write(tmp_path, "a_msgs", {"msg/A.msg": "int8 a"})], tmp_path / "prefix")
    (tmp_path / "Makefile").touch()
    assert extras.command_for("messages") == "make setup EXTRAS=messages"


def test_offered_types_may_be_built_of_each_other() -> None:
    catalogue = Catalogue()
    catalogue.offer({"x_msgs/msg/Whole": "Part[] parts", "x_msgs/msg/Part": "int8 a"})
    catalogue.offer({"x_msgs/msg/Part": "int8 a  # again"})
    assert catalogue.record("x_msgs/msg/Whole")().parts == ()
    with pytest.raises(ConfigurationError, match="x_msgs/msg/Part is already defined differently"):
        catalogue.offer({"x_msgs/msg/Part": "int16 a"})


def test_an_offered_type_is_the_installed_one() -> None:
    catalogue = Catalogue()
    catalogue.offer({"std_msgs/msg/Bool": "bool data", "std_msgs/msg/Int8": "int16 data"})
    assert catalogue.record("std_msgs/msg/Bool")._fields == ("data",)
    with pytest.raises(ConfigurationError, match="std_msgs/msg/Int8 differs from the installed"):
        catalogue.record("std_msgs/msg/Int8")


def test_an_unknown_type_names_its_package_and_the_command() -> None:
    with pytest.raises(
        ConfigurationError,
        match="package vision_msgs is not installed: build it from its definitions by "
        "'cosim messages build DIRECTORY_OF_VISION_MSGS'",
    ):
        Catalogue().record("vision_msgs/msg/Detection3DArray")
