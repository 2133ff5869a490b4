# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a slave asks of an instance of an FMU, whatever interface type it is run by.

A life is ``renew``, ``structure`` and ``set`` for parameters, ``enter``, ``begin``, then one
``advance`` for each step, ``end``; ``renew`` begins anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple

from ros2_cosim.dcp.fmi.clocks import ClockTimes
from ros2_cosim.dcp.standard.errors import SlaveFault

CLOCK = "Clock"
#: An FMU that asks for so many events at one time would do so for ever.
MAX_EVENTS = 1000


class FmuPlace(NamedTuple):
    """Where a variable is in an FMU.

    ``name`` is that in the FMU, and ``kind`` the name of FMI's access functions: ``setFloat64`` for
    ``Float64``. ``reference`` is a triple for a Binary in FMI 2.0
    (:mod:`~ros2_cosim.dcp.fmi.osmp`). A variable with ``clocks`` (their references) may be touched
    only while one of them ticks; an ``intermediate`` one may be read inside a communication step.
    """

    name: str
    kind: str
    reference: Any
    discrete: bool = False
    clocks: tuple[int, ...] = ()
    intermediate: bool = False


Values = list[Any]
"""The values of one variable: several for an array."""
Inputs = Sequence[tuple[FmuPlace, Values]]
Observer = Callable[[float, Mapping[FmuPlace, Values]], bool | None]
"""Called inside a communication step with the time [s] and the outputs that may be read there; true
asks the FMU to return early."""


class Runtime(ABC):
    """One instance of an FMU, here or in another process.

    :ivar initializing, stepping: the mode that it is in
    """

    initializing = False
    stepping = False

    @abstractmethod
    def renew(self, outputs: Mapping[FmuPlace, int]) -> None:
        """Be as if it had just been instantiated.

        :param outputs: all outputs, and the number of values of each
        """

    @abstractmethod
    def structure(self, values: Inputs) -> None:
        """Set structural parameters."""

    @abstractmethod
    def enter(self, inputs: Inputs) -> None:
        """Enter the initialization mode, unless it has been entered, with these inputs."""

    @abstractmethod
    def begin(self) -> None:
        """Leave the initialization mode: steps come next."""

    @abstractmethod
    def advance(self, now: float, size: float, inputs: Inputs) -> bool:
        """One communication step from a time on; both in s.

        :returns: whether the FMU ends the simulation
        """

    @abstractmethod
    def end(self) -> None:
        """Terminate the FMU."""

    @abstractmethod
    def free(self) -> None:
        """Release the instance, in whatever state it is."""

    @abstractmethod
    def write(self, values: Inputs) -> None:
        """Give variables their values."""

    @abstractmethod
    def read(self, places: Sequence[FmuPlace]) -> list[Values]:
        """The values of outputs; of a clock whether it has ticked in the last step."""

    @abstractmethod
    def tune(self, values: Inputs) -> None:
        """Set tunable parameters between two steps."""

    @abstractmethod
    def save(self) -> list[Any]:
        """The state by FMI's own means."""

    @abstractmethod
    def restore(self, state: Sequence[Any]) -> None:
        """Go back to a state that ``save`` gave."""


