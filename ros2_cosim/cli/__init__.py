# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The command line ``cosim``: a module for each command, imported when it is called.

May use: lab, ros, vds, driving, world, dcp, core. Used by: none.
"""

from ros2_cosim.core.process.program import begin_program

begin_program()
