# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slaves with different transports in one co-simulation: data take a way that both offer."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.dcp_models import Offset, Running, Sine, follow_loop, running, sine_description
from support.patience import HANG_S

from ros2_cosim.dcp.master.cosimulation import (
    _text,
    load_cosimulation,
    prepared,
    run_cosimulation,
)
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.standard.enums import PduType, TransportProtocol
from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.slave_package import write_package
from ros2_cosim.dcp.standard.write_description import description_bytes

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
STEPS = 20
Offer = tuple[TransportProtocol, ...]


def offering(description: SlaveDescription, offer: Offer) -> SlaveDescription:
    return replace(
        description,
        tcp=description.tcp if TCP in offer else None,
        udp=description.udp if UDP in offer else None,
    )


@contextmanager
def loop(
    sine: tuple[Offer, TransportProtocol],
    offset: tuple[Offer, TransportProtocol],
    stepping: str = "parallel",
) -> Iterator[tuple[Master, Running, Running]]:
    """The closed loop of two slaves that offer some protocols and are controlled over one."""
    one = offering(sine_description(name="sine"), sine[0])
    two = offering(describe(Offset, name="offset", resolutions=(Fraction(1, 100),)), offset[0])
    with (
        running(Sine(), one) as first,
        running(Offset(), two) as second,
        Master(timeout_s=HANG_S, stepping=stepping) as master,
    ):
        master.add_slave(one, port=first.port, transport=sine[1])
        master.add_slave(two, port=second.port, transport=offset[1])
        master.connect("sine.y", "offset.u")
        master.connect("offset.y", "sine.a")
        yield master, first, second


@pytest.mark.parametrize("stepping", ["parallel", "sequential"])
@pytest.mark.parametrize(
    ("sine", "offset", "passes_on"),
    [
        (((UDP,), UDP), ((TCP, UDP), TCP), False),
        (((TCP, UDP), TCP), ((UDP,), UDP), False),
        (((TCP, UDP), TCP), ((TCP, UDP), UDP), False),
        (((TCP,), TCP), ((TCP, UDP), UDP), False),
        (((TCP,), TCP), ((UDP,), UDP), True),
        (((UDP,), UDP), ((TCP,), TCP), True),
    ],
)
def test_every_mixture_of_transports_gives_the_same(
    sine: tuple[Offer, TransportProtocol],
    offset: tuple[Offer, TransportProtocol],
    passes_on: bool,
    stepping: str,
) -> None:
    with loop(sine, offset, stepping) as (master, first, second):
        master.configure()
        one, two = master.slaves.values()
        # Inputs that the master sends: only where no protocol is common.
        assert bool(one.input_names) == bool(two.input_names) == passes_on
        master.initialise()
        # Both used the start values of their inputs: nothing had been sent before.
        assert (one.outputs[0], two.outputs[0]) == (math.sin(10.0), 1.0)
        master.run()
        follow_loop(master, (one, two), stepping, STEPS, 1.0)
        master.stop()
        if not passes_on:
            counted = [c for s in (one, two) for c in s.input_counters().values()]
            assert all(c.lost == c.held == 0 for c in counted)
    assert first.error is second.error is None


def test_the_example_of_a_plant_on_udp_and_a_model_here(tmp_path: Path) -> None:
    """As in the documentation: one slave elsewhere with UDP only, one made by the master."""
    plant = offering(sine_description(name="plant"), (UDP,))
    (tmp_path / "plant.dcpx").write_bytes(description_bytes(plant))
    write_package(plant, tmp_path / "plant.dcp")
    (tmp_path / "local.py").write_text("from support.dcp_models import Offset  # noqa: F401\n")
    with running(Sine(), plant) as slave:
        (tmp_path / "loop.yaml").write_text(
            textwrap.dedent(f"""
            step: 1/100
            steps: 5
            slaves:
              plant: {{description: plant.dcpx, port: {slave.port}, transport: udp}}
              controller: {{model: "local.py:Offset"}}
            connections: [plant.y -> controller.u, controller.y -> plant.a]
            """)
        )
        settings = load_cosimulation(tmp_path / "loop.yaml")
        with (tmp_path / "out.csv").open("w") as out:
            assert run_cosimulation(settings, out) == 5
    with (tmp_path / "out.csv").open() as lines:
        rows = [line.strip().split(",") for line in lines][1:]
    y, z = math.sin(10.0), 1.0
    for row in rows:
        assert (float(row[2]), float(row[3])) == (y, z)
        y, z = math.sin(z), y + 1.0


def test_local_slaves_are_controlled_over_tcp_as_before(tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text("from support.dcp_models import Offset  # noqa: F401\n")
    (tmp_path / "one.yaml").write_text(
        "steps: 0\nslaves: {only: {model: 'local.py:Offset'}}\nconnections: []\n"
    )
    with prepared(load_cosimulation(tmp_path / "one.yaml")) as master:
        assert master.slaves["only"].protocol is TCP


def test_a_run_in_this_process_starts_no_other_programs(tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text("from support.dcp_models import Offset  # noqa: F401\n")
    (tmp_path / "one.yaml").write_text(
        "steps: 0\nslaves: {only: {model: 'local.py:Offset'}}\nconnections: []\n"
    )
    settings = load_cosimulation(tmp_path / "one.yaml")
    slave = settings.slaves["only"].model_copy(update={"command": ("own", "program")})
    other = settings.model_copy(update={"slaves": {"only": slave}})
    with pytest.raises(WiringError, match="slaves.only.command: only 'cosim run' starts other"):
        run_cosimulation(other, io.StringIO())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (3, "3"),
        ("a b", "a b"),
        (b"\x01\xff", "01ff"),
        ((0.5, 2.0), "0.5 2.0"),
        ((1, 2), "1 2"),
    ],
)
def test_values_are_written_so_that_they_can_be_read_again(value: object, text: str) -> None:
    assert _text(value) == text


def test_a_slave_without_a_port_takes_one_that_is_free() -> None:
    first, second = (SlaveServer(Offset(), describe(Offset)) for _ in range(2))
    assert 0 != first.port != second.port != 0
    first.close()
    second.close()


class Noted:
    """A slave whose PDUs are noted by their kinds."""

    def __init__(self, slave: Slave, kinds: list[int]) -> None:
        self._slave = slave
        self._kinds = kinds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slave, name)

    def receive(self, data: bytes, origin: Any) -> None:
        self._kinds.append(data[0])
        self._slave.receive(data, origin)


@pytest.mark.parametrize(
    ("transport", "first"), [(TCP, PduType.INF_state), (UDP, PduType.STC_register)]
)
def test_a_slave_that_has_left_is_asked_for_its_state_only_over_a_new_connection(
    transport: TransportProtocol, first: PduType, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = describe(Offset)
    with (
        running(Offset(), description, once=False) as slave,
        Master(timeout_s=20) as master,
    ):
        remote = master.add_slave(description, port=slave.port, transport=transport)
        master.configure()
        master.run()
        master.stop()
        master.deregister()
        kinds: list[int] = []
        monkeypatch.setattr(slave.server.sockets, "_receiver", Noted(slave.server.slave, kinds))
        master.configure()
        assert kinds[0] == first
        master.run()
        master.do_step()
        assert remote.outputs == [1.0]
        master.stop()
