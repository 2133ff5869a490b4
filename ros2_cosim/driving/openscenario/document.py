# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Elements of an OpenSCENARIO file: values with parameters resolved, faults with their line.

A document knows which of its elements and attributes have been read: what no reader takes is found
by :meth:`Element.unread` and refused, so that nothing of a file is passed over.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, Final

from lxml import etree

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.one_line import printable
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.openscenario.expressions import substituted
from ros2_cosim.driving.openscenario.story import RULES, compare

#: Largest file [bytes]: a thousand times a usual one.
MAX_BYTES: Final = 16_000_000
#: Files for CARLA say so at the begin of their description: then y, angles and offsets count to the
#: right, as in scenario_runner (its openscenario_parser.py, commit 94ff3b8a).
_FOR_CARLA: Final = "CARLA:"
_TO_THE_LEFT: Final = {
    "WorldPosition": ("y", "h"),
    "Orientation": ("h",),
    "RelativeWorldPosition": ("dy",),
    "RelativeObjectPosition": ("dy",),
    "RoadPosition": ("t",),
    "RelativeRoadPosition": ("dt",),
    "LanePosition": ("offset",),
    "RelativeLanePosition": ("offset",),
}
#: Characters of a message about an element: names of a stranger may be long.
_MAX_TEXT: Final = 600


class FollowingError(ConfigurationError):
    """A fault that follows from another one, which the findings have already."""


