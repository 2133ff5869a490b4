# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records from the outputs of slaves, looked up each time and bound to the slaves of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.messages.records import Acceleration, CollisionEvent, ControlCommand
from ros2_cosim.dcp.bridge.coupled import CoupledSlaves, MappedOutput, PortMapping
from ros2_cosim.dcp.bridge.mapping import FieldWriter, RecordReader
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import Causality, Variable


class Slave:
    """The outputs of a slave, newest values first known at a step."""

    def __init__(self) -> None:
        names = ["ax", "ay", "az", "vehicle", "other", "impulse"]
        kinds = [DataType.float64] * 3 + [DataType.uint32] * 2 + [DataType.float64]
        variables = [
            Variable(name, number, Causality.OUTPUT, kind)
            for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ]
        variables += [
            Variable(name, len(variables) + number, Causality.INPUT, DataType.float64, start=0.0)
            for number, name in enumerate(ControlCommand._fields)
        ]
        self.description = describe(variables, name="s")
        self.name = "s"
        self.output_names = names
        self.outputs: list[Any] = [1.0, 2.0, 3.0, 4, 5, 6.0]
        self.given: list[dict[str, Any]] = []

    def set_inputs(self, values: dict[str, Any]) -> None:
        self.given.append(values)

    def place(self, slave: str, name: str) -> tuple[Slave, int]:
        assert slave == self.name
        return self, self.output_names.index(name)

    def read(self, slave: str, name: str) -> Any:
        source, index = self.place(slave, name)
        return source.outputs[index]


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (Acceleration, "s.*"),
        (Acceleration, {"ax": "s.az", "ay": "s.ax", "az": "s.ay"}),
        (Acceleration, {"ax": "s.ax", "ay": {"variable": "s.ay", "factor": 2.0}, "az": "s.az"}),
        (Acceleration, {"ax": "s.ax", "ay": 0.5, "az": "s.az"}),
        (Acceleration, {"ax": "s.ax", "az": "s.az"}),
        (Acceleration, {"ax": "s.vehicle", "ay": "s.ay", "az": "s.az"}),
        (CollisionEvent, "s.*"),
    ],
)
def test_bound_to_a_run_it_gives_the_same_records(record: type, fields: Any) -> None:
    slave = Slave()
    reader = RecordReader(record, fields, {"s": slave.description}, "here")
    bound = reader.bound(slave.read, slave.place)
    first = bound()
    assert first == reader.read(slave.read)
    slave.outputs = [value + 10 for value in slave.outputs]  # another list, as after a reset
    second = bound()
    assert second == reader.read(slave.read) != first
    assert [type(value) for value in second] == [type(v) for v in reader.read(slave.read)]


class OneField(NamedTuple):
    speed: float


def test_a_record_of_one_field() -> None:
    slave = Slave()
    reader = RecordReader(OneField, {"speed": "s.ay"}, {"s": slave.description}, "here")
    assert reader.bound(slave.read, slave.place)() == OneField(2.0)


class CountingWriter(FieldWriter):
    written = 0

    def write(self, record: Any, inputs: dict[str, dict[str, Any]]) -> None:
        self.written += 1
        super().write(record, inputs)


def test_inputs_are_given_when_there_is_a_new_message_only() -> None:
    """The master sends what it has in every step; the slave keeps the values."""
    slave = Slave()
    slaves = {"s": slave.description}
    writer = CountingWriter(ControlCommand, "s.*", slaves, "here", absent=-1.0)
    reader = RecordReader(Acceleration, "s.*", slaves, "here")
    ports = PortMapping({"out": MappedOutput(reader, convert=lambda r: r.ax)}, {"in": writer})
    master = SimpleNamespace(
        slaves={"s": slave},
        step_size=Fraction(1),
        configure=lambda parameters: None,
        initialise=lambda loops: None,
        run=lambda: None,
        do_step=lambda count: None,
    )

    @contextmanager
    def opened() -> Iterator[Master]:
        yield cast(Master, master)

    coupled = CoupledSlaves("p", ports, opened, parameters={}, period_ns=10**9)
    coupled.begin()
    command = ControlCommand(*(float(n) for n in range(len(ControlCommand._fields))))
    same = ControlCommand(*command)  # equal, but another message
    sent = [None, None, command, command, same]
    for second, value in enumerate(sent):
        sample = None if value is None else SimpleNamespace(value=value)
        step = SimpleNamespace(time=second * 10**9, latest={"in": sample})
        assert coupled.activate(cast(Step, step)) == {"out": 1.0}
    assert writer.written == 3  # nothing yet, the first message, the second one
    assert slave.given == [dict.fromkeys(ControlCommand._fields, -1.0), *[command._asdict()] * 2]
    coupled.close()
