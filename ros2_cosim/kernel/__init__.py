# SPDX-License-Identifier: Apache-2.0
"""Time, queues, activation, time advance: the deterministic core, free of I/O and of wall clocks."""
