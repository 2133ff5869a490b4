# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""No key of a scenario is dropped: another value of it changes a run, or is refused.

Each key gets another legal value in an example of ``every_key.yaml``. What proves that it is read:

``run``
    the trace, the summary without wall times, or the files of a run in shape ``inproc`` differ
``plan``
    the processes that shape ``ros`` would start differ, or the command lines of foreign nodes
``refused``, ``not planned``
    the value does not fit the rest of the example, whose run or plan it makes an error
``elsewhere``
    the key acts in other processes, on the wall clock or in long runs: ``every_key.yaml`` names the
    test that varies it

Which value shows a key, where and in which example, stands in ``every_key_shown.json``. A key that
is not there, or that its line no longer shows, is searched for: that takes longer.

``PYTHONPATH=test python -m scenario.test_every_key [--all] [PART...]`` rewrites that file, with
``--all`` anew, with parts of names for those keys alone, and counts the keys by what proves them.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from pydantic import BaseModel
from support.every_key import Example, Key, Place, changed, keys, others, places

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.held_ports import address_of
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.dcp.export.external import ScenarioSlave
from ros2_cosim.dcp.standard.write_description import description_bytes
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.foreign.foreign_process import foreign_command, foreign_environment
from ros2_cosim.world.carla.describe import describe_world
from ros2_cosim.world.carla.scene_settings import WorldParameters
from ros2_cosim.world.carla.serve import slave_options

ROOT = Path(__file__).parents[2]
FILE: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("every_key.yaml").read_text(encoding="utf-8")
)
SHOWN_FILE = Path(__file__).with_name("every_key_shown.json")
#: Of all keys.
MOST_WITHOUT_EFFECT = 0.03
SECTIONS: dict[str, list[Key]] = defaultdict(list)
for key in keys():
    SECTIONS[str(key).rpartition(".")[0]].append(key)
BY_NAME = {str(key): key for some in SECTIONS.values() for key in some}
_WALL = {"wall_time_s", "startup_time_s", "rtf", "breakdown", "realtime", "versions"}
_WALL_OF_ONE = {"compute_s", "wait_s", "transport_s"}
#: Examples that are tried for a key, the quickest first, and values in each.
MOST_EXAMPLES, MOST_VALUES = 6, 3
#: Durations that may be enough, where an example lasts longer.
DURATIONS = ("60ms", "200ms", "500ms", "1s", "2s")


#: What is tried -> what its refusal is called, and the other way round.
REFUSALS = {"run": "refused", "plan": "not planned"}
TRIED = {refusal: what for what, refusal in REFUSALS.items()}


class Shown(NamedTuple):
    """What shows that a key is read."""

    how: str
    example: str
    #: How long the example runs; empty: as it is.
    lasts: str
    at: str
    value: Any


SHOWN: dict[str, Shown] = {
    name: Shown(*row) for name, row in json.loads(SHOWN_FILE.read_text(encoding="utf-8")).items()
}


def outcome(data: dict[str, Any], what: str, output: Path, *, record: bool) -> object:
    """What a scenario does: its run, or its plan."""
    scenario = make_scenario(data, "example", by_hand=True)
    if what == "plan":
        check_scenario(scenario, "ros")
        return planned(scenario)
    summary = run_inproc(scenario, output, record=record).model_dump(exclude=_WALL)
    for participant in summary["participants"]:
        for name in _WALL_OF_ONE:
            del participant[name]
    bag: Any = None
    if record:  # what it holds; the scenario itself, which it has beside, proves nothing
        text = (output / "bag" / "metadata.yaml").read_text(encoding="utf-8")
        bag = yaml.safe_load(text)["rosbag2_bagfile_information"]
        del bag["custom_data"]
    files = sorted(str(path.relative_to(output)) for path in output.rglob("*"))
    return summary, bag, files


def planned(scenario: Scenario) -> object:
    """The processes of a run, where they listen, and what other programs are given and see."""
    found: list[object] = [make_plan(scenario, RunOptions(out=Path("out")))]
    found += foreign_nodes(scenario)
    if scenario.external is not None:
        found.append(description_bytes(ScenarioSlave(scenario).description()))
    for declaration in declare_all(scenario, "ros").values():
        found.append(declaration.listens_at)
        given = scenario.participants[declaration.name].parameters
        found += [address_of(each, given) for each in declaration.needs.companions]
        if isinstance(declaration.parameters, WorldParameters) and declaration.parameters.dcp:
            found.append(slave_options(declaration.parameters.dcp))
            found.append(description_bytes(describe_world(declaration.context)))
    return found


