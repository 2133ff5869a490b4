# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Lost, repeated and overtaken PDUs on UDP: control goes on, data are counted, policies."""

from __future__ import annotations

import random
import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from fractions import Fraction
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dcp_engine import Bench
from support.dcp_models import Offset, running
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import PendingRequest, Refusal, RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.requests import Requests
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.data_path import DataCounters, InputPdu, Missing, SequenceWatch
from ros2_cosim.dcp.standard.enums import DataType, ErrorCode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpTimeoutError
from ros2_cosim.dcp.standard.pdu import encode_address, make
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription, Variable
from ros2_cosim.dcp.standard.values import PayloadCodec

UDP = TransportProtocol.UDP_IPv4


class BadWire:
    """A UDP relay that loses, repeats and delays datagrams in both directions."""

    def __init__(self, port: int, seed: int, loss: float) -> None:
        self.target = ("127.0.0.1", port)
        self.loss = loss
        self.rng = random.Random(seed)
        self.near = self._socket()
        self.far = self._socket()
        self.port = self.near.getsockname()[1]
        self.client: tuple[str, int] | None = None
        self.held: list[tuple[socket.socket, bytes, tuple[str, int]]] = []
        self.dropped = 0
        self.ending = False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    @staticmethod
    def _socket() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        return sock

    def _run(self) -> None:
        while not self.ending:
            ready, _, _ = select.select([self.near, self.far], [], [], 0.02)
            for sock in ready:
                data, address = sock.recvfrom(65536)
                if sock is self.near:
                    self.client = address
                    self._pass(self.far, data, self.target)
                elif self.client is not None:
                    self._pass(self.near, data, self.client)
            if not ready:
                self._release()

    def _pass(self, sock: socket.socket, data: bytes, address: tuple[str, int]) -> None:
        roll = self.rng.random()
        if roll < self.loss:
            self.dropped += 1
            return
        if roll < self.loss + 0.05:
            self.held.append((sock, data, address))
            return
        sock.sendto(data, address)
        if roll > 0.95:
            sock.sendto(data, address)
        self._release()

    def _release(self) -> None:
        for sock, data, address in self.held:
            sock.sendto(data, address)
        self.held.clear()

    def close(self) -> None:
        self.ending = True
        self.thread.join()
        self.near.close()
        self.far.close()


@contextmanager
def bad_wire(port: int, seed: int, loss: float) -> Iterator[BadWire]:
    wire = BadWire(port, seed, loss)
    try:
        yield wire
    finally:
        wire.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_control_gets_through_a_bad_network(seed: int) -> None:
    description = describe(Offset)
    with (
        running(Offset(), description) as slave,
        bad_wire(slave.port, seed, 0.1) as wire,
        Master(timeout_s=HANG_S, retry_s=0.03) as master,
    ):
        remote = master.add_slave(
            description, port=wire.port, transport=UDP, use=SlaveUse(data_ports=(slave.port,))
        )
        master.configure()
        master.initialise()
        master.run()
        for number in range(30):
            remote.set_inputs([float(number)])
            master.do_step()
            assert remote.outputs == [number + 1.0]
        master.stop()
        assert wire.dropped > 0


@given(
    st.lists(st.sampled_from(["send", "lose", "repeat"]), min_size=1, max_size=200),
    st.integers(0, 65535),
)
def test_losses_and_repetitions_are_counted_over_the_wrap(events: list[str], start: int) -> None:
    watch = SequenceWatch()
    watch.take(start)
    seq, pending, lost, repeated = start, 0, 0, 0
    for event in events:
        if event == "repeat":
            watch.take(seq if not pending else (seq - pending) & 0xFFFF)
            repeated += 1
            continue
        seq = (seq + 1) & 0xFFFF
        if event == "lose":
            pending += 1
        else:
            assert watch.take(seq) == pending
            lost, pending = lost + pending, 0
    assert (watch.counters.lost, watch.counters.duplicated) == (lost, repeated)


def test_an_overtaken_pdu_is_no_loss() -> None:
    watch = SequenceWatch()
    for seq, result in ((65535, 0), (1, 1), (0, -2), (2, 0)):
        assert watch.take(seq) == result
    assert (watch.counters.lost, watch.counters.reordered) == (0, 1)


