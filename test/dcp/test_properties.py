# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Optional checks of min, max, gradient, preEdge and postEdge."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.dcp_engine import Bench
from support.dcp_models import running
from support.dcp_session import HOME, E, P, S, Session
from support.patience import HANG_S

from ros2_cosim.dcp.master.cosimulation import CoSimulation, prepared
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave_model import Input, Output, Parameter, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import DataType, OpMode
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.property_checks import Check, PropertyChecks
from ros2_cosim.dcp.standard.slave_description import (
    SimpleType,
    SlaveDescription,
    TypeAttributes,
)

ALL = frozenset(Check)
VIOLATED = E.PROTOCOL_ERROR_PROPERTY_VIOLATED


class Limited(SlaveModel):
    u = Input(
        "float64",
        value_reference=1,
        min=-1.0,
        max=1.0,
        gradient=10.0,
        pre_edge=0.002,
        post_edge=0.001,
    )
    n = Input("int16", value_reference=2, min=0)
    y = Output("float64", value_reference=3, start=0.0, max=5.0, gradient=100.0)
    p = Parameter("uint8", value_reference=4, start=3, min=2, max=4)
    t = Parameter("float64", value_reference=5, variability="tunable", max=2.0, gradient=50.0)
    row = Parameter("float64", (0.0, 0.0), value_reference=6, shape=(2,), max=1.0)
    text = Parameter("string", value_reference=7, max_size=3)

    def do_step(self, step: StepInfo) -> None:
        self.y = self.y + self.t


def session(checks: frozenset[Check], mode: int = 2) -> Session:
    description = describe(
        Limited, op_modes=(OpMode.NRT, OpMode.SRT), resolutions=(Fraction(1, 100),)
    )
    made = Session.__new__(Session)
    made.description = description
    made.bench = Bench(Limited(), description, SlaveOptions(checks=checks))
    made.seq = 0
    made.ok(
        P.STC_register,
        slave_uuid=description.uuid_bytes,
        op_mode=mode,
        major_version=1,
        minor_version=0,
    )
    return made


def to_running(made: Session, u: float | None = None) -> Session:
    """Wired and running, initialised before if there is an input."""
    made.ok(P.CFG_input, data_id=1, pos=0, target_vr=1, source_data_type=9)
    made.ok(P.CFG_input, data_id=1, pos=1, target_vr=2, source_data_type=5)
    made.ok(P.CFG_output, data_id=2, pos=0, source_vr=3)
    made.ok(P.CFG_steps, data_id=2, steps=1)
    made.ok(P.CFG_tunable_parameter, param_id=1, pos=0, parameter_vr=5, source_data_type=9)
    for data_id in (1, 2):
        made.ok(P.CFG_scope, data_id=data_id, scope=0)
    address = {"transport_protocol": 0, "address": HOME}
    made.ok(P.CFG_source_network_information, data_id=1, **address)
    made.ok(P.CFG_target_network_information, data_id=2, **address)
    made.ok(P.CFG_param_network_information, param_id=1, **address)
    made.ok(P.STC_prepare)
    made.ok(P.STC_configure)
    if u is not None:
        put(made, u)
        made.ok(P.STC_initialize)
        made.ok(P.STC_send_outputs)
    made.ok(P.STC_run, time=0)
    if made.bench.slave.mode is OpMode.SRT:
        made.bench.slave.on_time()
    made.ok(P.STC_run, time=0)
    return made


def put(made: Session, u: float, n: int = 0) -> None:
    made.bench.ask(
        make(P.DAT_input_output, pdu_seq_id=0, data_id=1, payload=struct.pack("<dh", u, n))
    )


def tune(made: Session, value: float) -> None:
    made.bench.ask(
        make(P.DAT_parameter, pdu_seq_id=0, param_id=1, payload=struct.pack("<d", value))
    )


def failed(made: Session, text: str) -> bool:
    slave = made.bench.slave
    assert (slave.state, slave.error_code) == (S.ERRORRESOLVED, VIOLATED)
    assert text in slave.error_text
    (answer,) = made.ask(P.INF_error)
    return bool(answer.error_code == VIOLATED)


def step(made: Session) -> None:
    made.ask(P.STC_do_step, steps=1)
    if made.state is S.COMPUTED:
        made.ask(P.STC_send_outputs)


