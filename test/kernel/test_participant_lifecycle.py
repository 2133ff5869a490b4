# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The life of a participant: handlers in their order, failures, aborts, several together."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest
from support.behaviours import Plain

from ros2_cosim.core.kernel.errors import (
    Cancelled,
    ConfigurationError,
    LifecycleError,
    ParticipantError,
    RunError,
)
from ros2_cosim.core.kernel.lifecycle import Change, Operation, State
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.participant import Host
from ros2_cosim.core.kernel.participant_lifecycle import ParticipantLifecycle


class Witness(Plain):
    """Notes each call of a handler; ``fails`` names one that raises."""

    def __init__(self, name: str = "p", log: list[str] | None = None, fails: str = "") -> None:
        self.log = log if log is not None else []
        self._name = name
        self._fails = fails

    def _note(self, what: str) -> None:
        self.log.append(f"{self._name} {what}")
        if what.split()[0] == self._fails:
            raise ValueError("out of range")

    def activate(self, step):
        return {}

    def on_communication_ready(self) -> None:
        self._note("ready")

    def on_starting(self) -> None:
        self._note("starting")

    def on_stop(self) -> None:
        self._note("stop")

    def finish(self) -> None:
        self._note("finish")

    def on_shutdown(self) -> None:
        self._note("shutdown")

    def on_abort(self, before: State) -> None:
        self._note(f"abort in {before.name}")

    def close(self) -> None:
        self._note("close")


def whole(life: ParticipantLifecycle) -> None:
    life.create()
    for system in State:
        life.follow(system, connected=True)
    life.stop("end")
    life.stopped("done")
    life.shut_down("over")
    life.close()


def test_handlers_are_called_once_each_in_the_order_of_the_course():
    witness = Witness()
    changes: list[Change] = []
    whole(ParticipantLifecycle("p", witness, on_change=changes.append))
    assert witness.log == [
        f"p {what}" for what in ("ready", "starting", "stop", "finish", "shutdown", "close")
    ]
    states = [change.state for change in changes]
    assert states == [
        State(number) for number in range(1, 12) if number not in (State.PAUSED, State.ERROR)
    ]
    assert all(change.reason for change in changes)


def test_a_model_gets_to_know_its_process_before_everything_else() -> None:
    found: list[object] = []

    class Attached(Plain):
        def attach(self, host: object) -> None:
            found.append(host)

    ParticipantLifecycle("p", Attached())
    assert found == []
    process = Host(lambda seconds: None, lambda: None)
    ParticipantLifecycle("p", Attached(), host=process)
    assert found == [process]


def test_a_behaviour_needs_no_handler():
    life = ParticipantLifecycle("p", Plain())
    whole(life)
    assert life.state is State.SHUT_DOWN


def test_a_coordinated_participant_waits_for_the_system_an_autonomous_one_does_not():
    coordinated = ParticipantLifecycle("c", Plain())
    autonomous = ParticipantLifecycle("a", Plain(), operation=Operation.AUTONOMOUS)
    for life in (coordinated, autonomous):
        life.create()
        life.follow(State.INVALID, connected=True)
    assert coordinated.state is State.SERVICES_CREATED
    assert autonomous.state is State.RUNNING
    coordinated.follow(State.SERVICES_CREATED, connected=False)
    assert coordinated.state is State.COMMUNICATION_INITIALISING
    coordinated.follow(State.COMMUNICATION_INITIALISING, connected=True)
    assert coordinated.state is State.COMMUNICATION_INITIALISED
    coordinated.follow(State.COMMUNICATION_INITIALISED, connected=True)
    assert coordinated.state is State.READY_TO_RUN
    coordinated.follow(State.READY_TO_RUN, connected=True)
    assert coordinated.state is State.RUNNING


def test_the_asynchronous_handler_holds_until_it_is_completed():
    class Slow(Plain):
        def on_communication_ready_async(self, complete):
            self.complete = complete

    slow = Slow()
    life = ParticipantLifecycle("p", slow)
    life.create()
    for _ in range(3):
        life.follow(State.COMMUNICATION_INITIALISED, connected=True)
        assert life.state is State.COMMUNICATION_INITIALISED
        assert life.waits_for_completion
    thread = threading.Thread(target=slow.complete)
    thread.start()
    thread.join()
    life.follow(State.COMMUNICATION_INITIALISED, connected=True)
    assert life.state is State.READY_TO_RUN
    assert not life.waits_for_completion


