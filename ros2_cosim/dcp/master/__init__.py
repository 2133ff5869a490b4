# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A DCP master and its co-simulations.

``master`` is the interface. It is made of ``requests`` (to slaves, and their answers) over
``sockets``, ``setup`` (to CONFIGURED and back to ALIVE), ``run`` (steps) and ``heartbeat``.
``plan`` lays out the data PDUs from the ``wiring``; ``remote`` is what a master knows of one slave,
``log`` reads the slave's log entries. ``cosimulation`` reads a file that describes a whole
co-simulation.
"""
