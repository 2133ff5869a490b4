# SPDX-License-Identifier: Apache-2.0
"""The world as a DCP master with a generated mapping: the same trace as in process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.carla_bridge.dcp_slave import SceneSlave
from ros2_cosim.carla_bridge.describe import scene_description
from ros2_cosim.carla_bridge.inprocess_world import InProcessWorld
from ros2_cosim.carla_bridge.scene_settings import scene_parameters, scene_sizes
from ros2_cosim.carla_bridge.timing import TimedSimulator
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.kernel.sequential import SequentialScheduler
from ros2_cosim.kernel.trace import run_digest
from ros2_cosim.scenario.declaration import declare
from ros2_cosim.scenario.schema import Scenario, load_scenario
from ros2_cosim.scenario.system import build_graph, build_model

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
WORLD = "participants.world.parameters"
#: The leader cannot stop before the roadblock: contacts are part of the trace.
CRASH = ["duration=3s", "scene.roadblock.s=715.0"]


class Counted(InProcessWorld):
    """Tells how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1
        super().close()


@contextmanager
def slave(scenario: Scenario, simulator: InProcessWorld) -> Iterator[int]:
    """The slave of the world in a thread; its port."""
    declared = declare(scenario, "world")
    scene = scene_parameters(declared.context, declared.parameters)
    model = SceneSlave(scene, lambda: simulator, scene_sizes(declared.context), declared.context)
    server = SlaveServer(
        model,
        scene_description(declared.parameters, scene),
        host="127.0.0.1",
        port=0,
        options=SlaveOptions(input_wait_s=0.2, newest_only=True),
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join(20.0)


def trace(scenario: Scenario, world: str) -> tuple[str, Any]:
    """Trace of a run with the world in a shape of its own, and the world."""
    graph = build_graph(scenario)
    models = {
        name: build_model(scenario, name, world if name == "world" else "inproc")
        for name in graph.order
    }
    scheduler = SequentialScheduler(graph, models, stop_latency_ns=scenario.stop_latency)
    scheduler.run(scenario.duration)
    digests = {name: runtime.trace.hexdigest() for name, runtime in scheduler.runtimes.items()}
    figures = models["referee"].report().figures
    assert figures is not None and figures["collisions"] > 0
    return run_digest(digests), models["world"]


@pytest.fixture(scope="module")
def expected() -> str:
    digest, world = trace(load_scenario(PLATOON, CRASH), "inproc")
    world.close()
    return digest


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_the_trace_is_that_of_the_world_in_process(expected: str, transport: str) -> None:
    changes = [*CRASH, f"{WORLD}.dcp.transport={transport}"]
    simulator = Counted()
    with slave(load_scenario(PLATOON, changes), simulator) as port:
        scenario = load_scenario(PLATOON, [*changes, f"{WORLD}.dcp.port={port}"])
        digest, world = trace(scenario, "ros")
        assert digest == expected
        # What is asked of it ends nothing; finish does.
        for _ in range(2):
            report = world.report()
            assert simulator.closed == 0 and report.transport_ns > 0
        world.finish()
        assert simulator.closed == 1
        figures = world.report().figures["dcp_data"]
        assert list(figures) == (["world_slave"] if transport == "udp" else [])
        world.close()


def test_a_timed_simulator_forwards_every_method_of_a_simulator() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: self.calls.append(name) or name

    recorder: Any = Recorder()
    timed = TimedSimulator(recorder)
    pose: Any = None
    timed.prepare(pose, "ClearNoon", 0.1)
    timed.place(1, pose, (0.0, 0.0, 0.0))
    timed.control(1, 0.0, 0.0, 0.0)
    timed.tick()
    timed.close()
    answers: list[Any] = [
        timed.opendrive(), timed.spawn("a", "b", pose), timed.motion(1), timed.contacts(),
    ]  # fmt: skip
    assert answers == ["opendrive", "spawn", "motion", "contacts"]
    assert sorted(recorder.calls) == sorted(
        ["prepare", "place", "control", "tick", "close", *answers]
    )
    assert timed.elapsed_ns > 0