class FmiRuntime(Runtime):
    """One instance of an FMU in this process.

    :param access: FMPy's instance (:mod:`~ros2_cosim.dcp.fmi.access`)
    :param model: FMPy's description
    """

    def __init__(self, access: Any, model: Any) -> None:
        self._access = access
        self._model = model
        self._outputs: Mapping[FmuPlace, int] = {}
        self._made = False
        self._clocks = ClockTimes(model)
        self._forget()

    def _forget(self) -> None:
        self.initializing = self.stepping = False
        #: Variable -> the values that it has.
        self._given: dict[str, Values] = {}
        self._ticked: set[int] = set()
        self._sampled: dict[FmuPlace, Values] = {}

    # -- life ----------------------------------------------------------------------------------

    def renew(self, outputs: Mapping[FmuPlace, int]) -> None:
        """Be as if it had just been instantiated."""
        self._outputs = outputs
        if self._made:
            self._access.reset()
        else:
            self._instantiate()
            self._made = True
        self._forget()

    def structure(self, values: Inputs) -> None:
        """Set structural parameters."""
        self._access.enterConfigurationMode()
        self.write(values)
        self._access.exitConfigurationMode()

    def enter(self, inputs: Inputs) -> None:
        """Enter the initialization mode, unless it has been entered, with these inputs."""
        if not self.initializing:
            self._access.begin(0.0)
            self.initializing = True
        for place, items in inputs:
            if place.kind != CLOCK:
                self.set(place, items)
                self._given[place.name] = items
        for place, count in self._outputs.items():
            if place.clocks and place.kind != CLOCK:
                self._sampled[place] = self._read(place, count)

    def begin(self) -> None:
        """Leave the initialization mode: steps come next."""
        self._access.exitInitializationMode()
        self.initializing, self.stepping = False, True
        self._clocks.begin(self._access)
        self._start()

    def advance(self, now: float, size: float, inputs: Inputs) -> bool:
        """One communication step; what is true for all interface types."""
        self._ticked.clear()
        triggered = [p.reference for p, items in inputs if p.kind == CLOCK and items[0]]
        return self._advance(now, size, [i for i in inputs if i[0].kind != CLOCK], triggered)

    def end(self) -> None:
        """Terminate the FMU."""
        if self.initializing:
            self._access.exitInitializationMode()
        if self.initializing or self.stepping:
            self._access.terminate()
        self.initializing = self.stepping = False

    def free(self) -> None:
        """Release the instance, in whatever state it is."""
        if self._made:
            with suppress(Exception):
                self._access.freeInstance()
        self._made = False

    # -- values --------------------------------------------------------------------------------

    def write(self, values: Inputs) -> None:
        """Give variables their values."""
        for place, items in values:
            self.set(place, items)

    def read(self, places: Sequence[FmuPlace]) -> list[Values]:
        """The values of outputs; of a clock whether it has ticked in the last step."""
        return [self._value(place) for place in places]

    def set(self, place: FmuPlace, items: Values) -> None:
        """Give a variable its values."""
        found = [bool(item) for item in items] if place.kind == "Boolean" else items
        getattr(self._access, f"set{place.kind}")([place.reference], found)

    def _value(self, place: FmuPlace) -> Values:
        if place.kind == CLOCK:
            return [int(place.reference in self._ticked)]
        return self._sampled[place] if place.clocks else self._read(place, self._outputs[place])

    def _read(self, place: FmuPlace, count: int) -> Values:
        get = getattr(self._access, f"get{place.kind}")
        found = get([place.reference]) if count == 1 else get([place.reference], count)
        return [_plain(item, place.kind) for item in found]

    def tune(self, values: Inputs) -> None:
        """Set tunable parameters between two steps."""
        self.write(values)

    # -- state ---------------------------------------------------------------------------------

    def save(self) -> list[Any]:
        """The state by FMI's own means."""
        found = self._access.getFMUState()
        try:
            content = self._access.serializeFMUState(found)
        finally:
            self._access.freeFMUState(found)
        return [content, self.initializing, self.stepping, self._given]

    def restore(self, state: Sequence[Any]) -> None:
        """Go back to a state that ``save`` gave."""
        content, self.initializing, self.stepping, self._given = state
        found = self._access.deserializeFMUState(content)
        try:
            self._access.setFMUState(found)
        finally:
            self._access.freeFMUState(found)

    # -- what an interface type does -----------------------------------------------------------

    @abstractmethod
    def _instantiate(self) -> None:
        """Make the instance."""

    @abstractmethod
    def _start(self) -> None:
        """The initialization is complete: go to the mode of the first step."""

    @abstractmethod
    def _advance(self, now: float, size: float, inputs: Inputs, triggered: list[int]) -> bool:
        """One communication step; ``triggered`` clocks tick at its beginning."""

    # -- for them ------------------------------------------------------------------------------

    def _changed(self, inputs: Inputs) -> list[tuple[FmuPlace, Values]]:
        """Inputs without a clock that have another value than before."""
        found = [(p, v) for p, v in inputs if not p.clocks and self._given.get(p.name) != v]
        self._given.update((p.name, v) for p, v in found)
        return found

    def _set_clocked(self, inputs: Inputs, active: Iterable[int]) -> None:
        """Set the inputs of clocks that tick now."""
        ticking = set(active)
        for place, items in inputs:
            if ticking.intersection(place.clocks):
                self.set(place, items)

    def _sample(self, active: Iterable[int]) -> None:
        """Read what belongs to clocks that tick now, the FMU's own among them."""
        ticking = set(active)
        for place in self._outputs:
            if place.kind == CLOCK and self._access.getClock([place.reference])[0]:
                ticking.add(place.reference)
                self._ticked.add(place.reference)
        for place, count in self._outputs.items():
            if place.kind != CLOCK and ticking.intersection(place.clocks):
                self._sampled[place] = self._read(place, count)


class EventRuntime(FmiRuntime):
    """An instance that has an event mode."""

    _next_event = inf
    _inputs: Inputs = ()

    def save(self) -> list[Any]:
        """The state by FMI's own means, and what this side knows of it."""
        return [super().save(), self._next_event]

    def restore(self, state: Sequence[Any]) -> None:
        """Go back to a state that ``save`` gave."""
        found, self._next_event = state
        super().restore(found)

    def _event(self, time: float, triggered: Sequence[int] = ()) -> bool:
        """Handle all events at this time [s], the ticks of clocks that are due among them.

        The instance is in event mode before and after.

        :returns: whether the FMU ends the simulation
        """
        for _ in range(MAX_EVENTS):
            due = [*triggered, *(clock.reference for clock in self._clocks.due(time))]
            triggered = ()
            if due:
                self._access.setClock(due, [True] * len(due))
                self._set_clocked(self._inputs, due)
            self._sample(due)
            needed, terminated, _, _, is_next, at = self._access.updateDiscreteStates()
            self._clocks.ticked(self._access, time, due)
            self._next_event = at if is_next else inf
            if terminated:
                return True
            if not needed and not self._clocks.is_due(time):
                return False
        raise SlaveFault(f"{self._model.modelName}: more than {MAX_EVENTS} events at {time:g} s")


def _plain(value: Any, kind: str) -> Any:
    if kind == "Boolean":
        return int(bool(value))
    if kind == "String" and isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None:
        return "" if kind == "String" else b""
    return value
