# SPDX-License-Identifier: Apache-2.0
"""No key of a scenario is dropped: another value of it changes a run, or is refused.

Each key gets other legal values in the examples of ``every_key.yaml``. What proves that it is read:

``run``
    the trace, the summary without wall times, or the files of a run in shape ``inproc`` differ
``plan``
    the processes that shape ``ros`` would start differ, or the command lines of foreign nodes
``refused``
    the value does not fit the rest of the example, and the error says so
``elsewhere``
    the key acts in other processes, on the wall clock or in long runs: a test of its room, which
    ``every_key.yaml`` names, names the key

``not_shown`` of that file lists the keys of which nothing shows an effect yet. It should get empty.

``PYTHONPATH=test python -m scenario.test_every_key`` counts the keys by what proves them, and the
seconds of CPU time that it takes.
"""

from __future__ import annotations

import copy
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.every_key import Example, Key, Place, changed, keys, others, places, value_at

from ros2_cosim.interfaces.foreign import ForeignSettings
from ros2_cosim.kernel.errors import CosimError
from ros2_cosim.ros.foreign_process import foreign_command, foreign_environment
from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.check import check_scenario
from ros2_cosim.scenario.plan import RunOptions, make_plan
from ros2_cosim.scenario.schema import Scenario, make_scenario

ROOT = Path(__file__).parents[2]
FILE: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("every_key.yaml").read_text(encoding="utf-8")
)
_STORIES: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("every_key_stories.yaml").read_text(encoding="utf-8")
)
_PLAYED = "participants.storyboard.parameters."
#: Storyboards: name -> the example that plays it.
STORIES = {
    name: {"file": "test/scenario/every_key_stage.yaml", "put": {_PLAYED + part: played}}
    for part in ("init", "stories")
    for name, played in _STORIES[part].items()
}
#: Of all keys.
MOST_WITHOUT_EFFECT = 0.03
SECTIONS: dict[str, list[Key]] = defaultdict(list)
for key in keys():
    SECTIONS[str(key).rpartition(".")[0]].append(key)
BY_NAME = {str(key): [key] for some in SECTIONS.values() for key in some}
_WALL = {"wall_time_s", "startup_time_s", "rtf", "breakdown", "realtime", "versions"}
_WALL_OF_ONE = {"compute_s", "wait_s", "transport_s"}
#: Examples that are tried for a key, the quickest first, and values in each.
MOST_EXAMPLES, MOST_VALUES = 6, 3


def outcome(data: dict[str, Any], what: str, output: Path, *, record: bool) -> object:
    """What a scenario does: its run, or its plan."""
    scenario = make_scenario(data, "example", by_hand=True)
    check_scenario(scenario, "inproc" if what == "run" else "ros")
    if what == "plan":
        return make_plan(scenario, RunOptions(Path("out"))), list(foreign_nodes(scenario))
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


def foreign_nodes(scenario: Scenario) -> Iterator[object]:
    """What the processes of unmodified nodes are started with: command line and environment."""
    for name, participant in scenario.participants.items():
        if participant.model == "foreign_node":
            settings = ForeignSettings.model_validate(participant.parameters)
            names = {"__node": settings.full_name(name)}
            yield foreign_command(settings, Path(scenario.base_directory), names, name)
            yield foreign_environment(settings)


@cache
def examples() -> tuple[Example, ...]:
    return tuple(
        Example.read(name, ROOT / entry["file"], entry.get("set", ()), entry.get("put", {}))
        for name, entry in (FILE["examples"] | STORIES).items()
    )


@cache
def where() -> dict[Any, list[Place]]:
    found = defaultdict(list)
    for example in examples():
        for section, place in places(example):
            found[section].append(place)
    return found


@pytest.fixture(scope="module")
def baselines() -> dict[tuple[str, str], Any]:
    return {}


def tries(key: Key) -> Iterator[tuple[Place, Any]]:
    """Places and other values: those that give the key first, one place of an example."""

    def rank(place: Place) -> tuple[bool, bool]:  # storyboards show what they alone have
        missing = value_at(holder(place), (*place.path, key.name)) is None
        return place.example.name in STORIES, missing

    row = FILE["shown"].get(str(key), {})
    order = sorted(where()[key.section], key=rank)
    if "in" in row:
        order = [place for place in order if place.example.name == row["in"]]
    else:
        chosen = {place.example.name: place for place in order[::-1]}
        order = sorted(chosen.values(), key=rank)[:MOST_EXAMPLES]
    values = [
        row.get("by")
        or list(others(key, value_at(holder(place), (*place.path, key.name))))[:MOST_VALUES]
        for place in order
    ]
    for number in range(MOST_VALUES):
        for place, some in zip(order, values, strict=True):
            if number < len(some):
                yield place, some[number]