def foreign_nodes(scenario: Scenario) -> Iterator[object]:
    """What the processes of unmodified nodes are started with: command line and environment."""
    for name, participant in scenario.participants.items():
        if participant.model == "foreign_node":
            settings = ForeignSettings.model_validate(participant.parameters)
            names = settings.remappings("/in/{}".format, "/out/{}".format)
            names["__node"] = settings.full_name(name)
            yield foreign_command(settings, Path(scenario.base_directory), names, name)
            yield foreign_environment(settings)


@cache
def example(name: str) -> Example:
    entry = FILE["examples"][name]
    return Example.read(name, ROOT / entry["file"], entry.get("set", ()), entry.get("put", {}))


@cache
def places_in(name: str) -> dict[Any, list[Place]]:
    """Section -> where an example has it."""
    found = defaultdict(list)
    for section, place in places(example(name)):
        found[section].append(place)
    return found


def tries(key: Key) -> Iterator[tuple[Place, Any]]:
    """Places and other values: those that give the key first, one place of an example."""

    def rank(place: Place) -> bool:
        return place.given(key.name) is None

    row = FILE["shown"].get(str(key), {})
    names = [row["in"]] if "in" in row else FILE["examples"]
    order = [place for name in names for place in places_in(name).get(key.section, ())]
    order.sort(key=rank)
    if "in" not in row:
        chosen = {place.example.name: place for place in order[::-1]}
        order = sorted(chosen.values(), key=rank)[:MOST_EXAMPLES]
    values = [
        row.get("by") or list(others(key, place.given(key.name)))[:MOST_VALUES] for place in order
    ]
    for number in range(MOST_VALUES):
        for place, some in zip(order, values, strict=True):
            if number < len(some):
                yield place, some[number]


class Comparison:
    """Runs and plans of examples, each beside that of the example as it is, which is kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count()
        self._plain: dict[tuple[str, str, str], Any] = {}

    def effect(self, place: Place, key: Key, value: Any, what: str, lasts: str = "") -> str:
        """What proves that a key is read; empty: nothing does."""
        plain = self._of_example(place.example.name, what, lasts)
        if plain is None:
            return ""
        found = self._changed(place, key, value, what, lasts)
        if found is None or found == plain:
            return ""
        return str(found) if found in REFUSALS.values() else what

    def _changed(self, place: Place, key: Key, value: Any, what: str, lasts: str) -> Any:
        """What the example does with a value, or how that is refused; None: for another reason."""
        place = place._replace(example=place.example.lasting(lasts))
        try:
            return self._outcome(changed(place, key.name, value), place.example.name, what)
        except CosimError as error:
            chosen = value in FILE["shown"].get(str(key), {}).get("by", ())
            named = rf"\b{key.name}\b|\bfound '?{re.escape(str(value))}\b|nosuch"
            return REFUSALS[what] if chosen or re.search(named, str(error)) else None

    def _of_example(self, name: str, what: str, lasts: str) -> Any:
        if (name, what, lasts) not in self._plain:
            try:
                data = copy.deepcopy(example(name).lasting(lasts).plain)
                plain = self._outcome(data, name, what)
            except CosimError:
                plain = None  # not in this shape, or not that short
            self._plain[name, what, lasts] = plain
        return self._plain[name, what, lasts]

    def _outcome(self, data: dict[str, Any], name: str, what: str) -> object:
        record = bool(FILE["examples"][name].get("record"))
        output = self._directory / str(next(self._numbers))
        return outcome(data, what, output, record=record)

    def holds(self, key: Key, shown: Shown) -> bool:
        """Whether a key is still shown as its line says."""
        for place in places_in(shown.example).get(key.section, ()):
            if place.at == shown.at and shown.how in TRIED:  # which is seen without the example
                what = TRIED[shown.how]
                return bool(self._changed(place, key, shown.value, what, "") == shown.how)
            if place.at == shown.at:
                return self.effect(place, key, shown.value, *shown[:3:2]) == shown.how
        return False

    def search(self, key: Key) -> Shown | None:
        """What shows a key: a run rather than a plan."""
        for what in ("run", "plan"):
            for place, value in tries(key):
                how = self.effect(place, key, value, what)
                found = Shown(how, place.example.name, "", place.at, value)
                if how == "run":
                    return self._shortest(key, place, found)
                if how:
                    return found
        return None

    def _shortest(self, key: Key, place: Place, found: Shown) -> Shown:
        duration = parse_duration(place.example.plain["duration"])
        for lasts in DURATIONS:
            if parse_duration(lasts) >= duration:
                break
            if self.effect(place, key, found.value, "run", lasts) == "run":
                return found._replace(lasts=lasts)
        return found


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return Comparison(tmp_path_factory.mktemp("every_key"))


def elsewhere(key: Key) -> bool:
    """Whether the test that ``every_key.yaml`` names for a key is there, and gives it a value."""
    file, _, name = FILE["elsewhere"].get(str(key), "").partition("::")
    return bool(file) and re.search(rf"\b{key.name}\b", definitions(file).get(name, "")) is not None


@cache
def definitions(file: str) -> dict[str, str]:
    """What stands at the top level of a file of tests: name -> text."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node, *node.decorator_list], key=lambda part: part.lineno)
            found[node.name] = "\n".join(lines[first.lineno - 1 : node.end_lineno])
        elif isinstance(node, ast.Assign):
            found[ast.unparse(node.targets[0])] = "\n".join(
                lines[node.lineno - 1 : node.end_lineno]
            )
    return found


