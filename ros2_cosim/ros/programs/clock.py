# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The clock: owner of /clock, of the horizon and of the system state."""

from functools import partial

from ros2_cosim.core.kernel.coordinator import Coordinator
from ros2_cosim.core.kernel.membership import Membership
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.realtime.pacing import TimeScale
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand, messages_of
from ros2_cosim.ros.node.bridge_services import BridgeServices
from ros2_cosim.ros.node.clock_node import ClockNode, ClockSettings
from ros2_cosim.ros.node.entity_services import EntityServices, offered_world
from ros2_cosim.ros.node.expected_readers import RECORDER
from ros2_cosim.ros.programs._start import (
    Started,
    bridge_objects,
    profiled,
    realtime_of,
    run_node,
)


def main() -> int:
    """Run the node."""
    controls: list[RunControl] = []
    return run_node("clock", partial(coordinate, controls), awaits_clock=False)


def coordinate(controls: list[RunControl], started: Started) -> bool:
    """Coordinate one run.

    :param controls: that of the run before in this process, if there was one; that of this one
        takes its place
    :returns: whether the run begins anew
    """
    session, scenario, graph, starter, *_ = started
    realtime = realtime_of(session)
    specs = graph.participants
    coordinator = Coordinator(
        [*graph.order, RECORDER],
        duration_ns=scenario.duration,
        run_ahead_ns=scenario.run_ahead,
        stop_latency_ns=scenario.stop_latency,
        enters={n: s.enter_ns for n, s in specs.items() if s.enter_ns > 0},
        free=[n for n, s in specs.items() if s.free_entry],
        entry_step_ns=scenario.clock_step,
    )
    control = RunControl(
        step_ns=scenario.clock_step,
        scale=TimeScale(realtime.pacer.rate if realtime.pacer else None),
        paused=controls[-1].reset_paused if controls else session.parameter("paused", False),
        can_reset=True,
    )
    passing = [n for n, s in specs.items() if s.is_late or s.leave_ns < FOREVER]
    if passing:
        control.no_reset = f"participant '{passing[0]}' enters or leaves while it goes on"
    if controls:
        control.required = controls[-1].required
    # Those before refer to all of their runs.
    controls[:] = [control]
    repeat = session.parameter("repeat", 1)
    settings = ClockSettings(
        started.run_id(),
        startup_s=scenario.startup_s,
        watchdog_s=scenario.watchdog_s,
        warn_s=scenario.watchdog_warn_s,
        observers=(RECORDER,),
        again=session.repetition + 1 < repeat,
        hard=realtime.hard,
    )
    world = offered_world(scenario, "ros")
    node = ClockNode(
        session,
        graph,
        coordinator,
        control,
        Membership(graph, coordinator, control.required),
        settings,
        starter=starter,
        timer=session.timer,
        world=world,
    )
    if world is None:
        EntityServices.offer(session.node, None, node.ask, list(scenario.participants))
    changes = ChangesByHand(
        scenario,
        lambda: control.granted,
        lambda changes: node.change(messages_of(changes)),
    )
    control.on_change, control.on_resets = changes.take, changes.note_resets
    control.changes_made = changes.told
    BridgeServices.offer(session.node, bridge_objects(scenario))
    with profiled(started, (), works=True):
        return node.run()


if __name__ == "__main__":
    run_main(main)
