# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The seam of a scenario for a program that steps it: the ports and fields of ``external``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.scenario.schema import Scenario

PLAIN = (float, int, bool, str)
"""Kinds of the fields that can be seen from outside."""


class SeamPort:
    """One entry of the section: a port of a participant, its record and the chosen fields."""

    def __init__(
        self, name: str, place: str, port: str, message: str, fields: Sequence[str] | None
    ) -> None:
        participant, _, self.port = port.partition(".")
        self.name, self.participant = name, participant
        self.record = CATALOGUE.record(message)
        #: Records made from definitions have one for each field.
        self._defaults: Mapping[str, Any] = self.record._field_defaults  # type: ignore[attr-defined]
        kinds = {f: k for f, k in get_type_hints(self.record).items() if k in PLAIN}
        for field in fields or ():
            if field not in kinds:
                raise ConfigurationError(
                    f"{place}.fields: found '{field}'; {message} has {', '.join(kinds) or 'none'}"
                )
        self.fields = {f: kinds[f] for f in (fields if fields is not None else kinds)}

    @property
    def names(self) -> list[str]:
        """Names of its variables."""
        return [f"{self.name}.{field}" for field in self.fields]

    def values(self, record: Any) -> list[Any]:
        """The chosen fields of a record, as values of the variables."""
        picked = (getattr(record, field) for field in self.fields)
        return [int(value) if isinstance(value, bool) else value for value in picked]

    def made(self, values: Sequence[Any]) -> Any:
        """A record of these values; its other fields are zero."""
        given = dict(zip(self.fields, values, strict=True))
        return self.record(
            **{
                field: kind(given.get(field, 0) if kind is not str else given.get(field, ""))
                if kind in PLAIN
                else ()
                for field, kind in get_type_hints(self.record).items()
                if field in given or field not in self._defaults
            }
        )


class ExternalSeam:
    """All ports of the section.

    :ivar step: shortest step [ns]
    :raises ConfigurationError: the scenario has no section ``external``, or a port or a field in it
        is not there
    """

    def __init__(self, scenario: Scenario) -> None:
        if scenario.external is None:
            raise ConfigurationError(
                f"scenario '{scenario.name}': external: missing; it names the step and the "
                "variables that a DCP master sees"
            )
        self.step = scenario.external.step
        self.outputs: list[SeamPort] = []
        self.inputs: list[SeamPort] = []
        for name, output in scenario.external.outputs.items():
            place = f"external.outputs.{name}"
            message = _output_type(scenario, output.source, f"{place}.from")
            self.outputs.append(SeamPort(name, place, output.source, message, output.fields))
        for name, given in scenario.external.inputs.items():
            place = f"external.inputs.{name}"
            message = _input_type(scenario, given.to, f"{place}.to")
            self.inputs.append(SeamPort(name, place, given.to, message, given.fields))


def _output_type(scenario: Scenario, port: str, place: str) -> str:
    participant, _, name = port.partition(".")
    known = [f"{p}.{o}" for p, s in scenario.participants.items() for o in s.outputs]
    if port not in known:
        raise ConfigurationError(f"{place}: found '{port}'; there are {', '.join(sorted(known))}")
    return scenario.participants[participant].outputs[name].type


def _input_type(scenario: Scenario, port: str, place: str) -> str:
    participant, _, name = port.partition(".")
    known = [f"{p}.{i}" for p, s in scenario.participants.items() for i in s.unsynchronised]
    if port not in known:
        raise ConfigurationError(
            f"{place}: found '{port}'; allowed are unsynchronised inputs of participants, here "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    return str(scenario.participants[participant].inputs[name].type)
