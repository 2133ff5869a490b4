# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Snapshot packing: sizes and offsets of the protocol, rounding to float32."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.headless.snapshot import (
    RECORD_BYTES,
    ActorState,
    VehicleStatus,
    narrow_numbers,
    numbers_of,
    pack_record,
    pack_sensor_header,
    pack_status,
    pack_vehicle_record,
    pack_world,
)
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl

_NUMBER = st.floats(-1e6, 1e6)
_VECTOR = st.builds(Vector, _NUMBER, _NUMBER, _NUMBER)
_STATE = st.builds(
    ActorState,
    st.builds(Transform, _VECTOR, st.builds(Rotation, _NUMBER, _NUMBER, _NUMBER)),
    _VECTOR,
    _VECTOR,
    _VECTOR,
)


@given(_STATE)
def test_narrow_is_what_a_record_carries(state: ActorState) -> None:
    record = pack_record(9, numbers_of(state))
    assert len(record) == RECORD_BYTES == 119
    narrowed = narrow_numbers(numbers_of(state))
    assert struct.unpack_from("<IB15f", record) == (9, 1, *narrowed)
    assert narrow_numbers(narrowed) == narrowed


def test_vehicle_record_offsets() -> None:
    state = ActorState(Transform(), Vector(), Vector(), Vector())
    control = VehicleControl(0.5, -0.25, 0.75, True, False, True, 3)
    status = pack_status(VehicleStatus(control, 90.0, control.gear))
    record = pack_vehicle_record(4, numbers_of(state), status)
    assert len(record) == 119
    assert struct.unpack_from("<fff???if", record, 65) == (
        0.5, -0.25, 0.75, True, False, True, 3, 90.0,
    )  # fmt: skip


def test_world_message_offsets() -> None:
    message = pack_world(7, 1.5, 3, 123.0, 0.5, 1, [b"a" * 119, b"b" * 119])
    assert len(message) == 48 + 36 + 2 * 119
    assert struct.unpack_from("<QQd", message) == (17, 7, 1.5)
    assert struct.unpack_from("<Qdf3iI", message, 48) == (3, 123.0, 0.5, 0, 0, 0, 1)
    assert len(pack_sensor_header(4, 1, 0.0)) == 48
