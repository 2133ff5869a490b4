# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Wires whose values pass through the master, which sends them with its own inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ros2_cosim.dcp.master.remote import RemoteSlave
from ros2_cosim.dcp.master.wiring import Wire


class Relay:
    """One wire: takes the output of one slave and puts it into the input of another.

    An input keeps its start value until the output has come for the first time, as it does where
    the slaves send to each other.
    """

    def __init__(self, wire: Wire, slaves: Mapping[str, RemoteSlave]) -> None:
        self.wire = wire
        self._source, self._target = slaves[wire.source], slaves[wire.target]
        self._output = self._source.output_names.index(wire.output)
        self._input = self._target.input_names.index(wire.input)
        self._carriers = [p for p in self._source.received.values() if self._output in p.indices]
        self._held: list[object] = []

    @property
    def _newest(self) -> list[object]:
        if any(pdu.newest is not None for pdu in self._carriers):
            return [self._source.outputs[self._output]]
        return []

    def hold(self) -> None:
        """A master step begins: a delayed wire passes on what is there now."""
        self._held = self._newest

    def pass_on(self) -> None:
        """The target is about to step: give it its input."""
        for value in self._held if self.wire.delayed else self._newest:
            self._target.inputs[self._input] = value


class Relays:
    """All relayed wires of a co-simulation."""

    def __init__(
        self, wires: Sequence[Wire] = (), slaves: Mapping[str, RemoteSlave] | None = None
    ) -> None:
        self._relays = [Relay(wire, slaves or {}) for wire in wires]
        self._of: dict[str, list[Relay]] = {}
        for relay in self._relays:
            self._of.setdefault(relay.wire.target, []).append(relay)

    def hold(self) -> None:
        """A master step begins."""
        for relay in self._relays:
            relay.hold()

    def pass_on(self, target: RemoteSlave) -> None:
        """A slave is about to step: give it its inputs."""
        for relay in self._of.get(target.name, ()):
            relay.pass_on()
