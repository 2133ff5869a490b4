# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The session that all run modes share: latch, actuator, vehicle, sensor."""

from __future__ import annotations

import threading
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.headless_process import HIGHWAY

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.actuator import Actuator, ActuatorLimits, ActuatorSettings, DelayLine
from ros2_cosim.vds.fleet import (
    Fleet,
    SessionSettings,
    VehicleSession,
    state_bytes,
    state_from_bytes,
)
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.vehicle_plant import (
    NEUTRAL,
    REVERSE,
    PlantState,
    TyreForces,
    VehicleCommand,
    VehiclePlant,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import SEDAN, TRUCK, ActuatorCommand, Vehicle

MS = 1_000_000


class Counter:
    """A plant whose state is the number of its steps, and which keeps its commands."""

    def __init__(self) -> None:
        self.commands: list[VehicleCommand] = []

    def step(self, command: VehicleCommand, dt_ns: int) -> None:
        self.commands.append(command)

    def state(self) -> PlantState:
        zero = (0.0, 0.0, 0.0, 0.0)
        return PlantState(float(len(self.commands)), *[0.0] * 13, zero, 0.0, 1.0, zero)

    def forces(self) -> TyreForces:
        return TyreForces((0.0, 0.0, 0.0, 0.0), 0.0)


@given(
    st.integers(0, 50),
    st.lists(st.integers(0, 10), min_size=1, max_size=40),
)
def test_a_delay_line_shows_the_newest_value_that_is_old_enough(
    delay: int, gaps: list[int]
) -> None:
    line: DelayLine[int] = DelayLine(delay, -1)
    entered: list[tuple[int, int]] = []
    time = 0
    for number, gap in enumerate(gaps):
        time += gap
        line.put(time, number)
        entered.append((time, number))
        expected = [n for t, n in entered if t + delay <= time]
        assert line.at(time) == (expected[-1] if expected else -1)


def test_limits_bound_value_and_rate() -> None:
    limits = ActuatorLimits(-1.0, 1.0, 2.0)
    assert limits.follow(0.0, 5.0, 0.1) == 0.2
    assert limits.follow(0.95, 5.0, 0.1) == 1.0
    assert limits.follow(0.0, -5.0, 0.1) == -0.2
    assert ActuatorLimits().follow(0.0, 5.0, 0.1) == 5.0
    for wrong in ((1.0, -1.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, nan)):
        with pytest.raises(ConfigurationError, match="actuator"):
            ActuatorLimits(*wrong)


def test_an_actuator_delays_saturates_and_limits_the_rate() -> None:
    settings = ActuatorSettings(
        delay_ns=15 * MS, steer=ActuatorLimits(-0.5, 0.5, 10.0), throttle=ActuatorLimits(0.0, 0.8)
    )
    actuator = Actuator(settings)
    command = VehicleCommand(steer=1.0, throttle=1.0, brake=2.0, gear=-1)
    seen = [actuator.apply(command, t * 10 * MS, 10 * MS) for t in range(9)]
    # 15 ms are over at 20 ms; the steering then needs five steps of 0.1.
    assert [c.throttle for c in seen] == [0.0, 0.0] + [0.8] * 7
    assert [c.brake for c in seen] == [0.0, 0.0] + [1.0] * 7
    assert [c.gear for c in seen] == [1, 1] + [-1] * 7
    assert [c.steer for c in seen] == pytest.approx([0, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    "command",
    [VehicleCommand(steer=nan), VehicleCommand(throttle=-inf), VehicleCommand(brake=inf)],
)
def test_no_value_that_is_no_number_gets_in(command: VehicleCommand) -> None:
    session = VehicleSession(VehiclePlant(SEDAN))
    before = session.output()
    with pytest.raises(ConfigurationError, match="finite"):
        session.set_input(command)
    with pytest.raises(ConfigurationError, match="finite"):
        Actuator(ActuatorSettings()).apply(command, 0, MS)
    assert session.output() == before


def test_a_tick_uses_the_latched_command_until_the_next_one() -> None:
    plant = Counter()
    session = VehicleSession(plant, SessionSettings(dt_ns=10 * MS))
    session.tick()
    session.set_input(VehicleCommand(throttle=0.1))
    session.set_input(VehicleCommand(throttle=0.2))
    session.tick()
    output = session.tick()
    assert [c.throttle for c in plant.commands] == [0.0, 0.2, 0.2]
    assert (output.time, output.steps) == (30 * MS, 3)
    assert output == session.output()
    assert output.state.x == 3.0


def test_the_sensor_shows_an_older_state() -> None:
    session = VehicleSession(Counter(), SessionSettings(dt_ns=10 * MS, sensor_delay_ns=25 * MS))
    seen = []
    for _ in range(6):
        output = session.tick()
        seen.append((output.measured_time / MS, output.measured.x, output.state.x))
        assert session.measured_state() is output.measured
    # 25 ms are not a multiple of the step: what is seen is between 25 and 35 ms old.
    assert seen == [(0, 0, 1), (0, 0, 2), (0, 0, 3), (10, 1, 4), (20, 2, 5), (30, 3, 6)]


def test_the_plant_is_the_vehicle_of_the_models() -> None:
    plant = VehiclePlant(SEDAN, x=5.0, y=1.0, yaw=0.3, speed=12.0)
    vehicle = Vehicle(SEDAN, 5.0, 1.0, 0.3, 12.0)
    for k in range(200):
        steer = 0.1 if k % 80 < 40 else -0.05
        plant.step(VehicleCommand(steer, 0.4, 0.0), 5 * MS)
        vehicle.step(0.005, ActuatorCommand(0.4, 0.0, steer / SEDAN.max_steer_angle))
    s = plant.state()
    assert (s.x, s.y, s.yaw, s.vx, s.vy) == (
        *(vehicle.x, vehicle.y, vehicle.yaw, vehicle.vx, vehicle.vy),
    )
    assert s.steer == vehicle.steer_angle
    assert s.wheel_spin[2] * s.wheel_radius == pytest.approx(s.vx)
    assert sum(s.wheel_load) == pytest.approx(SEDAN.mass * 9.81)
    assert s.wheel_load[2] - s.wheel_load[0] > 0  # accelerating, or built so


def test_gears() -> None:
    def speed_after(gear: int) -> float:
        plant = VehiclePlant(SEDAN)
        for _ in range(200):
            plant.step(VehicleCommand(throttle=0.5, gear=gear), 5 * MS)
        return plant.state().vx

    assert speed_after(NEUTRAL) == 0.0
    assert speed_after(REVERSE) < -1.0
    assert speed_after(1) == speed_after(5) > 1.0


def test_finite_nonsense_counts_as_the_end_of_the_range() -> None:
    wild, full = VehiclePlant(SEDAN, speed=10.0), VehiclePlant(SEDAN, speed=10.0)
    for _ in range(50):
        wild.step(VehicleCommand(steer=1e308, throttle=1e308, brake=-1e308), 5 * MS)
        full.step(VehicleCommand(steer=SEDAN.max_steer_angle, throttle=1.0), 5 * MS)
    assert wild.state() == full.state()


def test_a_vehicle_follows_the_height_of_a_road() -> None:
    road = RoadNetwork.from_xodr(HIGHWAY.read_text(encoding="utf-8"), "highway")
    x, y, z, heading = road.lane_pose(next(iter(road.roads)), -2, 100.0)
    plant = VehiclePlant(TRUCK, x=x, y=y, yaw=heading, speed=10.0, road=road)
    plant.step(VehicleCommand(), 10 * MS)
    assert plant.state().z == pytest.approx(z, abs=0.1)


def test_states_survive_their_bytes() -> None:
    state = VehiclePlant(SEDAN, x=1.0, yaw=0.5, speed=3.0).state()
    data = b"xx" + state_bytes(state)
    assert state_from_bytes(data, 2) == state


FLEET = {
    "dt": "5ms",
    "vehicles": {
        "b": {"kind": "truck", "x": -20.0, "speed": 10.0, "actuator_delay": "12ms"},
        "a": {"speed": 10.0, "sensor_delay": "20ms", "steer": {"rate": 0.3}},
    },
}


def drive(fleet: Fleet, steps: int) -> None:
    for k in range(steps):
        if k % 20 == 0:
            fleet["a"].set_input(VehicleCommand(0.02 * (k % 3), 0.5, 0.0))
            fleet["b"].set_input(VehicleCommand(0.0, 0.3 if k % 40 else 0.0, 0.2))
        fleet.tick()


def test_a_fleet_gives_the_same_states_every_time_and_everywhere() -> None:
    fleet = read_settings(FLEET, "fleet").fleet()
    drive(fleet, 400)
    assert list(fleet) == ["a", "b"]
    assert {output.steps for output in fleet.outputs().values()} == {400}
    # The digest is the same on every machine: nothing but exact operations takes part.
    golden = "a69e19a6d9440988495ac231212c0a8300627090c502414aeb9359613c3eddde"
    assert fleet.trace_sha256 == golden


def test_vehicles_do_not_depend_on_each_other() -> None:
    both = read_settings(FLEET, "fleet").fleet()
    drive(both, 100)
    alone = read_settings({**FLEET, "vehicles": {"a": FLEET["vehicles"]["a"]}}, "f").fleet()  # type: ignore[index]
    for k in range(100):
        if k % 20 == 0:
            alone["a"].set_input(VehicleCommand(0.02 * (k % 3), 0.5, 0.0))
        alone.tick_one("a")
    assert alone["a"].output() == both["a"].output()


def test_commands_may_come_from_another_thread() -> None:
    session = VehicleSession(VehiclePlant(SEDAN))
    commands = [VehicleCommand(throttle=k / 100, brake=1 - k / 100) for k in range(100)]
    producer = threading.Thread(target=lambda: [session.set_input(c) for c in commands * 20])
    producer.start()
    seen = [session.tick().command for _ in range(500)]
    producer.join()
    # Each tick used one command as it was set, none a mixture.
    assert {(c.throttle, c.brake) for c in seen} <= {
        (0.0, 0.0),
        *((c.throttle, c.brake) for c in commands),
    }
    assert session.tick().command.throttle == 0.99


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"vehicles": {}}, "vehicles"),
        ({"vehicles": {"V": {}}}, "vehicles.V: found .V.; allowed is a text of the form"),
        ({"vehicles": {"v": {"kind": "tank"}}}, "kind"),
        ({"vehicles": {"v": {"speed": "fast"}}}, "speed"),
        ({"vehicles": {"v": {"speed": inf}}}, "finite"),
        ({"vehicles": {"v": {"wings": 2}}}, "wings"),
        ({"dt": 0.005, "vehicles": {"v": {}}}, "dt"),
        ({"dt": "3 parsec", "vehicles": {"v": {}}}, "units"),
    ],
)
def test_wrong_settings_are_named(data: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"here: .*{text}"):
        read_settings(data, "here")


@pytest.mark.parametrize("dt", ["0s", "2s"])
def test_a_step_that_no_vehicle_takes_is_refused(dt: str) -> None:
    with pytest.raises(ConfigurationError, match="step"):
        read_settings({"dt": dt, "vehicles": {"v": {}}}, "here").fleet()


def test_a_fleet_has_one_step() -> None:
    slow = VehicleSession(VehiclePlant(SEDAN), SessionSettings(dt_ns=10 * MS))
    with pytest.raises(ConfigurationError, match="5ms, 10ms"):
        Fleet({"a": VehicleSession(VehiclePlant(SEDAN)), "b": slow})
    with pytest.raises(ConfigurationError, match="no vehicle"):
        Fleet({})
