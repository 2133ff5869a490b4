# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Wires between slaves: which output feeds which input, and whether the two fit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    SlaveDescription,
    Unit,
    Variable,
)
from ros2_cosim.dcp.standard.values import convertible


@dataclass(frozen=True)
class Wire:
    """One connection from an output to an input of another (or the same) slave.

    :ivar delayed: the input reads what the output was before the step
    """

    source: str
    output: str
    target: str
    input: str
    delayed: bool = False

    def __str__(self) -> str:
        return f"{self.source}.{self.output} -> {self.target}.{self.input}"


def check_wire(
    wire: Wire,
    source: SlaveDescription,
    target: SlaveDescription,
) -> tuple[Variable, Variable]:
    """The two variables of a wire, if causalities, types and units fit.

    :raises WiringError: naming the wire and what does not fit
    """
    sender, receiver = source.variable(wire.output), target.variable(wire.input)
    if sender.causality is not Causality.OUTPUT:
        raise WiringError(f"{wire}: {wire.output} is not an output but {sender.causality.value}")
    if receiver.causality is not Causality.INPUT:
        raise WiringError(f"{wire}: {wire.input} is not an input but {receiver.causality.value}")
    if not convertible(sender.data_type, receiver.data_type):
        raise WiringError(
            f"{wire}: {sender.data_type.name} does not fit into {receiver.data_type.name} "
            "without loss"
        )
    fault = _unit_fault(_unit(source, sender), _unit(target, receiver))
    if fault:
        raise WiringError(f"{wire}: {fault}")
    return sender, receiver


def _unit(description: SlaveDescription, variable: Variable) -> Unit | None:
    name = description.attributes(variable).unit
    if name is None:
        return None
    for unit in description.units:
        if unit.name == name:
            return unit
    return Unit(name, has_base=False)


def _unit_fault(a: Unit | None, b: Unit | None) -> str:
    """Why values in unit ``a`` cannot be read in unit ``b``; empty if they can.

    Data PDUs carry values in the variable's own unit without conversion, so
    factor and offset must agree too. A unit that is not declared fits every other.
    """
    if a is None or b is None:
        return ""
    if not (a.has_base and b.has_base):
        return "" if a.name == b.name else f"unit {a.name!r} does not fit unit {b.name!r}"
    if dict(a.exponents) != dict(b.exponents):
        return f"units {a.name!r} and {b.name!r} are of different dimension"
    if a.factor != b.factor or a.offset != b.offset:
        return (
            f"units {a.name!r} and {b.name!r} differ by a factor or offset "
            f"({a.factor:g}, {a.offset:g} against {b.factor:g}, {b.offset:g})"
        )
    return ""


def common_step(rates: dict[str, tuple[Fraction, int, int]]) -> Fraction:
    """Length of one master step from (resolution, steps, every) of each slave.

    :raises WiringError: the slaves' steps do not give the same length
    """
    lengths = {name: res * steps / every for name, (res, steps, every) in rates.items()}
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise WiringError(
                f"one master step is {lengths[first]} s for slave {first!r}, but {length} s for "
                f"slave {name!r} (resolution * steps / every)"
            )
    return lengths[first]