def listed(key: Key) -> str:
    """The list of ``every_key.yaml`` that a key is in; empty: it shows itself."""
    name = str(key)
    if name in FILE["without_effect"]:
        return "without_effect"
    return "elsewhere" if elsewhere(key) else ""


def proof(key: Key, comparison: Comparison) -> Shown | None:
    """What shows a key: its line if that holds, else what is found."""
    shown = SHOWN.get(str(key))
    if shown is not None and comparison.holds(key, shown):
        return shown
    found = comparison.search(key)
    if found is not None and found.how in TRIED and shown is not None and shown.how not in TRIED:
        return None  # what once did more than that is dropped now
    return found


@pytest.mark.parametrize("section", SECTIONS)
def test_each_key_is_read(section: str, comparison: Comparison) -> None:
    dropped = []
    for key in SECTIONS[section]:
        name = str(key)
        if elsewhere(key):
            continue
        if name in FILE["without_effect"]:
            for place, value in itertools.islice(tries(key), 1):
                found = comparison.effect(place, key, value, "run", DURATIONS[0])
                assert found in ("", *TRIED), f"{key} has an effect: it is not without_effect"
        elif proof(key, comparison) is None:
            dropped.append(name)
    assert not dropped, f"without effect, and not refused: {', '.join(dropped)}"


def test_the_lists_name_keys_that_exist_each_in_one_list() -> None:
    without = FILE["without_effect"]
    named = [*without, *FILE["elsewhere"], *SHOWN]
    assert not set(named) - BY_NAME.keys(), "there is no such key"
    assert len(set(named)) == len(named), "a key is in two lists"
    assert all(without.values()), "a reason is missing"
    assert len(without) <= MOST_WITHOUT_EFFECT * len(BY_NAME)
    lost = [name for name in FILE["elsewhere"] if not elsewhere(BY_NAME[name])]
    assert not lost, f"the test that is named does not name {', '.join(lost)}"


def main(words: list[str]) -> None:
    """Rewrite what shows the keys whose names have one of the words, and count all by proof.

    :param words: none: all keys; ``--all``: what stands in the file is not looked at
    """
    anew = "--all" in words
    parts = [word for word in words if word != "--all"]
    counts: Counter[str] = Counter()
    rows = dict(SHOWN)
    with tempfile.TemporaryDirectory() as directory:
        comparison = Comparison(Path(directory))
        for name, key in BY_NAME.items():
            kind = listed(key)
            if kind:
                rows.pop(name, None)
            if not kind and (not parts or any(part in name for part in parts)):
                found = comparison.search(key) if anew else proof(key, comparison)
                rows.pop(name, None)
                if found is None:
                    print(f"dropped: {name}", flush=True)
                else:
                    rows[name] = found
                _write(rows)  # to go on with, if this is cut off
            counts[kind or (rows[name].how if name in rows else "dropped")] += 1
    _write(rows)
    print(*(f"{kind}: {number}" for kind, number in counts.most_common()), sep="\n")
    print(f"keys: {counts.total()}; CPU time: {time.process_time():.0f} s")


def _write(rows: dict[str, Shown]) -> None:
    order = [(name, rows[name]) for name in BY_NAME if name in rows]
    plain: Any = BaseModel.model_dump  # of a default
    lines = ",\n".join(f' "{name}": {json.dumps(row, default=plain)}' for name, row in order)
    SHOWN_FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
