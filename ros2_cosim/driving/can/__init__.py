# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN and CAN FD bus between participants: bits, arbitration, errors, signals, FMI-LS-BUS."""
