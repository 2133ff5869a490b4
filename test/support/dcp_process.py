# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A slave in a process of its own: ``python dcp_process.py`` prints its port and serves."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time

from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import serve
from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel, StepInfo
from ros2_cosim.dcp.standard.errors import DcpPeerLostError


class Victim(SlaveModel):
    """Kills its own process in the callback named by the command line."""

    u = Input("float64")
    y = Output("float64", start=0.0)

    def __init__(self, place: str) -> None:
        self.place = place

    def _die(self, place: str) -> None:
        if place == self.place:
            os.kill(os.getpid(), signal.SIGKILL)

    def configure(self, parameters: object) -> None:
        self._die("configure")

    def initialise(self) -> None:
        self._die("initialise")

    def before_sending(self) -> None:
        self._die("send")

    def do_step(self, step: StepInfo) -> None:
        self._die("do_step")
        self.y = self.u + 1.0
        if self.place == "sleep":
            time.sleep(60)

    def stop(self) -> None:
        self._die("stop")
        print("stopped", flush=True)


def main() -> int:
    logging.basicConfig(level=logging.ERROR)
    model = Victim(sys.argv[1])
    try:
        serve(model, describe(Victim), port=0, on_ready=lambda s: print(s.port, flush=True))
    except DcpPeerLostError as error:
        print(error, flush=True)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