class Sum(SlaveModel):
    def do_step(self, step: StepInfo) -> None:
        self.outputs[0] = self.inputs[0]


def in_running(
    options: SlaveOptions | None = None, missed: int | None = None
) -> tuple[Bench, SlaveDescription]:
    """An engine in RUNNING with input data_id 1."""
    variables = (
        Variable("u", 1, Causality.INPUT, DataType.float64, 0.0, max_consec_missed_pdus=missed),
        Variable("y", 2, Causality.OUTPUT, DataType.float64, 0.0),
    )
    description = describe(variables)
    bench = Bench(Sum(), description, options)
    requests = [
        (
            PduType.STC_register,
            {
                "slave_uuid": description.uuid_bytes,
                "op_mode": 2,
                "major_version": 1,
                "minor_version": 0,
            },
        ),
        (PduType.CFG_scope, {"data_id": 1, "scope": 0}),
        (PduType.CFG_input, {"data_id": 1, "pos": 0, "target_vr": 1, "source_data_type": 9}),
        (
            PduType.CFG_source_network_information,
            {
                "data_id": 1,
                "transport_protocol": 0,
                "address": encode_address("127.0.0.1", 8080),
            },
        ),
        (PduType.STC_prepare, {}),
        (PduType.STC_configure, {}),
        (PduType.STC_run, {"time": 0}),
        (PduType.STC_run, {"time": 0}),
    ]
    for seq, (kind, fields) in enumerate(requests):
        state = {"state_id": bench.slave.state} if kind < 0x20 else {}
        answers = bench.ask(make(kind, pdu_seq_id=seq, receiver=1, **state, **fields))
        assert answers[0].kind is PduType.RSP_ack
    assert bench.slave.state is State.RUNNING
    return bench, description


def put(bench: Bench, seq: int, value: float) -> None:
    import struct

    bench.ask(
        make(
            PduType.DAT_input_output,
            pdu_seq_id=seq,
            data_id=1,
            payload=struct.pack("<d", value),
        )
    )


def step(bench: Bench) -> float:
    slave = bench.slave
    for kind, fields in ((PduType.STC_do_step, {"steps": 1}), (PduType.STC_send_outputs, {})):
        if slave.state not in (State.RUNNING, State.COMPUTED):
            break
        bench.ask(
            make(
                kind,
                pdu_seq_id=slave.expected_seq,
                receiver=1,
                state_id=slave.state,
                **fields,  # type: ignore[arg-type]
            )
        )
    return float(slave.model.inputs[0])


def test_hold_extrapolate_stop() -> None:
    for policy, expected in ((Missing.HOLD, 3.0), (Missing.EXTRAPOLATE, 5.0)):
        bench, _ = in_running(SlaveOptions(missing=policy))
        for seq, value in enumerate((1.0, 3.0)):
            put(bench, seq, value)
            step(bench)
        assert step(bench) == expected
        put(bench, 2, 8.0)
        assert step(bench) == 8.0
    bench, _ = in_running(SlaveOptions(missing=Missing.STOP))
    put(bench, 0, 1.0)
    step(bench)
    step(bench)
    assert bench.slave.state is State.ERRORRESOLVED
    assert bench.slave.error_code == ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED


def test_max_consec_missed_pdus() -> None:
    bench, _ = in_running(missed=2)
    put(bench, 255, 1.0)
    put(bench, 258, 2.0)
    assert bench.slave.state is State.RUNNING
    put(bench, 262, 3.0)
    assert bench.slave.state is State.ERRORRESOLVED
    assert bench.slave.error_code == ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED


def test_acceptable_loss() -> None:
    bench, _ = in_running(SlaveOptions(acceptable_loss=0.25))
    for seq in (0, 1, 2, 4):
        put(bench, seq, 1.0)
    assert bench.slave.state is State.RUNNING
    put(bench, 7, 1.0)
    assert bench.slave.state is State.ERRORRESOLVED


