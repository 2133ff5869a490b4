# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Controllers that know standard messages only, and the definitions of those."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages import catalogue

_TIME = "builtin_interfaces/Time stamp\n"
#: Of Autoware: commands that a report answers, orientations of objects, what objects begin with.
_ANSWERED = ("Gear", "TurnIndicators", "HazardLights")
_ORIENTATIONS = "uint8 UNAVAILABLE=0\nuint8 AVAILABLE=2\n"
_OBJECT = (
    "unique_identifier_msgs/UUID object_id\nfloat32 existence_probability\n"
    "ObjectClassification[] classification\n"
)
#: The fields of message types that are not installed here, by package and name.
DEFINITIONS = {
    "ackermann_msgs": {
        "AckermannDrive": "float32 steering_angle\nfloat32 steering_angle_velocity\n"
        "float32 speed\nfloat32 acceleration\nfloat32 jerk",
        "AckermannDriveStamped": "std_msgs/Header header\nAckermannDrive drive",
    },
    "autoware_control_msgs": {
        "Lateral": f"{_TIME}builtin_interfaces/Time control_time\n"
        "float32 steering_tire_angle\nfloat32 steering_tire_rotation_rate\n"
        "bool is_defined_steering_tire_rotation_rate",
        "Longitudinal": f"{_TIME}builtin_interfaces/Time control_time\n"
        "float32 velocity\nfloat32 acceleration\nfloat32 jerk\n"
        "bool is_defined_acceleration\nbool is_defined_jerk",
        "Control": f"{_TIME}builtin_interfaces/Time control_time\n"
        "Lateral lateral\nLongitudinal longitudinal",
    },
    "autoware_perception_msgs": {
        "ObjectClassification": "uint8 UNKNOWN=0\nuint8 CAR=1\nuint8 TRUCK=2\nuint8 HAZARD=9\n"
        "uint8 label\nfloat32 probability",
        "DetectedObjectKinematics": f"{_ORIENTATIONS}"
        "geometry_msgs/PoseWithCovariance pose_with_covariance\nbool has_position_covariance\n"
        "uint8 orientation_availability\n"
        "geometry_msgs/TwistWithCovariance twist_with_covariance\nbool has_twist\n"
        "bool has_twist_covariance",
        "Shape": "uint8 BOUNDING_BOX=0\nuint8 type\ngeometry_msgs/Polygon footprint\n"
        "geometry_msgs/Vector3 dimensions",
        "DetectedObject": "float32 existence_probability\nObjectClassification[] classification\n"
        "DetectedObjectKinematics kinematics\nShape shape",
        "DetectedObjects": "std_msgs/Header header\nDetectedObject[] objects",
        "TrackedObjectKinematics": f"{_ORIENTATIONS}"
        "geometry_msgs/PoseWithCovariance pose_with_covariance\n"
        "geometry_msgs/TwistWithCovariance twist_with_covariance\n"
        "geometry_msgs/AccelWithCovariance acceleration_with_covariance\n"
        "uint8 orientation_availability\nbool is_stationary",
        "TrackedObject": f"{_OBJECT}TrackedObjectKinematics kinematics\nShape shape",
        "TrackedObjects": "std_msgs/Header header\nTrackedObject[] objects",
        "PredictedPath": "geometry_msgs/Pose[] path\nbuiltin_interfaces/Duration time_step\n"
        "float32 confidence",
        "PredictedObjectKinematics": "geometry_msgs/PoseWithCovariance "
        "initial_pose_with_covariance\n"
        "geometry_msgs/TwistWithCovariance initial_twist_with_covariance\n"
        "geometry_msgs/AccelWithCovariance initial_acceleration_with_covariance\n"
        "PredictedPath[] predicted_paths",
        "PredictedObject": f"{_OBJECT}PredictedObjectKinematics kinematics\nShape shape",
        "PredictedObjects": "std_msgs/Header header\nPredictedObject[] objects",
        "TrafficLightElement": "uint8 UNKNOWN=0\nuint8 RED=1\nuint8 AMBER=2\nuint8 GREEN=3\n"
        "uint8 CIRCLE=1\nuint8 SOLID_OFF=1\nuint8 SOLID_ON=2\n"
        "uint8 color\nuint8 shape\nuint8 status\nfloat32 confidence",
        "PredictedTrafficLightState": "builtin_interfaces/Time predicted_stamp\n"
        "TrafficLightElement[] simultaneous_elements\nfloat32 reliability\n"
        "string information_source",
        "TrafficLightGroup": "int64 traffic_light_group_id\nTrafficLightElement[] elements\n"
        "PredictedTrafficLightState[] predictions",
        "TrafficLightGroupArray": "builtin_interfaces/Time stamp\n"
        "TrafficLightGroup[] traffic_light_groups",
    },
    "autoware_vehicle_msgs": {
        "VelocityReport": "std_msgs/Header header\nfloat32 longitudinal_velocity\n"
        "float32 lateral_velocity\nfloat32 heading_rate",
        "SteeringReport": f"{_TIME}float32 steering_tire_angle",
        "ControlModeReport": f"{_TIME}uint8 mode",
        **{f"{name}Report": f"{_TIME}uint8 report" for name in _ANSWERED},
        **{f"{name}Command": f"{_TIME}uint8 command" for name in _ANSWERED},
    },
    "tier4_vehicle_msgs": {"VehicleEmergencyStamped": f"{_TIME}bool emergency"},
    "carla_msgs": {
        "CarlaEgoVehicleControl": "std_msgs/Header header\nfloat32 throttle\nfloat32 steer\n"
        "float32 brake\nbool hand_brake\nbool reverse\nint32 gear\nbool manual_gear_shift",
        "CarlaActorInfo": "uint32 id\nuint32 parent_id\nstring type\nstring rolename",
        "CarlaActorList": "CarlaActorInfo[] actors",
        "CarlaCollisionEvent": "std_msgs/Header header\nuint32 other_actor_id\n"
        "geometry_msgs/Vector3 normal_impulse",
        "CarlaEgoVehicleInfo": "uint32 id\nstring type\nstring rolename\n"
        "CarlaEgoVehicleInfoWheel[] wheels\nfloat32 max_rpm\nfloat32 moi\n"
        "float32 damping_rate_full_throttle\n"
        "float32 damping_rate_zero_throttle_clutch_engaged\n"
        "float32 damping_rate_zero_throttle_clutch_disengaged\nbool use_gear_autobox\n"
        "float32 gear_switch_time\nfloat32 clutch_strength\nfloat32 mass\n"
        "float32 drag_coefficient\ngeometry_msgs/Vector3 center_of_mass",
        "CarlaEgoVehicleInfoWheel": "float32 tire_friction\nfloat32 damping_rate\n"
        "float32 max_steer_angle\nfloat32 radius\nfloat32 max_brake_torque\n"
        "float32 max_handbrake_torque\ngeometry_msgs/Vector3 position",
        "CarlaEgoVehicleStatus": "std_msgs/Header header\nfloat32 velocity\n"
        "geometry_msgs/Accel acceleration\ngeometry_msgs/Quaternion orientation\n"
        "CarlaEgoVehicleControl control",
        "CarlaLaneInvasionEvent": "std_msgs/Header header\nint32[] crossed_lane_markings",
        "CarlaStatus": "uint64 frame\nfloat32 fixed_delta_seconds\nbool synchronous_mode\n"
        "bool synchronous_mode_running",
        "CarlaWorldInfo": "string map_name\nstring opendrive",
        "CarlaBoundingBox": "geometry_msgs/Vector3 center\ngeometry_msgs/Vector3 size",
        "CarlaTrafficLightInfo": "uint32 id\ngeometry_msgs/Pose transform\n"
        "CarlaBoundingBox trigger_volume",
        "CarlaTrafficLightInfoList": "CarlaTrafficLightInfo[] traffic_lights",
        "CarlaTrafficLightStatus": "uint32 id\nuint8 RED=0\nuint8 YELLOW=1\nuint8 GREEN=2\n"
        "uint8 OFF=3\nuint8 UNKNOWN=4\nuint8 state",
        "CarlaTrafficLightStatusList": "CarlaTrafficLightStatus[] traffic_lights",
    },
    "derived_object_msgs": {
        "Object": "std_msgs/Header header\nuint32 id\nuint8 detection_level\n"
        "uint8 OBJECT_DETECTED=0\nbool object_classified\ngeometry_msgs/Pose pose\n"
        "geometry_msgs/Twist twist\ngeometry_msgs/Accel accel\ngeometry_msgs/Polygon polygon\n"
        "shape_msgs/SolidPrimitive shape\nuint8 classification\n"
        "uint8 CLASSIFICATION_UNKNOWN=0\nuint8 CLASSIFICATION_CAR=6\n"
        "uint8 CLASSIFICATION_TRUCK=7\nuint8 CLASSIFICATION_BARRIER=10\n"
        "uint8 classification_certainty\nuint32 classification_age",
        "ObjectArray": "std_msgs/Header header\nObject[] objects",
    },
    "etsi_its_cam_msgs": {
        **{
            name: f"{kind} value"
            for kind, names in {
                "uint8": "AccelerationConfidence AltitudeConfidence CurvatureCalculationMode "
                "CurvatureConfidence DriveDirection HeadingConfidence SpeedConfidence StationType "
                "VehicleLengthConfidenceIndication VehicleWidth YawRateConfidence",
                "uint16": "GenerationDeltaTime HeadingValue SemiAxisLength SpeedValue "
                "VehicleLengthValue",
                "int16": "CurvatureValue LongitudinalAccelerationValue YawRateValue",
                "uint32": "StationID",
                "int32": "AltitudeValue Latitude Longitude",
            }.items()
            for name in names.split()
        },
        **{
            name: f"{name}Value {field}_value\n{name}Confidence {field}_confidence"
            for name, field in {
                "Altitude": "altitude",
                "Curvature": "curvature",
                "Heading": "heading",
                "Speed": "speed",
                "YawRate": "yaw_rate",
            }.items()
        },
        "AccelerationControl": "uint8[] value\nuint8 bits_unused",
        "BasicContainer": "StationType station_type\nReferencePosition reference_position",
        "BasicVehicleContainerHighFrequency": "Heading heading\nSpeed speed\n"
        "DriveDirection drive_direction\nVehicleLength vehicle_length\n"
        "VehicleWidth vehicle_width\nLongitudinalAcceleration longitudinal_acceleration\n"
        "Curvature curvature\nCurvatureCalculationMode curvature_calculation_mode\n"
        "YawRate yaw_rate\nAccelerationControl acceleration_control\n"
        "bool acceleration_control_is_present",
        "CAM": "ItsPduHeader header\nCoopAwareness cam",
        "CamParameters": "BasicContainer basic_container\n"
        "HighFrequencyContainer high_frequency_container",
        "CoopAwareness": "GenerationDeltaTime generation_delta_time\nCamParameters cam_parameters",
        "HighFrequencyContainer": "uint8 choice\n"
        "BasicVehicleContainerHighFrequency basic_vehicle_container_high_frequency",
        "ItsPduHeader": "uint8 protocol_version\nuint8 message_id\nStationID station_id",
        "LongitudinalAcceleration": "LongitudinalAccelerationValue "
        "longitudinal_acceleration_value\n"
        "AccelerationConfidence longitudinal_acceleration_confidence",
        "PosConfidenceEllipse": "SemiAxisLength semi_major_confidence\n"
        "SemiAxisLength semi_minor_confidence\nHeadingValue semi_major_orientation",
        "ReferencePosition": "Latitude latitude\nLongitude longitude\n"
        "PosConfidenceEllipse position_confidence_ellipse\nAltitude altitude",
        "VehicleLength": "VehicleLengthValue vehicle_length_value\n"
        "VehicleLengthConfidenceIndication vehicle_length_confidence_indication",
    },
    "vision_msgs": {
        "ObjectHypothesis": "string class_id\nfloat64 score",
        "ObjectHypothesisWithPose": "ObjectHypothesis hypothesis\n"
        "geometry_msgs/PoseWithCovariance pose",
        "BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
        "Detection3D": "std_msgs/Header header\nObjectHypothesisWithPose[] results\n"
        "BoundingBox3D bbox\nstring id",
        "Detection3DArray": "std_msgs/Header header\nDetection3D[] detections",
    },
}


