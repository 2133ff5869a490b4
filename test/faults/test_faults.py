# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of ports: each kind does what it says, once per message, the same in every shape."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from ros2_cosim.core.faults.faulty import Faults
from ros2_cosim.core.faults.manipulators import Fault, FaultyPort, Moment
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Acceleration, DetectedObject, ObjectList
from ros2_cosim.core.run.replay_into import replay_into
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.leave_out import leave_out
from ros2_cosim.core.scenario.schema import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
CAR = CONFIG / "car_following.yaml"
MS = 1_000_000


class Reader(Model):
    """Keeps what it reads; sends the newest."""

    def __init__(self):
        self.seen = []
        self.delivered = []

    def activate(self, step):
        sample = step.latest["in"]
        self.seen.append(None if sample is None else sample.value)
        self.delivered.append(tuple(s.value for s in step.samples.get("in", ())))
        return {} if sample is None else {"out": sample.value}


def port(*settings: dict, seed: int = 1) -> FaultyPort:
    return FaultyPort(
        [
            Fault(
                f"f{n}",
                FaultSettings.model_validate({"port": "p.in", **each}),
                RandomStream(seed, "p", f"fault/f{n}"),
            )
            for n, each in enumerate(settings)
        ]
    )


def push(number: float) -> Acceleration:
    return Acceleration(number, 0.0, 0.0)


def read(*settings: dict, values=(1.0, 2.0, 3.0, 4.0, 5.0), seed: int = 1) -> list:
    """What a model reads at 0, 10 ms, ... of messages that come every 10 ms."""
    reader = Reader()
    model = LayeredModel(reader, [Faults({"in": port(*settings, seed=seed)}, {})])
    for n, value in enumerate(values):
        step = Step(n * 10 * MS, {}, {"in": Sample(n * 10 * MS, n, push(value))})
        model.activate(step)
    return [None if value is None else value.ax for value in reader.seen]


WINDOW = {"from": "10ms", "until": "30ms"}


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"kind": "drop"}, [1.0, 1.0, 1.0, 4.0, 5.0]),
        ({"kind": "freeze"}, [1.0, 1.0, 1.0, 4.0, 5.0]),
        ({"kind": "stuck", "field": "ax"}, [1.0, 1.0, 1.0, 4.0, 5.0]),
        ({"kind": "bias", "field": "ax", "offset": 0.5}, [1.0, 2.5, 3.5, 4.0, 5.0]),
        ({"kind": "replace", "field": "ax", "value": 7}, [1.0, 7.0, 7.0, 4.0, 5.0]),
        ({"kind": "bit_error", "field": "ax", "bit": 63}, [1.0, -2.0, -3.0, 4.0, 5.0]),
        # The second comes when the fourth is there: none overtakes another.
        ({"kind": "delay", "delay": "20ms"}, [1.0, 1.0, 1.0, 2.0, 5.0]),
        (
            {"kind": "bias", "field": "ax", "offset": 10.0, "when": {"field": "ax", "above": 2.5}},
            [1.0, 2.0, 13.0, 4.0, 5.0],
        ),
    ],
)
def test_each_kind_acts_in_its_time(fault, seen):
    assert read({**fault, **WINDOW}) == seen


def test_the_first_message_is_frozen_if_there_was_none_before():
    assert read({"kind": "freeze"}) == [1.0] * 5


