# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Examples and numbers of the publications that the parts of this project give at once.

Each function computes its figures anew, equal on every machine, except for the real-time factors.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.activation import all_of, any_of
from ros2_cosim.core.kernel.graph import Connection, Graph, InputPort, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import MILLISECOND, SECOND, to_seconds
from ros2_cosim.core.kernel.time_advance import QueuedSample, TimeAdvance
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.check_pattern import CheckPattern
from ros2_cosim.core.realtime.coupling import Data, MacroStepCoupling
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, order_rule
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.slave_model import Input, Output, Parameter, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.slave_description import Causality
from ros2_cosim.dcp.standard.states import TRANSITIONS
from ros2_cosim.lab.study.published import Figure
from ros2_cosim.lab.study.watched import run_watched
from ros2_cosim.vds.fleet_settings import FleetSettings
from ros2_cosim.vds.free_run import FreeRunSettings
from ros2_cosim.vds.vds1 import HEADER_SIZE, encode_command, encode_state
from ros2_cosim.vds.vehicle_plant import IDLE, PlantState

PLATOON = "config/platoon.yaml"
#: Those that the text of the publication names.
_NAMED_STATES = (
    "SERVICES_CREATED", "COMMUNICATION_INITIALISING", "COMMUNICATION_INITIALISED", "READY_TO_RUN",
    "RUNNING", "PAUSED", "STOPPING", "STOPPED", "SHUTTING_DOWN", "SHUT_DOWN", "ERROR", "ABORTING",
    "INVALID",
)  # fmt: skip


