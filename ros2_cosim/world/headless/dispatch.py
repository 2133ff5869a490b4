# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of remote methods: name -> argument readers, handler, form of the answer.

The forms are the wrappers that CARLA puts around results: ``Response<T>``, ``Response<void>``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.decoding import ArgumentError, Reader, read_arguments
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

_logger = logging.getLogger(__name__)


class UnknownMethodError(CosimError):
    """The server has no method of this name."""


def by_simulation(called: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of a call gets the simulation."""
    return called


def by_world(called: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of a call gets the world."""
    return lambda simulation, *given: called(simulation.world, *given)


def by_vehicle(called: Callable[..., Any]) -> Callable[..., Any]:
    """The handler of a call gets the vehicle that the call names first."""
    return lambda simulation, actor, *given: called(simulation.world.require_vehicle(actor), *given)


def answer_value(result: Any) -> list[Any]:
    """A successful ``Response<T>``."""
    return [[1, result]]


def answer_failure(message: str) -> list[Any]:
    """A failed ``Response<T>``; the client raises RuntimeError with this text."""
    return [[0, [message]]]


def answer_done() -> list[Any]:
    """A successful ``Response<void>``."""
    return [[False]]


def answer_failed(message: str) -> list[Any]:
    """A failed ``Response<void>``."""
    return [[True, [message]]]


class AnswerForm(Enum):
    """Form in which the client expects the result of a method."""

    VALUE = "Response<T>"
    VOID = "Response<void>"
    BARE = "the result itself"
    NONE = "no client waits for it"


@dataclass(frozen=True)
class RemoteMethod:
    """One remote method."""

    name: str
    answer: AnswerForm
    readers: tuple[Reader[Any], ...]
    handler: Callable[..., Any]


class MethodTable:
    """Remote methods by name."""

    def __init__(self) -> None:
        self._methods: dict[str, RemoteMethod] = {}

    def method(
        self, name: str, answer: AnswerForm, *readers: Reader[Any]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: register ``handler(simulation, *arguments)`` under ``name``."""

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            self._methods[name] = RemoteMethod(name, answer, readers, handler)
            return handler

        return register

    def methods(
        self, answer: AnswerForm, handling: Callable[..., Any], *rows: tuple[Any, ...]
    ) -> None:
        """Register several: name, what ``handling`` makes the handler of, and the readers."""
        for name, called, *readers in rows:
            self.method(name, answer, *readers)(handling(called))

    def find(self, name: str) -> RemoteMethod:
        """The method called ``name``.

        :raises UnknownMethodError: if there is none
        """
        try:
            return self._methods[name]
        except KeyError:
            raise UnknownMethodError(f"unknown method '{name[:80]}'") from None

    def include(self, other: MethodTable) -> None:
        """Take over all methods of another table."""
        self._methods.update(other._methods)

    def names(self) -> list[str]:
        """All method names, sorted."""
        return sorted(self._methods)

    def call(self, simulation: Simulation, name: str, arguments: list[Any]) -> Any:
        """Carry out a call and return the wire form of its answer.

        Wrong arguments and refused calls become error answers that the client can show.

        :raises UnknownMethodError: if there is no such method
        """
        method = self.find(name)
        try:
            result = method.handler(simulation, *read_arguments(method.readers, arguments))
        except (ArgumentError, CosimError) as error:
            if method.answer is AnswerForm.NONE:
                _logger.warning("%s ignored: %s", name, error)
            if method.answer in (AnswerForm.VOID, AnswerForm.NONE):
                return answer_failed(f"{name}: {error}")
            return answer_failure(
                str(error) if isinstance(error, CallError) else f"{name}: {error}"
            )
        if method.answer is AnswerForm.VALUE:
            return answer_value(result)
        return result if method.answer is AnswerForm.BARE else answer_done()
