# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tester of slaves takes for a right answer, against a socket that answers by a script."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from support.dcp_models import Sine, running
from support.dcp_session import box
from support.patience import HANG_S
from support.ports import free_port

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.dcp.slave.declare import SlaveAddress, describe
from ros2_cosim.dcp.slave.slave_model import Input, SlaveModel
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.pdu import Pdu, decode
from ros2_cosim.dcp.standard.slave_description import Capabilities, Resolution, ResolutionRange
from ros2_cosim.dcp.tools.tester import FAILED, PASSED, SKIPPED, Outcome, verify_slave
from ros2_cosim.dcp.tools.tester import TesterReport as Report
from ros2_cosim.dcp.tools.tester_dialogue import Deviation, Dialogue
from ros2_cosim.dcp.tools.tester_session import TesterSession as Session
from ros2_cosim.dcp.tools.tester_steps import PROCEDURES, first_mode

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


TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
DATA = Pdu(P.DAT_input_output, {"pdu_seq_id": 0, "data_id": 1, "payload": bytes(8)}).encode()


def framed(*pdus: bytes) -> bytes:
    return b"".join(len(pdu).to_bytes(4, "little") + pdu for pdu in pdus)


@pytest.mark.parametrize("apart", [False, True])
def test_over_tcp_data_have_a_connection_of_their_own_if_they_go_to_another_port(
    apart: bool,
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as control,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port = (other if apart else control).getsockname()[1]
        dialogue = Dialogue("127.0.0.1", control.getsockname()[1], TCP, HANG_S)
        first, _ = control.accept()
        dialogue.open_data(port)
        dialogue.send_data(DATA, port)
        if apart:
            second, _ = other.accept()
            second.settimeout(HANG_S)
            assert second.recv(100) == framed(DATA)
            kept = dialogue._data_link
            dialogue.close_data()
            assert second.recv(1) == b"" and kept is not None
            second.close()
            dialogue.send_data(DATA, port)
        assert first.recv(100) == framed(DATA)
        control.setblocking(False)
        with pytest.raises(BlockingIOError):
            control.accept()
        dialogue.close()
        assert first.recv(1) == b""
        first.close()


@pytest.fixture
def peer() -> Iterator[tuple[Dialogue, Callable[[bytes], None]]]:
    """A dialogue over UDP, and what sends it a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(HANG_S)
        dialogue = Dialogue("127.0.0.1", sock.getsockname()[1], UDP, 0.05)
        home = dialogue.receives_at()
        yield dialogue, lambda data: bool(sock.sendto(data, home))
        dialogue.close()


def test_over_udp_data_go_to_the_port_that_is_given(
    peer: tuple[Dialogue, Callable[[bytes], None]],
) -> None:
    dialogue, _ = peer
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        other.settimeout(HANG_S)
        dialogue.open_data(other.getsockname()[1])
        dialogue.send_data(DATA, other.getsockname()[1])
        assert other.recvfrom(100) == (DATA, dialogue.receives_at())
    assert dialogue.transcript == [f"-> {decode(DATA)}"]


def test_answers_data_and_log_entries_are_told_apart(
    peer: tuple[Dialogue, Callable[[bytes], None]],
) -> None:
    dialogue, send = peer
    log = Pdu(P.NTF_log, {"sender": 1, "time": 0, "log_template_id": 1, "arguments": b""})
    datagrams = [DATA[:1] + bytes([number, 0]) + DATA[3:] for number in range(3)]
    with pytest.raises(Deviation, match=r"^this did not come within 0\.05 s$"):
        dialogue.next_control("this")
    with pytest.raises(Deviation, match=r"^that did not come within 0\.01 s$"):
        dialogue.next_control("that", 0.01)
    with pytest.raises(Deviation, match="^these: 0 data PDUs came instead of 1$"):
        dialogue.collect_data(1, "these")
    for data in (log.encode(), *datagrams, ack(b"\0\5\0")):
        send(data)
    dialogue.timeout_s = HANG_S
    assert dialogue.next_control("this").resp_seq_id == 5
    assert [pdu.pdu_seq_id for pdu in dialogue.collect_data(2, "these")] == [0, 1]
    assert [pdu.pdu_seq_id for pdu in dialogue.collect_data(1, "these")] == [2]
    send(DATA)
    dialogue.silence(0.05, "this")
    send(ack(b"\0\6\0"))
    with pytest.raises(Deviation, match="^this must not be answered; got RSP_ack resp_seq_id=6"):
        dialogue.silence(0.2, "this")
    assert dialogue.collect_data(1, "these")
    send(b"\x99\1")
    with pytest.raises(Deviation, match="^the slave sent 9901, which is not a PDU: "):
        dialogue.next_control("this")
    assert [line.split()[:2] for line in dialogue.transcript[:2]] == [
        ["<-", "NTF_log"], ["<-", "DAT_input_output"],
    ]  # fmt: skip


def test_what_has_come_before_is_forgotten_with_the_way_back() -> None:
    def state(number: int) -> bytes:
        return b"\xb2\0\0\1" + bytes([number])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        session = Session(box(), "127.0.0.1", port, TCP, HANG_S)
        far, _ = listener.accept()
        far.sendall(framed(state(State.RUNNING), state(State.RUNNING)))
        session.dialogue.next_control("the first")
        far.sendall(framed(state(State.ALIVE), changed(State.PREPARED), DATA))
        session.state = State.RUNNING
        session.recover()
        assert session.state is State.ALIVE
        assert [line for line in session.dialogue.transcript if "->" in line] == [
            "-> INF_state pdu_seq_id=0 receiver=1"
        ]
        session.dialogue.silence(0.0, "nothing")
        session.dialogue.timeout_s = 0.01
        with pytest.raises(Deviation, match="0 data PDUs came"):
            session.dialogue.collect_data(1, "nothing")
        session.dialogue.close()
        far.close()


def at(place: int, value: int) -> Callable[[bytes], bytes]:
    """One byte of a PDU is another."""
    return lambda data: data[:place] + bytes([value]) + data[place + 1 :]


def asked(data: bytes) -> bytes:
    """INF_state number 1."""
    return b"\x80\1\0\1"


def cut(data: bytes) -> bytes:
    return data[:-1]


INVALID_SEQUENCE = "INVALID_SEQUENCE_ID expecting 1 must follow; got RSP_"
ALIVE = "INF_state in ALIVE must be answered with ALIVE; got RSP_"


@pytest.mark.parametrize(
    ("name", "kind", "number", "change", "said"),
    [
        ("alive", P.RSP_state_ack, 0, at(4, 1), f"{ALIVE}state_ack"),
        ("alive", P.RSP_state_ack, 0, ack, f"{ALIVE}ack"),
        ("alive", P.RSP_nack, 0, ack, "STC_prepare in ALIVE must be refused; got RSP_ack"),
        ("registration", P.RSP_state_ack, 1, at(4, 3), "INF_state must report CONFIGURATION; got"),
        ("sequence", P.RSP_nack, 0, at(6, 0x12), f"{INVALID_SEQUENCE}nack"),
        ("sequence", P.RSP_nack, 1, at(4, 9), f"{INVALID_SEQUENCE}nack"),
        ("length", P.RSP_nack, 0, at(6, 2), "INVALID_LENGTH must follow; got RSP_nack"),
        ("length", P.RSP_nack, 1, ack, "INVALID_LENGTH must follow; got RSP_ack"),
        ("nrt", P.DAT_input_output, 1, at(1, 77), "data PDU 77 follows 0; ids count by one"),
        ("nrt", P.DAT_input_output, 0, at(3, 9), "SENDING_D: data_id 1 must be sent; got"),
        ("nrt", P.DAT_input_output, 0, at(0, 0xF1), "SENDING_D: data_id 1 must be sent; got"),
        ("nrt", P.DAT_input_output, 0, cut, "payload of 7 bytes where 8 belong"),
        ("heartbeat", P.NTF_state_changed, 1, at(2, 18), "NTF_state_changed ERRORHANDLING must"),
        ("heartbeat", P.NTF_state_changed, 2, at(2, 17), "NTF_state_changed ERRORRESOLVED must"),
        ("heartbeat", P.RSP_error_ack, 0, at(4, 1), "must report PROTOCOL_ERROR_HEARTBEAT_MISSED"),
        # Of another slave's request, which the tester sends to this one.
        ("receiver", P.INF_state, 0, at(3, 1), "INF_state to another slave must not be answered"),
        ("hostile.unknown", P.RSP_ack, 1, asked, "garbage must not be answered; got RSP_state_ack"),
    ],
)
def test_a_procedure_tells_what_deviates(
    name: str,
    kind: PduType,
    number: int,
    change: Callable[[bytes], bytes],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slave that keeps to the standard, but for one PDU of a kind on its way."""
    left = count()

    def changed(method: Callable[..., None]) -> Callable[..., None]:
        def passed(dialogue: Dialogue, data: bytes) -> None:
            method(dialogue, change(data) if data[0] == kind and next(left) == number else data)

        return passed

    slept: list[float] = []
    fake = SimpleNamespace(sleep=slept.append)
    monkeypatch.setattr("ros2_cosim.dcp.tools.tester_steps.time", fake)
    monkeypatch.setattr(Dialogue, "send", changed(Dialogue.send))
    monkeypatch.setattr(Dialogue, "_take", changed(Dialogue._take))
    description = describe(Sine, heartbeat=Fraction(3, 2) if name == "heartbeat" else None)
    (procedure,) = (p for p in PROCEDURES if p.name == name)
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TCP, HANG_S)
        with pytest.raises(CosimError, match=re.escape(said)):
            procedure.run(session)
        session.dialogue.close()
    assert name != "heartbeat" or 0.75 in slept  # half of the interval


