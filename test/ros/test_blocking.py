# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What each participant is granted, which promise it waits for, and since when."""

from __future__ import annotations

from ros2_cosim.core.kernel.activation import Count
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.messages.protocol import Completion, Heartbeat, ParticipantState, PortPromise
from ros2_cosim.ros.node.blocking import HORIZON, AwaitedPromise, BlockingTable

SECOND = 1_000_000_000
NAMES = ("plant", "sensor", "controller", "recorder")


def graph() -> Graph:
    """plant (10) -> sensor (data, sparse, 3 later) -> controller (20) -> plant (delayed)."""
    return Graph(
        [
            ParticipantSpec(
                "plant",
                period_ns=10,
                inputs=(InputPort("command", delayed=True),),
                outputs=(OutputPort("state"), OutputPort("road", schedule="once")),
            ),
            ParticipantSpec(
                "sensor",
                activation=Count("state", 1),
                inputs=(InputPort("state"), InputPort("road")),
                outputs=(OutputPort("seen", Latency(3), "sparse"),),
            ),
            ParticipantSpec(
                "controller",
                period_ns=20,
                inputs=(InputPort("seen"),),
                outputs=(OutputPort("command"),),
            ),
        ],
        [
            Connection("plant", "state", "sensor", "state"),
            Connection("plant", "road", "sensor", "road"),
            Connection("sensor", "seen", "controller", "seen"),
            Connection("controller", "command", "plant", "command"),
        ],
    )


def table(**bounds: int) -> BlockingTable:
    """All running, with these bounds, seen at wall time 0."""
    found = BlockingTable(graph(), NAMES, 0)
    for name in NAMES:
        found.on_state(ParticipantState(name, int(State.RUNNING), "first activation"), 0)
    for name, bound in bounds.items():
        found.on_completion(Completion(name, 1, bound, FOREVER, "", ()), 0)
    return found


def test_a_participant_at_the_horizon_waits_for_it() -> None:
    found = table(plant=100, sensor=105, controller=100, recorder=100)
    for name in NAMES:
        assert found.needs(name, 100) == (AwaitedPromise(HORIZON, 100),)
    assert found.blocking(100, 9 * SECOND, SECOND) == ("", "")


def test_a_participant_waits_for_promises_that_do_not_reach_its_activation() -> None:
    found = table(plant=30, sensor=20, controller=40, recorder=23)
    # A message that may still be stamped 23 is needed by an activation at 40.
    assert found.needs("controller", 100) == (AwaitedPromise("sensor.seen", 23),)
    # A delayed input has to be settled before 30 only, and is promised up to 40.
    assert found.needs("plant", 100) == ()
    # The sensor's own messages up to its bound are there; its road came once and for all.
    assert found.needs("sensor", 100) == ()


def test_a_promise_of_exactly_the_activation_is_enough_for_a_delayed_input_only() -> None:
    found = table(plant=40, sensor=37, controller=40, recorder=40)
    # A message stamped 40 may still come, and an activation at 40 reads it.
    assert found.needs("controller", 100) == (AwaitedPromise("sensor.seen", 40),)
    promise = (PortPromise("command", 2, 40),)
    found.on_completion(Completion("controller", 2, 40, FOREVER, "", promise), 0)
    # At 40 the plant reads commands from before 40.
    assert found.needs("plant", 100) == ()


def test_explicit_promises_and_first_stamps_count() -> None:
    found = table(plant=30, sensor=20, controller=40, recorder=20)
    promises = (PortPromise("seen", 2, 45),)
    found.on_completion(Completion("sensor", 2, 20, FOREVER, "", promises), 0)
    assert found.needs("controller", 100) == ()
    fresh = BlockingTable(graph(), NAMES, 0)
    fresh.on_completion(Completion("plant", 0, 0, FOREVER, "", ()), 0)
    # Nothing is known of the controller but that it cannot send before 0: enough for a
    # delayed input at 0.
    assert fresh.needs("plant", 100) == ()
    # What is sent once comes with the first activation.
    fresh.on_completion(Completion("sensor", 0, 1, FOREVER, "", ()), 0)
    assert fresh.needs("sensor", 100) == (
        AwaitedPromise("plant.road", 0),
        AwaitedPromise("plant.state", 0),
    )


def test_a_state_that_does_not_exist_changes_nothing() -> None:
    found = BlockingTable(graph(), NAMES, 0)
    found.on_state(ParticipantState("sensor", int(State.RUNNING), "started"), 5)
    found.on_state(ParticipantState("sensor", 200, "from another version"), 9)
    entry = found.entries["sensor"]
    assert (entry.state, entry.reason, entry.heard) == (State.RUNNING, "started", 5)


def test_the_own_word_of_a_participant_counts_until_it_advances() -> None:
    found = table(plant=30, sensor=20, controller=40, recorder=20)
    found.on_heartbeat(Heartbeat("controller", 3, 40, ("sensor.seen",), (25,)), SECOND)
    assert found.needs("controller", 100) == (AwaitedPromise("sensor.seen", 25),)
    assert found.entries["controller"].activations == 3
    found.on_completion(Completion("controller", 2, 40, FOREVER, "", ()), SECOND)
    assert found.entries["controller"].activations == 3
    assert found.needs("controller", 100) == (AwaitedPromise("sensor.seen", 25),)
    found.on_completion(Completion("controller", 4, 60, FOREVER, "", ()), SECOND)
    assert found.entries["controller"].activations == 4
    assert found.needs("controller", 100) == (AwaitedPromise("sensor.seen", 23),)


