# SPDX-License-Identifier: Apache-2.0
"""Taking part in another run of the same process, with what stands around a model made anew."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.kernel.errors import CosimError, ParticipantError
from ros2_cosim.kernel.loading import line_of
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
    :raises ParticipantError: it can be neither, or its reset failed
    """
    obstacle = cannot_begin_anew(model)
    if obstacle:
        raise ParticipantError(f"participant '{name}' cannot begin anew: {obstacle}")
    while isinstance(model, Wrapper):
        model = model.release()
    if model.begins_anew is BeginsAnew.MADE_AGAIN:
        return make()
    try:
        model.reset()
    except CosimError:
        raise
    except Exception as error:
        raise ParticipantError(
            f"participant '{name}' cannot begin anew: its method reset failed: "
            f"{type(error).__name__}: {error}{line_of(error)}"
        ) from error
    if model.stop_reason is not None:
        model.stop_reason = None
    return model
