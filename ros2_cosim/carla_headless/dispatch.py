# SPDX-License-Identifier: Apache-2.0
"""The table of remote methods: name -> argument readers, handler, form of the answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ros2_cosim.carla_headless import responses
from ros2_cosim.carla_headless.decoding import ArgumentError, Reader, read_arguments
from ros2_cosim.carla_headless.errors import CallError, UnknownMethodError
from ros2_cosim.kernel.errors import CosimError

if TYPE_CHECKING:
    from ros2_cosim.carla_headless.simulation import Simulation

_logger = logging.getLogger(__name__)


class Answer(Enum):
    """Form in which the client expects the result of a method."""

    VALUE = "Response<T>"
    VOID = "Response<void>"
    BARE = "the result itself"
    NONE = "nobody waits for it"


@dataclass(frozen=True)
class Method:
    """One remote method."""

    name: str
    answer: Answer
    readers: tuple[Reader[Any], ...]
    handler: Callable[..., Any]


class MethodTable:
    """Remote methods by name."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}

    def method(
        self, name: str, answer: Answer, *readers: Reader[Any]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: register ``handler(simulation, *arguments)`` under ``name``."""

        def register(handler: Callable[..., Any]) -> Callable[..., Any]:
            self._methods[name] = Method(name, answer, readers, handler)
            return handler

        return register

    def find(self, name: str) -> Method:
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
            if method.answer is Answer.NONE:
                _logger.warning("%s ignored: %s", name, error)
            if method.answer in (Answer.VOID, Answer.NONE):
                return responses.failed(f"{name}: {error}")
            return responses.failure(
                str(error) if isinstance(error, CallError) else f"{name}: {error}"
            )
        if method.answer is Answer.VALUE:
            return responses.value(result)
        return result if method.answer is Answer.BARE else responses.done()
