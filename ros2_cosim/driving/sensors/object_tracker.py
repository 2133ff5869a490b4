# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An object tracker: from the lists of one or more sensors to one list of tracks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.message_types import OBJECTS, ODOMETRY, V2V
from ros2_cosim.core.messages.records import DetectedObject, ObjectList, V2VMessage
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.sensors.assignment import assign
from ros2_cosim.driving.sensors.tracks import Axis, Track, TrackParameters
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import LaneBox
from ros2_cosim.world.map.scene import scene_boxes, scene_vehicles

#: Numbers of tracks begin there, so that none is the identity of a vehicle that is heard.
FIRST_NUMBER: Final = 1_000_000
#: A message belongs to a track whose place along and across the lane [m] and speed [m/s] differ
#: by less: half a car, half a lane, and what a vehicle loses in a fifth of a second of braking.
_V2V_ALONG: Final = 2.5
_V2V_ACROSS: Final = 1.75
_V2V_SPEED: Final = 2.0


class TrackerParameters(TrackParameters):
    """Parameters of an object tracker."""

    ego: str = Field(description="name of the vehicle that carries it")
    sensors: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=("front",), min_length=1, description="names of the sensors, for its inputs"
    )
    heard: tuple[str, ...] = Field(
        default=(),
        description="vehicles that are heard by V2V, for its inputs: a track where such a vehicle "
        "says that it is has its identity",
    )


