# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of all calls of CARLA's client in ``docs/carla-calls.md``.

The calls are those that the installed ``carla`` wheel has, commands of a batch included, and the
kinds of sensors: none is forgotten, and none is named that does not exist. What is not told apart
here works. ``python buildtools/carla_calls.py`` writes
the page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.world.headless.blueprints import LIBRARY

PAGE: Final = Path(__file__).parents[1] / "docs" / "carla-calls.md"
#: Classes whose members reach the server, or need what it tells the client.
CLASSES: Final = (
    "Client", "World", "Actor", "Vehicle", "Walker", "WalkerAIController", "TrafficSign",
    "TrafficLight", "Sensor", "ServerSideSensor", "LaneInvasionSensor", "TrafficManager", "Map",
    "Waypoint", "Junction", "Landmark", "DebugHelper", "LightManager", "Light", "ActorList",
    "BlueprintLibrary", "ActorBlueprint", "WorldSnapshot", "ActorSnapshot", "command",
)  # fmt: skip
SENSORS: Final = "sensor"

PARTLY: Final = "partly"
REFUSED: Final = "refused"
WORKS: Final = "works"


class Call(NamedTuple):
    """One call: class, name, state and remarks about it."""

    owner: str
    name: str
    state: str
    note: str


_LOGGED = "the client gets no answer: the error is in the server's log"

#: (state, note, calls) of what does not simply work.
EXCEPTIONS: Final = (
    (PARTLY, "accepted without effect: nothing in the pictures is translucent",
     "World.set_annotations_traverse_translucency"),
    (REFUSED, f"there is no CarSim and no Chrono; {_LOGGED}",
     "Vehicle.enable_carsim Vehicle.use_carsim_road Vehicle.enable_chrono_physics"),
    (REFUSED, "the client cannot send it", "command.ShowDebugTelemetry"),
    (REFUSED, "the client cannot return it", "ServerSideSensor.get_ignored_vehicles"),
)  # fmt: skip


def calls() -> list[Call]:
    """Every call of the installed wheel, by class and name.

    :raises ValueError: naming an exception that the wheel does not have
    """
    import carla

    told = {name: (state, note) for state, note, names in EXCEPTIONS for name in names.split()}
    found = []
    for owner in CLASSES:
        for name in sorted(vars(vars(carla)[owner])):
            if not name.startswith("_"):
                state, note = told.pop(f"{owner}.{name}", (WORKS, ""))
                found.append(Call(owner, name, state, note))
    if told:
        raise ValueError(f"the wheel has no {', '.join(sorted(told))}")
    return found


def sensors() -> list[Call]:
    """Every kind of sensor."""
    kinds = [LIBRARY[name] for name in LIBRARY if name.startswith(f"{SENSORS}.")]
    return [
        Call(SENSORS, kind.id, REFUSED if kind.unsupported else WORKS, kind.unsupported)
        for kind in kinds
    ]


def page() -> str:
    """The text of the page."""
    rows = [*calls(), *sensors()]
    count = {state: sum(row.state == state for row in rows) for state in (WORKS, PARTLY, REFUSED)}
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<!-- Written by buildtools/carla_calls.py; a test compares it. -->",
        "# Calls of CARLA's client on the headless server",
        "",
        f"The `carla` 0.9.16 client has {len(rows)} members, commands and "
        "[sensors](carla-headless.md#sensors) that",
        f"need a server: {count[WORKS]} work, {count[PARTLY]} work partly, "
        f"{count[REFUSED]} are refused.",
        "",
        "## Partly or refused",
        "",
        "<!-- generated: calls of the client -->",
        "",
        "| Calls | State | Note |",
        "|---|---|---|",
    ]
    refused = [(row.state, row.note, row.name) for row in sensors() if row.state == REFUSED]
    for state, note, names in [*EXCEPTIONS, *refused]:
        lines.append(f"| {', '.join(f'`{name}`' for name in names.split())} | {state} | {note} |")
    lines += ["", "## Calls that work", ""]
    for owner in (*CLASSES, SENSORS):
        works = ", ".join(
            f"`{row.name}`" for row in rows if row.owner == owner and row.state == WORKS
        )
        if works:
            lines += [f"**{owner}**: {works}", ""]
    lines += ["<!-- end of generated -->", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE} written\n")
