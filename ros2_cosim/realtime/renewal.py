# SPDX-License-Identifier: Apache-2.0
"""Beginning anew in a process: for another run, or while the run goes on.

What stands around a model is made anew in either case.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ros2_cosim.kernel.errors import CosimError, ParticipantError
from ros2_cosim.kernel.loading import line_of
from ros2_cosim.kernel.model import BeginsAnew, Model, Wrapper, layers
from ros2_cosim.kernel.participant import Host, Step

#: A handler that completes asynchronously is looked at so often [s of wall time].
_LOOK_S = 0.02


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


class Renewable(Wrapper):
    """A model that can begin anew between two activations, while its run goes on.

    :param inner: the model, with what belongs to it around it
    :param name: the participant
    :param make: makes the model, as at the start of the run
    :param around: puts around it what belongs to it
    :param once: its output ports that send at the first activation only
    """

    def __init__(
        self,
        inner: Model,
        name: str,
        make: Callable[[], Model],
        around: Callable[[Model], Model],
        once: Collection[str] = (),
    ) -> None:
        super().__init__(inner)
        self._name = name
        self._make = make
        self._around = around
        self._once = frozenset(once)
        self._host: Host | None = None
        self._activated = False
        #: Whether an earlier beginning has sent on the ports that send once.
        self._has_sent = False
        self._take(inner)

    def _take(self, inner: Model) -> None:
        self._inner = inner
        if not self._once:
            # No call in between where it is hot.
            self.activate = inner.activate  # type: ignore[method-assign]

    def attach(self, host: Host) -> None:
        """Pass on, to each model that begins."""
        self._host = host
        self._inner.attach(host)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Activate the model; what is sent once has been sent by the first one."""
        self._activated = True
        values = self._inner.activate(step)
        if self._has_sent:
            return {port: value for port, value in values.items() if port not in self._once}
        return values

    def begin_again(self) -> None:
        """Let the model begin anew: it collects its results, and then is as at the start.

        Its handlers are called as between two runs in one process.

        :raises ParticipantError: it cannot begin anew, or its reset failed
        """
        *_, before = layers(self._inner)
        self._inner.on_stop()
        self._inner.finish()
        model = renewed(self._inner, self._name, self._make)
        self._take(inner := self._around(model))
        self._has_sent = self._has_sent or self._activated
        if self._host is not None and model is not before:
            inner.attach(self._host)  # one that is kept knows the process
        ready = threading.Event()
        inner.on_communication_ready_async(ready.set)
        while not ready.is_set():
            if self._host is None:
                ready.wait(_LOOK_S)
            else:
                self._host.wait(_LOOK_S)
        inner.on_starting()
