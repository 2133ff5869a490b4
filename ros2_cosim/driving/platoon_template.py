# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``platoon`` of a scenario file: a platoon of any length in a few lines.

It stands for the vehicles of the scene and for the participants that drive them, wired like
those of ``config/platoon.yaml``: the world, one sensor and one controller for each follower, the
V2V channel with its links, and the referee. Whatever else the file says of them holds before
what the template says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.plain_data import merged
from ros2_cosim.core.documents.settings import (
    Name,
    Number,
    PositiveDuration,
    Section,
    Whole,
    read_section,
)
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.scenario.templates import Template
from ros2_cosim.core.scene.manoeuvres import highest_speed
from ros2_cosim.core.scene.scene import DEFAULT_SIZE, DriverSettings, LaneStation
from ros2_cosim.core.scene.world_outputs import base_link, usual_world, world_outputs

#: Each sensor reads the odometry of all vehicles: their connections grow with the square.
MAX_VEHICLES: Final = 200
#: Most background vehicles, as of the world participant.
MAX_TRAFFIC: Final = 500
_LENGTH, _WIDTH, _ = DEFAULT_SIZE
LEADER: Final = "leader"
V2V_MODEL: Final = "v2v_channel"
_BYTES: Final = "std_msgs/msg/UInt8MultiArray"
#: Of a manoeuvre, what the leader says.
_OF_LEADER: Final = ("join_time_gap", "leave_time_gap")
_BOTH: Final = "leader_and_predecessor"
#: The sensor that each follower has; its participant and topic have no further name.
FRONT: Final = "front"
#: Of the controllers: the emergency brake acts early with what is needed and no more, so that a
#: braking peak does not grow from vehicle to vehicle, and the stop at standstill is soft.
_CONTROLLER: Final = {
    "law": "ploeg_cacc",
    "law_parameters": {},
    "hold_rate": 0.2,
    "emergency": {"trigger": 2.0, "gain": 1.1, "margin": 2.0, "least_room": 0.1},
}

_Positive = Annotated[Number, Field(gt=0)]
_NotNegative = Annotated[Number, Field(ge=0)]
_Mapping = dict[str, Any]


class V2VTemplate(Section):
    """Which vehicles hear which, and how."""

    hears: Literal["leader_and_predecessor", "predecessor", "nothing"] = Field(
        default="leader_and_predecessor", description="which vehicles each follower hears"
    )
    period: PositiveDuration = Field(default=50_000_000, description="of the beacons")
    latency: Any = Field(
        default={"normal": {"mean": "20ms", "std": "4ms", "min": "5ms", "max": "60ms"}},
        description="of each link, as of an output",
    )
    model: str = Field(
        default=V2V_MODEL,
        description="model with the ports of v2v_channel, as a network simulator has them",
    )
    parameters: _Mapping = Field(
        default_factory=dict,
        description="of the model, without links: {loss: 0.02}; with contents: cam, the bytes of "
        "each vehicle's CAMs are on /v2v/NAME/cam; controllers heed denm with controller.warnings",
    )

    @property
    def is_usual(self) -> bool:
        """Whether it is the channel of this package."""
        return self.model == V2V_MODEL


class SensorTemplate(Section):
    """The object sensor of each follower."""

    period: PositiveDuration = Field(
        default=40_000_000, description="of the sensor, and so of the controller"
    )
    parameters: _Mapping = Field(
        default_factory=dict, description="of the model object_sensor, without ego"
    )
    more: dict[Name, _Mapping] = Field(
        default_factory=dict,
        description="further sensors of each follower: name -> parameters of the model "
        "object_sensor, without ego; their detections are joined by an object_tracker",
    )
    tracker: _Mapping | None = Field(
        default=None,
        description="parameters of an object_tracker behind the sensors of each follower, without "
        "ego, sensors and heard; default: none where there is one sensor",
    )

    @field_validator("more")
    @classmethod
    def _other_names(cls, more: dict[str, _Mapping]) -> dict[str, _Mapping]:
        if FRONT in more:
            raise ValueError(f"'{FRONT}' is the sensor of `parameters`; allowed are other names")
        return more