def test_overtaken_data_are_used_unless_told_otherwise() -> None:
    for newest_only, expected in ((True, 5.0), (False, 4.0)):
        bench, _ = in_running(SlaveOptions(newest_only=newest_only))
        put(bench, 5, 5.0)
        put(bench, 4, 4.0)
        assert step(bench) == expected


def test_repeated_data_are_used_unless_told_otherwise() -> None:
    """A sender that does not count uses one sequence id for all."""
    for newest_only, expected in ((True, 5.0), (False, 4.0)):
        bench, _ = in_running(SlaveOptions(newest_only=newest_only))
        put(bench, 0, 5.0)
        put(bench, 0, 4.0)
        assert step(bench) == expected


def test_data_of_wrong_length_are_dropped_and_counted() -> None:
    bench, _ = in_running()
    put(bench, 0, 2.0)
    for payload in (b"", b"abc"):
        bench.ask(make(PduType.DAT_input_output, pdu_seq_id=1, data_id=1, payload=payload))
    assert step(bench) == 2.0
    assert bench.slave.counters()[1].refused == 2


def test_outputs_that_never_come_name_the_slave() -> None:
    description = describe(Offset)
    with running(Offset(), description) as slave:
        with Master(timeout_s=HANG_S, data_wait_s=0.1, missing=Missing.STOP) as master:
            remote = master.add_slave(description, port=slave.port, transport=UDP)
            master.configure()
            master.run()
            master.do_step()
            slave.server.sockets.send_data = lambda target, data: None  # type: ignore[method-assign]
            with pytest.raises(DcpTimeoutError, match="'Offset'.*its outputs"):
                master.do_step()
            assert remote.outputs == [1.0]


@pytest.mark.parametrize(("acceptable", "steps"), [(0.4, 6), (0.39, 4), (0.34, 4), (0.33, 2)])
def test_a_master_ends_the_run_once_more_than_the_acceptable_share_is_lost(
    acceptable: float, steps: int
) -> None:
    """The second and the fourth outputs get lost: 1 of 3 after three steps, 2 of 5 after five."""
    description = describe(Offset)
    with (
        running(Offset(), description) as slave,
        Master(timeout_s=HANG_S, data_wait_s=0.1, acceptable_loss=acceptable) as master,
    ):
        remote = master.add_slave(description, port=slave.port, transport=UDP)
        master.configure()
        master.run()
        send, sent = slave.server.sockets.send_data, count(1)

        def lossy(target: Any, pdus: list[bytes]) -> None:
            if next(sent) not in (2, 4):
                send(target, pdus)

        slave.server.sockets.send_data = lossy  # type: ignore[method-assign]
        for _ in range(steps):
            master.do_step()
        (counters,) = remote.counters().values()
        assert (counters.first_missing, counters.held) == (2, 2 if steps > 3 else 1)
        if steps < 6:
            share = {2: "0.333", 4: "0.400"}[steps]
            text = f"'Offset': {share} of the PDUs of data_id 2 were lost, {acceptable} are"
            with pytest.raises(DcpError, match=text):
                master.do_step()


def test_a_step_may_wait_for_its_inputs() -> None:
    import struct
    import time

    description = describe(Offset)
    options = SlaveOptions(input_wait_s=20.0)
    with (
        running(Offset(), description, options=options) as slave,
        Master(timeout_s=HANG_S) as master,
        socket.create_connection(("127.0.0.1", slave.port)) as other,
    ):
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        data_id = remote.sent_pdus.pop().data_id  # the inputs come from elsewhere, and late

        def send_late() -> None:
            time.sleep(0.1)
            pdu = make(
                PduType.DAT_input_output,
                pdu_seq_id=0,
                data_id=data_id,
                payload=struct.pack("<d", 41.0),
            )
            other.sendall(struct.pack("<I", len(pdu)) + pdu)

        thread = threading.Thread(target=send_late)
        thread.start()
        master.do_step()
        thread.join()
        assert remote.outputs == [42.0]
        master.stop()


