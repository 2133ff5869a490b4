# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What programs outside a co-simulation can do to its sockets: nothing that ends a run."""

from __future__ import annotations

import socket
import struct
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from support.dcp_models import Offset, Types, running
from support.patience import HANG_S, until

from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import Endpoint
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel
from ros2_cosim.dcp.slave.sockets import SlaveSockets
from ros2_cosim.dcp.standard import accepted
from ros2_cosim.dcp.standard.accepted import MAX_CONNECTIONS, MAX_WAITING_BYTES
from ros2_cosim.dcp.standard.enums import PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpTimeoutError
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.sizes import USUAL_PDU_BYTES, largest_received

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
# -- at a master ---------------------------------------------------------------------------------

STRAYS = [
    b"",
    b"\xf0",
    b"\xf0\xf4\x01\x02\x00\x01",  # a DAT_input_output of wrong length
    b"\xf0\xf4\x41\x02\x00" + bytes(9),
    b"\xf0\x00\x00\xff\xff" + bytes(8),
    make(PduType.NTF_state_changed, sender=1, state_id=State.ERRORRESOLVED),
    make(PduType.NTF_state_changed, sender=1, state_id=State.STOPPED),
    make(PduType.RSP_nack, resp_seq_id=3, sender=1, exp_seq_id=0, error_code=0x1001),
    b"\xb1" + bytes(60),
    b"\x55" * 30,
]


def test_stray_datagrams_do_not_end_the_run_of_a_master() -> None:
    description = describe(Offset)
    with (
        running(Offset(), description) as slave,
        Master(timeout_s=HANG_S) as master,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray,
    ):
        remote = master.add_slave(description, port=slave.port, transport=UDP)
        master.configure()
        master.run()
        home = master._requests.sockets.data_address(remote, UDP)
        for number in range(30):
            for data in STRAYS:
                stray.sendto(data, home)
            remote.set_inputs([float(number)])
            master.do_step()
            assert remote.outputs == [number + 1.0]
        assert remote.state is State.RUNNING
        figures = next(iter(remote.counters().values()))
        assert (figures.lost, figures.duplicated, figures.reordered) == (0, 0, 0)
        master.stop()


def test_data_from_the_host_of_no_slave_are_dropped() -> None:
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=UDP)
        master.configure()
        (data_id,) = remote.received
        data = make(
            PduType.DAT_input_output, pdu_seq_id=0, data_id=data_id, payload=struct.pack("<d", 7.0)
        )
        master._requests._take_data(data, "192.0.2.1")
        assert remote.received[data_id].pending is None
        assert master._requests.sockets.stranger == "192.0.2.1"
        master._requests._take_data(data, "127.0.0.1")
        assert remote.received[data_id].pending == (7.0,)


def test_the_error_names_answers_that_came_from_elsewhere() -> None:
    """A slave with several addresses may answer from another one than it was asked at."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        Master(timeout_s=0.5, retry_s=0.05) as master,
    ):
        silent.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        remote = master.add_slave(describe(Offset), port=port, transport=UDP)
        master._requests.sockets.open(remote)
        home = master._requests.sockets.data_address(remote, UDP)
        other.sendto(make(PduType.NTF_state_changed, sender=1, state_id=1), home)
        place = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(DcpTimeoutError, match=f"{place} was dropped, for no slave is there"):
            master.configure()


# -- at a slave ----------------------------------------------------------------------------------


def connected(stack: ExitStack, port: int, count: int) -> list[socket.socket]:
    return [
        stack.enter_context(socket.create_connection(("127.0.0.1", port), HANG_S))
        for _ in range(count)
    ]


def framed(pdu: bytes) -> bytes:
    return struct.pack("<I", len(pdu)) + pdu


def ended(connection: socket.socket) -> bool:
    """Whether the slave has closed the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def whole_run(description: Any, port: int) -> None:
    with Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=port, transport=TCP)
        master.configure()
        master.run()
        master.do_step(3)
        assert remote.outputs == [1.0]
        master.stop()


def test_idle_connections_do_not_keep_a_master_out() -> None:
    description = describe(Offset)
    with running(Offset(), description, once=False) as slave, ExitStack() as stack:
        idle = connected(stack, slave.port, MAX_CONNECTIONS + 8)
        whole_run(description, slave.port)
        talking = connected(stack, slave.port, MAX_CONNECTIONS + 8)
        for one in talking:  # these have brought a PDU, but none is registered
            one.sendall(framed(make(PduType.INF_state, pdu_seq_id=0, receiver=0)))
        whole_run(description, slave.port)
        assert len(slave.server.sockets.links) <= MAX_CONNECTIONS
        assert any(ended(one) for one in idle)
    assert slave.error is None


def test_a_registered_master_never_gives_way() -> None:
    description = describe(Offset)
    with (
        running(Offset(), description) as slave,
        Master(timeout_s=HANG_S) as master,
        ExitStack() as stack,
    ):
        remote = master.add_slave(description, port=slave.port, transport=TCP)
        master.configure()
        master.run()
        connected(stack, slave.port, MAX_CONNECTIONS)
        for _ in range(2 * MAX_CONNECTIONS):  # these are heard later than the master
            (talking,) = connected(stack, slave.port, 1)
            talking.sendall(framed(make(PduType.INF_state, pdu_seq_id=0, receiver=0)))
            assert talking.recv(100)  # its answer
        master.do_step(3)
        assert remote.outputs == [1.0]
        master.stop()
    assert slave.error is None


