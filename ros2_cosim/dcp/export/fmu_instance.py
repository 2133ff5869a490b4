# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process behind an FMU that is a scenario: one for each instance.

It does what the library of the FMU asks for (``fmu_library.h``), over the socket that it was
started with, and ends when that is closed. ``fmu_export`` writes the FMU.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import sys
import tempfile
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.run.stepped import SteppedScenario
from ros2_cosim.core.scenario.external import ExternalSeam
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.export.fmu_variables import (
    FINISHED,
    OUTPUT_DIRECTORY,
    TRACE,
    ExportedVariable,
    variables_of,
)

#: The socket of the library, as it hands it over.
SOCKET = 3
SCENARIO_FILE = "scenario.json"
GUID_FILE = "guid.txt"
_OK, _ERROR = b"\0", b"\3"
_LENGTH = struct.Struct("=I")
_REAL = struct.Struct("=d")
_INTEGER = struct.Struct("=i")
_STEP = struct.Struct("=dd")
#: Times of an importer are sums of floats: so far [shares of a step] from a multiple they may be.
_TOLERANCE = 1e-6
_GETTERS = {b"r": float, b"i": int, b"b": bool, b"t": str}
_SETTERS = {b"1": float, b"2": int, b"3": bool, b"4": str}


class Instance(ABC):
    """What stands behind an FMU, as its library asks for it; all values by reference."""

    @abstractmethod
    def setup(self, start: float) -> None:
        """Take the time at which the run begins [s]."""

    @abstractmethod
    def begin(self) -> str:
        """The initialisation is complete.

        :returns: the directory that the instance has made for itself and removes when it is closed;
            the library does so if this process is killed. Empty: there is none
        """

    @abstractmethod
    def step(self, time: float, size: float) -> None:
        """One step from a time on [s]."""

    @abstractmethod
    def terminate(self) -> None:
        """The run is over."""

    @abstractmethod
    def reset(self) -> None:
        """Begin anew with the start values."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""

    @abstractmethod
    def get(self, kind: type, reference: int) -> Any:
        """The value of a variable of a Python type."""

    @abstractmethod
    def set(self, kind: type, reference: int, value: Any) -> None:
        """Give a variable of a Python type a value."""


class FmuInstance(Instance):
    """One instance of an FMU that is a scenario: values by reference, and the scenario.

    :param resources: directory with the resolved scenario
    """

    def __init__(self, resources: Path) -> None:
        self._scenario = load_scenario(resources / SCENARIO_FILE)
        seam = ExternalSeam(self._scenario)
        self._step_ns = seam.step
        self._variables = variables_of(seam)
        self._first_output = sum(len(port.fields) for port in seam.inputs)
        self._place = {v.name: v.reference for v in self._variables}
        self._values: list[Any] = []
        self._stepped: SteppedScenario | None = None
        self._opened = ExitStack()
        self._steps = 0
        self.reset()

    # -- what the library asks for ---------------------------------------------------------------

    def setup(self, start: float) -> None:
        """Check that time begins where the scenario does."""
        if start != 0.0:
            raise ConfigurationError(f"startTime: found {start:g}; allowed is 0")

    def begin(self) -> str:
        """Make all participants, and let the activations at time 0 happen."""
        out = self._values[self._place[OUTPUT_DIRECTORY]]
        scratch = ""
        if not out:
            scratch = self._opened.enter_context(tempfile.TemporaryDirectory(prefix="cosim_fmu_"))
        self._stepped = SteppedScenario(self._scenario, Path(out or scratch), record=not scratch)
        self._stepped.begin()
        self._go_to(0)
        return scratch

    def step(self, time: float, size: float) -> None:
        """All activations up to ``time + size`` [s]."""
        wanted = self._multiple(time, "currentCommunicationPoint")
        if wanted != self._steps:
            raise ConfigurationError(
                f"currentCommunicationPoint: found {time:g} s; allowed is "
                f"{self._steps * self._step_ns / SECOND:g} s, where the step before has ended"
            )
        steps = self._multiple(size, "communicationStepSize")
        if steps < 1:
            raise ConfigurationError(
                f"communicationStepSize: found {size:g} s; allowed are multiples of "
                f"{self._step_ns / SECOND:g} s"
            )
        self._steps += steps
        self._go_to(self._steps * self._step_ns)

    def terminate(self) -> None:
        """The run is over: write its results."""
        summary = self._running().finish("terminated by the importer of the FMU")
        self._values[self._place[TRACE]] = summary.trace_sha256
        self._values[self._place[FINISHED]] = True
        self._stepped = None

    def reset(self) -> None:
        """Release everything, and begin anew with the start values."""
        self.close()
        self._values = [variable.kind() for variable in self._variables]
        self._steps = 0

    def close(self) -> None:
        """Release everything; without :meth:`terminate` there are no results."""
        if self._stepped is not None:
            self._stepped.end()
            self._stepped = None
        self._opened.close()

    def get(self, kind: type, reference: int) -> Any:
        """The value of a variable."""
        return self._values[self._variable(kind, reference).reference]

    def set(self, kind: type, reference: int, value: Any) -> None:
        """Give an input, or a parameter before the run, a value."""
        variable = self._variable(kind, reference)
        if variable.causality == "output" or (
            variable.causality == "parameter" and self._stepped is not None
        ):
            raise ConfigurationError(
                f"variable '{variable.name}': it is an {variable.causality}; allowed to be set are "
                "inputs, and parameters before the initialisation"
            )
        self._values[reference] = value

    # -- inside ----------------------------------------------------------------------------------

    def _variable(self, kind: type, reference: int) -> ExportedVariable:
        if reference >= len(self._variables) or self._variables[reference].kind is not kind:
            raise ConfigurationError(
                f"value reference {reference}: there is no such variable of type {kind.__name__}"
            )
        return self._variables[reference]

    def _running(self) -> SteppedScenario:
        if self._stepped is None:
            raise RunError("the run has not begun, or is over")
        return self._stepped

    def _multiple(self, seconds: float, what: str) -> int:
        share = seconds * SECOND / self._step_ns
        if not math.isfinite(share) or abs(share - round(share)) > _TOLERANCE:
            raise ConfigurationError(
                f"{what}: found {seconds:g} s; allowed are multiples of "
                f"{self._step_ns / SECOND:g} s"
            )
        return round(share)

    def _go_to(self, time_ns: int) -> None:
        run = self._running()
        first = self._first_output
        run.go_to(time_ns, self._values[:first])
        last = self._place[FINISHED]
        outputs = self._values[first:last]
        run.outputs_at(time_ns, outputs)
        self._values[first:last] = outputs
        self._values[last] = run.finished


class Conversation:
    """Answers the requests of the library until it closes the socket.

    :param connection: the socket
    :param instance: makes the instance, which may be refused
    """

    def __init__(self, connection: socket.socket, instance: Callable[[], Instance]) -> None:
        self._connection = connection
        self._make = instance
        self._instance: Instance | None = None

    def run(self) -> None:
        """Until the socket is closed."""
        try:
            while (head := self._read(_LENGTH.size)) is not None:
                request = self._read(_LENGTH.unpack(head)[0])
                if request is None:
                    return
                answer = self._answer(request[:1], request[1:])
                self._connection.sendall(_LENGTH.pack(len(answer)) + answer)
        except OSError:
            return  # the importer has gone
        finally:
            if self._instance is not None:
                self._instance.close()

    def _read(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more = self._connection.recv(size - len(data))
            if not more:
                return None
            data += more
        return data

    def _answer(self, operation: bytes, data: bytes) -> bytes:
        try:
            return _OK + self._do(operation, data)
        except CosimError as error:
            return _ERROR + str(error).encode()
        except Exception as error:  # the importer gets a line, the terminal all of it
            traceback.print_exc()
            return _ERROR + f"{type(error).__name__}: {error}".encode()

    def _do(self, operation: bytes, data: bytes) -> bytes:
        if operation == b"I":
            self._instance = self._make()
            return b""
        instance = self._instance
        assert instance is not None
        if operation in _GETTERS:
            return self._get(instance, _GETTERS[operation], data)
        if operation in _SETTERS:
            self._set(instance, _SETTERS[operation], data)
        elif operation == b"S":
            instance.setup(*_REAL.unpack(data))
        elif operation == b"X":
            return instance.begin().encode()
        elif operation == b"D":
            instance.step(*_STEP.unpack(data))
        elif operation == b"T":
            instance.terminate()
        elif operation == b"R":
            instance.reset()
        return b""

    @staticmethod
    def _references(data: bytes) -> tuple[tuple[int, ...], bytes]:
        (count,) = _LENGTH.unpack_from(data)
        size = _LENGTH.size * (1 + count)
        return struct.unpack_from(f"={count}I", data, _LENGTH.size), data[size:]

    def _get(self, instance: Instance, kind: type, data: bytes) -> bytes:
        references, _ = self._references(data)
        parts = []
        for reference in references:
            value = instance.get(kind, reference)
            if kind is str:
                text = value.encode()
                parts.append(_LENGTH.pack(len(text)) + text)
            elif kind is float:
                parts.append(_REAL.pack(value))
            elif -(2**31) <= value < 2**31:
                parts.append(_INTEGER.pack(value))
            else:
                raise RunError(f"value reference {reference}: {value} is not a 32-bit integer")
        return b"".join(parts)

    def _set(self, instance: Instance, kind: type, data: bytes) -> None:
        references, rest = self._references(data)
        for reference in references:
            if kind is str:
                (length,) = _LENGTH.unpack_from(rest)
                end = _LENGTH.size + length
                value: Any = rest[_LENGTH.size : end].decode(errors="replace")
            else:
                reader = _REAL if kind is float else _INTEGER
                end = reader.size
                value = kind(reader.unpack_from(rest)[0])
            rest = rest[end:]
            instance.set(kind, reference, value)


def main() -> None:
    """Serve the library of an FMU that is a scenario."""
    serve(FmuInstance)


def serve(kind: Callable[[Path], Instance]) -> None:
    """Serve the library; its arguments are the directory of the resources and the wanted GUID.

    :param kind: makes an instance of the directory of the resources
    """
    resources, wanted = Path(sys.argv[-2]), sys.argv[-1]
    os.closerange(SOCKET + 1, os.sysconf("SC_OPEN_MAX"))  # the importer's own

    def make() -> Instance:
        guid = (resources / GUID_FILE).read_text(encoding="utf-8").strip()
        if guid != wanted:
            raise ConfigurationError(f"fmuGUID: found {wanted}; that of the FMU is {guid}")
        return kind(resources)

    with socket.socket(fileno=SOCKET) as connection:
        Conversation(connection, make).run()
