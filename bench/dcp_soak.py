# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzzed PDUs and random PDU sequences against a live slave in its own process.

*Sequences* are walks through the state machine, *fuzz* is random bytes, random data PDUs and
requests with random fields and flipped bits. Over TCP both must get the answers, byte for byte,
of the engine without sockets (which other tests check), and each notified state must be one
that the table of transitions allows. Over UDP datagrams may get lost: there every answer must
be a PDU of the standard with a known error code, and the slave must go on answering INF_state.

    python bench/dcp_soak.py [--pdus 10000000] [--sequences 10000] [--seed 1]
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import socket
import struct
import time
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from bench.dcp_engine import Engine, Target
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import serve
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.pdu import LAYOUTS, decode, encode_address
from ros2_cosim.dcp.standard.slave_description import LogCategory, LogTemplate
from ros2_cosim.dcp.standard.states import is_transition
from ros2_cosim.dcp.standard.transport import FrameReader

_TCP, _UDP = int(TransportProtocol.TCP_IPv4), int(TransportProtocol.UDP_IPv4)
_PREFIX = struct.Struct("<I")
_REQUESTS = sorted(int(kind) for kind in PduType if kind < 0xB0)
_ID = 1
_REGISTER, _HRT = bytes((PduType.STC_register,)), bytes((OpMode.HRT,))
_ADDRESSED = frozenset({0x25, 0x26, 0x29})
_LOGS = frozenset({int(PduType.RSP_log_ack), int(PduType.NTF_log)})
_ANSWER_S = 20.0
"""Longest wait for an answer; only a slave that hangs needs it."""


DESCRIPTION = describe(
    Target,
    op_modes=tuple(OpMode),
    log_categories=(LogCategory(1, "all"),),
    log_templates=(LogTemplate(1, 1, 3, "%string"),),
)


class Shadow(Engine):
    """The engine without sockets, beside the slave that has them."""

    def __init__(self, port: int) -> None:
        super().__init__(Target(), DESCRIPTION, port)

    def now(self) -> float:
        """That of the slave with sockets."""
        return time.time()

    def monotonic(self) -> float:
        """That of the slave with sockets."""
        return time.monotonic()


class Maker:
    """Makes PDUs: sensible ones, ones with random fields, and plain bytes.

    :param port: control port of the slave; data are to be received there, too
    :param sink: UDP port that takes what the slave sends
    """

    def __init__(self, rng: random.Random, port: int, sink: int) -> None:
        self.rng = rng
        self._own = encode_address("127.0.0.1", port)
        self._sink = encode_address("127.0.0.1", sink)

    def small(self, limit: int) -> int:
        """A number below ``limit``, mostly near zero."""
        rng = self.rng
        if rng.random() < 0.85:
            return rng.randrange(min(8, limit))
        return rng.choice((limit - 1, rng.randrange(limit)))

    def request(self, kind: int, seq: int, state: int, mode: int | None = None) -> bytes:
        """A request whose fields are mostly believable."""
        rng, layout = self.rng, LAYOUTS[kind]
        values: list[Any] = [kind]
        for name, code in zip(
            layout.names, layout.packer.format[2:].replace("16s", "u"), strict=True
        ):
            if name == "pdu_seq_id":
                values.append(seq if rng.random() < 0.97 else rng.randrange(65536))
            elif name == "receiver":
                values.append(_ID)
            elif name == "state_id":
                values.append(state if rng.random() < 0.95 else rng.randrange(256))
            elif name == "slave_uuid":
                values.append(DESCRIPTION.uuid_bytes if rng.random() < 0.95 else rng.randbytes(16))
            elif name == "op_mode":
                values.append(rng.choice((0, 1, 2, 2, 2, 3)) if mode is None else mode)
            elif name == "major_version":
                values.append(1 if rng.random() < 0.97 else self.small(256))
            elif name == "minor_version":
                values.append(0 if rng.random() < 0.97 else self.small(256))
            elif name == "transport_protocol":
                values.append(rng.choice((_UDP, _UDP, _UDP, 2, 9)))
            elif name == "time":
                values.append(rng.choice((0, 0, 0, 1, -1)))
            elif name in ("numerator", "steps"):
                values.append(rng.choice((1, 1, 1, 1, 0, 2)))
            elif name == "denominator":
                values.append(rng.choice((1000, 1000, 1000, 0, 7)))
            elif name.endswith("_vr"):
                values.append(rng.randrange(1, 16) if rng.random() < 0.9 else rng.getrandbits(64))
            else:
                values.append(self.small({"B": 1 << 8, "H": 1 << 16, "I": 1 << 32}[code]))
        data = layout.packer.pack(*values)
        if layout.tail == "address":
            data += self._sink if kind == PduType.CFG_target_network_information else self._own
        elif layout.tail is not None:
            data += rng.randbytes(rng.choice((0, 1, 2, 4, 8, 12, 24)))
        if rng.random() < 0.03:
            data = data[: rng.randrange(len(data) + 1)]
        return data

    def garbage(self) -> bytes:
        """Anything that is not an accepted registration and opens no connection elsewhere."""
        rng = self.rng
        data = bytearray(rng.randbytes(rng.randrange(48)))
        if data and data[0] in _ADDRESSED:
            data[0] = PduType.CFG_clear
        if len(data) > 3 and rng.random() < 0.5:
            data[3] = _ID
        return bytes(data)


