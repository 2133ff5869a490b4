# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bones of a walker: at rest, while it walks, and in the pose that a client sets.

The names are those of CARLA's walkers. The rest pose is this project's own: upright, arms beside
the body, with the proportions of an adult scaled to the walker's height and width. So is the gait:
a foot on the ground stays where it is while the body passes over it, the other one swings forward
with a bent knee, and the arms swing against the legs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import asin, degrees, sqrt
from ros2_cosim.world.headless.actors import compose
from ros2_cosim.world.headless.wire_types import ORIGIN, Rotation, Transform, Vector

#: How far before and behind the hip a foot meets the ground: a time [s] of the way, and at most a
#: share of the height (class estimates).
_REACH_TIME: Final = 0.25
_REACH: Final = 0.3
#: Largest bend of the knee and of the elbow [deg], and the arm's swing as a share of the leg's
#: (class estimates).
_KNEE: Final = 50.0
_ELBOW: Final = 20.0
_ARM: Final = 0.7


class BonePose(NamedTuple):
    """A bone in the world, on the walker's body, and on the bone that holds it."""

    name: str
    world: Transform
    component: Transform
    relative: Transform


class _Bone(NamedTuple):
    name: str
    parent: str
    #: Offset from the parent's joint: forwards and upwards as shares of the walker's height, to
    #: the right as a share of half its width.
    offset: Vector


