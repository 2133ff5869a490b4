# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the data port needs of a run: a picture, and optionally vehicles that take commands.

``FleetView`` gives both for a fleet. Any other run needs a ``RunPicture`` and a ``Controllable`` of
its own; ``picture_of`` makes the picture from vehicles.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.record.past import BoundedPast, Row
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.free_run import FreeRunMode
from ros2_cosim.vds.vehicle_plant import VehicleCommand
from ros2_cosim.world.map.encounters import Encounters, MovingBox
from ros2_cosim.world.map.lane_frame import LaneGeometry, box_at
from ros2_cosim.world.map.open_ground import OPEN_GROUND
from ros2_cosim.world.vehicle import VehicleParameters

#: What a row of the history of a vehicle has: simulated time [s], and fields of its picture.
HISTORY = ("time_s", "speed", "gap", "acceleration", "x", "y", "yaw", "brake")


class VehicleView(NamedTuple):
    """One vehicle of a picture: centre [m], heading [rad], speed, acceleration, size, command.

    ``status`` is one word for users (``driven``, ``fail-safe``), ``lateral`` its sideways
    acceleration; ``throttle``, ``brake`` (0..1) and ``steer`` [rad, left positive] are what the
    vehicle gets, None where that is not known.
    """

    name: str
    x: float
    y: float
    yaw: float
    speed: float
    acceleration: float
    length: float
    width: float
    lateral: float = 0.0
    throttle: float | None = None
    brake: float | None = None
    steer: float | None = None
    status: str = "driven"


class BoxView(NamedTuple):
    """A fixed object: centre [m], heading [rad], size [m]."""

    name: str
    x: float
    y: float
    yaw: float
    length: float
    width: float


class LinkView(NamedTuple):
    """The newest message from one vehicle to another, and how old what it says is [s]."""

    sender: str
    receiver: str
    age: float


class RunPicture(Protocol):
    """Shows a run; called from the threads of the data port at any time."""

    def picture(self) -> dict[str, Any]:
        """The picture now, as plain data: see :func:`picture_of`."""


class CommandTarget(Protocol):
    """Takes commands for vehicles and knows their states."""

    def vehicles(self) -> Sequence[str]:
        """Names."""

    def max_steer(self, vehicle: str) -> float:
        """Angle of the front wheels at steer 1 [rad]."""

    def command(self, vehicle: str, command: VehicleCommand) -> None:
        """Give a command.

        :raises ConfigurationError: the run takes none
        """

    def output(self, vehicle: str) -> VehicleOutput:
        """The output of a vehicle."""


class FleetView:
    """Shows a fleet, and commands it where it runs freely.

    :param fleet: the vehicles
    :param parameters: gives the type of a vehicle as it is now
    :param free_run: ticks them by the wall clock; None: their commands step them
    """

    def __init__(
        self,
        fleet: Fleet,
        parameters: Callable[[str], VehicleParameters],
        free_run: FreeRunMode | None = None,
    ) -> None:
        self._fleet = fleet
        self._parameters = parameters
        self._free_run = free_run
        self._past = BoundedPast()
        self._lock = threading.Lock()

    def vehicles(self) -> Sequence[str]:
        """Names in order."""
        return tuple(self._fleet)

    def max_steer(self, vehicle: str) -> float:
        """Angle of the front wheels at steer 1 [rad]."""
        return self._parameters(vehicle).max_steer_angle

    def command(self, vehicle: str, command: VehicleCommand) -> None:
        """Give a command.

        :raises ConfigurationError: the commands on the UDP ports step this run
        """
        if self._free_run is None:
            raise ConfigurationError(
                "command: the commands on the UDP ports step this run; the data port takes none"
            )
        self._free_run.command(vehicle, command)

    def output(self, vehicle: str) -> VehicleOutput:
        """The output of a vehicle."""
        return self._fleet[vehicle].output()

    def remember(self, outputs: Mapping[str, VehicleOutput]) -> None:
        """Keep where the vehicles are; called after each tick."""
        with self._lock:
            for name, output in outputs.items():
                if self._past.wants(name, output.time):
                    s, brake = output.state, output.realised.brake
                    self._past.add(name, output.time, (s.vx, None, s.ax, s.x, s.y, s.yaw, brake))

    def history(self) -> Mapping[str, Sequence[Row]]:
        """Rows of ``HISTORY`` of each vehicle; the gaps are not remembered."""
        with self._lock:
            return self._past.rows()

    def picture(self) -> dict[str, Any]:
        """The true states, and the figures of the run."""
        free = self._free_run
        views, movers = [], []
        for name, output in self._fleet.outputs().items():
            s, realised, p = output.state, output.realised, self._parameters(name)
            failing = free is not None and free.in_fail_safe(name)
            view = VehicleView(
                *(name, s.x, s.y, s.yaw, s.vx, s.ax, p.length, p.width, s.ay),
                *(realised.throttle, realised.brake, s.steer),
                status="fail-safe" if failing else "driven",
            )
            views.append(view)
            movers.append(mover_of(view, s.yaw_rate))
        timing = None if free is None else free.timing.figures()
        return picture_of(views, timing=timing, movers=movers)


