# SPDX-License-Identifier: Apache-2.0
"""How much there is to learn: counted, so that it shows when it grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def keys() -> int:
    """The keys of scenario files: the properties of all objects of the schema, each class once."""

    def below(schema: dict[str, Any]) -> int:
        properties = schema.get("properties", {})
        nested = [*properties.values(), *schema.get("$defs", {}).values()]
        return len(properties) + sum(below(part) for part in nested)

    schema = (ROOT / "config" / "scenario.schema.json").read_text(encoding="utf-8")
    return below(json.loads(schema))


if __name__ == "__main__":
    print(f"keys: {keys()}")
