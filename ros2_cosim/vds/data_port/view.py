# SPDX-License-Identifier: Apache-2.0
"""What the data port needs of a run: a picture, and optionally vehicles that take commands.

``FleetView`` gives both for a fleet. Any other run needs a ``RunPicture`` and a ``Controllable`` of
its own; ``picture_of`` makes the picture from vehicles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.exactmath import sincos
from ros2_cosim.models.vehicle import VehicleParameters
from ros2_cosim.vds.fleet import Fleet, VehicleOutput
from ros2_cosim.vds.free_run import FreeRunMode
from ros2_cosim.vds.vehicle_plant import VehicleCommand

#: What a row of the history of a vehicle has: simulated time [s], and fields of its picture.
HISTORY = ("time_s", "speed", "gap", "acceleration")
#: A gap that closes more slowly [m/s] is steady: its time to collision would be that of noise.
SLOWEST_CLOSING = 0.1


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
    :param parameters: their types
    :param free_run: ticks them by the wall clock; None: their commands step them
    """

    def __init__(
        self,
        fleet: Fleet,
        parameters: Mapping[str, VehicleParameters],
        free_run: FreeRunMode | None = None,
    ) -> None:
        self._fleet = fleet
        self._parameters = parameters
        self._free_run = free_run

    def vehicles(self) -> Sequence[str]:
        """Names in order."""
        return tuple(self._fleet)

    def max_steer(self, vehicle: str) -> float:
        """Angle of the front wheels at steer 1 [rad]."""
        return self._parameters[vehicle].max_steer_angle

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

    def picture(self) -> dict[str, Any]:
        """The true states, and the figures of the run."""
        free = self._free_run
        views = []
        for name, output in self._fleet.outputs().items():
            s, realised, p = output.state, output.realised, self._parameters[name]
            failing = free is not None and free.in_fail_safe(name)
            views.append(
                VehicleView(
                    *(name, s.x, s.y, s.yaw, s.vx, s.ax, p.length, p.width, s.ay),
                    *(realised.throttle, realised.brake, s.steer),
                    status="fail-safe" if failing else "driven",
                )
            )
        timing = None if free is None else free.timing.figures()
        return picture_of(views, timing=timing)


def picture_of(
    vehicles: Iterable[VehicleView],
    objects: Iterable[BoxView] = (),
    *,
    links: Iterable[LinkView] = (),
    timing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Vehicles (with the gap ahead of each), fixed objects, links and timing as plain data."""
    views = list(vehicles)
    boxes = list(objects)
    return {
        "vehicles": [_with_gap(view, views, boxes) for view in views],
        "objects": [box._asdict() for box in boxes],
        "links": [link._asdict() for link in links],
        "timing": dict(timing) if timing is not None else None,
    }


def _with_gap(
    view: VehicleView, vehicles: Sequence[VehicleView], boxes: Sequence[BoxView]
) -> dict[str, Any]:
    ahead, gap = gap_ahead(view, vehicles, boxes)
    front = next((other for other in vehicles if other.name == ahead), None)
    return view._asdict() | {
        "ahead": ahead,
        "gap": gap,
        "ttc": None if gap is None else time_to_collision(view, gap, front),
    }


def time_to_collision(view: VehicleView, gap: float, front: VehicleView | None) -> float | None:
    """Time [s] until a gap [m] is closed at the present speeds; None: it does not close.

    :param front: what is ahead; None: a fixed object
    """
    closing = view.speed
    if front is not None:
        closing -= front.speed * sincos(front.yaw - view.yaw)[1]
    return gap / closing if gap > 0.0 and closing > SLOWEST_CLOSING else None


def gap_ahead(
    view: VehicleView, vehicles: Sequence[VehicleView], objects: Sequence[BoxView] = ()
) -> tuple[str | None, float | None]:
    """(name, bumper-to-bumper distance [m]) of the next object ahead in the vehicle's own path.

    An object is in the path if it overlaps the width of the vehicle, extended straight ahead;
    distances count along the vehicle. (None, None): nothing is ahead.
    """
    sine, cosine = sincos(view.yaw)
    best: tuple[str | None, float | None] = (None, None)
    others: list[VehicleView | BoxView] = [*vehicles, *objects]
    for other in others:
        if other is view:
            continue
        dx, dy = other.x - view.x, other.y - view.y
        ahead, aside = dx * cosine + dy * sine, dy * cosine - dx * sine
        if ahead <= 0.0 or abs(aside) > 0.5 * (view.width + other.width):
            continue
        gap = ahead - 0.5 * (view.length + other.length)
        if best[1] is None or gap < best[1]:
            best = (other.name, gap)
    return best


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
