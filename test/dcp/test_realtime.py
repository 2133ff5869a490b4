# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SRT and HRT runs, data-PDU synchronisation, heartbeat, requests during long callbacks."""

from __future__ import annotations

import math
import threading
import time
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from support.dcp_models import Offset, Sine, follow_loop, running, sine_description
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpTimeoutError
from ros2_cosim.dcp.standard.ticks import TickPlan

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
BOTH = pytest.mark.parametrize("transport", [TCP, UDP])
ALL_MODES = (OpMode.HRT, OpMode.SRT, OpMode.NRT)


class TracedSine(Sine):
    """Keeps input and output of every step."""

    def __init__(self) -> None:
        self.trace: list[tuple[float, float]] = []

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        self.trace.append((self.a, self.y))


@BOTH
@pytest.mark.parametrize("mode", [OpMode.SRT, OpMode.HRT])
def test_sine_fed_back_in_real_time(transport: TransportProtocol, mode: OpMode) -> None:
    # A late tick is an error in HRT: there the ticks are slow enough for a busy machine.
    resolution = Fraction(1, 20) if mode is OpMode.SRT else Fraction(1, 2)
    description = sine_description(resolutions=(resolution,))
    model = TracedSine()
    with running(model, description) as slave, Master(op_mode=mode, timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, name="sine", transport=transport)
        master.connect("sine.y", "sine.a")
        master.configure({"sine": {"amplitude": 2.0}})
        master.initialise()
        master.run()
        master.do_step(6 if mode is OpMode.SRT else 3)
        assert remote.outputs[0] != 0.0
        master.stop()
        assert master.plan.due is None
    assert len(model.trace) >= 2
    assert all(y == 2.0 * math.sin(a) for a, y in model.trace)
    assert all(later[0] == now[1] for now, later in zip(model.trace, model.trace[1:], strict=False))


class TracedOffset(Offset):
    """Keeps input and output of every step."""

    def __init__(self) -> None:
        self.trace: list[tuple[float, float]] = []

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        self.trace.append((self.u, self.y))


@BOTH
@pytest.mark.parametrize("mode", [OpMode.SRT, OpMode.HRT])
def test_sine_and_offset_in_closed_loop_in_real_time(
    transport: TransportProtocol, mode: OpMode
) -> None:
    """Each slave ticks by its own clock: what it reads is what the other wrote some tick ago."""
    resolution = Fraction(1, 25) if mode is OpMode.SRT else Fraction(2, 5)
    settings = {"op_modes": ALL_MODES, "resolutions": (resolution,)}
    sine, offset = sine_description(**settings), describe(Offset, **settings)
    model, other = TracedSine(), TracedOffset()
    with (
        running(model, sine) as one,
        running(other, offset) as two,
        Master(op_mode=mode, timeout_s=HANG_S) as master,
    ):
        master.add_slave(sine, port=one.port, name="sine", transport=transport)
        master.add_slave(offset, port=two.port, name="offset", transport=transport)
        master.connect("sine.y", "offset.u")
        master.connect("offset.y", "sine.a")
        master.configure({"sine": {"amplitude": 2.0, "phase": 0.25}})
        master.initialise(loops=2)
        master.run()
        master.do_step(10 if mode is OpMode.SRT else 3)
        master.stop()
    assert len(model.trace) >= 2 and len(other.trace) >= 2
    assert all(y == 2.0 * math.sin(a + 0.25) for a, y in model.trace)
    assert all(y == u + 1.0 for u, y in other.trace)
    for reader, writer in ((model.trace, other.trace), (other.trace, model.trace)):
        written = [y for _, y in writer]
        places = [written.index(value) for value, _ in reader if value in written]
        assert places and places == sorted(places)
        before = len(reader) - len(places)  # these are from the initialization
        assert all(value not in written for value, _ in reader[:before])


def test_start_in_the_future_waits_in_synchronizing() -> None:
    description = sine_description()
    model = TracedSine()
    with running(model, description) as slave, Master(op_mode=OpMode.SRT) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        start = int(time.time()) + 1
        master.run(start)
        assert time.time() >= start
        master.do_step()
        master.stop()
    assert model.trace


