# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A current ``cosim run`` and the commands that control it."""

from __future__ import annotations

import time

from runs.cosim_process import Result, Running
from support.patience import until
from support.warm import cosim

from ros2_cosim.ros.bringup.domain_lock import active_runs, own_domain


class Controlled:
    """A run under way and the commands that talk to it.

    :param which: options that say which run is meant
    """

    def __init__(
        self, environment: dict[str, str], running: Running | None = None, *which: str
    ) -> None:
        self._environment = environment
        self._running = running
        self._which = which

    def command(self, *words: str) -> Result:
        """Run ``cosim`` with these words beside the run."""
        done = cosim(self._environment, *words)
        return Result(done.returncode, done.stdout, done.stderr)

    def control(self, *words: str) -> str:
        """What the run answers to ``cosim control``."""
        result = self.command("control", *words, *self._which)
        assert result.code == 0, result
        return result.stdout.strip()

    def end(self, *words: str) -> None:
        """Ask for something after which the run ends; it may end before its answer arrives."""
        word = "running" if words[0] == "resume" else f"{words[0]} accepted"
        assert self.control(*words) in (word, "the run has ended")

    def wait_for_run(self) -> None:
        """Wait until the run, which begins paused, stands at time 0."""

        def meanwhile() -> None:
            if self._running is not None:
                assert not self._running.has_ended, self._running.result()
            time.sleep(0.05)

        def status() -> str:
            return self.command("control", "status", *self._which).stdout.strip()

        # A command costs as much as the start of a run, which it would hold up.
        domain = own_domain(self._environment)
        until(lambda: any(run.domain == domain for run in active_runs()), meanwhile)
        until(lambda: status() == "paused at 0s", meanwhile, status)
