# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""V2X sensors in process: when CAMs are sent, what they say, and what arrives."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sensor_bench import HEADER, Bench

from ros2_cosim.driving.v2v.radio import Radio, RadioSettings
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.sensing.cam_message import MOST_TEXT
from ros2_cosim.world.headless.sensing.path_loss import (
    GEOMETRIC,
    WINNER,
    KnifeEdge,
    Link,
    PathState,
    Propagation,
)
from ros2_cosim.world.headless.sensing.v2x import link_between
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import CallError

CAM, CUSTOM = "sensor.other.v2x", "sensor.other.v2x_custom"
ROOF = Transform(Vector(0.0, 0.0, 2.0))
#: A sharp limit: no fading.
SURE: dict[str, Any] = {"use_etsi_fading": "false"}
#: Bytes of a CAM and of a text, with their power.
CAM_SIZE, TEXT_SIZE = 464, 136
_HEAD = struct.Struct("<f4x3q2q2q")  # power; version, kind, station; time, type; place


def _split(message: bytes, size: int) -> list[bytes]:
    body = message[HEADER:]
    assert body and len(body) % size == 0
    return [body[n : n + size] for n in range(0, len(body), size)]


class Pair:
    """Two cars with a sensor each."""

    def __init__(self, kind: str = CAM, gap: float = 30.0, **attributes: Any) -> None:
        self.bench = Bench(0.05)
        self.one, self.two = self.bench.car(100.0), self.bench.car(100.0 + gap)
        both = SURE | attributes
        self.first = self.bench.sensor(kind, ROOF, self.one, **both)
        self.second = self.bench.sensor(kind, ROOF, self.two, **both)

    def heard(self, sensor: int, size: int = CAM_SIZE) -> list[bytes]:
        return [
            part for message in self.bench.messages.get(sensor, ())
            for part in _split(message, size)
        ]  # fmt: skip


def test_a_standing_car_sends_once_a_second_and_says_where_it_is() -> None:
    pair = Pair()
    pair.bench.run(61)
    messages = pair.bench.messages[pair.first]
    frames = [int.from_bytes(m[8:16], "little") for m in messages]
    assert [b - a for a, b in zip(frames, frames[1:], strict=False)] == [20] * 3
    assert {m[0] for m in messages} == {20}
    cams = pair.heard(pair.first)
    power, version, kind, station, _, car, latitude, longitude = _HEAD.unpack_from(cams[0])
    assert (version, kind, station, car) == (2, 2, pair.two, 5)
    assert -90.0 < power < 0.0
    # The road runs along x at 49 degrees: a metre is 136.98 tenths of a microdegree of longitude.
    west = _HEAD.unpack_from(pair.heard(pair.second)[0])[7]
    assert latitude // 10_000_000 == 49
    assert longitude - west == pytest.approx(30.0 * 136.98, rel=0.01)
    often = struct.unpack_from("<q15q", cams[0], 8 + 24 + 72)
    assert often[:9] == (1, 900, 10, 0, 3, 0, 48, 4, 22)
    seldom = struct.unpack_from("<qqB", cams[0], 8 + 24 + 72 + 304)
    assert seldom == (1, 0, 0)


def test_a_car_that_speeds_up_sends_whenever_its_speed_has_changed_by_half_a_metre() -> None:
    pair = Pair()
    pair.bench.run(20)
    pair.bench.messages.clear()
    pair.bench.simulation.world.apply_control(pair.two, VehicleControl(1.0, 0.0, 0.0))
    pair.bench.run(40)
    assert 12 <= len(pair.heard(pair.first)) <= 20
    assert len(pair.heard(pair.second)) <= 3


def test_fixed_rates_and_intervals_hold() -> None:
    pair = Pair(fixed_rate="true", gen_cam_min=0.2)
    pair.bench.run(40)
    assert len(pair.heard(pair.first)) == 10


def test_the_same_drive_gives_the_same_bytes() -> None:
    def drive() -> dict[int, list[bytes]]:
        pair = Pair(use_etsi_fading="true", noise_seed=3, noise_lat_stddev=1e-5, transmit_power=-8)
        pair.bench.simulation.world.apply_control(pair.two, VehicleControl(1.0, 0.0, 0.0))
        pair.bench.run(60)
        return {number: pair.bench.messages[number] for number in (pair.first, pair.second)}

    assert drive() == drive()


def test_a_road_side_unit_and_a_walker_say_what_they_are() -> None:
    pair = Pair()
    place = Transform(Vector(110.0, 12.0, 0.0))
    box = pair.bench.sensor("static.prop.box01", place)
    walker = pair.bench.sensor("walker.pedestrian.0002", Transform(Vector(112.0, 14.0, 1.0)))
    for owner in (box, walker):
        pair.bench.sensor(CAM, ROOF, owner, **SURE)
    pair.bench.run(1)
    said = {_HEAD.unpack_from(cam)[3]: _HEAD.unpack_from(cam)[5] for cam in pair.heard(pair.first)}
    assert said == {pair.two: 5, box: 15, walker: 1}
    kinds = {
        _HEAD.unpack_from(cam)[3]: struct.unpack_from("<q", cam, 104)[0]
        for cam in pair.heard(pair.first)
    }
    assert kinds == {pair.two: 1, box: 2, walker: 0}


def _say(pair: Pair, sensor: int, text: str) -> Any:
    return ALL.call(pair.bench.simulation, "send", [sensor, text])