@pytest.mark.parametrize(
    ("u", "n", "text"),
    [
        (1.5, 0, "u: found 1.5; allowed is -1.0 to 1.0"),
        (-1.5, 0, "u: found -1.5"),
        (float("nan"), 0, "u: found nan"),
        (0.0, -1, "n: found -1; allowed is 0 to inf"),
    ],
)
def test_inputs_beyond_their_limits_lead_to_the_error_state(u: float, n: int, text: str) -> None:
    made = to_running(session(frozenset({Check.LIMITS})))
    put(made, 1.0, 5)
    assert made.state is S.RUNNING
    put(made, u, n)
    assert failed(made, text)
    assert made.ok(P.STC_reset) == [S.CONFIGURATION]


def test_parameters_beyond_their_limits_are_refused() -> None:
    made = session(frozenset({Check.LIMITS}))

    def set_to(vr: int, source: int, payload: bytes) -> dict[str, Any]:
        return {"parameter_vr": vr, "source_data_type": source, "payload": payload}

    for value in (1, 5):
        made.refused(VIOLATED, P.CFG_parameter, **set_to(4, 0, bytes((value,))))
    made.ok(P.CFG_parameter, **set_to(4, 0, b"\x04"))
    made.refused(VIOLATED, P.CFG_parameter, **set_to(4, 0, b"\x05"))
    made.refused(VIOLATED, P.CFG_parameter, **set_to(6, 9, struct.pack("<2d", 0.5, 1.5)))
    made.refused(E.INVALID_PAYLOAD, P.CFG_parameter, **set_to(7, 10, b"\x04\0\0\0four"))
    made.ok(P.CFG_parameter, **set_to(7, 10, b"\x03\0\0\0abc"))
    to_running(made)
    assert made.bench.slave.model.get("p") == 4
    tune(made, 3.0)
    assert failed(made, "t: found 3.0; allowed is -inf to 2.0")


def test_outputs_beyond_their_limits_are_not_sent() -> None:
    made = to_running(session(frozenset({Check.LIMITS})))
    tune(made, 2.0)
    for _ in range(2):
        step(made)
    assert len(made.bench.data) == 2
    step(made)
    assert len(made.bench.data) == 2
    assert failed(made, "y: found 6.0; allowed is -inf to 5.0")


def test_gradients_count_simulated_time() -> None:
    made = to_running(session(frozenset({Check.GRADIENT})))
    for value in (0.0, 0.1, 0.0):  # 10 per second at steps of 10 ms
        put(made, value)
        step(made)
    assert made.state is S.RUNNING
    step(made)
    put(made, 0.2)  # two steps after the last value
    step(made)
    assert made.state is S.RUNNING
    put(made, 0.3)
    step(made)
    assert made.state is S.RUNNING
    put(made, 0.6)
    step(made)
    assert failed(made, "u: went from 0.3 to 0.6 in 0.01 s; allowed is a gradient of 10.0")


def test_between_the_initialization_and_the_first_step_no_time_passes() -> None:
    made = to_running(session(frozenset({Check.GRADIENT})), u=0.9)
    put(made, 0.0)
    step(made)
    assert made.state is S.RUNNING


def test_gradients_of_outputs_and_parameters() -> None:
    made = to_running(session(frozenset({Check.GRADIENT})))
    tune(made, 0.5)
    step(made)
    step(made)
    tune(made, 1.6)  # 55 per second, two steps after 0.5
    step(made)
    assert failed(made, "t: went from 0.5 to 1.6 in 0.02 s")
    made = to_running(session(frozenset({Check.GRADIENT})))
    step(made)
    tune(made, 1.5)
    step(made)
    assert failed(made, "y: went from 0.0 to 1.5 in 0.01 s; allowed is a gradient of 100.0")


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0.03, None),
        (0.0309, None),
        (0.0282, None),
        (0.0312, "late; allowed are 0.001 s"),
        (0.0277, "early; allowed are 0.002 s"),
    ],
)
def test_arrival_is_measured_from_the_nearest_tick(at: float, text: str | None) -> None:
    for checks in (Check.EDGES, Check.LIMITS):
        made = to_running(session(frozenset({checks}), mode=1))
        made.bench.time += at
        put(made, 0.0)
        if text is None or checks is Check.LIMITS:
            assert made.state is S.RUNNING
        else:
            assert failed(made, text)
    description = describe(Limited)
    watch = PropertyChecks(description, ())
    for exact in (0.001, -0.002):
        assert watch.arrival(description.variables, exact) is None


def test_arrival_means_nothing_without_a_clock() -> None:
    made = to_running(session(ALL))
    made.bench.time += 0.005
    put(made, 0.0)
    step(made)
    assert made.state is S.RUNNING


