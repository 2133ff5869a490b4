# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The engine in its run states: start, steps, data, parameters, stop, heartbeat."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction

import pytest
from support.dcp_engine import Bench
from support.dcp_session import HOME, Box, E, P, S, Session, box

from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.slave_description import NonRealTime


def test_start_time() -> None:
    session = Session(mode=1)
    session.to(S.CONFIGURED)
    session.refused(E.INVALID_START_TIME, P.STC_run, time=999)
    session.refused(E.INVALID_START_TIME, P.STC_run, time=-1)
    assert session.ok(P.STC_run, time=1001) == [S.SYNCHRONIZING]
    now = Session(mode=1)
    now.to(S.CONFIGURED)
    assert now.ok(P.STC_run, time=1000) == [S.SYNCHRONIZING, S.SYNCHRONIZED]
    nrt = Session()
    nrt.to(S.CONFIGURED)
    assert nrt.ok(P.STC_run, time=5) == [S.SYNCHRONIZING, S.SYNCHRONIZED]


def test_wrong_steps_of_do_step_are_refused() -> None:
    session = Session()
    session.to(S.RUNNING)
    for steps in (0, 2):
        session.refused(E.INVALID_STEPS, P.STC_do_step, steps=steps)
    for variable in (True, False):
        description = box(steps=NonRealTime(1, False, 1, 4), can_handle_variable_steps=variable)
        session = Session(description)
        session.to(S.RUNNING)
        session.refused(E.INVALID_STEPS, P.STC_do_step, steps=5)
        session.ok(P.STC_do_step, steps=3)
        session.ok(P.STC_send_outputs)
        if variable:
            session.ok(P.STC_do_step, steps=2)
        else:
            session.refused(E.NOT_SUPPORTED_VARIABLE_STEPS, P.STC_do_step, steps=2)


def test_do_step_is_allowed_while_synchronizing_and_returns_there() -> None:
    session = Session()
    session.to(S.CONFIGURED)
    session.ok(P.STC_run, time=0)
    assert session.ok(P.STC_do_step, steps=1) == [S.COMPUTING, S.COMPUTED]
    assert session.ok(P.STC_send_outputs) == [S.SENDING_D, S.SYNCHRONIZED]


def test_stop_from_every_state_that_can_be_stopped() -> None:
    for state in (S.PREPARED, S.CONFIGURED, S.SYNCHRONIZED, S.RUNNING):
        session = Session()
        session.to(state)
        assert session.ok(P.STC_stop) == [S.STOPPING, S.STOPPED]
        assert session.bench.open == []
        assert session.ok(P.STC_reset) == [S.CONFIGURATION]
        session.to(S.RUNNING)
        session.ok(P.STC_stop)
        assert session.ok(P.STC_deregister) == [S.ALIVE]


def test_scopes_gate_sending_and_receiving() -> None:
    for scope in range(3):
        session = Session()
        session.wire()
        session.ok(P.CFG_scope, data_id=1, scope=scope)
        session.ok(P.CFG_scope, data_id=2, scope=scope)
        session.ok(P.STC_prepare)
        session.ok(P.STC_configure)
        bench, model = session.bench, session.bench.slave.model

        def put(value: float, bench: Bench = bench) -> None:
            bench.ask(
                make(
                    P.DAT_input_output,
                    pdu_seq_id=0,
                    data_id=1,
                    payload=struct.pack("<d", value),
                )
            )

        put(1.5)
        session.ok(P.STC_initialize)
        assert model.get("u") == (1.5 if scope < 2 else 0.0)
        session.ok(P.STC_send_outputs)
        assert len(bench.data) == (scope < 2)
        bench.data.clear()
        session.ok(P.STC_run, time=0)
        put(2.5)
        session.ok(P.STC_do_step, steps=1)
        assert model.get("u") == (2.5 if scope != 1 else 1.5)
        session.ok(P.STC_send_outputs)
        assert len(bench.data) == (scope != 1)


def test_data_take_effect_at_the_next_computation_only() -> None:
    session = Session()
    session.to(S.RUNNING)
    session.bench.ask(
        make(P.DAT_input_output, pdu_seq_id=0, data_id=1, payload=struct.pack("<d", 4.0))
    )
    model = session.bench.slave.model
    assert model.get("u") == 0.0
    session.ok(P.STC_do_step, steps=1)
    assert model.get("u") == 4.0


