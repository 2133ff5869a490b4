# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Looking ahead: the next activation is given as it will be, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Plain, Scripted, sends, wire
from support.kernel_systems import Interleaving, System, run_sequential, systems

from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.layers import Layer, LayeredModel
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Host, Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler

UNTIL = 200


class Foreseeing(Plain):
    """Looks ahead in each activation, and checks what it saw in the next one."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.ahead: Callable[[], Step | None] = lambda: None
        self.seen: Step | None = None
        #: Times of the activations that were seen before.
        self.times: list[int] = []

    def activate(self, step: Step) -> Mapping[str, Any]:
        """As the model that it stands for."""
        if self.seen is not None:
            assert self.seen == step
            self.times.append(step.time)
        sent = self._inner.activate(step)
        self.stop_reason = self._inner.stop_reason
        self.seen = self.ahead()
        return sent

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """What it has seen is not overtaken."""
        assert self.seen is None
        sent: Mapping[str, Any] = self._inner.handle_message(port, step)  # type: ignore[attr-defined]
        return sent

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """The same for a request."""
        assert self.seen is None
        return self._inner.answer_service(name, request, step)  # type: ignore[attr-defined]


class LookingSystem(System):
    """A system whose participants look ahead."""

    def build(self) -> tuple[Graph, dict[str, Model]]:
        """The same system, with what looks."""
        graph, models = super().build()
        return graph, {name: Foreseeing(model) for name, model in models.items()}


def look(runtimes: Mapping[str, ParticipantRuntime]) -> None:
    """Let all of them look ahead."""
    for runtime in runtimes.values():
        assert isinstance(runtime.model, Foreseeing)
        runtime.model.ahead = runtime.ahead


@settings(max_examples=80)
@given(system=systems(max_participants=8), stop_after=st.integers(1, 30))
def test_what_is_seen_comes_in_one_thread(system: System, stop_after: int) -> None:
    system.plan[0]["stop_after"] = stop_after
    graph, models = LookingSystem(system.plan, system.connections).build()
    scheduler = SequentialScheduler(graph, models, stop_latency_ns=30)
    scheduler.horizon = UNTIL
    look(scheduler.runtimes)
    scheduler.run(UNTIL)


@settings(max_examples=80)
@given(system=systems(max_participants=8), seed=st.integers(0, 2**16))
def test_what_is_seen_comes_however_messages_travel(system: System, seed: int) -> None:
    looking = Interleaving(LookingSystem(system.plan, system.connections), UNTIL, seed)
    look(looking.runtimes)
    assert looking.run() == run_sequential(system, UNTIL)


def platoon() -> Graph:
    """A plant, a sensor, and a controller that the messages of the sensor activate."""

    def ports(*names: str, delayed: bool = False) -> tuple[InputPort, ...]:
        return tuple(InputPort(name, delayed) for name in names)

    out = (OutputPort("out", Latency(0)),)
    specs = [
        ParticipantSpec("plant", 10, 0, None, ports("control", delayed=True), out),
        ParticipantSpec("sensor", 40, 0, None, ports("state"), out),
        ParticipantSpec("controller", None, 0, Count("objects"), ports("objects", "state"), out),
        ParticipantSpec("radio", 15, 0, None, ports("state"), out),
    ]
    edges = "plant.out>sensor.state sensor.out>controller.objects plant.out>controller.state"
    edges += " plant.out>radio.state controller.out>plant.control"
    return Graph(specs, wire(edges))


def seen(horizon: int) -> list[int]:
    """Which activations of the plant are seen before."""
    models: dict[str, Model] = dict.fromkeys(("sensor", "controller", "radio"), Plain())
    models = {name: Scripted(sends(out=1)) for name in models}
    models["plant"] = plant = Foreseeing(Scripted(sends(out=2)))
    scheduler = SequentialScheduler(platoon(), models)
    scheduler.horizon = horizon
    plant.ahead = scheduler.runtimes["plant"].ahead
    scheduler.run(121)
    return plant.times


def test_a_plant_sees_ahead_while_its_controllers_wait_for_a_sensor() -> None:
    assert seen(121) == [20, 30, 40, 60, 70, 80, 100, 110, 120]


def test_nothing_is_seen_beyond_the_horizon() -> None:
    assert seen(40) == [20, 30]
    assert seen(0) == []


def test_a_model_with_layers_does_not_look_ahead() -> None:
    """What it will read is not what its ports hold."""
    following = Step(10, {}, {})
    hosts: list[Host] = []

    class Attached(Plain):
        def attach(self, host: Host) -> None:
            hosts.append(host)

    model = LayeredModel(Attached())
    model.attach(Host(lambda seconds: None, lambda: None, ahead=lambda: following))
    ahead = hosts[0].ahead
    assert ahead is not None and ahead() is following
    model.insert(Layer())
    assert ahead() is None