class Slept(Exception):
    pass


def test_a_slave_without_an_interval_of_its_heartbeat_is_asked_twice_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sleep(seconds: float) -> None:
        raise Slept(seconds)

    monkeypatch.setattr("ros2_cosim.dcp.tools.tester_steps.time", SimpleNamespace(sleep=sleep))
    description = describe(Sine)
    (procedure,) = (p for p in PROCEDURES if p.name == "heartbeat")
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TCP, HANG_S)
        with pytest.raises(Slept, match=r"^0\.5$"):
            procedure.run(session)
        session.dialogue.close()


class Deaf(SlaveModel):
    u = Input("float64")


def test_what_a_slave_lacks_is_not_tested_for_this_reason() -> None:
    description = replace(
        describe(Deaf), capabilities=Capabilities(), log_categories=(), log_templates=()
    )
    reasons = {p.name: p.needs(description) for p in PROCEDURES}
    lacks = {
        "configuration.refusals": "can_accept_config_pdus",
        "configuration.incomplete": "can_accept_config_pdus",
        "reset": "can_handle_reset",
        "logging": "can_provide_log_on_request",
        "heartbeat": "can_monitor_heartbeat",
        "hostile.fields": "can_accept_config_pdus",
    }
    assert {name: reason for name, reason in reasons.items() if reason} == {
        "initialization": "the slave has no Output",
        "parameters": "the slave has no Parameter",
        "srt": "the slave does not offer SRT",
    } | {name: f"the slave lacks {flag}" for name, flag in lacks.items()}


