# SPDX-License-Identifier: Apache-2.0
"""A scenario as text that says what is simulated, and nothing of where and how.

The text is the same for every run of a scenario, in each shape and on each machine: what a bag
says of its scenario must not make bags differ.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

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
            "outputs": {"__all__": {"whole", "header_stamped"}},
        }
    },
}
#: Addresses in the parameters of participants; a run fills in free ports.
_ADDRESSES = frozenset({"host", "port"})


def portable_text(scenario: Scenario) -> str:
    """A scenario as JSON in one line, without defaults; :func:`.schema.make_scenario` reads it.

    It leaves out machines, processes and limits of wall time, the directory that relative file
    names start at, and ``host`` and ``port`` anywhere in the parameters of participants.
    """
    data = with_declared_outputs(scenario).model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude=_LEFT_OUT
    )
    if not data.get("simulator"):
        # Nothing but an address was there.
        data.pop("simulator", None)
    for participant in data["participants"].values():
        for key in ("parameters", "substitute"):
            if key in participant:
                participant[key] = _without_addresses(participant[key])
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def digest_of(text: str) -> str:
    """The SHA-256 of a scenario's text, in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def _without_addresses(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_addresses(v) for k, v in value.items() if k not in _ADDRESSES}
    if isinstance(value, list):
        return [_without_addresses(each) for each in value]
    return value