def holder(place: Place) -> dict[str, Any]:
    return place.example.raw if place.raw else place.example.plain


def proof(key: Key, baselines: dict[tuple[str, str], Any], directory: Path) -> str:
    """What proves that a key is read; empty: nothing does."""
    for what in ("run", "plan"):
        for number, (place, value) in enumerate(tries(key)):
            example = place.example
            record = bool(FILE["examples"].get(example.name, {}).get("record"))
            if (example.name, what) not in baselines:
                try:
                    plain = copy.deepcopy(example.plain)
                    base = outcome(plain, what, directory / f"{example.name}-base", record=record)
                except CosimError:
                    base = None  # not in this shape
                baselines[example.name, what] = base
            if baselines[example.name, what] is None:
                continue
            output = directory / f"{key.name}-{what}-{number}"
            try:
                data = changed(place, key.name, value)
                if outcome(data, what, output, record=record) != baselines[example.name, what]:
                    return what
            except CosimError as error:
                named = rf"\b{key.name}\b|\bfound '?{re.escape(str(value))}\b|nosuch"
                if re.search(named, str(error)):
                    return "refused"
    return ""


def elsewhere(key: Key) -> bool:
    """Whether a test of another room names it, as ``every_key.yaml`` says."""
    entry = FILE["elsewhere"].get(str(key).rpartition(".")[0])
    if entry is None or key.name not in entry["keys"]:
        return False
    return any(re.search(rf"\b{key.name}\b", text) for text in texts(entry["tests"]))


@cache
def texts(room: str) -> tuple[str, ...]:
    return tuple(f.read_text(encoding="utf-8") for f in sorted((ROOT / room).rglob("*.py")))


@pytest.mark.parametrize("section", SECTIONS)
def test_each_key_is_read(
    section: str, baselines: dict[tuple[str, str], Any], tmp_path: Path
) -> None:
    dropped = []
    for key in SECTIONS[section]:
        name = str(key)
        if elsewhere(key) or name in FILE["not_shown"]:
            continue
        found = proof(key, baselines, tmp_path)
        if name in FILE["without_effect"]:
            assert not found, f"{key} has an effect ({found}): it is not without_effect"
        elif not found:
            dropped.append(name)
    assert not dropped, f"without effect, and not refused: {', '.join(dropped)}"


def test_the_lists_name_keys_that_exist_each_in_one_list() -> None:
    known = {str(key) for some in SECTIONS.values() for key in some}
    without, open_ = FILE["without_effect"], FILE["not_shown"]
    named = [f"{s}.{k}" for s, entry in FILE["elsewhere"].items() for k in entry["keys"]]
    listed = [*without, *open_, *named]
    assert not set(listed) - known, "there is no such key"
    assert len(set(listed)) == len(listed), "a key is in two lists"
    assert all(without.values()), "a reason is missing"
    assert len(without) <= MOST_WITHOUT_EFFECT * len(known)
    lost = [name for name in named if not any(map(elsewhere, BY_NAME[name]))]
    assert not lost, f"no test of the room names {', '.join(lost)}"


def main() -> None:
    """Count the keys by what proves them."""
    counts: Counter[str] = Counter()
    bases: dict[tuple[str, str], Any] = {}
    for name, (key,) in BY_NAME.items():
        if name in FILE["without_effect"] or name in FILE["not_shown"]:
            kind = "without_effect" if name in FILE["without_effect"] else "not_shown"
        elif elsewhere(key):
            kind = "elsewhere"
        else:
            with tempfile.TemporaryDirectory() as directory:
                kind = proof(key, bases, Path(directory)) or "dropped"
            if kind == "dropped":
                print(f"dropped: {name}")
        counts[kind] += 1
    print(*(f"{kind}: {number}" for kind, number in counts.most_common()), sep="\n")
    print(f"keys: {counts.total()}; CPU time: {time.process_time():.0f} s")


if __name__ == "__main__":
    main()