class _Unit(FullModel):
    """Remembers when it was activated."""

    def __init__(self, *sends: str) -> None:
        self.times: list[int] = []
        self._sends = sends

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send a number on each port."""
        self.times.append(step.time)
        return {port: Acceleration(0.0, 0.0, 0.0) for port in self._sends}


def _times(specs: Sequence[ParticipantSpec], connections: Sequence[Connection], until: int) -> str:
    """When each of some participants runs: "a 0 1 2, b 0 2"."""
    units = {spec.name: _Unit(*(port.name for port in spec.outputs)) for spec in specs}
    SequentialScheduler(Graph(specs, connections), units).run(until)
    return ", ".join(f"{name} {' '.join(map(str, unit.times))}" for name, unit in units.items())


def events() -> dict[str, Figure]:
    """Fig. 1 of Baron et al.: S0 has an event at 7, S1 one at 8, and S0 sends to S1 in b."""
    free = ParticipantSpec("S0", 2, offset_ns=7)
    sending = ParticipantSpec("S0", 2, offset_ns=7, outputs=(OutputPort("out"),))
    reader = ParticipantSpec(
        "S1", 100, offset_ns=8, activation=any_of(["in"]), inputs=(InputPort("in"),)
    )
    link = Connection("S0", "out", "S1", "in")
    return {
        "a": Figure(_times([free], [], 10)),
        "b": Figure(_times([sending, reader], [link], 9)),
    }


def queue() -> dict[str, Figure]:
    """Figs 2 and 3 of Baron et al.: what the queue and Algorithm 1 decide."""

    def entry(stamp: int, channel: int, number: int) -> QueuedSample:
        return QueuedSample(stamp, channel, number, "ab"[channel], Sample(stamp, number, 0))

    def decided(advance: TimeAdvance, lbts: int) -> Figure:
        found = advance.determine(lbts)
        return Figure("blocked" if found is None else float(found))

    waiting = TimeAdvance(any_of(["a", "b"]))
    waiting.push(entry(12, 0, 0))
    waiting.push(entry(20, 0, 1))
    both = TimeAdvance(all_of(["a", "b"]))
    both.push(entry(32, 1, 0))
    both.push(entry(5, 0, 0))
    found = {"lbts 5": decided(waiting, 5), "lbts 10": decided(both, 10)}
    both.push(entry(20, 0, 1))
    found["lbts 40"] = decided(both, 40)
    found["delivered"] = Figure(float(len(both.take())))
    return found


def testing() -> dict[str, Figure]:
    """The introduction of Baron et al.: hours and speed give a distance [km]."""
    return {"distance": Figure(1e8 * 100.0)}


def steps() -> dict[str, Figure]:
    """Figs 10 and 11 of SIL Kit: two participants that exchange messages, and their steps."""

    def pair(first: int, second: int) -> str:
        specs = [
            ParticipantSpec(
                name,
                step,
                inputs=(InputPort("in", delayed=True),),
                outputs=(OutputPort("out"),),
            )
            for name, step in (("P1", first), ("P2", second))
        ]
        links = [Connection("P1", "out", "P2", "in"), Connection("P2", "out", "P1", "in")]
        return _times(specs, links, 3)

    return {
        "equal": Figure(pair(1, 1)),
        "different": Figure(pair(1, 2)),
        "states": Figure(float(sum(name in State.__members__ for name in _NAMED_STATES))),
        "start": Figure(float(pair(1, 1).split()[1])),
    }


def late_part() -> dict[str, Figure]:
    """Figs 3 and 4 of JP 7130499 B2: the third result is late; patterns of exchange."""
    values = {0: 1.0, 1: 2.0, 2: 4.0, 3: 7.0, 4: 11.0, 5: 16.0}

    def data(number: int) -> Data:
        return {"x": Acceleration(values[number], 0.0, 0.0)}

    coupling = MacroStepCoupling(RecordEstimator([order_rule(1)], ["x"]))
    coupling.start(0, data(0))
    used, stamps = [], []
    #: Results that are complete by each exchange.
    complete = {1: [1], 2: [2], 3: [], 4: [3, 4], 5: [5]}
    for te, results in complete.items():
        coupling.write((te - 1) * SECOND, te * SECOND, None, {})
        for number in results:
            coupling.complete(te * SECOND, data(number))
        exchange = coupling.check(te * SECOND)
        used.append(f"{'Sg' if exchange.estimated else 'Sn'}{te}")
        stamps.append(str(exchange.tv // SECOND))
    found = {"used": Figure(" ".join(used)), "tv": Figure(" ".join(stamps))}
    for name, distances in (("4A", 2), ("4B", [2, 1]), ("4C", [3, 1])):
        pattern = CheckPattern(distances)
        exchanges = [str(step) for step in range(9) if pattern.is_exchange(step)]
        found[name] = Figure(" ".join(exchanges))
    return found


def vds() -> dict[str, Figure]:
    """Numbers of vdsim's chapter 18, read from packets and default settings."""
    wheels = (0.0,) * 4
    state = PlantState._make([*[0.0] * 14, wheels, 0.0, 0.3, wheels])
    command = encode_command(0, 0.0, IDLE)
    settings = FreeRunSettings()
    fail_safe = settings.fail_safe
    return {
        "header": Figure(float(HEADER_SIZE)),
        "command": Figure(float(len(command))),
        "state": Figure(float(len(encode_state(0, 0.0, state)))),
        "magic": Figure(f"0x{int.from_bytes(command[:4], 'little'):08X}"),
        "step": Figure(to_seconds(FleetSettings.model_fields["dt"].default)),
        "timeout": Figure(to_seconds(settings.command_timeout_ns)),
        "fail-safe throttle": Figure(fail_safe.throttle),
        "fail-safe brake": Figure(fail_safe.brake),
        "fail-safe gear": Figure(float(fail_safe.gear)),
    }


def dcp() -> dict[str, Figure]:
    """States of a DCP slave, by its table of transitions, and operating modes."""
    states = {state for t in TRANSITIONS for state in (*t.sources, t.target) if state is not None}
    return {
        "states": Figure(float(len(states))),
        "modes": Figure(" ".join(sorted(OpMode.__members__))),
    }


def _run_platoon(*changes: str, rate: float | None = None) -> Summary:
    with tempfile.TemporaryDirectory(prefix="cosim-study-") as directory:
        request = RunRequest(
            load_scenario(share_file(PLATOON), list(changes)),
            shape="inproc",
            out=Path(directory) / "run",
            record=False,
            rate=rate,
        )
        return run_request(request)