class PlatoonTemplate(LaneStation, Template):
    """A platoon: ``leader``, ``follower1``, ``follower2``, ... in one lane, the leader in front.

    The leader starts at the place, the followers behind it with the gap of the spacing policy.
    """

    law_places: ClassVar[tuple[str, ...]] = ("platoon.controller",)

    vehicles: Whole = Field(ge=1, le=MAX_VEHICLES, description="how many, with the leader")
    speed: Annotated[Number, Field(ge=0, le=100)] = Field(
        description="of all vehicles at the start [m/s]"
    )
    time_gap: _Positive = Field(default=0.6, description="of the controllers and the start [s]")
    standstill_gap: _NotNegative = Field(
        default=2.0, description="of the controllers and the start [m]"
    )
    controller: _Mapping = Field(
        default_factory=dict,
        description="further parameters of the model cacc_controller; defaults of the template: "
        "law ploeg_cacc, set_speed 1.5 times the highest speed that speed and driver name, "
        "hold_rate 0.2, emergency brake with trigger 2, gain 1.1, margin 2, least_room 0.1",
    )
    status: bool = Field(
        default=False,
        strict=True,
        description="whether each controller publishes its mode, time-gap error and age of V2V, on "
        "NAME/controller_status",
    )
    traffic: Annotated[Whole, Field(ge=0, le=MAX_TRAFFIC)] | None = Field(
        default=None,
        description="background vehicles, which the object sensors see; 0: only those that other "
        "clients bring into the simulator, and recorded ones; default: sensors see the scene's "
        "vehicles alone, or 0 where the file has scene.recorded",
    )
    sumo: _Mapping | None = Field(
        default=None,
        description="parameters of the model sumo_traffic: SUMO's vehicles around the platoon, "
        "which the object sensors see, instead of traffic; period is its step, 50ms by default",
    )
    lights: bool = Field(
        default=False,
        strict=True,
        description="whether leader, followers and background traffic stop at red traffic lights, "
        "as scene.traffic_lights; verdict red_lights_passed",
    )
    driver: _Mapping = Field(
        default_factory=dict, description="of the leader, as of a vehicle of the scene"
    )
    vehicle: _Mapping = Field(
        default_factory=dict,
        description="further keys of each vehicle of the scene, as length and width",
    )
    manoeuvre: _Mapping | None = Field(
        default=None,
        description="the last vehicle joins the others, or leaves them: as of the model "
        "cacc_controller, without ego and leader; with the parameters join_time_gap and "
        "leave_time_gap of the model platoon_leader",
    )
    sensor: SensorTemplate = Field(default=SensorTemplate(), description="of each follower")
    v2v: V2VTemplate = Field(default=V2VTemplate(), description="between the vehicles")

    @property
    def way(self) -> int:
        """1 if the station grows where the lane is driven along, else -1."""
        return 1 if self.lane < 0 else -1

    @model_validator(mode="after")
    def _one_traffic(self) -> Self:
        if self.sumo is not None and self.traffic is not None:
            raise ValueError("found traffic and sumo; allowed is one of them")
        if self.sumo is not None and self.lights:
            raise ValueError(
                "found lights and sumo, whose vehicles have their own lights; allowed is lights "
                "with traffic"
            )
        return self

    @model_validator(mode="after")
    def _has_a_tail(self) -> Self:
        if self.manoeuvre is not None and (self.vehicles < 3 or self.v2v.hears != _BOTH):
            raise ValueError(
                "found manoeuvre with less than three vehicles, or without v2v.hears "
                f"{_BOTH}; allowed is both"
            )
        return self

    def stands_for(self, rest: _Mapping, origin: str) -> _Mapping:
        """Scene and participants of the platoon."""
        scene = rest.get("scene")
        for key, section in (("scene", scene), ("participants", rest.get("participants"))):
            if section is not None and not isinstance(section, dict):
                raise ConfigurationError(
                    f"{origin}: {key}: found {section!r}; allowed is a mapping"
                )
        given = (scene or {}).get("vehicles") or {}
        platoon = [LEADER, *(f"follower{i}" for i in range(1, self.vehicles))]
        others = [name for name in given if name not in platoon] if isinstance(given, dict) else []
        highest = _highest_speed(self, origin)
        template = self
        if (scene or {}).get("recorded") and self.traffic is None:
            if self.sumo is not None:
                raise ConfigurationError(
                    f"{origin}: platoon.sumo: found beside scene.recorded; allowed is one of them"
                )
            template = self.model_copy(update={"traffic": 0})  # sensors look at road users, too
        base: _Mapping = {
            "scene": {"vehicles": _vehicles(self, platoon, others), "platoon": platoon},
            "participants": {
                "world": _world(template, platoon, others, usual_world(rest)),
                **_participants(template, platoon, others, highest),
            },
        }
        if self.lights:
            base["scene"]["traffic_lights"] = True
        return base


