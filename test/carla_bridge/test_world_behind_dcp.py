# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world as a DCP master with a generated mapping: the same trace as in process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.sensor_scenario import sensor_data, sensor_scenario

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.participant import Host, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.realtime.renewal import renewed
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.held_ports import resolve_ports
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.world.carla.dcp_slave import SceneSlave
from ros2_cosim.world.carla.dcp_world import check_slave
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.offered_world import serve_scenario_world
from ros2_cosim.world.carla.scene_settings import scene_parameters
from ros2_cosim.world.carla.serve import slave_options
from ros2_cosim.world.carla.timing import TimedSimulator

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
WORLD = "participants.world.parameters"
#: The leader cannot stop before the roadblock: contacts are part of the trace.
CRASH = ["duration=3s", "scene.roadblock.s=715.0"]


FOLLOWERS = ("follower1", "follower2")


class Counted:
    """A world that tells how often it was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self._world = InProcessWorld()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def close(self) -> None:
        """Close it."""
        self.closed += 1
        self._world.close()


@contextmanager
def slave(scenario: Scenario, simulator: Any) -> Iterator[int]:
    """The slave of the world in a thread; its port."""
    declared = declare(scenario, "world")
    scene = scene_parameters(declared.context, declared.parameters)
    model = SceneSlave(scene, lambda: simulator, declared.context)
    server = SlaveServer(
        model,
        scene_description(declared.parameters, scene),
        host="127.0.0.1",
        port=0,
        options=slave_options(declared.parameters.dcp),
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join(20.0)


def trace(
    scenario: Scenario, world: str, former: Any = None, *, ahead: bool = False
) -> tuple[str, Any]:
    """Trace of a run with the world in a shape of its own, and the world.

    :param former: the world of a run before, which begins anew
    :param ahead: whether the world may look ahead
    """
    graph = build_graph(scenario)
    models = {
        name: build_model(scenario, name, world if name == "world" else "inproc")
        for name in graph.order
        if former is None or name != "world"
    }
    if former is not None:
        models["world"] = renewed(former, "world", lambda: former)
    scheduler = SequentialScheduler(graph, models, stop_latency_ns=scenario.stop_latency)
    if ahead:
        host = Host(lambda seconds: None, lambda: None, ahead=scheduler.runtimes["world"].ahead)
        models["world"].attach(host)
        scheduler.horizon = scenario.duration
    scheduler.run(scenario.duration)
    # The plant of the platoon over TCP sees the next step in most steps.
    assert (scheduler.begun_ahead > 0) is (ahead and world != "inproc")
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
@pytest.mark.parametrize(
    "more",
    [
        [],
        [f"{WORLD}.dcp.data_synchronisation=true"],
        [f"{WORLD}.dcp.data_synchronisation=true", f"{WORLD}.dcp.mode=srt"],
    ],
)
def test_the_trace_is_that_of_the_world_in_process(
    expected: str, transport: str, more: list[str]
) -> None:
    """Whether requests or data PDUs make the slave step, and in which mode it is registered."""
    changes = [*CRASH, f"{WORLD}.dcp.transport={transport}", *more]
    simulator = Counted()
    with slave(load_scenario(PLATOON, changes), simulator) as port:
        scenario = load_scenario(PLATOON, [*changes, f"{WORLD}.dcp.port={port}"])
        digest, world = trace(scenario, "ros")
        # What is asked of it ends nothing; finish does.
        for _ in range(2):
            report = world.report()
            assert simulator.closed == 0 and report.transport_ns > 0
        world.finish()
        assert simulator.closed == 1
        figures = world.report().figures["dcp_data"]
        assert list(figures) == (["world_slave"] if transport == "udp" else [])
        sides = [data[side] for data in figures.values() for side in ("inputs", "outputs")]
        if any(side["lost"] for side in sides):
            world.close()
            pytest.skip("this machine stood still for 0.2 s: a datagram counts as lost then")
        assert digest == expected
        # The run begins anew, and the slave stays connected.
        digest, again = trace(scenario, "ros", world)
        assert (digest, again) == (expected, world)
        world.finish()
        assert simulator.closed == 2
        assert world.report().figures["dcp_data"] == figures
        world.close()


def test_steps_that_are_begun_ahead_change_nothing(expected: str) -> None:
    """Between two messages of a controller the slave steps while others use its outputs."""
    with slave(load_scenario(PLATOON, CRASH), Counted()) as port:
        scenario = load_scenario(PLATOON, [*CRASH, f"{WORLD}.dcp.port={port}"])
        digest, world = trace(scenario, "ros", ahead=True)
        assert digest == expected
        world.finish()
        assert trace(scenario, "ros", world, ahead=True) == (expected, world)
        world.close()


def test_the_world_in_process_begins_anew(expected: str) -> None:
    scenario = load_scenario(PLATOON, CRASH)
    _, world = trace(scenario, "inproc")
    assert trace(scenario, "inproc", world) == (expected, world)
    world.close()


def test_in_soft_real_time_the_slave_steps_by_its_own_clock(expected: str) -> None:
    """The run takes its time, and says that it cannot be repeated; the world goes on alike."""
    changes = ["duration=400ms", f"{WORLD}.dcp.mode=srt"]
    simulator = Counted()
    with slave(load_scenario(PLATOON, changes), simulator) as port:
        scenario = load_scenario(PLATOON, [*changes, f"{WORLD}.dcp.port={port}"])
        declared = declare(scenario, "world")
        assert declared.repeatability is Repeatability.NO
        assert declare(scenario, "world", "inproc").repeatability is Repeatability.EVERYWHERE
        world = build_model(scenario, "world", "ros")
        stations = []
        for number in range(40):
            step = Step(10_000_000 * number, {}, {f"control/{n}": None for n in FOLLOWERS})
            stations.append(world.activate(step)["odometry/leader"].x)
        world.finish()
        report = world.report()
        world.close()
    assert stations == sorted(stations) and stations[0] == 700.0 < stations[-1]
    assert report.not_repeatable == (0, "its DCP slaves step by their own clocks (SRT or HRT)")
    assert report.figures is not None and report.figures["dcp_late_ticks"] >= 0
    assert simulator.closed == 1


def test_data_synchronisation_needs_a_vehicle_without_driver() -> None:
    changes = [f"{WORLD}.dcp.data_synchronisation=true"]
    declared = declare(load_scenario(PLATOON, changes), "world")
    scene = scene_parameters(declared.context, declared.parameters)
    check_slave(declared.context, declared.parameters, scene)
    with pytest.raises(ConfigurationError, match="dcp.data_synchronisation: found true; every"):
        check_slave(declared.context, declared.parameters, replace(scene, count=1))


# -- on another host -----------------------------------------------------------------------------


def test_nothing_is_bound_or_started_for_a_slave_on_another_host() -> None:
    changes = [f"{WORLD}.dcp.host=192.0.2.9", f"{WORLD}.dcp.port=9123"]
    scenario = load_scenario(PLATOON, changes)
    check_scenario(scenario, "ros")
    resolved = resolve_ports(scenario)
    dcp = resolved.participants["world"].parameters["dcp"]
    assert (dcp["host"], dcp["port"]) == ("192.0.2.9", 9123)
    names = [process.name for process in make_plan(resolved, RunOptions(out=Path("out")))]
    assert "world" in names and not {"simulator", "world_slave"} & set(names)
    # The same on this machine, where the user starts it.
    by_hand = load_scenario(PLATOON, [f"{WORLD}.dcp.start=false", f"{WORLD}.dcp.port=9123"])
    plan = make_plan(resolve_ports(by_hand), RunOptions(out=Path("out")))
    assert not {"simulator", "world_slave"} & {process.name for process in plan}
    unknown = load_scenario(PLATOON, changes[:1])
    with pytest.raises(ConfigurationError, match=r"dcp.port: found 0; the run does not start the"):
        check_scenario(unknown, "ros")


def test_the_slave_alone_gives_the_same_trace(expected: str) -> None:
    """Served from the scenario file under another address; the run starts nothing."""
    servers: list[SlaveServer] = []
    ready = threading.Event()

    def on_ready(server: SlaveServer) -> None:
        servers.append(server)
        ready.set()

    def serve() -> None:
        serve_scenario_world(
            PLATOON, CRASH, host="127.0.0.2", port=0, keep=False, on_ready=on_ready
        )

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(60)
    try:
        there = [
            f"{WORLD}.dcp.host=127.0.0.2",
            f"{WORLD}.dcp.port={servers[0].port}",
            f"{WORLD}.dcp.start=false",
        ]
        digest, world = trace(load_scenario(PLATOON, [*CRASH, *there]), "ros")
        world.finish()
        world.close()
        assert digest == expected
    finally:
        servers[0].stop()
        thread.join(60)
    assert not thread.is_alive()


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


def sensor_trace(scenario: Scenario, shape: str) -> str:
    """Trace of a world with sensors."""
    graph = build_graph(scenario)
    world = build_model(scenario, "world", shape)
    scheduler = SequentialScheduler(graph, {"world": world})
    scheduler.run(scenario.duration)
    world.finish()
    world.close()
    return run_digest({"world": scheduler.runtimes["world"].trace.hexdigest()})


def test_sensors_are_variables_of_the_slave() -> None:
    """Numbers where a sensor gives numbers, a binary for points and pixels: the same trace."""
    scenario = sensor_scenario()
    declared = declare(scenario, "world")
    description = scene_description(
        declared.parameters, scene_parameters(declared.context, declared.parameters)
    )
    kinds = {variable.name: variable for variable in description.variables}
    assert kinds["sensor/gnss.latitude"].data_type is DataType.float64
    assert kinds["sensor/gnss.latitude"].attributes.unit == "deg"
    assert kinds["sensor/imu.wz"].attributes.unit == "rad/s"
    assert kinds["sensor/front.data"].data_type is DataType.binary
    assert kinds["sensor/front.data"].attributes.max_size == 64 * 48 * 4
    with slave(scenario, InProcessWorld()) as port:
        there = sensor_scenario(
            participants={"world": {**sensor_data()["participants"]["world"],
                                    "parameters": {"dcp": {"port": port}, "traffic": 2}}}
        )  # fmt: skip
        assert sensor_trace(there, "ros") == sensor_trace(scenario, "inproc")
