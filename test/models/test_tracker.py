# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The object tracker: assignment, filter, existence, identities by V2V, several sensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from statistics import pstdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import DetectedObject, ObjectList, Odometry, V2VMessage
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.sensors.assignment import assign
from ros2_cosim.driving.sensors.object_tracker import FIRST_NUMBER, ObjectTracker
from ros2_cosim.driving.sensors.tracks import Axis
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo

ROAD = RoadNetwork.from_xodr(make_highway())
VEHICLES = {"leader": VehicleInfo(1, 4.5, 1.8), "follower1": VehicleInfo(2, 4.7, 1.9)}
MS = 1_000_000
PERIOD = 40 * MS
LIMIT = 10.0


@given(
    st.integers(0, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.5, 4.0, 9.0, 10.0, 11.0, math.inf]),
                     min_size=columns, max_size=columns),
            max_size=4,
        )
    )
)  # fmt: skip
def test_the_assignment_is_the_best_of_all(costs: list[list[float]]) -> None:
    found = assign(costs, LIMIT)
    used = [column for column in found if column is not None]
    assert len(found) == len(costs) and len(set(used)) == len(used)

    def total(columns: Sequence[int | None]) -> float:
        return sum(
            LIMIT if column is None else row[column]
            for row, column in zip(costs, columns, strict=True)
        )

    assert all(c is None or row[c] <= LIMIT for row, c in zip(costs, found, strict=True))
    count = len(costs[0]) if costs else 0
    choices: list[int | None] = [*range(count), *[None] * len(costs)]
    best = min((total(chosen) for chosen in permutations(choices, len(costs))), default=0.0)
    assert total(found) == pytest.approx(best)


def test_the_filter_agrees_with_its_matrices() -> None:
    axis = Axis(10.0, 3.0, 0.2, 0.5)
    state, cov = np.array([10.0, 3.0]), np.diag([0.2, 0.5])
    stream = RandomStream(1, "test", "filter")
    dt, q, own = 0.04, 2.0, 1.5
    f, g = np.array([[1.0, dt], [0.0, 1.0]]), np.array([0.5 * dt * dt, dt])
    for _ in range(50):
        axis.predict(dt, q, own)
        state = f @ state - np.array([own * dt, 0.0])
        cov = f @ cov @ f.T + q * q * np.outer(g, g)
        place, rate = 10.0 + stream.normal(), 3.0 + stream.normal()
        s = cov + np.diag([0.04, 0.09])
        error = np.array([place, rate]) - state
        assert axis.far(place, rate, 0.04, 0.09) == pytest.approx(error @ np.linalg.inv(s) @ error)
        gain = cov @ np.linalg.inv(s)
        axis.correct(place, rate, 0.04, 0.09)
        state, cov = state + gain @ error, cov - gain @ cov
        h = np.array([1.0, 0.0])
        only = cov @ h / (h @ cov @ h + 0.3)
        axis.correct_place(place, 0.3)
        state, cov = state + only * (place - h @ state), cov - np.outer(only, h @ cov)
        assert [axis.place, axis.rate] == pytest.approx(state)
        assert [axis.p11, axis.p12, axis.p22] == pytest.approx([cov[0, 0], cov[0, 1], cov[1, 1]])


def tracker(**parameters: Any) -> ObjectTracker:
    return made(
        ObjectTracker,
        {"ego": "follower1", **parameters},
        name="tracker",
        context={"scene": scene_of(VEHICLES)},
        boxes=LaneBoxes(ROAD),
    )


def seen(distance: float, relative: float = 0.0, offset: float = 0.0) -> DetectedObject:
    return DetectedObject(1, 1, distance, relative, offset, 4.5, 1.8, 0.9)


