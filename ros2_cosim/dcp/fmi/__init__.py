# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs at run time: FMI 2.0 and 3.0, co-simulation, model exchange and scheduled execution.

``runtime`` declares what a slave asks of an instance; one module for each interface type does it,
by the classes of FMPy.
"""