def test_a_slave_that_ends_fails_what_is_left() -> None:
    description = describe(Sine)
    with running(Sine(), description, once=False) as slave:

        def end(outcome: Outcome) -> None:
            slave.server.stop()
            slave.thread.join(HANG_S)

        only = ["alive", "registration"]
        report = verify_slave(description, port=slave.port, only=only, progress=end)
    names = ["alive", "registration.refusals", "registration"]
    assert [outcome.name for outcome in report.outcomes] == names
    assert [outcome.result for outcome in report.outcomes] == [PASSED, FAILED, FAILED]
    assert "no connection to 127.0.0.1" in report.outcomes[1].message


def test_a_hostile_procedure_runs_if_it_is_asked_for() -> None:
    description = describe(Sine)
    with running(Sine(), description, once=False) as slave:
        (named,) = verify_slave(description, port=slave.port, only=["hostile.fields"]).outcomes
        *_, last = verify_slave(description, port=slave.port).outcomes
    assert (named.result, last.result) == (PASSED, SKIPPED)
    assert last.message == "only where it is named (--only)"


def test_a_report_has_the_transcripts_of_what_has_failed() -> None:
    outcomes = [
        Outcome("a", "About a", PASSED, "", ("-> p",)),
        Outcome("b", "About b", FAILED, "because", ("-> q", "<- r")),
        Outcome("c", "About c", SKIPPED, "the slave lacks it"),
    ]
    report = Report("name", "0-1", "host:7", "TCP_IPv4", outcomes)
    assert report.text().splitlines() == [
        "name (0-1) at host:7 over TCP_IPv4",
        "  passed  a - About a",
        "  failed  b - About b: because",
        "            -> q",
        "            <- r",
        "  skipped c - About c: the slave lacks it",
        "1 passed, 1 failed, 1 skipped",
    ]
    found = json.loads(report.json())
    assert (found["passed"], found["address"]) == (False, "host:7")
    assert [outcome.get("transcript") for outcome in found["outcomes"]] == [
        None, ["-> q", "<- r"], None,
    ]  # fmt: skip
    assert report.json().startswith('{\n "slave": "name",\n')
    for results, passed in (([0, 2], True), ([2], False), ([], False), ([0, 1], False)):
        chosen = [outcomes[index] for index in results]
        assert Report("n", "u", "h", "t", chosen).passed is passed


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        ((Resolution(1, 50), Resolution(1, 7)), (1, 50)),
        ((ResolutionRange(3, 9, 100),), (3, 100)),
        ((), (1, 1000)),
    ],
)
def test_the_first_resolution_that_is_offered_is_used(
    offers: tuple[Any, ...], chosen: tuple[int, int], scripted: Script
) -> None:
    session = scripted()
    session.description = replace(box(), resolutions=offers)
    assert session.resolution() == chosen


