# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim dashboard``: shows a running simulation in the browser, and controls it.

It is an observer, as the monitor: it reads the data topics (best effort) and the status of the
run, and calls the service of the clock for the buttons of the page. It is not a participant.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import Cancelled, ConfigurationError
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.messages.protocol import RunStatus as WatchdogStatus
from ros2_cosim.core.realtime.pacing import checked_rate
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.bag_metadata import BAG
from ros2_cosim.core.scenario.changes import changeable, changed
from ros2_cosim.core.scenario.changes_by_hand import recorded_changes
from ros2_cosim.core.scenario.faultable import faultable
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scene.scene import read_scene
from ros2_cosim.lab.report.road_of_scenario import lanes_of, road_of, sectors
from ros2_cosim.lab.web.recorded_past import RecordedPast
from ros2_cosim.lab.web.records_view import Footprint, History, RecordsView
from ros2_cosim.lab.web.server_world import server_world
from ros2_cosim.lab.web.world_view import WithWorld
from ros2_cosim.ros.bringup.control import Visit, current_output, find_run
from ros2_cosim.ros.bringup.domain_lock import ActiveRun, active_runs
from ros2_cosim.vds.controllable import (
    ENDED,
    PAUSED,
    RUNNING,
    Controllable,
    ControlStatus,
    checked_steps,
)
from ros2_cosim.vds.data_port.api import REQUESTER, DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.view import ChangeTarget

_POLL_S = 0.05
_LOOK_S = 1.0
#: How long the page waits at most for the writers of what it shows; some may be left out of a run.
_MEETING_S = 3.0
#: The last picture remains available after the end of the run for this time [s].
LAST_LOOK_S = 2.0
#: Length and width of a vehicle that has none in the scene [m].
_USUAL = (4.8, 1.9)

#: Types of messages that the picture is made of.
SHOWN = (
    "nav_msgs/msg/Odometry",
    "geometry_msgs/msg/AccelStamped",
    "ros2_cosim/msg/ControlCommand",
    "ros2_cosim/msg/StaticObjects",
    "ros2_cosim/msg/RoadUsers",
    "ros2_cosim/msg/CollisionEvent",
    "ros2_cosim/msg/V2VMessage",
)
_LATCHED = "ros2_cosim/msg/StaticObjects"
_V2V = "ros2_cosim/msg/V2VMessage"


class RequestQueue:
    """The half of a ``Controllable`` that queues requests, for the thread that has the run."""

    def __init__(self) -> None:
        self.requests: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def waiting(self) -> Iterator[Request]:
        """The requests that are there now, in order."""
        while True:
            try:
                yield self.requests.get_nowait()
            except queue.Empty:
                return

    def pause(self) -> None:
        """Ask for a pause."""
        self.requests.put(Request(Command.PAUSE))

    def resume(self) -> None:
        """Ask to go on."""
        self.requests.put(Request(Command.RESUME))

    def step(self, count: int = 1) -> None:
        """Ask for a pause, and for so many steps of the scenario's ``clock_step``."""
        self.requests.put(Request(Command.PAUSE))
        self.requests.put(Request(Command.STEP, steps=checked_steps(count)))

    def stop(self, reason: str) -> None:
        """Ask for the end of the run."""
        self.requests.put(Request(Command.STOP, reason=reason))

    def set_rate(self, rate: float | None) -> None:
        """Ask for another real-time factor."""
        self.requests.put(Request(Command.RATE, rate=checked_rate(rate) or 0.0))

    def change(self, path: str, to: Any) -> None:
        """Ask for another value of a parameter, or for a fault to act or not."""
        by = f"dashboard of {REQUESTER.get()}"
        self.requests.put(Request(Command.CHANGE, reason=by, path=path, value=json.dumps(to)))


