# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a slave in real time whose steps take longer than the sample time.

Each case is one slave in a separate process and one master, in SRT or HRT. The model waits in
each step for a share of the sample time, or in every tenth step for three sample times. For each
case: ticks of the slave that ended after the next one was due; how far its simulated time is behind
that of the master at the end, in sample times; and whether it went to its error state, which ends
the run.

    python -m bench.srt_late_steps [--sample-ms 20] [--steps 100] [--json FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path

from bench.figures import Figure, counted, show
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import OpMode, State
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

#: Name -> time of a step as a share of the sample time, and that of every tenth step.
CASES = {
    "each step 0.5 sample times": (0.5, 0.5),
    "each step 1.1 sample times": (1.1, 1.1),
    "each step 2 sample times": (2.0, 2.0),
    "every tenth step 3 sample times": (0.3, 3.0),
}


class Waiting(SlaveModel):
    """Counts its steps, each of which takes its time."""

    steps = Output("float64", start=0.0)

    def __init__(self, usual_s: float, tenth_s: float) -> None:
        self._times = usual_s, tenth_s
        self.done = 0

    def do_step(self, step: StepInfo) -> None:
        """Wait."""
        self.done += 1
        time.sleep(self._times[self.done % 10 == 0])
        self.steps = float(self.done)


def described(sample: Fraction) -> SlaveDescription:
    """The slave's description."""
    modes = (OpMode.SRT, OpMode.HRT)
    return describe(Waiting, op_modes=modes, resolutions=(sample,))


def serve(sample: Fraction, usual: float, tenth: float, pipe: Connection) -> None:
    """Serve one slave; send the number of the port, and at the end what became of it."""
    model = Waiting(usual * float(sample), tenth * float(sample))
    server = SlaveServer(model, described(sample), port=0)
    pipe.send(server.port)
    try:
        server.run()
    finally:
        plan = server.slave.plan
        pipe.send((model.done, plan.overruns, plan.worst_s))


def measure(mode: OpMode, sample: Fraction, steps: int, name: str) -> list[Figure]:
    """One case."""
    here, there = multiprocessing.Pipe()
    arguments = (sample, *CASES[name], there)
    process = multiprocessing.Process(target=serve, args=arguments)
    process.start()
    failed, found = 0, []
    case = f"{mode.name}, {name}"
    with Master(op_mode=mode) as master:
        slave = master.add_slave(described(sample), port=here.recv())
        master.configure()
        try:
            master.run()
            for _ in range(steps):
                master.do_step()
            # The slave's clock may be a tick ahead of what the master has counted.
            behind = max(0.0, master.steps_done - float(str(slave.output("steps"))))
            found = [counted(f"{case}: behind at the end", behind, "sample times")]
            master.stop()
        except DcpError:
            failed = int(slave.state in (State.ERRORHANDLING, State.ERRORRESOLVED))
            if not failed:
                raise
    done, late, _ = here.recv()
    process.join()
    return [
        counted(f"{case}: steps of the slave", done),
        counted(f"{case}: late ticks", late),
        *found,
        counted(f"{case}: ended in the error state", failed),
    ]


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample-ms", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    sample = Fraction(chosen.sample_ms, 1000)
    show(
        [
            figure
            for mode in (OpMode.SRT, OpMode.HRT)
            for name in CASES
            for figure in measure(mode, sample, chosen.steps, name)
        ],
        chosen.json,
    )


if __name__ == "__main__":
    main()