class Slow(SlaveModel):
    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        time.sleep(0.12)


def test_hard_real_time_slave_that_is_late_goes_to_its_error_state() -> None:
    description = describe(Slow, op_modes=ALL_MODES, resolutions=(Fraction(1, 20),))
    with running(Slow(), description) as slave, Master(op_mode=OpMode.HRT) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        with pytest.raises(DcpError, match="'Slow' went to its error state"):
            master.run()
            master.do_step(20)


def test_soft_real_time_slave_that_is_late_counts_it() -> None:
    description = describe(Slow, op_modes=ALL_MODES, resolutions=(Fraction(1, 20),))
    with running(Slow(), description) as slave, Master(op_mode=OpMode.SRT) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        master.do_step(4)
        master.stop()
        assert slave.server.slave.plan.overruns > 0


@BOTH
@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("stepping", ["parallel", "sequential"])
def test_data_pdus_synchronise_in_every_mode(
    transport: TransportProtocol, mode: OpMode, stepping: str
) -> None:
    options = SlaveOptions(data_synchronisation=True)
    sine = sine_description(name="sine")
    offset = describe(Offset, name="offset", op_modes=ALL_MODES, resolutions=(Fraction(1, 100),))
    with (
        running(Sine(), sine, options=options) as one,
        running(Offset(), offset, options=options) as two,
        Master(
            op_mode=mode, data_synchronisation=True, stepping=stepping, timeout_s=HANG_S
        ) as master,
    ):
        first = master.add_slave(sine, port=one.port, transport=transport)
        second = master.add_slave(offset, port=two.port, transport=transport)
        master.connect("sine.y", "offset.u")
        master.connect("offset.y", "sine.a")
        master.configure()
        master.initialise()
        master.run()
        follow_loop(master, (first, second), stepping, 20, 1.0)
        master.stop()


def test_a_master_keeps_its_heartbeat_while_the_user_computes() -> None:
    description = describe(Offset, heartbeat=Fraction(3, 10))
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        master.do_step()
        time.sleep(0.7)
        master.do_step()
        assert slave.server.slave.error_code == ErrorCode.NONE
        master.stop()


class Blocked(SlaveModel):
    u = Input("float64")
    y = Output("float64", start=0.0)

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.stopped = False

    def do_step(self, step: StepInfo) -> None:
        self.entered.set()
        assert self.go_on.wait(10)

    def stop(self) -> None:
        assert self.go_on.is_set()
        self.stopped = True


