# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records become OSI messages and come back, with the standard's reference points and frames."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    CLASS_UNKNOWN,
    Acceleration,
    DetectedObject,
    ObjectList,
    Odometry,
    RoadUser,
    StaticObject,
)
from ros2_cosim.world.map import frames

pytest.importorskip("osi3", reason="the extra 'osi' is not installed")

from osi3.osi_object_pb2 import MovingObject, StationaryObject
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_trafficupdate_pb2 import TrafficUpdate

from ros2_cosim.driving.osi import messages

PLACE = st.floats(-1e4, 1e4)
ANGLE = st.floats(-3.1, 3.1)
TILT = st.floats(-1.4, 1.4)
SPEED = st.floats(-60.0, 60.0)
RATE = st.floats(-3.0, 3.0)
SIZE = st.floats(0.1, 30.0)
CLASS = st.sampled_from((CLASS_UNKNOWN, CLASS_CAR, CLASS_TRUCK))


@st.composite
def odometries(draw: st.DrawFn) -> Odometry:
    q = frames.quaternion_from_rpy(draw(TILT), draw(TILT), draw(ANGLE))
    return Odometry(
        *(draw(PLACE) for _ in range(3)),
        *q,
        *(draw(SPEED) for _ in range(3)),
        *(draw(RATE) for _ in range(3)),
    )


@st.composite
def forms(draw: st.DrawFn) -> messages.Form:
    kind = draw(CLASS)
    has = kind != CLASS_UNKNOWN and draw(st.booleans())
    axles = messages.Axles(draw(SIZE), draw(SIZE), draw(SIZE)) if has else None
    sizes = (draw(SIZE), draw(SIZE), draw(SIZE))
    return messages.Form(draw(st.integers(0, 2**32 - 1)), kind, *sizes, axles)


def parsed(message: MovingObject) -> MovingObject:
    """What a reader of the bytes has."""
    return MovingObject.FromString(message.SerializeToString(deterministic=True))


@given(forms(), odometries(), st.tuples(SPEED, SPEED, SPEED))
def test_a_vehicle_comes_back(
    form: messages.Form, odometry: Odometry, acceleration: tuple[float, float, float]
) -> None:
    message = MovingObject()
    messages.moving_object(message, form, odometry, Acceleration(*acceleration))
    found = parsed(message)
    back = messages.odometry_of(found)
    turn = [abs(a * b) for a, b in zip(back[3:7], odometry[3:7], strict=True)]
    assert back[:3] == pytest.approx(odometry[:3], abs=1e-8)
    assert sum(turn) == pytest.approx(1.0, abs=1e-9)  # q and -q are one rotation
    assert back[7:] == pytest.approx(odometry[7:], abs=1e-6)
    assert messages.acceleration_of(found) == pytest.approx(acceleration, abs=1e-9)
    again = messages.form_of(found)
    assert again._replace(axles=None) == form._replace(axles=None)
    assert (again.axles or ()) == pytest.approx(form.axles or ())


@given(odometries(), SIZE)
def test_the_place_is_the_centre_of_the_box(odometry: Odometry, height: float) -> None:
    message = MovingObject()
    messages.moving_object(message, messages.Form(1, CLASS_CAR, 4.0, 2.0, height), odometry)
    centre = message.base.position
    offset = (centre.x - odometry.x, centre.y - odometry.y, centre.z - odometry.z)
    assert math.hypot(*offset) == pytest.approx(0.5 * height, abs=1e-8)
    # Seen from the body it lies straight above the reference point.
    assert frames.world_to_body(odometry[3:7], offset) == pytest.approx(
        (0.0, 0.0, 0.5 * height), abs=1e-8
    )