def test_texts_arrive_in_the_next_frame_only() -> None:
    pair = Pair(CUSTOM)
    pair.bench.run(2)
    assert not pair.bench.messages.get(pair.second)
    _say(pair, pair.first, "x" * MOST_TEXT)
    pair.bench.run(3)
    [text] = pair.heard(pair.second, TEXT_SIZE)
    power, version, kind, station = struct.unpack_from("<f4x3q", text)
    assert (version, kind, station) == (2, 0, pair.one) and power < 0.0
    assert text[32:132] == b"x" * MOST_TEXT + b"\0"
    assert not pair.bench.messages.get(pair.first)


def test_what_cannot_be_sent_is_said() -> None:
    pair = Pair(CUSTOM)
    for sensor, text, said in (
        (pair.first, "x" * 100, "message of 100 bytes; allowed are 99"),
        (pair.first, "a\0b", "without a zero"),
        (pair.one, "x", f"is not a '{CUSTOM}'"),
    ):
        assert said in str(_say(pair, sensor, text))


def test_far_or_weak_is_not_heard() -> None:
    for attributes in (
        {"gap": 600.0}, {"filter_distance": 29.0}, {"transmit_power": -60.0},
    ):  # fmt: skip
        pair = Pair(**attributes)
        pair.bench.run(30)
        assert not pair.bench.messages.get(pair.first), attributes


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("path_loss_model", "okumura", "found 'okumura'; allowed is winner, geometric, nakagami"),
        ("scenario", "moon", "found 'moon'; allowed is highway, rural, urban"),
        ("frequency_ghz", 0, "found 0; allowed is 0.1 to 100"),
        ("path_loss_model", "nakagami", "which only cosim carla-headless has"),
    ],
)
def test_wrong_attributes_are_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(CallError, match=said):
        Pair(**{name: value})


def _radio(power: float, sensitivity: float) -> Radio:
    return Radio(RadioSettings(power=power, sensitivity=sensitivity))


def test_the_projects_radio_gives_its_own_chances() -> None:
    bench = Bench(0.1)
    bench.simulation.sensors.radio = _radio
    one, two = bench.car(100.0), bench.car(400.0)
    mean = _radio(31.5, -90.0).mean_power(300.0)
    limit = 10.0 * math.log10(mean)
    own = SURE | {"path_loss_model": "nakagami", "fixed_rate": "true"}
    own["receiver_sensitivity"] = f"{limit:.3f}"
    bench.sensor(CAM, ROOF, one, **own)
    second = bench.sensor(CAM, ROOF, two, **own)
    bench.run(300)
    chance = _radio(31.5, limit).reception(mean, 0.0)
    assert 0.1 < chance < 0.9
    heard = len(bench.messages[second]) / 300.0
    assert heard == pytest.approx(chance, abs=4.0 * math.sqrt(chance * (1.0 - chance) / 300.0))


def test_a_truck_between_is_a_knife_edge_and_a_container_blocks() -> None:
    pair = Pair(gap=60.0)
    simulation = pair.bench.simulation
    world, scene = simulation.world, simulation.sensors.scene

    def state() -> PathState:
        own, other = world.actors[pair.one], world.actors[pair.two]
        return link_between(world, scene(world), other, own).state

    assert state() is PathState.CLEAR
    pose = Transform(Vector(130.0, 5.25, 0.0), Rotation())
    truck = world.spawn("vehicle.carlamotors.european_hgv", pose)
    assert state() is PathState.VEHICLES
    world.destroy(truck.id)
    assert state() is PathState.CLEAR
    world.spawn("static.prop.container", pose)
    assert state() is PathState.BLOCKED


def _propagation(model: str, scenario: str = "highway") -> Propagation:
    return Propagation(model, scenario, 5.9, 2.7, 1.0, None)


@pytest.mark.parametrize(
    ("scenario", "state", "loss"),
    [
        ("highway", PathState.CLEAR, 32.4 + 20 * 2 + 20 * math.log10(5.9)),
        ("urban", PathState.CLEAR, 38.77 + 16.7 * 2 + 18.2 * math.log10(5.9)),
        ("urban", PathState.BLOCKED, 36.85 + 30 * 2 + 18.9 * math.log10(5.9)),
    ],
)
def test_winner_is_the_formula_of_the_standard(
    scenario: str, state: PathState, loss: float
) -> None:
    link = Link(100.0, (1.5, 1.5), state, ())
    assert _propagation(WINNER, scenario).loss(link) == pytest.approx(loss, rel=1e-12)


@given(st.floats(5.0, 500.0))
def test_two_rays_stay_near_free_space(distance: float) -> None:
    """The sum of two rays is at most twice one of them: 6 dB better; it may cancel."""
    link = Link(distance, (1.5, 1.5), PathState.CLEAR, ())
    free = 20.0 * math.log10(4.0 * math.pi * distance * 5.9e9 / 299_792_458.0)
    assert _propagation(GEOMETRIC).loss(link) > free - 6.1


def test_a_knife_edge_in_the_line_of_sight_costs_six_decibel() -> None:
    """J(0) of the knife edge is 6 dB."""
    clear = Link(100.0, (1.5, 1.5), PathState.VEHICLES, ())
    edge = clear._replace(edges=(KnifeEdge(50.0, 50.0, 0.0),))
    for model in (WINNER, GEOMETRIC):
        p = _propagation(model)
        assert p.loss(edge) - p.loss(clear) == pytest.approx(6.03, abs=0.01)