def picture_of(
    vehicles: Iterable[VehicleView],
    objects: Iterable[BoxView] = (),
    *,
    links: Iterable[LinkView] = (),
    timing: Mapping[str, Any] | None = None,
    movers: Sequence[MovingBox] | None = None,
    road: LaneGeometry = OPEN_GROUND,
) -> dict[str, Any]:
    """Vehicles, fixed objects, links and timing as plain data.

    Each vehicle has what is on its way (``world/map/encounters.py``): ``gap`` [m],
    ``ahead``: its name, and ``ttc``: the least time to collision [s]; None: there is none.

    :param movers: all vehicles and objects as the measure needs them; None: vehicles that drive
        straight on
    :param road: whose lanes they follow; default: each goes on as it goes now
    """
    views, boxes = list(vehicles), list(objects)
    if movers is None:
        seen: list[VehicleView | BoxView] = [*views, *boxes]
        movers = [mover_of(each, road=road) for each in seen]
    named = {mover.name: mover for mover in movers}
    return {
        "vehicles": [
            view._asdict() | _on_way(road, named.get(view.name), movers) for view in views
        ],
        "objects": [box._asdict() for box in boxes],
        "links": [link._asdict() for link in links],
        "timing": dict(timing) if timing is not None else None,
    }


def mover_of(
    seen: VehicleView | BoxView, yaw_rate: float = 0.0, road: LaneGeometry = OPEN_GROUND
) -> MovingBox:
    """A vehicle or object as the measure needs it.

    :param yaw_rate: [rad/s]
    """
    speed = seen.speed if isinstance(seen, VehicleView) else 0.0
    sine, cosine = sincos(seen.yaw)
    size = seen.length, seen.width
    box = box_at(road, seen.x, seen.y, cosine, sine, *size, None, speed, 0.0)
    return MovingBox(seen.name, box, speed, 0.0, yaw_rate)


def _on_way(
    road: LaneGeometry, ego: MovingBox | None, others: Sequence[MovingBox]
) -> dict[str, Any]:
    watch = Encounters(road)
    if ego is not None:
        watch.look(0, [ego], list(others))
    gap, ttc = watch.gap, watch.ttc
    return {
        "ahead": gap.pair[1] if gap.pair is not None else None,
        "gap": gap.value if gap.pair is not None else None,
        "ttc": ttc.value if ttc.pair is not None else None,
    }


def known_vehicle(target: CommandTarget, vehicle: str) -> str:
    """The name itself.

    :raises ConfigurationError: there is no such vehicle; the text lists the known ones
    """
    if vehicle not in target.vehicles():
        raise ConfigurationError(
            f"vehicle: found {vehicle!r}; allowed are {', '.join(target.vehicles())}"
        )
    return vehicle


class ChangeTarget(Protocol):
    """What lets parameters change while a run goes on; any thread may call."""

    def values(self) -> list[dict[str, Any]]:
        """``path`` and ``value`` of all that may be changed."""

    def faultable(self) -> dict[str, Any]:
        """Where faults can be added, and of which kinds; empty: nowhere."""

    def request(self, path: str, to: Any) -> None:
        """Ask for another value, which holds soon.

        :raises ConfigurationError: it may not be changed, or not to that
        """


class NoChanges:
    """Nothing may be changed."""

    def values(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def faultable(self) -> dict[str, Any]:
        """Nowhere."""
        return {}

    def request(self, path: str, to: Any) -> None:
        """Refuse.

        :raises ConfigurationError: always
        """
        raise ConfigurationError(f"set: found '{path}'; this run lets nothing change")
