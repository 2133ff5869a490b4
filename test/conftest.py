# SPDX-License-Identifier: Apache-2.0
"""What all tests share: profiles of property tests, fixtures, and which tests are slow."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.browser import browser, started_browser
from support.isolation import nothing_left, ros_domain, ros_domains

from ros2_cosim import compiled

__all__ = ["browser", "nothing_left", "ros_domain", "ros_domains", "started_browser"]

# How long an example takes, or its making, says nothing on a machine that does other work, too.
# Property tests take the same examples in every run, so that a change is judged by itself;
# ``HYPOTHESIS_PROFILE=explore`` looks for new ones.
_AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("project", _AT_ANY_SPEED, derandomize=True)
settings.register_profile("explore", _AT_ANY_SPEED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))

HERE = Path(__file__).parent

#: Directories, files and functions of slow tests: whole runs in processes, servers in real time,
#: many whole runs in this one.
SLOW_PLACES = (
    "bench",
    "carla_bridge/test_client_world.py",
    "carla_bridge/test_lights.py",
    "carla_bridge/test_town_traffic.py",
    "carla_bridge/test_traffic.py",
    "carla_bridge/test_world_behind_dcp.py",
    "carla_headless/test_calls.py",
    "carla_headless/test_cameras.py",
    "carla_headless/test_client.py",
    "carla_headless/test_client_sensors.py",
    "carla_headless/test_client_town.py",
    "carla_headless/test_client_walkers.py",
    "carla_headless/test_garbage.py",
    "carla_headless/test_loading.py",
    "carla_headless/test_scenery.py",
    "carla_headless/test_server_process.py",
    "carla_headless/test_simulation_fuzz.py",
    "carla_headless/test_slow_reader.py",
    "cli/test_completion.py",
    "cli/test_ros2_command.py",
    "dcp/test_cli.py",
    "dcp/test_loss.py::test_control_gets_through_a_bad_network",
    "dcp/test_process.py",
    "dcp/test_realtime.py",
    "dcp/test_soak.py",
    "dcp_bridge/test_losses.py",
    "documents/test_plain_data.py",
    "faults/test_faults.py",
    "fuzz",
    "golden/test_golden.py::test_pure_python_has_the_same_trace",
    "guarantees/test_guarantee_required_by_the_controller.py",
    "guarantees/test_guarantee_system_controller.py",
    "kernel/test_coordinator.py",
    "kernel/test_determinism.py",
    "kernel/test_joining.py",
    "launch/test_own_node.py",
    "launch/test_real.py",
    "models/test_blind_sensor.py",
    "models/test_laws.py",
    "models/test_mpc.py",
    "models/test_peaks.py",
    "models/test_platoon.py",
    "openscenario/test_arrival.py",
    "openscenario/test_routes.py",
    "openscenario/test_shapes.py",
    "openscenario/test_storyboard.py",
    "openscenario/test_trajectories.py",
    "packaging/test_compiled.py::test_classes_of_hot_modules_have_no_interpreted_subclasses",
    "packaging/test_isolation.py",
    "packaging/test_metadata.py",
    "packaging/test_style.py::test_types_are_consistent",  # `make lint` has it, too
    "realtime/test_coupling.py::test_higher_orders_are_closer_on_smooth_signals",
    "realtime/test_runs.py",
    "record/test_comparison.py",
    "record/test_diff.py",
    "record/test_page_in_browser.py",
    "run/test_checkpoints.py",
    "run/test_console.py",
    "run/test_far_host.py",
    "run/test_far_part.py",
    "run/test_fmu_export.py",
    "run/test_fork_server.py",
    "run/test_guard.py::test_a_killed_starter_leaves_nothing",
    "run/test_law_as_fmu.py",
    "run/test_replay_into.py",
    "run/test_results.py",
    "run/test_starter_channel.py",
    "run/test_what_if.py",
    "runs",
    "scenario/test_bag_topics.py",
    "scenario/test_changes.py",
    "scenario/test_library.py",
    "scenario/test_ros_bridge.py",
    "simulation",
    "study/test_pedal_identification.py",
    "study/test_runs.py",
    "study/test_string_stability.py",
    "study/test_time_stepped.py",
    "sumo",
    "sweep/test_sweep.py",
    "sweep/test_workers.py",
    "tutorials",
    "vds/test_dashboard.py",
    "vds/test_ground.py",
    "vds/test_server.py",
    "web/test_driven_run.py",
    "web/test_page.py",
    "web/test_starter_page.py",
    "web/test_world_page.py",
)
#: Those that take longest: the first of the slow ones, so that none of them is the last alone.
LONG_FILES = (
    "tutorials/test_tutorials.py",
    "study/test_runs.py",
    "sweep/test_workers.py",
    "simulation/test_seeds.py",
)
#: A test with one of these fixtures starts ROS nodes.
SLOW_FIXTURES = {"ros_domain", "ros_domains", "observed"}


def pytest_report_header() -> str:
    """Say in which form the hot modules are tested."""
    return f"compiled: {compiled.describe()}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the slow tests."""
    if _is_slow(item):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow tests behind all others, so that most faults show early."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker("slow") is None:
        return 0
    place, _ = _place_of(item.path)
    return 1 + (LONG_FILES.index(place) if place in LONG_FILES else len(LONG_FILES))


def _is_slow(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    place, is_slow = _place_of(item.path)
    if is_slow or f"{place}::{item.originalname}" in SLOW_PLACES:
        return True
    return not SLOW_FIXTURES.isdisjoint(item.fixturenames)


@cache
def _place_of(path: Path) -> tuple[str, bool]:
    """Where a file is in this directory, and whether all its tests are slow.

    Asked for once a file: comparing paths takes as long as collecting the tests.
    """
    if not path.is_relative_to(HERE):
        return str(path), False
    place = path.relative_to(HERE)
    return str(place), any(place.is_relative_to(slow) for slow in SLOW_PLACES)
