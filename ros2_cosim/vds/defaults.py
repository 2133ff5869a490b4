# SPDX-License-Identifier: Apache-2.0
"""Ports of VDS1: where a vehicle simulator listens for commands, and where its states go."""

COMMAND_PORT = 7001
STATE_PORT = 7002
