# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Master and slaves in NRT over real sockets: results, re-runs, errors, lost peers."""

from __future__ import annotations

import math
import struct
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import pytest
from support.dcp_models import Offset, Sine, Types, follow_loop, running, sine_description
from support.patience import HANG_S
from support.ports import free_port

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.slave.declare import SlaveAddress, describe
from ros2_cosim.dcp.slave.slave_model import Input, Output, Parameter, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.data_path import HEADER
from ros2_cosim.dcp.standard.enums import ErrorCode, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError, DcpTimeoutError, SlaveFault

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
BOTH = pytest.mark.parametrize("transport", [TCP, UDP])


@BOTH
def test_sine_fed_back_to_itself(transport: TransportProtocol) -> None:
    description = sine_description()
    with running(Sine(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, name="sine", transport=transport)
        master.connect("sine.y", "sine.a")
        master.configure({"sine": {"amplitude": 2.0, "offset": 0.5, "phase": 0.25}})
        assert remote.input_names == []
        master.initialise()
        expected = 2.0 * math.sin(10.0 + 0.25) + 0.5
        assert remote.outputs == [expected]
        master.run()
        for _ in range(50):
            master.do_step()
            expected = 2.0 * math.sin(expected + 0.25) + 0.5
            assert remote.outputs == [expected]
        assert master.request_states() == {"sine": State.RUNNING}
        master.stop()
    assert slave.error is None


@BOTH
@pytest.mark.parametrize("stepping", ["parallel", "sequential"])
def test_sine_and_offset_in_closed_loop(transport: TransportProtocol, stepping: str) -> None:
    sine, offset = (
        sine_description(name="sine"),
        describe(Offset, name="offset", resolutions=(Fraction(1, 100),)),
    )
    with (
        running(Sine(), sine) as one,
        running(Offset(), offset) as two,
        Master(timeout_s=HANG_S, stepping=stepping) as master,
    ):
        first = master.add_slave(sine, port=one.port, transport=transport)
        second = master.add_slave(offset, port=two.port, transport=transport)
        master.connect("sine.y", "offset.u")
        master.connect("offset.y", "sine.a")
        master.configure({"offset": {"offset": 0.5}})
        master.initialise(2)
        master.run()
        follow_loop(master, (first, second), stepping, 30, 0.5)
        master.stop()


def _values(number: int) -> dict[str, Any]:
    return {
        "in_uint8": number,
        "in_uint64": 2**64 - 1 - number,
        "in_int16": -number,
        "in_float32": 0.1 * number,
        "in_string": f"grün {number}",
        "in_binary": bytes([number, 255]),
        "in_array": tuple(0.1 * i + number for i in range(5)),
        "in_matrix": tuple(range(number, number + 6)),
    }


@BOTH
def test_all_types_and_arrays_pass_through(transport: TransportProtocol) -> None:
    description = describe(Types)
    with running(Types(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=transport)
        master.configure({"Types": {"n": 5, "m": 3, "text": "xyz"}})
        master.initialise()
        assert remote.outputs[-1] == (0,) * 6
        master.run()
        for number in range(1, 4):
            values = _values(number)
            remote.set_inputs(values)
            master.do_step()
            values["in_float32"] = struct.unpack("<f", struct.pack("<f", 0.1 * number))[0]
            assert remote.outputs == list(values.values())
        assert slave.server.slave.model.get("text") == "xyz"
        master.stop()


@BOTH
def test_stop_reset_and_run_again_gives_the_same(transport: TransportProtocol) -> None:
    description = sine_description()
    with running(Sine(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=transport)
        results = []
        for number in range(3):
            if number:
                master.reset()
            else:
                master.configure({"Sine": {"amplitude": 3.0}})
            master.initialise()
            master.run()
            trace = [list(remote.outputs)]
            for step in range(5):
                remote.set_inputs([float(step)])
                if step == 2:
                    master.tune({"Sine": {"offset": 7.0}})
                master.do_step()
                trace.append(list(remote.outputs))
            results.append(trace)
            master.stop()
        assert results[0] == results[1] == results[2]
        assert results[0][3] == [3.0 * math.sin(2.0) + 7.0]


class Fragile(SlaveModel):
    u = Input("float64")
    y = Output("float64", start=0.0)
    where = Parameter("string", start="")

    def _fail(self, place: str) -> None:
        if self.where == place:
            raise SlaveFault(f"broken in {place}", 0x5001)
        if self.where == f"bug {place}":
            raise ZeroDivisionError(place)

    def configure(self, parameters: Any) -> None:
        self._fail("configure")

    def initialise(self) -> None:
        self._fail("initialise")

    def do_step(self, step: StepInfo) -> None:
        self._fail("do_step")

    def stop(self) -> None:
        self._fail("stop")


@pytest.mark.parametrize("place", ["configure", "initialise", "do_step", "stop", "bug do_step"])
def test_exception_in_a_callback_names_the_slave_and_can_be_reset(place: str) -> None:
    description = describe(Fragile)
    with running(Fragile(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port, name="fragile")

        def go() -> None:
            master.initialise()
            master.run()
            master.do_step()
            master.stop()

        with pytest.raises(DcpError, match="'fragile' went to its error state") as caught:
            master.configure({"fragile": {"where": place}})
            go()
        code = ErrorCode.PROTOCOL_ERROR_GENERIC if "bug" in place else 0x5001
        assert caught.value.code == code
        assert f"{place.split()[-1]} in " in str(caught.value)
        assert place.split()[-1] in slave.server.slave.error_text
        master.reset({"fragile": {"where": ""}})
        go()


def test_refused_request_names_pdu_and_code() -> None:
    description = sine_description()
    with running(Sine(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(sine_description(uuid=None), port=slave.port)
        with pytest.raises(DcpError, match="refused STC_register in ALIVE: INVALID_UUID"):
            master.configure()


def test_a_port_without_a_slave() -> None:
    with Master(timeout_s=1) as master:
        master.add_slave(sine_description(), port=1)
        with pytest.raises(DcpPeerLostError, match="'Sine': no connection to 127.0.0.1:1"):
            master.configure()


def test_silent_slave_over_udp_is_named() -> None:
    with Master(timeout_s=0.3, retry_s=0.05) as master:
        master.add_slave(sine_description(), port=1, transport=UDP)
        with pytest.raises(DcpTimeoutError, match="'Sine' is in no state yet; .*INF_state"):
            master.configure()


class Waiting(SlaveModel):
    y = Output("float64", start=0.0)

    def __init__(self, stop: Any) -> None:
        self.stop_server = stop

    def do_step(self, step: StepInfo) -> None:
        self.stop_server()


def test_slave_that_ends_is_noticed_at_once() -> None:
    description = describe(Waiting)
    ending: list[Any] = []
    with (
        running(Waiting(lambda: ending[0]()), description) as slave,
        Master(timeout_s=60) as master,
    ):
        ending.append(slave.server.stop)
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        with pytest.raises(DcpError, match="'Waiting' (was lost in|went to its error state)"):
            master.do_step()
            master.do_step()


def test_master_that_vanishes_ends_the_slave_with_its_stop() -> None:
    stopped: list[bool] = []

    class Watched(Offset):
        def stop(self) -> None:
            stopped.append(True)

    description = describe(Watched)
    with running(Watched(), description) as slave:
        master = Master(timeout_s=HANG_S)
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        master.do_step()
        master._requests.sockets.close()
        slave.thread.join(10)
        assert isinstance(slave.error, DcpPeerLostError)
        assert "the master was lost" in str(slave.error)
    assert stopped == [True]


def test_a_new_master_recovers_an_abandoned_slave() -> None:
    description = describe(Offset)
    with running(Offset(), description, once=False) as slave:
        first = Master(timeout_s=HANG_S)
        first.add_slave(description, port=slave.port)
        first.configure()
        first.run()
        first._requests.sockets.close()
        with Master(timeout_s=HANG_S) as second:
            remote = second.add_slave(description, port=slave.port)
            second.configure()
            second.run()
            remote.set_inputs({"u": 2.0})
            second.do_step()
            assert remote.outputs == [3.0]
            second.stop()


def test_separate_data_port_as_in_the_standard() -> None:
    free = free_port()
    description = describe(Offset, address=SlaveAddress(data_ports=((free, free),)))
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        for number in range(20):
            remote.set_inputs([float(number)])
            master.do_step()
            assert remote.outputs == [number + 1.0]
        master.stop()


class Digits(SlaveModel):
    a = Input("float64")
    b = Input("float64")
    c = Input("float64")
    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.y = 100.0 * self.a + 10.0 * self.b + self.c


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
def test_data_pdus_go_to_several_ports_in_turn(transport: TransportProtocol) -> None:
    description = describe(Digits)
    ports = (free_port(), free_port())
    use = SlaveUse(max_pdu_size=HEADER.size + 8, data_ports=ports)
    with running(Digits(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=transport, use=use)
        master.configure()
        for number in (1.0, 2.0):  # the second run configures anew
            master.run()
            remote.set_inputs([number, number + 1.0, number + 2.0])
            master.do_step()
            assert remote.outputs == [111.0 * number + 12.0]
            assert len(remote.sent_pdus) == 3
            links = {link.sock.getpeername()[1] for link in remote.data_links.values()}
            targets = {pdu.targets[0][1] for pdu in remote.sent_pdus if not links}
            assert links | targets == set(ports)
            master.stop()
            master.reset()


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
@pytest.mark.parametrize("feeds", [("fast", "slow"), ("slow", "fast")])
def test_slaves_of_different_rates_miss_nothing(
    feeds: tuple[str, str], transport: TransportProtocol
) -> None:
    """A slave that gets data for some of its steps only is not said to have lost the others."""
    source, target = feeds
    with Master(timeout_s=HANG_S) as master, ExitStack() as stack:
        for name, every in (("fast", 1), ("slow", 4)):
            found = describe(Offset, name=name, resolutions=(Fraction(every, 100),))
            slave = stack.enter_context(running(Offset(), found))
            use = SlaveUse(every=every)
            master.add_slave(found, port=slave.port, use=use, transport=transport)
        master.connect(f"{source}.y", f"{target}.u")
        master.configure()
        master.initialise()
        master.run()
        master.do_step(8)
        master.stop()
        assert master.slaves["slow"].outputs == [2.0 if source == "fast" else 1.0]
        counted = [c for s in master.slaves.values() for c in s.input_counters().values()]
        assert bool(counted) == (transport is TransportProtocol.UDP_IPv4)
        assert all(c.lost == c.held == 0 and c.received > 1 for c in counted)
        master.deregister()


def test_multi_rate_slaves_share_one_master_step() -> None:
    fast = describe(Offset, name="fast", resolutions=(Fraction(1, 100),))
    slow = describe(Offset, name="slow", resolutions=(Fraction(4, 100),))
    with (
        running(Offset(), fast) as one,
        running(Offset(), slow) as two,
        Master(timeout_s=HANG_S) as master,
    ):
        quick = master.add_slave(fast, port=one.port)
        late = master.add_slave(slow, port=two.port, use=SlaveUse(every=4))
        master.connect("fast.y", "slow.u")
        master.configure()
        assert master.step_size == Fraction(1, 100)
        master.run()
        seen = []
        for number in range(8):
            quick.set_inputs([float(number)])
            master.do_step()
            seen.append(late.outputs[0])
        assert seen == [0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0, 8.0]
        master.stop()


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
def test_a_master_that_leaves_does_not_wait_for_a_slave_that_has_gone(
    transport: TransportProtocol,
) -> None:
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=100.0 * HANG_S) as master:
        master.add_slave(description, port=slave.port, transport=transport)
        master.configure()
        master.run()
        slave.server.stop()
        slave.thread.join(HANG_S)
