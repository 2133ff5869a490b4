# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Attributes of the elements of a .dcpx file are fields of dataclasses: how both are named.

An attribute has the name of its field in camel case, except for those of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from ros2_cosim.dcp.standard.enums import DataType

ELEMENT_OF: dict[DataType, str] = {t: t.name.capitalize() for t in DataType}
BASE_UNITS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")

Names = Mapping[str, str]
"""Field -> attribute, in the order in which they are written."""


def _named(names: Iterable[str], **others: str) -> Names:
    return {name: others.get(name) or _camel(name) for name in names}


def _camel(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)


ROOT: Final = _named(
    ("major_version", "minor_version", "name", "uuid", "description", "author", "version",
     "copyright", "license", "generation_tool", "generation_date_and_time",
     "variable_naming_convention"),
    major_version="dcpMajorVersion", minor_version="dcpMinorVersion", name="dcpSlaveName",
)  # fmt: skip
VARIABLE: Final = _named(
    ("name", "value_reference", "description", "variability", "pre_edge", "post_edge",
     "max_consec_missed_pdus", "declared_type"),
)  # fmt: skip
OUTPUT: Final = _named(("default_steps", "fixed_steps", "min_steps", "max_steps", "initialization"))
DIMENSION: Final = _named(("constant", "linked_vr"), linked_vr="linkedVR")
USB2: Final = _named(("max_pdu_size", "max_power"))
PIPE: Final = _named(("direction", "endpoint_address", "interval"), interval="intervall")
BLUETOOTH: Final = _named(("address", "port", "alias"), address="bd_addr")


def _bool(text: str) -> bool:
    return text.strip() in ("true", "1")


#: By the first type of a field; one of another type is not an attribute.
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "str": str, "int": int, "bool": _bool, "float": float,
}  # fmt: skip


def _readers(kind: type) -> dict[str, Callable[[str], Any]]:
    first = {f.name: str(f.type).partition(" |")[0] for f in fields(kind)}
    return {name: _READERS[text] for name, text in first.items() if text in _READERS}


def given(
    node: Any, kind: type, names: Names | None = None, /, **readers: Callable[[str], Any]
) -> dict[str, Any]:
    """The fields of a dataclass that an element has as attributes; the others have defaults.

    :param names: those that are looked for; None: all
    :param readers: of fields whose type is not known beforehand
    """
    usual = _readers(kind) | readers
    return {
        field: usual[field](text)
        for field, name in (names or _named(usual)).items()
        if (text := node.get(name)) is not None
    }


def told(source: Any, names: Names | None = None) -> dict[str, str]:
    """A dataclass as attributes, without those that are None.

    :param names: those that are wanted; None: all
    """
    wanted = names or _named(_readers(type(source)))
    return texts({name: getattr(source, field) for field, name in wanted.items()})


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Values as a file has them, without those that are None."""
    return {name: text_of(value) for name, value in values.items() if value is not None}


def text_of(value: Any) -> str:
    """A value as a file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