def test_parameters_of_one_pdu_change_together_before_the_step() -> None:
    session = Session()
    session.ok(P.CFG_tunable_parameter, param_id=1, pos=1, parameter_vr=10, source_data_type=0)
    session.to(S.RUNNING)
    session.bench.ask(
        make(P.DAT_parameter, pdu_seq_id=0, param_id=1, payload=struct.pack("<dB", 2.5, 7))
    )
    session.ok(P.STC_do_step, steps=1)
    model = session.bench.slave.model
    assert (model.get("t"), model.get("m")) == (2.5, 7)


def test_outputs_in_real_time_follow_their_steps() -> None:
    session = Session(mode=1)
    session.wire()
    session.ok(P.CFG_output, data_id=3, pos=0, source_vr=4)
    session.ok(P.CFG_steps, data_id=3, steps=3)
    session.ok(P.CFG_scope, data_id=3, scope=0)
    session.ok(P.CFG_target_network_information, data_id=3, transport_protocol=0, address=HOME)
    session.ok(P.STC_prepare)
    session.ok(P.STC_configure)
    session.ok(P.STC_run, time=0)
    bench = session.bench
    for _ in range(7):
        bench.slave.on_time()
        bench.time += 0.01
    sent = [data[3] for _, data in bench.data]
    assert sent == [2, 2, 2, 3, 2, 2, 2, 3, 2]


def test_a_second_run_in_the_future_moves_the_start() -> None:
    session = Session(mode=1)
    session.to(S.CONFIGURED)
    session.ok(P.STC_run, time=0)
    bench = session.bench
    assert bench.slave.deadline() == 1000.0
    bench.slave.on_time()
    assert bench.slave.state is S.SYNCHRONIZED
    session.ok(P.STC_run, time=1002)
    assert bench.slave.deadline() == 1002.0


def test_heartbeat() -> None:
    session = Session(box(heartbeat=Fraction(1, 2)))
    bench = session.bench
    bench.time += 0.4
    session.ask(P.INF_state)
    bench.time += 0.4
    bench.slave.on_time()
    assert session.state is S.CONFIGURATION
    bench.time += 0.2
    bench.sent.clear()
    bench.slave.on_time()
    assert session.state is S.ERRORRESOLVED
    assert [data[2] for data in bench.sent] == [S.ERRORHANDLING, S.ERRORRESOLVED]
    (answer,) = session.ask(P.INF_error)
    assert answer.error_code == E.PROTOCOL_ERROR_HEARTBEAT_MISSED
    assert session.ok(P.STC_reset) == [S.CONFIGURATION]
    assert bench.slave.error_code == E.NONE
    assert bench.slave.deadline() == bench.time + 0.5
    assert session.ok(P.STC_deregister) == [S.ALIVE]
    assert bench.slave.deadline() is None


class Stubborn(Box):
    """Raises in the callbacks that run between two PDUs."""

    def parameters_changed(self, names: Sequence[str]) -> None:
        raise ValueError("no such gear")

    def synchronized(self) -> bool:
        raise ValueError("no clock")


@pytest.mark.parametrize("place", ["parameters_changed", "synchronized"])
def test_an_exception_between_two_steps_leads_to_the_error_state(place: str) -> None:
    session = Session(mode=1, model=Stubborn())
    session.to(S.CONFIGURED)
    bench = session.bench
    if place == "parameters_changed":
        data = struct.pack("<d", 2.0)
        bench.ask(make(P.DAT_parameter, pdu_seq_id=0, param_id=1, payload=data))
        states = session.ok(P.STC_initialize)
        assert states == [S.INITIALIZING, S.ERRORHANDLING, S.ERRORRESOLVED]
    else:
        assert session.ok(P.STC_run, time=1001) == [S.SYNCHRONIZING]
        bench.time = 1001.0
        bench.slave.on_time()
        assert session.state is S.ERRORRESOLVED
    assert "ValueError: no " in bench.slave.error_text
    assert session.ok(P.STC_reset) == [S.CONFIGURATION]


def test_while_the_error_callback_runs_no_transition_is_in_progress() -> None:
    """0x1005 belongs to a transition that a request has begun; here there is none."""
    codes: list[int] = []

    class Failing(Box):
        def do_step(self, step: StepInfo) -> None:
            raise RuntimeError("broken")

        def error(self, code: int, message: str) -> None:
            assert session.state is S.ERRORHANDLING
            for kind in (P.STC_reset, P.STC_do_step, P.STC_deregister):
                session.seq = session.bench.slave.expected_seq
                fields = {"steps": 1} if kind is P.STC_do_step else {}
                (answer,) = session.ask(kind, **fields)
                codes.append(answer.error_code)

    session = Session(model=Failing())
    session.to(S.RUNNING)
    session.ask(P.STC_do_step, steps=1)
    assert session.state is S.ERRORRESOLVED
    assert codes == [E.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE] * 3


