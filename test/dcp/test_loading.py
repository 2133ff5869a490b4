# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the model of a slave comes from, and on which ports slaves receive data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.dcp_session import box

from ros2_cosim.dcp.master.remote import RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.routes import ReceivePorts
from ros2_cosim.dcp.slave.declare import SlaveAddress, at_address
from ros2_cosim.dcp.slave.loading import load_model, load_slave, parse_step
from ros2_cosim.dcp.standard.enums import DataType, OpMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import DescriptionError, WiringError
from ros2_cosim.dcp.standard.slave_description import Causality, DataPorts
from ros2_cosim.dcp.standard.write_description import write_description

UDP, TCP = TransportProtocol.UDP_IPv4, TransportProtocol.TCP_IPv4
MODELS = """
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel

class Toy(SlaveModel):
    y = Output("float64")
    def do_step(self, step):
        self.y = 1.0

class Needy(Toy):
    def __init__(self, more):
        pass

def both():
    return Toy(), describe(Toy, name="made")

def half():
    return Toy()

number = 7
"""


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "toy_slaves.py").write_text(MODELS)
    yield tmp_path
    sys.modules.pop("toy_slaves", None)


def test_a_module_is_looked_for_in_the_directory_and_a_file_leaves_the_path_alone(
    toys: Path,
) -> None:
    model, description = load_model("toy_slaves.py:Toy", directory=toys)
    assert type(model).__name__ == description.name == "Toy"
    assert str(toys) not in sys.path
    model, description = load_model(
        "toy_slaves:Toy", directory=toys, step=Fraction(1, 50), modes=[OpMode.NRT]
    )
    assert type(model).__module__ == "toy_slaves"
    assert description.fixed_resolution() == Fraction(1, 50)
    assert description.name == "Toy" and description.non_real_time is not None
    assert load_model("toy_slaves:both", directory=toys)[1].name == "made"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("toy_slaves", "allowed is module:Class or file.py:Class"),
        (":Toy", "allowed is module:Class or file.py:Class"),
        ("toy_slaves:", "allowed is module:Class or file.py:Class"),
        ("toy_slaves:Nothing", "toy_slaves has no 'Nothing'"),
        ("toy_slaves:Needy", "cannot be made: .*more"),
        ("toy_slaves:half", "found Toy; allowed is a class derived from SlaveModel"),
        ("toy_slaves:number", "found int; allowed is a class derived from SlaveModel"),
        ("nowhere_at_all:Toy", "model 'nowhere_at_all:Toy': "),
        ("nowhere.py:Toy", "there is no file"),
    ],
)
def test_what_is_no_model_is_refused(toys: Path, text: str, said: str) -> None:
    with pytest.raises(DescriptionError, match=said):
        load_model(text, directory=toys)


def remote(name: str, port: int, protocol: TransportProtocol = UDP, **use: Any) -> RemoteSlave:
    description = box(address=SlaveAddress(data_ports=((9000, 9001),)))
    return RemoteSlave(name, description, 1, "127.0.0.1", port, protocol, SlaveUse(**use))


def test_slaves_of_a_host_receive_on_the_ports_they_offer_each_on_its_own() -> None:
    ports = ReceivePorts()
    one, two, three = remote("one", 9000), remote("two", 4000), remote("three", 4001)
    # Over UDP the control port will do where it is offered; another one is the first that is free.
    assert ports.of(one, UDP) == 9000
    assert (ports.of(two, UDP), ports.of(two, UDP)) == (9000, 9000)
    assert ports.of(three, UDP) == 9001
    with pytest.raises(WiringError, match="'four' offers no free port for data"):
        ports.of(remote("four", 4002), UDP)
    assert ports.of(remote("five", 4003, data_ports=(5000,)), UDP) == 5000


def test_over_tcp_another_port_than_that_of_control_is_preferred() -> None:
    ports = ReceivePorts()
    assert ports.of(remote("one", 9000, TCP), TCP) == 9001
    # With none left, the control port does where it is offered.
    assert ports.of(remote("two", 9000, TCP), TCP) == 9000


def test_a_slave_is_a_model_or_an_fmu_and_may_have_another_description(toys: Path) -> None:
    neither = "either a Python model or an FMU; give one of them"
    for model, fmu in ((None, None), ("toy_slaves:Toy", "a.fmu")):
        with pytest.raises(DescriptionError, match=neither):
            load_slave(model, fmu, directory=toys)
    own = load_slave("toy_slaves:Toy", None, directory=toys, step=Fraction(1, 7))[1]
    assert own.fixed_resolution() == Fraction(1, 7)
    assert own.op_modes == {OpMode.NRT, OpMode.SRT}
    (y,) = own.variables
    write_description(replace(own, name="other"), toys / "other.dcpx")
    model, given = load_slave("toy_slaves:Toy", None, "other.dcpx", directory=toys)
    assert (type(model).__name__, given.name) == ("Toy", "other")
    for change, said in (
        ({"name": "z"}, r"variable 'z' \(Output float64\) is not in the model"),
        ({"data_type": DataType.float32}, r"variable 'y' \(Output float32\) is not in the"),
        ({"causality": Causality.INPUT, "start": 0.0}, r"variable 'y' \(Input float64\) is not"),
    ):
        write_description(replace(own, variables=(replace(y, **change),)), toys / "wrong.dcpx")
        with pytest.raises(DescriptionError, match=said):
            load_slave("toy_slaves:Toy", None, "wrong.dcpx", directory=toys)


@pytest.mark.parametrize("text", ["0", "-1/100", "soon", "1/0", ""])
def test_a_step_is_a_time_above_zero(text: str) -> None:
    with pytest.raises(DescriptionError, match=f"^--step: found '{text}'; allowed is a time such"):
        parse_step(text, "--step")
    assert (parse_step("1/100"), parse_step(0.25), parse_step(2)) == (
        Fraction(1, 100), Fraction(1, 4), 2,
    )  # fmt: skip


def test_a_description_tells_where_its_slave_is() -> None:
    plain = box()
    placed = at_address(plain, SlaveAddress("10.0.0.1", 7, ((5, 6),)))
    ports = DataPorts("10.0.0.1", ((5, 6),))
    for transport in (placed.udp, placed.tcp):
        assert transport is not None
        found = (transport.host, transport.port, transport.data, transport.parameter)
        assert found == ("10.0.0.1", 7, ports, ports)
    assert placed.uuid == plain.uuid
    assert at_address(placed, SlaveAddress()) == placed  # what is not known stays
    alone = at_address(replace(plain, tcp=None), SlaveAddress(port=9))
    assert alone.tcp is None and alone.udp is not None
    assert (alone.udp.host, alone.udp.port) == (None, 9)
