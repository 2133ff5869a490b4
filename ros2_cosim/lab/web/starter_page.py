# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim dashboard`` without a run: scenarios are chosen, changed and started in the browser.

The page asks for a start; the main thread runs the scenario in shape ``inproc``, one at a time. The
port listens on this machine alone and wants a token with each request, for a start executes what a
scenario names.
"""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.realtime.pacing import RATE_LIMIT, RATE_MINIMUM
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.lab.web.dashboard import RequestQueue, tell_now
from ros2_cosim.lab.web.driven_run import DrivenControl, drive
from ros2_cosim.lab.web.startable import Startable, changed_scenario, startable, values_of
from ros2_cosim.vds.controllable import ControlStatus
from ros2_cosim.vds.data_port.api import ROUTES, DataPortApi, Query
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.messages import PortDocument
from ros2_cosim.vds.data_port.routes import (
    HttpAnswer,
    PortRoute,
    answered,
    described,
    error_answer,
    json_answer,
    parts_of,
)
from ros2_cosim.vds.data_port.view import picture_of

#: Where the files of the newest run are.
OUTPUT = Path("out/dashboard")
#: State of a page whose run has not been chosen yet.
IDLE = "idle"
#: Why a run ends that is under way then.
_CLOSED = "the page is closed"


class StartRequest(PortDocument):
    """Start a scenario, with some of its numbers changed."""

    scenario: str = Field(max_length=200, description="Name in the list of scenarios.")
    values: dict[str, StrictBool | StrictInt | StrictFloat] = Field(
        default_factory=dict, max_length=1000, description="Key -> value of the changes."
    )
    rate: float | None = Field(
        1.0,
        ge=RATE_MINIMUM,
        lt=RATE_LIMIT,
        description="Real-time factor; null: as fast as possible.",
    )


class StopRequest(PortDocument):
    """End the run under way."""


class Start(NamedTuple):
    """The run to start."""

    scenario: Scenario
    rate: float | None


class _NothingYet(RequestQueue):
    """The ``Controllable`` and the picture of a page without a run."""

    def status(self) -> ControlStatus:
        """No run."""
        return ControlStatus(IDLE, 0, 0, 1.0, may_change_rate=False)

    def picture(self) -> dict[str, object]:
        """No vehicle."""
        return picture_of(())


class StarterApi:
    """Answers the page: the list of scenarios, start and end, and what the run shows.

    :param folder: whose scenarios are offered beside those of the library
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        nothing = _NothingYet()
        self._shown = DataPortApi("no run", nothing, nothing, starts=True)
        self._control: DrivenControl | None = None
        #: Whether a start was taken whose run does not show itself yet.
        self._pending = False
        #: Whether the run of the newest start has shown itself.
        self._begun = False
        self._ending = False
        self._failure = ""
        self._starts: queue.SimpleQueue[Start | None] = queue.SimpleQueue()

    # -- for the thread that runs -----------------------------------------------------------------

    def wait(self) -> Start | None:
        """The next run; None: there are no more."""
        start = self._starts.get()
        with self._lock:
            self._begun = False
            return None if self._ending else start

    def shows(self, api: DataPortApi, control: DrivenControl) -> None:
        """A run has begun."""
        with self._lock:
            self._shown, self._control = api, control
            self._begun, self._pending = True, False
            if self._ending:
                control.stop(_CLOSED)

    def over(self, failure: str) -> None:
        """The run is over, and what it has shown last stays.

        :param failure: why it failed; empty: it did not
        """
        with self._lock:
            self._control = None
            if not self._begun:
                self._pending = False
            self._failure = failure or self._failure

    def end(self) -> None:
        """End the run under way, and start none any more; may be called from any thread."""
        with self._lock:
            self._ending = True
            self._starts.put(None)
            if self._control is not None:
                self._control.stop(_CLOSED)

    # -- for the threads of the data port ---------------------------------------------------------

    @staticmethod
    def is_open(path: str) -> bool:
        """Whether a path is a part of the page, which contains nothing about the run."""
        return DataPortApi.is_open(path)

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """Answer a request; never raises for what is in it."""
        parts = parts_of(path)
        try:
            answer = parts and answered(STARTER_ROUTES, self, method, parts, body)
        except OSError as error:
            return error_answer(400, in_words(error))
        if answer is not None:
            return answer
        with self._lock:
            shown = self._shown
        return shown.answer(method, path, body)

    def _schema(self, query: Query) -> HttpAnswer:
        own = [route for route in STARTER_ROUTES if route.path != "/api/schema"]
        return json_answer(200, described([*ROUTES, *own]))

    def _state(self, query: Query) -> HttpAnswer:
        with self._lock:
            return json_answer(200, {"busy": self._busy(), "failure": self._failure})

    def _scenarios(self, query: Query) -> HttpAnswer:
        """The list of all, or the values of one that is named."""
        if "name" in query:
            name = query["name"][0]
            values = [value._asdict() for value in values_of(self._known(name))]
            return json_answer(200, {"name": name, "values": values})
        scenarios = [
            {"name": s.name, "description": s.description, "origin": s.origin}
            for s in startable(self._folder)
        ]
        return json_answer(200, {"scenarios": scenarios})

    def _start(self, request: StartRequest) -> HttpAnswer:
        scenario = changed_scenario(self._known(request.scenario), request.values)
        with self._lock:
            if self._busy():
                raise ConfigurationError("start: a run is under way; end it before the next one")
            self._pending, self._failure = True, ""
            self._starts.put(Start(scenario, request.rate))
        return json_answer(200, {"name": scenario.name})

    def _stop(self, request: StopRequest) -> HttpAnswer:
        with self._lock:
            if self._control is None or not self._busy():
                raise ConfigurationError("stop: no run is under way")
            self._control.stop("ended from the page")
        return json_answer(200, {})

    def _busy(self) -> bool:
        """Whether a run is under way, or about to begin."""
        return self._control is not None or self._pending or self._ending

    def _known(self, name: str) -> Startable:
        found = startable(self._folder)
        for entry in found:
            if entry.name == name:
                return entry
        names = ", ".join(entry.name for entry in found)
        raise ConfigurationError(f"scenario: found {name[:100]!r}; there are {names}")


