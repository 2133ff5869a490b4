# SPDX-License-Identifier: Apache-2.0
"""What the tester of slaves takes for a right answer, against a socket that answers by a script."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest
from support.dcp_models import Sine, running
from support.dcp_session import box
from support.patience import HANG_S

from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.tools.tester import SKIPPED, Outcome, verify_slave
from ros2_cosim.dcp.tools.tester_dialogue import Deviation, Dialogue
from ros2_cosim.dcp.tools.tester_session import TesterSession as Session
from ros2_cosim.dcp.tools.tester_steps import first_mode
from ros2_cosim.dcp.wire.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.wire.errors import PduError
from ros2_cosim.dcp.wire.pdu import Pdu, decode

P = PduType
Script = Callable[..., Session]


def ack(request: bytes, sender: int = 1) -> bytes:
    """RSP_ack: type, number of the request, sender."""
    return b"\xb0" + request[1:3] + bytes([sender])


def nack(code: int, expected: int, sender: int = 1) -> Callable[[bytes], bytes]:
    return lambda request: (
        b"\xb1"
        + request[1:3]
        + bytes([sender])
        + expected.to_bytes(2, "little")
        + code.to_bytes(2, "little")
    )


def changed(state: int) -> bytes:
    return b"\xe0\x01" + bytes([state])


@pytest.fixture
def scripted() -> Iterator[Script]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as slave:
        slave.bind(("127.0.0.1", 0))
        slave.settimeout(HANG_S)
        threads = []
        over = Event()
        sessions = []

        def make(*answers: tuple[Any, ...] | Callable[[bytes], bytes]) -> Session:
            """A session; for each request, what comes back: one datagram or several."""

            def serve() -> None:
                for answer in answers:
                    request, address = slave.recvfrom(2048)
                    if over.is_set():
                        return
                    for each in answer if isinstance(answer, tuple) else (answer,):
                        slave.sendto(each(request) if callable(each) else each, address)

            thread = Thread(target=serve)
            thread.start()
            threads.append(thread)
            port = slave.getsockname()[1]
            session = Session(box(), "127.0.0.1", port, TransportProtocol.UDP_IPv4, HANG_S)
            sessions.append(session)
            return session

        yield make
        over.set()  # a test that has failed leaves answers that nobody asks for
        for _ in threads:
            slave.sendto(b"", slave.getsockname())
        for thread in threads:
            thread.join(HANG_S)
        for session in sessions:
            session.dialogue.close()


def test_the_script_speaks_as_the_standard_has_it() -> None:
    request = b"\x01\x07\x00"
    fields = {"resp_seq_id": 7, "sender": 1}
    assert ack(request) == Pdu(P.RSP_ack, fields).encode()
    told = Pdu(P.RSP_nack, {**fields, "exp_seq_id": 1, "error_code": 0x200A}).encode()
    assert nack(0x200A, 1)(request) == told
    notified = Pdu(P.NTF_state_changed, {"sender": 1, "state_id": State.PREPARED}).encode()
    assert changed(State.PREPARED) == notified


def test_a_refusal_has_one_of_the_codes_and_the_number_that_is_expected_next(
    scripted: Script,
) -> None:
    session = scripted(
        nack(0x200A, 1), nack(0x200A, 2), nack(0x2009, 3), nack(0x200A, 3), nack(0x200A, 5, 2), ack
    )
    codes = (ErrorCode.INVALID_SCOPE, ErrorCode.INVALID_STEPS)
    for _ in range(2):
        session.refused(P.CFG_scope, *codes, data_id=1, scope=3)
    with pytest.raises(Deviation, match="refused with INVALID_SCOPE or INVALID_STEPS; got"):
        session.refused(P.CFG_scope, *codes, data_id=1, scope=3)
    with pytest.raises(Deviation, match="exp_seq_id must be 4$"):
        session.refused(P.CFG_scope, *codes, data_id=1, scope=3)
    with pytest.raises(Deviation, match="the sender must be the slave's id 1$"):
        session.refused(P.CFG_scope, *codes, data_id=1, scope=3)
    with pytest.raises(Deviation, match="CFG_scope must be answered with RSP_nack; got"):
        session.refused(P.CFG_scope, *codes, data_id=1, scope=3)


def test_an_acknowledgement_is_followed_by_the_states_in_their_order(scripted: Script) -> None:
    preparing, prepared = changed(State.PREPARING), changed(State.PREPARED)
    session = scripted((ack, preparing, prepared), (ack, prepared), (preparing,))
    session.accepted(P.STC_prepare, State.PREPARING, State.PREPARED)
    assert session.state is State.PREPARED
    with pytest.raises(Deviation, match="NTF_state_changed PREPARING must follow; got"):
        session.accepted(P.STC_prepare, State.PREPARING)
    with pytest.raises(Deviation, match="came before the answer to STC_prepare"):
        session.accepted(P.STC_prepare, State.PREPARING)


def test_an_answer_names_its_request(scripted: Script) -> None:
    session = scripted(lambda request: b"\xb0\x09\x00\x01")
    with pytest.raises(Deviation, match="answers another request than STC_prepare number 0"):
        session.accepted(P.STC_prepare)


def test_the_state_is_asked_for_and_the_count_of_requests_taken_over(scripted: Script) -> None:
    """A slave that expects number 500 says so; the question is asked again with it."""
    asked: list[bytes] = []

    def state(request: bytes) -> bytes:
        asked.append(request)
        return b"\xb2" + request[1:3] + b"\x01" + bytes([State.STOPPED])

    session = scripted(nack(ErrorCode.INVALID_SEQUENCE_ID, 500), state)
    assert session.follow_state() is State.STOPPED
    assert asked == [bytes([P.INF_state]) + b"\xf4\x01\x01"]
    assert session.seq == 501


def test_another_refusal_is_no_reason_to_count_anew(scripted: Script) -> None:
    session = scripted(
        (nack(0x200A, 500), lambda request: b"\xb2" + request[1:3] + b"\x01" + bytes([7]))
    )
    assert session.follow_state() is State(7)
    assert session.seq == 1


def test_without_an_operating_mode_nothing_can_be_tested() -> None:
    for modes, first in (
        ((OpMode.HRT, OpMode.SRT), OpMode.SRT), ((OpMode.HRT,), OpMode.HRT),
        ((OpMode.SRT, OpMode.NRT), OpMode.NRT),
    ):  # fmt: skip
        assert first_mode(box(op_modes=modes)) is first
    with pytest.raises(Deviation, match="the description offers no operating mode"):
        first_mode(replace(box(), non_real_time=None, soft_real_time=False))


#: How often each procedure asks what of a slave with one input, one output, four parameters.
ONE_CONFIGURATION = {
    "CFG_time_res": 1, "CFG_output": 1, "CFG_target_network_information": 1, "CFG_steps": 1,
    "CFG_scope": 2, "CFG_input": 1, "CFG_source_network_information": 1,
}  # fmt: skip
ASKED: dict[str, tuple[int, str]] = {
    "alive": (0, "2 INF_state 1 STC_prepare"),
    "registration.refusals": (0, "1 INF_state 6 STC_register"),
    "registration": (0, "5 INF_state 4 STC_register 4 STC_deregister"),
    "sequence": (0, "6 INF_state 1 STC_register 1 STC_configure 1 STC_deregister"),
    "receiver": (0, "3 INF_state 1 STC_register 1 STC_deregister"),
    "length": (0, "1 INF_state 1 STC_register 2 bytes 1 STC_deregister"),
    "configuration.not_allowed": (
        0,
        "2 INF_state 1 STC_register 1 STC_configure 1 STC_initialize 1 STC_run 1 STC_send_outputs "
        "1 STC_stop 1 INF_error 1 STC_prepare 1 STC_deregister",
    ),
    "configuration.refusals": (
        0,
        "3 INF_state 1 STC_register 3 CFG_time_res 2 CFG_output 3 CFG_input 1 CFG_clear "
        "1 STC_deregister",
    ),
    "configuration.incomplete": (
        0,
        "1 INF_state 4 STC_register 3 CFG_time_res 3 CFG_output 2 CFG_target_network_information "
        "3 CFG_steps 4 CFG_scope 5 CFG_input 4 STC_prepare 4 STC_deregister "
        "2 CFG_source_network_information",
    ),
    "states": (
        6,
        "7 INF_state 6 STC_register 15 STC_prepare 9 STC_deregister 6 STC_stop 11 STC_run "
        "5 STC_configure 1 STC_initialize 1 STC_do_step",
    ),
    "initialization": (
        1,
        "1 INF_state 1 STC_register 1 STC_prepare 1 STC_configure 2 STC_initialize "
        "2 STC_send_outputs 1 STC_stop 1 STC_deregister",
    ),
    "nrt": (
        1,
        "1 INF_state 1 STC_register 1 STC_prepare 1 STC_configure 2 STC_run 6 STC_do_step "
        "5 STC_send_outputs 1 STC_stop 1 STC_deregister",
    ),
    "srt": (
        1,
        "1 INF_state 1 STC_register 1 STC_prepare 1 STC_configure 3 STC_run 1 STC_do_step "
        "1 STC_stop 1 STC_deregister",
    ),
    "reset": (
        2,
        "3 INF_state 1 STC_register 2 STC_prepare 2 STC_configure 4 STC_run 2 STC_stop 2 STC_reset "
        "1 STC_deregister",
    ),
    "parameters": (0, "1 INF_state 1 STC_register 4 CFG_parameter 1 STC_deregister"),
    "logging": (0, "1 INF_state 1 STC_register 1 CFG_logging 2 INF_log 1 STC_deregister"),
    "hostile.unknown": (
        0,
        "2 INF_state 1 STC_register 3 bytes 1 RSP_ack 1 NTF_state_changed 1 STC_deregister",
    ),
    "hostile.fields": (0, "3 INF_state 1 STC_register 1 CFG_scope 1 STC_deregister"),
}


def test_each_procedure_asks_for_all_that_it_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slave that keeps to the standard passes a procedure that has forgotten a question, too."""
    found: dict[str, Counter[str]] = {}
    sent: Counter[str] = Counter()
    send = Dialogue.send

    def counted(dialogue: Dialogue, data: bytes) -> None:
        try:
            sent[decode(data).kind.name] += 1
        except PduError:
            sent["bytes"] += 1
        send(dialogue, data)

    def ended(outcome: Outcome) -> None:
        if outcome.result != SKIPPED:
            found[outcome.name] = Counter(sent)
        sent.clear()

    monkeypatch.setattr(Dialogue, "send", counted)
    description = describe(Sine, op_modes=(OpMode.NRT, OpMode.SRT))
    with running(Sine(), description, once=False) as slave:
        report = verify_slave(description, port=slave.port, hostile=True, progress=ended)
    assert report.passed, report.text()
    expected = {}
    for name, (configurations, text) in ASKED.items():
        words = text.split()
        expected[name] = Counter({k: configurations * n for k, n in ONE_CONFIGURATION.items()})
        expected[name].update({k: int(n) for n, k in zip(words[::2], words[1::2], strict=True)})
    assert {name: +counts for name, counts in expected.items()} == found


@pytest.mark.parametrize("state", [State.CONFIGURATION, State.PREPARED, State.RUNNING])
def test_a_slave_is_brought_back_from_wherever_a_procedure_has_failed(state: State) -> None:
    description = describe(Sine)
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TransportProtocol.TCP_IPv4, HANG_S)
        session.register(OpMode.NRT)
        if state is not State.CONFIGURATION:
            session.configure()
            session.to(state)
        session.dialogue.transcript.clear()
        session.recover()
        asked = [line.split()[1] for line in session.dialogue.transcript if line.startswith("->")]
        session.dialogue.close()
    assert session.state is State.ALIVE
    stopped = [] if state is State.CONFIGURATION else ["STC_stop"]
    assert [kind for kind in asked if kind != "INF_state"] == [*stopped, "STC_deregister"]