def write_definitions(directory: Path) -> Path:
    """Write the definitions as message packages below a directory."""
    for package, messages in DEFINITIONS.items():
        for name, text in messages.items():
            path = directory / package / "msg" / f"{name}.msg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    return directory


class AutowarePilot(Model):
    """Commands of Autoware by plan: ``[from when on [s], gear, acceleration, wheel angle]``."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._plan = context.parameters["plan"]
        self._control: Any = catalogue.record("autoware_control_msgs/msg/Control")
        self._gear: Any = catalogue.record("autoware_vehicle_msgs/msg/GearCommand")
        self._lateral: Any = catalogue.part("autoware_control_msgs/msg/Lateral")
        self._longitudinal: Any = catalogue.part("autoware_control_msgs/msg/Longitudinal")

    def activate(self, step: Step) -> Mapping[str, Any]:
        """What the plan says for this time."""
        due = [entry for entry in self._plan if entry[0] * 1e9 <= step.time]
        _, gear, acceleration, angle = due[-1]
        control = self._control(
            lateral=self._lateral(steering_tire_angle=angle),
            longitudinal=self._longitudinal(acceleration=acceleration),
        )
        return {"control": control, "gear": self._gear(gear)}


class Demand(Model):
    """Sends one message over and over: ``fields`` of a message ``type``, nested by mappings."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        kind = context.output_types["demand"]
        self._message = _filled(catalogue.record(kind), context.parameters["fields"])

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Demand the same as before."""
        return {"demand": self._message}


def _filled(record: Any, fields: Mapping[str, Any]) -> Any:
    # Records of this project have no defaults: their fields are numbers.
    made = record(*([0.0] * (len(record._fields) - len(record._field_defaults))))
    values = made._asdict()
    changes = {
        name: _filled(type(values[name]), value) if isinstance(value, Mapping) else value
        for name, value in fields.items()
    }
    return made._replace(**changes)
