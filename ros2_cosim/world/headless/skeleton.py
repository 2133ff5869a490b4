# SPDX-License-Identifier: Apache-2.0
"""The bones of a walker in a rest pose, with the poses that a client sets.

The names are those of CARLA's walkers. The rest pose is this project's own: upright, arms a
little away from the body, with the proportions of an adult scaled to the walker's height. There
is no walk cycle: the pose changes only where a client sets it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.world.headless.actors import compose
from ros2_cosim.world.headless.wire_types import ORIGIN, Rotation, Transform, Vector


class BonePose(NamedTuple):
    """A bone in the world, on the walker's body, and on the bone that holds it."""

    name: str
    world: Transform
    component: Transform
    relative: Transform


class _Bone(NamedTuple):
    name: str
    parent: str
    #: Offset from the parent's joint as shares of the walker's height: x forwards, z upwards.
    offset: Vector


def _arm(side: str, sign: float) -> list[_Bone]:
    bones = [
        _Bone(f"crl_shoulder__{side}", "crl_spine01__C", Vector(0.0, sign * 0.03, 0.13)),
        _Bone(f"crl_arm__{side}", f"crl_shoulder__{side}", Vector(0.0, sign * 0.08, 0.0)),
        _Bone(f"crl_foreArm__{side}", f"crl_arm__{side}", Vector(0.0, sign * 0.03, -0.16)),
        _Bone(f"crl_hand__{side}", f"crl_foreArm__{side}", Vector(0.0, sign * 0.02, -0.14)),
    ]
    for place, finger in enumerate(("Thumb", "Index", "Middle", "Ring", "Pinky")):
        joint = f"crl_hand__{side}"
        forwards = 0.02 - 0.01 * place
        for number, part in enumerate(("", "01", "02", "End")):
            name = f"crl_hand{finger}{part}__{side}"
            first = number == 0
            offset = Vector(forwards if first else 0.0, 0.0, -0.03 if first else -0.015)
            bones.append(_Bone(name, joint, offset))
            joint = name
    return bones


def _leg(side: str, sign: float) -> list[_Bone]:
    return [
        _Bone(f"crl_thigh__{side}", "crl_hips__C", Vector(0.0, sign * 0.05, -0.01)),
        _Bone(f"crl_leg__{side}", f"crl_thigh__{side}", Vector(0.0, 0.0, -0.245)),
        _Bone(f"crl_foot__{side}", f"crl_leg__{side}", Vector(-0.01, 0.0, -0.235)),
        _Bone(f"crl_toe__{side}", f"crl_foot__{side}", Vector(0.08, 0.0, -0.03)),
        _Bone(f"crl_toeEnd__{side}", f"crl_toe__{side}", Vector(0.03, 0.0, 0.0)),
    ]


_BONES: Final = (
    # The root is at the feet, half a height below the walker's origin.
    _Bone("crl_root", "", Vector(0.0, 0.0, -0.5)),
    _Bone("crl_hips__C", "crl_root", Vector(0.0, 0.0, 0.53)),
    _Bone("crl_spine__C", "crl_hips__C", Vector(0.0, 0.0, 0.06)),
    _Bone("crl_spine01__C", "crl_spine__C", Vector(0.0, 0.0, 0.10)),
    *_arm("L", -1.0),
    _Bone("crl_neck__C", "crl_spine01__C", Vector(0.0, 0.0, 0.15)),
    _Bone("crl_Head__C", "crl_neck__C", Vector(0.01, 0.0, 0.05)),
    _Bone("crl_eye__L", "crl_Head__C", Vector(0.05, -0.018, 0.045)),
    _Bone("crl_eye__R", "crl_Head__C", Vector(0.05, 0.018, 0.045)),
    *_arm("R", 1.0),
    *_leg("R", 1.0),
    *_leg("L", -1.0),
)


class Skeleton:
    """The bones of one walker.

    ``blend`` is the share of the pose that the client has set: 0 the rest pose, 1 its own.
    """

    def __init__(self, height: float) -> None:
        self._rest = {
            bone.name: Transform(Vector(*(part * height for part in bone.offset)))
            for bone in _BONES
        }
        self._own = dict(self._rest)
        self.blend = 0.0

    def set_pose(self, bones: dict[str, Transform]) -> list[str]:
        """Set bones relative to their parents; returns the names that no bone has."""
        for name, pose in bones.items():
            if name in self._own:
                self._own[name] = pose
        return [name for name in bones if name not in self._own]

    def take_rest_pose(self) -> None:
        """Make the pose of the walker's own movement, which is the rest pose, the client's."""
        self._own = dict(self._rest)

    def poses(self, body: Transform) -> list[BonePose]:
        """All bones of a walker that stands at ``body``."""
        on_body: dict[str, Transform] = {"": ORIGIN}
        found = []
        for bone in _BONES:
            relative = _mixed(self._rest[bone.name], self._own[bone.name], self.blend)
            component = compose(on_body[bone.parent], relative)
            on_body[bone.name] = component
            found.append(BonePose(bone.name, compose(body, component), component, relative))
        return found


def _mixed(rest: Transform, own: Transform, share: float) -> Transform:
    if share == 0.0 or own == rest:
        return rest
    if share == 1.0:
        return own

    def between(a: float, b: float) -> float:
        return a + share * (b - a)

    return Transform(
        Vector(*map(between, rest.location, own.location)),
        Rotation(*map(between, rest.rotation, own.rotation)),
    )