@pytest.mark.parametrize("policy", list(Missing))
def test_lost_outputs_of_the_initialization_are_an_error(policy: Missing) -> None:
    """No policy can replace what has never come: it would silently be zero."""
    description = describe(Offset)
    with running(Offset(), description) as slave:
        with Master(timeout_s=HANG_S, data_wait_s=0.1, missing=policy) as master:
            master.add_slave(description, port=slave.port, transport=UDP)
            master.configure()
            slave.server.sockets.send_data = lambda target, data: None  # type: ignore[method-assign]
            with pytest.raises(DcpTimeoutError, match="'Offset'.*(initialization|its outputs)"):
                master.initialise()


def test_a_master_is_closed_twice_though_its_slave_has_gone() -> None:
    description = describe(Offset)
    with running(Offset(), description) as slave:
        master = Master(timeout_s=0.1)
        master.add_slave(description, port=slave.port, transport=UDP)
        master.configure()
        slave.server.stop()
        master.close()
        master.close()


def test_what_is_held_at_the_beginning_is_no_loss() -> None:
    """Two steps: the initialization and the first one."""
    start = DataCounters(received=9, held=5, first_missing=1)
    assert start.beyond_start() == DataCounters(received=9, held=3)
    assert DataCounters(held=1, first_missing=1).beyond_start() == DataCounters()
    both = DataCounters(held=1, extrapolated=4, first_missing=1)
    assert both.beyond_start() == DataCounters(extrapolated=3)
    alone = DataCounters(extrapolated=4, first_missing=1)
    assert alone.beyond_start() == DataCounters(extrapolated=2)
    much = DataCounters(held=3, extrapolated=4, first_missing=1)
    assert much.beyond_start() == DataCounters(held=1, extrapolated=4)
    later = DataCounters(held=5, first_missing=2)
    assert later.beyond_start() == later


def test_lost_are_those_that_did_not_come_of_those_that_were_sent() -> None:
    found = DataCounters(received=8, duplicated=1, lost=2)
    assert found.of_sent(10).lost == 3 and found.of_sent(8).lost == 2
    assert found.loss_rate == pytest.approx(2 / 9)
    assert not any(asdict(DataCounters()).values())
    assert DataCounters().loss_rate == 0.0
    counters = DataCounters()
    counters.miss(4, extrapolated=True)
    counters.miss(5, extrapolated=False)
    counters.miss(6, extrapolated=False)
    assert counters == DataCounters(held=2, extrapolated=1, first_missing=4)


@pytest.mark.parametrize(("retry_s", "interval"), [(0.5, 0.5), (4.0, 1.0)])
def test_what_is_unanswered_is_repeated_after_a_time(retry_s: float, interval: float) -> None:
    """At the latest after a twelfth of the interval of the heartbeat, which is 12 s here."""
    slave = RemoteSlave("a", describe(Offset, heartbeat=Fraction(12)), 1, "127.0.0.1", 9, UDP)
    requests = Requests({"a": slave}, timeout_s=5.0, retry_s=retry_s)
    sent: list[bytes] = []
    requests.sockets.send_datagram = lambda to, data: sent.append(data)  # type: ignore[method-assign]
    try:
        slave.pending[0] = PendingRequest(PduType.STC_run, b"run", first=10.0)
        for passed, count_sent in ((0.9, 0), (1.0, 1), (1.9, 1), (2.0, 2)):
            assert requests._repeat(slave, 10.0 + passed * interval) == interval
            assert sent == [b"run"] * count_sent
        slave.pending.clear()
        assert requests._repeat(slave, 90.0) == interval
        slave.asking, slave.asked = True, 20.0
        requests._repeat(slave, 20.0 + 0.9 * interval)
        assert len(sent) == 2
        requests._repeat(slave, 20.0 + interval)
        assert [request.kind for request in slave.pending.values()] == [PduType.INF_state]
        assert len(sent) == 3 and slave.asked == 20.0 + interval
    finally:
        requests.sockets.close()