@given(odometries())
def test_velocity_and_rates_are_those_of_the_place_and_the_angles(odometry: Odometry) -> None:
    """A short time later the box is where its velocity takes it, turned as its rates say."""
    form = messages.Form(1, CLASS_CAR, 4.0, 2.0, 1.5)
    dt = 1e-6
    q = odometry[3:7]
    moved = frames.body_to_world(q, odometry[7:10])
    half = 0.5 * dt
    wx, wy, wz = odometry[10:]
    turned = frames.multiply(q, (half * wx, half * wy, half * wz, 1.0))
    norm = math.sqrt(sum(part * part for part in turned))
    place = (a + dt * b for a, b in zip(odometry[:3], moved, strict=True))
    later = Odometry(*place, *(part / norm for part in turned), *odometry[7:])
    now, then = MovingObject(), MovingObject()
    messages.moving_object(now, form, odometry)
    messages.moving_object(then, form, later)
    for axis in "xyz":
        step = getattr(then.base.position, axis) - getattr(now.base.position, axis)
        assert step / dt == pytest.approx(getattr(now.base.velocity, axis), abs=1e-2)
    for angle in ("roll", "pitch", "yaw"):
        step = getattr(then.base.orientation, angle) - getattr(now.base.orientation, angle)
        step = math.remainder(step, 2.0 * math.pi)
        rate = getattr(now.base.orientation_rate, angle)
        assert step / dt == pytest.approx(rate, abs=1e-2, rel=1e-3)


def test_a_vehicle_that_faces_north_uphill() -> None:
    """Numbers by hand: nose up is a negative pitch, and a slope tilts the centre backwards."""
    slope = math.atan(0.1)
    q = frames.quaternion_from_rpy(0.0, -slope, math.pi / 2)
    odometry = Odometry(10.0, 20.0, 3.0, *q, 5.0, 0.0, 0.0, 0.0, 0.0, 0.2)
    form = messages.Form(7, CLASS_TRUCK, 8.0, 2.5, 3.0, messages.Axles(2.0, 3.0, 0.5))
    message = MovingObject()
    messages.moving_object(message, form, odometry)
    base = message.base
    assert (base.orientation.roll, base.orientation.pitch, base.orientation.yaw) == pytest.approx(
        (0.0, -slope, math.pi / 2)
    )
    assert (base.position.x, base.position.y, base.position.z) == pytest.approx(
        (10.0, 20.0 - 1.5 * math.sin(slope), 3.0 + 1.5 * math.cos(slope))
    )
    assert (base.velocity.x, base.velocity.y, base.velocity.z) == pytest.approx(
        (0.0, 5.0 * math.cos(slope), 5.0 * math.sin(slope)), abs=1e-12
    )
    rear = message.vehicle_attributes.bbcenter_to_rear
    assert (rear.x, rear.y, rear.z) == (-3.0, 0.0, -1.0)
    assert (
        message.vehicle_classification.type == MovingObject.VehicleClassification.TYPE_HEAVY_TRUCK
    )


def test_rates_at_a_vertical_pitch_are_finite() -> None:
    rates = messages.angle_rates((0.0, math.pi / 2, 0.0), (1.0, 2.0, 3.0))
    assert all(map(math.isfinite, rates))


@given(
    st.builds(
        RoadUser, st.integers(0, 2**32 - 1), CLASS, PLACE, PLACE, PLACE, ANGLE, SPEED, SPEED,
        SIZE, SIZE, SIZE,
    )
)  # fmt: skip
def test_a_road_user_comes_back(user: RoadUser) -> None:
    message = MovingObject()
    messages.moving_user(message, user)
    assert messages.road_user_of(parsed(message)) == pytest.approx(user, abs=1e-8)


@given(
    st.builds(
        StaticObject, st.integers(0, 2**32 - 1), st.sampled_from((CLASS_OBSTACLE, CLASS_UNKNOWN)),
        PLACE, PLACE, PLACE, ANGLE, SIZE, SIZE, SIZE,
    )
)  # fmt: skip
def test_a_fixed_object_comes_back(item: StaticObject) -> None:
    message = StationaryObject()
    messages.stationary_object(message, item)
    data = message.SerializeToString(deterministic=True)
    assert messages.static_object_of(StationaryObject.FromString(data)) == item


