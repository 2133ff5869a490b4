# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the referee says of a run as assessments do, against motions that are known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import made, scene_of

from buildtools.highway import make_highway
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.message_types import COLLISION, ODOMETRY
from ros2_cosim.core.messages.records import CollisionEvent, Odometry
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.measures.acc_envelope import (
    ACCELERATION,
    DECELERATION,
    JERK,
    AccEnvelope,
    limit_at,
)
from ros2_cosim.driving.measures.euro_ncap import euro_ncap_share
from ros2_cosim.driving.referee import PlatoonReferee
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo

ROAD = RoadNetwork.from_xodr(make_highway())
LENGTH, WIDTH = 4.0, 2.0
VEHICLES = {"ego": VehicleInfo(1, LENGTH, WIDTH), "other": VehicleInfo(2, LENGTH, WIDTH)}
PERIOD = 100_000_000


def odometry(s: float, speed: float, aside: float = 0.0, across: float = 0.0) -> Odometry:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s) + aside)
    return Odometry(x, y, z, 0.0, 0.0, 0.0, 1.0, speed, across, 0.0, 0.0, 0.0, 0.0)


def judge(**limits: float) -> PlatoonReferee:
    scene = scene_of(VEHICLES, platoon=["ego"])
    parameters = {"assessment": limits, "expect_standstill": False}
    types = {"odometry/other": ODOMETRY, "collision": COLLISION}
    inputs = {"context": {"scene": scene, "input_types": types}}
    return made(PlatoonReferee, parameters, name="referee", boxes=LaneBoxes(ROAD), **inputs)


class Drive:
    """An ego that brakes from a time on, behind another vehicle, in steps of a millisecond.

    ``aside`` [m] is that of the other at the start, to the left, and ``across`` [m/s] how fast it
    comes into the lane.
    """

    def __init__(
        self, gap: float, speed: float, other: float, *, brakes: float = 1e9, hard: float = 6.0,
        aside: float = 0.0, across: float = 0.0, seconds: float = 8.0, restore: bool = False,
        **limits: float,
    ) -> None:  # fmt: skip
        self.referee = judge(**limits)
        self.impact: float | None = None
        s, v, contacts = 100.0, speed, []
        ahead = s + LENGTH + gap
        for step in range(round(seconds * 1000)):
            time = step * 0.001
            shift = max(0.0, aside - across * time)
            if step % 100 == 0:
                moves = across if shift > 0.0 else 0.0
                self._look(step * 1_000_000, (s, v), (ahead, other, shift, -moves), contacts)
                if restore:
                    state = self.referee.save_state()
                    self.referee = judge(**limits)
                    self.referee.restore_state(state)
            v = max(0.0, v - hard * 0.001) if time >= brakes and self.impact is None else v
            s, ahead = s + v * 0.001, ahead + other * 0.001
            touches = shift < WIDTH and abs(ahead - s) < LENGTH
            if touches and self.impact is None:
                self.impact = v
            if touches:
                contacts.append(step * 1_000_000)

    def _look(self, now: int, ego: tuple, other: tuple, contacts: list[int]) -> None:
        latest: dict[str, Any] = {
            "odometry/ego": Sample(now, 0, odometry(*ego)),
            "odometry/other": Sample(now, 0, odometry(*other)),
            "collision": None,
        }
        if contacts:
            event = CollisionEvent(1, 2, 1.0)
            latest["collision"] = Sample(contacts[-1], len(contacts) - 1, event)
        self.referee.activate(Step(now, {}, latest))

    def figure(self, name: str) -> Any:
        return (self.referee.report().figures or {})[name]

    def verdicts(self) -> dict[str, bool]:
        return {v["name"]: v["passed"] for v in self.referee.report().verdicts or ()}


@pytest.mark.parametrize(
    ("kmh", "shares"),
    [
        (10.0, (1.0, 0.0, 0.0, 0.0, 0.0)),
        (20.5, (1.0, 0.0, 0.0, 0.0, 0.0)),
        (30.0, (1.0, 0.25, 0.0, 0.0, 0.0)),
        (40.0, (1.0, 0.5, 0.25, 0.0, 0.0)),
        (50.0, (1.0, 0.75, 0.5, 0.25, 0.0)),
        (80.0, (1.0, 0.75, 0.5, 0.25, 0.0)),
        (25.0, (None,) * 5),
        (4.0, (None,) * 5),
    ],
)
def test_a_point_of_euro_ncap_has_its_share(kmh: float, shares: tuple[float | None, ...]) -> None:
    """Without a contact, and with a closing speed of up to 10, 20, 30 and more km/h."""
    for closing, share in zip((0.0, 9.9, 10.1, 29.9, 30.1), shares, strict=True):
        assert euro_ncap_share(kmh / 3.6, closing / 3.6) == share


