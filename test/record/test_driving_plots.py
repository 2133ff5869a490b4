# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which curves a page has of a run: what they are called, and in which colour and form."""

from __future__ import annotations

import math

import pytest

from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.record.series import Series
from ros2_cosim.lab.report.driving_measures import Braking, Intended
from ros2_cosim.lab.report.driving_plots import Plot, drawn, driving_plots
from ros2_cosim.lab.report.report_data import RunData
from ros2_cosim.lab.report.svg_plot import Axes, Line

NAN = math.nan


def series(*values: float) -> Series:
    return Series([float(n) for n in range(len(values))], list(values))


def line(label: str, colour: int, *values: float) -> Line:
    return Line(label, [float(n) for n in range(len(values))], list(values), colour)


def driven() -> RunData:
    """``a`` is 20 m ahead of ``b``, and that 30 m ahead of ``c``."""
    data = RunData(intended=Intended(("a", "b", "c")))
    for name, x in (("c", 0.0), ("b", 30.0), ("a", 50.0)):
        data.start_pose[name] = Odometry(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6)
        data.way[name] = series(0.0, 5.0)
    return data


def plots_of(data: RunData) -> dict[str, Plot]:
    return {plot.title: plot for plot in driving_plots(data)}


def test_without_vehicles_or_values_there_are_no_plots() -> None:
    assert driving_plots(RunData()) == []
    assert list(plots_of(driven())) == ["Space-time diagram"]


def test_each_vehicle_has_the_colour_of_its_place() -> None:
    data = driven()
    data.speed.update(c=series(1.0), a=series(2.0), b=series(3.0))
    # The last one is not a vehicle: it has no odometry.
    data.pedals.update(z=series(0.5), b=series(-0.5))
    data.mode["b"] = series(2.0)
    data.heard["c"] = series(60.0, NAN)
    found = plots_of(data)
    assert found["Speeds"].lines == [line("a", 0, 2.0), line("b", 1, 3.0), line("c", 2, 1.0)]
    held = [each._replace(step=True) for each in (line("b", 1, -0.5), line("z", 7, 0.5))]
    assert found["Pedals"].lines == held
    assert found["Controller mode"].lines == [line("b", 1, 2.0)._replace(step=True)]
    ages = [line("c", 2, 60.0)._replace(dots=True, values=[60.0, NAN], times=[0.0, 1.0])]
    assert str(found["Age of V2V in the controller"].lines) == str(ages)


def test_the_way_of_each_vehicle_begins_at_its_place() -> None:
    found = plots_of(driven())["Space-time diagram"].lines
    assert found == [
        line("a", 0, 50.0, 55.0), line("b", 1, 30.0, 35.0), line("c", 2, 0.0, 5.0)
    ]  # fmt: skip


def test_gaps_are_those_of_pairs_of_the_platoon() -> None:
    data = driven()
    data.gaps = [series(NAN), series(8.0), series(9.0)]
    lines = plots_of(data)["Gaps within the platoon"].lines
    assert lines == [line("b \N{EN DASH} c", 2, 8.0), line("gap 3", 3, 9.0)]
    data.gaps = [series(7.0)]
    data.intended = Intended()
    # Without a platoon in the scenario, all vehicles are one.
    lines = plots_of(data)["Gaps within the platoon"].lines
    assert lines == [line("a \N{EN DASH} b", 1, 7.0)]


def test_what_is_commanded_and_seen_stands_beside_what_is() -> None:
    data = driven()
    data.command.update(b=series(-1.0), c=series(-2.0))
    data.acceleration["b"] = series(-0.5)
    data.distance.update(a=series(90.0), b=series(20.5), c=series(30.5))
    data.gaps = [series(20.0)]
    found = plots_of(data)
    commanded = line("commanded", 1, -1.0)._replace(dashed=True, step=True)
    assert found["Commanded and measured: b"].lines == [line("measured", 0, -0.5), commanded]
    assert found["Commanded and measured: c"].lines == [commanded._replace(values=[-2.0])]
    # The first vehicle has none ahead in the platoon, and of the third the gap is not known.
    for name, seen, gaps in (("a", 90.0, []), ("b", 20.5, [20.0]), ("c", 30.5, [])):
        sensor = line("object sensor", 1, seen)._replace(dots=True)
        truth = [line("gap in the platoon", 0, gap) for gap in gaps]
        assert found[f"Object sensor: {name}"].lines == [sensor, *truth]
    data.intended = Intended(("b", "c"))
    data.gaps = [series(20.0), series(21.0)]
    for name in "ab":
        assert len(plots_of(data)[f"Object sensor: {name}"].lines) == 1


def test_latencies_are_dots_in_the_order_of_their_links() -> None:
    data = driven()
    data.latency.update(b_to_c=series(20.0), a_to_b=series(10.0))
    found = [line("a_to_b", 0, 10.0), line("b_to_c", 1, 20.0)]
    assert plots_of(data)["V2V latency"].lines == [each._replace(dots=True) for each in found]


def test_only_curves_of_encounters_with_values_are_drawn() -> None:
    data = driven()
    data.encounters.gap.update(a=series(NAN), b=series(5.0))
    data.encounters.ttc["c"] = series(4.0)
    data.encounters.headway["b"] = series(1.5, NAN)
    found = plots_of(data)
    assert found["Gaps"].lines == [line("b", 1, 5.0)]
    assert found["Time to collision"].lines == [line("c", 2, 4.0)]
    assert [each.label for each in found["Time headway"].lines] == ["b"]


def test_braking_is_compared_with_the_vehicle_ahead() -> None:
    """Energies by the root of their ratio; where the one ahead hardly braked there is no ratio."""
    data = driven()
    data.braking.update(a=Braking(2.0, 4.0), b=Braking(3.0, 9.0), c=Braking(1.5, 36.0))
    peaks, energies = plots_of(data)["Braking down the platoon"].lines
    assert (peaks.times, peaks.values) == ([1.0, 2.0], [1.5, 0.5])
    assert (energies.label, energies.values) == ("energy of the acceleration", [1.5, 2.0])
    assert (peaks.colour, energies.colour, peaks.dots) == (0, 1, False)
    data.braking["a"] = Braking(0.1, 4.0)
    peaks, energies = plots_of(data)["Braking down the platoon"].lines
    # A single point is no line.
    assert math.isnan(peaks.values[0]) and peaks.values[1] == 0.5 and peaks.dots
    assert math.isnan(energies.values[0]) and energies.values[1] == 2.0 and energies.dots
    data.braking["b"] = Braking(0.2, 9.0)
    assert "Braking down the platoon" not in plots_of(data)


def test_the_obstacle_is_ahead_of_the_first_vehicle() -> None:
    data = driven()
    data.obstacle_gap = series(90.0)
    found = plots_of(data)["Distance to the obstacle"]
    assert found.lines == [line("a to obstacle", 0, 90.0)]


@pytest.mark.parametrize(("axes", "text"), [(None, "0.0 2.0"), (Axes((0, 9), (0, 1)), "0 9")])
def test_a_plot_is_drawn_with_its_words(axes: Axes | None, text: str) -> None:
    plot = Plot("Title", "A note.", [line("a", 0, 1.0, 2.0, 3.0)], "speed [m/s]", "follower")
    chart = drawn(plot, axes)
    assert (chart.title, chart.note) == ("Title", "A note.")
    assert f'data-axis="follower" data-x="{text}"' in chart.svg and "speed [m/s]" in chart.svg
