# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A model with faults at its ports: what it reads, sends, answers, saves and reports."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ros2_cosim.core.faults.faulty import Faults
from ros2_cosim.core.faults.fields import fields_of, type_of_field, values_of, with_field
from ros2_cosim.core.faults.manipulators import Fault, FaultyPort, Moment
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.model import FullModel, Model, Report
from ros2_cosim.core.kernel.participant import Host, Past, Sample, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Acceleration, DetectedObject, ObjectList

MS = 1_000_000


def fault(name: str, **settings: Any) -> Fault:
    checked = FaultSettings.model_validate({"port": "p.in", **settings})
    return Fault(name, checked, RandomStream(1, "p", f"fault/{name}"))


def bias(offset: float, name: str = "worn", **settings: Any) -> Fault:
    return fault(name, kind="bias", field="ax", offset=offset, **settings)


def push(ax: float) -> Acceleration:
    return Acceleration(ax, 0.0, 0.0)


def sample(number: int, ax: float) -> Sample:
    return Sample(number * 10 * MS, number, push(ax))


class Echo(FullModel):
    """Sends what it reads, at once and as its output, and remembers it."""

    def __init__(self) -> None:
        self.read: list[float | None] = []
        self.messages: list[list[float]] = []
        self.host: Host | None = None

    def attach(self, host: Host) -> None:
        self.host = host

    def activate(self, step: Step) -> dict[str, Any]:
        held = step.latest["in"]
        self.read.append(None if held is None else held.value.ax)
        self.messages.append([each.value.ax for each in step.samples.get("in", ())])
        if held is None:
            return {}
        if self.host is not None and self.host.send is not None:
            self.host.send("out", held.value)
            self.host.send("other", held.value)
        return {"out": held.value, "other": held.value}

    def handle_message(self, port: str, step: Step) -> dict[str, Any]:
        return {"out": step.samples[port][0].value}

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        held = step.latest["in"]
        return name, request, None if held is None else held.value.ax

    def save_state(self) -> Any:
        return list(self.read)

    def restore_state(self, state: Any) -> None:
        self.read = list(state)

    def report(self) -> Report:
        return Report(figures={"read": len(self.read)})


def faulty(
    model: Model, inputs: dict[str, FaultyPort], outputs: dict[str, FaultyPort]
) -> LayeredModel:
    return LayeredModel(model, [Faults(inputs, outputs)])


def faults(model: LayeredModel) -> Faults:
    found = model.find(Faults)
    assert found is not None
    return found


def activate(model: Model, number: int, ax: float | None) -> Any:
    held = None if ax is None else sample(number, ax)
    return model.activate(Step(number * 10 * MS, {}, {"in": held}))


def test_a_fault_is_switched_at_either_side_by_its_name() -> None:
    inner = Echo()
    model = faulty(
        inner,
        {"in": FaultyPort([bias(1.0), bias(10.0, "other")])},
        {"out": FaultyPort([bias(100.0)])},
    )
    faults(model).switch("worn", False)
    first = activate(model, 0, 0.0)
    faults(model).switch("worn", True)
    second = activate(model, 1, 0.0)
    assert inner.read == [10.0, 11.0]
    assert (first["out"].ax, second["out"].ax) == (10.0, 111.0)
    assert first["other"].ax == 10.0


def test_a_fault_added_to_an_input_knows_what_the_input_holds() -> None:
    inner = Echo()
    model = faulty(inner, {}, {})
    assert activate(model, 0, 1.0)["out"].ax == 1.0
    past = Past({"in": sample(0, 1.0)}, {"in": push(50.0)})
    faults(model).add(fault("ice", kind="freeze"), "in", "input", past)
    # The message that is held is not read again; the next is replaced by it.
    model.activate(Step(10 * MS, {}, {"in": sample(0, 1.0)}))
    activate(model, 2, 2.0)
    assert inner.read == [1.0, 1.0, 1.0]
    assert model.report().figures == {"read": 3, "fault.ice": 1}


