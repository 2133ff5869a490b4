# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Workload W3 in SUMO alone: a platoon with SUMO's own CACC; Python reads all states each step."""

from __future__ import annotations

import subprocess
import tempfile
import time
from importlib import import_module
from pathlib import Path

from speed_result import STEP_S, Result

_SPACING, _SPEED = 21.8, 25.0


def platoon(vehicles: int, sim_s: float) -> Result:
    """A platoon on a straight road; position, speed and acceleration of each vehicle are read."""
    libsumo = import_module("libsumo")
    with tempfile.TemporaryDirectory() as work:
        options = _files(Path(work), vehicles, sim_s)
        began = time.perf_counter()
        libsumo.start(["sumo", *options, "--step-length", f"{STEP_S}", "--no-step-log", "true"])
        libsumo.simulationStep()
        names = libsumo.vehicle.getIDList()
        if len(names) != vehicles:
            raise RuntimeError(f"SUMO has {len(names)} of {vehicles} vehicles on the road")
        start = time.perf_counter() - began
        cpu, began = time.process_time(), time.perf_counter()
        for _ in range(round(sim_s / STEP_S)):
            libsumo.simulationStep()
            for name in names:
                libsumo.vehicle.getPosition(name)
                libsumo.vehicle.getSpeed(name)
                libsumo.vehicle.getAcceleration(name)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        libsumo.close()
    return Result("platoon", "libsumo", vehicles, sim_s, wall, cpu, sim_s,
                  note=f"start {start:.2f} s")  # fmt: skip


def _files(work: Path, vehicles: int, sim_s: float) -> list[str]:
    """Write road and vehicles; the options that name them."""
    length = vehicles * _SPACING + (sim_s + 10.0) * _SPEED
    nodes = f'<node id="a" x="0" y="0"/><node id="b" x="{length}" y="0"/>'
    (work / "n.xml").write_text(f"<nodes>{nodes}</nodes>")
    (work / "e.xml").write_text(
        f'<edges><edge id="e" from="a" to="b" numLanes="1" speed="{1.5 * _SPEED}"/></edges>'
    )
    program = Path(import_module("sumo").SUMO_HOME) / "bin" / "netconvert"
    subprocess.run(
        [program, "-n", "n.xml", "-e", "e.xml", "-o", "net.xml"],
        cwd=work, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    there = "".join(
        f'<vehicle id="v{i}" type="c" depart="0" departSpeed="{_SPEED}" departPos="{place:.1f}">'
        '<route edges="e"/></vehicle>'
        for i in range(vehicles)
        for place in [(vehicles - i) * _SPACING]
    )
    (work / "r.xml").write_text(
        '<routes><vType id="c" carFollowModel="CACC" length="4.792" minGap="2" tau="0.6" '
        f'maxSpeed="{_SPEED}"/>{there}</routes>'
    )
    return ["-n", str(work / "net.xml"), "-r", str(work / "r.xml")]
