# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A connection of two terminals is one of their variables: each from output to input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ros2_cosim.dcp.fmi.terminals import FmuTerminal, matched, read_terminals
from ros2_cosim.dcp.slave.c_source import SUFFIX
from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.slave_description import Causality, SlaveDescription


def terminal_wires(
    source: str,
    to: str,
    descriptions: Mapping[str, SlaveDescription],
    fmus: Mapping[str, Path],
) -> Iterator[tuple[str, str]]:
    """The wires that a connection stands for; one of variables is itself.

    :param source, to: ``slave.variable``, or ``slave.terminal`` of an FMU
    :param fmus: slave -> its FMU, for those that are one
    :raises WiringError: terminals do not match
    """
    ends = [_terminal(text, descriptions, fmus) for text in (source, to)]
    if ends[0] is None or ends[1] is None:
        yield source, to  # what is wrong with it is said where variables are wired
        return
    where = f"{source} -> {to}"
    for pair in matched(ends[0], ends[1], where):
        one, other = (
            (f"{text.partition('.')[0]}.{name}", _causality(text, name, descriptions))
            for text, name in zip((source, to), pair, strict=True)
        )
        directions = (one[1], other[1])
        if directions == (Causality.OUTPUT, Causality.INPUT):
            yield one[0], other[0]
        elif directions == (Causality.INPUT, Causality.OUTPUT):
            yield other[0], one[0]
        else:
            raise WiringError(
                f"{where}: found '{one[0]}' and '{other[0]}'; allowed is an output with an input"
            )


def _causality(
    end: str, name: str, descriptions: Mapping[str, SlaveDescription]
) -> Causality | None:
    found = descriptions[end.partition(".")[0]].variables
    return next((v.causality for v in found if v.name == name), None)


def _terminal(
    text: str, descriptions: Mapping[str, SlaveDescription], fmus: Mapping[str, Path]
) -> FmuTerminal | None:
    slave, _, name = text.partition(".")
    fmu = fmus.get(slave)
    if fmu is None or fmu.suffix == SUFFIX:
        return None
    if any(v.name == name for v in descriptions[slave].variables):
        return None
    return read_terminals(fmu).get(name)