@pytest.mark.parametrize(("brakes", "share"), [(0.5, 1.0), (0.8, 0.5), (9.0, 0.0)])
def test_the_share_is_that_of_the_impact(brakes: float, share: float) -> None:
    """50 km/h towards a car that stands, braking with 6 m/s^2 at once, late, or not at all."""
    drive = Drive(26.0, 50.0 / 3.6, 0.0, brakes=brakes, min_euro_ncap_share=0.5)
    assert drive.figure("min_euro_ncap_share") == share
    assert drive.verdicts()["min_euro_ncap_share"] is (share >= 0.5)


@pytest.mark.parametrize("restore", [False, True])
def test_impact_speed_and_what_braking_took_of_it(restore: bool) -> None:
    """From 20 m/s with 6 m/s^2 from 11 m on: a standing car is met with 16.4 m/s."""
    drive = Drive(
        31.0, 20.0, 0.0, brakes=1.0, restore=restore, max_impact_speed=10.0,
        min_speed_reduction=3.0, min_braking_ttc=1.0,
    )  # fmt: skip
    assert drive.impact == pytest.approx(16.37, abs=0.02)
    assert drive.figure("max_impact_speed") == pytest.approx(drive.impact, abs=0.1)
    assert drive.figure("min_speed_reduction") == pytest.approx(20.0 - drive.impact, abs=0.1)
    assert drive.figure("min_braking_ttc") == pytest.approx(0.55, abs=0.06)
    found = drive.verdicts()
    assert found["min_speed_reduction"] is True
    assert (found["max_impact_speed"], found["min_braking_ttc"]) == (False, False)
    assert "min_headway" not in found, "without a limit there is no verdict"


def test_an_ego_that_meets_a_car_without_braking_does_not_brake_in_time() -> None:
    drive = Drive(31.0, 20.0, 0.0, min_braking_ttc=0.5)
    assert drive.impact == 20.0 and drive.figure("min_braking_ttc") == 0.0
    assert drive.verdicts()["min_braking_ttc"] is False


def test_a_contact_counts_that_the_next_one_has_replaced() -> None:
    """Between two looks the ego meets the other, and the other meets an obstacle."""
    referee = judge(max_impact_speed=5.0)
    for time, place, contacts in ((0, 93.0, 0), (PERIOD, 94.95, 2)):
        latest: dict[str, Any] = {
            "odometry/ego": Sample(time, 0, odometry(place, 20.0)),
            "odometry/other": Sample(time, 0, odometry(99.0, 0.0)),
            "collision": Sample(time, contacts - 1, CollisionEvent(2, 101, 1.0))
            if contacts
            else None,
        }
        referee.activate(Step(time, {}, latest))
    (found,) = (v for v in referee.report().verdicts or () if v["name"] == "max_impact_speed")
    assert found["value"] == pytest.approx(20.0) and not found["passed"]
    assert found["pair"] == ["ego", "other"]


def test_without_a_contact_there_is_nothing_to_reduce() -> None:
    drive = Drive(
        60.0, 20.0, 0.0, brakes=1.0, max_impact_speed=0.0, min_speed_reduction=20.0,
        max_avoidable_contacts=0.0, min_headway=0.5, min_post_encroachment=1.0,
    )  # fmt: skip
    assert drive.figure("max_impact_speed") == 0.0
    assert drive.figure("min_speed_reduction") is None
    found = drive.verdicts()
    assert found.pop("min_headway")
    assert found and all(found[name] for name in found if name not in ("no_collision", "min_gap_m"))
    # 40 m when it brakes, and 1.8 s later 13.7 m at 9.2 m/s.
    assert drive.figure("min_headway") == pytest.approx(13.72 / 9.2, abs=0.01)


