# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random PDUs and sequences: no crash, only transitions of the table, right error codes."""

from __future__ import annotations

import random
import socket
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.dcp_engine import Bench
from support.dcp_models import Types, running
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import PendingRequest, Refusal, RemoteSlave
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.pdu import LAYOUTS, decode
from ros2_cosim.dcp.standard.slave_description import LogCategory, LogTemplate
from ros2_cosim.dcp.standard.states import ALLOWED, TRANSIENT, is_transition
from ros2_cosim.dcp.standard.transport import FrameReader

DESCRIPTION = describe(
    Types,
    op_modes=tuple(OpMode),
    log_categories=(LogCategory(1, "all"),),
    log_templates=(LogTemplate(1, 1, 3, "%string"),),
)
REQUESTS = sorted(int(kind) for kind in PduType if kind < 0xB0)
DATA = [0xF0, 0xF1]


class Path:
    """Builds random but often sensible PDUs for a slave, and checks what it does."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.bench = Bench(Types(), DESCRIPTION)
        self.seq = 0

    def small(self, limit: int) -> int:
        roll = self.rng.random()
        if roll < 0.8:
            return self.rng.randrange(0, min(6, limit))
        return self.rng.choice([limit - 1, self.rng.randrange(limit)])

    def request(self, kind: int) -> bytes:
        layout = LAYOUTS[kind]
        values: list[Any] = [kind]
        for name, code in zip(
            layout.names, layout.packer.format[2:].replace("16s", "u"), strict=True
        ):
            if name == "pdu_seq_id":
                values.append(self.seq if self.rng.random() < 0.95 else self.small(65536))
            elif name == "receiver":
                values.append(1 if self.rng.random() < 0.98 else self.small(256))
            elif name == "state_id":
                right = self.rng.random() < 0.95
                values.append(self.bench.slave.state if right else self.small(256))
            elif name == "slave_uuid":
                values.append(DESCRIPTION.uuid_bytes)
            elif name == "major_version":
                values.append(1)
            elif name == "time":
                values.append(self.rng.choice([0, 0, 1, 2000, -1]))
            elif name == "transport_protocol":
                values.append(self.rng.choice([0, 4, 4, 2, 9]))
            elif name in ("numerator", "steps"):
                values.append(self.rng.choice([1, 1, 1, 0, 2]))
            elif name == "denominator":
                values.append(self.rng.choice([1000, 1000, 0, 7]))
            else:
                values.append(self.small({"B": 2**8, "H": 2**16, "I": 2**32, "Q": 2**64}[code]))
        data = layout.packer.pack(*values)
        if layout.tail == "address":
            data += bytes([0x90, 0x1F, 1, 0, 0, 127])
        elif layout.tail is not None:
            data += self.rng.randbytes(self.rng.choice([0, 1, 2, 4, 8, 12]))
        if self.rng.random() < 0.03:
            data = data[: self.rng.randrange(len(data) + 1)]
        return data

    def step(self, kind: int) -> None:
        slave = self.bench.slave
        before = slave.state
        data = self.request(kind) if kind in LAYOUTS else bytes([kind]) + self.rng.randbytes(19)
        answers = self.bench.ask(data)
        if len(data) >= 4 and kind < 0xB0 and answers and before is not State.ALIVE:
            self.seq = slave.expected_seq
        elif slave.state is not State.ALIVE:
            self.seq = slave.expected_seq
        state = before
        for answer in answers:
            if answer.kind is PduType.NTF_state_changed:
                assert is_transition(state, State(answer.state_id)), (state, answer)
                state = State(answer.state_id)
        assert state is slave.state
        if kind >= 0xB0:
            assert all(a.kind is PduType.NTF_state_changed for a in answers)
            return
        replies = [a for a in answers if a.kind.name.startswith("RSP")]
        assert len(replies) <= 1
        if len(replies) == 1 and replies[0].kind is PduType.RSP_nack:
            code = ErrorCode(replies[0].error_code)
            assert code is not ErrorCode.NONE
            if before not in ALLOWED[PduType(kind)] and before is not State.ALIVE:
                assert code in (
                    ErrorCode.INVALID_SEQUENCE_ID,
                    ErrorCode.NOT_SUPPORTED_PDU,
                    ErrorCode.INVALID_LENGTH,
                    ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE,
                    ErrorCode.PROTOCOL_ERROR_STATE_TRANSITION_IN_PROGRESS,
                )
            assert state is before
        if len(replies) == 1 and replies[0].kind is PduType.RSP_ack:
            assert before in ALLOWED[PduType(kind)]
        assert slave.state not in TRANSIENT or slave.state is State.SYNCHRONIZING


def test_random_sequences_keep_to_the_state_machine() -> None:
    rng = random.Random(1)
    seen: set[State] = set()
    weights = [3 if kind < 0x20 else 1 for kind in REQUESTS]
    for _ in range(300):
        path = Path(rng)
        for _ in range(60):
            if path.bench.slave.state is State.ALIVE:
                path.step(PduType.STC_register)
            elif rng.random() < 0.1:
                path.step(rng.choice([*DATA, 0xB0, 0xE0, 0x55]))
            else:
                path.step(rng.choices(REQUESTS, weights)[0])
            if rng.random() < 0.05:
                path.bench.time += 0.01
                path.bench.slave.on_time()
            seen.add(path.bench.slave.state)
    assert {State.RUNNING, State.STOPPED, State.COMPUTED, State.INITIALIZED} <= seen


@given(st.lists(st.binary(max_size=40), max_size=30))
@settings(max_examples=200)
def test_random_bytes_never_break_the_engine(pdus: list[bytes]) -> None:
    bench = Bench(Types(), DESCRIPTION)
    for data in pdus:
        bench.ask(data)
    assert bench.slave.state in (State.ALIVE, State.CONFIGURATION)


@given(st.lists(st.binary(max_size=50), max_size=20), st.data())
def test_frames_arrive_whole_however_the_stream_is_cut(frames: list[bytes], data: Any) -> None:
    stream = b"".join(len(f).to_bytes(4, "little") + f for f in frames)
    reader = FrameReader()
    found: list[bytes] = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert found == frames


def test_garbage_on_the_sockets_does_not_disturb_a_run() -> None:
    description = describe(Types)
    rng = random.Random(2)
    with running(Types(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(300):
            # byte 3 is the receiver: PDUs for another slave than number 1
            junk = bytearray(rng.randbytes(rng.randrange(60)))
            if len(junk) > 3:
                junk[3] |= 2
            noise.sendto(junk, ("127.0.0.1", slave.port))
        noise.close()
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", slave.port)) as stranger:
                stranger.sendall(rng.choice([b"\xff" * 40, b"\0" * 64, b"GET / HTTP/1.1\r\n\r\n"]))
        remote.set_inputs({"in_uint8": 9})
        master.do_step(5)
        assert remote.output("out_uint8") == 9
        master.stop()
    assert slave.error is None


def test_master_survives_a_slave_that_sends_garbage() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with Master(timeout_s=2) as master:
        master.add_slave(DESCRIPTION, port=listener.getsockname()[1])
        import threading

        def answer() -> None:
            connection, _ = listener.accept()
            connection.sendall(b"\xff\xff\xff\xff rubbish")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            master.configure()
            raise AssertionError("garbage was accepted")
        except DcpPeerLostError as error:
            assert "'Types'" in str(error)
        finally:
            thread.join()
            listener.close()


def test_responses_are_decodable_after_every_request() -> None:
    """Every request type once in ALIVE and once in CONFIGURATION."""
    for register in (False, True):
        path = Path(random.Random(3))
        if register:
            path.step(PduType.STC_register)
        for kind in REQUESTS:
            for answer in path.bench.ask(path.request(kind)):
                assert decode(answer.encode()) == answer
    assert TransportProtocol.USB2 == 3


@given(st.lists(st.tuples(st.sampled_from([0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0xE0, 0xE1]),
                          st.binary(max_size=60)), max_size=30))  # fmt: skip
@settings(max_examples=200)
def test_random_answers_never_break_a_master(answers: list[tuple[int, bytes]]) -> None:
    """Each is taken, ignored, or the refusal of a request that waits for its answer."""
    remote = RemoteSlave("s", DESCRIPTION, 1, "127.0.0.1", 1, TransportProtocol.UDP_IPv4)
    for kind in (PduType.INF_state, PduType.INF_error, PduType.INF_log, PduType.STC_stop):
        seq, data = remote.numbered(kind, b"\0\5" if kind is PduType.INF_log else b"")
        remote.pending[seq] = PendingRequest(kind, data, 0.0)
    for kind_code, rest in answers:
        waiting = dict(remote.pending)
        try:
            remote.take_control(bytes([kind_code]) + rest)
        except Refusal as refusal:
            assert kind_code == PduType.RSP_nack and refusal.request in waiting.values()
        gone = waiting.keys() - remote.pending.keys()
        assert len(gone) <= 1 and (not gone or kind_code < 0xE0)
    assert remote.state is None or remote.state in State


@given(st.binary(max_size=120), st.booleans())
def test_random_data_pdus_never_break_a_master(rest: bytes, known: bool) -> None:
    with Master() as master:
        remote = master.add_slave(DESCRIPTION, port=1)
        master._planned(None)
        (pdu,) = remote.received.values()
        number = pdu.data_id if known else 999
        master._requests._take_data(b"\xf0\0\0" + number.to_bytes(2, "little") + rest, "127.0.0.1")
        assert pdu.watch.counters.received <= int(known)
        assert (pdu.pending is not None) == (pdu.watch.counters.received == 1)
