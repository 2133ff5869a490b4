# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0

from ros2_cosim.core.process.program import begin_program

begin_program()
