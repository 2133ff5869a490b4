# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model ``vds_plant``: our vehicle, one behind the protocol, and a scenario with either."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S
from support.ports import free_port
from support.vds_models import OUTPUTS, loop

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError, ProtocolError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.vds.client import VdsClient
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.free_run import FreeRunSettings
from ros2_cosim.vds.participant import VdsPlant
from ros2_cosim.vds.server import ServerSettings, VdsServer
from ros2_cosim.vds.sockets import CommandPorts, open_port
from ros2_cosim.vds.vds1 import CommandPacket
from ros2_cosim.world.vehicle import SEDAN

MS = 1_000_000
OWN = {"own": {"speed": 12.0, "sensor_delay": "20ms", "actuator_delay": "15ms"}}


def context(parameters: Mapping[str, Any], **changes: Any) -> ModelContext:
    given: dict[str, Any] = {
        "name": "plant",
        "parameters": parameters,
        "scene": {},
        "run_seed": 1,
        "base_directory": Path("."),
        "shape": "composed",
        "period_ns": 10 * MS,
        "output_types": OUTPUTS,
    }
    return ModelContext(**(given | changes))


def plant_of(found: ModelContext) -> VdsPlant:
    """The model, after what is checked before."""
    parameters = read_section(VdsPlant.Parameters, dict(found.parameters), place=found.where)
    return VdsPlant(found, parameters)


@contextmanager
def simulator(dt: str = "10ms", **settings: Any) -> Iterator[tuple[VdsServer, dict[str, Any]]]:
    """Our server as a foreign simulator, and the parameters by which it is reached."""
    fleet = read_settings({"dt": dt, "vehicles": {"v": OWN["own"]}}, "fleet")
    state_port = free_port()
    made = ServerSettings(
        fleet,
        command_port=0,
        receivers=(("127.0.0.1", state_port),),
        **{"lockstep": True, **settings},
    )
    server = VdsServer(made)
    thread = threading.Thread(target=server.run)
    thread.start()
    reach = {"host": "127.0.0.1", "port": server.ports.ports["v"], "state_port": state_port}
    try:
        yield server, reach | {"timeout_s": HANG_S}
    finally:
        server.stop()
        thread.join(HANG_S)
        server.close()


def driven(plant: VdsPlant, steps: int) -> list[Mapping[str, Any]]:
    """Outputs of a plant under a fixed sequence of commands."""
    outputs = []
    try:
        for k in range(steps):
            command = ControlCommand(1.0, 0.02 * (k % 20), 0.0, 0.01 * (k % 7) - 0.03)
            sample = Sample((k - 1) * 10 * MS, k, command) if k > 1 else None
            outputs.append(plant.activate(Step(k * 10 * MS, {}, {"control": sample})))
    finally:
        plant.close()
    return outputs


def test_the_vehicle_gives_the_same_numbers_here_and_behind_the_protocol() -> None:
    here = driven(plant_of(context(OWN, shape="inproc")), 100)
    with simulator() as (_, reach):
        plant = plant_of(context(reach))
        there = driven(plant, 100)
        # A plant that is closed has left its port to others.
        open_port("127.0.0.1", reach["state_port"]).close()
    assert there == here
    assert plant.report().figures == {"vds_states": 100, "vds_refused": 0}
    assert plant.report().not_repeatable is None
    assert plant.report().transport_ns > 0
    assert here[0]["odometry"].vx == 12.0
    assert here[-1]["odometry"].x > 10.0
    assert here[-1]["odometry"].y != 0.0
    assert here[-1]["acceleration"].ay != 0.0


def test_a_simulator_may_step_finer_than_the_participant(monkeypatch: pytest.MonkeyPatch) -> None:
    here = driven(plant_of(context({**OWN, "step": "2ms"})), 30)
    stamps: list[float] = []
    accept = CommandPorts.accept

    def noted(ports: CommandPorts, vehicle: str, packet: CommandPacket) -> bool:
        fresh = accept(ports, vehicle, packet)
        if fresh:
            stamps.append(packet.timestamp)
        return fresh

    monkeypatch.setattr(CommandPorts, "accept", noted)
    with simulator("2ms") as (server, reach):
        assert driven(plant_of(context({**reach, "step": "2ms"})), 30) == here
        assert server.fleet["v"].output().steps == 29 * 5
    # Each command tells the end of its step.
    assert stamps == pytest.approx([0.002 * number for number in range(1, 29 * 5 + 1)])


