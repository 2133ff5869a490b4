# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the vehicles of the headless server do on a test road, beside what is published.

    python -m bench.vehicle_figures [tesla.model3 ...] [--sources]

Each drives alone on a level road: full throttle from rest, full brake, full steering at walking
speed, and full throttle until it goes no faster. ``--sources`` lists where each figure is from.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import hypot, radians, sqrt
from typing import Final, NamedTuple

from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.vehicle_figures import Figure, figure_table
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import World

STEP: Final = 0.02  # s
KMH: Final = 1.0 / 3.6
MPH_60: Final = 60.0 * 0.44704
#: A vehicle that takes longer to a speed does not reach it [s].
LONGEST: Final = 90.0
WALKING: Final = 2.0  # m/s
#: A level, straight road of 20 km with one lane in each direction.
ROAD: Final = """<OpenDRIVE><header revMajor="1" revMinor="4"/>
<road name="" length="20000" id="1" junction="-1"><planView>
<geometry s="0" x="0" y="0" hdg="0" length="20000"><line/></geometry></planView>
<lanes><laneSection s="0"><left><lane id="1" type="driving" level="false">
<width sOffset="0" a="4" b="0" c="0" d="0"/></lane></left>
<center><lane id="0" type="none" level="false"/></center>
<right><lane id="-1" type="driving" level="false"><width sOffset="0" a="4" b="0" c="0" d="0"/>
</lane></right></laneSection></lanes></road></OpenDRIVE>"""
HEAD: Final = (
    "| Vehicle | 0 to 100 km/h | 0 to 60 mph | 100 to 0 km/h | 60 to 0 mph | top speed | circle |"
)


class Drive:
    """A vehicle alone on the road."""

    def __init__(self, name: str, speed: float = 0.0, **attributes: str) -> None:
        self.world = World(ROAD, STEP)
        place = Transform(Vector(100.0, 2.0, 0.0), Rotation())
        self.actor = self.world.spawn(f"vehicle.{name}", place, attributes)
        self.body = self.world.require_vehicle(self.actor.id).body
        if speed:
            self.world.set_target_velocity(self.actor.id, Vector(speed, 0.0, 0.0))

    @property
    def speed(self) -> float:
        """Along the vehicle [m/s]."""
        return self.body.forward_speed()

    def go(self, **control: float) -> None:
        """Drive a step with a control."""
        self.world.apply_control(self.actor.id, VehicleControl(**control))  # type: ignore[arg-type]
        self.world.tick()


def time_to(name: str, speed: float, **attributes: str) -> float | None:
    """From rest at full throttle [s]; None: the vehicle does not get so fast."""
    drive, steps, before = Drive(name, 0.0, **attributes), 0, 0.0
    while drive.speed < speed:
        if steps * STEP > LONGEST:
            return None
        before = drive.speed
        drive.go(throttle=1.0)
        steps += 1
    return STEP * (steps - (drive.speed - speed) / (drive.speed - before))


def way_from(name: str, speed: float, **attributes: str) -> float:
    """Of full braking [m]."""
    drive = Drive(name, speed, **attributes)
    begin = drive.actor.exposed_numbers()[0]
    while drive.speed > 0.01:
        drive.go(brake=1.0)
    return float(drive.actor.exposed_numbers()[0] - begin)


def top_speed(name: str, **attributes: str) -> float:
    """What full throttle leads to [m/s]."""
    drive, before, steps = Drive(name, 0.0, **attributes), -1.0, 0
    while drive.speed > before + 0.01 or steps < 500:
        before = drive.speed
        for _ in range(250):
            drive.go(throttle=1.0)
            steps += 1
    return drive.speed


def turning_circle(name: str, **attributes: str) -> float:
    """Diameter of the circle of the outer front wheel at full steering [m]."""
    drive = Drive(name, WALKING, **attributes)
    for _ in range(int(6.0 / STEP)):
        drive.go(steer=1.0, throttle=min(1.0, max(0.0, WALKING - drive.speed)))
    p, numbers = drive.body.parameters, drive.actor.exposed_numbers()
    middle = hypot(numbers[6], numbers[7]) / radians(abs(numbers[11]))
    rear = sqrt(max(middle * middle - p.rear_axle * p.rear_axle, 0.0))
    return 2.0 * hypot(rear + 0.5 * drive.body.equipment.track, p.wheelbase)


class Row(NamedTuple):
    """One vehicle: measured and published figures; None: not reached, not published."""

    name: str
    to_100: float | None
    to_60_mph: float | None
    from_100: float
    from_60_mph: float
    top: float
    turning: float

    def text(self) -> str:
        """As a row of a table: measured (published)."""
        figures = figure_table().vehicles[self.name]
        cells = [
            _cell(self.to_100, figures.to_100, "{:.1f} s"),
            _cell(self.to_60_mph, figures.to_60_mph, "{:.1f} s"),
            _cell(self.from_100, figures.from_100, "{:.1f} m"),
            _cell(self.from_60_mph, figures.from_60_mph, "{:.1f} m"),
            _cell(self.top, figures.top, "{:.0f} km/h"),
            _cell(self.turning, figures.turning, "{:.1f} m"),
        ]
        return f"| `{self.name}` | {' | '.join(cells)} |"


def _cell(measured: float | None, published: Figure | None, form: str) -> str:
    text = "-" if measured is None else form.format(measured)
    return text if published is None else f"{text} ({form.format(published[0]).split()[0]})"


def row(name: str) -> Row:
    """Drive one vehicle."""
    speed = 100.0 * KMH
    return Row(
        name, time_to(name, speed), time_to(name, MPH_60), way_from(name, speed),
        way_from(name, MPH_60), top_speed(name) / KMH, turning_circle(name),
    )  # fmt: skip


def sources(name: str) -> Iterator[str]:
    """Where each figure of a vehicle is from."""
    table = figure_table()
    for figure, source in table.vehicles[name].sources().items():
        yield f"{name}: {figure}: {table.sources[source]}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [name.removeprefix("vehicle.") for name in LIBRARY if name.startswith("vehicle.")]
    parser.add_argument("names", nargs="*", help="vehicles; none: all", metavar="NAME")
    parser.add_argument("--sources", action="store_true", help="list where figures are from")
    given = parser.parse_args()
    if set(given.names) - set(names):
        parser.error(f"unknown: {', '.join(sorted(set(given.names) - set(names)))}")
    chosen = given.names or names
    if given.sources:
        print("\n".join(line for name in chosen for line in sources(name)))
        return
    print(HEAD, "|---" * 7 + "|", sep="\n")
    for name in chosen:
        print(row(name).text(), flush=True)


if __name__ == "__main__":
    main()