def test_a_fault_added_behind_others_knows_what_passed_these() -> None:
    inner = Echo()
    model = faulty(inner, {"in": FaultyPort([bias(1.0)])}, {})
    activate(model, 0, 1.0)
    nothing = Past({}, {})
    faults(model).add(fault("ice", kind="freeze"), "in", "input", nothing)
    activate(model, 1, 5.0)
    assert inner.read == [2.0, 2.0]

    inner = Echo()
    model = faulty(inner, {"in": FaultyPort([fault("late", kind="delay", delay="30ms")])}, {})
    activate(model, 0, 1.0)
    activate(model, 1, 2.0)
    activate(model, 2, 3.0)
    faults(model).add(fault("ice", kind="freeze"), "in", "input", nothing)
    for number in (3, 4, 5, 6):
        activate(model, number, float(number + 1))
    # The newest on its way when the fault came is the third.
    assert inner.read == [None, None, None, 1.0, 2.0, 3.0, 3.0]


def test_a_fault_added_to_an_output_knows_what_was_sent() -> None:
    inner = Echo()
    model = faulty(inner, {}, {})
    activate(model, 0, 1.0)
    past = Past({"out": sample(0, 50.0)}, {"out": push(7.0)})
    faults(model).add(fault("ice", kind="freeze"), "out", "output", past)
    assert activate(model, 1, 2.0)["out"].ax == 7.0
    assert inner.read == [1.0, 2.0]
    # Without a message before it, the first that it meets is kept.
    model = faulty(Echo(), {}, {})
    faults(model).add(fault("ice", kind="freeze"), "out", "output", Past({}, {}))
    assert [activate(model, n, float(n))["out"].ax for n in (1, 2)] == [1.0, 1.0]


def test_what_is_sent_at_once_passes_the_faults_of_its_port() -> None:
    sent: list[tuple[str, float]] = []

    def send(port: str, record: Any) -> None:
        sent.append((port, record.ax))

    lost = fault("lost", kind="drop", when={"field": "ax", "above": 2.0})
    model = faulty(Echo(), {}, {"out": FaultyPort([bias(1.0), lost])})
    model.attach(Host(lambda seconds: None, lambda: None, send=send))
    activate(model, 0, 1.0)
    activate(model, 1, 2.0)
    assert sent == [("out", 2.0), ("other", 1.0), ("other", 2.0)]
    assert faults(model).at_once("out", push(5.0)) is None
    assert faults(model).at_once("other", push(5.0)) == push(5.0)
    # A host that sends nothing at once is handed on as it is.
    inner = Echo()
    host = Host(lambda seconds: None, lambda: None)
    faulty(inner, {}, {}).attach(host)
    assert inner.host is host


def test_what_is_sent_before_the_first_activation_is_sent_at_the_start() -> None:
    model = faulty(Echo(), {}, {"out": FaultyPort([bias(1.0, **{"from": "1ns"})])})
    assert faults(model).at_once("out", push(5.0)) == push(5.0)


def test_a_lost_message_is_not_handled_and_others_are_with_their_faults() -> None:
    lost = fault("lost", kind="drop", when={"field": "ax", "above": 2.5})
    model = faulty(Echo(), {"in": FaultyPort([lost, bias(1.0)])}, {"out": FaultyPort([bias(10.0)])})

    def handle(number: int, ax: float, port: str = "in") -> Any:
        message = sample(number, ax)
        step = Step(number * 10 * MS, {port: (message,)}, {"in": message, port: message})
        return model.handle_message(port, step)

    assert handle(0, 2.0) == {"out": push(13.0)}
    assert handle(1, 3.0) == {}
    assert handle(2, 9.0, "free") == {"out": push(19.0)}


def test_a_request_is_answered_with_inputs_as_they_arrive() -> None:
    model = faulty(Echo(), {"in": FaultyPort([bias(1.0)])}, {})
    step = Step(0, {}, {"in": sample(0, 2.0)})
    assert model.answer_service("ask", 4, step) == ("ask", 4, 3.0)


