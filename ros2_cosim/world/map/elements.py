# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Elements of a road description: checked attributes, errors with file and line."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lxml import etree

from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError

MAX_MAGNITUDE = 1.0e9


class RoadError(ConfigurationError):
    """A road description is malformed or unsupported, or a place does not exist on it."""


class MalformedElementError(RoadError):
    """An element of a road description is malformed.

    :ivar problem: what is wrong with it, without its place in the file
    """

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}, {problem}")
        self.problem = problem


class Notes:
    """What a file has that is passed over: each kind once, with its first place.

    Not an error: the load goes on, because what is passed over changes no road.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[str, int]] = {}

    def add(self, element: RoadElement, what: str) -> None:
        """Note ``what`` at an element; the same words are counted as one kind."""
        place, count = self._kinds.get(what, (element.place, 0))
        self._kinds[what] = place, count + 1

    def texts(self) -> tuple[str, ...]:
        """One line for each kind: what, how often, where first."""
        return tuple(
            f"{place}: {what}" + (f" ({count} times in this file)" if count > 1 else "")
            for what, (place, count) in self._kinds.items()
        )


class RoadElement(etree.ElementBase):
    """One XML element; tags are compared without their namespace."""

    @property
    def name(self) -> str:
        """The tag without its namespace."""
        return str(etree.QName(self).localname)

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return str(self.getroottree().docinfo.URL)

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.source}, line {self.sourceline}"

    def error(self, message: str) -> MalformedElementError:
        """An error that names file, line and element."""
        return MalformedElementError(self.place, f"<{self.name}>: {message}")

    def each(self, name: str) -> Iterator[RoadElement]:
        """The children of this name, in document order."""
        return iter(self.iterchildren(f"{{*}}{name}"))

    def only(self, name: str) -> RoadElement | None:
        """The only child of this name, or None; RoadError if there are several."""
        found = list(self.each(name))
        if len(found) > 1:
            raise found[1].error(f"only one <{name}> is allowed in <{self.name}>")
        return found[0] if found else None

    def one(self, name: str) -> RoadElement:
        """The only child of this name; RoadError if it is missing."""
        found = self.only(name)
        if found is None:
            raise self.error(f"<{name}> is missing")
        return found

    def attribute(self, name: str) -> str:
        """Value of an attribute; RoadError if it is missing."""
        value: str | None = self.get(name)
        if value is None:
            raise self.error(f"attribute {name!r} is missing")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Value of an attribute as a finite number of ordinary size."""
        if default is not None and name not in self.attrib:
            return default
        text = self.attribute(name)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
            raise self.error(
                f"attribute {name}={text[:40]!r} must be a number of at most {MAX_MAGNITUDE:g}"
            )
        return value

    def integer(self, name: str) -> int:
        """Value of an attribute as an integer."""
        text = self.attribute(name).strip()
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
            raise self.error(f"attribute {name}={text[:40]!r} must be an integer below 10^9")
        return int(text)


def parse(text: str, source: str) -> RoadElement:
    """The root element of an XML text.

    :param source: name of the file for messages
    :raises RoadError: not well-formed, too large, too deep, or with a document type
    """
    data = text.encode("utf-8", "replace")
    root: RoadElement = read_xml(
        data, source, error=RoadError, element=RoadElement, encoding="utf-8"
    )
    return root