DETECTED = st.builds(
    DetectedObject, st.integers(0, 2**32 - 1), CLASS, st.floats(0.0, 300.0), SPEED,
    st.floats(-6.0, 6.0), SIZE, SIZE, st.floats(0.0, 1.0),
)  # fmt: skip


@given(st.lists(DETECTED, max_size=5), st.floats(0.0, 8.0), st.integers(0, 10**12))
def test_an_object_list_comes_back(found: list[DetectedObject], front: float, time: int) -> None:
    ordered = sorted(found, key=lambda each: (each.distance, each.id))
    message = SensorData()
    sensor = messages.SensorFrame(3, front)
    messages.sensor_data(message, ObjectList(tuple(ordered)), sensor, time, time)
    message = SensorData.FromString(message.SerializeToString(deterministic=True))
    back = messages.object_list_of(message, front, 0.0)
    assert messages.time_of(message.timestamp) == time
    key = lambda each: each.id  # noqa: E731 - distances may differ in their last bit
    pairs = zip(sorted(back.objects, key=key), sorted(ordered, key=key), strict=True)
    if len({each.id for each in ordered}) == len(ordered):
        for mine, theirs in pairs:
            assert mine == pytest.approx(theirs, abs=1e-9)


def test_what_stands_comes_with_the_own_speed() -> None:
    barrier = DetectedObject(101, CLASS_OBSTACLE, 30.0, -20.0, 0.5, 0.3, 3.5, 0.9)
    message = SensorData()
    messages.sensor_data(message, ObjectList((barrier,)), messages.SensorFrame(1, 3.7), 0, None)
    assert not message.HasField("last_measurement_time")
    (back,) = messages.object_list_of(message, 3.7, 20.0).objects
    assert back == pytest.approx(barrier)


def test_a_sensor_elsewhere_on_the_vehicle() -> None:
    """A radar at the left rear corner that looks back to the left, as others describe it."""
    message = SensorData()
    mounting = message.mounting_position
    mounting.position.x, mounting.position.y = -0.8, 0.9
    mounting.orientation.yaw = math.pi / 2
    item = message.moving_object.add()
    item.base.position.x = 2.0  # to the left
    item.base.velocity.y = -3.0  # ahead
    item.base.dimension.length = 4.0
    (found,) = messages.object_list_of(message, 3.7, 0.0).objects
    assert found.lateral_offset == pytest.approx(2.9)
    assert found.distance == pytest.approx(-0.8 - 2.0 - 3.7)
    assert found.relative_speed == pytest.approx(3.0)
    assert found.existence_probability == 1.0
    assert found.classification == CLASS_UNKNOWN


def test_an_update_of_traffic_names_each_object() -> None:
    update = TrafficUpdate()
    q = frames.quaternion_from_yaw(1.0)
    odometry = Odometry(1.0, 2.0, 0.0, *q, 3.0, 0.0, 0.0, 0.0, 0.0, 0.1)
    form = messages.Form(5, CLASS_CAR, 4.0, 2.0, 1.5)
    messages.moving_object(update.update.add(), form, odometry, Acceleration(1.0, 0.0, 0.0))
    ((found, state, acceleration),) = messages.updated(update)
    assert found == form
    assert state == pytest.approx(odometry)
    assert acceleration == pytest.approx((1.0, 0.0, 0.0))


def test_a_person_has_no_attributes_of_a_vehicle() -> None:
    message = MovingObject()
    messages.moving_user(
        message, RoadUser(102, CLASS_UNKNOWN, 0, 0, 0, 0, 1.2, 0, 0.4, 0.4, 1.8), walker=True
    )
    assert message.type == MovingObject.TYPE_PEDESTRIAN
    assert message.HasField("pedestrian_attributes")
    assert not message.HasField("vehicle_attributes")
    assert messages.form_of(message).walker
