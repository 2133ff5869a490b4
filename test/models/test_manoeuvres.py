# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Manoeuvres as data: speed profiles, conditions, files, drive cycles."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.manoeuvres import LARGEST_SPEED, Action, CycleName, Manoeuvre
from ros2_cosim.core.scene.scene import DriverSettings
from ros2_cosim.world.drivers.leader_driver import LeaderDriver
from ros2_cosim.world.drivers.manoeuvres import ManoeuvreRun, Room, plan_manoeuvre
from ros2_cosim.world.drivers.speed_profiles import (
    Multitone,
    Oscillation,
    SpeedCourse,
    Table,
    check_cycle,
    drive_cycle,
)
from ros2_cosim.world.vehicle import SEDAN, ActuatorCommand, Vehicle

NS = 1_000_000_000


def run_of(
    actions: list[dict[str, Any]], speed: float = 20.0, directory: Path = Path()
) -> ManoeuvreRun:
    parsed: tuple[Action, ...] = TypeAdapter(Manoeuvre).validate_python(actions)
    return ManoeuvreRun(plan_manoeuvre(parsed, directory, "manoeuvre"), speed)


def alone(of: str | None) -> Room | None:
    """Nothing is near."""


def speeds(run: ManoeuvreRun, times: list[float]) -> list[float]:
    return [run.update(round(t * NS), 0.0, alone).motion.speed for t in times]


def test_actions_follow_each_other_without_drift() -> None:
    run = run_of([{"constant": "2s"}, {"ramp": {"speed": 25, "acceleration": 2}}, {"ramp": {
        "speed": 10, "acceleration": 5}}])  # fmt: skip
    # Asked at 0.3 s, never at the end of an action: the ends are those that were written.
    times = [0.3 * k for k in range(40)]
    expected = [
        20.0 if t <= 2 else 20 + 2 * (t - 2) if t <= 4.5 else max(10.0, 25 - 5 * (t - 4.5))
        for t in times
    ]
    assert speeds(run, times) == pytest.approx(expected, abs=1e-9)


def test_without_actions_the_speed_is_held() -> None:
    assert speeds(run_of([], 13.0), [0.0, 5.0, 1e4]) == [13.0] * 3


@pytest.mark.parametrize(
    "profile",
    [
        Oscillation(20.0, 1.5, 0.2, 0.0, 10.0),
        Oscillation(20.0, 1.5, 0.05, 0.02, 30.0),
        Multitone(20.0, 0.4, 32.0, (1, 2, 3, 5, 8, 13), 32.0),
        drive_cycle("nedc"),
    ],
    ids=["sine", "sweep", "multisine", "nedc"],
)
def test_the_acceleration_is_the_derivative_of_the_speed(profile: SpeedCourse) -> None:
    h = 1e-5
    for i in range(1, 200):
        t = (i + 0.37) / 201.0 * profile.duration
        slope = (profile.at(t + h).speed - profile.at(t - h).speed) / (2 * h)
        assert profile.at(t).acceleration == pytest.approx(slope, abs=1e-4)


def test_a_sweep_ends_at_its_frequency() -> None:
    profile = Oscillation(20.0, 1.0, 0.1, 0.01, 40.0)
    turns = [k for k in range(4000) if profile.at(k / 100).acceleration > 0.0 >= profile.at(
        (k + 1) / 100).acceleration]  # fmt: skip
    assert len(turns) == pytest.approx(0.1 * 40 + 0.5 * 0.01 * 40**2, abs=1)
    assert (turns[-1] - turns[-2]) / 100 == pytest.approx(1 / 0.49, rel=0.05)


@pytest.mark.parametrize(
    ("name", "seconds", "metres", "fastest"),
    [("ece15", 195, 1013.0, 50), ("eudc", 400, 6955.0, 120), ("nedc", 1180, 11_007.0, 120)],
)
def test_drive_cycles_are_as_long_as_published(
    name: str, seconds: int, metres: float, fastest: float
) -> None:
    cycle = drive_cycle(name)
    assert cycle.duration == seconds
    way = math.fsum(0.1 * cycle.at(0.1 * k + 0.05).speed for k in range(10 * seconds))
    assert way == pytest.approx(metres, rel=2e-3)
    assert max(cycle.at(0.5 * k).speed for k in range(2 * seconds)) == pytest.approx(fastest / 3.6)
    assert cycle.at(0.0).speed == cycle.at(float(seconds)).speed == 0.0


@pytest.mark.parametrize("name", sorted(LARGEST_SPEED.keys() - {"wltc_3b"}))
def test_the_largest_speed_of_a_cycle_is_that_of_its_table(name: CycleName) -> None:
    assert drive_cycle(name).largest == pytest.approx(LARGEST_SPEED[name], abs=1e-9)