def test_a_restored_state_is_that_of_model_and_faults() -> None:
    def made() -> tuple[Echo, LayeredModel]:
        inner = Echo()
        noise = fault("noise", kind="noise", field="ax", std=1.0)
        late = fault("late", kind="delay", delay="20ms")
        return inner, faulty(inner, {"in": FaultyPort([noise, late])}, {})

    one, first = made()
    for number in range(4):
        activate(first, number, 0.0)
    state = first.save_state()
    for number in range(4, 8):
        activate(first, number, 0.0)
    other, second = made()
    second.restore_state(state)
    assert second.report().figures == {"read": 4, "fault.noise": 4, "fault.late": 4}
    for number in range(4, 8):
        activate(second, number, 0.0)
    assert other.read == one.read
    assert one.read[:2] == [None, None] and len(set(one.read[2:])) == 6


@pytest.mark.parametrize(
    ("settings", "acts"),
    [
        ({}, [1, 1, 1, 1, 1]),
        ({"active": False}, [0, 0, 0, 0, 0]),
        ({"from": "10ms"}, [0, 1, 1, 1, 1]),
        ({"until": "30ms"}, [1, 1, 1, 0, 0]),
        ({"when": {"field": "ax", "above": 2.0}}, [0, 0, 0, 1, 1]),
        ({"when": {"field": "ax", "below": 2.0}}, [1, 1, 0, 0, 0]),
        ({"when": {"port": "free", "field": "ax", "above": 0.5}}, [0, 0, 1, 1, 0]),
        ({"probability": 0.0}, [0, 0, 0, 0, 0]),
        # By stream 1, "p", "fault/worn" of the kernel's random numbers.
        ({"probability": 0.5}, [0, 1, 1, 0, 1]),
    ],
)
def test_a_fault_acts_at_these_messages(settings: dict[str, Any], acts: list[int]) -> None:
    worn = bias(100.0, **settings)
    free = [None, 0.5, 1.0, 2.0, 0.0]
    seen = []
    for number, ax in enumerate(free):
        latest = {} if ax is None else {"free": sample(number, ax)}
        passed = worn.passes(push(float(number)), Moment(number * 10 * MS, latest))
        seen.append(int(passed[0]))
        assert passed[1] == push(float(number) + 100.0 * passed[0])
    assert seen == acts
    assert worn.count == sum(acts)


def test_what_is_frozen_is_what_came_before_each_time_anew() -> None:
    ice = fault("ice", kind="freeze")
    seen = []
    for number, active in enumerate([False, True, True, False, True]):
        ice.switch(active)
        seen.append(ice.passes(push(float(number)), Moment(0, {}))[1].ax)
    assert seen == [0.0, 0.0, 0.0, 3.0, 3.0]


def test_a_stuck_field_of_a_list_keeps_the_values_it_has_for() -> None:
    def seen(*distances: float) -> ObjectList:
        return ObjectList(
            tuple(DetectedObject(n, 1, d, 0.0, 0.0, 4.0, 2.0, 1.0) for n, d in enumerate(distances))
        )

    stuck = fault("stuck", kind="stuck", field="objects.distance")
    stuck.note(seen(1.0))
    assert stuck.passes(seen(5.0, 6.0), Moment(0, {}))[1] == seen(1.0, 6.0)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"kind": "noise", "field": "ax", "std": 0.0}, 1.5),
        ({"kind": "noise", "field": "ax", "std": 2.0}, 3.94319629587233),
        ({"kind": "bias", "field": "ax", "offset": 0.0}, 1.5),
        ({"kind": "bit_error", "field": "ax", "bit": 51}, 1.0),
        ({"kind": "bit_error", "field": "ax", "bit": 0}, 1.5000000000000002),
        ({"kind": "bit_error", "field": "ax"}, 4.408103815583578e-39),
        ({"kind": "replace", "field": "ax", "value": 7}, 7.0),
    ],
)
def test_a_changed_number_is_this_one(settings: dict[str, Any], expected: float) -> None:
    acts, value = fault("worn", **settings).passes(push(1.5), Moment(0, {}))
    assert acts and value == push(expected) and type(value.ax) is float


