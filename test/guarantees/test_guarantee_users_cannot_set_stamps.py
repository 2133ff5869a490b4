# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Stamps are set by the kernel; nothing that a participant returns changes them."""

from __future__ import annotations

from support.step_systems import Part, StepSystem

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import Acceleration


def test_the_stamp_is_no_part_of_what_is_sent():
    fields = Acceleration._fields
    assert not {"stamp", "header", "seq"} & set(fields)
    codec = CATALOGUE.codec("geometry_msgs/msg/AccelStamped")
    stamp, _, record = codec.decode(codec.encode(40, 0, Acceleration(1.0, 2.0, 3.0)))
    assert (stamp, record) == (40, Acceleration(1.0, 2.0, 3.0))


def test_a_stamp_in_the_value_is_a_value():
    system = StepSystem(a=Part(10, lambda time, step: {"out": {"stamp": 12345}}))
    system.run(20)
    assert [stamp for _, stamp, _ in system.sent] == [0, 10]
