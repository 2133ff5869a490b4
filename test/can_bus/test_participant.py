# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bus in runs: commands and events, FMI-LS-BUS beside messages, latencies, states, seams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore
from support.fmu_builder import COUNTDOWN, LS_NODE3, build_fmu
from support.models import made

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.core.messages.seams import NoParameters, SeamPlace
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.ls_bus import BusConfiguration, FormatError, Transmit, decoded, encoded
from ros2_cosim.driving.can.messages import (
    CAN_COMMAND,
    CAN_EVENT,
    CAN_FRAME,
    STANDARD_FD_FRAME,
    STANDARD_FRAME,
    CanSeamParameters,
    FromStandardFrame,
    ToStandardFdFrame,
    ToStandardFrame,
    frame_of,
    message_of,
)
from ros2_cosim.driving.can.participant import CanBus

LOAD = "std_msgs/msg/Float64"
LEAD = "40us"


def output(kind: str, topic: str, latency: str = LEAD) -> dict[str, str]:
    return {"type": kind, "topic": topic, "schedule": "sparse", "latency": latency}


def counter(identifier: int, length: int, period: str, heard: str) -> dict[str, Any]:
    return {
        "model": "support.can_models:FrameCounter",
        "period": period,
        "parameters": {"id": identifier, "length": length},
        "inputs": {"frames": {"from": f"can.receive/{heard}", "handled": True}},
        "outputs": {"frame": output(CAN_FRAME, f"/{heard}/frame", "0")},
    }