def test_stop_and_go() -> None:
    run = run_of([{"stop_and_go": {"speed": 10, "deceleration": 2, "acceleration": 1, "stop": "3s",
                                   "go": "2s", "cycles": 2}}], 20.0)  # fmt: skip
    found = speeds(run, [5.0, 12.0, 18.0, 23.0, 24.5, 27.5, 30.5, 33.0, 45.0])
    assert found == pytest.approx([10.0, 0.0, 5.0, 10.0, 10.0, 5.0, 0.0, 0.0, 10.0])


@pytest.mark.parametrize(
    ("condition", "begins"),
    [
        ({"time": "3s"}, 3.0),
        ({"distance": 50.0}, 2.5),
        ({"gap": 12.0}, 4.0),
        ({"ttc": 2.0}, 8.0),
        ({"gap": 6.0, "of": "other"}, 7.0),
    ],
)
def test_a_condition_interrupts_what_is_under_way(condition: dict[str, Any], begins: float) -> None:
    run = run_of(
        [{"constant": "100s"}, {"when": condition, "ramp": {"speed": 0.0, "acceleration": 2.0}}]
    )
    first = None
    for k in range(200):
        t = 0.1 * k

        def look(of: str | None, t: float = t) -> Room | None:
            if of == "other":
                return Room(20.0 - 2.0 * t, -2.0)
            return Room(20.0 - 2.0 * t, 2.0)

        motion = run.update(round(t * NS), 20.0 * t, look).motion
        if first is None and motion.acceleration < 0.0:
            first = t
    assert first == pytest.approx(begins, abs=1e-9)


def test_what_cannot_be_seen_fulfils_no_condition() -> None:
    run = run_of([{"when": {"gap": 50.0}, "ramp": {"speed": 0.0, "acceleration": 1.0}}])
    assert speeds(run, [0.0, 50.0]) == [20.0, 20.0]
    away = run_of([{"when": {"ttc": 9.0}, "ramp": {"speed": 0.0, "acceleration": 1.0}}])
    assert away.update(NS, 0.0, lambda of: Room(1.0, -1.0)).motion.acceleration == 0.0