STARTER_ROUTES: Final = (
    PortRoute("GET", "/api/schema", StarterApi._schema, "This document"),
    PortRoute("GET", "/api/scenarios", StarterApi._scenarios,
          "Scenarios that can be started; values of the one that is named",
          query=("name", "string")),
    PortRoute("GET", "/api/start", StarterApi._state,
          "Whether a run is under way, and why the newest one failed"),
    PortRoute("POST", "/api/start", StarterApi._start, "Start a scenario", request=StartRequest),
    PortRoute("POST", "/api/stop", StarterApi._stop, "End the run under way", request=StopRequest),
)  # fmt: skip
"""The further answers of a port that starts runs."""


class StarterPage:
    """The page at its address, and the runs that it asks for.

    :param folder: whose scenarios are offered beside those of the library
    :param host: an address of this machine alone
    :param port: 0: any free one
    :param token: wanted with each request; None: one is made up
    :param output: output directory of each run; that of the run before is replaced
    :param tell: takes the address of the page, how runs end, and what fails
    :raises ConfigurationError: the address is not of this machine alone, or there is no folder
    :raises ConnectionFailedError: the port cannot be had
    """

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        output: Path = OUTPUT,
        tell: Callable[[str], None] = tell_now,
    ) -> None:
        if not is_loopback(host):
            raise ConfigurationError(
                f"[HOST:]PORT: found '{host}', and no run; allowed is an address of this machine "
                "alone, such as 127.0.0.1, where scenarios are started from the page"
            )
        if not folder.is_dir():
            raise ConfigurationError(f"FOLDER: found '{folder}'; allowed is a directory")
        self._output = output
        self._tell = tell
        self._api = StarterApi(folder)
        self._served = DataPort(self._api, host, port, token or secrets.token_urlsafe(16))

    @property
    def url(self) -> str:
        """Address of the page, with the token."""
        return self._served.url

    def serve(self) -> None:
        """Run what the page asks for, until :meth:`end` is called or this thread is interrupted."""
        try:
            self._served.start()
            self._tell(f"no run is under way; start one at {self.url}")
            number = 0
            while (start := self._api.wait()) is not None:
                number += 1
                self._api.over(self._run(start, number))
        finally:
            self._served.close()

    def end(self) -> None:
        """End the run under way, and then the page; may be called from any thread."""
        self._api.end()

    def _run(self, start: Start, number: int) -> str:
        """Run a scenario to its end; returns why it failed, or an empty text."""
        request = RunRequest(start.scenario, shape="inproc", out=self._output, rate=start.rate)
        try:
            with bring_up(request) as prepared:
                summary = drive(
                    prepared, self._api.shows, number=number, starts=True, tell=self._tell
                )
        except (CosimError, OSError) as error:
            self._tell(f"{start.scenario.name}: {in_words(error)}")
            return in_words(error)
        self._tell(f"{summary.scenario}: {summary.end_reason}; results in {self._output}")
        return ""