def test_what_is_passed_beside_has_a_lateral_clearance() -> None:
    drive = Drive(20.0, 20.0, 5.0, aside=3.2, min_lateral_clearance=1.0)
    assert drive.figure("min_lateral_clearance") == pytest.approx(3.2 - WIDTH, abs=1e-6)
    assert drive.verdicts()["min_lateral_clearance"] is True
    behind = Drive(20.0, 20.0, 20.0)
    assert behind.figure("min_lateral_clearance") is None


@pytest.mark.parametrize(
    ("gap", "avoidable"), [(12.0, 0), (17.0, 0), (25.0, 1), (60.0, 1)], ids=str
)
def test_a_contact_is_the_egos_if_the_careful_driver_avoids_it(gap: float, avoidable: int) -> None:
    """A vehicle comes in 10 m/s slower with 1 m/s; the driver needs about 19 m, and ego sleeps."""
    drive = Drive(gap, 30.0, 20.0, aside=3.5, across=1.0, max_avoidable_contacts=0.0)
    assert drive.impact is not None
    assert drive.figure("max_avoidable_contacts") == avoidable
    assert drive.verdicts()["max_avoidable_contacts"] == (avoidable == 0)


def test_a_sudden_obstacle_is_nobodys_fault_and_a_standing_queue_is() -> None:
    assert Drive(20.0, 30.0, 0.0).figure("max_avoidable_contacts") == 0
    # In the lane from the start, and 2 s away: 12 m/s are gone in 20 m.
    assert Drive(60.0, 12.0, 0.0).figure("max_avoidable_contacts") == 1


def test_limits_are_straight_between_5_and_20_metres_a_second() -> None:
    for ends, at in ((ACCELERATION, 3.0), (DECELERATION, 4.25), (JERK, 3.75)):
        assert limit_at(0.0, ends) == limit_at(5.0, ends) == ends[0]
        assert limit_at(20.0, ends) == limit_at(60.0, ends) == ends[1]
        assert limit_at(12.5, ends) == pytest.approx(at)


@given(brake=st.floats(0.1, 9.0), seconds=st.integers(3, 8))
def test_a_steady_brake_uses_its_share(brake: float, seconds: int) -> None:
    """From 100 m/s, so that the limits are those of high speed: deceleration, or its onset."""
    envelope = AccEnvelope()
    for step in range(10 * seconds):
        now = max(0.0, step * 0.1 - 1.5)
        envelope.add("ego", step * PERIOD, 100.0 - brake * now)
    mean = brake if seconds >= 4 else brake * (0.1 * (10 * seconds - 1) - 1.5) / 2.0
    assert envelope.share == pytest.approx(max(mean / 3.5, brake / 2.5), rel=1e-6)


@pytest.mark.parametrize(("limit", "passed"), [(1.0, False), (20.0, True)])
def test_the_share_of_the_limits_may_be_a_verdict(limit: float, passed: bool) -> None:
    drive = Drive(60.0, 20.0, 0.0, brakes=1.0, max_acc_share=limit)
    assert drive.figure("max_acc_share") > 1.0
    assert drive.verdicts()["max_acc_share"] is passed


def test_acceleration_counts_at_once() -> None:
    envelope = AccEnvelope()
    for step in range(20):
        envelope.add("ego", step * PERIOD, 30.0 + 0.1 * step * 3.0)
    assert envelope.share == pytest.approx(1.5)


def test_the_library_can_be_assessed(tmp_path) -> None:
    """The cut-in of the library: a driver who does not brake is to blame, and a careful one not."""
    limits = "{max_avoidable_contacts: 0, max_impact_speed: 0, min_braking_ttc: 0.5}"
    changes = ["duration=6s", "platoon.vehicles=2", "parameters.law=r157_careful"]
    changes += ["parameters.slower=18", "platoon.controller.set_speed=25"]
    changes += [f"participants.referee.parameters.assessment={limits}"]
    seen = []
    for more in (
        [],
        ["platoon.controller.law=cruise_control", "platoon.controller.emergency.trigger=100"],
    ):
        scenario = load_scenario(library_file("cut_in"), [*changes, *more])
        summary = run_inproc(scenario, tmp_path / str(len(seen)), record=False)
        found = {verdict.name: verdict for verdict in summary.verdicts}
        seen.append(found["max_avoidable_contacts"].value)
        assert ("max_impact_speed" in found) and (summary.figures or {})["referee"]["min_headway"]
        assert found["max_impact_speed"].passed == (summary.collisions == 0)
    assert seen == [0, 1]
