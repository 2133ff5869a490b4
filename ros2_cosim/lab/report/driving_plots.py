# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a page shows of the driving of a run: curves with their labels, not yet drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ros2_cosim.core.messages.records import CONTROLLER_MODES
from ros2_cosim.core.record.series import Series
from ros2_cosim.lab.report.driving_measures import ratio
from ros2_cosim.lab.report.report_data import RunData
from ros2_cosim.lab.report.svg_plot import SIMULATED_TIME, Axes, Chart, Line, line_chart
from ros2_cosim.world.map.encounters import LONGEST_TTC

_ACCELERATION = "acceleration [m/s\N{SUPERSCRIPT TWO}]"
_JERK = "jerk [m/s\N{SUPERSCRIPT THREE}]"
#: Colour of vehicles that have no odometry.
_UNKNOWN = 7


class Plot(NamedTuple):
    """A chart before it is drawn; ``of_one`` says that it is about one vehicle of several."""

    title: str
    note: str
    lines: Sequence[Line]
    y_label: str
    x_label: str = SIMULATED_TIME
    of_one: bool = False


def drawn(plot: Plot, axes: Axes | None = None) -> Chart:
    """The chart of a plot.

    :param axes: as those of other charts, so that they can be compared
    """
    svg = line_chart(plot.lines, y_label=plot.y_label, x_label=plot.x_label, axes=axes)
    return Chart(plot.title, plot.note, svg)


def driving_plots(data: RunData) -> list[Plot]:
    """The plots of a driving scenario; those without data are left out."""
    vehicles = data.vehicles
    if not vehicles:
        return []
    platoon = list(data.intended.platoon) or vehicles
    plots = [
        Plot("Speeds", "Forward speed of each vehicle.", _lines(data, data.speed), "speed [m/s]"),
        *_encounter_plots(data),
        Plot(
            "Gaps within the platoon",
            "Along the lane to the vehicle ahead in the platoon, whatever else is between.",
            _behind(platoon, data.gaps),
            "gap [m]",
        ),
        Plot(
            "Space-time diagram",
            "Way of each vehicle from where the last one started, along the first direction.",
            _space_time(data, vehicles),
            "way [m]",
        ),
        Plot(
            "Time-gap error",
            "Time gap in the platoon minus the one to keep, while driving.",
            _behind(platoon, data.time_gap_error),
            "error [s]",
        ),
        *_controller_plots(data),
        Plot(
            "Distance to the obstacle",
            "From the front bumper.",
            [_line(f"{vehicles[0]} to obstacle", data.obstacle_gap, 0)],
            "distance [m]",
        ),
        Plot(
            "Accelerations",
            "Forward acceleration as the simulator reports it.",
            _lines(data, data.acceleration),
            _ACCELERATION,
        ),
        Plot("Jerk", "Change of the acceleration over 0.1 s.", _lines(data, data.jerk), _JERK),
        Plot(
            "Braking down the platoon",
            "Each follower over the vehicle ahead; above 1 a disturbance grows.",
            _ratios(data, platoon),
            "ratio [1]",
            "follower",
        ),
        *(_commanded(data, name) for name in vehicles if name in data.command),
        Plot(
            "Pedals",
            "Throttle counts up, brake counts down.",
            _lines(data, data.pedals, step=True),
            "throttle \N{MINUS SIGN} brake",
        ),
        *(_sensed(data, platoon, name) for name in vehicles if name in data.distance),
        Plot(
            "V2V latency",
            "Age of each message at its reception.",
            [
                _line(name, data.latency[name], number)._replace(dots=True)
                for number, name in enumerate(sorted(data.latency))
            ],
            "latency [ms]",
        ),
    ]
    return [plot for plot in plots if any(map(_has_values, plot.lines))]


def _encounter_plots(data: RunData) -> list[Plot]:
    """What the referee judges."""
    found = data.encounters
    longest = f"longer ones than {LONGEST_TTC:g} s are left out."
    return [
        Plot(
            "Gaps",
            "From the front bumper to the nearest object on the way, as in min_gap_m.",
            [line for line in _lines(data, found.gap) if _has_values(line)],
            "gap [m]",
        ),
        Plot(
            "Time to collision",
            f"The least of all objects on the way: gap over closing speed; {longest}",
            [line for line in _lines(data, found.ttc) if _has_values(line)],
            "time [s]",
        ),
        Plot(
            "Time headway",
            f"Gap over the own speed; {longest}",
            [line for line in _lines(data, found.headway) if _has_values(line)],
            "time [s]",
        ),
    ]


