# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets of DCP: both sides of the protocol, descriptions, FMUs, captured traffic."""

from __future__ import annotations

import io
import logging
import random
import struct
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path

import fmpy  # noqa: F401  (else the first input would have to wait for it)

from bench.dcp_engine import Engine
from bench.dcp_master_soak import LoggingTarget, Session, description_of, session_of
from bench.fuzz.target import Guided, Target, as_file, expect, joined, pieces
from ros2_cosim.dcp.master.cosimulation import load_cosimulation
from ros2_cosim.dcp.slave.fmu_description import fmu_slave_description, fmu_variables, read_fmu
from ros2_cosim.dcp.standard.enums import PduType, State
from ros2_cosim.dcp.standard.errors import CaptureError, DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.pdu import LAYOUTS, decode
from ros2_cosim.dcp.standard.states import is_transition
from ros2_cosim.dcp.standard.write_description import description_bytes
from ros2_cosim.dcp.tools.capture import read_file
from ros2_cosim.dcp.tools.sniffer import Printer

CONFIG = Path(__file__).parents[2] / "config"

logging.getLogger("ros2_cosim.dcp").setLevel(logging.CRITICAL)  # nonsense is wanted here

_PORT = 8001
_ANY_STATE = 0xFF
_DESCRIPTION = description_of(None)


def _read_as_slave(data: bytes) -> None:
    """A life of a slave, PDU by PDU; an empty one lets time pass.

    A sequence id of zero stands for the due one, a state of 255 for the present one: no mutation
    finds these.
    """
    engine = Engine(LoggingTarget(), _DESCRIPTION, _PORT)
    slave = engine.slave
    for piece in pieces(data):
        pdu, state = bytearray(piece), slave.state
        if len(pdu) > 3 and pdu[0] < PduType.RSP_ack and pdu[1:3] == b"\0\0":
            struct.pack_into("<H", pdu, 1, slave.expected_seq)
        if len(pdu) > 4 and pdu[0] < PduType.CFG_time_res and pdu[4] == _ANY_STATE:
            pdu[4] = state
        engine.sent = []
        if pdu:
            slave.receive(bytes(pdu), "master")
        else:
            engine.time += 0.01
            slave.on_time()
        for sent in engine.sent:
            answer = decode(sent)
            if answer.kind is PduType.NTF_state_changed:
                reached = State(answer.state_id)
                expect(is_transition(state, reached), "no such transition", state, reached)
                state = reached
        expect(state is slave.state, "a state was not notified", state, slave.state)


def _requests_of(number: int) -> Iterator[bytes]:
    """What a master sends to the first of its slaves in a session, as the target takes it."""
    sent: list[bytes] = []
    session = session_of(1, number)
    session.network.on_request = lambda port, data: sent.append(data) if port == _PORT else None
    session.run()
    for data in sent:
        if data[0] == PduType.STC_register:
            data = data[:5] + _DESCRIPTION.uuid_bytes + data[21:]
        yield data[:1] + b"\0\0" + data[3:] if data[0] < PduType.RSP_ack else data


def _clean_sessions(count: int) -> Iterator[int]:
    """Sessions without disturbances."""
    return islice((n for n in range(1000) if session_of(1, n).clean), count)


def _slave_seeds() -> Iterator[bytes]:
    for number in _clean_sessions(4):
        yield joined(islice(_requests_of(number), 130))
    yield joined(
        layout.packer.pack(int(layout.kind), *([0] * len(layout.names)))
        for layout in LAYOUTS.values()
        if "16s" not in layout.packer.format
    )


def _read_as_master(data: bytes) -> None:
    """A life of a master with its slaves; the input decides what the network does to it."""
    Session(Guided(data)).run()


def _master_seeds() -> Iterator[bytes]:
    for number in range(6):
        yield random.Random(number).randbytes(50 * 3**number)


def _read_description(data: bytes) -> None:
    description = parse_description(data)
    again = parse_description(description_bytes(description))
    expect(again == description, "written and read again, a description differs")


def _description_seeds() -> Iterator[bytes]:
    yield description_bytes(_DESCRIPTION)
    yield description_bytes(description_of(Fraction(1, 2)))


def _read_fmu_archive(data: bytes) -> None:
    with as_file(data, "model.fmu") as path:
        model = read_fmu(path)
        fmu_slave_description(path, model, fmu_variables(model))


