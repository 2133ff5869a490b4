# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Structured data: whole messages in binary variables, also of a slave made by others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.dcp.bridge.coupled import MappedOutput
from ros2_cosim.dcp.bridge.whole import WholeWriter, media_type, whole_output
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    TypeAttributes,
    Variable,
)
from ros2_cosim.dcp.standard.write_description import write_description

FOREIGN = Path(__file__).parents[1] / "support" / "foreign_dcp_slave.py"
TWIST, WRENCH = "geometry_msgs/msg/Twist", "geometry_msgs/msg/Wrench"
PERIOD = 10_000_000


def description(taken: str | None, given: str | None) -> SlaveDescription:
    def variable(name: str, number: int, causality: Causality, mime: str | None) -> Variable:
        start = b"" if causality is Causality.INPUT else None
        return Variable(
            name, number, causality, DataType.binary, start, variability="discrete",
            attributes=TypeAttributes(mime_type=mime, max_size=64),
        )  # fmt: skip

    return describe(
        [
            variable("command", 1, Causality.INPUT, taken),
            variable("load", 2, Causality.OUTPUT, given),
        ],
        name="Foreign",
        resolutions=(Fraction(PERIOD, 10**9),),
    )


def scenario(path: Path, port: int) -> Scenario:
    twist = {"type": TWIST, "topic": "/command"}
    data: dict[str, Any] = {
        "name": "structured",
        "duration": "1s",
        "participants": {
            "driver": {
                "model": "support.seam_models:Demand",
                "period": "10ms",
                "outputs": {"command": twist},
            },
            "plant": {
                "model": "dcp_master",
                "period": "10ms",
                "parameters": {
                    "slaves": {
                        "foreign": {
                            "description": path.name,
                            "host": "127.0.0.1",
                            "port": port,
                            "transport": "tcp",
                        }
                    },
                    "inputs": {"command": "foreign.command"},
                    "outputs": {"load": {"fields": "foreign.load"}},
                },
                "inputs": {"command": {"from": "driver.command", "delayed": True}},
                "outputs": {"load": {"type": WRENCH, "topic": "/load"}},
            },
        },
    }
    return make_scenario({**data, "base_directory": str(path.parent)}, "test")


@contextmanager
def foreign() -> Iterator[int]:
    with subprocess.Popen([sys.executable, str(FOREIGN)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        assert process.wait(60) == 0


def test_a_slave_of_others_exchanges_whole_messages(tmp_path: Path) -> None:
    path = tmp_path / "foreign.dcpx"
    write_description(description(media_type(TWIST), media_type(WRENCH)), path)
    assert f'mimeType="application/x-ros2-cdr;type={TWIST}"' in path.read_text()
    twist = CATALOGUE.record(TWIST)
    vector = type(twist().linear)
    with foreign() as port:
        model = build_model(scenario(path, port), "plant", "ros")
        try:
            for number in range(3):
                value = twist(vector(float(number), 0.5, 0.0), vector(0.0, 0.0, -0.25 * number))
                sample = Sample(0, number, value)
                step = Step(number * PERIOD, {}, {"command": sample})
                load = model.activate(step)["load"]
                if number:
                    assert load.force[:] == (2.0 * number, 1.0, 0.0)
                    assert load.torque.z == 0.25 * number
            model.finish()
        finally:
            model.close()


def test_what_the_description_says_has_to_fit(tmp_path: Path) -> None:
    path = tmp_path / "foreign.dcpx"
    for taken, given, message in (
        (media_type(WRENCH), None, f"found '{media_type(WRENCH)}'; allowed is"),
        (None, "text/plain", "foreign.load: mimeType: found 'text/plain'"),
    ):
        write_description(description(taken, given), path)
        with pytest.raises(ConfigurationError, match="mimeType") as caught:
            check_scenario(scenario(path, 9), "ros")
        assert message in str(caught.value)
    write_description(description("application/x-ros2-cdr; type=" + TWIST, None), path)
    check_scenario(scenario(path, 9), "ros")


def test_stamps_go_along_and_other_bytes_are_refused() -> None:
    slaves = {"s": description(None, None)}
    writer = WholeWriter(CATALOGUE.codec("nav_msgs/msg/Odometry"), "s.command", slaves, "here")
    record = CATALOGUE.record("nav_msgs/msg/Odometry")
    inputs: dict[str, dict[str, Any]] = {}
    writer.give(None, inputs)
    assert not inputs
    value = record(*range(len(record._fields)))
    writer.give(Sample(1_500_000_000, 0, value), inputs)
    data = inputs["s"]["command"]
    assert CATALOGUE.codec("nav_msgs/msg/Odometry").decode(data)[::2] == (1_500_000_000, value)
    output: MappedOutput = whole_output(CATALOGUE.codec(WRENCH), "s.load", slaves, "there")
    assert output.convert is not None
    for wrong in (b"", b"\x00\x01\x00\x00" + bytes(7)):
        with pytest.raises(ProtocolError, match="there: s.load: "):
            output.convert(output.reader.read(lambda slave, name, wrong=wrong: wrong))
