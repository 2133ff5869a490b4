# SPDX-License-Identifier: Apache-2.0
"""What stands around a model and passes on everything that it does not do itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.participant import Behaviour


class Around:
    """A behaviour around another one: figures, verdicts, stop_reason, close, ... are the model's.

    :param behaviour: the model
    """

    #: What the model can do, but not together with what stands around it.
    _not_passed_on = frozenset({"reset"})

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def release(self) -> Behaviour:
        """Give up what stands around the model; it stays as it is, for a run that begins anew."""
        return self._behaviour

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self._not_passed_on:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
        return getattr(self._behaviour, name)


def cannot_begin_anew(behaviour: Behaviour) -> str:
    """Why a model cannot take part in another run in its process; empty if it can.

    What stands around it is made anew each time.
    """
    while isinstance(behaviour, Around):
        behaviour = behaviour._behaviour
    if hasattr(behaviour, "reset") or not hasattr(behaviour, "close"):
        return ""
    return "its model holds something open (it has a method close) and has no method reset"


def renewed(behaviour: Behaviour, name: str, make: Callable[[], Behaviour]) -> Behaviour:
    """The model of a participant for a run that begins anew, with nothing around it.

    One with a method ``reset`` is kept; one that holds nothing that has to be closed is made
    again.

    :param behaviour: that of the run before, with what stands around it
    :param make: makes the model
    :raises ParticipantError: it can be neither
    """
    obstacle = cannot_begin_anew(behaviour)
    if obstacle:
        raise ParticipantError(f"participant '{name}' cannot begin anew: {obstacle}")
    while isinstance(behaviour, Around):
        behaviour = behaviour.release()
    reset = getattr(behaviour, "reset", None)
    if reset is None:
        return make()
    reset()
    if getattr(behaviour, "stop_reason", None) is not None:
        behaviour.stop_reason = None  # type: ignore[attr-defined]
    return behaviour