def test_both_kinds_of_ready_handlers_are_refused():
    class Both(Plain):
        def on_communication_ready(self):
            """Blocking."""

        def on_communication_ready_async(self, complete):
            """Not blocking."""

    with pytest.raises(ConfigurationError, match="'p'.*both.*allowed is one"):
        ParticipantLifecycle("p", Both())


@pytest.mark.parametrize("handler", ["ready", "starting", "stop", "finish", "shutdown", "abort"])
def test_an_exception_in_a_handler_names_participant_and_handler(handler):
    life = ParticipantLifecycle("p", Witness(fails=handler))
    with pytest.raises(ParticipantError, match="'p' failed in its handler .*out of range"):
        if handler == "abort":
            life.create()
            life.abort("over")
        whole(life)


def test_interruptions_pass_through_handlers_unchanged():
    class Interrupted(Plain):
        def on_stop(self):
            raise Cancelled("asked to end")

    life = ParticipantLifecycle("p", Interrupted())
    life.create()
    with pytest.raises(Cancelled, match="asked to end"):
        life.stop("end")


def test_the_abort_handler_gets_the_state_before_and_is_called_once():
    for state in (State.SERVICES_CREATED, State.RUNNING):
        witness = Witness()
        life = ParticipantLifecycle("p", witness)
        life.create()
        if state is State.RUNNING:
            life.follow(State.RUNNING, connected=True)
        life.abort("another participant failed")
        life.abort("again")
        assert witness.log[-1] == f"p abort in {state.name}"
        assert sum("abort" in line for line in witness.log) == 1
        assert life.state is State.SHUT_DOWN


def test_out_of_an_error_there_is_the_shut_down_only():
    witness = Witness()
    life = ParticipantLifecycle("p", witness)
    life.create()
    life.follow(State.RUNNING, connected=True)
    life.fail("broken")
    assert (life.state, life.reason) == (State.ERROR, "broken")
    with pytest.raises(LifecycleError, match="is ERROR; asked for RUNNING"):
        life.resume("go on")
    life.shut_down("after an error")
    assert witness.log[-1] == "p shutdown"
    life.fail("too late")
    assert life.state is State.SHUT_DOWN


def test_pause_and_resume():
    life = ParticipantLifecycle("p", Plain())
    life.create()
    with pytest.raises(LifecycleError, match="is SERVICES_CREATED; asked for PAUSED"):
        life.pause("debugger")
    life.follow(State.RUNNING, connected=True)
    life.pause("debugger")
    assert (life.state, life.reason) == (State.PAUSED, "debugger")
    life.resume("go on")
    assert life.state is State.RUNNING