def _highest_speed(template: PlatoonTemplate, origin: str) -> float:
    """The highest speed that the scenario asks of the leader [m/s]."""
    place = "platoon.driver"
    driver = read_section(DriverSettings, template.driver, origin=origin, place=place)
    highest = highest_speed(driver.manoeuvre, template.speed)
    from_file = any(action.csv is not None for action in driver.manoeuvre)
    follow = template.vehicles > 1 and "set_speed" not in template.controller
    if from_file and highest == 0.0 and follow:
        raise ConfigurationError(
            f"{origin}: platoon.controller.set_speed: missing; behind a leader that leaves a "
            "standstill by a csv, allowed is the speed that followers may drive [m/s]"
        )
    return highest


def _vehicles(template: PlatoonTemplate, platoon: Sequence[str], others: Sequence[str]) -> _Mapping:
    """The vehicles of the scene; those that the file adds come last, with the usual size."""
    size = {"length": _LENGTH, "width": _WIDTH}
    length = template.vehicle.get("length")
    if not isinstance(length, int | float):
        length = _LENGTH  # what else it is, is refused as that of a vehicle of the scene
    spacing = template.standstill_gap + template.time_gap * template.speed + length
    vehicles: _Mapping = {}
    for position, name in enumerate(platoon):
        vehicles[name] = {
            **size,
            "lane": template.lane,
            "road": template.road,
            # Rounded: a station of a micrometre's precision is what one would write.
            "s": round(template.s - template.way * position * spacing, 6),
            "speed": template.speed,
            **template.vehicle,
        }
    vehicles[LEADER]["driver"] = dict(template.driver)
    return {**vehicles, **{name: dict(size) for name in others}}


def _participants(
    template: PlatoonTemplate, platoon: Sequence[str], others: Sequence[str], highest: float
) -> _Mapping:
    followers = platoon[1:]
    links = [(sender, name) for name in followers for sender in _heard(template, platoon, name)]
    seen = {f"odometry/{name}": f"world.odometry/{name}" for name in (*platoon, *others)}
    traffic = {} if template.traffic is None else {"traffic": "world.traffic"}
    participants: _Mapping = {}
    if template.sumo is not None:
        traffic = {"traffic": "sumo.traffic"}
        participants["sumo"] = _sumo(template.sumo, seen)
    for number, name in enumerate(followers, start=1):
        for sensor, parameters in _sensors(template.sensor).items():
            participants[_named(f"sensor{number}", sensor)] = {
                "model": "object_sensor",
                "period": format_ns(template.sensor.period),
                "parameters": {"ego": name, **parameters},
                "inputs": {**seen, "static_objects": "world.static_objects", **traffic},
                "outputs": {
                    "objects": _output(
                        "ObjectList",
                        f"/{name}/{_named('objects', sensor)}",
                        frame_id=base_link(name),
                    )
                },
            }
    if template.manoeuvre is not None:
        # The vehicle at the tail speaks to the leader.
        links.append((platoon[-1], LEADER))
        participants["manoeuvres"] = _manoeuvres(template.manoeuvre, platoon)
    if links:
        participants["v2v"] = _v2v(template, platoon, links)
    if _tracks(template.sensor):
        for number, name in enumerate(followers, start=1):
            participants[f"tracker{number}"] = _tracker(template, number, name, links)
    for number in range(1, len(platoon)):
        participants[f"cacc{number}"] = _controller(template, platoon, number, links, highest)
    participants["referee"] = {
        "model": "platoon_referee",
        "period": "100ms",
        "parameters": {},
        "inputs": {
            **seen,
            **traffic,
            "static_objects": "world.static_objects",
            "collision": "world.collision",
            **({"red_lights": "world.red_lights"} if template.lights else {}),
        },
        "outputs": {"status": _output("PlatoonStatus", "/platoon_status")},
    }
    return participants


def _sumo(given: _Mapping, seen: _Mapping) -> _Mapping:
    parameters = dict(given)
    return {
        "model": "sumo_traffic",
        "period": parameters.pop("period", "50ms"),
        "parameters": parameters,
        "inputs": dict(seen),
        "outputs": {"traffic": _output("RoadUsers", "/traffic")},
    }