class RequestedControl(RequestQueue):
    """A ``Controllable`` that queues its requests; another object sends them to the run."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._status: WatchdogStatus | None = None
        self._newest = 0
        self._over = False

    def status(self) -> ControlStatus:
        """Where the run is, by the newest status and messages."""
        with self._lock:
            status, time_ns, over = self._status, self._newest, self._over
        if status is None:
            return ControlStatus(ENDED if over else RUNNING, max(time_ns, 0), 0, None)
        state = RUNNING
        if over or status.state > State.PAUSED:
            state = ENDED
        elif status.state == State.PAUSED:
            state = PAUSED
        steps = max((p.activations for p in status.participants), default=0)
        return ControlStatus(state, max(time_ns, status.time_ns, 0), steps, status.rate or None)

    def take(self, status: WatchdogStatus) -> None:
        """Take the newest status of the run."""
        with self._lock:
            self._status = status

    def received(self, stamp_ns: int) -> None:
        """A message of this simulated time has been received."""
        with self._lock:
            self._newest = max(self._newest, stamp_ns)

    def end(self) -> None:
        """The run is over."""
        with self._lock:
            self._over = True


def footprints(scenario: Scenario) -> dict[str, Footprint]:
    """The vehicles of a scenario: those of its scene, else those that have an odometry."""
    scene = read_scene(scenario.scene)
    if scene.vehicles:
        return {
            name: Footprint(scene.identity(name), v.length or _USUAL[0], v.width or _USUAL[1])
            for name, v in scene.vehicles.items()
        }
    names = [port.vehicle for port in shown_ports(scenario) if port.type == SHOWN[0]]
    return {name: Footprint(number, *_USUAL) for number, name in enumerate(names, 1)}


class RequestedChanges:
    """What a page changes in a run of other processes, by requests.

    :param scenario: the run's
    :param output: its output directory, which tells what others have changed, too
    :param control: takes the requests
    """

    def __init__(self, scenario: Scenario, output: Path, control: RequestQueue) -> None:
        self._output = output
        self._control = control
        self._lock = threading.Lock()
        self._wanted = scenario
        self._known = 0

    def values(self) -> list[dict[str, Any]]:
        """``path`` and ``value`` of all that may be changed, as they were requested."""
        with self._lock:
            self._learn()
            return [each._asdict() for each in changeable(self._wanted)]

    def faultable(self) -> dict[str, Any]:
        """Where faults can be added, and of which kinds."""
        return faultable(self._wanted)

    def request(self, path: str, to: Any) -> None:
        """Ask for another value.

        :raises ConfigurationError: it may not be changed, or not to that
        """
        with self._lock:
            self._learn()
            self._wanted = changed(self._wanted, path, to)
            self._control.change(path, to)

    def _learn(self) -> None:
        made = recorded_changes(self._output)
        for each in made[self._known :]:
            if each.new_fault not in self._wanted.faults:  # else it was requested here
                self._wanted = changed(self._wanted, each.set, each.to)
        self._known = len(made)


class ShownPort(NamedTuple):
    """An output port that the picture is made of, and the vehicle that it describes."""

    participant: str
    port: str
    topic: str
    type: str
    vehicle: str


def shown_ports(scenario: Scenario) -> list[ShownPort]:
    """All data that the picture shows.

    The vehicle is named by the port, as in ``odometry/NAME``; a command's by the port that reads
    it, as in ``control/NAME``; the receiver of a message between vehicles by the end of the port,
    as in ``SENDER_to_NAME``; else by the participant.

    :raises ConfigurationError: no participant tells where a vehicle is
    """
    readers = {
        source: port.partition("/")[2]
        for participant in scenario.participants.values()
        for port, settings in participant.inputs.items()
        for source in settings.source
        if port.startswith("control/")
    }
    found = []
    for name, participant in scenario.participants.items():
        for port, output in participant.outputs.items():
            if output.type in SHOWN:
                vehicle = port.partition("/")[2] or readers.get(f"{name}.{port}") or name
                if output.type == _V2V:
                    vehicle = port.rpartition("_to_")[2]
                found.append(ShownPort(name, port, output.topic, output.type, vehicle))
    if not any(port.type == SHOWN[0] for port in found):
        raise ConfigurationError(
            f"scenario '{scenario.name}': no participant sends {SHOWN[0]}; there is nothing to show"
        )
    return found


def page_of(
    scenario: Scenario,
    control: Controllable,
    view: RecordsView,
    world: WithWorld | None,
    changes: ChangeTarget,
    *,
    history: Callable[[], History] | None = None,
    number: int = 0,
    starts: bool = False,
) -> DataPortApi:
    """What answers the page of a run.

    :param view: the picture that is made of the messages
    :param world: the same with what the run's server shows; None: it has none
    :param history: what a page that is opened late has missed; None: what the view has heard
    :param number: tells the page this run from those before it
    :param starts: whether the page starts runs
    """
    return DataPortApi(
        scenario.name,
        control,
        world or view,
        road=road_of(scenario),
        sectors=sectors(scenario),
        history=history or view.history,
        number=number,
        starts=starts,
        camera=world.camera if world is not None else lambda number: None,
        changes=changes,
    )


def tell_now(line: str) -> None:
    """Print a line without delay."""
    print(line, flush=True)


def show(
    visit: Visit,
    output: Path | None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    tell: Callable[[str], None] = tell_now,
) -> None:
    """Serve the dashboard of a run until the run ends.

    :param visit: gets the session
    :param output: that of the run, see :func:`~ros2_cosim.ros.bringup.control.find_run`
    :param host: address of the data port
    :param port: 0: any free one
    :param token: see ``DataPort``
    :param tell: takes the address of the page, and refusals of the run
    :raises ConfigurationError: there is no such run
    :raises ConnectionFailedError: the port cannot be had
    """
    run = find_run(output)
    scenario = load_scenario(run.output / RESOLVED_SCENARIO)
    view, control = RecordsView(footprints(scenario), lanes_of(scenario)), RequestedControl()
    server = server_world(scenario)
    world = None if server is None else WithWorld(view, server.picture, server.camera)
    changes = RequestedChanges(scenario, run.output, control)
    topics = {port.topic: (port.type, port.vehicle) for port in shown_ports(scenario)}
    past = RecordedPast(lambda: current_output(run) / BAG, topics, view)
    api = page_of(scenario, control, view, world, changes, history=past.history)
    session = visit.join(run, "dashboard")
    _listen(session, scenario, view, control)
    _meet(session, topics)
    requester = _Requester(session, control, tell)
    served = DataPort(api, host, port, token)
    try:
        served.start()
        tell(f"dashboard at {served.url}")
        _follow(session, run, control, requester)
    except Cancelled:
        pass  # the user has ended the dashboard
    finally:
        served.close()
        if server is not None:
            server.close()


def _meet(session: Any, topics: Iterable[str]) -> None:
    """Wait for the writers of topics: a paused run does not send its last messages again."""
    names = [inside(session.node, topic) for topic in topics]
    until = time.monotonic() + _MEETING_S
    while time.monotonic() < until and not all(map(session.node.count_publishers, names)):
        session.wait(_POLL_S)


def _follow(session: Any, run: ActiveRun, control: RequestedControl, requester: _Requester) -> None:
    """Receive and send until shortly after the end of the run, so that pages show the end."""
    looked = time.monotonic()
    left: float | None = None
    while left is None or time.monotonic() < left:
        session.wait(_POLL_S)
        requester.go_on()
        if left is None and time.monotonic() - looked > _LOOK_S:
            looked = time.monotonic()
            if run not in active_runs():
                control.end()
                left = looked + LAST_LOOK_S


class _Requester:
    """Sends requests to the service of the run, in order; answers may come later."""

    def __init__(
        self, session: Any, control: RequestedControl, tell: Callable[[str], None]
    ) -> None:
        from ros2_cosim.ros.node.control_services import CONTROL
        from ros2_cosim.srv import ControlRun

        self._client = session.node.create_client(ControlRun, inside(session.node, CONTROL))
        self._control = control
        self._tell = tell
        self._open: list[tuple[str, Any]] = []

    def go_on(self) -> None:
        """Send new requests, and report refusals among the answers that have come."""
        from ros2_cosim.ros.node.control_services import as_message

        for request in self._control.waiting() if self._client.service_is_ready() else ():
            answer = self._client.call_async(as_message(request))
            self._open.append((request.command.name.lower(), answer))
        waiting = []
        for word, answer in self._open:
            if not answer.done():
                waiting.append((word, answer))
            elif not answer.result().success:
                self._tell(f"{word}: {answer.result().message}")
        self._open = waiting


def _listen(session: Any, scenario: Scenario, view: RecordsView, control: RequestedControl) -> None:
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    from ros2_cosim.core.kernel.errors import ProtocolError
    from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
    from ros2_cosim.ros.node import topics
    from ros2_cosim.ros.node.writers import data_qos, message_class

    session.record_reader(topics.STATUS, topics.STATUS_TYPE, data_qos(), control.take)
    # The newest message is enough, and no writer waits for an observer.
    newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

    def receiver(kind: str, vehicle: str) -> Callable[[bytes], None]:
        codec = CATALOGUE.codec(kind, start_ns=scenario.start_time)

        def receive(data: bytes) -> None:
            try:
                stamp, _, record = codec.decode(data)
            except ProtocolError:
                return  # another program's message of that name
            control.received(stamp)
            view.take(vehicle, record, stamp)

        return receive

    for _, _, topic, kind, vehicle in shown_ports(scenario):
        session.node.create_subscription(
            message_class(kind),
            inside(session.node, topic),
            receiver(kind, vehicle),
            latched if kind == _LATCHED else newest,
            raw=True,
        )
