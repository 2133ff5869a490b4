# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An instance of an FMU in its own process: native code that crashes takes nothing along.

The process does what it is asked over a pipe that only the two have, and ends when that is closed.
"""

from __future__ import annotations

import faulthandler
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.dcp.fmi.runtime import FmuPlace, Inputs, Runtime, Values
from ros2_cosim.dcp.standard.errors import SlaveFault

#: A process that has nothing more to do ends within this time [s], or is killed.
_GRACE_S = 5.0


class ApartRuntime(Runtime):
    """An instance elsewhere.

    :param model: FMPy's description
    :param directory: where the FMU is unpacked
    :param file: its name, for messages
    :raises SlaveFault: it cannot be loaded
    """

    def __init__(self, model: Any, directory: str, file: str) -> None:
        self._file = file
        self._link, there = Pipe()
        words = [*module_command("ros2_cosim.dcp.fmi.apart"), str(there.fileno())]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[there.fileno()])
        there.close()
        try:
            self._ask("load", model, directory)
        except BaseException:
            self.free()
            raise

    def renew(self, outputs: Mapping[FmuPlace, int]) -> None:
        """Be as if it had just been instantiated."""
        self._ask("renew", dict(outputs))
        self.initializing = self.stepping = False

    def structure(self, values: Inputs) -> None:
        """Set structural parameters."""
        self._ask("structure", values)

    def enter(self, inputs: Inputs) -> None:
        """Enter the initialization mode, unless it has been entered, with these inputs."""
        self._ask("enter", inputs)
        self.initializing = True

    def begin(self) -> None:
        """Leave the initialization mode: steps come next."""
        self._ask("begin")
        self.initializing, self.stepping = False, True

    def advance(self, now: float, size: float, inputs: Inputs) -> bool:
        """One communication step."""
        return bool(self._ask("advance", now, size, inputs))

    def end(self) -> None:
        """Terminate the FMU."""
        self._ask("end")
        self.initializing = self.stepping = False

    def free(self) -> None:
        """End the process, in whatever state it is."""
        self._link.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        self._process.kill()
        self._process.wait()

    def write(self, values: Inputs) -> None:
        """Give variables their values."""
        self._ask("write", values)

    def read(self, places: Sequence[FmuPlace]) -> list[Values]:
        """The values of outputs."""
        found: list[Values] = self._ask("read", places)
        return found

    def tune(self, values: Inputs) -> None:
        """Set tunable parameters between two steps."""
        self._ask("tune", values)

    def save(self) -> list[Any]:
        """The state by FMI's own means."""
        found: list[Any] = self._ask("save")
        return found

    def restore(self, state: Sequence[Any]) -> None:
        """Go back to a state that ``save`` gave."""
        self._ask("restore", state)
        self.initializing, self.stepping = self._ask("mode")

    def _ask(self, what: str, *given: Any) -> Any:
        try:
            self._link.send((what, given))
            failed, found = self._link.recv()
        except (EOFError, OSError):
            raise SlaveFault(f"{self._file}: its process {self._death()}") from None
        if failed:
            raise SlaveFault(found)
        return found

    def _death(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        code = self._process.returncode
        if code is not None and code < 0:
            return f"crashed by {signal.Signals(-code).name}"
        return "has ended"


def main() -> None:
    """Serve one instance over the pipe whose descriptor is the argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the other process that is interrupted
    faulthandler.disable()
    link = Connection(int(sys.argv[1]))
    runtime: Runtime | None = None
    while True:
        try:
            what, given = link.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return
        try:
            if what == "load":
                from ros2_cosim.dcp.fmi.opening import open_runtime

                runtime, found = open_runtime(*given), None
            else:
                assert runtime is not None
                found = _asked(runtime, what)(*given)
            link.send((False, found))
        except Exception as error:  # FMPy raises plain exceptions
            link.send((True, one_line(error)))


def _asked(runtime: Runtime, what: str) -> Any:
    return {
        "renew": runtime.renew,
        "structure": runtime.structure,
        "enter": runtime.enter,
        "begin": runtime.begin,
        "advance": runtime.advance,
        "end": runtime.end,
        "write": runtime.write,
        "read": runtime.read,
        "tune": runtime.tune,
        "save": runtime.save,
        "restore": runtime.restore,
        "mode": lambda: (runtime.initializing, runtime.stepping),
    }[what]


if __name__ == "__main__":
    main()