def _world(
    template: PlatoonTemplate, platoon: Sequence[str], others: Sequence[str], usual: _Mapping
) -> _Mapping:
    parameters = usual["parameters"]
    outputs = world_outputs((*platoon, *others))
    if template.traffic is not None:
        outputs["traffic"] = _output("RoadUsers", "/traffic")
        parameters.setdefault("traffic", template.traffic)
    if template.lights:
        for name in platoon:
            outputs[f"light/{name}"] = _output(
                "TrafficLightAhead", f"/{name}/traffic_light", frame_id=base_link(name)
            )
        outputs["red_lights"] = _output("RedLightsPassed", "/red_lights")
    return {
        **usual,
        "inputs": {
            f"control/{name}": {"from": f"cacc{number}.control", "delayed": True}
            for number, name in enumerate(platoon[1:], start=1)
        },
        "outputs": outputs,
    }


def _v2v(
    template: PlatoonTemplate, platoon: Sequence[str], links: Sequence[tuple[str, str]]
) -> _Mapping:
    senders = dict.fromkeys(sender for sender, _ in links)
    own = template.v2v
    inputs: _Mapping = {}
    usual = {"loss": 0.0, "triggering": "periodic"} if own.is_usual else {}
    for number, name in enumerate(platoon):
        if own.parameters.get("radio") is not None or not own.is_usual:
            inputs[f"odometry/{name}"] = f"world.odometry/{name}"
        if name in senders:
            inputs[f"odometry/{name}"] = f"world.odometry/{name}"
            inputs[f"acceleration/{name}"] = f"world.acceleration/{name}"
            if name != LEADER:
                inputs[f"control/{name}"] = {"from": f"cacc{number}.control", "delayed": True}
    if template.manoeuvre is not None:
        for name, source in ((LEADER, "manoeuvres"), (platoon[-1], f"cacc{len(platoon) - 1}")):
            inputs[f"manoeuvre/{name}"] = {"from": f"{source}.manoeuvre", "delayed": True}
    return {
        "model": own.model,
        "period": format_ns(own.period),
        "parameters": {
            "links": [list(link) for link in links],
            **usual,
            **own.parameters,
        },
        "inputs": inputs,
        "outputs": {
            f"{sender}_to_{name}": _output(
                "V2VMessage",
                f"/v2v/{sender}_to_{name}",
                schedule="sparse",
                latency=own.latency,
            )
            for sender, name in links
        }
        | _encoded(own, senders)
        | _events(template, platoon, links),
    }


def _events(
    template: PlatoonTemplate, platoon: Sequence[str], links: Sequence[tuple[str, str]]
) -> _Mapping:
    """The outputs of what is sent besides beacons."""
    carried = {}
    if template.v2v.parameters.get("denm") is not None:
        carried["denm"] = [link for link in links if link[1] != LEADER]
    if template.manoeuvre is not None:
        carried["manoeuvre"] = [(LEADER, platoon[-1]), (platoon[-1], LEADER)]
    return {
        f"{kind}/{sender}_to_{name}": {
            "type": _BYTES,
            "topic": f"/v2v/{kind}/{sender}_to_{name}",
            "schedule": "sparse",
            "latency": template.v2v.latency,
        }
        for kind, places in carried.items()
        for sender, name in places
    }


def _manoeuvres(given: _Mapping, platoon: Sequence[str]) -> _Mapping:
    """The leader's side of a manoeuvre at the tail."""
    joins = given.get("kind") == "join"
    others = list(platoon[:-1])
    return {
        "model": "platoon_leader",
        "period": "50ms",
        "parameters": {
            "formation": others if joins else list(platoon),
            "expected": list(platoon) if joins else others,
            **{key: given[key] for key in _OF_LEADER if key in given},
        },
        "inputs": {
            "odometry": f"world.odometry/{LEADER}",
            f"manoeuvre/{platoon[-1]}": f"v2v.manoeuvre/{platoon[-1]}_to_{LEADER}",
        },
        "outputs": {
            "manoeuvre": {"type": _BYTES, "topic": f"/{LEADER}/manoeuvre", "schedule": "sparse"}
        },
    }


def _encoded(own: V2VTemplate, senders: Iterable[str]) -> _Mapping:
    """The outputs of encoded CAMs."""
    if own.parameters.get("contents") != "cam" or not own.is_usual:
        return {}
    return {
        f"cam/{sender}": {
            "type": _BYTES,
            "topic": f"/v2v/{sender}/cam",
            "schedule": "sparse",
        }
        for sender in senders
    }