def _packed(name: str, data: bytes) -> bytes:
    """A zip archive of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), data)
    return stream.getvalue()


def _read_fmu_description(data: bytes) -> None:
    _read_fmu_archive(_packed("modelDescription.xml", data))


_FMI2 = b"""<fmiModelDescription fmiVersion="2.0" modelName="m" guid="{g}" author="a">
<CoSimulation modelIdentifier="m" canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions><Unit name="m"><BaseUnit m="1" factor="2"/><DisplayUnit name="km" factor="0.001"/>
</Unit></UnitDefinitions>
<TypeDefinitions><SimpleType name="L"><Real unit="m" min="-1e9" max="9"/></SimpleType>
</TypeDefinitions>
<DefaultExperiment stepSize="0.05"/>
<ModelVariables>
<ScalarVariable name="u" valueReference="0" causality="input" variability="continuous">
<Real declaredType="L" start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="1" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="a" valueReference="2" causality="parameter" variability="tunable">
<Real start="1"/></ScalarVariable>
<ScalarVariable name="n" valueReference="0" causality="input" variability="discrete">
<Integer start="7"/></ScalarVariable>
<ScalarVariable name="t" valueReference="0" causality="parameter" variability="fixed">
<String start="hello"/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="2"/></Outputs></ModelStructure>
</fmiModelDescription>
"""
_FMI3 = b"""<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="{g}">
<CoSimulation modelIdentifier="m" fixedInternalStepSize="0.1"/>
<ModelVariables>
<UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>
<Float64 name="u" valueReference="3" causality="input" start="0 0">
<Dimension valueReference="1"/></Float64>
<Float32 name="y" valueReference="4" causality="output"><Dimension start="3"/></Float32>
<UInt8 name="s" valueReference="5" causality="input" start="0" min="0" max="9"/>
<Boolean name="f" valueReference="7" causality="input" start="false"/>
<String name="t" valueReference="9" causality="input"><Start value="abc"/></String>
<Binary name="d" valueReference="11" causality="input"><Start value="0102"/></Binary>
<Float64 name="time" valueReference="14" causality="independent" variability="continuous"/>
</ModelVariables>
<ModelStructure><Output valueReference="4"/></ModelStructure>
</fmiModelDescription>
"""


def _fmu_seeds() -> Iterator[bytes]:
    yield from (_FMI2, _FMI3)


def _archive_seeds() -> Iterator[bytes]:
    yield _packed("modelDescription.xml", _FMI2)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("modelDescription.xml"), _FMI3)
        archive.writestr(zipfile.ZipInfo("resources/"), b"")
    yield stream.getvalue()


def _read_capture(data: bytes) -> None:
    with as_file(data, "traffic.pcap") as path:
        Printer(io.StringIO()).show_all(read_file(path))


def _capture_seeds() -> Iterator[bytes]:
    """Files of a few datagrams, and of a stream: pcap and pcapng."""
    (number,) = _clean_sessions(1)
    sent = list(islice(_requests_of(number), 14))
    for protocol in (17, 6):
        packets = blocks = b""
        seq = 1
        for pdu in sent:
            if protocol == 17:
                body = struct.pack(">HHHH", 5000, _PORT, 8 + len(pdu), 0) + pdu
            else:
                framed = struct.pack("<I", len(pdu)) + pdu
                body = struct.pack(">HHIIHHHH", 5000, _PORT, seq, 0, 0x5018, 9999, 0, 0) + framed
                seq += len(framed)
            head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0,
                               b"\x7f\0\0\1", b"\x7f\0\0\1")  # fmt: skip
            packet = bytes(12) + b"\x08\0" + head + body
            size = len(packet)
            packets += struct.pack("<IIII", 1, 2, size, size) + packet
            blocks += _block(6, struct.pack("<IIIII", 0, 0, 2, size, size) + packet)
        yield (
            _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
            + _block(1, struct.pack("<HHI", 1, 0, 0))
            + blocks
        )
        yield struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + packets


def _block(kind: int, body: bytes) -> bytes:
    """A block of a pcapng file."""
    body += bytes(-len(body) % 4)
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def _read_cosimulation(data: bytes) -> None:
    with as_file(data, "cosimulation.yaml") as path:
        load_cosimulation(path)


def _cosimulation_seeds() -> Iterator[bytes]:
    yield b"""steps: 20
mode: srt
step: 1/100
slaves:
  a: {fmu: a.fmu, host: 127.0.0.1, port: 8080, transport: udp, parameters: {gain: 2.0}}
  b: {description: b.dcpx, command: [python, b.py], max_pdu_size: 905, exact_types: true}
connections: [a.y -> b.u, {from: b.y, to: a.u, delayed: true}]
inputs: {a.v: 1.0}
tune: {10: {a.gain: 3.0}}
missing: hold
acceptable_loss: 0.5
outputs: [a.y]
"""


_XML = (b"&lt;", b"<!DOCTYPE a [", b"]]>", b"<!--", b"NaN", b"-INF", b"1e999", b"4294967296")

TARGETS = (
    Target("dcp_slave", _read_as_slave, _slave_seeds, refusals=(), longest=4096),
    Target("dcp_master", _read_as_master, _master_seeds, refusals=(), longest=16384),
    Target(
        "dcpx",
        _read_description,
        _description_seeds,
        (DescriptionError,),
        words=(*_XML, b"string", b"binary", b"maxSize", b"structural", b"uint64"),
        longest=8192,
    ),
    Target("dcp_run", _read_cosimulation, _cosimulation_seeds, (DescriptionError,)),
    Target("dcp_capture", _read_capture, _capture_seeds, (CaptureError,)),
    Target(
        "fmu_description",
        _read_fmu_description,
        _fmu_seeds,
        (DescriptionError,),
        words=(*_XML, b"<Clock ", b"<Enumeration ", b"<Binary ", b'<Dimension start="2"/>'),
    ),
    Target(
        "fmu_archive",
        _read_fmu_archive,
        _archive_seeds,
        (DescriptionError,),
        words=(b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"../"),
        longest=8192,
    ),
)