class Link:
    """The fuzzer's side of a slave over TCP."""

    def __init__(self, port: int) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port))
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.settimeout(_ANSWER_S)
        self._reader = FrameReader()

    def send(self, pdus: list[bytes]) -> None:
        """Send PDUs in one go."""
        self._sock.sendall(b"".join(_PREFIX.pack(len(p)) + p for p in pdus))

    def take(self, count: int) -> list[bytes]:
        """The next ``count`` answers; fewer when no more come."""
        found: list[bytes] = []
        with suppress(TimeoutError):
            while len(found) < count:
                try:
                    data = self._sock.recv(1 << 20)
                except ConnectionError:
                    data = b""
                if not data:
                    time.sleep(1.0)  # a slave that crashed may have something to say
                    raise SystemExit("the slave closed the connection")
                found += self._reader.feed(data)
        return found

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()


def _probe(seq: int) -> bytes:
    return LAYOUTS[PduType.INF_state].packer.pack(PduType.INF_state, seq, _ID)


def check_answer(data: bytes, seen: Counter[str]) -> None:
    """An answer must be a PDU of the standard; counts it by type and error code.

    :raises PduError: it is not a PDU
    :raises ValueError: its error code or state is not in the standard
    """
    pdu = decode(data)
    text = pdu.kind.name
    if pdu.kind is PduType.RSP_nack:
        text += " " + ErrorCode(pdu.error_code).name
    elif "state_id" in pdu.fields:
        text += " " + State(pdu.state_id).name
    seen[text] += 1


def stock_of(maker: Maker, size: int) -> list[bytearray]:
    """PDUs to draw from: a quarter are bytes or data PDUs, the rest requests."""
    rng = maker.rng
    stock = []
    for _ in range(size):
        roll = rng.random()
        if roll < 0.15:
            data = maker.garbage()
        elif roll < 0.25:
            data = bytes((rng.choice((0xF0, 0xF1)),)) + rng.randbytes(rng.randrange(30))
        else:
            data = maker.request(rng.choice(_REQUESTS), rng.getrandbits(16), rng.randrange(19))
        stock.append(bytearray(data))
    return stock


