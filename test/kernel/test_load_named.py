# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Objects that a document names: installed ones, and ``module:attribute``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import (
    data_only,
    is_own_module,
    load_module,
    load_named,
    refuse_code,
    search_also,
)

HERE = "ros2_cosim.core.kernel.time:NEVER"
LAWS = {"never": HERE, "soon": "ros2_cosim.core.kernel.time:FOREVER"}


def named(name: str, targets: dict[str, str] | None = None) -> Any:
    return load_named(
        name,
        LAWS if targets is None else targets,
        where="law",
        noun="law",
        form="module:attribute",
    )


def test_a_name_stands_for_an_installed_object_or_one_of_a_module() -> None:
    from ros2_cosim.core.kernel.errors import AbortOrigin
    from ros2_cosim.core.kernel.time import FOREVER, NEVER

    assert named("never") is NEVER and named("soon") is FOREVER
    assert named("ros2_cosim.core.kernel.errors:AbortOrigin.REQUEST") is AbortOrigin.REQUEST
    # What an attribute is, not what a descriptor makes of it.
    assert isinstance(named("ros2_cosim.core.kernel.loading:Path.parent"), property)


@pytest.mark.parametrize(
    ("name", "targets", "said"),
    [
        ("nevr", None, "law: found 'nevr'; did you mean 'never'? allowed are never, soon, and mod"),
        ("x", {}, "law: found 'x'; allowed are no installed laws, and module:attribute"),
        (":x", {}, "law: found ':x'; allowed are no"),
        ("x:", {}, "law: found 'x:'; allowed are no"),
        ("empty", {"empty": ""}, "law: found 'empty'; did you mean"),
        ("a/b:c", None, "law: found 'a/b:c'; allowed is module:attribute with a module that can"),
        ("a.py:c", None, "law: found 'a.py:c'; allowed is module:attribute with a module that can"),
        ("json.decoder:x", None, "the Python standard library has no laws, allowed is your own"),
        ("none_here:x", None, "law: law 'none_here:x' cannot be loaded: ModuleNotFoundError: No"),
        (HERE.replace("NEVER", "NOPE"), None, "cannot be loaded: AttributeError: NOPE"),
    ],
)
def test_what_a_name_cannot_stand_for(name: str, targets: dict[str, str] | None, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        named(name, targets)
    assert said in str(error.value)


def test_where_data_alone_is_read_no_code_but_that_of_the_project_is_loaded() -> None:
    refuse_code("x")
    with data_only():
        for load in (lambda: named("yaml:x"), lambda: load_module("yaml")):
            with pytest.raises(ConfigurationError, match="is code; allowed is code of ros2_cosim"):
                load()
        assert named("never") == named(HERE)
        assert load_module("ros2_cosim.core.kernel.time").__name__ == "ros2_cosim.core.kernel.time"
    refuse_code("x")


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("ros2_cosim", True),
        ("ros2_cosim.core.kernel", True),
        ("ros2_cosim.py", False),
        ("ros2_cosim_x", False),
        ("other.ros2_cosim", False),
    ],
)
def test_modules_of_the_project_are_known_by_their_name(name: str, own: bool) -> None:
    assert is_own_module(name) is own


def test_a_directory_is_searched_behind_the_standard_library_and_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sysconfig

    standard = sysconfig.get_path("stdlib")
    monkeypatch.setattr(sys, "path", ["/first", standard, f"{standard}/lib-dynload", "/packages"])
    for _ in range(2):
        search_also(tmp_path)
    assert sys.path == ["/first", standard, f"{standard}/lib-dynload", str(tmp_path), "/packages"]
    monkeypatch.setattr(sys, "path", ["/packages"])
    search_also(tmp_path)
    assert sys.path == [str(tmp_path), "/packages"]


def test_a_file_that_fails_leaves_no_module(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text("a = 1\nraise SystemExit(3)\n")
    with pytest.raises(ConfigurationError, match=r"half.py failed: SystemExit: 3 \(.*, line 2\)"):
        load_module("half.py", tmp_path)
    assert "ros2_cosim_file_half" not in sys.modules
    (tmp_path / "whole.py").write_text("a = 1\n")
    module = load_module("whole.py", tmp_path)
    assert sys.modules.pop("ros2_cosim_file_whole") is module
