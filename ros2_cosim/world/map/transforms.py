# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of a run for ROS tools: ``/tf``, ``/tf_static`` and robot descriptions.

They are messages of a participant like any other: sent at fixed simulated times, equal in every
run shape, and in the bag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from xml.sax.saxutils import quoteattr

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import NS_PER_S
from ros2_cosim.core.messages.message_types import ODOMETRY
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.core.scene.sensors import MountSettings, sensor_frames
from ros2_cosim.world.map.frames import quaternion_from_rpy
from ros2_cosim.world.map.scene import scene_vehicles

TRANSFORMS = "tf2_msgs/msg/TFMessage"
DESCRIPTION = "std_msgs/msg/String"


class FrameSettings(MountSettings):
    """A frame that is fixed to another one, as that of a sensor."""

    parent: str = Field(min_length=1, description="frame that it is fixed to")


class TransformParameters(Section):
    """Frames beside those of the vehicles and of the sensors of the scene."""

    frames: dict[str, FrameSettings] = Field(
        default_factory=dict, description="frame: parent, x, y, z, roll, pitch, yaw"
    )
    height: Annotated[Number, Field(gt=0)] = Field(
        default=1.5, description="of the vehicles in robot descriptions [m]"
    )


class Transforms(FullModel):
    """Publishes where frames are, to be activated periodically.

    Inputs, latched: ``odometry/<vehicle>``. Outputs: ``tf`` at each activation, with a transform
    from ``map`` to ``<vehicle>/base_link`` for each vehicle that is known; at the first one
    ``tf_static`` with the fixed frames, those of the scene's sensors among them, and
    ``robot_description/<vehicle>``, a box of the vehicle's size with its fixed frames.

    :raises ConfigurationError: a frame has two places, or hangs on itself
    """

    Parameters = TransformParameters
    traits = Traits(cost_ns=50_000)
    input_ports = (Port("odometry/{vehicle}", ODOMETRY, required=False),)
    output_ports = (
        Port("tf", TRANSFORMS, description="map to the vehicles"),
        Port("tf_static", TRANSFORMS, required=False, schedule="once", description="fixed frames"),
        Port(
            "robot_description/{vehicle}",
            DESCRIPTION,
            required=False,
            schedule="once",
            description="URDF",
        ),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: TransformParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: TransformParameters) -> None:
        """Check whether the frames make trees."""
        vehicles = tuple(scene_settings(context).vehicles)
        _check_frames(_fixed(context, parameters), vehicles, context.where)

    def __init__(self, context: ModelContext, parameters: TransformParameters) -> None:
        scene = scene_settings(context)
        fixed = _fixed(context, parameters)
        _check_frames(fixed, tuple(scene.vehicles), context.where)
        self._vehicles = tuple(scene.vehicles)
        self._message: Any = CATALOGUE.record(TRANSFORMS)
        self._transform: Any = CATALOGUE.part("geometry_msgs/msg/TransformStamped")
        self._header: Any = CATALOGUE.part("std_msgs/msg/Header")
        self._time: Any = CATALOGUE.part("builtin_interfaces/msg/Time")
        self._move: Any = CATALOGUE.part("geometry_msgs/msg/Transform")
        self._vector: Any = CATALOGUE.part("geometry_msgs/msg/Vector3")
        self._turn: Any = CATALOGUE.part("geometry_msgs/msg/Quaternion")
        self._once: dict[str, Any] = {}
        if "tf_static" in context.output_types:
            self._once["tf_static"] = self._message(
                tuple(
                    self._placed(
                        0,
                        frame.parent,
                        name,
                        (frame.x, frame.y, frame.z),
                        quaternion_from_rpy(frame.roll, frame.pitch, frame.yaw),
                    )
                    for name, frame in fixed.items()
                )
            )
        text: Any = CATALOGUE.record(DESCRIPTION)
        described = [name for name in self._vehicles if _port(name) in context.output_types]
        sizes = scene_vehicles(context) if described else {}
        for name in described:
            size = (sizes[name].length, sizes[name].width, parameters.height)
            self._once[_port(name)] = text(robot_description(name, size, fixed))

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Tell where the vehicles are, and once what does not change."""
        found = []
        for name in self._vehicles:
            sample = step.latest.get(f"odometry/{name}")
            if sample is not None:
                o = sample.value
                place, turn = (o.x, o.y, o.z), (o.qx, o.qy, o.qz, o.qw)
                found.append(self._placed(sample.stamp, "map", f"{name}/base_link", place, turn))
        outputs = {"tf": self._message(tuple(found)), **self._once}
        self._once = {}
        return outputs

    def save_state(self) -> Any:
        """Whether what it sends once has been sent."""
        return not self._once

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        if state:
            self._once = {}

    def _placed(
        self,
        stamp: int,
        parent: str,
        frame: str,
        place: tuple[float, float, float],
        turn: tuple[float, float, float, float],
    ) -> Any:
        header = self._header(self._time(*divmod(stamp, NS_PER_S)), parent)
        return self._transform(header, frame, self._move(self._vector(*place), self._turn(*turn)))


def _fixed(context: ModelContext, parameters: TransformParameters) -> dict[str, FrameSettings]:
    """The frames of the parameters and of the scene's sensors.

    :raises ConfigurationError: a frame is among both
    """
    fixed = dict(parameters.frames)
    for name, mount in sensor_frames(scene_settings(context).sensors).items():
        if name in fixed:
            raise ConfigurationError(
                f"{context.where}.frames: found '{name}', which scene.sensors has; allowed are "
                "other names"
            )
        (x, y, z), (roll, pitch, yaw) = mount.place, mount.turn
        fixed[name] = FrameSettings(
            parent=mount.parent, x=x, y=y, z=z, roll=roll, pitch=pitch, yaw=yaw
        )
    return fixed


def robot_description(
    vehicle: str, size: tuple[float, float, float], frames: Mapping[str, FrameSettings]
) -> str:
    """The URDF of a vehicle: a box above its base link, and the frames that are fixed to it.

    :param size: length, width, height [m]
    """
    base = f"{vehicle}/base_link"
    box = " ".join(map(repr, size))
    lines = [
        f"<robot name={quoteattr(vehicle)}>",
        f"  <link name={quoteattr(base)}>",
        "    <visual>",
        f'      <origin xyz="0 0 {0.5 * size[2]!r}"/><geometry><box size="{box}"/></geometry>',
        "    </visual>",
        "  </link>",
    ]
    known = [base]
    for parent in known:  # grows while frames hang on frames
        for name, frame in frames.items():
            if frame.parent == parent:
                known.append(name)
                lines += [
                    f"  <link name={quoteattr(name)}/>",
                    f'  <joint name={quoteattr(f"{name}_joint")} type="fixed">',
                    f"    <parent link={quoteattr(parent)}/><child link={quoteattr(name)}/>",
                    f'    <origin xyz="{frame.x!r} {frame.y!r} {frame.z!r}" '
                    f'rpy="{frame.roll!r} {frame.pitch!r} {frame.yaw!r}"/>',
                    "  </joint>",
                ]
    return "\n".join([*lines, "</robot>", ""])


def _port(vehicle: str) -> str:
    return f"robot_description/{vehicle}"


def _check_frames(frames: Mapping[str, FrameSettings], vehicles: Sequence[str], where: str) -> None:
    roots = {"map", *(f"{name}/base_link" for name in vehicles)}
    for name, frame in frames.items():
        if name in roots:
            raise ConfigurationError(
                f"{where}.frames: found '{name}', which moves; allowed are other names"
            )
        passed, parent = [name], frame.parent
        while parent not in roots:
            if parent not in frames or parent in passed:
                raise ConfigurationError(
                    f"{where}.frames.{name}.parent: found '{frame.parent}', which leads to no "
                    f"vehicle; allowed are {', '.join(sorted(roots | (frames.keys() - {name})))}"
                )
            passed.append(parent)
            parent = frames[parent].parent
