# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Write what is generated: tables of the reference, JSON Schema, standard message types.

Run it in the virtual environment after a model has changed (``make reference``); a test checks
that what is there is current.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rosbags.typesys import Stores, get_typestore

from buildtools.count_house import walk
from ros2_cosim.core.documents.former_keys import FORMER_KEYS
from ros2_cosim.core.documents.installed import PACKAGE
from ros2_cosim.core.faults.kinds import fault_kinds
from ros2_cosim.core.faults.settings import FaultSettings
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.definitions import key_of, read_anew
from ros2_cosim.core.realtime.settings import CouplingSettings, RuleSettings
from ros2_cosim.core.record.bag import definitions_of, described_anew
from ros2_cosim.core.record.realtime_summary import RealtimeSummary
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.removed import REMOVED
from ros2_cosim.core.scenario import schema
from ros2_cosim.core.scenario.calls import CallSettings, ServiceSettings
from ros2_cosim.core.scenario.host_settings import HostSettings
from ros2_cosim.core.scenario.reference import (
    ParameterRow,
    models_table,
    parameter_rows,
    record_table,
    scenario_schema,
    section_table,
    table,
)
from ros2_cosim.core.scenario.registry import available_models
from ros2_cosim.core.scenario.templates import templates
from ros2_cosim.core.scene.manoeuvres import Action
from ros2_cosim.core.scene.scene import SceneSettings
from ros2_cosim.driving.controllers.registry import ENTRY_POINT_GROUP
from ros2_cosim.lab.sweep.boundary import Boundary
from ros2_cosim.lab.sweep.falsification import Falsification
from ros2_cosim.lab.sweep.settings import SweepSettings
from ros2_cosim.ros.bringup.launch_request import launch_arguments

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference.md"
CHANGELOG = ROOT / "CHANGELOG.md"
SCHEMA = ROOT / "config" / "scenario.schema.json"
MESSAGES = ROOT / "ros2_cosim" / "core" / "messages"
JAZZY, READ = MESSAGES / "jazzy_types.json", MESSAGES / "read_types.json"
#: Where the pages say more of an option.
SEE = {
    "--arrivals": "realtime.md#repeating-a-run",
    "--branch": "checkpoints.md",
    "--checkpoint": "checkpoints.md",
    "--controllers": "#control-laws",
    "--dashboard": "vds.md#dashboard",
    "--foxglove": "run-control.md#live-view-in-foxglove",
    "--hard": "realtime.md#hard-real-time",
    "--into": "replay.md",
    "--namespace": "run-control.md#namespaces",
    "--open": "security.md#what-each-user-can-do",
    "--paused": "run-control.md",
    "--processes": "architecture.md#shared-processes",
    "--profile": "benchmarks.md#profile-of-a-run",
    "--repeat": "run-control.md#running-again",
    "--ros-args": "run-control.md#remappings-and-quality-of-service",
    "--shape": "architecture.md#run-shapes",
    "--substitute": "replay.md#what-if",
    "--transport": "architecture.md#the-lane",
    "--untrusted": "security.md#a-scenario-is-code",
    "--view": "carla-headless.md#the-view",
    "--without": "clock.md#joining-late-and-leaving-early",
}
#: Keys whose sections stand in another table.
APART = (
    *("participants", "hosts", "faults", "bag", "inputs", "outputs", "services", "calls"),
    *("coupling", "estimate.rules", "vehicles.NAME.driver.manoeuvre"),
)
#: Where more of a key stands.
LINKS = {
    "activation": "#activation-functions",
    "as": "messages.md#seams",
    "bag": "#bag",
    "branch": "checkpoints.md",
    "calls": "services.md#services",
    "changes": "run-control.md#changes-during-a-run",
    "compiled": "architecture.md#compiled-modules",
    "conditions": "sensing.md#weather",
    "coupling": "#keys-of-a-coupling",
    "dynamic_step": "lifecycle.md#step-handlers",
    "enter": "clock.md#joining-late-and-leaving-early",
    "estimate": "realtime.md#where-the-estimator-stands",
    "external": "dcp.md#a-scenario-as-a-slave",
    "faults": "faults.md",
    "handled": "services.md#handled-inputs",
    "host": "hosts.md",
    "hosts": "#keys-of-a-host",
    "inputs": "#keys-of-an-input",
    "latency": "#latencies",
    "layers": "architecture.md#a-layer",
    "messages": "messages.md#types-that-are-not-installed",
    "min_gap_m": "library.md#what-a-verdict-looks-at",
    "min_pet_s": "library.md#what-a-verdict-looks-at",
    "model": "#models",
    "outputs": "#keys-of-an-output",
    "overrun": "realtime.md#deadlines",
    "participants": "#keys-of-a-participant",
    "process": "architecture.md#shared-processes",
    "realtime": "#figures-of-a-paced-run",
    "scene": "#scene",
    "schedule": "clock.md#guarantees",
    "search": "sweep.md#searches",
    "sensors": "messages.md#sensors-of-the-simulator",
    "services": "services.md#services",
    "simulator.options": "sumo.md#options",
    "substitute": "replay.md#what-if",
    "trace_sha256": "clock.md#guarantees",
    "traffic_lights": "#traffic-lights",
    "transport": "architecture.md#the-lane",
    "unsynchronised": "clock.md#nodes-without-simulated-time",
    "vehicles.NAME.driver.manoeuvre": "#manoeuvres",
    "watchdog_warn_s": "run-control.md#signs-of-life-and-limits",
}


