# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant whose model is another one from a point of simulated time on.

Until then both models are activated with the same inputs, and only the first one is heard: the
second has seen everything when it takes over. So a model that is substituted by itself changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import full
from ros2_cosim.core.kernel.model import FullModel, Model, Report
from ros2_cosim.core.kernel.participant import Host, Step
from ros2_cosim.core.scenario.adjust import change_controller
from ros2_cosim.core.scenario.registry import available_models, find_model
from ros2_cosim.core.scenario.schema import Scenario, SubstituteSettings


def substituted(scenario: Scenario, name: str) -> Scenario:
    """The scenario as it is when the second model of a participant has taken over."""
    settings = scenario.participants[name]
    later = settings.substitute
    assert later is not None
    parameters = settings.parameters if later.parameters is None else later.parameters
    changed = settings.model_copy(
        update={"model": later.model, "parameters": parameters, "substitute": None}
    )
    return scenario.model_copy(update={"participants": {**scenario.participants, name: changed}})


def with_substitute(scenario: Scenario, name: str, target: str, from_ns: int) -> Scenario:
    """The scenario with another model for a participant.

    :param target: a model as in a scenario, which gets the parameters of the participant; or a
        control law, if its model takes one
    :param from_ns: when it takes over [ns]
    :raises ConfigurationError: there is no such participant, or it has a substitute already
    """
    settings = scenario.participants.get(name)
    if settings is None:
        raise ConfigurationError(
            f"--substitute {name}={target}: no such participant; there are "
            f"{', '.join(scenario.participants)}"
        )
    if settings.substitute is not None:
        raise ConfigurationError(
            f"--substitute {name}={target}: it has a substitute in the scenario already"
        )
    later = SubstituteSettings.model_validate({"model": target, "from": from_ns})
    law = find_model(settings.model, f"participants.{name}.model").kind.traits.law
    if law is not None and not _is_model(target):
        data = {"parameters": dict(settings.parameters)}
        change_controller(data, law, target)
        later = SubstituteSettings.model_validate(
            {"model": settings.model, "parameters": data["parameters"], "from": from_ns}
        )
    changed = settings.model_copy(update={"substitute": later})
    return scenario.model_copy(update={"participants": {**scenario.participants, name: changed}})


def _is_model(target: str) -> bool:
    """Whether a text names a model, and no control law."""
    try:
        find_model(target, "--substitute")
    except ConfigurationError:
        return target in available_models()
    return True


class Substituted(FullModel):
    """Two models in turn.

    :param first: the one until then
    :param second: the one from then on
    :param from_ns: activations at this time [ns] and later are the second one's
    """

    def __init__(self, first: Model, second: Model, from_ns: int) -> None:
        self._first = full(first)
        self._second = full(second)
        self._from = from_ns
        self._current = self._first

    @property
    def stop_reason(self) -> str | None:  # type: ignore[override]
        """Why the model whose turn it is wants the run to end."""
        return self._current.stop_reason

    @property
    def next_time(self) -> int | None:  # type: ignore[override]
        """When the model whose turn it is wants to be activated next."""
        return self._current.next_time

    def attach(self, host: Host) -> None:
        """Both get to know the process; the second one is not heard before its turn."""
        send = host.send

        def in_turn(port: str, record: Any) -> None:
            if send is not None and self._current is self._second:
                send(port, record)

        self._first.attach(host)
        self._second.attach(host._replace(send=None if send is None else in_turn))

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """One after the other."""
        self._first.on_communication_ready_async(
            lambda: self._second.on_communication_ready_async(complete)
        )

    def on_starting(self) -> None:
        """Both."""
        self._first.on_starting()
        self._second.on_starting()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Activate both until the second takes over, then that alone."""
        return self._in_turn(step, lambda model: model.activate(step))

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """The same for a single message."""
        return self._in_turn(step, lambda model: model.handle_message(port, step))

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """The same for a request."""
        return self._in_turn(step, lambda model: model.answer_service(name, request, step))

    def _in_turn(self, step: Step, act: Callable[[FullModel], Any]) -> Any:
        if step.time >= self._from:
            self._current = self._second
            return act(self._second)
        answer = act(self._first)
        act(self._second)
        return answer

    def save_state(self) -> Any:
        """Those of both, and which one's turn it is."""
        turn = self._current is self._second
        return [turn, self._first.save_state(), self._second.save_state()]

    @property
    def unsaved(self) -> str | None:
        """Why one of them stands in the way of a checkpoint."""
        reasons = (self._first.unsaved, self._second.unsaved)
        return max((reason for reason in reasons if reason is not None), default=None)

    def restore_state(self, state: Any) -> None:
        """Both go back."""
        turn, first, second = state
        self._first.restore_state(first)
        self._second.restore_state(second)
        self._current = self._second if turn else self._first

    def on_stop(self) -> None:
        """Both."""
        self._first.on_stop()
        self._second.on_stop()

    def finish(self) -> None:
        """Both."""
        self._first.finish()
        self._second.finish()

    def report(self) -> Report:
        """What the model says whose turn it was at the end."""
        return self._current.report()

    def on_shutdown(self) -> None:
        """Both."""
        self._first.on_shutdown()
        self._second.on_shutdown()

    def on_abort(self, before: Any) -> None:
        """Both."""
        self._first.on_abort(before)
        self._second.on_abort(before)

    def close(self) -> None:
        """Both."""
        try:
            self._first.close()
        finally:
            self._second.close()
