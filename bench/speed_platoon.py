# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Workload W3: the platoon scenario, and platoons of any length on the circuit."""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from speed_result import Result
from speed_shapes import CpuMeter

from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario

ROOT = Path(__file__).resolve().parents[1]
_SPACING = 21.8  # m, as in config/platoon.yaml
#: Sensors of longer platoons read all vehicles in one message.
_MOST_PORTS = 100
_LENGTH, _WIDTH = 4.792, 2.163  # m
#: The platoon begins there [m], shortly before the end of the circuit.
_LEADER_S = 3800.0
_RADIO = {"normal": {"mean": "20ms", "std": "4ms", "min": "5ms", "max": "60ms"}}


def platoon(changes: list[str] | None = None) -> Scenario:
    """The platoon scenario of the package."""
    return load_scenario(ROOT / "config" / "platoon.yaml", changes or [])


#: A law of a user: every tenth follower has it, each with another gain.
_LAW = """
class Law:
    needs_v2v = ("predecessor",)

    def __init__(self, gain: float = 0.3) -> None:
        self.gain = gain

    def acceleration(self, m):
        return self.gain * m.gap_error + 1.2 * m.gap_rate + 0.5 * m.predecessor.acceleration
"""


def long_platoon(vehicles: int, sim_s: float, law: Path | None = None) -> Scenario:
    """A platoon of so many vehicles on the circuit, its leader at constant speed.

    Every follower has a sensor that knows all vehicles, and a controller that hears the leader
    and its predecessor by V2V. For a long one the circuit has longer straights.
    """
    more = max(0.0, math.ceil(_SPACING * vehicles - _LEADER_S))
    leader_s = _LEADER_S + more
    names = ["leader", *(f"follower{i}" for i in range(1, vehicles))]
    scene = {
        name: {"id": i, "length": _LENGTH, "width": _WIDTH, "lane": -2,
               "s": leader_s - _SPACING * (i - 1), "speed": 25.0}
        for i, name in enumerate(names, start=1)
    }  # fmt: skip
    scene["leader"]["driver"] = {"stop_gap": 7.0, "deceleration": 2.5}
    odometry = {f"odometry/{name}": f"world.odometry/{name}" for name in names}
    outputs: dict[str, Any] = {
        "static_objects": {"type": "ros2_cosim/msg/StaticObjects", "topic": "/static_objects",
                           "schedule": "once"},
        "collision": {"type": "ros2_cosim/msg/CollisionEvent", "topic": "/collisions",
                      "schedule": "sparse"},
    }  # fmt: skip
    if vehicles > _MOST_PORTS:
        outputs["vehicles"] = {"type": "ros2_cosim/msg/RoadUsers", "topic": "/vehicles"}
    for name in names:
        frame = f"{name}/base_link"
        outputs[f"odometry/{name}"] = {
            "type": "nav_msgs/msg/Odometry", "topic": f"/{name}/odometry", "child_frame_id": frame,
        }  # fmt: skip
        outputs[f"acceleration/{name}"] = {
            "type": "geometry_msgs/msg/AccelStamped", "topic": f"/{name}/acceleration",
            "frame_id": frame,
        }  # fmt: skip
    participants: dict[str, Any] = {
        "world": {
            "model": "carla_world",
            "period": "10ms",
            "parameters": {"control_period": "20ms"},
            "inputs": {
                f"control/{name}": {"from": f"cacc{i}.control", "delayed": True}
                for i, name in enumerate(names[1:], start=1)
            },
            "outputs": outputs,
        },
        "referee": {
            "model": "platoon_referee",
            "period": "100ms",
            "inputs": {**odometry, "collision": "world.collision"},
            "outputs": {
                "status": {"type": "ros2_cosim/msg/PlatoonStatus", "topic": "/platoon_status"}
            },
        },
    }

    def seen(name: str) -> dict[str, str]:
        """What a sensor reads of the vehicles."""
        if vehicles <= _MOST_PORTS:
            return odometry
        own = f"odometry/{name}"
        return {own: odometry[own], "vehicles": "world.vehicles"}

    links = []
    radio = {}
    for i, name in enumerate(names[1:], start=1):
        inputs = {
            "objects": f"sensor{i}.objects",
            "odometry": f"world.odometry/{name}",
            "acceleration": f"world.acceleration/{name}",
        }
        for kind, sender in (("leader", "leader"), ("predecessor", names[i - 1])):
            if (kind, sender) == ("predecessor", "leader"):
                continue
            links.append([sender, name])
            radio[f"{sender}_to_{name}"] = {
                "type": "ros2_cosim/msg/V2VMessage", "topic": f"/v2v/{sender}_to_{name}",
                "schedule": "sparse", "latency": _RADIO,
            }  # fmt: skip
            inputs[f"v2v_{kind}"] = f"v2v.{sender}_to_{name}"
        participants[f"sensor{i}"] = {
            "model": "object_sensor",
            "period": "40ms",
            "parameters": {"ego": name, "detection_range": 150.0, "field_of_view": 1.0},
            "inputs": {**seen(name), "static_objects": "world.static_objects"},
            "outputs": {
                "objects": {"type": "ros2_cosim/msg/ObjectList", "topic": f"/{name}/objects",
                            "frame_id": f"{name}/base_link"},
            },
        }  # fmt: skip
        participants[f"cacc{i}"] = {
            "model": "cacc_controller",
            "activation": {"any": ["objects"]},
            "parameters": {
                **(
                    {"law": f"{law}:Law", "law_parameters": {"gain": 0.2 + 0.001 * i}}
                    if law is not None and i % 10 == 0
                    else {"law": "ploeg_cacc", "law_parameters": {"kp": 0.3, "kd": 1.2}}
                ),
                "time_gap": 0.6,
                "standstill_gap": 2.0,
                "set_speed": 38.0,
                "vehicle": "sedan",
            },
            "inputs": inputs,
            "outputs": {
                "control": {"type": "ros2_cosim/msg/ControlCommand", "topic": f"/{name}/control",
                            "frame_id": f"{name}/base_link"},
            },
        }  # fmt: skip
    senders = names[:-1]
    participants["v2v"] = {
        "model": "v2v_channel",
        "period": "50ms",
        "parameters": {"links": links, "loss": 0.02},
        "inputs": {
            **{f"odometry/{name}": f"world.odometry/{name}" for name in senders},
            **{f"acceleration/{name}": f"world.acceleration/{name}" for name in senders},
            **{
                f"control/{name}": {"from": f"cacc{i}.control", "delayed": True}
                for i, name in enumerate(names[1:-1], start=1)
            },
        },
        "outputs": radio,
    }
    data = {
        "name": f"platoon_of_{vehicles}",
        "seed": 1,
        "duration": f"{sim_s:.6g}s",
        "scene": {"map": str(_circuit(more)), "vehicles": scene, "platoon": names},
        "participants": participants,
    }  # fmt: skip
    return make_scenario(data, "long platoon")