def generated() -> dict[Path, str]:
    """File -> the content that it should have."""
    tables = {
        REFERENCE: {
            "scenario": section_table(schema.Scenario, LINKS, APART),
            "participant": section_table(schema.ParticipantSettings, LINKS, APART),
            "input": section_table(schema.InputSettings, LINKS, APART),
            "output": section_table(schema.OutputSettings, LINKS),
            "bag": section_table(schema.BagSettings, {"scene": "messages.md#frames"}),
            "scene": section_table(SceneSettings, LINKS, APART),
            "manoeuvres": section_table(Action),
            **{key: section_table(template) for key, template in templates().items()},
            "models": models_table(),
            "laws": laws_table(),
            "commands": "\n".join(commands()),
            "launch arguments": "\n".join(launch_table()),
            "summary": record_table(Summary, LINKS, ("realtime",)),
            "figures": record_table(RealtimeSummary),
            "coupling": section_table(CouplingSettings, LINKS, ("estimate",)),
            "rule": section_table(RuleSettings),
            "fault": section_table(FaultSettings),
            "host": section_table(HostSettings),
            "service": section_table(ServiceSettings),
            "call": section_table(CallSettings),
            "sweep": section_table(SweepSettings, LINKS),
            "boundary": section_table(Boundary),
            "falsification": section_table(Falsification),
        },
        DOCS / "faults.md": {"fault kinds": fault_kinds_table()},
        CHANGELOG: {"removed words": "\n".join(removed_table())},
    }
    texts = {}
    for page, of_page in tables.items():
        texts[page] = page.read_text(encoding="utf-8")
        for name, content in of_page.items():
            texts[page] = _between(texts[page], name, content)
    content = json.dumps(scenario_schema(), indent=1, sort_keys=True) + "\n"
    return {**texts, SCHEMA: content, JAZZY: jazzy_types(), READ: read_types()}


def jazzy_types() -> str:
    """The definitions of the standard message types of ROS 2 Jazzy, as ``rosbags`` has them."""
    store = get_typestore(Stores.ROS2_JAZZY)
    # The text of the type itself; those of its parts follow behind such a line.
    texts = {
        name: store.generate_msgdef(name, ros_version=2)[0].split("=" * 80)[0]
        for name in store.fielddefs
    }
    return json.dumps(texts, indent=1, sort_keys=True) + "\n"


def read_types() -> str:
    """What ``rosbags`` makes of the project's message types, and of those that they are built of.

    Of standard types there are two texts, with the same fields: the installed one, and Jazzy's.
    """
    fields, descriptions = {}, {}
    own = (f"{PACKAGE}/msg/{path.stem}" for path in (ROOT / "msg").glob("*.msg"))
    names = {part for name in (*DEFAULT, *own) for part in DEFAULT.definitions(name)}
    for name in sorted(names):
        texts = definitions_of(name, DEFAULT)
        descriptions[key_of(texts)] = described_anew(name, texts)
        for text in texts[name], DEFAULT.definitions(name)[name]:
            fields[key_of({name: text})] = read_anew(name, text)
    read = {"fields": fields, "descriptions": descriptions}
    return json.dumps(read, indent=1, sort_keys=True) + "\n"