def _controller(
    template: PlatoonTemplate,
    platoon: Sequence[str],
    number: int,
    links: Sequence[tuple[str, str]],
    highest: float,
) -> _Mapping:
    name, ahead = platoon[number], platoon[number - 1]
    overdue = 5 * template.sensor.period // 2
    source = "tracker" if _tracks(template.sensor) else "sensor"
    inputs: _Mapping = {
        "objects": f"{source}{number}.objects",
        "odometry": f"world.odometry/{name}",
        "acceleration": f"world.acceleration/{name}",
    }
    if template.lights:
        inputs["light"] = f"world.light/{name}"
    for sender in (sender for sender, receiver in links if receiver == name):
        # A predecessor that is the leader is heard as the leader.
        port = "v2v_leader" if sender == LEADER else "v2v_predecessor"
        assert sender in (LEADER, ahead)
        inputs[port] = f"v2v.{sender}_to_{name}"
        if template.v2v.parameters.get("denm") is not None:
            inputs[port.replace("v2v", "denm")] = f"v2v.denm/{sender}_to_{name}"
    parameters: _Mapping = {}
    outputs: _Mapping = {}
    if template.manoeuvre is not None and number == len(platoon) - 1:
        own = {k: v for k, v in template.manoeuvre.items() if k not in _OF_LEADER}
        parameters = {"manoeuvre": {"ego": name, "leader": LEADER, **own}}
        inputs["manoeuvre_heard"] = f"v2v.manoeuvre/{LEADER}_to_{name}"
        outputs = {
            "manoeuvre": {"type": _BYTES, "topic": f"/{name}/manoeuvre", "schedule": "sparse"}
        }
    return {
        "model": "cacc_controller",
        "activation": {"any": ["objects"]},
        # Only while objects are overdue: each activation puts the next one off.
        "period": format_ns(overdue),
        "offset": format_ns(overdue),
        "dynamic_step": True,
        "parameters": merged(
            {
                "time_gap": template.time_gap,
                "standstill_gap": template.standstill_gap,
                "set_speed": max(1.5 * highest, 1.0),
                "sensor_timeout": overdue * 1e-9,
                **_CONTROLLER,
                **parameters,
            },
            template.controller,
        ),
        "inputs": inputs,
        "outputs": {
            "control": _output("ControlCommand", f"/{name}/control", frame_id=base_link(name)),
            **outputs,
            **(
                {
                    "status": _output(
                        "ControllerStatus", f"/{name}/controller_status", frame_id=base_link(name)
                    )
                }
                if template.status
                else {}
            ),
        },
    }


def _sensors(template: SensorTemplate) -> dict[str, _Mapping]:
    """The sensors of a follower with their parameters: raw detections where a tracker is behind."""
    raw: _Mapping = {"identities": False} if _tracks(template) else {}
    sensors = {FRONT: template.parameters, **template.more}
    return {name: {**raw, **parameters} for name, parameters in sensors.items()}


def _tracks(template: SensorTemplate) -> bool:
    return template.tracker is not None or bool(template.more)


def _named(word: str, sensor: str) -> str:
    return word if sensor == FRONT else f"{word}_{sensor}"


def _tracker(
    template: PlatoonTemplate, number: int, name: str, links: Sequence[tuple[str, str]]
) -> _Mapping:
    sensors = list(_sensors(template.sensor))
    heard = [sender for sender, receiver in links if receiver == name]
    inputs = {
        f"objects/{sensor}": f"{_named(f'sensor{number}', sensor)}.objects" for sensor in sensors
    }
    return {
        "model": "object_tracker",
        "period": format_ns(template.sensor.period),
        "parameters": {
            "ego": name,
            "sensors": sensors,
            "heard": heard,
            **(template.sensor.tracker or {}),
        },
        "inputs": {
            **inputs,
            "odometry": f"world.odometry/{name}",
            **{f"v2v/{sender}": f"v2v.{sender}_to_{name}" for sender in heard},
        },
        "outputs": {"objects": _output("ObjectList", f"/{name}/tracks", frame_id=base_link(name))},
    }


def _heard(template: PlatoonTemplate, platoon: Sequence[str], name: str) -> list[str]:
    """The senders that a follower hears."""
    if template.v2v.hears == "nothing":
        return []
    ahead = platoon[platoon.index(name) - 1]
    if template.v2v.hears == "predecessor" or ahead == LEADER:
        return [ahead]
    return [LEADER, ahead]


def _output(message: str, topic: str, **more: Any) -> _Mapping:
    return {"type": f"ros2_cosim/msg/{message}", "topic": topic, **more}
