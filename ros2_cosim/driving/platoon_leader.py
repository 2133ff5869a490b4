# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The participant that speaks for the leader of a platoon when vehicles join or leave."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, PositiveDuration, Section
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES, ODOMETRY
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.v2v.manoeuvre import LeaderManoeuvres
from ros2_cosim.driving.v2v.manoeuvre_message import (
    ManoeuvreMessage,
    decoded_manoeuvre,
    encoded_manoeuvre,
)
from ros2_cosim.world.map.scene import scene_vehicles


class PlatoonLeaderParameters(Section):
    """Parameters of the leader's side of manoeuvres."""

    formation: tuple[str, ...] = Field(
        min_length=1, description="vehicles of the platoon at the start, the leader first"
    )
    expected: tuple[str, ...] | None = Field(
        default=None, description="those at the end, for the verdict formation; default: no verdict"
    )
    join_time_gap: Number = Field(
        default=0.6, gt=0, description="that a vehicle which joins is to keep [s]"
    )
    leave_time_gap: Number = Field(
        default=1.1, gt=0, description="that a vehicle which leaves is to open [s]"
    )
    patience: PositiveDuration = Field(
        default=60_000_000_000, description="after which a manoeuvre that is not done is given up"
    )


class PlatoonLeader(FullModel):
    """Answers the messages of vehicles that join or leave at the tail; one at a time.

    Inputs, latched: ``manoeuvre/<sender>`` (UInt8MultiArray), what is heard of each vehicle, and
    ``odometry`` of the leader. Output: ``manoeuvre``, at most one answer at each activation.

    :raises ConfigurationError: unknown vehicle
    """

    Parameters = PlatoonLeaderParameters
    traits: ClassVar[Traits] = Traits(cost_ns=20_000, exact_records=True)

    input_ports: ClassVar[tuple[Port, ...]] = (
        Port("odometry", ODOMETRY, description="of the leader"),
        Port("manoeuvre/{sender}", BYTES, required=False, description="what is heard of a vehicle"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (Port("manoeuvre", BYTES, schedule="sparse"),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: PlatoonLeaderParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene but the leader."""
        cls.check_settings(context, parameters)
        leader = parameters.formation[0]
        return {"sender": tuple(n for n in scene_settings(context).vehicles if n != leader)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: PlatoonLeaderParameters) -> None:
        """Check whether each vehicle is in the scene.

        :raises ConfigurationError: one is not
        """
        scene = scene_settings(context)
        for key, names in (
            ("formation", parameters.formation),
            ("expected", parameters.expected or ()),
        ):
            for number, name in enumerate(names):
                scene.require_vehicle(name, f"{context.where}.{key}.{number}")

    def __init__(self, context: ModelContext, parameters: PlatoonLeaderParameters) -> None:
        self.check_settings(context, parameters)
        number = {name: info.id for name, info in scene_vehicles(context).items()}
        self._side = LeaderManoeuvres(
            tuple(number[name] for name in parameters.formation),
            (parameters.join_time_gap, parameters.leave_time_gap),
            parameters.patience,
        )
        self._expected: tuple[int, ...] | None = None
        if parameters.expected is not None:
            self._expected = tuple(number[name] for name in parameters.expected)
        self._ports = tuple(p for p in context.input_types if p != "odometry")
        self._heard: dict[str, int] = {}
        self._answers: deque[ManoeuvreMessage] = deque()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Answer what has come since the last activation."""
        odometry = step.latest["odometry"]
        if odometry is None:
            return {}
        for port in self._ports:
            sample = step.latest[port]
            if sample is None or self._heard.get(port) == sample.stamp:
                continue
            self._heard[port] = sample.stamp
            message = decoded_manoeuvre(bytes(sample.value.data))
            if message is not None:
                answer = self._side.answer(step.time, message, odometry.value.vx)
                if answer is not None:
                    self._answers.append(answer)
        if not self._answers:
            return {}
        data = encoded_manoeuvre(self._answers.popleft())
        return {"manoeuvre": DEFAULT.record(BYTES)(data=data)}

    def report(self) -> Report:
        """The number of vehicles at the end, and whether they are those expected."""
        formation = self._side.formation
        figures = {"vehicles": len(formation)}
        if self._expected is None:
            return Report(figures=figures)
        verdict = {
            "name": "formation",
            "value": len(formation),
            "limit": len(self._expected),
            "passed": formation == self._expected,
        }
        return Report(figures=figures, verdicts=[verdict])

    def save_state(self) -> Any:
        """Formation, manoeuvre under way, and answers not sent yet."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)


_STATE = SavedAttributes(parts=(LeaderManoeuvres,), values=(ManoeuvreMessage,))