def test_late_messages_keep_their_order_and_arrive_at_their_time() -> None:
    late = FaultyPort([fault("late", kind="delay", delay="20ms", until="15ms")])
    arrived = [
        [each.seq for each in late.delivered([sample(n, 0.0)], Moment(n * 10 * MS, {}))]
        for n in range(5)
    ]
    # The third is not late itself, but waits for the second.
    assert arrived == [[], [], [0], [1, 2, 3], [4]]
    assert late.latest_delivered() == sample(4, 0.0)


def test_faults_that_delay_add_up() -> None:
    late = [fault(name, kind="delay", delay="10ms") for name in ("a", "b")]
    port = FaultyPort([*late, bias(1.0)])
    assert [port.newest(sample(0, 0.0), Moment(t, {})) for t in (0, 20 * MS - 1)] == [None, None]
    assert port.newest(sample(0, 0.0), Moment(20 * MS, {})) == sample(0, 1.0)
    assert [each.count for each in port.faults] == [1, 1, 1]


def test_a_held_sample_is_known_by_its_stamp_and_its_number() -> None:
    port = FaultyPort([bias(1.0)], Sample(5, 1, push(0.0)))
    moment = Moment(10, {})
    assert port.newest(None, moment) == Sample(5, 1, push(0.0))
    assert port.newest(Sample(5, 1, push(0.0)), moment) == Sample(5, 1, push(0.0))
    assert port.newest(Sample(5, 2, push(0.0)), moment) == Sample(5, 2, push(1.0))
    assert port.newest(Sample(6, 2, push(0.0)), moment) == Sample(6, 2, push(1.0))


class Inner(NamedTuple):
    x: float
    numbers: tuple[float, ...]


class Outer(NamedTuple):
    inner: Inner
    many: tuple[Inner, ...]


def test_fields_are_found_by_their_dotted_names() -> None:
    value = Outer(Inner(1.0, (2.0, 3.0)), (Inner(4.0, ()), Inner(5.0, (6.0,))))
    assert list(values_of(value, "inner.x")) == [1.0]
    assert list(values_of(value, "inner.numbers")) == [2.0, 3.0]
    assert list(values_of(value, "many.x")) == [4.0, 5.0]
    changed = with_field(value, "many.x", lambda old: -old)
    assert changed == Outer(value.inner, (Inner(-4.0, ()), Inner(-5.0, (6.0,))))
    assert with_field(value, "inner.x", lambda old: 9.0).inner == Inner(9.0, (2.0, 3.0))
    assert type_of_field(Outer, "many.x", "here") is float
    assert type_of_field(Outer, "many", "here") == tuple[Inner, ...]
    assert fields_of(Outer) == ("inner", "many")
    assert fields_of(float) == fields_of(tuple[Inner, ...]) == ()
    with pytest.raises(ConfigurationError) as error:
        type_of_field(Outer, "many.y", "here")
    assert str(error.value) == "here: found 'many.y'; there is no 'y', allowed are x, numbers"
    with pytest.raises(ConfigurationError, match="allowed are no further fields"):
        type_of_field(Outer, "inner.x.z", "here")


def test_settings_have_these_defaults_and_limits() -> None:
    plain = FaultSettings.model_validate({"port": "car.a.b", "kind": "drop"})
    assert (plain.participant, plain.port_name) == ("car", "a.b")
    assert (plain.from_time, plain.until, plain.probability, plain.active) == (0, None, 1.0, True)
    limits = {"kind": "bit_error", "field": "x", "port": "p.in"}
    for bit in (0, 63):
        assert FaultSettings.model_validate({**limits, "bit": bit}).bit == bit
    for wrong in (
        {"bit": -1},
        {"bit": 64},
        {"probability": -0.1},
        {"probability": 1.1},
        {"active": 1},
        {"from": "1s", "until": "1s"},
        {"when": {"field": "x", "above": 1.0, "below": 2.0}},
        {"kind": "noise", "std": -0.1},
    ):
        with pytest.raises(ValueError):
            FaultSettings.model_validate({**limits, **wrong})
