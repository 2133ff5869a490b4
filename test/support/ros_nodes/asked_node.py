# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The node of timer_node.py in a process that looks like one of rclcpp; it notes what is set.

As there, another thread runs while the clock is set.
"""

import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from running import run
from timer_node import Timer


class Asked(Timer):
    def __init__(self) -> None:
        super().__init__()
        library = Path(self.declare_parameter("library", "").value)
        self._asked = Path(self.declare_parameter("asked", "").value)
        with library.open("rb") as file:
            self._loaded = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._other = ThreadPoolExecutor(1)
        self.add_on_set_parameters_callback(self._note)

    def _note(self, parameters: list[Parameter]) -> SetParametersResult:
        self._other.submit(len, parameters).result()
        with self._asked.open("a", encoding="utf-8") as file:
            file.writelines(f"{p.name} {p.value}\n" for p in parameters)
        return SetParametersResult(successful=True)


if __name__ == "__main__":
    run(Asked)
