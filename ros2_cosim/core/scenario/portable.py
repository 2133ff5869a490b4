# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario as text that says what is simulated, and nothing of where and how.

The text is the same for every run of a scenario, in each shape and on each machine: what a bag
says of its scenario must not make bags differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.scenario.declaration import declare_in_any_shape
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import with_declared_outputs

#: Machines, directories, processes and wall time.
_LEFT_OUT: Any = {
    "base_directory": True,
    "hosts": True,
    "startup_s": True,
    "watchdog_s": True,
    "watchdog_warn_s": True,
    "simulator": {"host", "port", "timeout_s"},
    "participants": {
        "__all__": {
            "host": True,
            "process": True,
            # Follow from the model.
            "outputs": {"__all__": {"whole", "header_stamped", "record"}},
        }
    },
}


def portable_text(scenario: Scenario) -> str:
    """A scenario as JSON in one line, without defaults; :func:`.schema.make_scenario` reads it.

    It leaves out machines, processes and limits of wall time, the directory that relative file
    names start at, and what the parameters of participants declare as ``whereabouts``.
    """
    data = with_declared_outputs(scenario).model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=_LEFT_OUT
    )
    if not data.get("simulator"):
        # Nothing but an address was there.
        data.pop("simulator", None)
    for name, participant in data["participants"].items():
        if "parameters" in participant:
            checked = declare_in_any_shape(scenario, name).parameters
            participant["parameters"] = _without_whereabouts(participant["parameters"], checked)
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def digest_of(text: str) -> str:
    """The SHA-256 of a scenario's text, in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def _without_whereabouts(value: Any, checked: Any) -> Any:
    """Plain data without the whereabouts of the sections that it was read as."""
    if not isinstance(value, dict):
        return value
    if isinstance(checked, Section):
        fields = type(checked).model_fields
        parts = {fields[name].alias or name: part for name, part in checked if name in fields}
        left_out = {fields[name].alias or name for name in checked.whereabouts}
    elif isinstance(checked, Mapping):
        parts, left_out = dict(checked), set()
    else:
        return value
    return {
        key: _without_whereabouts(each, parts.get(key))
        for key, each in value.items()
        if key not in left_out
    }