class Findings:
    """What is wrong with, or passed over of, the files of one scenario."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.notes: list[str] = []

    @contextmanager
    def collected(self, element: Element) -> Iterator[None]:
        """Within the body an error is kept: what is not in ``element`` is looked at, too."""
        try:
            yield
        except FollowingError:
            element.leave()
        except ConfigurationError as error:
            self.faults.append(str(error))
            element.leave()

    def note(self, element: Element, text: str) -> None:
        """Remember that an element, with all below, has no effect."""
        self.notes.append(f"{element.place}: {text}")
        element.leave()


class Element:
    """An element of a file, with the parameters that hold there."""

    def __init__(
        self,
        node: Any,
        source: str,
        parameters: Mapping[str, str],
        read: dict[Any, set[str]],
    ) -> None:
        """:param read: of one document: what has been read, and which attributes of it"""
        self._node = node
        self.source = source
        self.parameters = parameters
        self._read = read

    @property
    def tag(self) -> str:
        """Its name, without a namespace."""
        return str(self._node.tag).rpartition("}")[2]

    @property
    def place(self) -> str:
        """File, line and name, for messages."""
        return f"{self.source}, line {self._node.sourceline}: {printable(self.tag)}"

    def error(self, text: str) -> ConfigurationError:
        """An error at this place."""
        return ConfigurationError(f"{self.place}: {printable(text)[:_MAX_TEXT]}")

    def document(self) -> str:
        """The XML of its whole document, without comments."""
        return str(etree.tostring(self._node.getroottree(), encoding="unicode"))

    def renamed(self, name: str) -> Element:
        """The same element of a copy of its document, with another name."""
        tree = copy.deepcopy(self._node.getroottree())
        node = tree.find(self._node.getroottree().getelementpath(self._node))
        node.set("name", name)
        return Element(node, self.source, self.parameters, {})

    def children(self) -> list[Element]:
        """All elements directly below; they do not count as read before something of them is."""
        return [Element(node, self.source, self.parameters, self._read) for node in self._node]

    def each(self, tag: str) -> list[Element]:
        """The elements of a name directly below."""
        return [child._marked() for child in self._marked().children() if child.tag == tag]

    def _marked(self, attribute: str | None = None) -> Element:
        """Remember that this element, or an attribute of it, is read."""
        self._read.setdefault(self._node, set()).update(() if attribute is None else (attribute,))
        return self

    def leave(self) -> None:
        """Remember that this element and all below is to be left: it is wrong, or says nothing."""
        for node in self._node.iter():
            self._read.setdefault(node, set()).update(node.attrib)

    def unread(self) -> Iterator[tuple[Element, str | None]]:
        """What is not read here and below: (element, attribute), or (element, None) as a whole.

        Attributes with a namespace (of XML Schema, say) are none of OpenSCENARIO's.
        """
        known = self._read.get(self._node)
        if known is None:
            yield self, None
            return
        for name in self._node.attrib:
            if name not in known and "}" not in name:
                yield self, name
        for child in self.children():
            yield from child.unread()

    def find(self, *path: str) -> Element | None:
        """The first element of that name below, and so on along the path; None: there is none."""
        here = self
        for tag in path:
            found = [child for child in here._marked().children() if child.tag == tag]
            if not found:
                return None
            here = found[0]._marked()
        return here

    def one(self, *path: str) -> Element:
        """As :meth:`find`.

        :raises ConfigurationError: there is none
        """
        found = self.find(*path)
        if found is None:
            raise self.error(f"missing {'/'.join(path)}")
        return found

    def choice(self) -> Element:
        """The only element below.

        :raises ConfigurationError: there is none, or more
        """
        below = self.children()
        if len(below) != 1:
            raise self.error(f"found {len(below)} elements below; allowed is one")
        self._marked()
        return below[0]._marked()

    def within(self, parameters: Mapping[str, str]) -> Element:
        """The same element where other parameters hold."""
        return Element(self._node, self.source, parameters, self._read)

    def has(self, name: str) -> bool:
        """Whether there is an attribute."""
        return name in self._node.attrib

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute, its parameters resolved.

        :raises ConfigurationError: it is missing, or cannot be resolved
        """
        found = self._marked(name)._node.get(name)
        if found is None:
            if default is None:
                raise self.error(f"missing attribute {name}")
            return default
        try:
            return substituted(found, self.parameters)
        except ValueError as error:
            raise self.error(f"{name}: {error}") from None

    def label(self, name: str = "name") -> str:
        """The name of an element of the storyboard; the text itself if not an expression."""
        try:
            return self.text(name, "")
        except ConfigurationError:
            return str(self._node.get(name))

    def raw(self, name: str) -> str:
        """The text of an attribute; empty if it is missing."""
        return str(self._marked(name)._node.get(name, ""))

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is a finite number.

        :raises ConfigurationError: it is not such a number
        """
        if default is not None and not self.has(name):
            return default
        text = self.text(name)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            raise self.error(f"{name}: found {printable(text)[:60]!r}; allowed is a finite number")
        return 0.0 - value if self._is_mirrored(name) else value

    def _is_mirrored(self, name: str) -> bool:
        """Whether an attribute counts to the right."""
        if name not in _TO_THE_LEFT.get(self.tag, ()):
            return False
        header = self._node.getroottree().getroot().find("{*}FileHeader")
        return header is not None and header.get("description", "").startswith(_FOR_CARLA)

    def amount(self, name: str, default: float | None = None, *, positive: bool = False) -> float:
        """An attribute that is a number of at least 0, or above 0.

        :raises ConfigurationError: it is not such a number
        """
        value = self.number(name, default)
        if value < 0.0 or (positive and value == 0.0):
            limit = "above 0" if positive else "of at least 0"
            raise self.error(f"{name}: found {value:g}; allowed is a number {limit}")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """An attribute that is a whole number.

        :raises ConfigurationError: it is not such a number
        """
        value = self.number(name, None if default is None else float(default))
        if not value.is_integer() or abs(value) > 2**53:
            raise self.error(f"{name}: found {value:g}; allowed is a whole number")
        return int(value)

    def one_of(self, name: str, allowed: Mapping[str, str], default: str | None = None) -> str:
        """An attribute that is one of several words, as what stands for it.

        :raises ConfigurationError: it is not one of them
        """
        text = self.text(name, default)
        if text not in allowed:
            raise self.error(
                f"{name}: found {printable(text)[:60]!r}; allowed are {', '.join(allowed)}"
            )
        return allowed[text]

    def flag(self, name: str, default: bool | None = None) -> bool:
        """An attribute that is true or false.

        :raises ConfigurationError: it is neither
        """
        if default is not None and not self.has(name):
            return default
        words = {"true": "1", "1": "1", "false": "", "0": ""}
        return bool(self.one_of(name, words))


def read_document(path: Path) -> Element:
    """The root element of a file; no parameter is known yet.

    :raises ConfigurationError: it cannot be read, or is not OpenSCENARIO XML of version 1
    """
    try:
        data = read_bounded(path, MAX_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{printable(str(path))}: {cause_of(error)}") from None
    except ValueError:  # a null character
        raise ConfigurationError(f"{printable(str(path))}: no such file") from None
    return parsed_document(data, printable(str(path)))


def parsed_document(data: bytes, source: str, encoding: str | None = None) -> Element:
    """As :func:`read_document`, of data that are here.

    :param source: how messages call them
    :param encoding: theirs, whatever they declare
    """
    root = Element(read_xml(data, source, encoding=encoding), source, {}, {})
    if root.tag not in ("OpenSCENARIO", "OpenScenario"):
        raise root.error("found at the top; allowed is OpenSCENARIO")
    header = root.one("FileHeader")
    if header.whole("revMajor") != 1:
        raise header.error(f"revMajor: found {header.whole('revMajor')}; allowed is 1")
    return root


def declared(element: Element, given: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that hold below an element: those around it, its own, and what is given.

    :param given: name -> value, before the default of a declaration
    :raises ConfigurationError: a declaration is wrong
    """
    values = dict(element.parameters)
    declarations = element.find("ParameterDeclarations")
    for declaration in declarations.each("ParameterDeclaration") if declarations else ():
        name, here = declaration.raw("name").removeprefix("$"), declaration.within(values)
        written = here.raw("value") if name in given else here.text("value")
        values[name] = as_text(given.get(name, written))
        _require_allowed(here, values[name])
    return values


def _require_allowed(declaration: Element, value: str) -> None:
    """Check whether a value meets all constraints of one of the groups of its declaration."""
    groups = [
        [(each.one_of("rule", RULES), each.text("value")) for each in group.each("ValueConstraint")]
        for group in declaration.each("ConstraintGroup")
    ]
    if groups and not any(all(_meets(value, *each) for each in group) for group in groups):
        allowed = " or ".join(
            " and ".join(f"{rule} {limit}" for rule, limit in group) for group in groups
        )
        raise declaration.error(f"found the value '{value}'; allowed is {allowed}")


def _meets(value: str, rule: str, limit: str) -> bool:
    try:
        return compare(rule, float(value), float(limit))
    except ValueError:
        return rule in ("equalTo", "notEqualTo") and compare(rule, value, limit)


def as_text(value: Any) -> str:
    """A value of plain data as an attribute has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