def platoon() -> dict[str, Figure]:
    """The demonstrator of Meyer et al., behind DCP over TCP and without DCP between."""
    over_dcp = _run_platoon()
    direct = _run_platoon("participants.world.parameters.dcp=null")
    scene = load_scenario(share_file(PLATOON)).scene
    assert scene is not None
    way = scene["roadblock"]["s"] - scene["vehicles"][scene["platoon"][0]]["s"]
    same = over_dcp.trace_sha256 == direct.trace_sha256
    return {
        "vehicles": Figure(float(len(scene["platoon"]))),
        "distance": Figure(way),
        "collisions": Figure(float(over_dcp.collisions or 0)),
        "gap to the roadblock": Figure(over_dcp.final_gap_to_obstacle_m or 0.0),
        "data": Figure("match" if same else "differ"),
        "NRT factor": Figure(over_dcp.rtf),
    }


def platoon_srt() -> dict[str, Figure]:
    """The same in soft real time, for five seconds."""
    run = _run_platoon("participants.world.parameters.dcp.mode=srt", "duration=5s", rate=1.0)
    return {"SRT factor": Figure(run.rtf)}


class Wave(SlaveModel):
    """Slave of the interoperability test: y = amplitude * sin(a + phase) + offset."""

    y = Output("float64", start=0.0)
    a = Input("float64")
    amplitude = Parameter("float64", start=1.0)
    offset = Parameter("float64", start=0.0)
    phase = Parameter("float64", start=0.0)

    def do_step(self, step: StepInfo) -> None:
        """Compute y."""
        self.y = self.amplitude * exactmath.sin(self.a + self.phase) + self.offset


class Shift(SlaveModel):
    """The other slave of that test: y = a + offset."""

    y = Output("float64", start=0.0)
    a = Input("float64")
    offset = Parameter("float64", start=0.25)

    def do_step(self, step: StepInfo) -> None:
        """Compute y."""
        self.y = self.a + self.offset


_WAVES = """
name: waves
duration: 1s
participants:
  plant:
    model: dcp_master
    period: 10ms
    parameters:
      step: 1/100
      slaves:
        wave: {model: "MODULE:Wave", parameters: {amplitude: 2.0, offset: 0.5, phase: 0.25}}
SHIFT      connections: LINKS
      outputs: {odometry: {fields: {x: wave.y, qw: 1}}}
    outputs: {odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}}
"""


def waves() -> dict[str, Figure]:
    """Fig. 6 of Meyer et al.: a slave fed by itself, and two in a loop, against their formulas."""

    def seen(shift: str, links: str) -> list[float]:
        text = _WAVES.replace("MODULE", __name__).replace("SHIFT", shift).replace("LINKS", links)
        found: list[float] = []
        with tempfile.TemporaryDirectory(prefix="cosim-study-") as directory:
            file = Path(directory) / "waves.yaml"
            write_atomically(file, text)
            watch = {("plant", "odometry"): lambda sample: found.append(sample.value.x)}
            run_watched(load_scenario(file), watch)
        return found

    alone = seen("", "[wave.y -> wave.a]")
    loop = seen(
        f'        shift: {{model: "{__name__}:Shift"}}\n', "[wave.y -> shift.a, shift.y -> wave.a]"
    )

    def wave(a: float) -> float:
        return 2.0 * exactmath.sin(a + 0.25) + 0.5

    def follows(values: list[float], back: int, offset: float) -> bool:
        pairs = zip(values, values[back:], strict=False)
        return len(values) == 100 and all(b == wave(a + offset) for a, b in pairs)

    right = follows(alone, 1, 0.0) and follows(loop, 2, 0.25)
    return {
        "loop": Figure("works" if right else "differs"),
        "parameters": Figure(float(len(describe(Wave).of(Causality.PARAMETER)))),
    }


def following() -> dict[str, Figure]:
    """Steps of the car-following scenario [ms]."""
    participants = load_scenario(library_file("car_following")).participants
    return {
        "traffic": Figure((participants["traffic"].period or 0) / MILLISECOND),
        "sensors": Figure((participants["front_sensor"].period or 0) / MILLISECOND),
    }
