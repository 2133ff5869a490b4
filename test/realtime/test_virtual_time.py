# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants written as step handlers: what the service answers, and dynamic steps."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.behaviours import Plain
from support.engine_network import digests
from support.patience import HANG_S
from support.step_systems import MS, Part, StepSystem, context

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.errors import (
    Aborted,
    ConfigurationError,
    LifecycleError,
    ParticipantError,
)
from ros2_cosim.core.kernel.graph import ParticipantSpec
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.realtime.local_host import local_host
from ros2_cosim.core.realtime.virtual_time import VirtualTime


def test_outputs_come_from_the_return_value_and_from_send():
    def step(time: VirtualTime, step: Step) -> Any:
        if step.time:
            time.send("out", "sent")
            return None
        return {"out": "returned"}

    system = StepSystem(a=Part(10, step))
    system.run(20)
    assert system.sent == [("a", 0, "returned"), ("a", 10, "sent")]


def test_what_needs_an_open_step_is_refused_outside():
    time = VirtualTime(context("motor", 10))
    time.set_step_handler_async(lambda step: None)
    for call in (
        lambda: time.send("out", 1),
        time.complete_step,
        lambda: time.set_next_step(5),
    ):
        with pytest.raises(LifecycleError, match="'motor'.* outside of a step; allowed is"):
            call()
    with pytest.raises(LifecycleError, match="'motor' has no time yet"):
        time.now()


def test_a_step_can_be_completed_once_only():
    def step(time: VirtualTime, step: Step) -> None:
        time.complete_step()
        time.complete_step()

    with pytest.raises(ParticipantError, match="'a' failed .*complete_step outside of a step"):
        StepSystem(a=Part(10, step, asynchronous=True)).run(20)


def test_a_blocking_step_is_not_completed_by_call():
    with pytest.raises(ParticipantError, match="complete when it returns"):
        StepSystem(a=Part(10, lambda time, step: time.complete_step())).run(20)


def test_a_step_without_a_handler_is_an_error():
    with pytest.raises(ParticipantError, match="'a' has no step handler"):
        VirtualTime(context("a")).activate(Step(0, {}, {}))


def test_unknown_handlers_are_refused():
    with pytest.raises(ConfigurationError, match="no handler 'on_start'; allowed are .*on_start"):
        VirtualTime(context("a")).set_handlers(on_start=lambda: None)


def test_a_step_size_is_told():
    sizes = []

    def step(time: VirtualTime, step: Step) -> None:
        sizes.append(time.step_size)
        time.set_next_step(time.now() + 3)
        sizes.append(time.step_size)

    StepSystem(a=Part(10, step, dynamic=True)).run(1)
    assert sizes == [10, 3]
    assert VirtualTime(context("a")).node is None


@pytest.mark.parametrize("how", ["stop", "report_error", "abort"])
def test_another_thread_may_end_the_run_within_an_open_step(how):
    def step(time: VirtualTime, step: Step) -> None:
        def later() -> None:
            getattr(time, how)("enough")
            if how == "stop":
                time.complete_step()

        threading.Thread(target=later).start()

    system = StepSystem(a=Part(10 * MS, step, asynchronous=True))
    if how == "stop":
        scheduler = system.run(1000 * MS)
        assert scheduler.stop_reason == "a: enough"
        assert [time for _, time in system.log] == [0]
        return
    expected = ParticipantError if how == "report_error" else Aborted
    with pytest.raises(expected, match="'a' (reports an error|aborts the run): enough"):
        system.run(1000 * MS)


