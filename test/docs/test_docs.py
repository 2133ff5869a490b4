# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the documentation says is there: links, options, keys, topics, commands, examples."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
import yaml

from ros2_cosim.cli import main as cli
from ros2_cosim.core.kernel.activation import Activation
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario import schema
from ros2_cosim.core.scenario.registry import available_models
from ros2_cosim.core.scenario.seams import available_seams, find_seam
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.driving.autoware import autoware_ports as autoware
from ros2_cosim.driving.controllers.registry import available_laws
from ros2_cosim.driving.ros_bridge import ros_bridge_ports as bridge
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.node import topics
from ros2_cosim.vds.data_port.api import ROUTES
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.participant import VdsPlantParameters
from ros2_cosim.vds.replay import replay

ROOT = Path(__file__).resolve().parents[2]
CLOCK = "docs/clock.md"
ORDER = "docs/how-to/see-the-order-of-participants.md"
REFERENCE = "docs/reference.md"
OUTSIDE = ("README.md", "CONTRIBUTING.md")
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
#: Name and content of what is made from the code.
GENERATED = re.compile(r"<!-- generated: (.+?) -->\n(.*?)<!-- end of generated -->", re.DOTALL)
#: Those that have no keys.
_OTHER_TABLES = {
    "commands",
    "effort",
    "laws",
    "launch arguments",
    "models",
    "removed words",
    "speed",
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
PATH = re.compile(r"`([a-z_]+(?:/[\w.]+)+\.[a-z]+)(?::\w+)?`")

APP: Any = typer.main.get_command(cli.app)
APP.load_all()
COMMANDS = APP.commands


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one of the same or a higher level."""
    text = text_of(page)
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert found, f"{page} has no heading '{heading}'"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", FENCE.sub(blank, rest), re.MULTILINE)
    return rest[: end.start()] if end else rest


def blank(match: re.Match[str]) -> str:
    """Spaces of the same length: what stands in code is neither a heading nor a link."""
    return re.sub(r"[^\n]", " ", match[0])


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(
        r"^#+ (.+)$", FENCE.sub(blank, path.read_text(encoding="utf-8")), re.MULTILINE
    )
    plain = [re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def rows(table: str) -> list[list[str]]:
    """The cells of the tables in a text, without heads and rules."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if not line.startswith("|---") and not following.startswith("|---")
    ]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def example(page: str, name: str) -> str:
    """The code block that follows ``<!-- example: NAME -->``."""
    found = re.search(
        rf"<!-- example: {re.escape(name)} -->\n```\w*\n(.*?)^```$",
        text_of(page),
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"{page} has no example {name}"
    return found[1]


#: Commands with subcommands.
GROUPS = ("dcp", "messages", "study", "vds")


def sub_options(group: str, name: str) -> set[str]:
    """All options of a subcommand; none if there is no such subcommand."""
    command = COMMANDS[group].commands.get(name)
    parameters = command.params if command else []
    return {option for p in parameters for option in (*p.opts, *p.secondary_opts)}


def cli_options(command: str) -> set[str]:
    """All long options of a command of ``cosim``."""
    parameters = COMMANDS[command].params
    named = [name for p in parameters for name in (*p.opts, *p.secondary_opts)]
    return {name for name in named if name.startswith("--")} - {"--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub(blank, page.read_text(encoding="utf-8"))):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{page.name}: nothing at {target}"
        assert not anchor or anchor in anchors(path), f"{page.name}: no heading for {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    places = (ROOT, ROOT / "ros2_cosim", page.parent)
    made = ("out/", "path/", "bag/", "package/")
    for name in PATH.findall(text):
        if not name.startswith(made):
            assert any((place / name).exists() for place in places), f"{page.name}: no file {name}"


def test_images_are_small() -> None:
    for path in (ROOT / "docs" / "images").glob("*.png"):
        assert path.stat().st_size < 200_000, f"{path.name} is too large for a page"


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_text_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^|[`$/ ])cosim ([a-z][^`\n]*)", text, re.MULTILINE):
        words = shlex.split(line.partition("#")[0].replace("'", " "))
        words[0] = re.sub(r"[^a-z-].*", "", words[0])
        if words[0] == "command":
            continue
        assert words[0] in COMMANDS, f"{page.name}: there is no command cosim {words[0]}"
        grouped = words[0] in GROUPS
        known = sub_options(*words[:2]) if grouped and words[1:] else cli_options(words[0])
        for option in (word for word in words if word.startswith("--")):
            assert option in known, f"{page.name}: cosim {words[0]} has no option {option}"
    known = {option for parameter in APP.params for option in parameter.opts}
    known = known.union(*map(cli_options, COMMANDS))
    for group in GROUPS:
        known = known.union(*(sub_options(group, name) for name in COMMANDS[group].commands))
    foreign = {
        "--help",
        "--from-paths",
        "--node-name",
        "--params-file",
        "--skip-keys",
        "--system-site-packages",
        "--ignore-src",
        "--nthreads",
        "--show-args",
        "--no-deps",
        "--runtime",
        "--scope",
        "--user",
        "--target",
        "--config",
        "--verifytypes",
        "--ignoreexternal",
        "--validate",
    }
    for option in OPTION.findall(text):
        assert option in known | foreign, f"{page.name}: no command has an option {option}"


def test_every_command_is_explained() -> None:
    """Its options are generated."""
    text = section(REFERENCE, "Command line").partition("###")[0]
    for command in COMMANDS:
        assert f"`cosim {command}" in text


def test_settings_of_the_vehicle_simulator_are_explained() -> None:
    plant = section(REFERENCE, "`vds_plant`")
    parameters = {name for row in rows(plant) for name in names(row[0])}
    assert set(VdsPlantParameters.model_fields) <= parameters
    paths = set(re.findall(r"/api/[a-z/]*[a-z]", section("docs/vds.md", "Data port")))
    assert paths == {route.path for route in ROUTES}


def test_the_example_of_two_hosts_is_one(tmp_path: Path) -> None:
    page = text_of("docs/how-to/run-on-two-hosts.md")
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    for name in ("platoon.yaml", "highway.xodr"):
        (tmp_path / name).symlink_to(ROOT / "config" / name)
    path = tmp_path / "two_hosts.yaml"
    path.write_text(found[1], encoding="utf-8")
    plan = make_plan(schema.load_scenario(path), RunOptions(out=tmp_path / "out"))
    (lab,) = [process for process in plan if process.there]
    assert (lab.name, lab.participants) == ("lab2", ("sensor2", "cacc2"))


@pytest.mark.parametrize(
    ("page", "table"),
    [
        (page, table)
        for page in PAGES
        for table in GENERATED.findall(page.read_text(encoding="utf-8"))
        if table[0] not in _OTHER_TABLES
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value.name,
)
def test_each_key_of_a_file_has_a_meaning(page: Path, table: tuple[str, str]) -> None:
    named = [row for row in rows(table[1]) if "`" in row[0]]
    assert named
    for row in named:
        said = row[1] if table[0] == "fault kinds" else row[-1]
        assert said, f"{page.name}: {row[0]} has no description"


def test_models_laws_and_entry_points_are_documented() -> None:
    models = set(re.findall(r"^### `(\w+)`$", section(REFERENCE, "Models"), re.MULTILINE))
    assert models == set(available_models())
    laws = {name for row in rows(section(REFERENCE, "Control laws")) for name in names(row[0])}
    assert laws == set(available_laws())
    groups = {name for row in rows(section(REFERENCE, "Entry points")) for name in names(row[0])}
    modules = "".join(path.read_text("utf-8") for path in (ROOT / "ros2_cosim").rglob("*.py"))
    assert groups == set(
        re.findall(r'^[A-Z_]+(?:: Final)? = "(ros2_cosim\.[a-z]+)"$', modules, re.M)
    )


def test_seams_and_their_parameters_are_documented() -> None:
    table = rows(section("docs/messages.md", "Seams"))
    documented = {names(row[0])[0]: row[-1] for row in table}
    assert documented.keys() == available_seams().keys()
    for name, cell in documented.items():
        keys = set(find_seam(name, "as").Parameters.model_fields)
        assert cell == "the same" or keys == set(names(cell)), name


def topics_in(page: str, heading: str) -> set[str]:
    """Those of a table in full; a second name in a cell stands beside the first one."""
    found = set()
    for row in rows(section(page, heading)):
        first, *others = names(row[0])
        beside = first.rpartition("/")[0]
        found |= {first, *(n if n[0] == "/" else f"{beside}/{n}" for n in others)}
    return found


def test_topics_of_autoware_are_documented() -> None:
    page = "docs/how-to/drive-with-autoware.md"
    every = (*autoware.OUTPUTS, *autoware.REPORTS, *autoware.COMMANDS)
    documented = topics_in(page, "Drive a vehicle with Autoware")
    assert documented == {port.topic for port in every} | {autoware.MODE_SERVICE}
    text = text_of(page)
    assert all(topic in text for topic in autoware.REFUSED_TOPICS)


def test_topics_of_the_ros_bridge_are_documented() -> None:
    page = "docs/ros-bridge.md"
    sensors = {
        bridge.sensor_topic("VEHICLE", "SENSOR") + tail for tail in bridge.SENSOR_TOPICS.values()
    }
    published = {output.topic.format(vehicle="VEHICLE") for output in bridge.OUTPUTS} | sensors
    assert topics_in(page, "What is published") == published | {"/clock"}
    obeyed = {command.topic.format(vehicle="VEHICLE") for command in bridge.COMMANDS}
    assert topics_in(page, "What is obeyed") == obeyed
    differs = section(page, "What differs")
    for topic in bridge.REFUSED_TOPICS:
        assert topic.removeprefix("{vehicle}/") in differs, topic


def test_nodes_are_documented() -> None:
    table = rows(section(REFERENCE, "Nodes and their ROS parameters"))
    documented = {name for row in table for name in names(row[0])}
    modules = (ROOT / "ros2_cosim").glob("*/programs/[!_]*.py")
    assert documented == {module.stem for module in modules}


def test_topics_are_those_of_scenario_and_protocol() -> None:
    scenario = schema.load_scenario(ROOT / "config" / "platoon.yaml")
    types: dict[str, str] = {}
    for participant in scenario.participants.values():
        types |= {output.topic: output.type for output in participant.outputs.values()}
    protocol = vars(topics)
    for name, value in protocol.items():
        if name.isupper() and f"{name}_TYPE" in protocol:
            types[value] = protocol[f"{name}_TYPE"]
    types[topics.DIAGNOSTICS] = "diagnostic_msgs/msg/DiagnosticArray"
    types[topics.completion("NAME")] = topics.COMPLETION_TYPE
    documented = {
        name: names(row[1])[0]
        for row in rows(section("docs/architecture.md", "Topics"))
        for name in names(row[0])
    }
    assert documented == types


def test_rooms_are_those_of_the_package() -> None:
    package = ROOT / "ros2_cosim"
    listed = rows(section("docs/architecture.md", "Wings and rooms"))
    there = [path.parent.relative_to(package) for path in package.glob("*/*/__init__.py")]
    wings = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert {names(row[0])[0] for row in listed} == wings
    for row in listed:
        wing, *_ = names(row[0])
        found = {f"{path.name}/" for path in there if path.parts[0] == wing.strip("/")}
        assert set(names(row[2])) == found, wing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE)
    for named in re.findall(r"(?:^\$ |`)make ([a-z]+)", page.read_text("utf-8"), re.MULTILINE):
        assert named in targets, f"{page.name}: the Makefile has no target {named}"


def test_check_prints_what_the_page_shows() -> None:
    shown = re.search(
        r"\$ cosim (check config/platoon\.yaml)\n(.*?)^```", text_of(ORDER), re.S | re.M
    )
    assert shown
    assert cosim(*shown[1].split(), directory=ROOT) == shown[2]


def test_the_example_of_the_clock_page_runs(tmp_path: Path) -> None:
    for name in ("demo.yaml", "demo.py"):
        (tmp_path / name).write_text(example(CLOCK, name), encoding="utf-8")
    cosim("run", "demo.yaml", "--shape", "inproc", "--out", "out", directory=tmp_path)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    activations = {p["name"]: p["activations"] for p in summary["participants"]}
    said = re.search(r"`wave` is activated (\d+) times and `mean`\s(\d+) times", text_of(CLOCK))
    assert said
    assert activations == {"wave": int(said[1]), "mean": int(said[2])}
    times = json.loads((tmp_path / "out" / "activations.json").read_text(encoding="utf-8"))
    assert times["mean"][:2] == [13_000_000, 33_000_000]


def test_the_law_of_the_readme_computes() -> None:
    scope: dict[str, type] = {}
    exec(example("README.md", "my_law.py"), scope)  # our own page
    law = scope["MyLaw"]()
    peer = SimpleNamespace(acceleration=-2.0)
    seen = SimpleNamespace(gap_error=1.0, gap_rate=-0.5, predecessor=peer)
    assert law.acceleration(seen) == pytest.approx(-1.0)


def test_the_examples_of_the_vehicle_simulator_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = example("docs/how-to/step-a-vehicle-from-python.md", "stepping.py")
    exec(code, {})  # our own page
    assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()
    fleet = read_settings(yaml.safe_load(example("docs/vds.md", "fleet.yaml")), "fleet.yaml")
    assert list(fleet.fleet()) == ["follower", "leader"]
    (tmp_path / "scenario.jsonl").write_text(example("docs/vds.md", "scenario.jsonl"))
    assert replay(tmp_path / "scenario.jsonl").steps == 1000


@pytest.fixture
def demo_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models that the scenario of the page names."""
    (tmp_path / "demo.py").write_text(example(CLOCK, "demo.py"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "demo", raising=False)


@pytest.mark.usefixtures("demo_models")
def test_activation_forms_of_the_reference_are_understood() -> None:
    scenario = yaml.safe_load(example(CLOCK, "demo.yaml"))
    forms = [
        names(row[0])[0]
        for row in rows(section(REFERENCE, "Activation functions"))
        if row[0].startswith("`{")
    ]
    assert len(forms) == 5
    for form in forms:
        changed = json.loads(json.dumps(scenario))
        mean = changed["participants"]["mean"]
        mean["activation"] = yaml.safe_load(form)
        mean["inputs"] = {"a": "wave.raw", "b": "wave.raw"}
        graph = build_graph(schema.make_scenario(changed, form))
        assert isinstance(graph.participants["mean"].activation, Activation)


@pytest.mark.usefixtures("demo_models")
def test_latency_forms_of_the_reference_are_understood() -> None:
    scenario = yaml.safe_load(example(CLOCK, "demo.yaml"))
    table = [row for row in rows(section(REFERENCE, "Latencies")) if len(row) == 2]
    assert len(table) == 4
    for row in table:
        latency = yaml.safe_load(names(row[0])[0])
        scenario["participants"]["wave"]["outputs"]["raw"]["latency"] = latency
        build_graph(schema.make_scenario(scenario, str(latency)))


def cosim(*arguments: str, directory: Path) -> str:
    """Run the command line in a directory; returns what it prints."""
    search = os.pathsep.join((str(directory), *(path for path in sys.path if path)))
    done = subprocess.run(
        [sys.executable, "-m", "ros2_cosim.cli.main", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_message_of_the_project_says_why_it_is_there() -> None:
    rows = section("docs/messages.md", "Messages of this project")
    own = {path.stem for path in (ROOT / "msg").glob("*.msg")}
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", rows, re.MULTILINE))))
    assert named - {"ros2_cosim"} == own