def test_a_message_that_is_read_again_is_not_changed_again():
    reader = Reader()
    model = LayeredModel(
        reader, [Faults({"in": port({"kind": "noise", "field": "ax", "std": 1.0})}, {})]
    )
    for n in range(6):
        sample = Sample(0, n // 3, push(float(n // 3)))
        model.activate(Step(n * 10 * MS, {}, {"in": sample}))
    values = [value.ax for value in reader.seen]
    assert values[0] == values[1] == values[2] != 0.0
    assert values[3] == values[4] == values[5] != values[0]
    assert model.report().figures == {"fault.f0": 2}


def test_noise_has_its_deviation_and_its_seed():
    noise = {"kind": "noise", "field": "ax", "std": 2.0}
    values = read(noise, values=[0.0] * 2000)
    assert math.sqrt(sum(v * v for v in values) / 2000) == pytest.approx(2.0, rel=0.05)
    assert values == read(noise, values=[0.0] * 2000)
    assert values != read(noise, values=[0.0] * 2000, seed=2)


def test_a_probability_is_that_of_each_message():
    fault = {"kind": "bias", "field": "ax", "offset": 1.0, "probability": 0.25}
    changed = sum(read(fault, values=[0.0] * 2000))
    assert changed == pytest.approx(500, abs=60)  # three standard deviations


def test_a_drawn_bit_error_turns_one_bit():
    for value in read({"kind": "bit_error", "field": "ax"}, values=[1.5] * 200):
        bits = (int.from_bytes(struct.pack(">d", v), "big") for v in (1.5, value))
        assert bin(next(bits) ^ next(bits)).count("1") == 1


def test_faults_of_a_port_act_one_after_the_other():
    double = [{"kind": "bias", "field": "ax", "offset": 1.0}] * 2
    assert read(*double) == [3.0, 4.0, 5.0, 6.0, 7.0]
    lost = {"kind": "drop", "when": {"field": "ax", "above": 3.5}}
    assert read(double[0], lost) == [2.0, 3.0, 3.0, 3.0, 3.0]


def test_delivered_messages_are_lost_and_late():
    reader = Reader()
    faults = port({"kind": "drop", "until": "15ms"}, {"kind": "delay", "delay": "10ms"})
    model = LayeredModel(reader, [Faults({"in": faults}, {})])
    for n in range(5):
        sample = Sample(n * 10 * MS, n, push(float(n)))
        model.activate(Step(n * 10 * MS, {"in": (sample,)}, {"in": sample}))
    assert [[v.ax for v in each] for each in reader.delivered] == [[], [], [], [2.0], [3.0]]
    assert [v and v.ax for v in reader.seen] == [None, None, None, 2.0, 3.0]


def test_outputs_have_faults_too_and_a_lost_one_stays_silent():
    reader = Reader()
    lost = {"kind": "drop", "when": {"port": "in", "field": "ax", "above": 3.5}}
    faults = port({"kind": "bias", "field": "ax", "offset": 1.0}, lost)
    model = LayeredModel(reader, [Faults({}, {"out": faults})])
    sent = []
    for n in range(1, 6):
        sample = Sample(n, n, push(float(n)))
        sent.append(model.activate(Step(n * 10 * MS, {}, {"in": sample})))
    assert [each["out"].ax if each else None for each in sent] == [2.0, 3.0, 4.0, None, None]


def test_fields_of_lists_are_those_of_all_elements():
    objects = ObjectList(
        tuple(DetectedObject(n, 1, 10.0 * n, 0.0, 0.0, 4.0, 2.0, 1.0) for n in (1, 2))
    )
    blind = port({"kind": "replace", "field": "objects", "value": []}, {"kind": "freeze"})
    far = port({"kind": "bias", "field": "objects.distance", "offset": 5.0})
    moment = Moment(0, {})
    assert blind.passed(objects, moment) == ObjectList(())
    assert [each.distance for each in far.passed(objects, moment).objects] == [15.0, 25.0]


def trace(out: Path, *settings: str, shape: str = "inproc", file: Path = CAR) -> str:
    request = RunRequest(file, set=("duration=2s", *settings), shape=shape, out=out, record=False)
    return run_request(request).trace_sha256


NOISE = "faults={fog: {port: driving.front, kind: noise, field: objects.distance, std: 0.5}}"


def test_a_run_with_faults_is_repeated_and_one_without_is_as_before(tmp_path):
    plain = trace(tmp_path / "plain")
    assert trace(tmp_path / "none", "faults={}") == plain
    late = "faults={l: {port: driving.front, kind: drop, from: 10s}}"
    assert trace(tmp_path / "late", late) == plain
    noisy = trace(tmp_path / "noisy", NOISE)
    assert noisy != plain
    assert trace(tmp_path / "again", NOISE) == noisy
    # The resolved scenario says all: it is read again as it was.
    assert trace(tmp_path / "resolved", file=tmp_path / "noisy" / "scenario.json") == noisy
    assert trace(tmp_path / "other", NOISE, "seed=2") != noisy


def test_a_replay_has_the_faults_of_its_recording(tmp_path):
    settings = ("duration=1s", NOISE, "faults.worn={port: driving.control, kind: freeze}")
    request = RunRequest(CAR, set=settings, shape="inproc", out=tmp_path / "run")
    figures = run_request(request).figures or {}
    # Every message of the front sensor, and every command but none before the first.
    assert figures["driving"] == {"fault.fog": 25, "fault.worn": 50}
    assert replay_into(tmp_path / "run", ["driving"]).equal
    run_request(RunRequest(CAR, set=("duration=1s",), shape="inproc", out=tmp_path / "plain"))
    plain = tmp_path / "plain" / "scenario.json"
    assert not replay_into(tmp_path / "run", ["driving"], scenario=plain).equal


def test_the_trace_is_the_same_in_every_shape(tmp_path, ros_domain):
    faults = (
        "faults={fog: {port: driving.front, kind: noise, field: objects.distance, std: 0.5}, "
        "late: {port: driving.own, kind: delay, delay: 30ms, from: 500ms}, "
        "worn: {port: traffic.odometry/ego, kind: bias, field: vx, offset: 0.5, probability: 0.5}, "
        "gap: {port: rear_sensor.target, kind: drop, when: {field: x, above: 0.0}}}"
    )
    expected = trace(tmp_path / "inproc", faults)
    assert trace(tmp_path / "composed", faults, shape="composed") == expected
    assert trace(tmp_path / "ros", faults, shape="ros") == expected


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("{port: drivin.front, kind: drop}", "there is no participant 'drivin'"),
        ("{port: driving.fron, kind: drop}", "which is not a port; inputs are front, rear, own"),
        ("{port: driving.front, kind: noise, field: x, std: 1}", "there is no 'x', allowed are"),
        ("{port: driving.front, kind: noise, field: objects, std: 1}", "need not be whole"),
        ("{port: driving.front, kind: noise, field: objects.id, std: 1}", "need not be whole"),
        (
            "{port: driving.front, side: output, kind: drop}",
            "side: found output; 'driving.front' is an",
        ),
        ("{port: driving.front, kind: noise, std: 1}", "faults.f.field: missing"),
        ("{port: driving.front, kind: drop, std: 1}", "std does not belong to kind drop"),
        ("{port: driving.control, kind: drop}", "whose schedule is every; allowed is an output"),
        ("{port: driving.control, kind: delay, delay: 1ms}", "for an output its latency"),
        ("{port: driving.front, kind: replace, field: objects, value: 3}", "allowed is [], the"),
        ("{port: driving.own, kind: replace, field: x, value: far}", "allowed is a number"),
        ("{port: driving.own, kind: drop, when: {port: y, field: x, above: 1}}", "inputs of 'dri"),
        ("{port: driving.own, kind: drop, when: {field: x}}", "one of above and below"),
        (
            "{port: driving.own, kind: drop, from: 2s, until: 1s}",
            "until: found 1s; allowed is more than from, 2s",
        ),
    ],
)
def test_a_wrong_fault_is_refused_by_its_place(fault, said):
    with pytest.raises(ConfigurationError) as error:
        check_scenario(load_scenario(CAR, [f"faults={{f: {fault}}}"]))
    assert "faults.f" in str(error.value) and said in str(error.value)


def test_what_is_left_out_takes_its_faults_along():
    scenario = load_scenario(
        CAR, [NOISE, "participants.driving.mode=autonomous", "participants.driving.enter=1s"]
    )
    assert leave_out(scenario, ["driving"]).faults == {}
