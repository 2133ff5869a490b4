# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A registered slave engine, and requests to it with the right sequence ids."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from support.dcp_engine import Bench

from ros2_cosim.dcp.slave.declare import SlaveAddress, describe
from ros2_cosim.dcp.slave.slave_model import (
    Input,
    Output,
    Parameter,
    SlaveModel,
    StructuralParameter,
)
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, PduType, State
from ros2_cosim.dcp.standard.pdu import Pdu, encode_address, make
from ros2_cosim.dcp.standard.slave_description import (
    LogCategory,
    LogTemplate,
    SlaveDescription,
)

E, P, S = ErrorCode, PduType, State
HOME = encode_address("127.0.0.1", 9000)


class Box(SlaveModel):
    u = Input("float64", value_reference=1)
    s = Input("string", value_reference=2, max_size=5)
    y = Output("float64", value_reference=3, start=0.0)
    slow = Output("uint8", value_reference=4, start=0, fixed_steps=False, min_steps=2, max_steps=4)
    p = Parameter("uint16", value_reference=5)
    t = Parameter("float64", value_reference=6, variability="tunable")
    text = Parameter("string", value_reference=7, max_size=3)
    n = StructuralParameter("uint32", value_reference=8)
    array = Parameter("int32", value_reference=9, shape=("n",))
    m = StructuralParameter("uint8", value_reference=10, variability="tunable")


def box(**more: Any) -> SlaveDescription:
    defaults: dict[str, Any] = {
        "op_modes": (OpMode.NRT, OpMode.SRT),
        "resolutions": (Fraction(1, 100), Fraction(1, 10)),
        "address": SlaveAddress(data_ports=((9000, 9005),)),
        "log_categories": (LogCategory(3, "c"),),
        "log_templates": (LogTemplate(1, 3, 2, "x"),),
    }
    return describe(Box, **(defaults | more))


class Session:
    """An engine that has been registered, and requests with the right ids."""

    def __init__(
        self,
        description: SlaveDescription | None = None,
        mode: int = 2,
        model: SlaveModel | None = None,
    ) -> None:
        self.description = description or box()
        self.bench = Bench(model or Box(), self.description)
        self.seq = 0
        self.ok(
            P.STC_register,
            slave_uuid=self.description.uuid_bytes,
            op_mode=mode,
            major_version=1,
            minor_version=0,
        )

    @property
    def state(self) -> State:
        return self.bench.slave.state

    def ask(self, kind: PduType, **fields: Any) -> list[Pdu]:
        if kind < 0x20:
            fields.setdefault("state_id", self.state)
        fields.setdefault("receiver", 1)
        data = make(kind, pdu_seq_id=self.seq, **fields)
        self.seq = (self.seq + 1) & 0xFFFF
        return self.bench.ask(data)

    def ok(self, kind: PduType, **fields: Any) -> list[State]:
        answers = self.ask(kind, **fields)
        assert answers[0].kind is P.RSP_ack, (kind.name, str(answers[0]))
        assert answers[0].resp_seq_id == (self.seq - 1) & 0xFFFF
        return [State(a.state_id) for a in answers[1:]]

    def refused(self, code: ErrorCode, kind: PduType, **fields: Any) -> None:
        state = self.state
        answers = self.ask(kind, **fields)
        assert [a.kind for a in answers] == [P.RSP_nack]
        assert ErrorCode(answers[0].error_code) is code
        assert answers[0].exp_seq_id == self.seq
        assert self.state is state

    def wire(self) -> None:
        """A complete configuration of one input, one output and one tunable parameter."""
        self.ok(P.CFG_time_res, numerator=1, denominator=100)
        self.ok(P.CFG_input, data_id=1, pos=0, target_vr=1, source_data_type=9)
        self.ok(P.CFG_output, data_id=2, pos=0, source_vr=3)
        self.ok(P.CFG_steps, data_id=2, steps=1)
        self.ok(P.CFG_scope, data_id=1, scope=0)
        self.ok(P.CFG_scope, data_id=2, scope=0)
        self.ok(P.CFG_tunable_parameter, param_id=1, pos=0, parameter_vr=6, source_data_type=9)
        for kind, name in (
            (P.CFG_source_network_information, "data_id"),
            (P.CFG_target_network_information, "data_id"),
            (P.CFG_param_network_information, "param_id"),
        ):
            number = 2 if kind is P.CFG_target_network_information else 1
            self.ok(kind, transport_protocol=0, address=HOME, **{name: number})

    def to(self, state: State) -> None:
        """Onwards to a state of the usual run."""
        self.wire()
        for kind, fields in (
            (P.STC_prepare, {}),
            (P.STC_configure, {}),
            (P.STC_run, {"time": 0}),
            (P.STC_run, {"time": 0}),
        ):
            if self.state is state:
                return
            self.ok(kind, **fields)
        assert self.state is state