def test_the_chain_leads_to_the_one_that_all_wait_for() -> None:
    found = table(plant=60, sensor=20, controller=40, recorder=20)
    found.on_heartbeat(Heartbeat("controller", 3, 40, ("sensor.seen",), (23,)), 5 * SECOND)
    found.on_heartbeat(Heartbeat("recorder", 0, 20, ("sensor.seen",), (23,)), 5 * SECOND)
    found.on_completion(Completion("sensor", 1, 21, FOREVER, "", ()), SECOND)
    assert [name for name, _ in found.chain(100)] == ["recorder", "sensor"]
    assert found.blocking(100, 7 * SECOND, 5 * SECOND) == (
        "sensor",
        "no sign of life for 6.0 s",
    )
    for silent_s in (6, 9):
        assert found.blocking(100, 7 * SECOND, silent_s * SECOND) == (
            "sensor",
            "runs its activation, for 6.0 s",
        )


def test_one_that_may_enter_later_is_awaited_from_when_it_is_seen() -> None:
    car = ParticipantSpec("car", period_ns=10, enter_ns=50, outputs=(OutputPort("state"),))
    watcher = ParticipantSpec("watcher", period_ns=10, inputs=(InputPort("state"),))
    both = Graph([car, watcher], [Connection("car", "state", "watcher", "state")])
    found = BlockingTable(both, ("car", "watcher"), 0)
    found.on_state(ParticipantState("watcher", int(State.RUNNING), ""), 0)
    found.on_completion(Completion("watcher", 6, 60, FOREVER, "", ()), 0)
    assert found.needs("watcher", 100) == ()
    assert found.blocking(100, SECOND, 5 * SECOND)[0] == "watcher"
    found.on_state(ParticipantState("car", int(State.READY_TO_RUN), ""), 0)
    assert found.needs("watcher", 100) == (AwaitedPromise("car.state", 50),)
    assert found.blocking(100, SECOND, 5 * SECOND)[0] == "car"


def test_a_dead_end_is_told_as_a_cycle() -> None:
    found = table(plant=30, sensor=30, controller=30, recorder=40)
    found.on_heartbeat(Heartbeat("plant", 3, 30, ("controller.command",), (30,)), SECOND)
    found.on_heartbeat(Heartbeat("controller", 3, 30, ("sensor.seen",), (30,)), SECOND)
    found.on_heartbeat(Heartbeat("sensor", 3, 30, ("plant.state",), (30,)), SECOND)
    name, why = found.blocking(100, SECOND, SECOND)
    assert name == "plant"
    assert why.startswith("waits for controller.command: controller -> sensor -> plant")


def test_silence_is_noticed_where_a_sign_is_due() -> None:
    found = table(plant=60, sensor=20, controller=100, recorder=100)
    found.on_heartbeat(Heartbeat("plant", 6, 60, ("controller.command",), (60,)), 8 * SECOND)
    found.on_heartbeat(Heartbeat("controller", 5, 100, (HORIZON,), (100,)), SECOND)
    assert found.silent(200, 9 * SECOND, 5 * SECOND) == ["sensor", "controller", "recorder"]
    # A participant that has reached the end writes its results, which may take time.
    assert found.silent(100, 9 * SECOND, 5 * SECOND) == ["sensor"]
    assert found.silent(100, 5 * SECOND, 5 * SECOND) == []
    for state, silent in ((State.COMMUNICATION_INITIALISED, []), (State.READY_TO_RUN, ["sensor"]),
                          (State.STOPPED, [])):  # fmt: skip
        found.on_state(ParticipantState("sensor", int(state), ""), 0)
        assert found.silent(100, 9 * SECOND, 5 * SECOND) == silent


def test_a_standstill_is_explained_with_the_time_since_when() -> None:
    found = table(plant=30, sensor=20, controller=40)
    found.on_completion(Completion("sensor", 1, 21, FOREVER, "", ()), SECOND)
    text = found.explain(100, 4 * SECOND)
    assert text.split("; ") == [
        "plant at 30ns for 4.0 s",
        "sensor at 21ns for 3.0 s",
        "controller at 40ns for 4.0 s waits for sensor.seen (promised up to 24ns)",
        "recorder at 0s for 4.0 s",
    ]
    found.on_heartbeat(Heartbeat("controller", 3, 40, ("sensor.seen", "a"), (NEVER, 50)), 0)
    assert (
        "controller at 40ns for 4.0 s waits for sensor.seen (promised up to 0s), a (promised up "
        "to 50ns); "
    ) in found.explain(100, 4 * SECOND)


def test_words_of_strangers_are_ignored() -> None:
    found = table()
    found.on_state(ParticipantState("unknown", int(State.ERROR), ""), 0)
    found.on_completion(Completion("unknown", 1, 10, FOREVER, "", ()), 0)
    found.on_progress("unknown", 10, 1, 0)
    found.on_heartbeat(Heartbeat("unknown", 1, 10, (), ()), 0)
    assert found.entries.keys() == set(NAMES)
    assert found.entries["plant"].bound == NEVER
