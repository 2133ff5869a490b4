# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The vehicle simulator over UDP (protocol VDS1).

``fleet`` steps vehicles without clock or socket. ``free_run``, ``lock_step`` and ``replay`` are the
run modes. ``data_port`` shows and commands a run over HTTP, ``serving`` puts all of it together.
``participant`` is the model ``vds_plant``, the client side.

May use: driving, world, dcp, core. Used by: lab, cli.
"""

#: Default UDP ports of VDS1: where commands are received, and where states go. Nodes of Fast DDS
#: take ports from 7000 on.
COMMAND_PORT = 6601
STATE_PORT = 6602
