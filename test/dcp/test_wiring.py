# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Wiring, units, types, rates, names: everything wrong is refused before a PDU is sent."""

from __future__ import annotations

import logging
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.dcp_models import Offset, running, sine_description
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.plan import _check_data_synchronisation, payload_size
from ros2_cosim.dcp.master.remote import RemoteSlave, SlaveUse
from ros2_cosim.dcp.master.routes import ReceivePorts
from ros2_cosim.dcp.master.wiring import _unit_fault
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.slave_model import (
    Input,
    Output,
    Parameter,
    SlaveModel,
    StepInfo,
    StructuralParameter,
)
from ros2_cosim.dcp.standard.enums import DataType, OpMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError, PduError, WiringError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    DataPorts,
    IPv4Transport,
    SlaveDescription,
    Unit,
    Variable,
)

METRE = Unit("m", {"m": 1})
UNITS = (
    METRE,
    Unit("mm", {"m": 1}, factor=0.001),
    Unit("s", {"s": 1}),
    Unit("fast"),
    Unit("length", {"m": 1}),
)


class Ends(SlaveModel):
    out_m = Output("float64", unit="m")
    out_f32 = Output("float32")
    out_i64 = Output("int64")
    out_array = Output("float64", shape=(3,))
    in_m = Input("float64", unit="m")
    in_mm = Input("float64", unit="mm")
    in_s = Input("float64", unit="s")
    in_length = Input("float64", unit="length")
    in_none = Input("float64")
    in_f32 = Input("float32")
    in_array = Input("float64", shape=(4,))
    k = Parameter("float64")


ENDS = describe(Ends, units=UNITS)


def refused(text: str, *wires: tuple[str, str]) -> None:
    master = Master()
    for name in "ab":
        master.add_slave(ENDS, port=1, name=name)
    with pytest.raises((WiringError, DescriptionError), match=text):
        for source, target in wires:
            master.connect(source, target)
        master.configure()


def test_wrong_wires_are_named() -> None:
    refused("a.out_m -> b.in_mm: units 'm' and 'mm' differ by a factor", ("a.out_m", "b.in_mm"))
    refused("units 'm' and 's' are of different dimension", ("a.out_m", "b.in_s"))
    refused("int64 does not fit into float64", ("a.out_i64", "b.in_none"))
    refused("float64 does not fit into float32", ("a.out_m", "b.in_f32"))
    refused("3 elements cannot feed 4 elements", ("a.out_array", "b.in_array"))
    refused("a scalar cannot feed 4 elements", ("a.out_m", "b.in_array"))
    refused("not an input but Output", ("a.out_m", "b.out_m"))
    refused("not an output but Parameter", ("a.k", "b.in_m"))
    refused("no variable 'x'", ("a.x", "b.in_m"))
    refused("no slave 'c'; there are a, b", ("c.out_m", "b.in_m"))
    refused("already fed by a.out_m", ("a.out_m", "b.in_m"), ("b.out_m", "b.in_m"))
    refused("write slave.variable", ("out", "b.in_m"))


def test_fitting_wires_are_taken() -> None:
    master = Master(timeout_s=0.2)
    for name in "ab":
        master.add_slave(ENDS, port=1, name=name)
    for target in ("in_m", "in_length", "in_none"):
        master.connect("a.out_m", f"b.{target}")
    master.connect("a.out_f32", "b.in_f32")
    groups = master._planned(None).groups
    assert [len(g.pairs) for g in groups if g.source and g.target] == [4]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"op": OpMode.HRT}, "offers NRT, not HRT"),
        ({"port": None}, "names no control port"),
        ({"transport": TransportProtocol.CAN}, "does not offer CAN"),
        ({"use": SlaveUse(every=0)}, "every is 0"),
    ],
)
def test_slaves_that_do_not_fit_are_refused(arguments: dict[str, Any], text: str) -> None:
    master = Master(op_mode=arguments.pop("op", OpMode.NRT))
    with pytest.raises(WiringError, match=text):
        master.add_slave(ENDS, **({"port": 1} | arguments))


def test_names_rates_and_parameters() -> None:
    with pytest.raises(WiringError, match="stepping"):
        Master(stepping="backwards")
    with pytest.raises(WiringError, match="no slaves"):
        Master().configure()
    master = Master()
    assert master.step_size == 0  # known after configure
    master.add_slave(ENDS, port=1, name="a")
    with pytest.raises(WiringError, match="two slaves are named 'a'"):
        master.add_slave(ENDS, port=1, name="a")
    for number in range(1, 255):
        master.add_slave(ENDS, port=1, name=f"more{number}")
    with pytest.raises(WiringError, match="a master has at most 255 slaves"):
        master.add_slave(ENDS, port=1, name="b")
    master = Master()
    master.add_slave(ENDS, port=1, name="a")
    with pytest.raises(WiringError, match="no slave 'x'; there are a"):
        master.configure({"x": {}})
    with pytest.raises(DescriptionError, match="'in_m' is not a parameter"):
        master.configure({"a": {"in_m": 1.0}})
    master.add_slave(sine_description(), port=1, name="b")
    with pytest.raises(WiringError, match="one master step is 1/1000 s for slave 'a'"):
        master.configure()


