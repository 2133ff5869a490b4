# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A car runs into a bicycle that gets going: Euro NCAP's CBLA, by its figures alone.

esmini publishes 13.60 s for the contact (esmini/esmini, commit 77028d83, test/ncap_suite.py), exact
motion gives 13.54 s. Its own states say why: it takes steps of 50 ms, and each step is driven at
the speed of the step's end. So the bicycle, which accelerates, comes 0.10 m too far.
Figures: vectorgrp/OSC-NCAP-scenarios, commit 4785f8b, CBLA_2023 and its catalogue.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.played_stories import PERIOD, begins, marker, played
from support.xosc_files import by_entity, document, event, group, speed, teleport

#: Speeds [m/s]; the acceleration of the bicycle [m/s²], the most that its catalogue allows.
CAR, BICYCLE, ACCELERATION = 25 / 3.6, 15 / 3.6, 2.0
#: From the reference points to the car's front and to the bicycle's rear [m].
FRONT, REAR = 1.349 + 0.5 * 4.358, 0.605 - 0.5 * 1.89
TRIGGER = CAR / BICYCLE * (2 * 3.5 + 28) - (3.5 + 28)
#: Distance of the reference points at the start [m].
START = 6 * CAR + TRIGGER


def exact() -> float:
    """When the boxes touch, without any steps [s]."""
    seen = (START - FRONT + REAR - TRIGGER) / CAR
    lost = 0.5 * BICYCLE**2 / ACCELERATION
    return seen + (TRIGGER - lost) / (CAR - BICYCLE)


def stepped(step: float) -> tuple[float, dict[float, tuple[float, float]]]:
    """The same in steps that are driven at the speed of their end.

    :returns: the time of contact [s], and places of car and bicycle [m] by the time
    """
    car, bicycle, speed, count = 0.0, START, 0.0, 0
    states = {}
    while bicycle + REAR > car + FRONT:
        if bicycle + REAR - car - FRONT <= TRIGGER or speed > 0.0:
            speed = min(BICYCLE, speed + ACCELERATION * step)
        car, bicycle, count = car + CAR * step, bicycle + speed * step, count + 1
        states[round(count * step, 6)] = (car, bicycle)
    return count * step, states


def test_the_published_time_is_one_of_coarse_steps() -> None:
    time, states = stepped(0.05)
    assert time == pytest.approx(13.60)
    # As published, where the car starts at 50 m.
    published = {5.5: (88.194, 118.505), 13.55: (144.097, 148.013), 13.6: (144.444, 148.222)}
    for at, places in published.items():
        assert [place + 50.0 for place in states[at]] == pytest.approx(places, abs=0.0006)
    fine, _ = stepped(0.0005)
    assert exact() == pytest.approx(13.5405, abs=1e-4)
    assert fine == pytest.approx(exact(), abs=0.001)


def test_a_run_has_the_contact_of_exact_motion(tmp_path: Path) -> None:
    def entity(name: str, category: str, sizes: str, centre: float) -> str:
        return (
            f'<ScenarioObject name="{name}"><Vehicle name="{name}" vehicleCategory="{category}">'
            f'<BoundingBox><Center x="{centre}" y="0" z="0.7"/><Dimensions {sizes}/></BoundingBox>'
            f'<Performance maxSpeed="70" maxAcceleration="{ACCELERATION}" maxDeceleration="10"/>'
            "</Vehicle></ScenarioObject>"
        )

    def there(name: str, s: float, at: float) -> str:
        place = teleport(f'<LanePosition roadId="1" laneId="-3" s="{s}"/>')
        return f'<Private entityRef="{name}">{place}{speed(str(at))}</Private>'

    near = (
        '<RelativeDistanceCondition entityRef="cyclist" relativeDistanceType="longitudinal" '
        f'freespace="true" value="{TRIGGER}" rule="lessOrEqual"/>'
    )
    contact = '<CollisionCondition><EntityRef entityRef="cyclist"/></CollisionCondition>'
    start = event("start", speed(str(BICYCLE), 'dynamicsShape="linear" value="1.68"'),
                  by_entity(near, "car", edge="rising"))  # fmt: skip
    text = document(
        group(start + marker("touch", by_entity(contact, "car")), "cyclist"),
        by_entity(contact, "car", delay=0.1),
        start_a='<LanePosition roadId="1" laneId="-2" s="400"/>',
        start_b='<LanePosition roadId="1" laneId="-1" s="400"/>',
        entities=entity("car", "car", 'width="1.815" length="4.358" height="1.577"', 1.349)
        + entity("cyclist", "bicycle", 'width="0.5" length="1.89" height="1.2"', 0.605),
        init=there("car", 50.0, CAR) + there("cyclist", 50.0 + START, 0.0),
    )
    times = begins(played(tmp_path, text, "duration=16s"))
    assert times["touch"] == pytest.approx(exact(), abs=2 * PERIOD)
