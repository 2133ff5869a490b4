# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a run, started as ``ros2 launch`` does; launch itself is not needed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.patience import HANG_S, until

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.ros.bringup.launch_request import LaunchRequest, launch_arguments, prepare_launch
from ros2_cosim.ros.bringup.processes import command_of
from ros2_cosim.ros.bringup.starter_channel import ClockProgress


class Launched:
    """The processes of a run, started as launch does: all in one process group."""

    def __init__(self, request: LaunchRequest, log: Path) -> None:
        self.request = request
        self.times: list[int] = []
        request.on_progress = self._note
        self.log = log
        self._out = log.open("wb")
        environment = {**os.environ, **request.environment}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.group = 0
        for process in request.plan:
            started = subprocess.Popen(
                command_of(process),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.setpgid(0, self.group),
            )
            self.group = self.group or started.pid
            self.processes[process.name] = started

    def _note(self, progress: ClockProgress) -> None:
        self.times.append(progress.time_ns)

    def wait_until_it_runs(self) -> None:
        def meanwhile() -> None:
            failed = {name: code for name, p in self.processes.items() if (code := p.poll())}
            for name, code in failed.items():
                self.request.watch.ended(name, code)
            assert not failed, (failed, self.request.watch.failure(), self.log.read_text())
            time.sleep(0.02)

        until(lambda: max(self.times, default=0) > 0, meanwhile, self.log.read_text)

    def codes(self) -> dict[str, int]:
        return {name: p.wait(HANG_S) for name, p in self.processes.items()}

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self._out.close()


@contextmanager
def launched(directory: Path, scenario: str = "platoon", **values: str) -> Iterator[Launched]:
    """A scenario of this package under way, with these launch arguments.

    Results are in ``directory/out``.
    """
    arguments = {argument.name: argument.default or "" for argument in launch_arguments()}
    arguments |= {"scenario": str(share_file(f"config/{scenario}.yaml")), **values}
    request = prepare_launch({**arguments, "out": str(directory / "out")})
    running = Launched(request, directory / "log")
    try:
        yield running
    finally:
        running.close()
        request.release()