def test_what_cannot_be_sent_or_reached_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*given: object) -> None:
        raise OSError(101, "Network is unreachable")

    session = Session()
    session.to(S.RUNNING)
    monkeypatch.setattr(session.bench, "send_data", unreachable)
    session.ok(P.STC_do_step, steps=1)
    session.ask(P.STC_send_outputs)
    slave = session.bench.slave
    assert (slave.state, slave.error_code) == (S.ERRORRESOLVED, E.PROTOCOL_ERROR_GENERIC)
    assert "sending outputs: [Errno 101] Network is unreachable" in slave.error_text
    session = Session()
    session.to(S.PREPARED)
    monkeypatch.setattr(session.bench, "connect", unreachable)
    session.ask(P.STC_configure)
    slave = session.bench.slave
    assert (slave.state, slave.error_code) == (S.ERRORRESOLVED, E.PROTOCOL_ERROR_GENERIC)
    assert "cannot connect to 127.0.0.1:9000: Network is unreachable" in slave.error_text


def test_data_make_a_slave_step_only_while_it_runs() -> None:
    stepped = []

    class Counted(Box):
        def do_step(self, step: StepInfo) -> None:
            stepped.append(step)

    session = Session.__new__(Session)
    session.description, session.seq = box(), 0
    options = SlaveOptions(data_synchronisation=True)
    session.bench = Bench(Counted(), session.description, options)
    session.ok(
        P.STC_register,
        slave_uuid=session.description.uuid_bytes,
        op_mode=2,
        major_version=1,
        minor_version=0,
    )
    sent = []
    for number, state in enumerate((S.CONFIGURED, S.SYNCHRONIZED, S.RUNNING)):
        if state is S.CONFIGURED:
            session.to(state)
        else:
            session.ok(P.STC_run, time=0)
        assert session.state is state
        payload = struct.pack("<d", 1.0)
        session.bench.ask(make(P.DAT_input_output, pdu_seq_id=number, data_id=1, payload=payload))
        sent.append((len(stepped), len(session.bench.data)))
    assert sent == [(0, 0), (0, 0), (1, 1)]


def test_a_callback_that_fails_after_a_stop_ends_in_the_error_state() -> None:
    class Failing(Box):
        def do_step(self, step: StepInfo) -> None:
            session.seq = session.bench.slave.expected_seq
            session.ask(P.STC_stop)
            assert session.state is S.STOPPING
            raise RuntimeError("broken")

    session = Session(model=Failing())
    session.to(S.RUNNING)
    session.ask(P.STC_do_step, steps=1)
    assert session.state is S.ERRORRESOLVED
    assert "do_step in STOPPING: RuntimeError: broken" in session.bench.slave.error_text


def test_what_was_not_configured_is_not_stopped(caplog: pytest.LogCaptureFixture) -> None:
    """Also if it was so in an earlier run, that ended by a stop or by an error."""
    ended: list[str] = []

    class Watched(Box):
        def stop(self) -> None:
            ended.append("stop")

        def error(self, code: int, message: str) -> None:
            ended.append("error")

    caplog.set_level("ERROR", logger="ros2_cosim.dcp.slave")
    session = Session(model=Watched())
    slave = session.bench.slave
    session.to(S.CONFIGURED)
    slave.fail(E.PROTOCOL_ERROR_GENERIC, "broken")
    assert ended == ["error"]
    assert caplog.messages == ["slave Box: PROTOCOL_ERROR_GENERIC (0x1001): broken"]
    for _ in range(2):
        session.ok(P.STC_reset)
        session.to(S.PREPARED)
        session.ok(P.STC_stop)
    assert ended == ["error"]
    session.ok(P.STC_reset)
    session.to(S.CONFIGURED)
    session.ok(P.STC_stop)
    session.ok(P.STC_reset)
    session.to(S.PREPARED)
    slave.fail(E.PROTOCOL_ERROR_GENERIC, "broken")
    assert ended == ["error", "stop"]
    session.ok(P.STC_deregister)
    fields = {"op_mode": 2, "major_version": 1, "minor_version": 0}
    session.ok(P.STC_register, slave_uuid=session.description.uuid_bytes, **fields)
    assert (slave.error_code, slave.error_text) == (E.NONE, "")
