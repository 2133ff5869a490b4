# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Beginning anew in a process: for another run, or while the run goes on.

The layers of a model are made anew in either case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ros2_cosim.core.kernel.errors import CosimError, ParticipantError
from ros2_cosim.core.kernel.layers import Activation, Layer, LayeredModel, full
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import BeginsAnew, FullModel
from ros2_cosim.core.kernel.participant import Host

#: Interval of looks at a handler that completes asynchronously [s of wall time].
_LOOK_S = 0.02


def cannot_begin_anew(model: FullModel) -> str:
    """Why a model cannot take part in another run in its process; empty if it can."""
    if model.begins_anew is BeginsAnew.CANNOT:
        return "its model holds something open (it has a method close) and has no method reset"
    return ""


def renewed(model: FullModel, name: str, make: Callable[[], FullModel]) -> FullModel:
    """The model of a participant for a run that begins anew, without layers.

    One with a method ``reset`` is kept; a model that holds nothing that has to be closed is made
    again.

    :param model: that of the run before, with its layers
    :param make: makes the model
    :raises ParticipantError: it can be neither, or its reset failed
    """
    obstacle = cannot_begin_anew(model)
    if obstacle:
        raise ParticipantError(f"participant '{name}' cannot begin anew: {obstacle}")
    if isinstance(model, LayeredModel):
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


class Reset(Layer):
    """Restarts the model between two activations of a run.

    :param name: the participant
    :param make: makes the model, as at the start of the run
    :param below: makes the layers that are nearer to the model
    :param once: its output ports that send at the first activation only
    """

    keeps_records = True

    def __init__(
        self,
        name: str,
        make: Callable[[], FullModel],
        below: Callable[[], Sequence[Layer]],
        once: Collection[str] = (),
    ) -> None:
        self._name = name
        self._make = make
        self._below = below
        self._once = frozenset(once)
        self._whole: LayeredModel
        self._host: Host | None = None
        self._activated = False
        #: Whether an earlier beginning has sent on the ports that send once.
        self._has_sent = False

    def placed(self, model: LayeredModel) -> None:
        """Get to know whose model it is."""
        self._whole = model

    def attach(self, host: Host) -> Host:
        """Get to know the process."""
        self._host = host
        return host

    def around(self, below: Activation) -> Activation:
        """No call in between where nothing is sent once."""
        return super().around(below) if self._once else below

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The first model has sent the messages of schedule ``once``."""
        self._activated = True
        if self._has_sent:
            return {port: value for port, value in values.items() if port not in self._once}
        return values

    def begin_again(self) -> None:
        """Let the model begin anew: it collects its results, and then is as at the start.

        Its handlers are called as between two runs in one process.

        :raises ParticipantError: it cannot begin anew, or its reset failed
        """
        before = full(self._whole.model)
        before.on_stop()
        before.finish()
        model = renewed(before, self._name, self._make)
        self._whole.exchange(model, self._below(), above=self)
        self._has_sent = self._has_sent or self._activated
        ready = threading.Event()
        model.on_communication_ready_async(ready.set)
        while not ready.is_set():
            if self._host is None:
                ready.wait(_LOOK_S)
            else:
                self._host.wait(_LOOK_S)
        model.on_starting()
