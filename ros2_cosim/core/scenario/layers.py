# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The layers of a participant: which there are, in which order, and why.

The layers of a run, which treat all participants alike, come next to the ports: what a branch plays
(:mod:`ros2_cosim.core.run.branch`) and what a checkpoint records
(:mod:`ros2_cosim.core.run.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from ros2_cosim.core.documents.offered import find_kind
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.kernel.layers import Layer, LayeredModel
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import FullModel, Onlooker
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.seams import NoParameters
from ros2_cosim.core.realtime.layers import (
    LateParticipant,
    coupling_layer,
    deadline_layer,
    estimates_layer,
)
from ros2_cosim.core.realtime.renewal import Reset
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.core.scenario.changes import is_reset
from ros2_cosim.core.scenario.changing import changes_layer
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.faults import faults_layer
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.seams import seams_layer

LAYER_GROUP = "ros2_cosim.layers"


class LayeredParticipant(NamedTuple):
    """A participant whose layers are made.

    :param model: its model, and ``make``, which makes another one, for one that is reset
    :param realtime: the wall clock of the run
    :param by_hand: whether it may be reset by hand
    """

    scenario: Scenario
    name: str
    model: FullModel
    make: Callable[[], FullModel]
    realtime: RealtimeRun = AS_FAST_AS_POSSIBLE
    by_hand: bool = False

    @property
    def late(self) -> LateParticipant:
        """What the layers for late data need to know about it."""
        settings = self.scenario.participants[self.name]
        return LateParticipant(
            name=self.name,
            period_ns=settings.period,
            is_triggered=settings.activation is not None
            or any(port.handled for port in settings.inputs.values()),
            dynamic_step=settings.dynamic_step,
            outputs={port: (o.schedule, o.type) for port, o in settings.outputs.items()},
            inputs={port: i.estimate for port, i in settings.inputs.items()},
            overrun=settings.overrun,
            coupling=settings.coupling,
            seed=self.scenario.seed,
            base_directory=Path(self.scenario.base_directory),
            watchdog_s=self.scenario.watchdog_s,
        )


class OfferedLayer(Layer):
    """A layer that a distribution offers, as an entry point of the group ``ros2_cosim.layers``.

    :param context: what is known of the participant
    :param parameters: an instance of ``Parameters``
    """

    Parameters: ClassVar[type[Section]] = NoParameters

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        pass


class Place(NamedTuple):
    """The place of a layer in the order, and why it is that.

    ``make`` gives the layers that a participant has there: one, none, or several of other
    distributions. It raises :class:`ConfigurationError` where settings do not fit the participant.
    """

    name: str
    reason: str
    make: Callable[[LayeredParticipant], Layer | Sequence[Layer] | None]


def _reset(of: LayeredParticipant) -> Layer | None:
    if not (of.by_hand or is_reset(of.scenario, of.name)):
        return None
    outputs = of.scenario.outputs_of(of.name).items()
    once = [port for port, output in outputs if output.schedule == "once"]
    below = PLACES[: [place.name for place in PLACES].index("reset")]
    return Reset(of.name, of.make, lambda: _made(of, below), once)


#: From the model to its ports.
PLACES: Final = (
    Place(
        "seams",
        "All others see the messages that the model knows.",
        lambda of: seams_layer(of.scenario, of.name),
    ),
    Place(
        "reset",
        "FullModel and seams begin anew; what is known of late data, faults and changes stays.",
        _reset,
    ),
    Place(
        "estimates",
        "A sample that is missing is estimated where the model would read it.",
        lambda of: estimates_layer(of.late),
    ),
    Place(
        "coupling",
        "The slow part is the model with its inputs; an estimate takes the place of its results.",
        lambda of: coupling_layer(of.late, of.realtime),
    ),
    Place(
        "deadline",
        "It is that of all that has to be computed, also of an estimate.",
        lambda of: deadline_layer(of.late, of.realtime),
    ),
    Place(
        "faults",
        "A fault is on the way between the ports: whatever was computed, it meets it.",
        lambda of: faults_layer(of.scenario, of.name),
    ),
    Place(
        "own",
        "Those of other distributions meet the messages as the other participants see them.",
        lambda of: own_layers(of.scenario, of.name),
    ),
    Place(
        "changes",
        "A change holds from the start of an activation, also for its faults.",
        lambda of: changes_layer(of.scenario, of.name, of.model),
    ),
)


def _made(of: LayeredParticipant, places: Sequence[Place]) -> list[Layer]:
    layers: list[Layer] = []
    for place in places:
        made = place.make(of)
        if isinstance(made, Layer):
            made.name = place.name
            layers.append(made)
        elif made is not None:
            layers += made
    return layers


def with_layers(of: LayeredParticipant) -> LayeredModel:
    """The model of a participant with its layers; closed on failure.

    :raises ConfigurationError: settings that do not fit the participant
    """
    try:
        return LayeredModel(of.model, _made(of, PLACES))
    except BaseException:
        of.model.close()
        raise


def check_layers(scenario: Scenario, name: str) -> None:
    """Check whether the layers of a participant fit it; its model is not made.

    :raises ConfigurationError: one does not
    """
    _made(LayeredParticipant(scenario, name, Onlooker(), Onlooker), PLACES)


def own_layers(scenario: Scenario, name: str) -> list[Layer]:
    """The layers that a participant names, from the model to its ports.

    :raises ConfigurationError: one is not there, cannot be made, or its parameters are wrong
    """
    layers: list[Layer] = []
    for chosen, given in scenario.participants[name].layers.items():
        where = f"participants.{name}.layers.{chosen}"
        kind: type[OfferedLayer] = find_kind(LAYER_GROUP, chosen, where, "layer", OfferedLayer)
        parameters = read_section(kind.Parameters, given, place=where)
        try:
            layer = kind(declare(scenario, name).context, parameters)
        except CosimError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"{where} cannot be made: {type(error).__name__}: {error}{line_of(error)}"
            ) from error
        layer.name = f"own.{chosen}"
        layers.append(layer)
    return layers
