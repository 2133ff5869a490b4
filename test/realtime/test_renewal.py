# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens to a model and its layers when a run begins again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.behaviours import Plain
from support.coupling_signals import adapted
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.layers import Layer, LayeredModel
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Host, Step
from ros2_cosim.core.realtime.local_host import local_host
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.renewal import Reset, cannot_begin_anew, renewed
from ros2_cosim.core.realtime.run_settings import RealtimeRun


class Open(Plain):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.stop_reason: str | None = "done"

    def close(self) -> None:
        self.calls.append("close")


class Able(Open):
    def reset(self) -> None:
        self.calls.append("reset")


def test_a_model_that_holds_nothing_is_made_again() -> None:
    made = Plain()
    assert cannot_begin_anew(LayeredModel(Plain())) == ""
    assert renewed(LayeredModel(Plain(), [Layer()]), "p", lambda: made) is made


def test_a_model_that_can_is_kept_without_its_layers() -> None:
    model = Able()
    assert cannot_begin_anew(LayeredModel(model)) == ""
    assert renewed(LayeredModel(model, [Layer()]), "p", Plain) is model
    assert model.calls == ["reset"]
    assert model.stop_reason is None


def test_a_model_that_cannot_is_named_and_nothing_is_done_to_it() -> None:
    model = Open()
    assert "a method close) and has no method reset" in cannot_begin_anew(LayeredModel(model))
    with pytest.raises(ParticipantError, match="participant 'p' cannot begin anew: its model hold"):
        renewed(LayeredModel(model), "p", Plain)
    assert model.calls == []


class Broken(Open):
    def reset(self) -> None:
        raise ValueError("no way back")


def test_a_reset_that_fails_is_said_with_its_line() -> None:
    with pytest.raises(ParticipantError) as raised:
        renewed(LayeredModel(Broken()), "p", Plain)
    assert str(raised.value).startswith(
        "participant 'p' cannot begin anew: its method reset failed: ValueError: no way back ("
    )


def test_the_thread_of_a_slow_part_ends_and_its_model_stays_open() -> None:
    def threads() -> set[str]:
        return {t.name for t in threading.enumerate() if t.name.startswith("slow part")}

    model = Able()
    paced = RealtimeRun(Pacer(1.0, VirtualClock()))
    coupled = adapted(model, {}, run=paced)
    assert threads() == {"slow part slow"}
    assert renewed(coupled, "slow", Plain) is model
    assert threads() == set()
    assert model.calls == ["reset"]


class Counting(Plain):
    """Counts its activations; can be reset where ``keeps`` says so."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name, self.count = log, name, 0
        self.stop_reason: str | None = None
        self.host: Host | None = None

    def attach(self, host: Host) -> None:
        self.host = host
        self.log.append(f"{self.name} attached")

    def on_communication_ready(self) -> None:
        self.log.append(f"{self.name} ready")

    def on_starting(self) -> None:
        self.log.append(f"{self.name} starting")

    def on_stop(self) -> None:
        self.log.append(f"{self.name} stop")

    def finish(self) -> None:
        self.log.append(f"{self.name} finish")

    def activate(self, step: Step) -> dict[str, Any]:
        self.count += 1
        return {"always": self.count, "first": self.name}


class Kept(Counting):
    def reset(self) -> None:
        self.count = 0
        self.log.append(f"{self.name} reset")


STEP = Step(0, {}, {})


def resettable(
    model: Model, make: Callable[[], Model], once: Sequence[str] = ()
) -> tuple[LayeredModel, Reset]:
    """A model with one layer below that by which it begins anew."""
    layer = Reset("p", make, lambda: [Layer()], once)
    return LayeredModel(model, [Layer(), layer]), layer


def test_a_model_that_begins_anew_within_a_run_is_made_again_and_meets_the_process() -> None:
    log: list[str] = []
    second = Counting(log, "second")
    model, layer = resettable(Counting(log, "first"), lambda: second, once=["first"])
    below = model.layers[0]
    sent: list[Any] = []
    model.attach(local_host(lambda port, record: sent.append((port, record))))
    assert model.activate(STEP) == {"always": 1, "first": "first"}
    assert model.activate(STEP) == {"always": 2, "first": "first"}
    layer.begin_again()
    assert log == [
        "first attached", "first stop", "first finish", "second attached", "second ready",
        "second starting",
    ]  # fmt: skip
    assert second.host is not None and second.host.send is not None
    second.host.send("port", 1)
    assert sent == [("port", 1)]
    # The layers below are made again, those above are not.
    assert model.layers[0] is not below and model.layers[1:] == (layer,)
    # What is sent once has been sent by the first.
    assert model.activate(STEP) == {"always": 1}
    layer.begin_again()
    assert model.activate(STEP) == {"always": 2}


def test_a_model_that_is_kept_knows_the_process_already() -> None:
    log: list[str] = []
    model, layer = resettable(Kept(log, "m"), Plain, once=["first"])
    model.attach(local_host(lambda port, record: None))
    # Nothing was sent before it began anew, so the port that sends once has yet to send.
    layer.begin_again()
    assert log == [
        "m attached", "m stop", "m finish", "m reset", "m ready", "m starting"
    ]  # fmt: skip
    assert model.activate(STEP) == {"always": 1, "first": "m"}


def test_without_ports_that_send_once_the_newest_model_is_activated_itself() -> None:
    log: list[str] = []
    second = Counting(log, "second")
    model, layer = resettable(Counting(log, "first"), lambda: second)
    assert model.activate(STEP) == {"always": 1, "first": "first"}
    layer.begin_again()  # there is no process: nothing is attached
    assert model.activate(STEP) == {"always": 1, "first": "second"}
    assert "second attached" not in log


def test_a_slow_handler_is_waited_for() -> None:
    class Slow(Plain):
        def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
            threading.Thread(target=lambda: (ready.wait(), complete())).start()
            threading.Timer(0.02, ready.set).start()

        def on_starting(self) -> None:
            started.append(ready.is_set())

    for host in (None, local_host(lambda port, record: None)):
        ready, started = threading.Event(), list[bool]()
        model, layer = resettable(Slow(), Slow)
        if host is not None:
            model.attach(host)
        layer.begin_again()
        assert started == [True]
