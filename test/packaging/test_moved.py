# SPDX-License-Identifier: Apache-2.0
"""Former names of modules that users import still give the present modules, with a note."""

from __future__ import annotations

import importlib
import sys

import pytest

from ros2_cosim.kernel.errors import OutdatedWarning
from ros2_cosim.moved import MOVED


@pytest.mark.parametrize(("former", "present"), MOVED.items())
def test_a_former_name_is_the_present_module(former: str, present: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(OutdatedWarning, match=f"the module {former} is outdated; import {present}"):
        found = importlib.import_module(former)
    expected = importlib.import_module(present)
    assert found is expected
    assert expected.__name__ == present
    assert expected.__spec__ is not None and expected.__spec__.name == present
    del sys.modules[former]


def test_what_has_never_been_there_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="ros2_cosim.dcp.nothing"):
        importlib.import_module("ros2_cosim.dcp.nothing")
