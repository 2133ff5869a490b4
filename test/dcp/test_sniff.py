# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Decoding captured traffic, and the proxy between a master and a slave."""

from __future__ import annotations

import io
import math
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dcp_models import Sine, running, sine_description
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.standard.enums import DataType, PduType, TransportProtocol
from ros2_cosim.dcp.standard.errors import CaptureError
from ros2_cosim.dcp.standard.pdu import decode, decode_address, encode_address, make
from ros2_cosim.dcp.tools.capture import Captured, PacketDecoder, read_file, read_interface
from ros2_cosim.dcp.tools.proxy import Proxy
from ros2_cosim.dcp.tools.sniffer import Printer
from ros2_cosim.dcp.tools.tester import verify_slave

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
ACK = make(PduType.RSP_ack, resp_seq_id=5, sender=1)
STOP = make(PduType.STC_stop, pdu_seq_id=6, receiver=1, state_id=11)
INPUT = make(
    PduType.CFG_input,
    pdu_seq_id=4,
    receiver=1,
    data_id=7,
    pos=0,
    target_vr=1,
    source_data_type=DataType.float64,
)
DATA = make(PduType.DAT_input_output, pdu_seq_id=0, data_id=7, payload=struct.pack("<d", 2.5))


def ipv4(protocol: int, body: bytes) -> bytes:
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0, *_HOSTS)
    return bytes(12) + b"\x08\x00" + head + body


_HOSTS = (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))


def udp(data: bytes) -> bytes:
    return ipv4(17, struct.pack(">HHHH", 5000, 8080, 8 + len(data), 0) + data)


def tcp(seq: int, data: bytes, flags: int = 0x10) -> bytes:
    return ipv4(6, struct.pack(">HHIIBBHHH", 5000, 8080, seq, 0, 0x50, flags, 0, 0, 0) + data)


def frame(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def pcap(path: Path, packets: list[bytes]) -> Path:
    records = [
        struct.pack("<IIII", 100, n * 1000, len(p), len(p)) + p for n, p in enumerate(packets)
    ]
    head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(head + b"".join(records))
    return path


def test_a_capture_is_decoded_with_the_values_of_data(tmp_path: Path) -> None:
    stream = frame(INPUT) + frame(DATA) + frame(STOP)
    packets = [udp(ACK), udp(b"\x99nonsense"), b"short", tcp(999, b"", flags=2)]
    packets += [tcp(1000, stream[:10]), tcp(1030, stream[30:]), tcp(1005, stream[5:30])]
    out = io.StringIO()
    Printer(out).show_all(read_file(pcap(tmp_path / "a.pcap", packets)))
    lines = out.getvalue().splitlines()
    assert lines[0] == "  0.000000 UDP 10.0.0.1:5000 > 10.0.0.2:8080 RSP_ack resp_seq_id=5 sender=1"
    assert [line.split()[5] for line in lines] == [
        "RSP_ack",
        "CFG_input",
        "DAT_input_output",
        "STC_stop",
    ]
    assert lines[2].endswith("data_id=7 values=(2.5)")
    assert lines[3].endswith("receiver=1 RUNNING")


def test_addresses_are_readable() -> None:
    data = make(
        PduType.CFG_source_network_information,
        pdu_seq_id=0,
        receiver=1,
        data_id=1,
        transport_protocol=0,
        address=encode_address("10.1.2.3", 8080),
    )
    out = io.StringIO()
    Printer(out).show(Captured(0.0, ("a", 1), ("b", 2), "UDP", data))
    assert "address=10.1.2.3:8080" in out.getvalue()
    elsewhere = data[:6] + b"\2"  # of CAN, which has none
    Printer(out).show(Captured(0.0, ("a", 1), ("b", 2), "UDP", elsewhere))
    assert out.getvalue().endswith("transport_protocol=2 address=\n")


@given(st.lists(st.binary(max_size=80), max_size=20), st.sampled_from([1, 12, 113]))
def test_any_packet_can_be_fed(packets: list[bytes], link: int) -> None:
    decoder = PacketDecoder()
    for packet in packets:
        for body in (packet, ipv4(6, packet), ipv4(17, packet)):
            decoded = decoder.feed(0.0, body, link)
            assert all(found.transport == "TCP" or found.data in body for found in decoded)


@given(st.data())
def test_a_stream_is_put_together_from_any_segments(data: st.DataObject) -> None:
    pdus = data.draw(st.lists(st.sampled_from([ACK, STOP, INPUT, DATA]), min_size=1, max_size=8))
    stream = b"".join(map(frame, pdus))
    begin = data.draw(st.sampled_from([1000, 2**32 - 7]))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=8)))
    edges = [0, *cuts, len(stream)]
    segments = list(zip(edges, edges[1:], strict=False))
    segments += data.draw(st.lists(st.sampled_from(segments), max_size=3))  # repetitions
    decoder, found = PacketDecoder(), []
    decoder.feed(0.0, tcp((begin - 1) % 2**32, b"", flags=2))
    for low, high in data.draw(st.permutations(segments)):
        found += decoder.feed(0.0, tcp((begin + low) % 2**32, stream[low:high]))
    assert [captured.data for captured in found] == pdus