def _controller_plots(data: RunData) -> list[Plot]:
    """What the controllers report about themselves."""
    meaning = ", ".join(f"{number} {name}" for number, name in enumerate(CONTROLLER_MODES))
    return [
        Plot("Controller mode", f"{meaning}.", _lines(data, data.mode, step=True), "mode"),
        Plot(
            "Time-gap error in the controller",
            "As the controller sees it by sensor and V2V, against its present time gap.",
            _lines(data, data.known_error),
            "error [s]",
        ),
        Plot(
            "Time gap kept",
            "The present time gap of the spacing policy; a fall-back without V2V opens it.",
            _lines(data, data.kept_time_gap, step=True),
            "time gap [s]",
        ),
        Plot(
            "Age of V2V in the controller",
            "Age of its data about the predecessor; gaps where no fresh message arrived.",
            [line._replace(dots=True) for line in _lines(data, data.heard)],
            "age [ms]",
        ),
    ]


def _commanded(data: RunData, name: str) -> Plot:
    """What a controller demands beside what the vehicle does."""
    lines = [_line("commanded", data.command[name], 1)._replace(dashed=True, step=True)]
    if name in data.acceleration:
        lines.insert(0, _line("measured", data.acceleration[name], 0))
    note = "What the controller demands and what the vehicle does."
    title = f"Commanded and measured: {name}"
    return Plot(title, note, lines, _ACCELERATION, of_one=True)


def _sensed(data: RunData, platoon: Sequence[str], name: str) -> Plot:
    """Measurements of an object sensor beside the true values."""
    lines = [_line("object sensor", data.distance[name], 1)._replace(dots=True)]
    index = platoon.index(name) - 1 if name in platoon else -1
    if 0 <= index < len(data.gaps):
        lines.append(_line("gap in the platoon", data.gaps[index], 0))
    note = "Distance to the nearest object, and to the vehicle ahead in the platoon."
    return Plot(f"Object sensor: {name}", note, lines, "distance [m]", of_one=True)


def _lines(data: RunData, table: Mapping[str, Series], *, step: bool = False) -> list[Line]:
    """One curve for each vehicle of a table, in the colour of the vehicle."""
    vehicles = data.vehicles
    colours = {name: number for number, name in enumerate(vehicles)}
    names = [n for n in vehicles if n in table] + sorted(set(table) - set(vehicles))
    return [_line(n, table[n], colours.get(n, _UNKNOWN))._replace(step=step) for n in names]


def _behind(platoon: Sequence[str], table: Sequence[Series]) -> list[Line]:
    """One curve for each pair of the platoon, in the colour of the second one."""
    lines = [_line(_pair(platoon, i), series, i + 1) for i, series in enumerate(table)]
    return [line for line in lines if _has_values(line)]


def _line(label: str, series: Series, colour: int) -> Line:
    return Line(label, series.times, series.values, colour)


def _space_time(data: RunData, vehicles: Sequence[str]) -> list[Line]:
    """Way over time, each vehicle from its place at the start."""
    found = []
    for colour, name in enumerate(vehicles):
        series, start = data.way[name], data.start_way(name)
        way = [start + value for value in series.values]
        found.append(Line(name, series.times, way, colour))
    return found


def _ratios(data: RunData, platoon: Sequence[str]) -> list[Line]:
    """Largest decelerations and energies of the accelerations, each over that ahead."""
    braking = [data.braking[name] for name in platoon if name in data.braking]
    pairs = list(pairwise(braking))
    peaks = [ratio(own.peak, ahead.peak) for ahead, own in pairs]
    energies = [
        math.sqrt(own.energy / ahead.energy) if math.isfinite(peak) else math.nan
        for peak, (ahead, own) in zip(peaks, pairs, strict=True)
    ]
    numbers = [float(i + 1) for i in range(len(pairs))]
    alone = sum(map(math.isfinite, peaks)) == 1
    return [
        Line("largest deceleration", numbers, peaks, 0, dots=alone),
        Line("energy of the acceleration", numbers, energies, 1, dots=alone),
    ]


def _pair(vehicles: Sequence[str], number: int) -> str:
    if number + 1 < len(vehicles):
        return f"{vehicles[number]} \N{EN DASH} {vehicles[number + 1]}"
    return f"gap {number + 1}"


def _has_values(line: Line) -> bool:
    return any(map(math.isfinite, line.values))