def laws_table() -> str:
    """The control laws and their parameters as Markdown, for the reference."""
    found = []
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP)):
        law = entry.load()
        peers = inspect.getattr_static(law, "needs_v2v", ())
        needs = ", ".join(peers) if isinstance(peers, tuple) else "as mapped"
        rows = list(parameter_rows(law)) if isinstance(law, type(BaseModel)) else []
        for number, row in enumerate(rows or [ParameterRow(*[""] * 6)]):
            first = (f"`{entry.name}`", needs) if number == 0 else ("", "")
            name = f"`{row.name}`" if row.name else ""
            cells = (*first, name, row.default, row.limits, row.unit, row.description)
            found.append(cells)
    return table(
        ("Law", "Needs V2V of", "Parameter", "Default", "Limits", "Unit", "Meaning"), found
    )


def fault_kinds_table() -> str:
    """The kinds of faults and their own keys as Markdown."""
    found = []
    shared = {row.name for row in parameter_rows(FaultSettings)}
    for name, kind in sorted(fault_kinds().items()):
        rows = [row for row in parameter_rows(kind) if row.name not in shared]
        first = (f"`{name}`", (inspect.getdoc(kind) or "").partition("\n")[0])
        for row in rows or [ParameterRow(*[""] * 6)]:
            key = f"`{row.name}`" if row.name else ""
            found.append((*first, key, row.type, row.limits, row.description))
            first = ("", "")
    return table(("Kind", "What it does", "Key", "Type", "Limits", "Meaning"), found)


def commands() -> Iterator[str]:
    """The commands of ``cosim`` with arguments and options, as Markdown."""
    for words, command in walk():
        yield f"### cosim {words}\n"
        yield command.help + "\n"
        yield from _table("Argument or option", map(_parameter_row, command.params))


def _parameter_row(parameter: Any) -> tuple[str, str, str]:
    """Name, default and meaning of an argument or option."""
    if parameter.param_type_name == "option":
        name = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
        see = SEE.get(parameter.opts[0])
        name = f"[{name}]({see})" if see else name
    else:
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    default = parameter.default
    if default is None or default is False or default in ("", ()):
        default = "required" if parameter.required else ""
    elif default is True:
        default = f"`{parameter.opts[0]}`"
    else:
        default = f"`{getattr(default, 'value', default)}`"
    return name, default, parameter.help or ""


def launch_table() -> Iterator[str]:
    """The launch arguments as Markdown."""
    rows = (
        (f"`{each.name}`", f"`{each.default}`" if each.default else "", each.description)
        for each in launch_arguments()
    )
    return _table("Argument", rows)


def removed_table() -> Iterator[str]:
    """Keys, commands, options and launch arguments that are gone, as Markdown."""
    yield "| Gone | Instead |"
    yield "|---|---|"
    for key, new in FORMER_KEYS.items():
        yield f"| `{key}` | {new} |"
    for old, new in REMOVED.items():
        is_argument = old.startswith("launch ")
        name = f"launch argument `{old[7:]}`" if is_argument else f"`cosim {old}`"
        yield f"| {name} | {new} |"
    yield ""


def _table(name: str, rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield f"| {name} | Default | Meaning |"
    yield "|---|---|---|"
    for row in rows:
        cells = " | ".join(row)
        yield f"| {cells} |"
    yield ""


def _between(text: str, name: str, content: str) -> str:
    first, last = f"<!-- generated: {name} -->", "<!-- end of generated -->"
    head, found, rest = text.partition(first + "\n")
    if not found:
        raise SystemExit(f"the line {first!r} is missing")
    _, end, tail = rest.partition(last)
    if not end:
        raise SystemExit(f"the line {last!r} is missing after {first!r}")
    return f"{head}{first}\n\n{content}\n{end}{tail}"


def main() -> int:
    """Write the files that are not current."""
    if not available_models():
        # An interrupted installation: tables made now would be empty.
        raise SystemExit("ros2_cosim is not installed here; run make setup first")
    for path, content in generated().items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