def fuzz_tcp(port: int, maker: Maker, count: int, seen: Counter[str], batch: int = 500) -> int:
    """Send ``count`` fuzzed PDUs over TCP; the answers must be those of the engine.

    PDUs are drawn from a stock; most get the sequence id that is due and the state of the
    slave, so that the checks behind these two are reached, and one in ten a flipped bit.

    :raises SystemExit: an answer differs from that of the engine
    """
    link, shadow, rng = Link(port), Shadow(port), maker.rng
    slave = shadow.slave
    stock = stock_of(maker, min(20_000, max(count, 1)))
    forward = {
        State.CONFIGURATION: PduType.STC_prepare,
        State.PREPARED: PduType.STC_configure,
        State.CONFIGURED: PduType.STC_run,
        State.SYNCHRONIZED: PduType.STC_run,
        State.RUNNING: PduType.STC_do_step,
        State.COMPUTED: PduType.STC_send_outputs,
        State.INITIALIZED: PduType.STC_send_outputs,
        State.STOPPED: PduType.STC_reset,
        State.ERRORRESOLVED: PduType.STC_reset,
    }
    sent = 0
    while sent < count:
        pdus: list[bytes] = []
        expected: list[bytes] = []
        for data in rng.choices(stock, k=min(batch, count - sent)):
            roll = rng.random()
            state = slave.state
            if state is State.ALIVE and roll < 0.2:
                data = bytearray(maker.request(PduType.STC_register, 0, 0, rng.choice((1, 2, 2))))
            elif roll < 0.05 and state in forward:
                data = bytearray(maker.request(forward[state], 0, state))
            else:
                data = bytearray(data)
            if len(data) > 3 and data[0] < 0xB0 and rng.random() < 0.9:
                struct.pack_into("<H", data, 1, slave.expected_seq)
                if data[0] < 0x20 and len(data) > 4 and rng.random() < 0.7:
                    data[4] = state
            if len(data) > 4 and roll > 0.9 and data[0] not in _ADDRESSED:
                data[rng.randrange(4, len(data))] ^= 1 << rng.randrange(8)
            if data[:1] == _REGISTER and data[21:22] == _HRT:
                data[21] = OpMode.SRT  # in HRT a late tick would be an error
            pdus.append(bytes(data))
            expected += shadow.ask(pdus[-1])
        pdus.append(_probe(slave.expected_seq))  # always answered
        expected += shadow.ask(pdus[-1])
        link.send(pdus)
        found = link.take(len(expected))
        compare(found, expected, f"PDUs from {sent} on")
        for answer in found:
            check_answer(answer, seen)
        sent += len(pdus)
    link.close()
    return sent


def compare(found: list[bytes], expected: list[bytes], where: str) -> None:
    """Answers must be the expected ones; of log entries only type and length count.

    :raises SystemExit: they differ
    """
    if found == expected:
        return
    for number, (answer, right) in enumerate(zip(found, expected, strict=False)):
        same_log = answer[0] in _LOGS and answer[:4] == right[:4] and len(answer) == len(right)
        if answer != right and not same_log:
            raise SystemExit(f"{where}: answer {number} is {decode(answer)}, not {decode(right)}")
    if len(found) != len(expected):
        raise SystemExit(f"{where}: {len(found)} answers instead of {len(expected)}")