def test_data_are_numbered_one_after_the_other() -> None:
    description = describe(Sine)
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TCP, HANG_S)
        session.register(OpMode.NRT)
        session.configure()
        session.to(State.RUNNING)
        for _ in range(3):
            session.send_inputs()
        told = [line.split()[2] for line in session.dialogue.transcript if "-> DAT" in line]
        session.dialogue.close()
    assert told == ["pdu_seq_id=0", "pdu_seq_id=1", "pdu_seq_id=2"]


def test_without_inputs_none_are_sent() -> None:
    description = describe([v for v in describe(Sine).variables if v.name == "y"])
    session = Session.__new__(Session)
    session.description = description
    session.send_inputs()  # it has no connection to send anything over
    assert [kind.name for kind, _ in settings_of(session)] == [
        "CFG_time_res", "CFG_output", "CFG_target_network_information", "CFG_steps", "CFG_scope",
    ]  # fmt: skip


def settings_of(session: Session) -> list[tuple[PduType, dict[str, Any]]]:
    """With a dialogue over UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        session.dialogue = Dialogue("127.0.0.1", sock.getsockname()[1], UDP, HANG_S)
        found = session.settings()
        session.dialogue.close()
    return found


REGISTER = "STC_register 0 ALIVE op_mode=2 major_version=1 minor_version=0"
#: Requests with their numbers, without receiver and uuid.
WRONG: dict[str, list[str]] = {
    "registration.refusals": [
        "STC_register 0 CONFIGURATION op_mode=2 major_version=1 minor_version=0",
        "STC_register 1 ALIVE op_mode=2 major_version=1 minor_version=0",
        "STC_register 2 ALIVE op_mode=77 major_version=1 minor_version=0",
        "STC_register 3 ALIVE op_mode=2 major_version=2 minor_version=0",
        "STC_register 4 ALIVE op_mode=2 major_version=1 minor_version=1",
        "STC_register 5 ALIVE op_mode=0 major_version=1 minor_version=0",
        "STC_register 6 ALIVE op_mode=1 major_version=1 minor_version=0",
    ],
    "sequence": [
        REGISTER,
        "INF_state 2",
        "INF_state 0",
        "INF_state 1001",
        "INF_state 1",
        "STC_configure 2 CONFIGURATION",
        "INF_state 3",
        "STC_deregister 4 CONFIGURATION",
    ],
    "length": [
        REGISTER,
        "bytes 2001000101000000e803000000",
        "bytes 2002000101000000e80300",
        "STC_deregister 3 CONFIGURATION",
    ],
    "configuration.not_allowed": [
        REGISTER,
        "STC_configure 1 CONFIGURATION",
        "STC_initialize 2 CONFIGURATION",
        "STC_run 3 CONFIGURATION time=0",
        "STC_send_outputs 4 CONFIGURATION",
        "STC_stop 5 CONFIGURATION",
        "INF_error 6",
        "STC_prepare 7 RUNNING",
        "INF_state 8",
        "STC_deregister 9 CONFIGURATION",
    ],
    "configuration.refusals": [
        REGISTER,
        "CFG_time_res 1 numerator=0 denominator=1000",
        "CFG_time_res 2 numerator=1 denominator=0",
        "CFG_time_res 3 numerator=0 denominator=0",
        "CFG_output 4 data_id=1 pos=0 source_vr=9223372036854788153",
        "CFG_input 5 data_id=1 pos=0 target_vr=9223372036854788153 source_data_type=9",
        "CFG_input 6 data_id=1 pos=0 target_vr=1 source_data_type=9",
        "CFG_output 7 data_id=1 pos=0 source_vr=2",
        "CFG_input 8 data_id=1 pos=0 target_vr=2 source_data_type=3",
        "CFG_clear 9",
        "INF_state 10",
        "STC_deregister 11 CONFIGURATION",
        "INF_state 12",
    ],
    "parameters": [
        REGISTER,
        "CFG_parameter 1 parameter_vr=3 source_data_type=9 payload=000000000000f03f",
        "CFG_parameter 2 parameter_vr=4 source_data_type=9 payload=0000000000000000",
        "CFG_parameter 3 parameter_vr=5 source_data_type=9 payload=0000000000000000",
        "CFG_parameter 4 parameter_vr=9223372036854788153 source_data_type=0 payload=00",
        "STC_deregister 5 CONFIGURATION",
    ],
    "logging": [
        REGISTER,
        "CFG_logging 1 log_category=255 log_level=1 log_mode=1",
        "INF_log 2 log_category=255 log_max_num=5",
        "INF_log 3 log_category=1 log_max_num=1",
        "STC_deregister 4 CONFIGURATION",
    ],
    "hostile.unknown": [
        REGISTER,
        f"bytes {b'U is an unknown type'.hex()}",
        "RSP_ack resp_seq_id=0 sender=1",
        "NTF_state_changed sender=1 CONFIGURATION",
        "bytes 80",
        "bytes f001",
        "INF_state 1",
        "STC_deregister 2 CONFIGURATION",
    ],
    "hostile.fields": [
        REGISTER,
        "CFG_scope 1 data_id=1 scope=3",
        "INF_state 2",
        "STC_deregister 3 CONFIGURATION",
        "INF_state 4",
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_wrong_in_one_thing(name: str) -> None:
    """What a slave refuses for another reason would pass, too."""
    description = describe(Sine)
    (procedure,) = (p for p in PROCEDURES if p.name == name)
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TCP, HANG_S)
        procedure.run(session)
        lines = [line[3:] for line in session.dialogue.transcript if line.startswith("->")]
        session.dialogue.close()
    plain = [re.sub(r" receiver=1|slave_uuid=\w+ |pdu_seq_id=", "", line) for line in lines]
    assert plain == WRONG[name]
    if name == "registration.refusals":
        right = [description.uuid_bytes.hex() in line for line in lines]
        assert right == [True, False, True, True, True, True, True]


def test_data_go_to_the_port_that_the_slave_offers_for_them() -> None:
    free = free_port()
    description = describe(Sine, address=SlaveAddress(data_ports=((free, free + 1),)))
    with running(Sine(), description, once=False) as slave:
        session = Session(description, "127.0.0.1", slave.port, TCP, HANG_S)
        assert session.data_port() == free
        session.register(OpMode.NRT)
        session.configure()
        session.to(State.CONFIGURED)
        link = session.dialogue._data_link
        assert link is not None and link.sock.getpeername()[1] == free
        session.stop()
        session.deregister()
        session.dialogue.close()