@pytest.mark.parametrize(("sends", "said"), [(True, 0), (False, 1)])
def test_an_input_that_never_comes_is_said(
    sends: bool, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    description, model = describe(Offset), Offset()
    # The node of a CARLA slave, which another test may have run here, quietens it.
    caplog.set_level(logging.WARNING, logger="ros2_cosim.dcp")
    with running(model, description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        if not sends:
            remote.sent_pdus.clear()
        master.initialise()
        master.run()
        master.do_step()
        master.stop()
    lines = [text for text in caplog.messages if "never came" in text]
    assert len(lines) == said
    assert all(line.endswith("so that they kept their start values: u") for line in lines)
    assert model.unheard == ("u",) * said


def test_values_that_do_not_fit_are_named() -> None:
    description = describe(Offset)
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        with pytest.raises(WiringError, match="takes 1 inputs; got 2"):
            remote.set_inputs([1.0, 2.0])
        with pytest.raises(WiringError, match="does not feed an input 'x', only u"):
            remote.set_inputs({"x": 1.0})
        with pytest.raises(WiringError, match="'offset' is not tunable, only none"):
            master.tune({"Offset": {"offset": 1.0}})
        remote.set_inputs({"u": "text"})
        with pytest.raises(Exception, match="'Offset': variable 'u': value 'text' does not fit"):
            master.do_step()
        remote.set_inputs({"u": 2.0})
        master.do_step()
        assert remote.outputs == [3.0]
        master.stop()


def test_what_can_be_tuned_is_listed_in_the_refusal() -> None:
    class Tunable(SlaveModel):
        gain = Parameter("float64", start=1.0, variability="tunable")
        bias = Parameter("float64", start=0.0, variability="tunable")
        y = Output("float64")

        def do_step(self, step: StepInfo) -> None:
            self.y = self.gain + self.bias

    description = describe(Tunable)
    with running(Tunable(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        with pytest.raises(WiringError, match="'x' is not tunable, only gain, bias$"):
            master.tune({"Tunable": {"x": 1.0}})
        master.stop()


def test_the_size_of_an_array_is_that_of_its_parameter_or_one() -> None:
    size = Variable("n", 7, Causality.STRUCTURAL, DataType.uint8, 3, "tunable")
    without = Variable("m", 8, Causality.STRUCTURAL, DataType.uint8, None, "tunable")
    description = replace(describe(Growing), variables=(size, without))
    slave = RemoteSlave("s", description, 1, "127.0.0.1", 1, TransportProtocol.UDP_IPv4)
    assert slave.structural() == {7: 3, 8: 1}
    slave.parameters = {"n": 5}
    assert slave.structural() == {7: 5, 8: 1}
    slave.tuned = {"n": 6, "m": 2}
    assert slave.structural() == {7: 6, 8: 2}
    assert (slave.seq, slave.log_count, slave.state, slave.error_code) == (0, 0, None, None)


class Growing(SlaveModel):
    n = StructuralParameter("uint8", start=2, variability="tunable")
    u = Input("float64", shape=("n",))
    y = Output("float64", shape=("n",))

    def do_step(self, step: StepInfo) -> None:
        self.y = tuple(2.0 * x for x in self.u)


def test_tunable_structural_parameter_resizes_arrays() -> None:
    import struct

    from support.dcp_engine import Bench

    from ros2_cosim.dcp.standard.enums import PduType, State
    from ros2_cosim.dcp.standard.pdu import encode_address, make

    description = describe(Growing)
    bench = Bench(Growing(), description)
    home = {"transport_protocol": 0, "address": encode_address("127.0.0.1", 8080)}
    requests: list[tuple[PduType, dict[str, Any]]] = [
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
        (PduType.CFG_scope, {"data_id": 2, "scope": 0}),
        (PduType.CFG_input, {"data_id": 1, "pos": 0, "target_vr": 2, "source_data_type": 9}),
        (PduType.CFG_output, {"data_id": 2, "pos": 0, "source_vr": 3}),
        (
            PduType.CFG_tunable_parameter,
            {"param_id": 1, "pos": 0, "parameter_vr": 1, "source_data_type": 0},
        ),
        (PduType.CFG_source_network_information, {"data_id": 1, **home}),
        (PduType.CFG_target_network_information, {"data_id": 2, **home}),
        (PduType.CFG_param_network_information, {"param_id": 1, **home}),
        (PduType.STC_prepare, {}),
        (PduType.STC_configure, {}),
        (PduType.STC_run, {"time": 0}),
        (PduType.STC_run, {"time": 0}),
    ]

    def ask(kind: PduType, **fields: Any) -> None:
        seq = bench.slave.expected_seq
        state = {"state_id": bench.slave.state} if kind < 0x20 else {}
        answers = bench.ask(make(kind, pdu_seq_id=seq, receiver=1, **state, **fields))
        assert answers[0].kind is PduType.RSP_ack, str(answers[0])

    def step() -> bytes:
        ask(PduType.STC_do_step, steps=1)
        ask(PduType.STC_send_outputs)
        return bench.data[-1][1][5:]

    for kind, fields in requests:
        ask(kind, **fields)
    data_id = {"data_id": 1, "pdu_seq_id": 0}
    bench.ask(make(PduType.DAT_input_output, payload=struct.pack("<2d", 1.0, 2.0), **data_id))
    assert step() == struct.pack("<2d", 2.0, 4.0)
    bench.ask(make(PduType.DAT_parameter, pdu_seq_id=0, param_id=1, payload=b"\x04"))
    assert step() == struct.pack("<4d", 2.0, 4.0, 4.0, 4.0)
    data_id["pdu_seq_id"] = 1
    payload = struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)
    bench.ask(make(PduType.DAT_input_output, payload=payload, **data_id))
    assert step() == struct.pack("<4d", 2.0, 4.0, 6.0, 8.0)
    assert bench.slave.state is State.RUNNING


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
def test_a_master_tunes_the_size_of_arrays(transport: TransportProtocol) -> None:
    description = describe(Growing)
    with running(Growing(), description) as slave, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=slave.port, transport=transport)
        master.configure({"Growing": {"n": 3}})
        master.run()
        remote.set_inputs([(1.0, 2.0, 3.0)])
        master.do_step()
        assert remote.outputs == [(2.0, 4.0, 6.0)]
        for size in (5, 2, 4):
            master.tune({"Growing": {"n": size}})
            assert len(remote.inputs[0]) == size
            values = tuple(float(size * 10 + i) for i in range(size))
            remote.set_inputs([values])
            master.do_step()
            assert remote.outputs == [tuple(2.0 * x for x in values)]
        master.stop()
        master.reset()
        assert len(remote.inputs[0]) == 3
        master.run()
        master.do_step()
        assert remote.outputs == [(0.0, 0.0, 0.0)]
        master.stop()


def test_model_errors_in_declarations() -> None:
    class Twice(SlaveModel):
        a = Output("float64", name="x")
        b = Output("float64", name="x")

    class Unknown(SlaveModel):
        a = Output("float64", shape=("n",))

    class Strange(SlaveModel):
        a = Output("float64", colour="red")

    for model, text in ((Twice, "used twice"), (Unknown, "no structural"), (Strange, "colour")):
        with pytest.raises(DescriptionError, match=text):
            describe(model)
    with pytest.raises(PduError):
        from ros2_cosim.dcp.standard.values import encode_value

        encode_value(ENDS.variables[0].data_type, "x")
    assert isinstance(ENDS, SlaveDescription)
    assert ENDS.fixed_resolution() == Fraction(1, 1000)


def test_with_data_synchronisation_a_slave_needs_inputs_and_one_resolution_a_step() -> None:
    """Its PDUs are laid out before; here it has none, or one."""

    def slave(**use: Any) -> RemoteSlave:
        description = describe(Offset)
        made = RemoteSlave(
            "s", description, 1, "127.0.0.1", 1, TransportProtocol.UDP_IPv4, SlaveUse(**use)
        )
        made.sent_pdus.append(None)  # type: ignore[arg-type]
        return made

    _check_data_synchronisation([slave(), slave()])
    for key in ("every", "steps"):
        with pytest.raises(WiringError, match=f"'s': {key} is 2; with data_synchronisation only 1"):
            _check_data_synchronisation([slave(), slave(**{key: 2})])
    idle = slave()
    idle.sent_pdus.clear()
    with pytest.raises(WiringError, match="'s' has no inputs; .* nothing would make it step"):
        _check_data_synchronisation([slave(), idle])


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        (None, METRE, ""),
        (METRE, None, ""),
        (METRE, Unit("length", {"m": 1}), ""),
        (METRE, Unit("s", {"s": 1}), "units 'm' and 's' are of different dimension"),
        (METRE, Unit("m2", {"m": 2}), "units 'm' and 'm2' are of different dimension"),
        (
            METRE,
            Unit("mm", {"m": 1}, factor=0.001),
            "units 'm' and 'mm' differ by a factor or offset (1, 0 against 0.001, 0)",
        ),
        (
            Unit("K", {"K": 1}),
            Unit("degC", {"K": 1}, offset=273.15),
            "units 'K' and 'degC' differ by a factor or offset (1, 0 against 1, 273.15)",
        ),
        (Unit("x", has_base=False), Unit("x", has_base=False), ""),
        (Unit("m", has_base=False), METRE, ""),
        (METRE, Unit("x", has_base=False), "unit 'm' does not fit unit 'x'"),
        (Unit("x", has_base=False), METRE, "unit 'x' does not fit unit 'm'"),
    ],
)
def test_units_fit_if_values_mean_the_same(a: Unit | None, b: Unit | None, fault: str) -> None:
    assert _unit_fault(a, b) == fault