def test_a_connection_that_says_nothing_is_closed_after_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accepted, "SILENT_LIMIT_NS", 20_000_000)
    description = describe(Offset)
    with running(Offset(), description, once=False) as slave, ExitStack() as stack:
        (idle,) = connected(stack, slave.port, 1)
        idle.sendall(b"\x04\0")  # half a length is not a PDU either
        (talking,) = connected(stack, slave.port, 1)
        talking.sendall(framed(make(PduType.INF_state, pdu_seq_id=0, receiver=0)))
        until(lambda: ended(idle))
        assert len(slave.server.sockets.links) == 1
        assert talking.recv(100)  # its answer
        assert not ended(talking)


class Sized(SlaveModel):
    u = Input("float64")
    row = Input("float64", shape=(20_000,))
    y = Output("float64", start=0.0)


def test_the_description_limits_what_a_slave_takes() -> None:
    assert largest_received(describe(Offset)) == USUAL_PDU_BYTES
    assert 160_000 < largest_received(describe(Sized)) < 161_000
    assert largest_received(describe(Types)) > 1_000_000  # the sizes of its arrays have no limit


def test_held_back_pdus_take_little_memory() -> None:
    """Each connection announces a large PDU and sends all but the end of it."""
    for model in (Offset, Types):
        description = describe(model)
        announced = min(largest_received(description), MAX_WAITING_BYTES // 4)
        with running(model(), description, once=False) as slave, ExitStack() as stack:
            for one in connected(stack, slave.port, 12):
                try:
                    one.sendall(struct.pack("<I", announced) + bytes(announced - 1))
                except OSError:
                    continue  # it had to give way
            links = slave.server.sockets.links
            assert sum(link.reader.waiting for link in links) <= MAX_WAITING_BYTES + announced
            with socket.create_connection(("127.0.0.1", slave.port), HANG_S) as greedy:
                greedy.sendall(struct.pack("<I", largest_received(description) + 1))
                greedy.settimeout(HANG_S)
                assert greedy.recv(1) == b""


def test_a_data_pdu_larger_than_all_inputs_is_refused_at_prepare() -> None:
    """One input may stand at several positions; together they must fit what is received."""
    from support.dcp_session import HOME, E, P, Session

    session = Session(describe(Sized), model=Sized())
    row = next(v for v in session.description.variables if v.name == "row").value_reference
    for pos in range(2):
        session.ok(P.CFG_input, data_id=1, pos=pos, target_vr=row, source_data_type=9)
    session.ok(P.CFG_scope, data_id=1, scope=0)
    session.ok(P.CFG_source_network_information, data_id=1, transport_protocol=4, address=HOME)
    session.ok(P.CFG_time_res, numerator=1, denominator=1000)
    session.refused(E.NOT_SUPPORTED_PDU_SIZE, P.STC_prepare)


def test_a_slave_obeys_its_master_alone_while_it_lives() -> None:
    """A second master cannot register, and learns neither the id nor the count of requests."""
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        for kind, fields in (
            (PduType.INF_state, {}),
            (PduType.STC_stop, {"state_id": State.RUNNING}),
            (PduType.INF_error, {}),
        ):
            for seq in range(40):
                request = make(kind, pdu_seq_id=seq, receiver=1, **fields)
                with socket.create_connection(("127.0.0.1", slave.port), HANG_S) as stranger:
                    stranger.sendall(framed(request))
                    answer = stranger.recv(4 + 8, socket.MSG_WAITALL)
                size, refusal, _, _, expected, code = struct.unpack("<IBHBHH", answer)
                assert (size, refusal, code) == (8, PduType.RSP_nack, 0x1003), hex(code)
                assert expected == seq + 1
            remote.set_inputs([1.0])
            master.do_step()
            assert remote.outputs == [2.0]
        master.stop()


def test_data_of_a_program_that_has_gone_are_not_taken() -> None:
    """Whose it was cannot be told any more."""
    got: list[bytes] = []
    receiver = SimpleNamespace(receive=lambda data, origin: got.append(data))
    first, second = (
        make(PduType.DAT_input_output, pdu_seq_id=0, data_id=number, payload=bytes(8))
        for number in (1, 2)
    )
    with Reactor() as reactor:
        sockets = SlaveSockets(reactor, describe(Offset), "127.0.0.1", 0)
        sockets.serve(receiver, print)  # type: ignore[arg-type]
        place = "127.0.0.2", sockets.port
        sockets.listen([Endpoint(UDP, *place)])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
                gone.sendto(first, place)
            there.sendto(second, place)
            assert reactor.run_until(lambda: second in got)
        sockets.close()
    assert got == [second]


def test_what_is_read_before_a_computation_makes_no_other_one_wait_for_it() -> None:
    """A request that is read on the way reads no others: it would overtake the first."""
    server = SlaveServer(Offset(), describe(Offset), port=0)
    sockets = server.sockets
    asked: list[object] = []

    def serve_ready(without: object) -> bool:
        asked.append(without)
        sockets._drain(near)
        return len(asked) % 3 != 0

    with socket.socket() as near, socket.socket() as far:
        sockets._reactor = SimpleNamespace(serve_ready=serve_ready)  # type: ignore[assignment]
        sockets._drain(far)
        assert asked == [far] * 3
        sockets._drain(far)
        assert asked == [far] * 6
    sockets._reactor = server.reactor
    server.close()


def test_connections_that_say_nothing_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later: list[int] = []
    with Reactor() as reactor, ExitStack() as stack:
        monkeypatch.setattr(reactor, "call_later", lambda delay, callback: later.append(delay))
        links = accepted.AcceptedLinks(reactor, print, print)
        listener = links.listen("127.0.0.1", 0)
        connected(stack, listener.port, 3)
        assert reactor.run_until(lambda: len(links) == 3)
        kept = list(links)
        links.close()
        assert [link.fileno() for link in kept] == [-1] * 3
        listener.close()
    assert later == [10_000_000_000]