class Drive:
    """Feeds a tracker look by look; the own vehicle drives at 20 m/s along the lane."""

    SPEED = 20.0

    def __init__(self, model: ObjectTracker, ports: Sequence[str] = ("objects/front",)) -> None:
        self.model = model
        self.number = 0
        self.ports = ports
        x, y, z, heading = ROAD.pose(1, 300.0, ROAD.lane_centre(1, -2, 300.0))
        half = 0.5 * heading
        self.own = Odometry(
            x, y, z, 0.0, 0.0, math.sin(half), math.cos(half), self.SPEED, *[0.0] * 5
        )

    def look(
        self,
        *lists: Sequence[DetectedObject],
        heard: Mapping[str, V2VMessage] | None = None,
        seq: int | None = None,
    ) -> tuple[DetectedObject, ...]:
        time = self.number * PERIOD
        latest: dict[str, Sample | None] = {"odometry": Sample(time, self.number, self.own)}
        for port, found in zip(self.ports, lists, strict=True):
            number = self.number if seq is None else seq
            latest[port] = Sample(time, number, ObjectList(tuple(found)))
        for port, message in (heard or {}).items():
            latest[port] = Sample(time, self.number, message)
        self.number += 1
        told: ObjectList = self.model.activate(Step(time, {}, latest))["objects"]
        return told.objects


def test_a_track_is_told_when_it_is_believed_and_outlives_misses() -> None:
    drive = Drive(tracker())
    assert [len(drive.look([seen(30.0)])) for _ in range(4)] == [0, 0, 1, 1]
    for _ in range(20):
        (told,) = drive.look([seen(30.0)])
    assert told.id == FIRST_NUMBER and told.existence_probability == 0.999
    assert (told.classification, told.length, told.width) == (1, 4.5, 1.8)
    assert len(drive.look([])) == 1, "one miss does not make it go"
    for _ in range(10):
        left = drive.look([])
    assert left == ()
    drive.look([seen(30.0)]), drive.look([seen(30.0)])
    (again,) = drive.look([seen(30.0)])
    assert again.id > FIRST_NUMBER, "a new track has a new number"


def test_an_estimate_with_the_number_of_the_last_sample_is_looked_at() -> None:
    drive = Drive(tracker())
    assert [len(drive.look([seen(30.0)], seq=0)) for _ in range(4)] == [0, 0, 1, 1]


def test_detections_of_nothing_are_not_told() -> None:
    drive, stream = Drive(tracker()), RandomStream(3, "test", "clutter")
    for _ in range(500):
        clutter = [
            seen(stream.uniform_between(0, 150), stream.uniform_between(-10, 10),
                 stream.uniform_between(-5, 5))
            for _ in range(3)
        ]  # fmt: skip
        told = drive.look([seen(40.0), *clutter])
        assert len(told) <= 1
    assert len(told) == 1 and told[0].id < FIRST_NUMBER + 20


def test_noise_is_filtered_and_motion_followed() -> None:
    drive, stream = Drive(tracker()), RandomStream(1, "test", "noise")
    errors = []
    for k in range(400):
        time = 0.04 * k
        distance, relative = 60.0 - 2.0 * time, -2.0
        told = drive.look([seen(distance + 0.1 * stream.normal(), relative + 0.1 * stream.normal(),
                                0.1 * stream.normal())])  # fmt: skip
        if k > 100:
            errors.append(told[0].distance - distance)
    assert pstdev(errors) < 0.06, "less than the 0.1 m of the measurements"


def test_crossing_objects_keep_their_numbers() -> None:
    drive = Drive(tracker())
    for k in range(200):
        time = 0.04 * k
        first, second = seen(60.0 - 5.0 * time, -5.0, 0.0), seen(30.0, 0.0, 1.0)
        order = [first, second] if k % 2 else [second, first]
        told = drive.look(order)
    by_speed = {round(item.relative_speed): item.id for item in told}
    assert sorted(by_speed) == [-5, 0]
    assert sorted(by_speed.values()) == [FIRST_NUMBER, FIRST_NUMBER + 1]
    assert by_speed[0] == FIRST_NUMBER, "that which was first in the first list"


def message(sender: int, ahead: float, speed: float = 20.0) -> V2VMessage:
    """Of a vehicle whose rear bumper is so far ahead in the own lane."""
    s = 300.0 + ahead + 0.5 * 4.7 + 0.5 * 4.5
    x, y, _, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s))
    return V2VMessage(sender, 0, x, y, speed, 0.0, 0.0, 4.5, False)