class Sizes(SlaveModel):
    n = StructuralParameter("uint8", start=3)
    scalar = Output("float32")
    array = Output("uint16", shape=("n", 2))
    text = Output("string", start="", max_size=7)
    endless = Output("string", start="")


def test_a_variable_takes_the_bytes_of_its_type_in_a_pdu() -> None:
    """A text has four more, for its length; without a largest size it takes none beside them."""
    description = describe(Sizes)
    slave = RemoteSlave("a", description, 1, "127.0.0.1", 8080, TransportProtocol.TCP_IPv4)
    sizes = {v.name: payload_size(slave, v) for v in description.of(Causality.OUTPUT)}
    assert sizes == {"scalar": 4, "array": 12, "text": 11, "endless": 4}


def receiver(
    *ranges: tuple[int, int], port: int = 8080, name: str = "a", **more: Any
) -> RemoteSlave:
    """A slave that takes data on some ports, the same over both protocols."""
    offer = IPv4Transport(900, port=8080, data=DataPorts(ranges=ranges))
    description = replace(describe(Sizes), udp=replace(offer, port=9090), tcp=offer)
    use = SlaveUse(**more)
    return RemoteSlave(name, description, 1, "127.0.0.1", port, TransportProtocol.TCP_IPv4, use)


def test_data_come_to_a_port_that_the_receiver_offers() -> None:
    tcp, udp = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
    ports = ReceivePorts()
    assert ports.of(receiver(data_ports=(77,)), tcp) == 77
    # Without any entry every port is offered. Over another protocol the control port is another.
    assert ReceivePorts().of(receiver(port=8081), tcp) == 8081
    assert ReceivePorts().of(receiver(port=8081), udp) == 9090
    # Over TCP one beside the control port, over UDP that itself if it is offered.
    assert ReceivePorts().of(receiver((8080, 8082)), tcp) == 8081
    assert ReceivePorts().of(receiver((9090, 9092)), udp) == 9090
    assert ReceivePorts().of(receiver((5000, 5001)), udp) == 5000
    assert ReceivePorts().of(receiver((8080, 8080)), tcp) == 8080
    # Each once: those of slaves on one host differ, and a slave keeps its own.
    first, second, third = (receiver((5000, 5001), name=name) for name in "abc")
    ports = ReceivePorts()
    assert [ports.of(first, tcp), ports.of(second, tcp), ports.of(first, tcp)] == [5000, 5001, 5000]
    with pytest.raises(WiringError, match="slave 'c' offers no free port for data"):
        ports.of(third, tcp)


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
def test_what_leaves_for_a_slave_is_noted(transport: TransportProtocol) -> None:
    description = describe(Offset)
    notes: list[str] = []
    with running(Offset(), description) as slave, Master(timeout_s=HANG_S) as master:
        master.add_slave(description, port=slave.port, transport=transport, name="a")
        master.configure()
        master.run()
        master.note(lambda: notes.append("sleeps"), lambda: notes.append("woke"), notes.append)
        master.do_step()
        assert notes[0] == "a" and {"sleeps", "woke"} <= set(notes) <= {"sleeps", "woke", "a"}
        notes.clear()
        master.note(None, None, None)
        master.do_step()
        assert notes == []
        master.stop()


def test_no_slave_is_configured_before_all_are_registered() -> None:
    description = describe(Offset)
    with (
        running(Offset(), description) as one,
        running(Offset(), description) as two,
        Master(timeout_s=HANG_S) as master,
    ):
        first = master.add_slave(description, port=one.port, name="first")
        other = replace(description, uuid="b5279485-720d-4542-9f29-bee4d9a75ef9")
        master.add_slave(other, port=two.port, name="second")
        with pytest.raises(DcpError, match="'second' refused STC_register in ALIVE: INVALID_UUID"):
            master.configure()
        first.pending.clear()
        master._requests.poll_state(first)
        assert one.server.slave.configuration.scopes == {}
