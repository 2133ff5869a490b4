# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario that another program steps: what all the seams for such programs have in common.

The participants run in this process, as in shape ``inproc``. A step to t lets all activations up to
and at t happen, so that a scenario without inputs from outside has the trace of ``cosim run``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.random_streams import load_generator
from ros2_cosim.core.kernel.unsynchronised import Inbox
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.external import ExternalSeam
from ros2_cosim.core.scenario.schema import Scenario


class SteppedScenario:
    """One scenario; it can be run again and again.

    :param scenario: with a section ``external``
    :param out: directory for summary, bag and report, written when the run is over
    :param record: write a bag
    :raises ConfigurationError: the section is missing or wrong
    """

    def __init__(self, scenario: Scenario, out: Path | None = None, *, record: bool = True) -> None:
        self.scenario = scenario
        self.seam = ExternalSeam(scenario)
        self._request = RunRequest(scenario, shape="inproc", out=out, record=record)
        self._opened = ExitStack()
        self._run: InprocRun | None = None
        self._inboxes: list[Inbox] = []
        self._newest: dict[str, deque[Sample]] = {}

    @property
    def has_begun(self) -> bool:
        """Whether its participants are there."""
        return self._run is not None

    @property
    def finished(self) -> bool:
        """Whether the end of the scenario is reached; further steps change nothing."""
        return self._run is not None and self._run.finished

    def begin(self) -> None:
        """Make all participants; nothing has been activated yet.

        :raises CosimError: the scenario is wrong, or its output directory in use
        """
        try:
            prepared = self._opened.enter_context(bring_up(self._request))
            self._newest = {port.name: deque() for port in self.seam.outputs}
            load_generator()
            run = InprocRun(prepared, watch=self._watch())
            self._run = self._opened.enter_context(run)
            self._inboxes = [run.inbox(p.participant, p.port) for p in self.seam.inputs]
        except BaseException:
            self.end()
            raise

    def go_to(self, time_ns: int, inputs: Sequence[Any]) -> None:
        """Let every activation up to and at a time happen.

        :param inputs: values of the seam's inputs, in their order: one message for each port
        :raises CosimError: a participant failed
        """
        run = self._begun()
        at = 0
        for port, inbox in zip(self.seam.inputs, self._inboxes, strict=True):
            size = len(port.fields)
            inbox.receive(port.made(inputs[at : at + size]))
            at += size
        if not run.finished:
            answer = run.request(Request(Command.UNTIL, time_ns=time_ns + 1))
            if not answer.success:
                raise RunError(answer.message)

    def outputs_at(self, time_ns: int, values: list[Any]) -> None:
        """Replace values of the seam's outputs by those of the newest messages that are reached.

        :param values: in the order of the seam; a port without a message keeps what is there
        """
        at = 0
        for port in self.seam.outputs:
            queue = self._newest.get(port.name, deque())
            while len(queue) > 1 and queue[1].stamp <= time_ns:
                queue.popleft()
            size = len(port.fields)
            if queue and queue[0].stamp <= time_ns:
                values[at : at + size] = port.values(queue[0].value)
            at += size

    def finish(self, reason: str, unheard: Sequence[str] = ()) -> Summary:
        """The run is over: write its results, complete or not, and release everything.

        :param reason: why it ends, if it is not complete
        :param unheard: inputs that are connected and that nothing ever came for
        :raises CosimError: a participant failed
        """
        run = self._begun()
        try:
            if not run.finished:
                run.request(Request(Command.STOP, reason=reason))
            return run.finish(unheard)
        finally:
            self.end()

    def end(self) -> None:
        """Release everything; without :meth:`finish` there are no results."""
        self._run = None
        self._inboxes = []
        opened, self._opened = self._opened, ExitStack()
        opened.close()

    def _begun(self) -> InprocRun:
        if self._run is None:
            raise RunError(f"scenario '{self.scenario.name}': a step before it has begun")
        return self._run

    def _watch(self) -> Mapping[tuple[str, str], Callable[[Sample], None]]:
        watched: dict[tuple[str, str], list[deque[Sample]]] = {}
        for port in self.seam.outputs:
            watched.setdefault((port.participant, port.port), []).append(self._newest[port.name])

        def taker(queues: list[deque[Sample]]) -> Callable[[Sample], None]:
            def take(sample: Sample) -> None:
                for queue in queues:
                    queue.append(sample)

            return take

        return {key: taker(queues) for key, queues in watched.items()}
