# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How compiled code makes named tuples."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, Final, TypeVar

_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])


def _maker() -> Callable[[type[_Tuple], tuple[Any, ...]], _Tuple]:
    """The function of the compiled library that makes them without a copy; without it Python's."""
    if isinstance(_maker, FunctionType):
        return tuple.__new__
    starter: Any = import_module("ros2_cosim_starter")
    named: Callable[[type[_Tuple], tuple[Any, ...]], _Tuple] = starter.named
    return named


#: Makes a named tuple of its class and a tuple. To call the class would go through Python, in
#: compiled code, too.
NEW: Final = _maker()
