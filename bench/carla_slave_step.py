# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a step of the CARLA slave takes, and which share of it is the simulator's.

A master in NRT steps the world of ``config/platoon.yaml`` without its roadblock: a DCP slave in a
separate process, client of a headless server in another one, as ``cosim run --shape ros`` starts
them. In turn, for each round, over TCP in one exchange for each step, in two, and over UDP:

- ``step``: from the request of the master to its receipt of all outputs;
- ``in the slave``: from commands to outputs, without DCP;
- ``in the simulator``: the calls of the simulator in it, which are those for a tick.

And with CARLA's own client at a server with three vehicles:

- ``client's tick``: ``world.tick()``;
- ``client's step``: controls of all vehicles, ``world.tick()``, their places and speeds.

    python -m bench.carla_slave_step [--steps 50] [--rounds 15] [--json FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import carla

from bench.carla_ticks import STEP_S, populate
from bench.figures import Figure, median_of, show
from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.world.carla.client_world import ClientWorld
from ros2_cosim.world.carla.dcp_slave import SceneSlave
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.scene_settings import scene_parameters

ROOT = Path(__file__).resolve().parents[1]
PLATOON = ROOT / "config" / "platoon.yaml"
VEHICLES = 3
#: After 200 ticks without need of it the slave lets CARLA's client go.
WARM_UP = 250


@contextmanager
def server(*more: str) -> Iterator[int]:
    """A headless server; yields its port."""
    command = [sys.executable, "-m", "ros2_cosim.world.headless", "--port", "0"]
    process = subprocess.Popen(
        [*command, *more],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=end_with_parent,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.communicate()


class Timed(SceneSlave):
    """Notes the time of each step, and that of the simulator in it [us]."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.noted: list[tuple[float, float]] = []

    def do_step(self, step: StepInfo) -> None:
        """One step."""
        before, within = self.step_ns, self.simulator_ns
        super().do_step(step)
        taken = self.step_ns - before, self.simulator_ns - within
        self.noted.append((taken[0] / 1e3, taken[1] / 1e3))


def scene() -> tuple[SlaveDescription, Any, Any]:
    """Description, parameters and context of the slave."""
    declared = declare(load_scenario(PLATOON, ["scene.roadblock=null"]), "world")
    parameters = scene_parameters(declared.context, declared.parameters)
    return scene_description(declared.parameters, parameters), parameters, declared.context


def serve(port: int, pipe: Connection) -> None:
    """Serve the slave of a server; send the slave's port, and at the end what it has noted."""
    description, parameters, context = scene()
    slave = Timed(parameters, lambda: ClientWorld(port=port), context)
    found = SlaveServer(slave, description, port=0)
    pipe.send(found.port)
    found.run()
    pipe.send(slave.noted)


class Behind:
    """A slave and its master, over one transport.

    :param in_order: one exchange makes a step
    """

    def __init__(
        self, stack: ExitStack, transport: TransportProtocol, in_order: bool = False
    ) -> None:
        self._pipe, there = multiprocessing.Pipe()
        self._process = multiprocessing.Process(
            target=serve, args=(stack.enter_context(server()), there)
        )
        self._process.start()
        stack.callback(self._process.kill)
        self._master = stack.enter_context(Master())
        use = SlaveUse(in_order=in_order)
        self._master.add_slave(scene()[0], port=self._pipe.recv(), transport=transport, use=use)
        self._master.configure()
        self._master.initialise()
        self._master.run()

    def step(self) -> None:
        """One step."""
        self._master.do_step()

    def end(self) -> list[tuple[float, float]]:
        """Stop it; what the slave has noted."""
        self._master.stop()
        self._master.deregister()
        noted: list[tuple[float, float]] = self._pipe.recv()
        self._process.join()
        return noted


class Alone:
    """CARLA's client without DCP."""

    def __init__(self, port: int) -> None:
        self._client = carla.Client("127.0.0.1", port)
        self._client.set_timeout(60.0)
        self._world = self._client.get_world()
        settings = self._world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP_S
        self._world.apply_settings(settings)
        self._cars = populate(self._world, VEHICLES)
        self._control = carla.VehicleControl(throttle=0.2)
        self.tick()

    def tick(self) -> None:
        """One tick."""
        self._world.tick()

    def step(self) -> None:
        """One step as a client makes it that replaces a slave."""
        commands = [carla.command.ApplyVehicleControl(car, self._control) for car in self._cars]
        self._client.apply_batch(commands)
        self._world.tick()
        for car in self._cars:
            car.get_transform()
            car.get_velocity()
            car.get_acceleration()


def timed(call: Callable[[], None], steps: int) -> float:
    """Median time of the calls [us]."""
    took = []
    for _ in range(steps):
        started = time.perf_counter()
        call()
        took.append(1e6 * (time.perf_counter() - started))
    return statistics.median(took)


def measure(steps: int, rounds: int) -> list[Figure]:
    """All that is measured, in turn."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        tcp, udp = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
        slaves = {"TCP": Behind(stack, tcp, in_order=True), "TCP in two": Behind(stack, tcp)}
        slaves["UDP"] = Behind(stack, udp)
        alone = Alone(stack.enter_context(server("--map", "config/highway.xodr")))
        calls: dict[str, Callable[[], None]] = {name: found.step for name, found in slaves.items()}
        calls |= {"client's tick": alone.tick, "client's step": alone.step}
        took: dict[str, list[float]] = {name: [] for name in calls}
        for call in calls.values():
            timed(call, WARM_UP)
        for _ in range(rounds):
            for name, call in calls.items():
                took[name].append(timed(call, steps))
        for name, slave in slaves.items():
            noted = slave.end()[WARM_UP:]
            parts = [noted[at : at + steps] for at in range(0, len(noted), steps)]
            inside, within = (
                [statistics.median(taken[k] for taken in part) for part in parts] for k in (0, 1)
            )
            shares = [100.0 * a / b for a, b in zip(within, took[name], strict=True)]
            ratios = [a / b for a, b in zip(took[name], took["client's step"], strict=True)]
            figures += [
                median_of(f"{name}: step", took[name], "us"),
                median_of(f"{name}: in the slave", inside, "us"),
                median_of(f"{name}: in the simulator", within, "us"),
                median_of(f"{name}: share of the simulator", shares, "%"),
                median_of(f"{name}: ratio to the client's step", ratios, "1"),
            ]
    for name in ("client's tick", "client's step"):
        figures.append(median_of(f"CARLA's client: {name[9:]}", took[name], "us"))
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=50, help="in a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    show(measure(chosen.steps, chosen.rounds), chosen.json)


if __name__ == "__main__":
    main()
