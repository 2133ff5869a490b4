# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Foreign slaves and masters: what the public C++ implementation does otherwise is coped with."""

from __future__ import annotations

import socket
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.dcp_models import Offset, Sine, running, sine_description
from support.patience import HANG_S

from ros2_cosim.dcp.master.cosimulation import CoSimulation, prepared
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import PendingRequest, RemoteSlave, SlaveUse
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import DataType, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.slave_description import LogCategory, LogTemplate

TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
COUNT = 20
Wide = type(
    "Wide",
    (SlaveModel,),
    {f"u{i}": Input("float64") for i in range(COUNT)}
    | {f"y{i}": Output("float64", start=0.0) for i in range(COUNT)}
    | {"do_step": lambda self, step: self.outputs.__setitem__(slice(None), self.inputs)},
)


@pytest.mark.parametrize("transport", [TCP, UDP])
def test_large_data_pdus_are_cut_for_slaves_that_take_only_small_ones(
    transport: TransportProtocol,
) -> None:
    description = describe(Wide)
    with running(Wide(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(
            description, port=slave.port, transport=transport, use=SlaveUse(max_pdu_size=64)
        )
        master.configure()
        # 5 bytes of header and at most 7 values
        assert [len(pdu.indices) for pdu in remote.sent_pdus] == [7, 7, 6]
        assert [len(pdu.indices) for pdu in remote.received.values()] == [7, 7, 6]
        master.initialise()
        master.run()
        for number in range(3):
            values = [float(number + i) for i in range(COUNT)]
            remote.set_inputs(values)
            master.do_step()
            assert remote.outputs == values
        master.stop()


def test_the_size_of_a_description_is_kept_to() -> None:
    plain = describe(Wide)
    assert plain.udp is not None
    description = replace(plain, udp=replace(plain.udp, max_pdu_size=45))
    with running(Wide(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=UDP)
        master.configure()
        assert [len(pdu.indices) for pdu in remote.sent_pdus] == [5] * 4
        master.run()
        remote.set_inputs({"u19": 4.5})
        master.do_step()
        assert remote.output("y19") == 4.5


class Whole(SlaveModel):
    n = Output("int16", start=0)

    def do_step(self, step: StepInfo) -> None:
        self.n = self.n + 1


class Half(SlaveModel):
    x = Input("float64")
    y = Output("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        self.y = 0.5 * self.x


def halves(directory: Path, exact: bool) -> tuple[list[float], DataType]:
    """Outputs of six steps, and the type in which the receiver was told to expect its input."""
    settings = {
        "base_directory": directory,
        "slaves": {
            "whole": {"model": "slaves.py:Whole"},
            "half": {"model": "slaves.py:Half", "exact_types": exact},
        },
        "connections": ["whole.n -> half.x"],
        "steps": 6,
    }
    (directory / "slaves.py").write_text(f"from {__name__} import Half, Whole  # noqa: F401\n")
    with prepared(CoSimulation.model_validate(settings)) as master:
        master.configure()
        half = master.slaves["half"]
        kinds = [source for pdu in half.sent_pdus for source, _ in pdu.codec.fields]
        master.initialise()
        master.run()
        outputs = []
        for _ in range(6):
            master.do_step()
            outputs.append(half.output("y"))
        return outputs, (kinds[0] if kinds else DataType.int16)


def test_a_receiver_that_converts_nothing_gets_its_own_type(tmp_path: Path) -> None:
    direct, direct_type = halves(tmp_path, exact=False)
    relayed, relayed_type = halves(tmp_path, exact=True)
    assert relayed == direct == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert (direct_type, relayed_type) == (DataType.int16, DataType.float64)


LOGGED = describe(
    Offset,
    log_categories=(LogCategory(7, "c"),),
    log_templates=(
        LogTemplate(3, 7, 2, "%string is %uint8"),
        LogTemplate(4, 7, 2, "%float64"),
        LogTemplate(5, 7, 2, "beep"),
    ),
)


def told(data: bytes) -> list[str]:
    remote = RemoteSlave("s", LOGGED, 1, "127.0.0.1", 1, UDP)
    remote.take_control(data)
    return [entry.text for entry in remote.log]


def entry(template: int, arguments: bytes) -> bytes:
    return struct.pack("<qB", 1795183424, template) + arguments


def test_log_notifications_with_time_and_template_twice() -> None:
    body = entry(4, struct.pack("<d", 2.5))
    assert told(b"\xe1\x01" + body) == ["2.5"]
    assert told(b"\xe1\x01" + body[:9] + body) == ["2.5"]


def test_log_entries_with_short_strings() -> None:
    for size in ("<I", "<H"):
        text = struct.pack(size, 4) + b"door" + b"\x05"
        assert told(b"\xe1\x01" + entry(3, text)) == ["door is 5"]


def test_answers_with_log_entries_that_are_cut_off() -> None:
    remote = RemoteSlave("s", LOGGED, 1, "127.0.0.1", 1, UDP)
    _, request = remote.numbered(PduType.INF_log, b"\0\5")
    remote.pending[0] = PendingRequest(PduType.INF_log, request, 0.0)
    entries = entry(4, struct.pack("<d", 1.0)) + entry(4, struct.pack("<d", 2.0))
    remote.take_control(b"\xb4\0\0\1" + entries[:-4])
    assert [e.text for e in remote.log] == ["1.0"]
    assert remote.pending == {}
    remote.pending[1] = PendingRequest(PduType.INF_log, request, 0.0)
    remote.take_empty()
    assert remote.pending == {}


def test_equal_entries_in_one_answer_all_count() -> None:
    remote = RemoteSlave("s", LOGGED, 1, "127.0.0.1", 1, UDP)
    _, request = remote.numbered(PduType.INF_log, b"\0\5")
    remote.pending[0] = PendingRequest(PduType.INF_log, request, 0.0)
    remote.take_control(b"\xb4\0\0\1" + 3 * entry(5, b""))
    assert [e.text for e in remote.log] == ["beep", "beep", "beep"]


class Closing(SlaveServer):
    """Closes all control connections after its deregistration."""

    def deregistered(self) -> None:
        super().deregistered()
        for link in self.sockets.links:
            link.flush()
            self.sockets.links.drop(link, "deregistered")


def test_a_slave_that_hangs_up_can_be_registered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    description = sine_description()
    monkeypatch.setattr("support.dcp_models.SlaveServer", Closing)
    with running(Sine(), description, once=False) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=TCP, name="sine")
        for _ in range(2):
            master.configure()
            master.run()
            master.do_step()
            master.stop()
            master.deregister()
            assert remote.state is State.ALIVE


def test_a_master_may_register_again_over_its_connection() -> None:
    """Some masters do not reconnect: the slave leaves the connection open."""
    description = sine_description()
    fields = {"slave_uuid": description.uuid_bytes, "op_mode": 2, "major_version": 1}
    with (
        running(Sine(), description, once=False) as slave,
        socket.create_connection(("127.0.0.1", slave.port)) as master,
    ):
        master.settimeout(30)
        for seq in (0, 40):
            common = {"receiver": 1, "pdu_seq_id": seq}
            register = make(PduType.STC_register, minor_version=0, state_id=0, **common, **fields)
            common["pdu_seq_id"] = seq + 1
            deregister = make(PduType.STC_deregister, state_id=1, **common)
            for data, state in ((register, 1), (deregister, 0)):
                master.sendall(struct.pack("<I", len(data)) + data)
                answer = b""
                while len(answer) < 4 + 4 + 4 + 3:
                    answer += master.recv(100)
                assert answer[4:8] == b"\xb0" + data[1:3] + b"\x01"
                assert answer[12:] == bytes((0xE0, 1, state))


def test_a_variable_larger_than_any_pdu_is_refused_by_the_slave() -> None:
    class Big(SlaveModel):
        row = Input("float64", shape=(50,))
        y = Output("float64", start=0.0)

    plain = describe(Big, resolutions=(Fraction(1, 10),))
    assert plain.udp is not None
    description = replace(plain, udp=replace(plain.udp, max_pdu_size=100))
    with running(Big(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port, transport=UDP)
        with pytest.raises(DcpError, match="NOT_SUPPORTED_PDU_SIZE"):
            master.configure()