def _circuit(more: float) -> Path:
    """The circuit of the package; its two straights become longer, together by ``more`` [m]."""
    usual = ROOT / "config" / "circuit.xodr"
    if more == 0.0:
        return usual
    tree = ElementTree.parse(usual)
    road = tree.getroot().find("road")
    assert road is not None
    added = 0.0
    for part in road.iter("geometry"):
        right = float(part.get("x", "0")) >= 600.0
        _add(part, "s", added)
        _add(part, "x", 0.5 * more if right else 0.0)
        if part.find("line") is not None:
            _add(part, "length", 0.5 * more)
            added += 0.5 * more
    _add(road, "length", added)
    path = Path(tempfile.gettempdir()) / f"circuit_{more:.0f}.xodr"
    tree.write(path)
    return path


def _add(element: ElementTree.Element, name: str, more: float) -> None:
    element.set(name, repr(float(element.get(name, "0")) + more))


def inproc(vehicles: int, sim_s: float) -> Result:
    """A platoon in this process; its shortest one is the scenario of the package."""
    if vehicles == 3:
        return _here("inproc", vehicles, platoon([f"duration={sim_s:.6g}s"]))
    return _here("inproc", vehicles, long_platoon(vehicles, sim_s))


def with_user_laws(vehicles: int, sim_s: float) -> Result:
    """A long platoon, a tenth of whose followers has a law of a user."""
    with tempfile.TemporaryDirectory() as work:
        law = Path(work) / "law.py"
        law.write_text(_LAW, encoding="utf-8")
        return _here("inproc, own laws", vehicles, long_platoon(vehicles, sim_s, law))


def _here(subject: str, vehicles: int, scenario: Scenario) -> Result:
    readings = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        summary = run_inproc(
            scenario,
            Path(out),
            record=False,
            progress=lambda time_ns: readings.append((time_ns / 1e9, time.process_time())),
        )
    start = time.perf_counter() - began - summary.wall_time_s
    (t0, cpu0), (t1, cpu1) = readings[0], readings[-1]
    used, during = (cpu1 - cpu0, t1 - t0) if t1 > t0 else (0.0, 0.0)
    return _result(subject, vehicles, summary, used, during, start)


def composed(vehicles: int, sim_s: float) -> Result:
    """The platoon of the package with the simulator behind its DCP slave."""
    return _in_processes("composed", vehicles, sim_s)


def ros(vehicles: int, sim_s: float) -> Result:
    """The platoon of the package as ROS nodes."""
    return _in_processes("ros", vehicles, sim_s)


def _in_processes(shape: str, vehicles: int, sim_s: float) -> Result:
    meter = CpuMeter(sim_s)
    with tempfile.TemporaryDirectory() as out:
        summary = run_request(
            RunRequest(
                platoon([f"duration={sim_s:.6g}s"]), out=Path(out), shape=shape, record=False
            ),
            progress=meter.progress,
            on_started=meter.started,
        )
    during, per_process = meter.per_process()
    start = summary.startup_time_s
    return _result(shape, vehicles, summary, sum(per_process.values()), during, start)


def _result(
    subject: str, vehicles: int, summary: Summary, cpu_s: float, cpu_sim_s: float, start: float
) -> Result:
    sim_s = summary.sim_time_s
    return Result("platoon", subject, vehicles, sim_s, summary.wall_time_s, cpu_s, cpu_sim_s,
                  note=f"start {start:.2f} s")  # fmt: skip