def test_a_lane_change_is_ordered_once_and_lasts() -> None:
    run = run_of([{"lane_change": {"lane": -1, "duration": "3s"}}, {"ramp": {"speed": 22,
                 "acceleration": 1}}])  # fmt: skip
    orders = [run.update(k * NS // 2, 0.0, alone) for k in range(12)]
    assert [k for k, order in enumerate(orders) if order.lane_change is not None] == [0]
    assert orders[6].motion.speed == 20.0 and orders[10].motion.speed == pytest.approx(22.0)


@given(st.lists(st.tuples(st.floats(0.01, 50.0), st.floats(0.0, 60.0)), min_size=2, max_size=20))
def test_a_table_passes_through_its_points(points: list[tuple[float, float]]) -> None:
    times = [math.fsum(gap for gap, _ in points[: i + 1]) for i in range(len(points))]
    table = Table(times, [speed for _, speed in points])
    for time, (_, speed) in zip(times, points, strict=True):
        assert table.at(time - times[0]).speed == pytest.approx(speed, abs=1e-6)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_speed_file_is_read_with_its_unit(tmp_path: Path, separator: str) -> None:
    lines = ["Time s", separator.join(("seconds", "speed")), *(
        separator.join(map(str, row)) for row in ((10, 36.0), (12, 72.0), (13.5, 72.0))
    )]  # fmt: skip
    (tmp_path / "v.csv").write_text("\n".join(lines) + "\n")
    run = run_of([{"csv": {"file": "v.csv", "unit": "km/h"}}], 10.0, tmp_path)
    assert speeds(run, [0.0, 1.0, 2.0, 9.0]) == pytest.approx([10.0, 15.0, 20.0, 20.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,v\n0,1\n", "found 1 rows of time and speed; allowed are 2 or more"),
        ("0,1\n1,x\n", "line 2, column 'speed': found 'x'; allowed is a number"),
        ("0,1\n0,2\n", "line 2, column 'time': found '0'; allowed is a time that is later"),
        ("0,1\n1,-2\n", "line 2, column 'speed': found '-2'; allowed is a speed of 0 to 100 m/s"),
        ("0,1\n1,nan\n", "line 2, column 'speed': found 'nan'; allowed is a finite number"),
        ("0,1\n1e99,2\n", "line 2, column 'time': found '1e99'; allowed is a time in seconds"),
        ("0,1\n\n1\n", "line 3, column 'speed': found ''; allowed is a number"),
        ("0;1,5\n1;2\n", "line 1, column 'speed': found '1,5'; allowed is a number, as 1.5"),
        ("s;v\n0,0;1,5\n1,0;2,0\n", "line 2, column 'time': found '0,0'; allowed is a time in sec"),
    ],
)
def test_wrong_speed_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        run_of([{"csv": {"file": "v.csv"}}], 10.0, tmp_path)
    assert message in str(caught.value) and "manoeuvre.0.csv.file: " in str(caught.value)


FIELD = """\
Date,8,10,2019
Vehicle_order,TARGET,FOLLOWER
ACC,1
Time,Speed1,E1,Speed2,IVS1
0.2,11.0,1.0,11.1,12.0
0.3,11.5,2.0,,12.0
0.4,,3.0,,
0.6,13.0,5.0,11.2,12.2
"""


def test_a_recorded_leader_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    (tmp_path / "field.csv").write_text(FIELD)
    file = {"file": "field.csv", "speed": "Speed1"}
    for named in (file, {**file, "time": "Time"}):
        run = run_of([{"csv": named}], 11.0, tmp_path)
        # Times are whole nanoseconds: 0.3 - 0.2 is 0.1. The missed row lies on the line.
        assert speeds(run, [0.0, 0.1, 0.2, 0.4, 9.0]) == [
            11.0, 11.5, 11.5 + 0.1 * (13.0 - 11.5) / 0.3, 13.0, 13.0,
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"speed": "Speed9"}, "found no head line with the columns Speed9; the line with the most"),
        ({"speed": "Speed1", "time": "E1"}, "line 5, column 'E1': found '1.0 m'; allowed is a"),
    ],
)
def test_wrong_columns(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    (tmp_path / "field.csv").write_text(FIELD.replace(",1.0,", ",1.0 m,"))
    with pytest.raises(ConfigurationError) as caught:
        run_of([{"csv": {"file": "field.csv", **columns}}], 10.0, tmp_path)
    assert message in str(caught.value)


def test_a_speed_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="v.csv: No such file"):
        run_of([{"csv": {"file": "v.csv"}}], 10.0, tmp_path)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({}, "found no action; allowed is one of constant, ramp"),
        (
            {"constant": "1s", "cycle": "nedc"},
            "found constant and cycle; allowed is one of",
        ),
        ({"ramps": {}}, "manoeuvre.0.ramps: unknown key; did you mean 'ramp'?"),
        ({"cycle": "wltc"}, "manoeuvre.0.cycle: found 'wltc'; allowed is 'nedc'"),
        ({"when": {"gap": 1, "ttc": 1}, "constant": "1s"}, "allowed is one of time, distance"),
        (
            {"when": {"time": "1s", "of": "x"}, "constant": "1s"},
            "'of' belongs to gap, ttc and past",
        ),
        ({"ramp": {"speed": 200, "acceleration": 1}}, "ramp.speed: found 200; allowed is"),
    ],
)
def test_wrong_actions(action: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_section(DriverSettings, {"manoeuvre": [action]}, place="driver")
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_the_driver_follows_a_motion_as_the_vehicle_can() -> None:
    vehicle = Vehicle(SEDAN, speed=25.0)
    driver = LeaderDriver(SEDAN, cruise_speed=25.0)
    run = run_of([{"constant": "2s"}, {"sine": {"amplitude": 1.0, "period": "8s", "cycles": 3}},
                  {"ramp": {"speed": 0.0, "acceleration": 6.0}}], 25.0)  # fmt: skip
    worst = 0.0
    for k in range(4000):
        motion = run.update(k * 10_000_000, 0.0, alone).motion
        if k < 2600:
            worst = max(worst, abs(vehicle.vx - motion.speed))
        command = driver.follow(vehicle.vx, motion.speed, motion.acceleration)
        vehicle.step(0.01, ActuatorCommand(command.throttle, command.brake))
    assert worst < 0.12
    assert vehicle.vx == 0.0 and command.acceleration == 0.0 and command.brake > 0.2


def test_the_driver_stops_before_an_obstacle_whatever_the_manoeuvre_says() -> None:
    vehicle = Vehicle(SEDAN, speed=25.0)
    driver = LeaderDriver(SEDAN, cruise_speed=25.0)
    for _ in range(3000):
        command = driver.follow(vehicle.vx, 25.0, 0.0, 250.0 - vehicle.distance)
        vehicle.step(0.01, ActuatorCommand(command.throttle, command.brake))
    assert vehicle.vx == 0.0
    assert 250.0 - vehicle.distance == pytest.approx(7.0, abs=0.3)


def schedule(duration: int, distance: float, largest: float, scale: float = 1.0) -> str:
    """A speed for each second with these figures: it rests, and holds its largest speed between."""
    held = int(distance / largest)
    rest = distance - held * largest
    speeds = [0.0, *[largest] * held, rest, *[0.0] * (duration - held - 1)]
    return "\n".join(f"{t},{v * scale!r}" for t, v in enumerate(speeds)) + "\n"


PUBLISHED = {
    "wltc_3b": ("km/h", 3.6, (1800, 23_266.0, 131.3 / 3.6)),
    "udds": ("mph", 1.0 / 0.44704, (1369, 7.45 * 1609.344, 56.7 * 0.44704)),
    "hwfet": ("mph", 1.0 / 0.44704, (765, 10.26 * 1609.344, 59.9 * 0.44704)),
    "ftp75": ("mph", 1.0 / 0.44704, (1874, 11.04 * 1609.344, 56.7 * 0.44704)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_table_of_a_cycle_is_compared_with_what_is_published(name: str, tmp_path: Path) -> None:
    unit, scale, figures = PUBLISHED[name]
    action = [{"csv": {"file": "cycle.csv", "unit": unit, "cycle": name}}]
    (tmp_path / "cycle.csv").write_text(schedule(*figures, scale))
    run_of(action, 0.0, tmp_path)
    duration, distance, largest = figures
    for wrong, what in (
        ((duration - 1, distance, largest), "a duration of"),
        ((duration, distance + 40.0, largest), "a distance of"),
        ((duration, distance, largest + 0.1), "a largest speed of"),
    ):
        (tmp_path / "cycle.csv").write_text(schedule(*wrong, scale))
        with pytest.raises(ConfigurationError, match=f"found {what} .*; the cycle {name} has"):
            run_of(action, 0.0, tmp_path)


@pytest.mark.parametrize("name", ["udds", "hwfet", "ftp75"])
def test_the_tables_of_the_epa_are_those_that_are_published(name: str) -> None:
    table = drive_cycle(name)
    check_cycle(table, name, name)
    assert table.at(0.0).speed == table.at(table.duration).speed == 0.0
    if name != "hwfet":
        # 40 CFR part 86, appendix I: it stands for 20 s, then 3.0, 5.9, 8.6 miles/h.
        begin = [table.at(float(second)).speed / 0.44704 for second in (20, 21, 22, 23)]
        assert begin == pytest.approx([0.0, 3.0, 5.9, 8.6])
    if name == "ftp75":
        assert table.at(1369.0 + 23.0).speed == table.at(23.0).speed, "the hot start"


def test_the_wltc_comes_with_a_package_of_the_european_commission(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stand-in for the package: the project does not contain the table."""
    duration, distance, largest = PUBLISHED["wltc_3b"][2]
    right = [float(line.split(",")[1]) * 3.6 for line in
             schedule(duration, distance, largest).splitlines()]  # fmt: skip

    def install(speeds: list[float]) -> None:
        module = ModuleType("wltp.cycles.class3")
        vars(module)["class_data_b"] = lambda: {"cycle": speeds}
        for name in ("wltp", "wltp.cycles"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, module.__name__, module)

    install(right)
    table = drive_cycle("wltc_3b")
    assert table.duration == 1800.0 and table.largest == pytest.approx(131.3 / 3.6)
    install(right[:-1])
    with pytest.raises(ConfigurationError, match="cycle: found a duration of 1799 s; the cycle"):
        drive_cycle("wltc_3b")
    for name in ("wltp", "wltp.cycles", "wltp.cycles.class3"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigurationError, match="run 'pip install --no-deps wltp==0.1.2a0'"):
        drive_cycle("wltc_3b")


def test_a_vehicle_is_passed_when_it_is_so_far_behind() -> None:
    action = {"when": {"past": 12.0, "of": "slow"}, "ramp": {"speed": 0.0, "acceleration": 1.0}}
    for room, begins in (
        (Room(20.0, 5.0, True), False),
        (Room(11.9, -5.0, False), False),
        (Room(12.0, -5.0, False), True),
        (None, False),
    ):
        order = run_of([action], 20.0).update(NS, 20.0, lambda of, room=room: room)
        assert (order.motion.acceleration < 0.0) is begins


def test_what_is_passed_has_a_name() -> None:
    with pytest.raises(ValidationError, match="past: allowed with 'of', the vehicle that is"):
        run_of([{"when": {"past": 5.0}, "ramp": {"speed": 0.0, "acceleration": 1.0}}], 20.0)
