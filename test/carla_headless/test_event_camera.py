# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The event camera: each event is where and when a pixel's brightness passes a level."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sensor_bench import HEADER, Bench

from ros2_cosim.world.headless.sensing.event_camera import EVENT, EventCamera
from ros2_cosim.world.headless.sensing.exact_arrays import log
from ros2_cosim.world.headless.wire_types import Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import CallError

KIND = "sensor.camera.dvs"
SIZE = {"image_size_x": 80, "image_size_y": 60}


def _events(message: bytes) -> NDArray[np.void]:
    return np.frombuffer(message, EVENT, offset=HEADER + 12)


def _drive(**attributes: Any) -> list[bytes]:
    """What an event camera sees of a car that drives ahead of it."""
    bench = Bench(0.05)
    own, ahead = bench.car(100.0), bench.car(112.0)
    camera = bench.sensor(KIND, Transform(Vector(2.5, 0.0, 1.2)), own, **SIZE, **attributes)
    bench.simulation.world.apply_control(ahead, VehicleControl(1.0, 0.0, 0.0))
    bench.run(20)
    return bench.messages.get(camera, [])


@pytest.mark.slow
def test_events_come_in_order_between_pictures_and_twice_the_same() -> None:
    messages = _drive()
    assert len(messages) > 5 and messages == _drive()
    last = 0
    for message in messages:
        events = _events(message)
        frame_ns = round(np.frombuffer(message, "<f8", 1, 16)[0] * 1e9)
        assert len(events) and (np.diff(events["t"]) >= 0).all()
        assert frame_ns - 50_000_001 <= events["t"][0] and events["t"][-1] <= frame_ns
        assert events["t"][0] >= last and events["x"].max() < 80 and events["y"].max() < 60
        last = int(events["t"][-1])
    both = np.concatenate([_events(message) for message in messages])
    assert set(both["pol"].tolist()) == {0, 1}


@pytest.mark.slow
def test_higher_thresholds_and_a_rest_give_fewer_events() -> None:
    def count(**attributes: Any) -> int:
        return sum(len(_events(message)) for message in _drive(**attributes))

    usual = count()
    assert count(positive_threshold=0.9, negative_threshold=0.9) < usual
    assert count(refractory_period_ns=400_000_000) < usual
    assert count(sigma_positive_threshold=0.2) != usual
    assert count(use_log="false", positive_threshold=20, negative_threshold=20) > 0


def test_wrong_thresholds_are_refused() -> None:
    with pytest.raises(CallError, match=r"'positive_threshold' .* found 0; allowed is 0.01 to"):
        Bench().sensor(KIND, Transform(), positive_threshold=0)


def _one_by_one(
    pictures: list[list[float]], rise: float, fall: float, rest: int
) -> list[tuple[int, int, int]]:
    """(time, pixel, polarity) of all events, pixel by pixel as CARLA's loop goes."""
    levels, last = list(pictures[0]), [0] * len(pictures[0])
    told = []
    for number, (past, now) in enumerate(zip(pictures, pictures[1:], strict=False)):
        begin, events = 1_000_000 * (number + 1), []
        for pixel, (a, b) in enumerate(zip(past, now, strict=True)):
            if abs(b - a) <= 1e-6:
                continue
            step = rise if b > a else -fall
            level = levels[pixel] + step
            while a < level <= b or b <= level < a:
                time = begin + int((level - a) * 1_000_000 / (b - a))
                if time >= last[pixel]:
                    if last[pixel] == 0 or time - last[pixel] >= rest:
                        events.append((time, pixel, int(b > a)))
                        last[pixel] = time
                    levels[pixel] = level
                level += step
        told += sorted(events, key=lambda event: event[:2])
    return told


@settings(max_examples=100)
@given(
    pictures=st.lists(
        st.lists(st.integers(-40, 40).map(lambda n: n / 8.0), min_size=3, max_size=3),
        min_size=2, max_size=5,
    ),
    rise=st.sampled_from([0.25, 0.3, 1.0]),
    fall=st.sampled_from([0.25, 0.7]),
    rest=st.sampled_from([0, 100_000, 900_000]),
)  # fmt: skip
def test_events_are_those_of_each_pixel_alone(
    pictures: list[list[float]], rise: float, fall: float, rest: int
) -> None:
    bench = Bench()
    number = bench.sensor(
        KIND, Transform(), image_size_x=3, image_size_y=1, positive_threshold=rise,
        negative_threshold=fall, refractory_period_ns=rest,
    )  # fmt: skip
    camera = EventCamera(bench.simulation.world.require(number))
    rows = [np.array(picture) for picture in pictures]
    camera.begin(rows[0])
    found = []
    for index, (past, now) in enumerate(zip(rows, rows[1:], strict=False)):
        begin = 1_000_000 * (index + 1)
        events = camera.events(begin, past, begin + 1_000_000, now)
        found += [(int(e["t"]), int(e["x"]), int(e["pol"])) for e in events]
    assert found == _one_by_one(pictures, rise, fall, rest)


@given(st.floats(1e-6, 1e6))
def test_logarithms_are_right(value: float) -> None:
    assert float(log(np.array([value]))[0]) == pytest.approx(math.log(value), rel=1e-14, abs=1e-15)
