# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""No option is dropped: its command uses it, or refuses it beside one that excludes it."""

from __future__ import annotations

import ast
import enum
import inspect
import shlex
import textwrap
import types
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import typer
import yaml
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.cli.verbs import VERBS, load
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.bringup import checked
from ros2_cosim.core.run.request import RunRequest, read_options, run_options
from ros2_cosim.core.run.start import run_request

ROOT = Path(__file__).parents[2]


def commands(group: typer.Typer, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command with its function, by its words; what a group does itself is one, too."""
    if group.registered_callback is not None:
        yield " ".join(words), group.registered_callback.callback
    for info in group.registered_commands:
        function: Any = info.callback
        yield " ".join((*words, info.name or function.__name__.replace("_", "-"))), function


def all_commands() -> Iterator[tuple[str, Any]]:
    yield from commands(app)
    for verb in VERBS:
        found = load(verb)
        alone = found.registered_callback is None and len(found.registered_commands) == 1
        yield from commands(found, () if alone else (verb,))


COMMANDS = dict(all_commands())
PROGRAM: Any = typer.main.get_command(app)
PROGRAM.load_all()
OPTIONS = [
    (command, name)
    for command, function in COMMANDS.items()
    for name, kind in get_type_hints(function, include_extras=True).items()
    if get_origin(kind) is Annotated
]


def body_of(function: Callable[..., Any]) -> ast.FunctionDef:
    (found,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    return found


def parameters(command: Any) -> int:
    """How many options and arguments a command of the command line has, with its own ones."""
    inner = vars(command).get("commands", {}).values()
    return len(command.params) + sum(map(parameters, inner))


def test_all_options_are_seen() -> None:
    """The command line makes two itself, for completion."""
    assert parameters(PROGRAM) - len(OPTIONS) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_uses_its_options(command: str) -> None:
    function = COMMANDS[command]
    module = ast.parse(Path(inspect.getfile(inspect.unwrap(function))).read_text())
    used = {
        node.id
        for statement in body_of(function).body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    of_classes = {node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)}
    if "wanted" in used:  # what each of them does shows below
        of_classes |= run_options().keys()
    used |= of_classes - inspect.signature(inspect.unwrap(function)).parameters.keys()
    asked = {name for each, name in OPTIONS if each == command}
    if not command:
        asked.remove("version")  # acts before the command, by a function of its own
    assert asked <= used, f"dropped: {', '.join(sorted(asked - used))}"


def value_of(kind: Any) -> list[str]:
    """A value that an option of this type takes; none for a flag."""
    if get_origin(kind) is Annotated:
        return value_of(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return value_of(next(part for part in get_args(kind) if part is not type(None)))
    if get_origin(kind) is Literal:
        return [str(get_args(kind)[-1])]
    if get_origin(kind) is list:
        return value_of(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(list(kind)[0].value)]
    return {bool: [], int: ["1"], float: ["0.5"]}.get(kind, ["20ms"])


#: What excludes other options -> the words of the command with it.
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("vds serve", "--lockstep"): ("--lockstep",),
    ("dcp serve", "--world"): ("--world", str(ROOT / "config" / "platoon.yaml")),
    ("dcp serve", "--scenario"): ("--scenario", str(ROOT / "config" / "platoon.yaml")),
    ("dcp serve", "a model"): ("gain.py:Gain",),
    ("dcp serve", "--describe"): ("gain.py:Gain", "--describe", "-"),
    ("dcp serve", "no --describe"): ("gain.py:Gain",),
    ("control", "control changes"): ("changes",),
    ("control", "control monitor"): ("monitor",),
    ("models", "--schema"): ("--schema",),
    ("report", "one RUN"): ("run",),
    ("report", "several RUN"): ("run", "other"),
}


def refusals() -> Iterator[tuple[str, str, str]]:
    """Command, choice and parameter of every refusal that a command declares."""
    for command, function in COMMANDS.items():
        for node in ast.walk(body_of(function)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuse_beside":
                for scenario in (True, False):  # the one name that a choice depends on
                    known = {**inspect.unwrap(function).__globals__, "scenario": scenario}
                    choice, names = (
                        eval(compile(ast.Expression(part), "refusal", "eval"), known)
                        for part in node.args[1:]
                    )
                    for name in names.split():
                        yield command, choice, name


@pytest.mark.parametrize(("command", "choice", "name"), sorted(set(refusals())))
def test_what_a_choice_leaves_no_use_for_is_refused(
    command: str, choice: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = get_type_hints(COMMANDS[command], include_extras=True)[name]
    info = PROGRAM
    for word in command.split():
        info = info.commands[word]
    option = next(p for p in info.params if p.name == name)
    flag = [(option.secondary_opts or option.opts)[0]] if option.opts[0].startswith("-") else []
    given = [*flag, *value_of(kind)] if flag else ["20ms"]
    done = CliRunner().invoke(app, [*command.split(), *CHOICES[command, choice], *given])
    assert done.exit_code == 1, done.output
    assert f"found with {choice}; allowed is only one of them" in done.stderr
    assert len(done.stderr.splitlines()) == 1


PLATOON = ROOT / "config" / "platoon.yaml"
#: Values of those options of a run that take no number, time or truth value.
OF_RUN: dict[str, Any] = {
    "shape": "composed",
    "simulator": "sumo",
    "out": "elsewhere",
    "set": "run_ahead=200ms",
    "controllers": "cruise_control",
    "without": "referee",
    "by_hand": "sensor1",
    "transport": "dds",
    "processes": "own",
    "ros_args": "-p use_sim_time:=false",
    "foxglove": "0",
    "namespace": "/other",
    "checkpoint": "1s",
}
#: What another option needs beside it.
BESIDE = {
    "hard": {"rate": 1.0},
    "without": {"set": ("participants.referee.required=false",)},
    "checkpoint": {"shape": "inproc"},
}
#: The module of an extra that the value of an option needs, and the extra.
EXTRAS = {"foxglove": ("foxglove", "live"), "simulator": ("libsumo", "sumo")}
#: Options that need the files of a run before, or a program; where tests follow them.
ELSEWHERE = {
    "arrivals": ROOT / "test" / "realtime" / "test_runs.py",
    "branch": ROOT / "test" / "run" / "test_checkpoints.py",
    "rviz": ROOT / "test" / "launch" / "test_plan.py",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_others_are_followed_elsewhere(name: str) -> None:
    assert name.replace("-", "_") in run_options()
    assert name in ELSEWHERE[name].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [name for name in run_options() if name.replace("_", "-") not in ELSEWHERE]
)
def test_each_option_of_a_run_changes_what_is_prepared(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in EXTRAS:
        module, extra = EXTRAS[name]
        pytest.importorskip(module, reason=f"the extra {extra} is not installed")
    monkeypatch.chdir(tmp_path)
    option = run_options()[name]
    text = OF_RUN.get(name) or {int: "3", float: "2", bool: str(not option.default)}[option.kind]
    beside: Any = BESIDE.get(name, {})
    given = RunRequest(PLATOON, **beside, **read_options({name: text}))
    assert checked(given) != checked(RunRequest(PLATOON, **beside))


@pytest.mark.parametrize("shape", ["composed", "inproc"])
@pytest.mark.parametrize("given", [{"processes": "own"}, {"transport": "dds"}], ids=str)
def test_what_has_no_use_in_a_shape_is_refused(shape: str, given: dict[str, str]) -> None:
    (option,) = given
    with pytest.raises(ConfigurationError, match=rf"--{option}: found with shape {shape}, whose"):
        checked(RunRequest(PLATOON, shape=shape, **given))


#: Run in a new directory: a command -> its options, with words that give another value to each. The
#: words in capitals stand for what ``places`` makes. An option that stands here in no command runs
#: long, reaches other processes or needs a run under way: that it is used shows above.
CASES: dict[str, dict[str, str]] = {
    "check FOLD": {
        "set": "--set duration=0s",
        "shape": "--shape inproc",
        "as_json": "--json",
        "untrusted": "--untrusted",
    },
    "plan PLATOON": {
        "shape": "--shape composed",
        "set": "--set participants.world.parameters.dcp.port=2345",
        "transport": "--transport dds",
        "processes": "--processes own",
        "foxglove": "--foxglove 8765",
        "as_json": "--json",
    },
    "plan PLATOON --set participants.referee.required=false": {"without": "--without referee"},
    "plan CARS --shape inproc": {"dashboard": "--dashboard 8080"},
    "report RUN OTHER": {"out": "--out both.html"},
    "diff RUN OTHER": {
        "tolerance": "--tolerance /ego/control.acceleration=100",
        "ignore": "--ignore /ego/control",
        "html": "--html page.html",
        "as_json": "--json",
    },
    "profile RUN": {"perfetto": "--perfetto trace.json", "as_json": "--json"},
    "replay RUN --out again": {
        "as_json": "--json",
        "into": "--into driving",
        "out": "--out elsewhere",
    },
    "replay RUN --into driving": {
        "scenario": "--scenario nosuch.yaml",
        "controllers": "--controllers idm",
        "shape": "--shape ros",
    },
    "replay RUN --out again --from 100ms": {"substitute": "--substitute driving=nosuch"},
    "replay RUN --out again --substitute driving=nosuch": {"from_": "--from 100ms"},
    "sweep SWEEP --workers 0": {
        "out": "--out elsewhere",
        "as_json": "--json",
        "resume": "--resume",
        "cluster": "--cluster nowhere",
        "junit": "--junit verdicts.xml",
        "baseline": "--baseline nowhere",
    },
    "study causality --steps 0ms": {
        "factors": "--factors 0",
        "steps": "--steps 1ns",
        "duration": "--duration 1ns",
        "repeat": "--repeat 101",
    },
    "study string-stability BRAKING --law nosuch": {
        "seeds": "--seeds 0",
        "vehicles": "--vehicles 1",
        "time_gap": "--time-gap -1",
        "loss": "--loss 2",
        "settings": "--set duration=0s",
    },
    "study pedals CARS nosuch": {
        "top_speed": "--top-speed 4",
        "settings": "--set duration=0s",
    },
    "models": {"name": "cacc_controller", "schema": "--schema", "as_json": "--json"},
    "new braking": {"template": "--from curve", "as_json": "--json"},
    "new": {"as_list": "--list", "name": "braking"},
    "fmu STEPPED": {
        "out": "--out other.fmu",
        "settings": "--set duration=0s",
        "fmi": "--fmi 1.0",
        "machines": "--machine x86_64",
    },
    "fmu idm": {
        "out": "--out other.fmu",
        "settings": "--set nosuch=1",
        "fmi": "--fmi 1.0",
        "machines": "--machine aarch64",
    },
    "dcp serve slaves.py:Offset --describe -": {
        "step": "--step 1/50",
        "interface": "--interface model_exchange",
        "modes": "--mode srt",
        "port": "--port 2345",
        "data_ports": "--data-ports 9000-9009",
        "describe": "--describe gain.dcpx",
    },
    "check NOTHING": {"as_json": "--json"},
    "dcp run COUPLED": {"out": "--out out.csv"},
    # Without a model none of these begins to serve.
    "dcp serve": {
        "model": "nosuch.py:Nosuch",
        "scenario": "--scenario nosuch.yaml",
        "world": "--world nosuch.yaml",
        "settings": "--set a=1",
        "out": "--out there",
    },
    "dcp serve slaves.py:Nosuch": {
        "step": "--step nosuch",
    },
    "vds serve --port 0 --factor max --duration 20ms --set speed=5": {
        "file": "vehicle.yaml",
        "settings": "--set level=pacejka",
        "vehicles": "--vehicles 2",
        "dashboard": "--dashboard 70000",
        "to": "--to 127.0.0.1:2345",
        "duration": "--duration 40ms",
        "as_json": "--json",
        "record": "--record commands.jsonl",
        "factor": "--factor 0",
        "command_timeout": "--command-timeout soon",
        "lockstep": "--lockstep",
    },
    "vds replay COMMANDS": {"out": "--out states.csv"},
    # No run has its results there: nothing is asked of a run under way.
    "control step --out nowhere": {
        "at": "--at 1s",
        "out": "--out elsewhere",
    },
    "control require --out nowhere": {"value": "sensor"},
    "dashboard --out nowhere": {
        "address": "70000",
        "out": "--out elsewhere",
    },
    "dashboard 0 --out nowhere": {"folder": "."},
    "join 127.0.0.1:x": {"name": "lab"},
}
SLAVES = "from support.dcp_models import Offset as Offset\n"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the words in capitals stand for."""
    here = tmp_path_factory.mktemp("places")
    cars, library = ROOT / "config" / "car_following.yaml", ROOT / "config" / "library"
    for name, speed in (("run", 25.0), ("other", 20.0)):
        changes = ("duration=200ms", f"participants.driving.parameters.set_speed={speed}")
        wanted = RunRequest(cars, changes, shape="inproc", out=here / name, profile=True)
        run_request(wanted)
    outside = {"step": "10ms", "outputs": {"seen": {"from": "traffic.odometry/ego"}}}
    stepped = {**yaml.safe_load(cars.read_text(encoding="utf-8")), "external": outside}
    swept = {"scenario": str(cars), "set": {"duration": "40ms"}, "seeds": [1]}
    coupled = {"step": "1/100", "steps": 1, "slaves": {"a": {"model": "slaves.py:Offset"}}}
    files = {
        "STEPPED": stepped,
        "SWEEP": swept,
        "COUPLED": {**coupled, "outputs": ["a.y"]},
        "NOTHING": {},
    }
    for name, data in files.items():
        (here / f"{name.lower()}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    (here / "slaves.py").write_text(SLAVES, encoding="utf-8")
    recorded = ["vds", "serve", "--port", "0", "--factor", "max", "--duration", "20ms"]
    CliRunner().invoke(app, [*recorded, "--record", str(here / "commands.jsonl")])
    return {
        "PLATOON": str(PLATOON),
        "CARS": str(cars),
        "BRAKING": str(library / "braking.yaml"),
        "FOLD": str(ROOT / "test" / "golden" / "foreign_fold.yaml"),
        "RUN": str(here / "run"),
        "OTHER": str(here / "other"),
        "COMMANDS": str(here / "commands.jsonl"),
        **{name: str(here / f"{name.lower()}.yaml") for name in files},
    }


def left(words: str, places: dict[str, str], directory: Path) -> dict[object, object]:
    """What a command prints, line by line, and leaves in an empty directory."""
    given = [places.get(word, word) for word in shlex.split(words)]
    directory.mkdir()
    (directory / "slaves.py").write_text(SLAVES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        patch.delenv("ROS_DOMAIN_ID", raising=False)
        patch.setenv("COSIM_RUN_SECRET", "secret")
        done = CliRunner().invoke(app, given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code != 2 or "Invalid value for" not in done.output, "it only has a wrong type"
    found: dict[object, object] = {"code": done.exit_code}
    text = f"{done.stdout}\n{done.stderr}".replace(str(directory), "HERE")
    found.update(enumerate(text.splitlines()))
    for file in directory.rglob("*"):
        found[str(file.relative_to(directory))] = file.read_bytes() if file.is_file() else None
    return found


@pytest.fixture(scope="module")
def without(
    places: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], dict[object, object]]:
    """What a command leaves without an option, the same each time."""
    here = tmp_path_factory.mktemp("without")

    @cache
    def found(words: str) -> dict[object, object]:
        number = len(list(here.iterdir()))
        first = left(words, places, here / str(number))
        again = left(words, places, here / str(number + 1))
        return {k: v for k, v in first.items() if again.get(k) == v or k not in again}

    return found


@pytest.mark.parametrize(
    ("words", "option"), [(words, option) for words, some in CASES.items() for option in some]
)
def test_another_value_of_an_option_changes_what_is_left(
    words: str,
    option: str,
    places: dict[str, str],
    without: Callable[[str], dict[object, object]],
    tmp_path: Path,
) -> None:
    command = max((c for c in COMMANDS if f"{words} ".startswith(f"{c} ")), key=len)
    assert (command, option) in OPTIONS
    assert CASES[words][option].count("--") <= 1, "it alone may differ"
    plain = without(words)
    found = left(f"{words} {CASES[words][option]}", places, tmp_path / "with")
    assert any(found.get(name, "") != value for name, value in plain.items()) or (
        len(found) > len(plain)
    )
