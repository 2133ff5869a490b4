# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The graph of the Autoware reference system; ``reference_system.py`` says where it is from."""

from __future__ import annotations

#: Where the path begins whose latency is measured.
ROOTS = ("FrontLidarDriver", "RearLidarDriver")
#: Node and topic -> period [ms].
SENSORS = {
    "FrontLidarDriver": 100, "RearLidarDriver": 100, "PointCloudMap": 120, "Visualizer": 60,
    "Lanelet2Map": 100, "EuclideanClusterSettings": 25,
}  # fmt: skip
#: Node and topic -> what it reads.
TRANSFORMS = {
    "PointsTransformerFront": "FrontLidarDriver", "PointsTransformerRear": "RearLidarDriver",
    "VoxelGridDownsampler": "PointCloudFusion", "PointCloudMapLoader": "PointCloudMap",
    "RayGroundFilter": "PointCloudFusion", "ObjectCollisionEstimator": "EuclideanClusterDetector",
    "MPCController": "BehaviorPlanner", "ParkingPlanner": "Lanelet2MapLoader",
    "LanePlanner": "Lanelet2MapLoader",
}  # fmt: skip
#: Node and topic -> the two that it waits for.
FUSIONS = {
    "PointCloudFusion": ("PointsTransformerFront", "PointsTransformerRear"),
    "NDTLocalizer": ("VoxelGridDownsampler", "PointCloudMapLoader"),
    "VehicleInterface": ("MPCController", "BehaviorPlanner"),
    "Lanelet2GlobalPlanner": ("Visualizer", "NDTLocalizer"),
    "Lanelet2MapLoader": ("Lanelet2Map", "Lanelet2GlobalPlanner"),
}
#: What the planner reads.
PLANNED = (
    "ObjectCollisionEstimator", "NDTLocalizer", "Lanelet2GlobalPlanner", "Lanelet2MapLoader",
    "ParkingPlanner", "LanePlanner",
)  # fmt: skip
#: What the cluster detector reads -> what it writes.
CLUSTERS = (
    ("RayGroundFilter", "EuclideanClusterDetector"),
    ("EuclideanClusterSettings", "EuclideanIntersection"),
)
#: Sink -> what it reads.
COMMANDS = {"VehicleDBWSystem": "VehicleInterface", "IntersectionOutput": "EuclideanIntersection"}
