# SPDX-License-Identifier: Apache-2.0
"""Taking part in another run of the same process, with what stands around a model made anew."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.model import BeginsAnew, Model, Wrapper


def cannot_begin_anew(model: Model) -> str:
    """Why a model cannot take part in another run in its process; empty if it can."""
    if model.begins_anew is BeginsAnew.CANNOT:
        return "its model holds something open (it has a method close) and has no method reset"
    return ""


def renewed(model: Model, name: str, make: Callable[[], Model]) -> Model:
    """The model of a participant for a run that begins anew, with nothing around it.

    One with a method ``reset`` is kept; one that holds nothing that has to be closed is made
    again.

    :param model: that of the run before, with what stands around it
    :param make: makes the model
    :raises ParticipantError: it can be neither
    """
    obstacle = cannot_begin_anew(model)
    if obstacle:
        raise ParticipantError(f"participant '{name}' cannot begin anew: {obstacle}")
    while isinstance(model, Wrapper):
        model = model.release()
    if model.begins_anew is BeginsAnew.MADE_AGAIN:
        return make()
    model.reset()
    if model.stop_reason is not None:
        model.stop_reason = None
    return model
