# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The tutorials do what they say: their files are written, their commands executed."""

from __future__ import annotations

import ast
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from support.headless_process import start_server
from tutorial import ROOT, SHORT, Tutorial

from ros2_cosim.cli.console import EXIT_VERDICT
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.ros.bringup.launch_request import launch_arguments

NAMES = sorted(path.name for path in (ROOT / "docs" / "tutorials").glob("*.md"))
needs_ros = pytest.mark.skipif(
    find_spec("rclpy") is None, reason="needs rclpy: shape ros starts real ROS nodes"
)


def summary_of(tutorial: Tutorial, run: str) -> dict:
    return json.loads((tutorial.directory / "out" / run / "summary.json").read_text())


@needs_ros
def test_own_controller_drives_in_every_shape(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("own-controller.md", tmp_path)
    assert tutorial.files == ["my_law.py", "my_tuned_law.py", "my_node.py", "my_shown_node.py"]
    tutorial.carry_out(short=("tuned", "node", "shown", "c", "python"))
    law = next(command for command in tutorial.commands if "my_law.py:MyLaw" in command)
    for command, out in ((law, "law_short"), ("cosim run config/platoon.yaml", "default")):
        tutorial.run(f"{command} --shape inproc --no-bag --out out/{out}{SHORT}")
    runs = {run: summary_of(tutorial, run) for run in ("law", "law_short", "node", "shown")}
    assert [run["shape"] for run in runs.values()] == ["inproc", "inproc", "ros", "ros"]
    for run in runs.values():
        assert set(run["causality"].values()) == {0}
    assert len(verdicts_of(tutorial, "law")) == 4 and all(verdicts_of(tutorial, "law"))
    short = runs["law_short"]["trace_sha256"]
    assert runs["node"]["trace_sha256"] == short
    assert runs["shown"]["trace_sha256"] == short
    assert summary_of(tutorial, "python")["trace_sha256"] == short
    for other in ("tuned", "c", "default"):
        assert summary_of(tutorial, other)["trace_sha256"] != short


def test_own_node_drives_where_there_is_no_ros(tmp_path):
    tutorial = Tutorial("own-controller.md", tmp_path)
    blocked = tmp_path / "noros" / "rclpy"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('there is no ROS here')\n")
    traces = set()
    for controllers in ("my_node.py", "my_shown_node.py"):
        done = tutorial.run(
            # An rclpy that cannot be imported stands for a machine without ROS.
            "PYTHONPATH=$PWD/noros:$PYTHONPATH cosim run config/platoon.yaml --shape inproc "
            f"--no-bag --out out/run --controllers {controllers}{SHORT}"
        )
        assert done.returncode == EXIT_VERDICT, done.stderr
        traces.add(summary_of(tutorial, "run")["trace_sha256"])
    assert len(traces) == 1


def test_node_is_ten_lines_beyond_the_law(tmp_path):
    Tutorial("own-controller.md", tmp_path)
    lines = (tmp_path / "my_node.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 10


@pytest.mark.skipif(find_spec("distributed") is None, reason="the extra sweep is not installed")
def test_own_sweep(tmp_path, nothing_left):
    tutorial = Tutorial("own-sweep.md", tmp_path)
    assert tutorial.files == ["my_sweep.yaml", "my_table.py", "my_search.yaml"]
    # The runs of the table end too early for their verdicts; the search has another scenario.
    table_of_runs = tmp_path / "my_sweep.yaml"
    table_of_runs.write_text(table_of_runs.read_text() + "set: {duration: 2s}\n")
    done = {}
    for command in tutorial.commands:
        again = "--out out/again" in command
        done[command] = tutorial.run(command + SHORT if again else command)
        expected = EXIT_VERDICT if command.startswith("cosim") else 0
        assert done[command].returncode == expected, f"{command}\n{done[command].stderr}"
    sweep, table, _, search = (each.stdout.splitlines() for each in done.values())
    assert "8 of 8 runs done" in sweep
    assert len(table) == 8 and table[-1].split()[:4] == ["000008", "0.6", "0.3", "2"]
    last = json.loads((tmp_path / "out/sweep/runs/000008/summary.json").read_text())
    assert summary_of(tutorial, "again")["trace_sha256"] == last["trace_sha256"]
    (boundary,) = (line for line in search if line.startswith("boundary of standstill_gap"))
    passes, fails = re.findall(r"(?:passes|fails) ([\d.]+)", boundary)
    assert 0.0 < float(passes) - float(fails) <= 0.2


def test_first_run(tmp_path):
    tutorial = Tutorial("first-run.md", tmp_path)
    tutorial.carry_out(short=["seed2", "gap"])
    tutorial.run(f"cosim run config/platoon.yaml --shape inproc --no-bag --out out/same{SHORT}")
    traces = {summary_of(tutorial, run)["trace_sha256"] for run in ("same", "seed2", "gap")}
    assert len(traces) == 3
    assert (tmp_path / "out/inproc/report.html").is_file()


def verdicts_of(tutorial: Tutorial, run: str) -> list[bool]:
    return [verdict["passed"] for verdict in summary_of(tutorial, run)["verdicts"]]


@needs_ros
def test_the_platoon_drives_with_the_own_sensor(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("own-sensor.md", tmp_path).carry_out(short=["radar_ros"])
    tutorial.run(tutorial.commands[0].replace("out/radar", "out/radar_short") + SHORT)
    radar, ros = (summary_of(tutorial, run) for run in ("radar_short", "radar_ros"))
    assert radar["trace_sha256"] == ros["trace_sha256"]
    assert (radar["shape"], ros["shape"]) == ("inproc", "ros")
    assert verdicts_of(tutorial, "radar") == [True] * 4
    (check,) = tutorial.shown
    refused = tutorial.run(f"PYTHONPATH=$PWD {check}")
    assert refused.returncode == 1
    assert "rang: unknown key; did you mean 'range'?" in refused.stderr.splitlines()[-1]


@needs_ros
def test_the_own_plant_closes_the_loop(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("own-plant.md", tmp_path).carry_out()
    cart, composed, light = (
        summary_of(tutorial, run) for run in ("cart", "cart_composed", "light")
    )
    assert cart["trace_sha256"] == composed["trace_sha256"] != light["trace_sha256"]
    figures = cart["figures"]["cart"]
    assert figures["top_speed_mps"] == pytest.approx(2.0, abs=0.01)
    assert light["figures"]["cart"]["distance_m"] > figures["distance_m"] > 18.0
    text = (tmp_path / "cart.yaml").read_text().replace(", delayed: true", "")
    (tmp_path / "loop.yaml").write_text(text)
    loop = tutorial.run("PYTHONPATH=$PWD cosim check loop.yaml")
    assert loop.returncode == 1
    assert "cart" in loop.stderr and "driver" in loop.stderr


@needs_ros
def test_the_platoon_drives_in_the_own_simulator(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("own-simulator.md", tmp_path).carry_out(short=["flat_composed", "headless"])
    tutorial.run(tutorial.commands[0].replace("out/flat", "out/flat_short") + SHORT)
    flat, composed, headless = (
        summary_of(tutorial, run)["trace_sha256"]
        for run in ("flat_short", "flat_composed", "headless")
    )
    assert flat == composed != headless
    # Those of the whole run with the other simulator are met in test_first_run.
    assert verdicts_of(tutorial, "flat") == [True] * 4


@needs_ros
def test_a_ros_node_controls_a_vehicle_as_it_is(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("ros-node.md", tmp_path)
    assert tutorial.files == ["acc_node.py", "with_my_node.yaml"]
    assert "ros2_cosim" not in (tmp_path / "acc_node.py").read_text()
    tutorial.carry_out(short=["node", "cacc"])
    node, cacc = (summary_of(tutorial, run) for run in ("node", "cacc"))
    assert node["repeatable"] is True and node["trace_sha256"] != cacc["trace_sha256"]
    failed = [verdict["name"] for verdict in node["verdicts"] if not verdict["passed"]]
    assert "no_collision" not in failed and failed
    assert "acc2" in (tmp_path / "node.html").read_text()


def test_two_controllers_are_compared(tmp_path):
    tutorial = Tutorial("compare-controllers.md", tmp_path)
    printed = {}
    for command in tutorial.commands:
        is_run = command.startswith("cosim run ")
        done = tutorial.run(command + SHORT if is_run else command)
        differs = is_run or command.startswith("cosim diff ")
        assert done.returncode == (EXIT_VERDICT if differs else 0), f"{command}\n{done.stderr}"
        printed[command.split()[1]] = done.stdout
    text = (ROOT / "docs" / "tutorials" / "compare-controllers.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert printed["diff"].startswith(shown)
    for page in ("side_by_side.html", "diff.html"):
        assert "rajamani_acc" in (tmp_path / page).read_text()


def test_the_town_is_driven_and_changed(tmp_path):
    tutorial = Tutorial("town.md", tmp_path).carry_out(["town", "busy", "mine"], code_of_short=0)
    ran = [
        json.loads((tmp_path / "out" / run / "scenario.json").read_text())
        for run in ("town", "busy", "mine")
    ]
    routes = [scenario["scene"]["route"] for scenario in ran]
    assert routes == [[23, 6, 14, 8, 7], [23, 6, 14, 8, 7], [23, 6, 14]]
    traffic = [scenario["participants"]["world"]["parameters"]["traffic"] for scenario in ran]
    assert traffic == [20, 60, 20]
    assert verdicts_of(tutorial, "busy") == [True] * 3
    assert "busy" in (tmp_path / "towns.html").read_text()


@needs_ros
def test_the_platoon_drives_in_a_server_that_stands_for_carla(tmp_path, ros_domain, nothing_left):
    tutorial = Tutorial("real-carla.md", tmp_path)
    server, port = start_server()
    try:
        commands = [c.replace("port=2000", f"port={port}") for c in tutorial.commands]
        assert commands != tutorial.commands
        tutorial.commands = commands
        tutorial.carry_out(short=["carla", "headless"])
    finally:
        server.terminate()
        server.communicate()
    carla, headless = (summary_of(tutorial, run) for run in ("carla", "headless"))
    assert (carla["simulator"], headless["simulator"]) == ("carla", "headless")
    assert carla["trace_sha256"] == headless["trace_sha256"]
    assert "carla" in (tmp_path / "carla.html").read_text()


def test_the_own_message_and_the_point_cloud(tmp_path):
    tutorial = Tutorial("own-message.md", tmp_path).carry_out()
    figures = summary_of(tutorial, "lidar")["figures"]["finder"]
    assert figures["nearest_m"] == pytest.approx(10.0 - 1.9 - 0.5, abs=1e-5)
    build, _, check, *launches = tutorial.shown
    assert build == "cosim messages build my_msgs", "runs/test_own_types.py does that"
    refused = tutorial.run(f"PYTHONPATH=$PWD {check}")
    assert refused.returncode == 1
    assert "cosim messages build DIRECTORY_OF_MY_MSGS" in refused.stderr
    checked = tutorial.run("PYTHONPATH=$PWD cosim check --shape inproc my_nodes.yaml")
    assert "participants.nearest.model: " in checked.stderr
    assert len(launches) == 3, "launch/test_real.py does that, where ros2 launch is installed"


def test_the_own_simulator_has_the_methods_of_the_interface(tmp_path):
    tutorial = Tutorial("own-simulator.md", tmp_path)
    everything = {name for name in vars(Simulator) if not name.startswith("_")}
    # Of a simulator that has sensors, lights, spawned or recorded users, or that others use, too.
    methods = everything - {
        *("attach", "measurements", "strangers", "finish", "lights", "begin_lights"),
        *("hold", "spawn_sized", "destroy"),
    }
    tree = ast.parse((tmp_path / "my_simulator.py").read_text())
    (world,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "FlatWorld"]
    assert {n.name for n in world.body if isinstance(n, ast.FunctionDef)} == methods
    text = (ROOT / "docs" / "tutorials" / "own-simulator.md").read_text()
    assert set(re.findall(r"^\| `(\w+)\(", text, re.MULTILINE)) == everything
    assert len(methods) == 9
    assert list(tutorial.files) == ["my_simulator.py"]


@pytest.mark.parametrize("name", NAMES)
def test_tutorial_names_what_exists(name, tmp_path):
    tutorial = Tutorial(name, tmp_path)
    for file_name in tutorial.files:
        if file_name.endswith(".py"):
            ast.parse((tmp_path / file_name).read_text())
    text = (ROOT / "docs" / "tutorials" / name).read_text()
    known = {argument.name for argument in launch_arguments()}
    # Behind -r they are names of ROS.
    assert set(re.findall(r"(?<!-r )\b(\w+):=", text)) <= known
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", text):
        assert (ROOT / "docs" / "tutorials" / target).exists(), target


@pytest.mark.parametrize(
    ("controllers", "message"),
    [
        ("nowhere.py", "controllers: there is no file"),
        ("my_law.py:MyLow", "has no class 'MyLow'; it has MyLaw"),
        ("my_law.py", "ended without calling run_controller"),
        ("no_package/no_node", "no_package"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(controllers, message, tmp_path):
    tutorial = Tutorial("own-controller.md", tmp_path)
    done = tutorial.run(
        f"cosim run config/platoon.yaml --shape inproc --out out/x --controllers {controllers}"
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("cosim: ") and message in line
