# SPDX-License-Identifier: Apache-2.0
"""Write what is generated: tables of the reference, JSON Schema, standard message types.

Run it in the virtual environment after a model has changed (``make reference``); a test checks
that what is there is current.
"""

from __future__ import annotations

import inspect
import json
import sys
from importlib.metadata import entry_points
from pathlib import Path

from pydantic import BaseModel
from rosbags.typesys import Stores, get_typestore

from ros2_cosim.core.scenario.reference import (
    ParameterRow,
    models_table,
    parameter_rows,
    scenario_schema,
    section_table,
)
from ros2_cosim.core.scenario.registry import available_models
from ros2_cosim.core.scenario.templates import templates
from ros2_cosim.core.scene.manoeuvres import Action
from ros2_cosim.driving.controllers.registry import ENTRY_POINT_GROUP

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
SCHEMA = ROOT / "config" / "scenario.schema.json"
JAZZY = ROOT / "ros2_cosim" / "core" / "messages" / "jazzy_types.json"


def generated() -> dict[Path, str]:
    """File -> the content that it should have."""
    text = REFERENCE.read_text(encoding="utf-8")
    tables = {
        "manoeuvres": section_table(Action),
        **{key: section_table(template) for key, template in templates().items()},
        "models": models_table(),
        "laws": laws_table(),
    }
    for name, table in tables.items():
        text = _between(text, f"<!-- generated: {name} -->", "<!-- end of generated -->", table)
    schema = json.dumps(scenario_schema(), indent=1, sort_keys=True) + "\n"
    return {REFERENCE: text, SCHEMA: schema, JAZZY: jazzy_types()}


def jazzy_types() -> str:
    """The definitions of the standard message types of ROS 2 Jazzy, as ``rosbags`` has them."""
    store = get_typestore(Stores.ROS2_JAZZY)
    # The text of the type itself; those of its parts follow behind such a line.
    texts = {
        name: store.generate_msgdef(name, ros_version=2)[0].split("=" * 80)[0]
        for name in store.fielddefs
    }
    return json.dumps(texts, indent=1, sort_keys=True) + "\n"


def laws_table() -> str:
    """The control laws and their parameters as Markdown, for the reference."""
    lines = [
        "| Law | Needs V2V of | Parameter | Default | Limits | Unit | |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP)):
        law = entry.load()
        peers = inspect.getattr_static(law, "needs_v2v", ())
        needs = ", ".join(peers) if isinstance(peers, tuple) else "as mapped"
        rows = list(parameter_rows(law)) if isinstance(law, type(BaseModel)) else []
        for number, row in enumerate(rows or [ParameterRow(*[""] * 6)]):
            first = (f"`{entry.name}`", needs) if number == 0 else ("", "")
            name = f"`{row.name}`" if row.name else ""
            cells = (*first, name, row.default, row.limits, row.unit, row.description)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _between(text: str, first: str, last: str, content: str) -> str:
    head, found, rest = text.partition(first + "\n")
    if not found:
        raise SystemExit(f"{REFERENCE}: the line {first!r} is missing")
    _, end, tail = rest.partition(last)
    if not end:
        raise SystemExit(f"{REFERENCE}: the line {last!r} is missing after {first!r}")
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
