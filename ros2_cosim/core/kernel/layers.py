# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands between a model and its ports: an ordered list of layers.

A layer is one thing that happens to what a model reads and sends: messages are converted,
estimated, lost. It knows neither the other layers nor what made it. The list of a participant
begins next to its model and ends at its ports; which layers there are, in which order and why
says :mod:`ros2_cosim.core.scenario.layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from ros2_cosim.core.kernel.model import BeginsAnew, FullModel, Model, Onlooker, Report
from ros2_cosim.core.kernel.participant import Host, Step

#: What an activation calls: inputs -> output port name -> record.
Activation = Callable[[Step], Mapping[str, Any]]


class Layer:
    """One thing between a model and its ports. By default nothing happens to anything.

    ``below`` is the model with the layers that are nearer to it.
    """

    #: By which a checkpoint knows its state.
    name: str = ""
    #: Why its state is not part of a checkpoint; None: it is one, by ``save_state``.
    unsaved: str | None = None
    #: Whether it sends no other records than those of the model, though perhaps fewer.
    keeps_records: bool = False

    def placed(self, model: LayeredModel) -> None:
        """Get to know the model whose layer this is."""

    def attach(self, host: Host) -> Host:
        """The process as those below see it."""
        return host

    def begin(self, time: int) -> bool:
        """An activation begins: model and layers may be changed here, and nowhere else.

        :param time: of the activation [ns]
        :returns: whether those below take part in it
        """
        return True

    def around(self, below: Activation) -> Activation:
        """What is called instead of ``below``: by default what ``read`` and ``sent`` say."""
        own = type(self)
        reads, sends = own.read is not Layer.read, own.sent is not Layer.sent

        def both(step: Step) -> Mapping[str, Any]:
            return self.sent(step.time, below(self.read(step)))

        def after(step: Step) -> Mapping[str, Any]:
            return self.sent(step.time, below(step))

        def before(step: Step) -> Mapping[str, Any]:
            return below(self.read(step))

        if reads:
            return both if sends else before
        return after if sends else below

    def read(self, step: Step) -> Step:
        """What those below see of an activation's inputs."""
        return step

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What becomes of what an activation sends.

        :param time: of the activation [ns]
        :param values: output port -> record
        """
        return values

    def at_once(self, port: str, record: Any) -> Any:
        """What becomes of a message that is sent within an activation; None: it is lost."""
        return record

    def stop_reason(self, reason: str | None) -> str | None:
        """Why the run is to end, where those below say ``reason``."""
        return reason

    def next_time(self, time: int | None) -> int | None:
        """When the next activation is to be [ns], where those below say ``time``."""
        return time

    def save_state(self) -> Any:
        """Its state as plain data."""
        return None

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""

    def report(self, report: Report) -> Report:
        """What the summary says, where those below say ``report``."""
        return report

    def over(self) -> None:
        """No activation follows."""

    def close(self) -> None:
        """Release what it holds, before those below do."""

    def release(self) -> None:
        """Leave the model as it was found: it begins anew without this layer."""


_Kind = TypeVar("_Kind")


class LayeredModel(FullModel):
    """A model with layers.

    :param model: what computes
    :param layers: from the model to its ports
    :ivar on_change: called when other layers, or another model, are there
    """

    def __init__(self, model: Model, layers: Sequence[Layer] = ()) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self._model = model = bare(model)
        #: It too, if it takes part in more than activations.
        self._full: FullModel
        self._layers: tuple[Layer, ...] = ()
        self._host: Host | None = None
        self._put(model, tuple(layers))

    @property
    def model(self) -> Model:
        """What computes, without its layers."""
        return self._model

    @property
    def layers(self) -> tuple[Layer, ...]:
        """From the model to its ports."""
        return self._layers

    def find(self, kind: type[_Kind]) -> _Kind | None:
        """Its layer of a kind, None without one."""
        return next((each for each in self._layers if isinstance(each, kind)), None)

    def insert(self, layer: Layer, below: Layer | None = None) -> None:
        """Add a layer between two activations.

        :param below: the one that it comes next to, on the side of the model; None: it comes next
            to the ports
        """
        at = len(self._layers) if below is None else self._layers.index(below)
        self._put(self._model, (*self._layers[:at], layer, *self._layers[at:]))

    def exchange(self, model: Model, layers: Sequence[Layer], above: Layer) -> None:
        """Let another model go on, between two activations.

        :param layers: those that are nearer to the model than ``above``
        """
        model = bare(model)
        is_other = model is not self._model
        at = self._layers.index(above)
        self._put(model, (*layers, *self._layers[at:]))
        if is_other and self._host is not None:
            self._attach(self._host)  # a kept model knows the process

    def _put(self, model: Model, layers: tuple[Layer, ...]) -> None:
        known, self._layers, self._model = self._layers, layers, model
        self._full = model if isinstance(model, FullModel) else Onlooker()
        for layer in layers:
            if layer not in known:
                layer.placed(self)
        self._beginning = [x for x in reversed(layers) if type(x).begin is not Layer.begin]
        #: Those that decide about the end of the run, and about the next activation.
        self._ending = [x for x in layers if type(x).stop_reason is not Layer.stop_reason]
        self._choosing = [x for x in layers if type(x).next_time is not Layer.next_time]
        self._around = self._over(model.activate)
        self.on_change()

    def _over(self, activation: Activation) -> Activation:
        for layer in self._layers:
            activation = layer.around(activation)
        return activation

    @property
    def unsaved(self) -> str | None:
        """Why model or a layer stand in the way of a checkpoint; None: they do not."""
        for layer in self._layers:
            if layer.unsaved is not None:
                return layer.unsaved
        return self._full.unsaved

    @property
    def activation(self) -> Activation:
        """What an activation calls until ``on_change``: what begins nothing has no part in it."""
        return self.activate if self._beginning else self._around

    @property
    def decider(self) -> Model:
        """Whose ``stop_reason`` and ``next_time`` count until ``on_change``."""
        return self if self._ending or self._choosing else self._model

    @property
    def stop_reason(self) -> str | None:  # type: ignore[override]
        """Why model and layers want the run to end."""
        reason = self._model.stop_reason
        for layer in self._ending:
            reason = layer.stop_reason(reason)
        return reason

    @property
    def next_time(self) -> int | None:  # type: ignore[override]
        """When model and layers want the next activation."""
        time = self._model.next_time
        for layer in self._choosing:
            time = layer.next_time(time)
        return time

    def attach(self, host: Host) -> None:
        """Let the model know the process; what it sends at once passes the layers."""
        self._host = host
        self._attach(host)

    def _attach(self, host: Host) -> None:
        if host.send is not None:
            host = host._replace(send=self.send_at_once)
        if host.ahead is not None:
            host = host._replace(ahead=self._ahead)
        for layer in reversed(self._layers):
            host = layer.attach(host)
        self._full.attach(host)

    def send_at_once(self, port: str, record: Any, above: Layer | None = None) -> None:
        """Send within an activation.

        :param above: the layer that sends; None: the model
        """
        assert self._host is not None and self._host.send is not None
        first = 0 if above is None else self._layers.index(above) + 1
        for layer in self._layers[first:]:
            record = layer.at_once(port, record)
            if record is None:
                return
        self._host.send(port, record)

    def _ahead(self) -> Step | None:
        """The next activation, where no layer has a say in what the model sees of it."""
        host = self._host
        return None if self._layers or host is None or host.ahead is None else host.ahead()

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """Pass on, whichever of the two handlers the model has."""
        self._full.on_communication_ready_async(complete)

    def on_starting(self) -> None:
        """Pass on."""
        self._full.on_starting()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Activate the model, through its layers."""
        if self._beginning:
            self._begin(step.time)
        return self._around(step)

    def _begin(self, time: int) -> None:
        for layer in self._beginning:
            if not layer.begin(time):
                return

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """The same for a single message; a message that a layer has lost is not handled."""

        def handle(step: Step) -> Mapping[str, Any]:
            return self._full.handle_message(port, step) if step.samples[port] else {}

        self._begin(step.time)
        return self._over(handle)(step)

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Answer a request; the other inputs are as the layers let them be."""
        self._begin(step.time)
        for layer in reversed(self._layers):
            step = layer.read(step)
        return self._full.answer_service(name, request, step)

    def on_stop(self) -> None:
        """Tell layers and model that no activation follows."""
        self._end()
        self._full.on_stop()

    def finish(self) -> None:
        """Pass on."""
        self._end()
        self._full.finish()

    def _end(self) -> None:
        for layer in reversed(self._layers):
            layer.over()

    def report(self) -> Report:
        """What the model says, and each layer about it."""
        report = self._full.report()
        for layer in self._layers:
            report = layer.report(report)
        return report

    def on_shutdown(self) -> None:
        """Pass on."""
        self._full.on_shutdown()

    def on_abort(self, before: Any) -> None:
        """Pass on."""
        self._full.on_abort(before)

    def close(self) -> None:
        """Close the layers, those next to the ports first, and the model in any case."""
        with ExitStack() as stack:
            stack.callback(self._full.close)
            for layer in self._layers:
                stack.callback(layer.close)

    def reset(self) -> None:
        """Pass on."""
        self._full.reset()

    def release(self) -> FullModel:
        """Give up the layers; the model stays unchanged, for a run that begins anew."""
        for layer in reversed(self._layers):
            layer.release()
        return full(self._model)

    def save_state(self) -> Any:
        """The states of the layers, by name, and of the model."""
        saved = [x for x in self._layers if type(x).save_state is not Layer.save_state]
        return [{layer.name: layer.save_state() for layer in saved}, self._full.save_state()]

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        layers, model = state
        self._full.restore_state(model)
        for layer in self._layers:
            if layer.name in layers:
                layer.restore_state(layers[layer.name])

    def change_parameters(self, parameters: Any) -> None:
        """Pass on."""
        self._full.change_parameters(parameters)

    @property
    def begins_anew(self) -> BeginsAnew:
        """The layers are made anew each time: the model decides."""
        return self._full.begins_anew

    @property
    def ready_handlers(self) -> int:
        """Those of the model."""
        return self._full.ready_handlers


def bare(model: Model) -> Model:
    """A model without its layers."""
    return model.model if isinstance(model, LayeredModel) else model


def full(model: Model) -> FullModel:
    """A model as the kernel uses it."""
    return model if isinstance(model, FullModel) else LayeredModel(model)


def gives_exact_records(model: Model) -> bool:
    """Whether the records that reach the ports have the types of their fields.

    The class of the model says so itself (one derived from it may send others), and each layer
    keeps them.
    """
    if isinstance(model, LayeredModel):
        if not all(layer.keeps_records for layer in model.layers):
            return False
        model = model.model
    return "traits" in vars(type(model)) and model.traits.exact_records
