# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Keys of scenario files that are gone, and what is written instead."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

#: The end of the place of a key, in which * is any name or number -> what is written instead.
FORMER_KEYS: Final = {
    "platoon.direction": "platoon.lane, whose sign says it",
    "platoon.length": "platoon.vehicle.length",
    "platoon.width": "platoon.vehicle.width",
    "platoon.law": "platoon.controller.law",
    "platoon.law_parameters": "platoon.controller.law_parameters",
    "platoon.world": "participants.world",
    "platoon.referee": "participants.referee",
    **{
        f"platoon.v2v.{key}": f"platoon.v2v.parameters.{key}"
        for key in ("congestion_control", "contents", "denm", "loss", "origin", "radio",
                    "triggering")
    },
    "openscenario.duration": "duration",
    "openscenario.period": "participants.storyboard.period",
    "openscenario.world": "participants.world",
    "manoeuvre.*.brake": "ramp: {speed: 0.0, acceleration: 3.0}",
    "participants.*.parameters.pedal_map": "vehicle",
    "participants.*.parameters.degradation": "fallback, as fallback: estimate",
    "participants.*.parameters.estimator": "nothing: the filter has the figures of the publication",
    "participants.*.parameters.nominal_period": "nothing: it is 0.04 s",
    "participants.*.parameters.cruise": "nothing: the gain on a free road is 0.4 / s",
    "participants.*.parameters.step": "period, which is the step of the world",
    "participants.*.parameters.damping": "nothing: it is 0.9 / s",
    "participants.*.parameters.smoothing": "nothing: it is 0.5",
    "participants.*.parameters.visible_fraction": "nothing: it is 0.2",
    "participants.*.parameters.lateral_acceleration": "nothing: it is 1 m/s^2",
    "participants.*.parameters.false_probability": "nothing: it is 0.1",
    "parameters.radio.cam_overhead": "parameters.radio.security, which adds to 82 bytes",
    "parameters.denm.release": "nothing: it is 500 ms",
    "parameters.denm.update": "nothing: it is 1 s",
    "parameters.manoeuvre.repeat": "nothing: it is 200 ms",
    "coupling.lateness.otherwise": "nothing: the others are in time",
    "scene.roadblock.spacing": "nothing: it is 1.25 m; scene.objects for other places",
    "scene.extra": "parameters of the model of a user",
    "ros_bridge.world": "the name of the participant: world, unless it is the one carla_world",
    "autoware.world": "the name of the participant: world, unless it is the one carla_world",
    "loss.bernoulli": "the number alone",
    "loss.gilbert_elliott": "its keys without it, as {p_gb: 0.02, p_bg: 0.2}",
    **{
        f"participants.storyboard.parameters.{key}": "openscenario.file"
        for key in ("boxes", "performance", "standing", "walking", "teleported", "values", "init",
                    "stories", "stop")
    },
}  # fmt: skip


def in_present_words(participants: dict[str, dict[str, Any]]) -> None:
    """Change what a run of the version before has of participants, where it has the same meaning.

    :param participants: plain data of a resolved scenario
    """
    for participant in participants.values():
        parameters = participant.get("parameters") or {}
        if parameters.get("step") == participant.get("period"):
            parameters.pop("step", None)
        loss = parameters.get("loss")
        if isinstance(loss, dict) and loss.keys() <= {"bernoulli", "gilbert_elliott"}:
            parameters["loss"] = next((each for each in loss.values() if each is not None), 0.0)


@cache
def _pattern() -> re.Pattern[str]:
    keys = (re.escape(key).replace(r"\*", r"[^.]+") for key in FORMER_KEYS)
    return re.compile(rf"(?:^|\.)(?:{'|'.join(f'({key})' for key in keys)})$")


def instead_of(place: str) -> str | None:
    """What is written instead of the key at a place; None: it never was one.

    :param place: dotted keys
    """
    found = _pattern().search(place)
    return None if found is None else [*FORMER_KEYS.values()][(found.lastindex or 0) - 1]