def _arm(side: str, sign: float) -> list[_Bone]:
    bones = [
        _Bone(f"crl_shoulder__{side}", "crl_spine01__C", Vector(0.0, sign * 0.2, 0.13)),
        _Bone(f"crl_arm__{side}", f"crl_shoulder__{side}", Vector(0.0, sign * 0.49, 0.0)),
        _Bone(f"crl_foreArm__{side}", f"crl_arm__{side}", Vector(0.0, 0.0, -0.18)),
        _Bone(f"crl_hand__{side}", f"crl_foreArm__{side}", Vector(0.0, 0.0, -0.16)),
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


#: Length of the thigh and of the shank, as a share of the height.
_HALF_LEG: Final = 0.24


def _leg(side: str, sign: float) -> list[_Bone]:
    return [
        _Bone(f"crl_thigh__{side}", "crl_hips__C", Vector(0.0, sign * 0.34, -0.01)),
        _Bone(f"crl_leg__{side}", f"crl_thigh__{side}", Vector(0.0, 0.0, -_HALF_LEG)),
        _Bone(f"crl_foot__{side}", f"crl_leg__{side}", Vector(0.0, 0.0, -_HALF_LEG)),
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
    _Bone("crl_eye__L", "crl_Head__C", Vector(0.05, -0.16, 0.045)),
    _Bone("crl_eye__R", "crl_Head__C", Vector(0.05, 0.16, 0.045)),
    *_arm("R", 1.0),
    *_leg("R", 1.0),
    *_leg("L", -1.0),
)


#: The bones that parts of a body follow, in the order of their numbers.
LIMBS: Final = (
    "crl_root", "crl_hips__C", "crl_spine__C", "crl_spine01__C", "crl_shoulder__L", "crl_arm__L",
    "crl_foreArm__L", "crl_neck__C", "crl_Head__C", "crl_shoulder__R", "crl_arm__R",
    "crl_foreArm__R", "crl_thigh__R", "crl_leg__R", "crl_foot__R", "crl_thigh__L", "crl_leg__L",
    "crl_foot__L",
)  # fmt: skip
_LIMB_BONES: Final = tuple(bone for bone in _BONES if bone.name in LIMBS)


class Skeleton:
    """The bones of one walker.

    :ivar blend: the share of the pose that the client has set: 0 none, 1 all
    """

    def __init__(self, height: float, width: float) -> None:
        """Bones of a walker of a height and a width [m], at rest."""
        self._height = height
        self._rest = {
            bone.name: Transform(
                Vector(bone.offset.x * height, bone.offset.y * 0.5 * width, bone.offset.z * height)
            )
            for bone in _BONES
        }
        #: Of the client; None until it has set one.
        self._own: dict[str, Transform] | None = None
        #: Shares of a stride that are done, and how far the feet reach [m].
        self._stride = 0.0
        self._reach = 0.0
        self._version = 0
        self.blend = 0.0

    def walk(self, way: float, speed: float) -> None:
        """Go on by a way [m] at a speed [m/s]."""
        self._reach = min(_REACH_TIME * speed, _REACH * self._height)
        if self._reach > 0.0:
            self._stride = (self._stride + way / (4.0 * self._reach)) % 1.0

    def look(self) -> tuple[float, ...]:
        """What the pose follows from: another one, another pose; () at rest."""
        if self._reach == 0.0 and (self.blend == 0.0 or self._own is None):
            return ()
        return self._stride, self._reach, self.blend, float(self._version)

    def set_pose(self, bones: dict[str, Transform]) -> list[str]:
        """Set bones relative to their parents; returns the names that no bone has.

        As in CARLA the others keep what they have been set to, at first what they were.
        """
        own = self._animation() if self._own is None else self._own
        self._own = own | {name: pose for name, pose in bones.items() if name in own}
        self._version += 1
        return [name for name in bones if name not in own]

    def take_pose_of_gait(self) -> None:
        """Make the present pose of the walker's own movement the client's."""
        self._own = self._animation()
        self._version += 1

    def poses(self, body: Transform) -> list[BonePose]:
        """All bones of a walker that stands at ``body``."""
        relative = self._relative()
        on_body = _on_body(_BONES, relative)
        return [
            BonePose(name, compose(body, place), place, relative[name])
            for name, place in on_body.items()
        ]

    def limbs(self) -> list[Transform]:
        """Where ``LIMBS`` are on the walker's origin."""
        on_body = _on_body(_LIMB_BONES, self._relative())
        return [on_body[name] for name in LIMBS]

    def resting_limbs(self) -> list[Vector]:
        """Where ``LIMBS`` are at rest; none of them is turned then."""
        on_body = _on_body(_LIMB_BONES, self._rest)
        return [on_body[name].location for name in LIMBS]

    def _relative(self) -> dict[str, Transform]:
        found = self._animation()
        own = self._own
        if own is None or self.blend == 0.0:
            return found
        return {name: _mixed(pose, own[name], self.blend) for name, pose in found.items()}

    def _animation(self) -> dict[str, Transform]:
        """The pose of the walker's own movement."""
        found = dict(self._rest)
        if self._reach == 0.0:
            return found
        # In the first half of a stride the left foot is on the ground, from its reach to behind.
        half = self._stride % 0.5 * 4.0
        left = 1.0 - half if self._stride < 0.5 else half - 1.0
        leg = 2.0 * _HALF_LEG * self._height
        ahead = self._reach * left
        turn = degrees(asin(ahead / leg))
        share = self._reach / (_REACH * self._height)
        # The hip comes down so far that the foot below it stays on the ground.
        low = leg - sqrt(leg * leg - ahead * ahead)
        hips = found["crl_hips__C"].location
        found["crl_hips__C"] = Transform(Vector(hips.x, hips.y, hips.z - low))
        lifted = share * half * (2.0 - half)
        for side, pitch, stands in (("L", turn, self._stride < 0.5),
                                    ("R", -turn, self._stride >= 0.5)):  # fmt: skip
            knee = 0.0 if stands else _KNEE * lifted
            for name, angle in (
                ("thigh", pitch + 0.5 * knee), ("leg", -knee), ("foot", 0.5 * knee - pitch),
                ("arm", -_ARM * pitch), ("foreArm", _ELBOW * share),
            ):  # fmt: skip
                bone = f"crl_{name}__{side}"
                found[bone] = Transform(found[bone].location, Rotation(angle))
        return found


def _on_body(bones: tuple[_Bone, ...], relative: dict[str, Transform]) -> dict[str, Transform]:
    """Bones on the walker's origin, from those on their parents."""
    found = {"": ORIGIN}
    for bone in bones:
        found[bone.name] = compose(found[bone.parent], relative[bone.name])
    del found[""]
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