def node(fmu: str, step: str, name: str, **values: Any) -> dict[str, Any]:
    return {
        "model": "bus_fmu",
        "period": step,
        "dynamic_step": True,
        "parameters": {"fmu": fmu, "values": values},
        "inputs": {"operations/Can": {"from": f"can.operations/{name}", "handled": True}},
        "outputs": {"operations/Can": output(BYTES, f"/{name}/tx", "0")},
    }


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FMUs with both kinds of Tx clocks."""
    directory = tmp_path_factory.mktemp("nodes")
    build_fmu("lsnode3", directory).rename(directory / "triggered.fmu")
    build_fmu("lsnode3", directory, LS_NODE3.format(clock=COUNTDOWN)).rename(
        directory / "countdown.fmu"
    )
    return directory


def scenario_data(duration: str = "100ms", **bus: Any) -> dict[str, Any]:
    """Two models, one of which is stopped for a while, and two FMUs at one bus."""
    names = ("first", "second", "third", "fourth")
    return {
        "name": "bus",
        "description": "four nodes",
        "duration": duration,
        "participants": {
            "first": counter(0x10, 8, "1ms", "first"),
            "second": counter(0x20, 2, "5ms", "second"),
            "third": node("triggered.fmu", "7ms", "third", id=0x30, period=0.015, rate=500000),
            "fourth": node("countdown.fmu", "20ms", "fourth", id=0x40, period=0.0033),
            "master": {
                "model": "support.can_models:CommandSender",
                "period": "10ms",
                "outputs": {"command": output(CAN_COMMAND, "/command", "0")},
            },
            "can": {
                "model": "can_bus",
                "period": "10ms",
                "dynamic_step": True,
                "parameters": {
                    "controllers": {name: {} for name in names},
                    "load_window": "10ms",
                    **bus,
                },
                "inputs": {
                    **{
                        f"transmit/{name}": {"from": f"{name}.frame", "handled": True}
                        for name in names[:2]
                    },
                    **{
                        f"operations/{name}": {"from": f"{name}.operations/Can", "handled": True}
                        for name in names[2:]
                    },
                    "command/second": {"from": "master.command", "handled": True},
                },
                "outputs": {
                    **{f"receive/{n}": output(CAN_FRAME, f"/{n}/rx") for n in names[:2]},
                    **{f"event/{n}": output(CAN_EVENT, f"/{n}/events") for n in names[:2]},
                    **{f"operations/{n}": output(BYTES, f"/{n}/rx") for n in names[2:]},
                    "load": output(LOAD, "/load"),
                    "frames": output(CAN_FRAME, "/frames"),
                },
            },
        },
    }


def run(data: dict[str, Any], nodes: Path, out: Path) -> tuple[Any, Path]:
    return run_inproc(scenario_of(data, nodes), out), out / "bag"


def scenario_of(data: dict[str, Any], nodes: Path) -> Scenario:
    path = nodes / "bus.json"
    path.write_text(json.dumps(data))
    return load_scenario(path)


def records(bag: Path, topic: str, kind: str) -> list[tuple[int, Any]]:
    """Stamp and content of all messages of a topic."""
    found = [(m.stamp, m.data) for m in read_bag(bag) if m.topic == topic]
    if kind.startswith("std_msgs"):
        store = get_typestore(Stores.ROS2_JAZZY)
        return [(stamp, store.deserialize_cdr(data, kind)) for stamp, data in found]
    codec = DEFAULT.wire_codec(kind)
    return [(stamp, codec.decode(data)[2]) for stamp, data in found]


def test_models_and_fmus_share_a_bus(nodes: Path, tmp_path: Path) -> None:
    summary, bag = run(scenario_data(), nodes, tmp_path)
    kind = DEFAULT.record(CAN_EVENT)
    events = records(bag, "/second/events", CAN_EVENT)
    states = [(stamp, e.state) for stamp, e in events if e.kind == kind.STATE]
    # Commands are answered at once, but for the latency; the second controller stops at 20 ms.
    assert states[:2] == [(20_040_000, kind.STOPPED), (50_040_000, kind.STARTED)]
    cancelled = [stamp for stamp, e in events if e.kind == kind.CANCELLED]
    assert cancelled == [25_040_000 + 5_000_000 * n for n in range(6)]
    # Faster than the others, it is bus off again and again, and comes back by itself.
    errors = [e for stamp, e in events if e.kind == kind.ERROR]
    assert {e.error for e in errors} == {kind.STUFF_ERROR}
    off = [e for e in errors if e.error_state == kind.BUS_OFF]
    back = [e for stamp, e in events if e.kind == kind.STATE and stamp > 50_040_000]
    assert len(off) - 1 <= len(back) <= len(off) and len(back) > 5
    assert all(e.error_state == kind.ERROR_ACTIVE and e.transmit_errors == 0 for e in back)
    figures = summary.figures["can"]
    assert figures["destroyed"] >= 32 * len(off)
    assert 0 < figures["load"] < figures["highest_load"] <= 1.0
    loads = [value.data for _, value in records(bag, "/load", LOAD)]
    assert len(loads) == 9 and max(loads) == figures["highest_load"]


def test_fmus_send_at_their_times_and_count_what_they_are_told(nodes: Path, tmp_path: Path) -> None:
    data = scenario_data()
    del data["participants"]["master"], data["participants"]["can"]["inputs"]["command/second"]
    summary, bag = run(data, nodes, tmp_path)
    frames = [(stamp, frame_of(f)) for stamp, f in records(bag, "/frames", CAN_FRAME)]
    own = {i: [f.data for _, f in frames if f.id == i] for i in (0x10, 0x20, 0x30, 0x40)}
    assert [len(own[i]) for i in own] == [100, 20, 6, 30]
    # The countdown clock ticks every 3.3 ms, whatever the period of the participant.
    sent = [stamp for stamp, r in records(bag, "/fourth/tx", BYTES)]
    assert sent[:3] == [3_300_000, 6_600_000, 9_900_000]
    # The triggered one is asked where a step ends: each 7 ms, and where a frame arrives.
    (configuration,) = decoded(bytes(records(bag, "/third/tx", BYTES)[0][1].data))
    assert configuration == BusConfiguration(bit_rate=500_000)
    # Each FMU has had all frames of the others, and a confirmation for each of its own.
    for identifier in (0x30, 0x40):
        last = own[identifier][-1]
        stamps = [stamp for stamp, f in frames if f.id == identifier]
        before = [f for stamp, f in frames if f.id != identifier and stamp < stamps[-1]]
        number, heard, confirmed, errors = last
        assert (number, confirmed, errors) == (len(own[identifier]) - 1,) * 2 + (0,)
        assert len(before) - 3 <= heard <= len(before)
    assert summary.figures["can"]["destroyed"] == 0


def test_disturbances_depend_on_the_seed_alone(nodes: Path, tmp_path: Path) -> None:
    data = scenario_data(bit_error_rate=1e-3)
    first, _ = run(data, nodes, tmp_path / "first")
    again, _ = run(data, nodes, tmp_path / "again")
    other, _ = run({**data, "seed": 2}, nodes, tmp_path / "other")
    assert first.trace_sha256 == again.trace_sha256 != other.trace_sha256
    assert first.figures["can"]["destroyed"] > 10


@pytest.mark.parametrize(
    "settings",
    [
        {"bit_rate": 400_000},
        {"fd_bit_rate": 0},
        {"bit_error_rate": 3e-3},
        {"load_window": "5ms"},
        {"first": {"bit_rate": 400_000}},
        {"first": {"fd_bit_rate": 1_000_000}},
        {"first": {"started": False}},
        {"first": {"queue": 1}},
        {"first": {"retransmit": False}},
        {"first": {"recover": False}},
        {"first": {"bit_error_rate": 0.0}},
    ],
    ids=str,
)
def test_each_setting_acts(settings: dict[str, Any], plain: str, tmp_path: Path) -> None:
    assert trace(settings, tmp_path) != plain


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trace({}, tmp_path_factory.mktemp("plain"))


def trace(settings: dict[str, Any], directory: Path) -> str:
    """Two controllers that send more than the bus can carry, disturbed; also FD frames."""
    bus = dict(settings)
    own = {"first": bus.pop("first", {}), "second": {}}
    data = {
        "name": "settings",
        "description": "two nodes",
        "duration": "80ms",
        "participants": {
            "fd": {
                "model": "support.can_models:FrameCounter",
                "period": "1ms",
                "parameters": {"id": 0x11, "length": 8, "fd": True},
                "outputs": {"frame": output(CAN_FRAME, "/fd/frame", "0")},
            },
            "first": counter(0x10, 8, "500us", "first"),
            "second": counter(0x20, 8, "2ms", "second"),
            "can": {
                "model": "can_bus",
                "period": "10ms",
                "dynamic_step": True,
                "parameters": {
                    "controllers": own,
                    "bit_error_rate": 4e-3,
                    "load_window": "10ms",
                    **bus,
                },
                "inputs": {
                    "transmit/first": {"from": ["first.frame", "fd.frame"], "handled": True},
                    "transmit/second": {"from": "second.frame", "handled": True},
                },
                "outputs": {
                    **{f"receive/{name}": output(CAN_FRAME, f"/{name}/rx") for name in own},
                    **{f"event/{name}": output(CAN_EVENT, f"/{name}/events") for name in own},
                    "load": output(LOAD, "/load"),
                },
            },
        },
    }
    path = directory / "bus.json"
    path.write_text(json.dumps(data))
    return str(run_inproc(load_scenario(path), directory / "out", record=False).trace_sha256)


def change(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    place = data["participants"]
    *parents, last = path.split("|")
    for part in parents:
        place = place[part]
    place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("can|dynamic_step", False, "participants.can.parameters: found no 'dynamic_step: true'"),
        (
            "can|outputs|load|latency",
            "10us",
            "participants.can.outputs: found latencies 10us, 40us; allowed is one constant latency",
        ),
        ("can|parameters|bit_rate", 1_000_000, "found latencies 40us; allowed is one constant"),
        ("third|parameters|fmu", "no.fmu", "no such file"),
        ("third|parameters|values|speed", 1, "found 'speed'; the FMU has id, period, rate"),
        ("third|parameters|values|id", 1.5, "values.id: found 1.5; allowed is a whole number"),
        ("third|parameters|values|id", True, "values.id: found True; allowed is a whole number"),
        ("fourth|dynamic_step", False, "found a countdown clock at terminal 'Can'"),
        ("can|parameters|bit_rate", 10, "found 10; allowed is a number of at least 1000"),
    ],
)
def test_wrong_settings_get_one_line(
    path: str, value: Any, found: str, nodes: Path, tmp_path: Path
) -> None:
    data = change(scenario_data(), path, value)
    with pytest.raises(ConfigurationError) as error:
        scenario = scenario_of(data, nodes)
        check_scenario(scenario, "inproc")
        run_inproc(scenario, tmp_path / "out")
    assert found in str(error.value)


def test_a_frame_that_can_does_not_have_ends_the_run(nodes: Path, tmp_path: Path) -> None:
    data = change(scenario_data(), "first|parameters|id", 0x800)
    with pytest.raises(Exception, match=r"controllers.first: found identifier 0x800 of 11 bits"):
        run(data, nodes, tmp_path)


def seam(kind: Any, parameters: Any, source: str = CAN_FRAME) -> Any:
    return kind(SeamPlace("place", "port", source, (), {}), parameters)


CAN_MSGS = {
    STANDARD_FRAME: "std_msgs/Header header\nuint32 id\nbool is_rtr\nbool is_extended\n"
    "bool is_error\nuint8 dlc\nuint8[8] data",
    STANDARD_FD_FRAME: "std_msgs/Header header\nuint32 id\nbool is_extended\nbool is_error\n"
    "uint8 len\nuint8[<=64] data",
}


@pytest.mark.parametrize(
    "frame",
    [
        BusFrame(0x123, data=b"\1\2\3"),
        BusFrame(0x1234567, True, remote=True, requested=5),
        BusFrame(0x7FF, fd=True, bit_rate_switch=True, data=bytes(range(48))),
    ],
)
def test_standard_frames_come_back(frame: BusFrame) -> None:
    DEFAULT.offer(CAN_MSGS)
    kinds = ToStandardFrame, ToStandardFdFrame
    standard = seam(kinds[frame.fd], NoParameters()).convert(0, message_of(frame))
    assert seam(kinds[not frame.fd], NoParameters()).convert(0, message_of(frame)) is None
    back = seam(FromStandardFrame, CanSeamParameters(), kinds[frame.fd].target_type)
    assert frame_of(back.convert(standard, {})) == frame
    assert back.convert(standard._replace(is_error=True), {}) is None


def test_the_state_of_a_bus_can_be_saved() -> None:
    def bus() -> CanBus:
        context = {
            "dynamic_step": True,
            "output_types": {f"receive/{n}": CAN_FRAME for n in "ab"} | {"frames": CAN_FRAME},
            "input_types": {f"transmit/{n}": CAN_FRAME for n in "ab"},
        }
        parameters = {"controllers": {"a": {}, "b": {}}, "bit_error_rate": 5e-3}
        return made(CanBus, parameters, name="can", context=context)

    def go_on(model: CanBus, count: int) -> list[Any]:
        found = []
        for _ in range(count):
            assert model.next_time is not None
            found.append((model.next_time, dict(model.activate(Step(model.next_time, {}, {})))))
        return found

    model = bus()
    model.activate(Step(0, {}, {}))
    for number in range(20):
        frame = message_of(BusFrame(number, data=bytes(8)))
        sample = Sample(1000, number, frame)
        model.handle_message("transmit/a", Step(1000, {"transmit/a": (sample,)}, {}))
    go_on(model, 7)
    saved = model.save_state()
    copy = bus()
    copy.restore_state(saved)
    assert go_on(copy, 30) == go_on(model, 30)


def test_operations_that_no_frame_has_come_back() -> None:
    types = {f"operations/{n}": BYTES for n in "ab"}
    context = {"dynamic_step": True, "output_types": types, "input_types": types}
    model = made(CanBus, {"controllers": {"a": {}, "b": {}}}, name="can", context=context)
    wrong = Transmit(BusFrame(0x800))
    content = encoded([wrong]) + b"\xff\0\0\0\x08\0\0\0"
    sample = Sample(0, 0, DEFAULT.record(BYTES)(data=content))
    outputs = model.handle_message("operations/a", Step(0, {"operations/a": (sample,)}, {}))
    (port,) = outputs
    assert port == "operations/a"
    assert list(decoded(bytes(outputs[port].data))) == [
        FormatError(encoded([wrong])),
        FormatError(b"\xff\0\0\0\x08\0\0\0"),
    ]
