# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a run in shape ``inproc``: in the process of the run, without ROS.

The page is that of ``cosim dashboard``. Its requests are queued; the run takes them between two
slices of simulated time, so that neither page nor browser changes a result.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import bare
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.random_streams import load_generator
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.realtime.run_control import Answer, Command, Request
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import SEEN_NS, InprocRun
from ros2_cosim.core.run.shape import PreparedRun
from ros2_cosim.core.scenario.changes import changeable
from ros2_cosim.core.scenario.faultable import faultable
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.lab.report.road_of_scenario import lanes_of
from ros2_cosim.lab.web.dashboard import (
    LAST_LOOK_S,
    RequestQueue,
    footprints,
    page_of,
    shown_ports,
)
from ros2_cosim.lab.web.records_view import RecordsView
from ros2_cosim.lab.web.world_view import WithWorld
from ros2_cosim.vds.controllable import ENDED, PAUSED, RUNNING, ControlStatus
from ros2_cosim.vds.data_port.api import REQUESTER, DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.world.carla.world import CarlaWorld
from ros2_cosim.world.headless.onlooker import WorldOnlooker

#: Interval of looks at the world of a run that stands [s].
_LOOK_S = 0.05


class RunChanges:
    """What a page changes in a run of this process, whose thread makes the changes in order."""

    def __init__(self, run: InprocRun, scenario: Scenario) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._wanted = scenario
        #: Path, value, and the user that asks for it.
        self._waiting: queue.SimpleQueue[tuple[str, Any, str]] = queue.SimpleQueue()

    def values(self) -> list[dict[str, Any]]:
        """``path`` and ``value`` of all that may be changed, as they were requested."""
        with self._lock:
            return [each._asdict() for each in changeable(self._wanted)]

    def faultable(self) -> dict[str, Any]:
        """Where faults can be added, and of which kinds."""
        return faultable(self._wanted)

    def request(self, path: str, to: Any) -> None:
        """Ask for another value.

        :raises ConfigurationError: it may not be changed, or not to that
        """
        with self._lock:
            self._wanted = self._run.changed(self._wanted, path, to)
            self._waiting.put((path, to, REQUESTER.get()))

    def make(self, tell: Callable[[str], None]) -> None:
        """Make the requested changes; called by the thread of the run."""
        while not self._waiting.empty():
            path, to, user = self._waiting.get()
            time_ns = self._run.change(path, to, f"page of {user}")
            tell(f"{path}: {json.dumps(to)} from {format_ns(time_ns)} on")