def test_what_a_transition_refuses_is_asked_for_twenty_times() -> None:
    """Over UDP a late notification may have set a wrong state; in the end it is an error."""
    asked: list[int] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        remote = RemoteSlave("a", describe(Offset), 1, *sock.getsockname(), UDP)
        requests = Requests({"a": remote}, timeout_s=HANG_S, retry_s=HANG_S)

        def refuse() -> None:
            while True:
                request, address = sock.recvfrom(2048)
                if not request:
                    return
                asked.append(request[0])
                seq = {"resp_seq_id": request[1] | request[2] << 8, "sender": 1}
                if request[0] == PduType.INF_state:
                    sock.sendto(make(PduType.RSP_state_ack, **seq, state_id=1), address)
                else:
                    code = ErrorCode.PROTOCOL_ERROR_PDU_NOT_ALLOWED_IN_THIS_STATE
                    nack = make(PduType.RSP_nack, **seq, exp_seq_id=0, error_code=code)
                    sock.sendto(nack, address)

        thread = threading.Thread(target=refuse)
        thread.start()
        try:
            requests.sockets.open(remote)
            requests.request(remote, PduType.STC_prepare)
            with pytest.raises(DcpError, match="'a' refused STC_prepare in CONFIGURATION: "):
                requests.await_state([remote], State.PREPARED)
        finally:
            sock.sendto(b"", sock.getsockname())
            thread.join(HANG_S)
            requests.sockets.close()
    assert asked == [PduType.STC_prepare, PduType.INF_state] * 19 + [PduType.STC_prepare]


def test_only_values_with_a_conversion_are_converted() -> None:
    types = (DataType.uint8, DataType.float64, DataType.int16)
    pdu = InputPdu(1, PayloadCodec([(kind, None) for kind in types]), [0, 1, 2], [float, None, str])
    head = make(PduType.DAT_input_output, pdu_seq_id=0, data_id=1, payload=b"")
    pdu.take(head + struct.pack("<Bdh", 3, 0.5, -4))
    assert repr(pdu.pending) == "[3.0, 0.5, '-4']"


def test_arrays_are_continued_element_by_element_and_only_floats() -> None:
    fields = [(DataType.float64, 2), (DataType.int32, None), (DataType.float64, None)]
    pdu = InputPdu(1, PayloadCodec(fields), [0, 1, 2], [None] * 3)
    target: list[Any] = [None] * 3
    for values in (((1.0, 2.0), 4, 0.5), ((2.0, 5.0), 6, 0.25)):
        pdu.pending = values
        pdu.apply(target)
        assert target == list(values)
    assert pdu.extrapolated() == [(3.0, 8.0), 6, 0.0]
    assert pdu.extrapolated() == [(4.0, 11.0), 6, -0.25]
    pdu.pending = ((1.0, 2.0, 3.0), 6, 0.0)  # the array has got another size
    pdu.apply(target)
    assert pdu.extrapolated() == [(1.0, 2.0, 3.0), 6, 0.25]


def test_of_slower_sources_only_what_came_is_told() -> None:
    slave = RemoteSlave("a", describe(Offset), 1, "127.0.0.1", 9, UDP)
    found = DataCounters(received=9, lost=2, held=5, extrapolated=4, first_missing=3)
    assert slave._wired(7, found) == found
    slave.slower_sources = frozenset({7})
    assert slave._wired(7, found) == DataCounters(received=9, lost=2)


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        (PduType.STC_stop, 0x1003, "^the error of a$"),
        (PduType.STC_stop, 0x200D, "^the error of a$"),
        (PduType.STC_stop, 0x2001, "refused STC_stop in ERRORRESOLVED: INVALID_LENGTH"),
        (PduType.CFG_clear, 0x1003, "refused CFG_clear .* in ERRORRESOLVED"),
    ],
)
def test_a_change_of_state_is_refused_for_the_error_that_has_come_before(
    kind: PduType, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = TransportProtocol.TCP_IPv4
    slave = RemoteSlave("a", describe(Offset), 1, "127.0.0.1", 9, protocol)
    slave.state = State.ERRORRESOLVED
    requests = Requests({"a": slave}, timeout_s=5.0, retry_s=1.0)
    monkeypatch.setattr(requests, "error_of", lambda who: DcpError(f"the error of {who.name}"))
    try:
        with pytest.raises(DcpError, match=said):
            request = PendingRequest(kind, slave.numbered(kind)[1], 0.0)
            requests._refused(slave, Refusal(request, code, 0))
    finally:
        requests.sockets.close()