def test_by_default_nothing_is_watched() -> None:
    made = to_running(session(frozenset()))
    put(made, 77.0, -5)
    tune(made, 1e9)
    step(made)
    step(made)
    assert made.state is S.RUNNING


def of_a_type(description: SlaveDescription) -> SlaveDescription:
    """With the limit of ``t`` in its declared type."""
    variables = tuple(
        replace(v, declared_type="small", attributes=TypeAttributes()) if v.name == "t" else v
        for v in description.variables
    )
    small = SimpleType("small", DataType.float64, TypeAttributes(max=0.5))
    return replace(description, types=(small,), variables=variables)


@pytest.mark.parametrize(
    ("description", "refused"),
    [(describe(Limited), 99.0), (of_a_type(describe(Limited)), 0.75)],
    ids=["own", "of its type"],
)
def test_a_parameter_beyond_its_limits_is_refused_and_the_slave_configured_again(
    description: SlaveDescription, refused: float
) -> None:
    """What a slave answers behind its refusal, in one packet, is not forgotten."""
    with (
        running(Limited(), description, options=SlaveOptions(checks=ALL)) as slave,
        Master(timeout_s=HANG_S) as master,
    ):
        master.add_slave(description, port=slave.port, name="limited")
        with pytest.raises(DcpError, match="CFG_parameter.*PROPERTY_VIOLATED"):
            master.configure({"limited": {"t": refused}})
        master.configure({"limited": {"t": 0.25}})
        master.run()
        master.do_step()
        assert list(master.slaves["limited"].outputs) == [0.25]


def test_a_co_simulation_names_the_violation(tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(
        "from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel\n\n\n"
        "class Small(SlaveModel):\n"
        '    u = Input("float64", max=1.0)\n'
        '    y = Output("float64", start=0.0)\n'
    )
    settings = CoSimulation.model_validate(
        {
            "base_directory": tmp_path,
            "slaves": {"small": {"model": "limited.py:Small"}},
            "steps": 1,
            "check": ["limits"],
        }
    )
    with (
        pytest.raises(DcpError, match=r"u: found 2\.0; allowed is -inf to 1\.0$"),
        prepared(settings, apart=True) as master,
    ):
        master.configure()  # an error before the run has no time
        master.slaves["small"].set_inputs({"u": 2.0})
        master.initialise()
    with prepared(settings) as master:
        master.configure()
        master.run()
        master.slaves["small"].set_inputs({"u": 2.0})
        with pytest.raises(DcpError, match=r"PROPERTY_VIOLATED.*u: found 2\.0; allowed is -inf"):
            master.do_step()


def test_a_string_beyond_its_max_size_is_an_error_without_any_check() -> None:
    """5 bytes are allowed; the model never sees more."""
    made = Session()
    made.ok(P.CFG_input, data_id=1, pos=1, target_vr=2, source_data_type=10)
    made.to(S.RUNNING)
    for number, text in enumerate(("\u00e4bcd", "\u00e4bcde")):
        assert made.state is S.RUNNING
        data = text.encode()
        payload = struct.pack("<dI", 0.5, len(data)) + data
        made.bench.ask(make(P.DAT_input_output, pdu_seq_id=number, data_id=1, payload=payload))
    assert failed(made, "variable 's': found 6 bytes; allowed are 5 (maxSize)")


class Talker(SlaveModel):
    said = Output("string", value_reference=1, start="", max_size=5)

    def do_step(self, step: StepInfo) -> None:
        self.said += "ab"


def test_an_output_beyond_its_max_size_is_not_sent() -> None:
    made = Session(describe(Talker, resolutions=(Fraction(1, 100),)), model=Talker())
    made.ok(P.CFG_output, data_id=2, pos=0, source_vr=1)
    made.ok(P.CFG_steps, data_id=2, steps=1)
    made.ok(P.CFG_scope, data_id=2, scope=0)
    made.ok(P.CFG_target_network_information, transport_protocol=0, address=HOME, data_id=2)
    made.ok(P.STC_prepare)
    made.ok(P.STC_configure)
    made.ok(P.STC_run, time=0)
    made.ok(P.STC_run, time=0)
    for step in range(3):
        made.ask(P.STC_do_step, steps=1)
        made.ask(P.STC_send_outputs)
        if step < 2:
            assert made.state is S.RUNNING
    assert failed(made, "variable 'said': found 6 bytes; allowed are 5 (maxSize)")