@pytest.mark.parametrize("transport", [TCP, UDP])
def test_a_proxy_shows_everything_and_changes_no_value(transport: TransportProtocol) -> None:
    out = io.StringIO()
    description = sine_description()
    with (
        running(Sine(), description, once=False) as slave,
        Proxy("127.0.0.1", 0, "127.0.0.1", slave.port, Printer(out).show) as proxy,
    ):
        thread = threading.Thread(target=proxy.run)
        thread.start()
        try:
            with Master(timeout_s=HANG_S) as master:
                remote = master.add_slave(description, port=proxy.port, transport=transport)
                master.configure()
                master.initialise()
                master.run()
                for step in range(5):
                    remote.set_inputs({"a": 0.5 * step})
                    master.do_step()
                    assert remote.output("y") == math.sin(0.5 * step)
                master.stop()
            assert verify_slave(
                description, port=proxy.port, transport=transport, only=["nrt", "states"]
            ).passed
        finally:
            proxy.stop()
            thread.join(10)
    text = out.getvalue()
    assert "STC_register" in text and "values=(1.5)" in text
    assert text.count("NTF_state_changed sender=1 COMPUTED") >= 5
    sent = [line for line in text.splitlines() if f":{slave.port} > " in line]
    assert sum("DAT_input_output" in line for line in text.splitlines()) >= 11
    assert sent


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_an_interface_is_listened_to() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]

        class Reader(io.StringIO):
            """Has enough once it has read of the socket."""

            def write(self, text: str) -> int:
                if f" > 127.0.0.1:{port} RSP_ack resp_seq_id=5 sender=1" in text:
                    raise BrokenPipeError
                return len(text)

        def listen() -> None:
            with pytest.raises(BrokenPipeError):
                Printer(Reader()).show_all(read_interface("lo"))

        thread = threading.Thread(target=listen)
        thread.start()
        while thread.is_alive():  # it may not listen yet
            sock.sendto(ACK, ("127.0.0.1", port))
            thread.join(0.05)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_an_interface_that_is_not_there_is_named() -> None:
    with pytest.raises(CaptureError, match="^interface nowhere0: No such device exists$"):
        next(read_interface("nowhere0"))


def test_an_interface_needs_rights() -> None:
    """Root gives them away for the moment."""
    pytest.importorskip("cypcap")  # another user may not read where it is installed
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(CaptureError, match="^interface lo: needs the rights of root; a proxy"):
            next(read_interface("lo"))
    finally:
        if is_root:
            os.seteuid(0)


def test_what_is_seen_is_there_at_once_with_times_from_the_first() -> None:
    """Also where lines are collected, as in a file or a pipe."""
    raw = io.BytesIO()
    printer = Printer(io.TextIOWrapper(io.BufferedWriter(raw)))  # type: ignore[type-var]
    for time in (5.0, 5.5):
        printer.show(Captured(time, ("a", 1), ("b", 2), "UDP", ACK))
    lines = raw.getvalue().decode().splitlines()
    assert [line.split()[0] for line in lines] == ["0.000000", "0.500000"]
    assert printer.shown == 2