class TestDynamicSteps:
    def test_the_participant_decides_and_otherwise_the_period_counts(self):
        def step(time: VirtualTime, step: Step) -> None:
            if step.time == 10:
                time.set_next_step(17)

        system = StepSystem(a=Part(10, step, dynamic=True))
        system.run(40)
        assert [time for _, time in system.log] == [0, 10, 17, 27, 37]

    def test_they_have_to_be_declared(self):
        system = StepSystem(a=Part(10, lambda time, step: time.set_next_step(15)))
        with pytest.raises(ParticipantError, match="'a' chose 15ns .*dynamic_step: true"):
            system.run(20)

    def test_time_only_goes_forward(self):
        with pytest.raises(ParticipantError, match="now is 10ns, allowed is any later time"):
            StepSystem(
                a=Part(10, lambda t, s: t.set_next_step(10) if s.time else None, dynamic=True)
            ).run(20)

        class Late(Plain):
            next_time = 0

            def activate(self, step: Step) -> dict[str, Any]:
                return {}

        system = StepSystem(a=Part(10, dynamic=True))
        system.behaviours = lambda: {"a": Late()}  # type: ignore[method-assign]
        with pytest.raises(ParticipantError, match="'a' chose 0s .* at 0s; allowed is any"):
            system.run(20)

    def test_they_need_a_period_to_begin_with(self):
        from ros2_cosim.core.kernel.activation import any_of

        with pytest.raises(ConfigurationError, match="dynamic step, but no period"):
            ParticipantSpec("a", activation=any_of(["x"]), dynamic_step=True)

    def test_their_ports_promise_explicitly(self):
        system = StepSystem(a=Part(10, dynamic=True, schedule="every"), b=Part(10))
        assert lookahead.needs_promises(system.graph(), "a", "out")

    @settings(max_examples=60)
    @given(
        st.lists(st.integers(1, 40), min_size=1, max_size=6),
        st.integers(1, 25),
        st.integers(1, 25),
        st.booleans(),
        st.integers(0, 5),
    )
    def test_engines_give_what_the_reference_gives(self, sizes, fast, slow, delayed, seed):
        def choose(time: VirtualTime, step: Step) -> Any:
            index = sum(step.time.to_bytes(8, "little"))
            time.set_next_step(step.time + sizes[index % len(sizes)])
            return {"out": step.time}

        def fold(time: VirtualTime, step: Step) -> Any:
            newest = step.latest["x"]
            return {"out": (step.time, newest and (newest.stamp, newest.value))}

        def build() -> StepSystem:
            return StepSystem(
                chooser=Part(fast, choose, {"back": "slow"}, delayed=True, dynamic=True),
                quick=Part(fast, fold, {"x": "chooser"}, delayed=delayed),
                slow=Part(slow, fold, {"x": "quick"}),
            )

        expected = digests(build().run(300).runtimes)
        assert build().engines(300, seed).run() == expected


class Recorder:
    """What a participant sends at once, and its waits, as its process sees them."""

    def __init__(self, time: VirtualTime) -> None:
        self.sent: list[tuple[str, Any]] = []
        host = local_host(lambda port, record: self.sent.append((port, record)))
        self.host = host._replace(node="node")
        time.attach(self.host)


def test_what_is_sent_at_once_leaves_before_the_step_is_complete() -> None:
    time = VirtualTime(context("a"))
    process = Recorder(time)
    assert time.node == "node"

    def step(step: Step) -> None:
        def later() -> None:
            time.send_now("urgent", 1)
            time.send("last", 2)
            time.send_now("urgent", 3)
            time.complete_step()

        threading.Thread(target=later).start()

    time.set_step_handler_async(step)
    assert time.activate(Step(5, {}, {})) == {"last": 2}
    assert process.sent == [("urgent", 1), ("urgent", 3)]
    assert time.now() == 5


def test_each_step_is_waited_for() -> None:
    time = VirtualTime(context("a"))

    def step(step: Step) -> None:
        def later() -> None:
            time.send("out", step.time)
            time.complete_step()

        threading.Timer(0.01, later).start()

    time.set_step_handler_async(step)
    assert [dict(time.activate(Step(now, {}, {}))) for now in (5, 15)] == [{"out": 5}, {"out": 15}]


@pytest.mark.parametrize("fails", [False, True])
def test_the_end_of_a_step_wakes_the_process_that_waits_for_it(fails: bool) -> None:
    time = VirtualTime(context("a"))
    woken = threading.Event()
    host = local_host(lambda port, record: None)
    time.attach(host._replace(wait=lambda seconds: woken.wait(HANG_S), wake=woken.set))

    end = partial(time.report_error, "broken") if fails else time.complete_step
    thread = threading.Thread(target=end)
    time.set_step_handler_async(lambda step: thread.start())
    with pytest.raises(ParticipantError, match="broken") if fails else nullcontext():
        time.activate(Step(5, {}, {}))
    # The step may be over before the thread comes to the call that wakes.
    thread.join(HANG_S)
    assert woken.is_set()


def test_while_a_step_is_open_its_process_handles_what_comes() -> None:
    """What ends the step may come on the thread that waits for it."""
    time = VirtualTime(context("a"))
    host = local_host(lambda port, record: None)
    time.attach(host._replace(wait=lambda seconds: time.complete_step()))
    guard = threading.Timer(HANG_S, time.report_error, ["nothing was handled"])
    time.set_step_handler_async(lambda step: guard.start())
    assert time.activate(Step(5, {}, {})) == {}
    guard.cancel()


