# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a user writes for a number is a number: ``true`` and ``"1"`` are refused, not converted."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, Literal, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

import ros2_cosim
from ros2_cosim.core.documents.settings import Section

#: Files that this project writes and reads, and no user.
WRITTEN_HERE = ("ros2_cosim.core.record.", "ros2_cosim.ros.bringup.domain_lock")
#: Needs a part of ROS 2 that is not in the requirements.
PLUGIN = "ros2_cosim.cli.ros2_command"


def sections(base: type[Section] = Section) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        if section.__module__.startswith("ros2_cosim."):
            yield section
        yield from sections(section)


@pytest.fixture(scope="module")
def read_by_users() -> list[type[Section]]:
    for module in pkgutil.walk_packages(ros2_cosim.__path__, "ros2_cosim."):
        if module.name != PLUGIN and not module.name.endswith(".__main__"):
            import_module(module.name)
    return [found for found in sections() if not found.__module__.startswith(WRITTEN_HERE)]


def flat(value: Any) -> list[Any]:
    return [part for item in value for part in flat(item)] if isinstance(value, tuple) else [value]


def test_numbers_are_neither_truth_values_nor_texts(read_by_users: list[type[Section]]) -> None:
    converted = set()
    for section in read_by_users:
        strict = section.model_config.get("strict", False)
        for name, field in section.model_fields.items():
            if get_origin(field.annotation) is Literal:  # 1 and True are equal
                continue
            kind = Annotated[(field.annotation, name, *field.metadata)]  # type: ignore[valid-type]
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
            for one in (True, "1"):
                for value in (one, (one,), (one, one), ((one, one),)):
                    with suppress(ValidationError):
                        found = flat(adapter.validate_python(value, strict=strict or None))
                        if any(type(part) in (int, float) for part in found):
                            converted.add(f"{section.__name__}.{name}: {value!r}")
    assert sorted(converted) == []
    assert len(read_by_users) > 100