class TestTogether:
    def test_all_go_through_each_state_together(self):
        log: list[str] = []
        system: list[State] = []
        lifecycles = LifecycleGroup(
            {name: Witness(name, log) for name in ("b", "a")},
            on_system=lambda state, reason: system.append(state),
        )
        lifecycles.start(partial(time.sleep, 0.01))
        assert lifecycles.system is State.RUNNING
        lifecycles.stop("end of the run")
        lifecycles.shut_down("complete")
        lifecycles.close()
        assert system == [s for s in State if 1 <= s <= 11 and s not in (6, 9)]
        assert log == [
            "b ready", "a ready", "b starting", "a starting", "b stop", "b finish", "a stop",
            "a finish", "b shutdown", "a shutdown", "b close", "a close",
        ]  # fmt: skip

    @pytest.mark.parametrize(("error", "failed"), [(ParticipantError, ["a"]), (RunError, [])])
    def test_the_participant_of_the_activation_has_failed_if_that_failed(self, error, failed):
        changes: list[Change] = []
        witnesses = {n: Witness(n, []) for n in ("b", "a")}
        lives = LifecycleGroup(witnesses, on_change=changes.append)
        with (
            pytest.raises(error, match="broke"),
            lives.during(partial(time.sleep, 0.01), lambda: "a"),
        ):
            raise error("broke")
        assert [change.participant for change in changes if change.state is State.ERROR] == failed

    def test_one_that_fails_to_close_keeps_no_other_open(self):
        log: list[str] = []
        lives = LifecycleGroup({n: Witness(n, log, fails="close") for n in ("b", "a")})
        with pytest.raises(ParticipantError, match="'b' failed in its handler close: ValueError"):
            with lives.during(partial(time.sleep, 0.01), lambda: None):
                pass
        assert log[-2:] == ["b close", "a close"]
        lives = LifecycleGroup({n: Witness(n, log, fails="close") for n in ("b", "a")})
        with pytest.raises(ParticipantError, match="the first cause"):
            with lives.during(partial(time.sleep, 0.01), lambda: None):
                raise ParticipantError("the first cause")
        assert log[-2:] == ["b close", "a close"]

    def test_no_participant_starts_before_the_slowest_is_ready(self):
        log: list[str] = []

        class Slow(Plain):
            def on_communication_ready_async(self, complete):
                self.complete = complete
                log.append("begun")

            def on_starting(self):
                log.append("slow starting")

        slow = Slow()
        waits = []

        def wait() -> None:
            waits.append(len(log))
            if len(waits) == 3:
                log.append("completed")
                slow.complete()

        LifecycleGroup({"slow": slow, "quick": Witness("quick", log)}).start(wait)
        assert len(waits) == 3
        assert log.index("quick ready") < log.index("completed") < log.index("slow starting")
        assert log.index("completed") < log.index("quick starting")

    def test_an_error_of_one_aborts_the_others_and_shuts_it_down(self):
        log: list[str] = []
        changes: list[Change] = []
        system: list[State] = []
        lifecycles = LifecycleGroup(
            {name: Witness(name, log, "abort" if name == "b" else "") for name in "abc"},
            on_change=changes.append,
            on_system=lambda state, reason: system.append(state),
        )
        lifecycles.start(partial(time.sleep, 0.01))
        log.clear()
        lifecycles.fail("a", "broken")
        assert log == ["a shutdown", "b abort in RUNNING", "c abort in RUNNING"]
        assert State.ERROR in system
        assert [c.state for c in changes if c.participant == "a"][-3:] == [
            State.ERROR, State.SHUTTING_DOWN, State.SHUT_DOWN,
        ]  # fmt: skip

    def test_a_paused_one_pauses_the_system(self):
        lifecycles = LifecycleGroup({name: Plain() for name in "ab"})
        lifecycles.start(partial(time.sleep, 0.01))
        lifecycles.of["a"].pause("debugger")
        assert (lifecycles.system, lifecycles.paused) == (State.PAUSED, ["a"])
        lifecycles.of["a"].resume("go on")
        assert (lifecycles.system, lifecycles.paused) == (State.RUNNING, [])


def test_a_configuration_is_given_up_and_taken_again_within_a_pause():
    changes: list[Change] = []
    life = ParticipantLifecycle("p", Plain(), on_change=changes.append)
    with pytest.raises(LifecycleError, match=r"^participant 'p' is INVALID; asked for cleanup$"):
        life.clean_up("cleanup")
    life.create()
    for system in (State.SERVICES_CREATED, State.COMMUNICATION_INITIALISED, State.READY_TO_RUN):
        life.follow(system, connected=True)
    life.pause("wait")
    assert not life.unconfigured
    with pytest.raises(LifecycleError, match=r"^participant 'p' is PAUSED; asked for configure$"):
        life.configure("configure")
    life.clean_up("cleanup")
    assert life.unconfigured and (life.state, life.reason) == (State.PAUSED, "cleanup")
    with pytest.raises(LifecycleError, match=r"^participant 'p' is unconfigured; asked for again$"):
        life.clean_up("again")
    life.configure("configure")
    assert not life.unconfigured and life.reason == "configure"
    life.clean_up("cleanup")
    life.resume("on")
    assert not life.unconfigured and life.state is State.RUNNING


def test_one_that_is_not_used_ends_in_order_and_without_results():
    log: list[str] = []
    states: list[State] = []
    life = ParticipantLifecycle(
        "p", Witness("p", log), on_change=lambda change: states.append(change.state)
    )
    life.create()
    for system in (State.SERVICES_CREATED, State.COMMUNICATION_INITIALISED, State.READY_TO_RUN):
        life.follow(system, connected=True)
    life.leave_unused("no need")
    assert log == ["p ready", "p starting", "p shutdown"]
    assert states[-4:] == [State.STOPPING, State.STOPPED, State.SHUTTING_DOWN, State.SHUT_DOWN]
    assert life.reason == "no need"


def test_a_model_meets_the_process_that_it_runs_in():
    class Met(Plain):
        host = None

        def attach(self, host):
            self.host = host

    host = Host(lambda seconds: None, lambda: None)
    with_host, alone = Met(), Met()
    ParticipantLifecycle("p", with_host, host=host)
    ParticipantLifecycle("p", alone)
    assert with_host.host is host and alone.host is None