class ObjectTracker(FullModel):
    """Joins what sensors of a vehicle detect to tracks, to be activated periodically.

    Inputs, all latched: ``objects/<sensor>`` (ObjectList) of each sensor, whose identities are not
    looked at; ``odometry`` of the own vehicle; ``v2v/<vehicle>`` (V2VMessage) of each one that is
    heard. Output at every activation: ``objects`` (ObjectList, ascending distance): the tracks
    that are believed, with filtered distance, relative speed and lateral offset, and their
    existence probability.

    A look is an activation with a new list of at least one sensor. The lists are taken one after
    the other; detections and tracks are paired so that the sum of their squared distances, in
    standard deviations, is least. A track that no sensor sees is less probable after the look. A
    detection that belongs to no track begins one.

    A track keeps its number, 1,000,000 or more, until V2V tells what it is: then it has the
    identity of the sender, until a message contradicts or the track ends.

    :raises ConfigurationError: the vehicle or one that is heard is unknown, or a name appears twice
    """

    Parameters = TrackerParameters
    traits = Traits(cost_ns=150_000)

    input_ports = (
        Port("objects/{sensor}", OBJECTS, description="of each sensor"),
        Port("odometry", ODOMETRY, description="of the own vehicle"),
        Port("v2v/{heard}", V2V, description="of each vehicle that is heard"),
    )
    output_ports = (Port("objects", OBJECTS, description="tracks, ascending distance"),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: TrackerParameters
    ) -> Mapping[str, Sequence[str]]:
        """Its sensors, and the vehicles that it hears."""
        return {"sensor": parameters.sensors, "heard": parameters.heard}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: TrackerParameters) -> None:
        """Check whether the scene has the vehicles and a road, and names are different."""
        _check_names(context, parameters)
        scene_boxes(context)

    def __init__(
        self,
        context: ModelContext,
        parameters: TrackerParameters,
        *,
        boxes: LaneBoxes | None = None,
    ) -> None:
        _check_names(context, parameters)
        self._parameters = parameters
        self._ego = scene_vehicles(context)[parameters.ego]
        self._boxes = boxes or scene_boxes(context)
        self._lists = [f"objects/{name}" for name in parameters.sensors]
        self._radios = [f"v2v/{name}" for name in parameters.heard]
        self._tracks: list[Track] = []
        self._numbers = FIRST_NUMBER
        #: Stamp and number of what was looked at last, by port: an estimate has an earlier number.
        self._looked: dict[str, tuple[int, int]] = {}
        self._time: int | None = None
        self._own_speed = 0.0
        self._hint: Any = None

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Look once; an empty list while the own odometry is missing."""
        odometry = step.latest["odometry"]
        if odometry is None:
            return {"objects": ObjectList(())}
        speed: float = odometry.value.vx
        self._predict(step.time, speed)
        lists = [sample.value for port in self._lists if (sample := self._new(step.latest, port))]
        if lists:
            self._look(lists, speed)
        messages = [s.value for port in self._radios if (s := self._new(step.latest, port))]
        if messages:
            ego = self._boxes.vehicle(odometry.value, self._ego.length, self._ego.width, self._hint)
            self._hint = ego.position
            for message in messages:
                self._hear(message, ego, step.time)
        return {"objects": ObjectList(tuple(self._told(speed)))}

    def save_state(self) -> Any:
        """Its tracks, and what it has looked at."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def _new(self, latest: Mapping[str, Sample | None], port: str) -> Sample | None:
        """The sample of an input, if it was not looked at before."""
        sample = latest[port]
        if sample is None or sample[:2] == self._looked.get(port):
            return None
        self._looked[port] = sample[:2]
        return sample

    def _predict(self, time: int, speed: float) -> None:
        if self._time is not None and time > self._time:
            dt, mean = (time - self._time) * 1e-9, 0.5 * (speed + self._own_speed)
            for track in self._tracks:
                track.predict(dt, mean, self._parameters)
        self._time, self._own_speed = time, speed

    def _look(self, lists: Sequence[ObjectList], speed: float) -> None:
        p = self._parameters
        first_new = self._numbers
        seen: set[int] = set()
        for found in lists:
            costs = [
                [track.far(item, speed, p) for item in found.objects] for track in self._tracks
            ]
            pairs = assign(costs, p.gate)
            used = set()
            for track, column in zip(self._tracks, pairs, strict=True):
                if column is not None:
                    track.correct(found.objects[column], speed, p)
                    seen.add(track.number)
                    used.add(column)
            for column, item in enumerate(found.objects):
                if column not in used:
                    self._tracks.append(Track(self._numbers, item, speed, p))
                    seen.add(self._numbers)
                    self._numbers += 1
        for track in self._tracks:
            # The first detection has given the probability that a track begins with.
            if track.number < first_new:
                track.seen(track.number in seen, p)
        self._tracks = [track for track in self._tracks if track.existence >= p.given_up]

    def _hear(self, message: V2VMessage, ego: LaneBox, now: int) -> None:
        """Give the track of a sender its identity."""
        road = self._boxes.road
        try:
            position = road.project(message.x, message.y)
            way = road.distance(ego.position, position)
        except ConfigurationError:
            return  # no road leads there
        on_the_way = message.speed * (now - message.generation_time) * 1e-9
        gap = ego.direction * way - ego.half - 0.5 * message.length + on_the_way
        offset = ego.direction * (position.t - ego.position.t)
        best, nearest = None, _V2V_ALONG
        for track in self._tracks:
            if track.sender == message.sender:
                track.sender = None
            off = abs(track.along.place - gap)
            fits = (
                abs(track.across.place - offset) < _V2V_ACROSS
                and abs(track.along.rate - message.speed) < _V2V_SPEED
            )
            if fits and off < nearest:
                best, nearest = track, off
        if best is not None:
            best.sender = message.sender

    def _told(self, speed: float) -> list[DetectedObject]:
        found = [
            track.last._replace(
                id=track.number if track.sender is None else track.sender,
                distance=track.along.place,
                relative_speed=track.along.rate - speed,
                lateral_offset=track.across.place,
                existence_probability=track.existence,
            )
            for track in self._tracks
            if track.is_believed
        ]
        found.sort(key=_distance_then_id)
        return found


def _check_names(context: ModelContext, parameters: TrackerParameters) -> None:
    for key, names in (("sensors", parameters.sensors), ("heard", parameters.heard)):
        if len(set(names)) < len(names):
            raise ConfigurationError(
                f"{context.where}.{key}: found {list(names)}; allowed is each name once"
            )
    scene = scene_settings(context)
    scene.require_vehicle(parameters.ego, f"{context.where}.ego")
    for name in parameters.heard:
        scene.require_vehicle(name, f"{context.where}.heard")
    scene_vehicles(context)


def _distance_then_id(item: DetectedObject) -> tuple[float, int]:
    return item.distance, item.id


_STATE = SavedAttributes(
    parts=(Track, Axis), values=(DetectedObject,), constants=(LaneBoxes, TrackParameters)
)