def test_packets_that_are_cut_off_or_in_parts_hold_no_pdu() -> None:
    """Later parts of an IPv4 packet have no ports; the fields begin at the 20th byte."""
    whole = udp(ACK)
    assert len(PacketDecoder().feed(0.0, whole)) == 1
    # Neither flag nor rest of the other byte counts: only the offset of the part does.
    kept = whole[:20] + b"\x40" + whole[21:]
    assert len(PacketDecoder().feed(0.0, kept)) == 1
    for at, value in ((20, 0x01), (21, 0x01), (14, 0x65)):
        later = whole[:at] + bytes([value]) + whole[at + 1 :]
        assert PacketDecoder().feed(0.0, later) == []
    for size in (10, 33, 38, 41):
        assert PacketDecoder().feed(0.0, whole[:size]) == []
    # A length of 0: the whole packet, as network cards leave it.
    offloaded = whole[:16] + b"\0\0" + whole[18:]
    assert len(PacketDecoder().feed(0.0, offloaded)) == 1


@pytest.mark.parametrize(
    ("link", "head"), [(1, 14), (12, 0), (228, 0), (113, 16), (0, 4), (276, 20)]
)
def test_each_kind_of_link_has_its_header(link: int, head: int) -> None:
    packet = bytes(head) + udp(ACK)[14:]
    assert [found.data for found in PacketDecoder().feed(0.0, packet, link)] == [ACK]


def test_packets_of_a_virtual_network_are_read() -> None:
    packet = udp(ACK)
    tagged = packet[:12] + b"\x81\x00\x00\x05" + packet[12:]
    assert [found.data for found in PacketDecoder().feed(0.0, tagged)] == [ACK]


def taught(pos: int, kind: int, data_id: int = 7) -> bytes:
    """CFG_input: names the type of one value."""
    return make(
        PduType.CFG_input, pdu_seq_id=4, receiver=1, data_id=data_id, pos=pos, target_vr=1,
        source_data_type=kind,
    )  # fmt: skip


TUNABLE = make(
    PduType.CFG_tunable_parameter, pdu_seq_id=4, receiver=1, param_id=7, pos=0, parameter_vr=1,
    source_data_type=DataType.uint8,
)  # fmt: skip
REGISTER = make(
    PduType.STC_register, pdu_seq_id=0, receiver=1, state_id=0, slave_uuid=bytes(16), op_mode=2,
    major_version=1, minor_version=0,
)  # fmt: skip
INPUT_OUTPUT, PARAMETER = PduType.DAT_input_output, PduType.DAT_parameter


@pytest.mark.parametrize(
    ("before", "kind", "payload", "shown"),
    [
        ([taught(0, 9)], INPUT_OUTPUT, struct.pack("<d", 2.5), "values=(2.5)"),
        ([taught(1, 9), taught(0, 0)], INPUT_OUTPUT, struct.pack("<Bd", 7, 2.5), "values=(7, 2.5)"),
        ([], INPUT_OUTPUT, b"\1\2", "payload=0102"),
        ([taught(1, 0)], INPUT_OUTPUT, b"\1", "payload=01"),
        ([taught(0, 0)], INPUT_OUTPUT, b"\1\2", "payload=0102"),
        ([taught(0, 9)], INPUT_OUTPUT, b"\1", "payload=01"),
        ([taught(0, 99)], INPUT_OUTPUT, b"\1", "payload=01"),
        ([taught(0, 0, 8)], INPUT_OUTPUT, b"\1", "payload=01"),
        ([taught(0, 0), REGISTER], INPUT_OUTPUT, b"\1", "payload=01"),
        ([TUNABLE], INPUT_OUTPUT, b"\1", "payload=01"),
        ([TUNABLE], PARAMETER, b"\1", "values=(1)"),
        ([taught(0, 0)], PARAMETER, b"\1", "payload=01"),
    ],
)
def test_values_are_shown_if_all_their_types_are_known(
    before: list[bytes], kind: PduType, payload: bytes, shown: str
) -> None:
    printer = Printer(io.StringIO())
    for pdu in before:
        printer.text(decode(pdu))
    name = "data_id" if kind is INPUT_OUTPUT else "param_id"
    data = make(kind, pdu_seq_id=3, payload=payload, **{name: 7})
    assert printer.text(decode(data)) == f"{kind.name} pdu_seq_id=3 {name}=7 {shown}"


