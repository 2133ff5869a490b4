# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Manoeuvres of road tests in the headless world: closed forms, and the table of the page.

A vehicle that scenarios drive has the dynamics of its class, which have closed forms; one that
clients drive has the figures of its product.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from support.closed_forms import braking_way, resistance, time_to, top_speed

from bench import vehicle_figures as bench
from bench.vehicle_figures import STEP, Drive
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.vehicle_figures import figure_table
from ros2_cosim.world.vehicle import VehicleParameters

PAGE = Path(__file__).parents[2] / "docs" / "carla-headless.md"
MPH = 0.44704
KMH = 1.0 / 3.6
NAMES = ("tesla.model3", "lincoln.mkz_2017", "audi.tt")
#: On the page; the program has all.
SHOWN = ("audi.tt", "dodge.charger_police", "lincoln.mkz_2017", "seat.leon", "tesla.model3")

row = cache(bench.row)


def _drive(name: str, speed: float = 0.0) -> Drive:
    return Drive(name, speed, steering="class")


def _dynamics(name: str) -> VehicleParameters:
    dynamics = LIBRARY[f"vehicle.{name}"].class_dynamics
    assert dynamics is not None
    return dynamics


def _coasting(name: str, high: float, low: float) -> float:
    car, steps = _drive(name, high), 0
    while car.speed > low:
        car.go(manual_gear_shift=True, gear=0)
        steps += 1
    return STEP * steps


def _coasting_form(p: VehicleParameters, high: float, low: float) -> float:
    """m dv/dt = -(A + B v^2)."""
    a = resistance(p, 0.0)
    b = resistance(p, 1.0) - a
    k = math.sqrt(b / a)
    return p.mass / math.sqrt(a * b) * (math.atan(high * k) - math.atan(low * k))


def _load(name: str, speed: float) -> float:
    """What holds a vehicle back that coasts in neutral at a speed [N]."""
    car = _drive(name, speed + 0.5)
    while True:
        before = car.speed
        car.go(manual_gear_shift=True, gear=0)
        if car.speed <= speed:
            return _dynamics(name).mass * (before - car.speed) / STEP


@pytest.mark.parametrize("name", NAMES)
def test_the_vehicles_of_scenarios_drive_by_the_closed_forms(name: str) -> None:
    p = _dynamics(name)
    rows = [
        (time_to(p, 60.0 * MPH), bench.time_to(name, 60.0 * MPH, steering="class")),
        (braking_way(p, 70.0 * MPH), bench.way_from(name, 70.0 * MPH, steering="class")),
        (top_speed(p), bench.top_speed(name, steering="class")),
        (resistance(p, 80.0 * KMH), _load(name, 80.0 * KMH)),
        (_coasting_form(p, 100.0 * KMH, 60.0 * KMH), _coasting(name, 100.0 * KMH, 60.0 * KMH)),
    ]
    for form, headless in rows:
        assert headless == pytest.approx(form, rel=0.01)


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_has_these_figures(name: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert row(name).text() in lines[lines.index(bench.HEAD) :]


@pytest.mark.parametrize("name", [*SHOWN, "audi.etron", "chevrolet.impala"])
def test_what_is_published_is_near(name: str) -> None:
    """Within a sixth: the products have other tyres, losses and gearboxes."""
    measured, figures = row(name), figure_table().vehicles[name]
    for key in ("to_100", "to_60_mph", "from_100", "from_60_mph", "top"):
        published = dict(figures)[key]
        if published is not None:
            assert measured._asdict()[key] == pytest.approx(published[0], rel=1.0 / 6.0), key


def test_a_vehicle_in_neutral_rolls_backwards_as_it_does_forwards() -> None:
    ways = []
    for speed in (8.0, -8.0):
        car = Drive("tesla.model3", speed)
        begin = car.actor.exposed_numbers()[0]
        for _ in range(200):
            car.go(throttle=1.0, manual_gear_shift=True, gear=0)
        ways.append(abs(car.actor.exposed_numbers()[0] - begin))
    assert ways[0] == pytest.approx(ways[1], rel=1e-3)