def test_the_command_is_translated() -> None:
    with simulator() as (server, reach):
        plant = plant_of(context({**reach, "max_steer": 0.5}))
        plant.activate(Step(0, {}, {"control": None}))
        command = ControlCommand(-1.5, 0.0, 0.25, 0.5)
        plant.activate(Step(10 * MS, {}, {"control": Sample(0, 0, command)}))
        latched = server.fleet["v"].output().command
        assert (latched.steer, latched.brake, latched.acceleration) == (0.25, 0.25, -1.5)
        plant.close()
    plant = plant_of(context({"own": {"kind": "truck"}}))
    assert plant._max_steer != SEDAN.max_steer_angle


def test_a_simulator_of_another_step_is_found_out() -> None:
    with simulator("5ms") as (_, reach):
        plant = plant_of(context(reach))
        plant.activate(Step(0, {}, {"control": None}))
        with pytest.raises(ProtocolError, match="step of 0.005 s; allowed is 0.01 s"):
            plant.activate(Step(10 * MS, {}, {"control": None}))
        plant.close()


def test_a_simulator_that_is_not_there_is_named() -> None:
    silent = VdsClient(("127.0.0.1", 9))
    reach = {"host": "127.0.0.1", "port": silent.port, "state_port": 0, "timeout_s": 0.1}
    plant = plant_of(context(reach))
    with pytest.raises(ConnectionFailedError, match=f"127.0.0.1:{silent.port}: no state"):
        plant.activate(Step(0, {}, {"control": None}))
    plant.close()
    silent.close()
    inproc = plant_of(context(reach, shape="inproc"))
    with pytest.raises(ConnectionFailedError, match="inproc reaches no other process"):
        inproc.activate(Step(0, {}, {"control": None}))
    inproc.close()


def test_a_simulator_that_runs_by_itself_is_followed() -> None:
    free = FreeRunSettings(command_timeout_ns=0)
    with simulator(lockstep=False, free_run=free) as (server, reach):
        plant = plant_of(context({**reach, "mode": "free"}))
        first = plant.activate(Step(0, {}, {"control": None}))["odometry"]
        control = Sample(0, 0, ControlCommand(0.0, 0.5, 0.0, 0.0))
        k = 0
        while server.fleet["v"].output().realised.throttle != 0.5 or k < 50:
            k += 1
            last = plant.activate(Step(k * 10 * MS, {}, {"control": control}))["odometry"]
        assert last.x >= first.x
        figures = plant.report().figures
        assert figures["vds_states"] + figures["vds_held"] >= k
        assert figures["vds_refused"] == 0
        assert plant.report().not_repeatable == (
            0,
            "its vehicle simulator runs by itself (mode free)",
        )
        plant.close()


@pytest.mark.parametrize(
    ("parameters", "changes", "text"),
    [
        ({}, {}, "give either host or own"),
        ({**OWN, "host": "127.0.0.1"}, {}, "give either host or own"),
        ({**OWN, "mode": "free"}, {}, "found mode with own, which has no use for it"),
        ({**OWN, "state_port": 5000}, {}, "found state_port with own, which has no use for it"),
        ({"host": "127.0.0.1", "ground": "scene"}, {}, "found ground with host, which has no use"),
        ({"host": "127.0.0.1", "port": 0}, {}, "parameters.port: found 0"),
        ({"host": "127.0.0.1", "speed": 1}, {}, "parameters.speed: unknown key"),
        ({"own": {"kind": "tank"}}, {}, "parameters.own.kind: found 'tank'"),
        ({"own": {"steering": {"trail": 0.1}}}, {}, "parameters.own.steering: unknown key"),
        ({**OWN, "step": "3ms"}, {}, "found 3ms; allowed are whole parts of the period, 10ms"),
        (OWN, {"period_ns": None}, "period: missing"),
    ],
)
def test_wrong_parameters_are_named(
    parameters: dict[str, Any], changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigurationError, match=text):
        plant_of(context(parameters, **changes))