@contextmanager
def proxy_to(port: int) -> Iterator[tuple[Proxy, list[Captured]]]:
    """A proxy that runs, and what it has seen."""
    seen: list[Captured] = []
    with Proxy("127.0.0.1", 0, "127.0.0.1", port, seen.append) as proxy:
        thread = threading.Thread(target=proxy.run)
        thread.start()
        try:
            yield proxy, seen
        finally:
            proxy.stop()
            thread.join(10)


def test_over_udp_data_go_through_a_proxy_to_where_the_master_has_said() -> None:
    with ExitStack() as stack:
        slave, master, other = (
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(3)
        )
        for sock in (slave, master, other):
            sock.bind(("127.0.0.1", 0))
            sock.settimeout(HANG_S)
        proxy, seen = stack.enter_context(proxy_to(slave.getsockname()[1]))

        def told(kind: PduType, address: tuple[str, int], protocol: int = UDP) -> tuple[str, int]:
            """The address that the slave is told, and in :data:`upstream` where it answers to."""
            nonlocal upstream
            name = "param_id" if "param" in kind.name else "data_id"
            fields = {name: 258, "transport_protocol": protocol}
            request = make(
                kind, pdu_seq_id=1, receiver=1, address=encode_address(*address), **fields
            )
            master.sendto(request, ("127.0.0.1", proxy.port))
            data, upstream = slave.recvfrom(2048)
            return decode_address(decode(data).address)

        upstream = ("", 0)
        here = ("127.0.0.1", proxy.port)
        for kind in (
            PduType.CFG_source_network_information, PduType.CFG_param_network_information,
        ):  # fmt: skip
            assert told(kind, here) == slave.getsockname()
            assert told(kind, other.getsockname()) == other.getsockname()
            assert upstream[1] > 1023  # a free one
            assert told(kind, here, TCP) == here
        target = PduType.CFG_target_network_information
        assert told(target, other.getsockname(), TCP) == other.getsockname()
        assert told(target, other.getsockname()) == upstream != other.getsockname()
        entries = make(PduType.RSP_log_ack, resp_seq_id=0, sender=2, entries=b"\1")
        assert entries[3:5] == b"\2\1"  # where data have their data_id: it would be 258
        for data, receiver in (
            (make(INPUT_OUTPUT, pdu_seq_id=0, data_id=258, payload=b"x"), other),
            (make(INPUT_OUTPUT, pdu_seq_id=0, data_id=259, payload=b"x"), master),
            (make(INPUT_OUTPUT, pdu_seq_id=0, data_id=258, payload=b""), other),
            (entries, master),
            (ACK, master),
        ):
            slave.sendto(data, upstream)
            assert receiver.recvfrom(2048) == (data, here)
        ends = (slave.getsockname(), master.getsockname(), "UDP", ACK)
        assert seen[-1][1:] == ends
        assert seen[0][1:4] == (master.getsockname(), slave.getsockname(), "UDP")


def test_over_tcp_a_proxy_connects_and_ends_both_sides_together() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as slave,
        socket.create_server(("127.0.0.1", 0)) as home,
        proxy_to(slave.getsockname()[1]) as (proxy, seen),
    ):
        near = socket.create_connection(("127.0.0.1", proxy.port), HANG_S)
        far, _ = slave.accept()
        far.settimeout(HANG_S)
        near.sendall(frame(STOP))
        assert far.recv(100) == frame(STOP)
        far.sendall(frame(ACK))
        assert near.recv(100) == frame(ACK)
        assert [(found.transport, found.data) for found in seen] == [("TCP", STOP), ("TCP", ACK)]
        address = encode_address(*home.getsockname())
        request = make(
            PduType.CFG_target_network_information, pdu_seq_id=1, receiver=1, data_id=7,
            transport_protocol=TCP, address=address,
        )  # fmt: skip
        near.sendall(frame(request))
        place = decode_address(decode(far.recv(100)[4:]).address)
        assert place != home.getsockname()
        with socket.create_connection(place, HANG_S) as data:
            link, _ = home.accept()
            with link:
                data.sendall(frame(DATA))
                assert link.recv(100) == frame(DATA)
        far.close()
        assert near.recv(1) == b""
        near.close()
        slave.close()
        with socket.create_connection(("127.0.0.1", proxy.port), HANG_S) as refused:
            assert refused.recv(1) == b""