def test_requests_are_answered_during_a_long_computation() -> None:
    model = Blocked()
    description = describe(Blocked)
    with running(model, description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        master._requests.request(remote, PduType.STC_do_step, (1).to_bytes(4, "little"))
        master._requests.await_state([remote], State.COMPUTING)
        assert model.entered.wait(10)
        assert master.request_states() == {"Blocked": State.COMPUTING}
        master._requests.request(remote, PduType.STC_initialize)
        with pytest.raises(DcpError, match="STATE_TRANSITION_IN_PROGRESS") as caught:
            master.request_states()
        assert caught.value.code == ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS
        remote.pending.clear()
        master._requests.request(remote, PduType.STC_stop)
        master._requests.await_state([remote], State.STOPPING)
        assert not model.stopped
        model.go_on.set()
        master._requests.await_state([remote], State.STOPPED)
        assert model.stopped


class Leaving(SlaveModel):
    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.stop_requested = step.ticks == 2

    def stop(self) -> None:
        time.sleep(0.1)


def test_a_slave_may_leave_the_run_by_itself() -> None:
    description = describe(Leaving, op_modes=ALL_MODES, resolutions=(Fraction(1, 50),))
    for mode in (OpMode.NRT, OpMode.SRT):
        with running(Leaving(), description) as slave, Master(op_mode=mode) as master:
            remote = master.add_slave(description, port=slave.port)
            master.configure()
            master.run()
            with pytest.raises(DcpError, match="'Leaving' left the run by itself"):
                master.do_step(20)
            if mode is OpMode.NRT:
                assert remote.state is State.STOPPED
            master._requests.await_state([remote], State.STOPPED)


def test_a_start_in_a_distant_year_does_not_end_the_slave() -> None:
    with running(Sine(), sine_description()) as slave, Master(op_mode=OpMode.SRT) as master:
        remote = master.add_slave(sine_description(), port=slave.port)
        master.configure()
        master._requests.request(remote, PduType.STC_run, (2**63 - 1).to_bytes(8, "little"))
        assert master.request_states() == {"Sine": State.SYNCHRONIZING}
        assert master.request_states() == {"Sine": State.SYNCHRONIZING}
        assert slave.error is None
        master.stop()


def test_ticks_do_not_drift() -> None:
    plan = TickPlan()
    plan.start(100.0, Fraction(1, 3))
    for _ in range(3000):
        assert not plan.advance(plan.due or 0.0)
    assert plan.due == 100.0 + 1000.0
    assert plan.advance(1200.0)
    assert plan.overruns == 1


def test_no_second_thread_serves_while_callbacks_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the slave was idle before: time passes between the steps alone."""
    clock, served, looks = [0.0], list[str](), threading.Event()

    def sleep(seconds: float) -> None:
        looks.set()
        time.sleep(0)

    fake = SimpleNamespace(**vars(time) | {"monotonic": lambda: clock[0], "sleep": sleep})
    monkeypatch.setattr("ros2_cosim.dcp.slave.server.time", fake)
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        reactor = slave.server.reactor
        serve = reactor.serve_ready

        def noted(*arguments: Any, **named: Any) -> bool:
            served.append(threading.current_thread().name)
            return serve(*arguments, **named)

        monkeypatch.setattr(reactor, "serve_ready", noted)
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        for _ in range(5):
            clock[0] += 1.0
            looks.clear()
            assert looks.wait(HANG_S)
            master.do_step()
        master.stop()
    assert "dcp-relief" not in served


class Never(Sine):
    def synchronized(self) -> bool:
        return False


def test_a_slave_that_never_synchronises_is_not_waited_for_beyond_the_timeout() -> None:
    description = sine_description()
    with running(Never(), description) as slave, Master(op_mode=OpMode.SRT) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master._requests.timeout_s = 0.3
        with pytest.raises(DcpTimeoutError, match=r"SYNCHRONIZED did not come within 0\.3 s"):
            master.run()
        master._requests.timeout_s = HANG_S


def test_slaves_that_are_ready_before_the_start_time_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the clock of the slave the time has come; that of the master goes by being looked at."""
    looks = count(1000)
    fake = SimpleNamespace(time=lambda: next(looks), monotonic=time.monotonic)
    monkeypatch.setattr("ros2_cosim.dcp.master.run.time", fake)
    description = sine_description()
    with (
        running(Sine(), description) as slave,
        Master(op_mode=OpMode.SRT, timeout_s=HANG_S) as master,
    ):
        slave.server.now = lambda: 9000.0  # type: ignore[method-assign]
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run(9000)
        assert next(looks) < 9000
        master.stop()


def test_a_start_time_is_of_no_concern_without_a_clock() -> None:
    description = sine_description()
    with running(Sine(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run(2**40)
        master.do_step()
        master.stop()


def test_how_far_a_moment_is_from_the_nearest_tick() -> None:
    plan = TickPlan()
    assert plan.deviation(10.0) is None
    plan.start(10.0, Fraction(1, 4))
    for now, deviation in ((9.0, -1.0), (10.0, 0.0), (10.0625, 0.0625), (10.4375, -0.0625)):
        assert plan.deviation(now) == deviation
    assert not plan.advance(10.25)  # when the next one is due, it is not late
    assert (plan.overruns, plan.worst_s) == (0, 0.0)
    assert plan.advance(11.0) and plan.advance(11.0)
    assert (plan.due, plan.overruns, plan.worst_s) == (10.75, 2, 0.5)
    plan.clear()
    assert (plan.due, plan.overruns, plan.worst_s) == (None, 0, 0.0)