def test_a_scenario_is_driven_in_process_and_repeats(tmp_path: Path) -> None:
    traces = set()
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        done = run_inproc(make_scenario(loop(OWN), "loop"), tmp_path / run, record=False)
        traces.add(done.trace_sha256)
        assert {p.name: p.activations for p in done.participants} == {"plant": 200, "driver": 200}
    assert len(traces) == 1


def parameters_of(**given: Any) -> Any:
    return read_section(VdsPlant.Parameters, given, place="here")


def test_parameters_have_these_defaults_and_limits() -> None:
    plain = parameters_of(host="h")
    assert plain.model_dump() == {
        "host": "h", "port": 6601, "state_host": "127.0.0.1", "state_port": 6602,
        "mode": "lockstep", "step": None, "timeout_s": 10.0, "max_steer": None, "own": None,
        "ground": "plane",
    }  # fmt: skip
    for good in ({"port": 1}, {"port": 65535}, {"state_port": 0}, {"timeout_s": 3600}):
        parameters_of(host="h", **good)
    parameters_of(host="h", max_steer=1.5)
    for wrong in (
        {"port": 0},
        {"port": 65536},
        {"state_port": -1},
        {"state_port": 65536},
        {"timeout_s": 0},
        {"timeout_s": 3601},
        {"max_steer": 0},
        {"max_steer": 1.6},
        {"step": 0},
    ):
        with pytest.raises(ConfigurationError, match=f"here.{next(iter(wrong))}"):
            parameters_of(host="h", **wrong)
    for both in ({}, {"host": "h", **OWN}):
        with pytest.raises(ConfigurationError, match="give either host or own"):
            parameters_of(**both)


@pytest.mark.parametrize(
    ("given", "wall", "repeatable"),
    [
        (OWN, False, Repeatability.EVERYWHERE),
        ({"host": "h"}, False, Repeatability.SAME_MACHINE),
        ({"host": "h", "mode": "free"}, True, Repeatability.NO),
    ],
)
def test_how_far_runs_agree(given: dict[str, Any], wall: bool, repeatable: Repeatability) -> None:
    parameters = parameters_of(**given)
    assert parameters.depends_on_wall_clock is wall
    assert VdsPlant.declared_repeatability(context({}), parameters) is repeatable


@pytest.mark.parametrize(
    ("given", "places"),
    [
        (OWN, ()),
        ({"host": "h"}, (("VDS_STATES", "udp", "127.0.0.1", 6602),)),
        (
            {"host": "h", "state_host": "127.0.0.3", "state_port": 9},
            (("VDS_STATES", "udp", "127.0.0.3", 9),),
        ),
    ],
)
def test_states_of_a_simulator_arrive_at_a_port_that_is_told(
    given: dict[str, Any], places: tuple[tuple[str, str, str, int], ...]
) -> None:
    found = VdsPlant.listens_at(context({}), parameters_of(**given))
    assert tuple((use.name, *place) for use, *place in found) == places


def test_settings_are_checked_before_anything_runs() -> None:
    own, remote = parameters_of(**OWN), parameters_of(host="h")
    for shape in ("inproc", "composed"):
        VdsPlant.check_settings(context({}, shape=shape), own)
    VdsPlant.check_settings(context({}, shape="composed"), remote)
    with pytest.raises(ConfigurationError, match="host: shape inproc reaches no other process"):
        VdsPlant.check_settings(context({}, shape="inproc"), remote)
    with pytest.raises(ConfigurationError, match=r"\.period: missing; a plant has one"):
        VdsPlant.check_settings(context({}, period_ns=None), own)
    for step, good in (("5ms", True), ("10ms", True), ("3ms", False), ("20ms", False)):
        parameters = parameters_of(**OWN, step=step)
        if good:
            VdsPlant.check_settings(context({}), parameters)
        else:
            with pytest.raises(ConfigurationError, match=f"step: found {step}; allowed are whole"):
                VdsPlant.check_settings(context({}), parameters)


def test_no_port_is_required() -> None:
    ports = (*VdsPlant.input_ports, *VdsPlant.output_ports)
    assert {port.name: port.required for port in ports} == {
        "control": False, "odometry": False, "acceleration": False
    }  # fmt: skip
