# SPDX-License-Identifier: Apache-2.0
"""Manoeuvres of road tests in the headless world: closed forms, and the table of the page.

A vehicle here has the dynamics of its class, scaled to its mass: the figures of a product are not
claimed.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from support.closed_forms import braking_way, resistance, time_to, top_speed

from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.vehicle import VehicleParameters
from ros2_cosim.world.vehicle.parameters import GRAVITY

PAGE = Path(__file__).parents[2] / "docs" / "carla-headless.md"
STEP = 0.02
MPH = 0.44704
KMH = 1.0 / 3.6
NAMES = ("tesla.model3", "lincoln.mkz_2017", "audi.tt")
#: A level, straight road of 10 km with one lane in each direction.
ROAD = """<OpenDRIVE><header revMajor="1" revMinor="4"/>
<road name="" length="10000" id="1" junction="-1"><planView>
<geometry s="0" x="0" y="0" hdg="0" length="10000"><line/></geometry></planView>
<lanes><laneSection s="0"><left><lane id="1" type="driving" level="false">
<width sOffset="0" a="4" b="0" c="0" d="0"/></lane></left>
<center><lane id="0" type="none" level="false"/></center>
<right><lane id="-1" type="driving" level="false"><width sOffset="0" a="4" b="0" c="0" d="0"/>
</lane></right></laneSection></lanes></road></OpenDRIVE>"""


class _Car:
    """A vehicle alone on the road, at a speed."""

    def __init__(self, name: str, speed: float) -> None:
        self.world = World(ROAD, STEP)
        self.actor = self.world.spawn(
            f"vehicle.{name}", Transform(Vector(10.0, 2.0, 0.0), Rotation()), {}
        )
        if speed:
            self.world.set_target_velocity(self.actor.id, Vector(speed, 0.0, 0.0))
        self.body = self.world.require_vehicle(self.actor.id)

    @property
    def speed(self) -> float:
        return self.body.body.forward_speed()

    def drive(self, control: VehicleControl) -> None:
        self.world.apply_control(self.actor.id, control)
        self.world.tick()


def _dynamics(name: str) -> VehicleParameters:
    dynamics = LIBRARY[f"vehicle.{name}"].dynamics
    assert dynamics is not None
    return dynamics


def _time_to(name: str, speed: float) -> float:
    car, steps, before = _Car(name, 0.0), 0, 0.0
    while car.speed < speed:
        before = car.speed
        car.drive(VehicleControl(throttle=1.0))
        steps += 1
    return STEP * (steps - (car.speed - speed) / (car.speed - before))


def _way_from(name: str, speed: float) -> float:
    car = _Car(name, speed)
    begin = car.actor.exposed_numbers()[0]
    while car.speed > 0.01:
        car.drive(VehicleControl(brake=1.0))
    return float(car.actor.exposed_numbers()[0] - begin)


def _coasting(name: str, high: float, low: float) -> float:
    car, steps = _Car(name, high), 0
    while car.speed > low:
        car.drive(VehicleControl(manual_gear_shift=True, gear=0))
        steps += 1
    return STEP * steps


def _coasting_form(p: VehicleParameters, high: float, low: float) -> float:
    """m dv/dt = -(A + B v^2)."""
    a = resistance(p, 0.0)
    b = resistance(p, 1.0) - a
    k = math.sqrt(b / a)
    return p.mass / math.sqrt(a * b) * (math.atan(high * k) - math.atan(low * k))


def _top(name: str) -> float:
    car = _Car(name, 0.97 * top_speed(_dynamics(name)))
    for _ in range(int(60.0 / STEP)):
        car.drive(VehicleControl(throttle=1.0))
    return car.speed


def _load(name: str, speed: float) -> float:
    """What holds a vehicle back that coasts in neutral at a speed [N]."""
    car = _Car(name, speed + 0.5)
    while True:
        before = car.speed
        car.drive(VehicleControl(manual_gear_shift=True, gear=0))
        if car.speed <= speed:
            return _dynamics(name).mass * (before - car.speed) / STEP


def _roadholding(name: str) -> float:
    """The largest acceleration sideways at 20 m/s while the steering slowly grows [m/s^2]."""
    car, largest = _Car(name, 20.0), 0.0
    for step in range(int(10.0 / STEP)):
        throttle = min(1.0, max(0.0, 20.0 - car.speed))
        car.drive(VehicleControl(throttle=throttle, steer=0.5 * step * STEP / 10.0))
        largest = max(largest, car.speed * math.radians(abs(car.actor.exposed_numbers()[11])))
    return largest


@cache
def rows(name: str) -> list[tuple[str, float, float, str]]:
    """Quantity, closed form, headless, form of a number."""
    p = _dynamics(name)
    return [
        ("0 to 60 mph", time_to(p, 60.0 * MPH), _time_to(name, 60.0 * MPH), "{:.1f} s"),
        ("70 to 0 mph", braking_way(p, 70.0 * MPH), _way_from(name, 70.0 * MPH), "{:.1f} m"),
        ("top speed", top_speed(p) / KMH, _top(name) / KMH, "{:.0f} km/h"),
        ("load at 80 km/h", resistance(p, 80.0 * KMH), _load(name, 80.0 * KMH), "{:.0f} N"),
        (
            "100 to 60 km/h in neutral", _coasting_form(p, 100.0 * KMH, 60.0 * KMH),
            _coasting(name, 100.0 * KMH, 60.0 * KMH), "{:.1f} s",
        ),
        (
            "sideways", p.friction * p.lateral_grip, _roadholding(name) / GRAVITY, "{:.2f} g",
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_headless_vehicles_drive_by_the_closed_forms(name: str) -> None:
    for quantity, form, headless, _ in rows(name):
        if quantity != "sideways":
            assert headless == pytest.approx(form, rel=0.01), quantity


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_these_figures(name: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    (head,) = (number for number, line in enumerate(lines) if line.startswith("| Vehicle | 0 to"))
    assert lines[head] == f"| Vehicle | {' | '.join(row[0] for row in rows(name))} |"
    figures = [
        f"{shape.format(form).split()[0]} / {shape.format(headless)}"
        for _, form, headless, shape in rows(name)
    ]
    assert f"| `{name}` | {' | '.join(figures)} |" in lines[head:]


def test_a_vehicle_in_neutral_rolls_backwards_as_it_does_forwards() -> None:
    ways = []
    for speed in (8.0, -8.0):
        car = _Car("tesla.model3", speed)
        begin = car.actor.exposed_numbers()[0]
        for _ in range(200):
            car.drive(VehicleControl(throttle=1.0, manual_gear_shift=True, gear=0))
        ways.append(abs(car.actor.exposed_numbers()[0] - begin))
    assert ways[0] == pytest.approx(ways[1], rel=1e-3)