def test_a_track_has_the_identity_that_v2v_tells() -> None:
    drive = Drive(tracker(heard=["leader"]))
    drive.own = drive.own._replace(vx=0.0)
    port = "v2v/leader"
    for _ in range(5):
        quiet = message(1, 80.0, 0.0)
        told = drive.look([seen(30.0), seen(30.0, 0.0, 3.5)], heard={port: quiet})
    assert {item.id for item in told} == {FIRST_NUMBER, FIRST_NUMBER + 1}
    told = drive.look([seen(30.0), seen(30.0, 0.0, 3.5)], heard={port: message(1, 31.0, 0.0)})
    assert {(item.id, round(item.lateral_offset, 1)) for item in told} == {
        (1, 0.0), (FIRST_NUMBER + 1, 3.5)
    }  # fmt: skip
    silent = Drive(drive.model)
    silent.number, silent.own = drive.number, drive.own
    told = drive.look([seen(30.0), seen(30.0, 0.0, 3.5)], heard={port: message(1, 31.0, 9.0)})
    assert {item.id for item in told} == {FIRST_NUMBER, FIRST_NUMBER + 1}, "another speed"


def test_two_sensors_make_one_track_and_one_of_them_is_enough() -> None:
    drive = Drive(tracker(sensors=["front", "corner"]), ("objects/front", "objects/corner"))
    for _ in range(5):
        told = drive.look([seen(30.0)], [seen(30.1), seen(12.0, 0.0, 3.5)])
    assert [item.id for item in told] == [FIRST_NUMBER + 1, FIRST_NUMBER]
    for _ in range(20):
        told = drive.look([], [seen(30.0)])
    assert [item.id for item in told] == [FIRST_NUMBER]
    assert told[0].existence_probability > 0.99


def test_the_state_of_a_tracker_is_saved() -> None:
    one, other = Drive(tracker()), Drive(tracker())
    for k in range(10):
        one.look([seen(30.0 + k), seen(80.0)])
    other.model.restore_state(one.model.save_state())
    other.number = one.number
    assert other.look([seen(40.0)]) == one.look([seen(40.0)])


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"ego": "stranger"}, "ego: found vehicle 'stranger'"),
        ({"heard": ["stranger"]}, "heard: found vehicle 'stranger'"),
        ({"sensors": ["a", "a"]}, "sensors: found .* allowed is each name once"),
        ({"sensors": []}, "sensors: found"),
        ({"birth": 1.0}, "birth: found 1"),
    ],
)
def test_impossible_trackers_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        tracker(**wrong)


HARD = [
    "parameters.vehicles=3",
    "platoon.sensor.parameters={clutter: 0.5, detection_probability: 0.9}",
    "platoon.sensor.more={corner: {mounting_left: 0.9, mounting_yaw: 0.4, detection_range: 40}}",
]


def test_a_platoon_drives_by_tracks_of_two_sensors_in_clutter(tmp_path: Path) -> None:
    tracked = load_scenario(library_file("braking"), HARD)
    found = run_inproc(tracked, tmp_path / "tracked")
    assert found.collisions == 0 and found.min_gap_m is not None and found.min_gap_m > 1.5
    modes = (found.figures or {})["cacc1"]["modes"]
    known = modes["law"] + modes.get("emergency", 0.0) + modes["hold"]
    assert known > 0.98, "the predecessor that is heard is known among the tracks"
    assert "tracker1" in tracked.participants and "sensor1_corner" in tracked.participants
    again = run_inproc(tracked, tmp_path / "again")
    assert again.trace_sha256 == found.trace_sha256


def test_the_same_detections_without_a_tracker_are_no_knowledge_of_what_is_ahead(
    tmp_path: Path,
) -> None:
    """What is missed at a look was a free road, and ended in contacts; it is carried on now."""
    found = run_inproc(load_scenario(library_file("braking"), HARD[:2]), tmp_path, record=False)
    assert found.collisions == 0
    modes = (found.figures or {})["cacc1"]["modes"]
    assert modes["law"] + modes.get("emergency", 0.0) + modes["hold"] < 0.9