def test_nothing_is_sent_at_once_outside_of_an_asynchronous_step_of_such_a_process() -> None:
    blocking, alone = VirtualTime(context("a")), VirtualTime(context("b"))
    with pytest.raises(LifecycleError):
        blocking.send_now("out", 1)
    with pytest.raises(LifecycleError, match="has no time yet"):
        blocking.now()
    blocking.set_step_handler(lambda step: blocking.send_now("out", 1))
    with pytest.raises(LifecycleError, match="send_now in a blocking step"):
        blocking.activate(Step(0, {}, {}))
    alone.set_step_handler_async(lambda step: alone.send_now("out", 1))
    with pytest.raises(LifecycleError, match="send_now where the messages of a step leave togeth"):
        alone.activate(Step(0, {}, {}))
    together = VirtualTime(context("c"))
    together.attach(local_host(lambda port, record: None)._replace(send=None))
    together.set_step_handler_async(lambda step: together.send_now("out", 1))
    with pytest.raises(LifecycleError, match="leave together"):
        together.activate(Step(0, {}, {}))


@pytest.mark.parametrize("second", ["set_step_handler", "set_step_handler_async"])
@pytest.mark.parametrize("first", ["set_step_handler", "set_step_handler_async"])
def test_a_second_step_handler_is_refused(first: str, second: str) -> None:
    time = VirtualTime(context("a"))
    getattr(time, first)(lambda step: None)
    with pytest.raises(ConfigurationError, match="'a' has a step handler already; allowed is one"):
        getattr(time, second)(lambda step: None)


def test_messages_and_requests_have_handlers_and_those_without_are_refused() -> None:
    time = VirtualTime(context("a"))

    def handle(step: Step) -> dict[str, Any]:
        time.send("log", step.latest["in"])
        return {"out": time.now()}

    time.set_message_handler("in", handle)
    time.set_service_handler("ask", lambda request, step: (request, time.now()))
    assert time.handle_message("in", Step(4, {}, {"in": 9})) == {"log": 9, "out": 4}
    assert time.answer_service("ask", "q", Step(6, {}, {})) == ("q", 6)
    with pytest.raises(LifecycleError):
        time.send("out", 1)  # the handling is over
    for call in (
        lambda: time.handle_message("other", Step(0, {}, {})),
        lambda: time.answer_service("other", 1, Step(0, {}, {})),
    ):
        with pytest.raises(Exception, match="other"):
            call()
    time.set_message_handler("silent", lambda step: None)
    assert time.handle_message("silent", Step(7, {}, {})) == {}
    time.set_message_handler("bad", lambda step: time.report_error("broken"))
    with pytest.raises(ParticipantError, match="'a' reports an error: broken"):
        time.handle_message("bad", Step(8, {}, {}))
    # It is said once.
    assert time.handle_message("silent", Step(9, {}, {})) == {}


def test_handlers_of_the_lifecycle_are_those_that_are_set() -> None:
    calls: list[Any] = []
    time = VirtualTime(context("a"))
    assert time.ready_handlers == 0
    time.on_communication_ready_async(lambda: calls.append("complete"))
    time.on_stop()
    assert calls == ["complete"]
    time.set_handlers(
        on_communication_ready=lambda: calls.append("ready"),
        on_stop=lambda: calls.append("stop"),
        on_abort=calls.append,
    )
    assert time.ready_handlers == 1
    calls.clear()
    time.on_communication_ready_async(lambda: calls.append("complete"))
    time.on_stop()
    time.on_abort("RUNNING")
    time.on_starting()
    assert calls == ["ready", "complete", "stop", "RUNNING"]
    time.set_handlers(on_communication_ready_async=lambda complete: calls.append("both"))
    assert time.ready_handlers == 2
    calls.clear()
    time.on_communication_ready_async(lambda: calls.append("complete"))
    assert calls == ["both"]


def test_what_a_message_handler_reports_ends_the_run_and_is_said_once() -> None:
    time = VirtualTime(context("a"))

    def handle(step: Step) -> None:
        if step.time == 4:
            time.report_error("no more")

    time.set_message_handler("in", handle)
    with pytest.raises(ParticipantError, match="'a' reports an error: no more"):
        time.handle_message("in", Step(4, {}, {"in": 9}))
    assert time.handle_message("in", Step(5, {}, {"in": 9})) == {}
