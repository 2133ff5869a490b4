# SPDX-License-Identifier: Apache-2.0
"""A small, strict XML reader: elements with line numbers, no document type, bounded size.

Entities can only be declared in a document type; refusing it closes entity expansion and
external references. Line numbers let every complaint name its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from ros2_cosim.models.road.errors import RoadError

MAX_CHARACTERS = 128 * 1024 * 1024
MAX_DEPTH = 64
MAX_MAGNITUDE = 1.0e9


class Element:
    """One XML element: tag, attributes, children, text and the place where it stands."""

    __slots__ = ("attributes", "children", "line", "source", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], source: str, line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.source = source
        self.line = line
        self.children: list[Element] = []
        self.text = ""

    def error(self, message: str) -> RoadError:
        """A RoadError that names file, line and element."""
        return RoadError(f"{self.source}, line {self.line}, <{self.tag}>: {message}")

    def all(self, tag: str) -> Iterator[Element]:
        """The children with this tag, in document order."""
        return (child for child in self.children if child.tag == tag)

    def find(self, tag: str) -> Element | None:
        """The only child with this tag, or None; RoadError if there are several."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"only one <{tag}> is allowed in <{self.tag}>")
        return found[0] if found else None

    def one(self, tag: str) -> Element:
        """The only child with this tag; RoadError if it is missing."""
        found = self.find(tag)
        if found is None:
            raise self.error(f"<{tag}> is missing")
        return found

    def get(self, name: str) -> str:
        """Value of an attribute; RoadError if it is missing."""
        try:
            return self.attributes[name]
        except KeyError:
            raise self.error(f"attribute {name!r} is missing") from None

    def number(self, name: str, default: float | None = None) -> float:
        """Value of an attribute as a finite number of ordinary size."""
        if default is not None and name not in self.attributes:
            return default
        text = self.get(name)
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
        text = self.get(name).strip()
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
            raise self.error(f"attribute {name}={text[:40]!r} must be an integer below 10^9")
        return int(text)


def parse(text: str, source: str) -> Element:
    """The root element of an XML text.

    :param source: name of the file for messages
    :raises RoadError: not well-formed, too large, too deep, or with a document type
    """
    if len(text) > MAX_CHARACTERS:
        raise RoadError(f"{source}: {len(text)} characters, at most {MAX_CHARACTERS} are allowed")
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True
    roots: list[Element] = []
    stack: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, source, parser.CurrentLineNumber)
        if len(stack) >= MAX_DEPTH:
            raise element.error(f"elements may be nested {MAX_DEPTH} deep at most")
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(_tag: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        if stack:
            stack[-1].text += data

    def doctype(*_details: Any) -> None:
        raise RoadError(
            f"{source}, line {parser.CurrentLineNumber}: a document type (<!DOCTYPE ...>) "
            "is not allowed"
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise RoadError(f"{source}: not well-formed XML: {error}") from None
    return roots[0]
