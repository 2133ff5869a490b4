# SPDX-License-Identifier: Apache-2.0
"""The ROS parameters of the nodes of a run, as ``ros2 param describe`` tells them."""

from __future__ import annotations

#: All are read-only: the bring-up plan sets them when it starts a process.
DESCRIPTIONS = {
    "arrivals": "Arrival record of an earlier run that is repeated, a file; empty: none.",
    "bag": "Whether messages are recorded: true or false.",
    "factor": "Real-time factor of a participant without synchronisation: from 0.0001, or max.",
    "foxglove": "Where Foxglove finds the run, [HOST:]PORT; empty: nowhere.",
    "hard": "Hard real time where the system permits it: true or false.",
    "output": "Output directory of the run.",
    "participant": "Which participant of the scenario this process is.",
    "paused": "Whether the run begins paused: true or false.",
    "process": "Which of the shared processes of the scenario this one is.",
    "profile": "Where this process notes what it spends its time on, a directory; empty: nowhere.",
    "rate": "Real-time factor of the run: from 0.0001 to below 1e6, or max.",
    "repeat": "Number of repetitions of the run in the same processes: from 1.",
    "repeatable_scope": "Where another run has the same trace, as the models declare it.",
    "reporters": "Processes beside participants that report, JSON.",
    "scenario_file": "The resolved scenario of the run.",
    "watched": "A topic that the free-running clock reads; empty: none.",
}

#: Those of the visualisation.
DRAWING = {
    "heights": "Heights of the vehicles [m], above 0: one for all, or one for each.",
    "lengths": "Lengths of the vehicles [m], above 0: one for all, or one for each.",
    "odometries": "Topics of the vehicles' odometries, one for each; none: /NAME/odometry.",
    "rate": "Pictures per second of wall time, above 0.",
    "road_file": "OpenDRIVE file of the road; empty: none.",
    "sensor_fov_deg": "Angle of view of the object sensors [degrees], above 0.",
    "sensor_range_m": "Range of the object sensors [m], above 0.",
    "sensors": "Vehicles that have an object sensor.",
    "vehicles": "Vehicles that are drawn, in driving order.",
    "widths": "Widths of the vehicles [m], above 0: one for all, or one for each.",
}