def fuzz_udp(port: int, maker: Maker, count: int, seen: Counter[str], batch: int = 60) -> int:
    """Send ``count`` fuzzed PDUs over UDP, a few at a time so that few are dropped."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    sock.connect(("127.0.0.1", port))
    sock.settimeout(0.5)
    stock = stock_of(maker, min(20_000, max(count, 1)))
    sent = 0
    while sent < count:
        for data in maker.rng.choices(stock, k=min(batch, count - sent)):
            sock.send(data)
            sent += 1
        mark = maker.rng.randrange(65536)
        sock.send(_probe(mark))
        until = time.monotonic() + _ANSWER_S
        while True:
            try:
                answer = sock.recv(65536)
            except TimeoutError:
                if time.monotonic() > until:
                    raise SystemExit("the slave does not answer over UDP") from None
                sock.send(_probe(mark))
                continue
            check_answer(answer, seen)
            if answer[0] in (0xB1, 0xB2) and answer[1] | answer[2] << 8 == mark:
                break
    sock.close()
    return sent


def sequence(maker: Maker, port: int, length: int) -> tuple[list[bytes], list[bytes]]:
    """A walk that the engine without sockets judges: the PDUs, and its answers."""
    shadow, rng = Shadow(port), maker.rng
    slave = shadow.slave
    pdus: list[bytes] = []
    expected: list[bytes] = []
    weights = [4 if kind < 0x20 else 1 for kind in _REQUESTS]

    def step(data: bytes) -> None:
        pdus.append(data)
        expected.extend(shadow.ask(data))

    for _ in range(length):
        seq, state = slave.expected_seq, slave.state
        if state is State.ALIVE:
            step(maker.request(PduType.STC_register, rng.randrange(65536), state, mode=2))
        elif rng.random() < 0.1:
            step(maker.garbage())
        else:
            step(maker.request(rng.choices(_REQUESTS, weights)[0], seq, state, mode=2))
    while slave.state is not State.ALIVE:  # and back, so that the next walk starts there
        ends = (State.CONFIGURATION, State.STOPPED, State.ERRORRESOLVED)
        kind = PduType.STC_deregister if slave.state in ends else PduType.STC_stop
        step(LAYOUTS[kind].packer.pack(kind, slave.expected_seq, _ID, slave.state))
    return pdus, expected


def run_sequences(port: int, maker: Maker, count: int, seen: Counter[str], length: int) -> int:
    """Run ``count`` walks against the live slave; returns the PDUs sent.

    :raises SystemExit: an answer differs from that of the engine, or a state is not allowed
    """
    sent = 0
    link = Link(port)
    for number in range(count):
        pdus, expected = sequence(maker, port, length)
        link.send(pdus)
        found = link.take(len(expected))
        sent += len(pdus)
        compare(found, expected, f"sequence {number}")
        state = State.ALIVE
        for answer in found:
            check_answer(answer, seen)
            if answer[0] == PduType.NTF_state_changed:
                if not is_transition(state, State(answer[2])):
                    raise SystemExit(f"sequence {number}: {state.name} -> {State(answer[2]).name}")
                state = State(answer[2])
    link.close()
    return sent


def run_slave(pipe: Connection) -> None:
    """Serve the target and print its port."""
    import logging

    logging.disable(logging.CRITICAL)
    serve(Target(), DESCRIPTION, port=0, once=False, on_ready=lambda server: pipe.send(server.port))


def soak(pdus: int, sequences: int, seed: int, length: int = 60) -> Counter[str]:
    """Everything against one slave process, which must be alive at the end.

    :returns: how often each answer came
    :raises SystemExit: something was wrong; the text says what
    """
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=run_slave, args=(there,), daemon=True)
    process.start()
    port = here.recv()
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", 0))
    maker = Maker(random.Random(seed), port, sink.getsockname()[1])
    seen: Counter[str] = Counter()
    try:
        began = time.perf_counter()
        sent = run_sequences(port, maker, sequences, seen, length)
        _tell(f"{sequences} sequences of {sent} PDUs as the engine answers", began)
        began = time.perf_counter()
        over_tcp = fuzz_tcp(port, maker, pdus - pdus // 10, seen)
        _tell(f"{over_tcp} fuzzed PDUs over TCP as the engine answers", began)
        began = time.perf_counter()
        over_udp = fuzz_udp(port, maker, pdus // 10, seen)
        _tell(f"{over_udp} fuzzed PDUs over UDP", began)
        if not process.is_alive():
            raise SystemExit(f"the slave ended with exit code {process.exitcode}")
        _tell(f"the slave is alive; its memory: {_memory(process.pid)}", began)
    finally:
        sink.close()
        process.terminate()
        process.join(10)
        if process.is_alive():
            process.kill()
            process.join()
    if process.exitcode != 0:
        raise SystemExit(f"told to end, the slave ended with exit code {process.exitcode}")
    return seen


def _tell(text: str, began: float) -> None:
    print(f"{text} ({time.perf_counter() - began:.1f} s)", flush=True)


def _memory(pid: int | None) -> str:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            lines = [line.split(":")[1].strip() for line in status if line.startswith("VmRSS")]
        return lines[0]
    except (OSError, IndexError):
        return "not known here"


def main() -> None:
    """Run the soak and print how often each answer came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pdus", type=int, default=10_000_000)
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    for name, count in sorted(soak(chosen.pdus, chosen.sequences, chosen.seed).items()):
        print(f"{count:10d}  {name}")


if __name__ == "__main__":
    main()