class DrivenControl(RequestQueue):
    """The ``Controllable`` of a run in this process, whose thread takes the requests."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._status = ControlStatus(PAUSED, 0, 0, None)

    def status(self) -> ControlStatus:
        """Where the run was when its thread told it."""
        with self._lock:
            return self._status

    def tell(self, run: InprocRun, state: str) -> None:
        """Take where the run is; called by its thread."""
        status = ControlStatus(state, max(run.time, 0), run.steps, run.control.rate)
        with self._lock:
            self._status = status


def run_shown(
    prepared: PreparedRun,
    address: Address,
    *,
    token: str | None = None,
    paused: bool = False,
    progress: Callable[[int], None] = lambda time_ns: None,
    tell: Callable[[str], None] = lambda line: None,
    last_look: Callable[[], object] = lambda: time.sleep(LAST_LOOK_S),
) -> Summary:
    """Run a scenario to its end, shown and controlled in the browser.

    :param prepared: a run in shape ``inproc``
    :param address: where the page is
    :param token: see ``DataPort``
    :param paused: begin paused
    :param progress: called now and then with the simulated time [ns]
    :param tell: takes the address of the page, and refused requests
    :param last_look: returns when the page has shown the end for long enough
    :raises ConfigurationError: there is nothing to show
    :raises ConnectionFailedError: the port cannot be had
    :raises CosimError: a participant failed
    """
    with ExitStack() as opened:

        def show(api: DataPortApi, control: DrivenControl) -> None:
            served = DataPort(api, address.host, address.port, token)
            opened.callback(served.close)
            served.start()
            tell(f"dashboard at {served.url}")

        summary = drive(prepared, show, paused=paused, progress=progress, tell=tell)
        last_look()
        return summary


def drive(
    prepared: PreparedRun,
    show: Callable[[DataPortApi, DrivenControl], object],
    *,
    number: int = 0,
    starts: bool = False,
    paused: bool = False,
    progress: Callable[[int], None] = lambda time_ns: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Summary:
    """Run a scenario to its end, as the requests of a page say.

    :param prepared: a run in shape ``inproc``
    :param show: takes what answers the page, and the control behind it, before anything runs
    :param number: tells the page this run from those before it
    :param starts: whether the page starts runs
    :param paused: begin paused
    :param progress: called now and then with the simulated time [ns]
    :param tell: takes refused requests
    :raises ConfigurationError: there is nothing to show
    :raises CosimError: a participant failed
    """
    scenario = prepared.scenario
    view, control = RecordsView(footprints(scenario), lanes_of(scenario)), DrivenControl()

    def shows(vehicle: str) -> Callable[[Sample], None]:
        return lambda sample: view.take(vehicle, sample.value, sample.stamp)

    watch = {(p.participant, p.port): shows(p.vehicle) for p in shown_ports(scenario)}

    onlooker: WorldOnlooker | None = None

    def refused(word: str, answer: Answer) -> None:
        if not answer.success:
            tell(f"{word}: {answer.message}")

    def between_slices(time_ns: int) -> None:
        progress(time_ns)
        if onlooker is not None:
            onlooker.serve()
        control.tell(run, RUNNING)
        changes.make(tell)
        for request in control.waiting():
            run.take(request, partial(refused, request.command.name.lower()))

    load_generator()
    run = InprocRun(prepared, progress=between_slices, watch=watch, slice_ns=SEEN_NS, tell=tell)
    changes = RunChanges(run, scenario)
    with run:
        onlooker = onlooker_of(run)
        world = None if onlooker is None else WithWorld.here(view, onlooker)
        api = page_of(scenario, control, view, world, changes, number=number, starts=starts)
        show(api, control)
        request = Request(Command.PAUSE if paused else Command.RESUME)
        try:
            while True:
                run.take(request, partial(refused, request.command.name.lower()))
                run.go_on()
                if run.finished:
                    break
                control.tell(run, PAUSED)
                request = _next(control.requests, partial(_look, onlooker, changes, tell))
            return run.finish()
        finally:
            control.tell(run, ENDED)


def onlooker_of(run: InprocRun) -> WorldOnlooker | None:
    """Shows the headless world of a run; None: it has none."""
    models = [bare(model) for model in run.models.values()]
    worlds = [model for model in models if isinstance(model, CarlaWorld)]
    return next((found for world in worlds if (found := world.onlooker()) is not None), None)


def _look(onlooker: WorldOnlooker | None, changes: RunChanges, tell: Callable[[str], None]) -> None:
    """Do what a page asks for while the run stands."""
    changes.make(tell)
    if onlooker is not None:
        onlooker.serve()


def _next(requests: queue.SimpleQueue[Request], look: Callable[[], None]) -> Request:
    """The next request; until then the page is served."""
    while True:
        try:
            return requests.get(timeout=_LOOK_S)
        except queue.Empty:
            look()


def check_shown(shape: str, repeat: int) -> None:
    """Check whether a run can have its own page.

    :raises ConfigurationError: it cannot
    """
    if shape != "inproc":
        raise ConfigurationError(
            f"--dashboard: found with shape {shape}; allowed is shape inproc. cosim dashboard "
            "shows runs of the other shapes"
        )
    if repeat > 1:
        raise ConfigurationError("--dashboard: found with --repeat; allowed is a single run")
