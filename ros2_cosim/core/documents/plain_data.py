# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads YAML and JSON as plain data: a tree of mappings, lists, texts and finite numbers.

Stricter than the parsers: a repeated key of a mapping is an error. What the two formats cannot
both hold (dates, NaN, keys that are not texts) is refused, because a resolved scenario is
exchanged as JSON and must not change.

What is read may come from a stranger. So the size of a file, the number and the depth of its
values are bounded before they are made, aliases and merged mappings counted as often as they are
used. All YAML of the package is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.one_line import one_line, printable
from ros2_cosim.core.kernel.errors import ConfigurationError

_MAXIMUM_DEPTH = 32
_MAXIMUM_VALUES = 300_000
#: YAML is written by hand, and slow to read: 4 MB of comments take a few seconds.
_MAXIMUM_YAML = 4_000_000
#: So many values, indented, with long names.
_MAXIMUM_JSON = 16_000_000
#: What a program wrote may be longer: the activations of a day are some hundred megabytes.
_MAXIMUM_RECORD = 1_000_000_000
#: No number of a document has so many characters.
_MAXIMUM_DIGITS = 64

_YAML = "tag:yaml.org,2002:"
_MERGE = f"{_YAML}merge"
_NUMBERS = (f"{_YAML}int", f"{_YAML}float")
_OCTAL = re.compile(r"[-+]?0[0-9_]+")
#: What a value may be called by ``!!``; anything else is not plain data.
_TAGS = frozenset(f"{_YAML}{tag}" for tag in ("str", "int", "float", "bool", "null", "map", "seq"))


class _Loader(Composer, yaml.CSafeLoader):
    """YAML without repeated keys, in bounds.

    The parser is libyaml's, which takes a tenth of the time; the composer, which counts, is not.
    """

    def __init__(self, stream: str) -> None:
        Composer.__init__(self)
        yaml.CSafeLoader.__init__(self, stream)
        self._depth = 0
        #: Values so far, those of aliases again for each use.
        self._values = 0
        #: Anchor -> how many values it stands for.
        self._weights: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            anchor = str(event.anchor)
            if anchor in self.anchors and anchor not in self._weights:
                raise _fault(f"alias {anchor!r} contains itself", event)
            self._count(self._weights.get(anchor, 0), event)
            return super().compose_node(parent, index)
        if event.tag is not None and event.tag not in _TAGS:
            raise _fault(f"found tag {event.tag!r}; allowed are plain values", event)
        before = self._values
        self._count(1, event)
        self._depth += 1
        if self._depth > _MAXIMUM_DEPTH + 1:
            raise _fault("nested too deeply", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None:
            self._weights[event.anchor] = self._values - before
        return node

    def _count(self, weight: int, event: Any) -> None:
        self._values += weight
        # Keys of mappings are counted here, too.
        if self._values > 2 * _MAXIMUM_VALUES:
            raise _fault(f"too large; allowed are {_MAXIMUM_VALUES} values", event)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _MAXIMUM_DIGITS:
            raise _fault(f"found a number of {len(node.value)} characters", node)
        if node.tag in _NUMBERS and ":" in node.value:
            # YAML 1.1 reads 1:30 as 90, of whatever unit. It is meant as a time, or as a text.
            raise _fault(
                f"found {node.value!r}, a number to base 60; allowed are a decimal number, as 90s "
                "or 1.5min for a time, and a text in quotes",
                node,
            )
        if node.tag in _NUMBERS and _OCTAL.fullmatch(node.value):
            # YAML 1.1 reads 010 as 8, YAML 1.2 as 10.
            raise _fault(f"found {node.value!r}; allowed is a number without a leading 0", node)
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            # What PyYAML does with a scalar that its own pattern lets through.
            kind = node.tag.removeprefix(_YAML)
            raise _fault(f"found {str(node.value)[:60]!r}, not of type {kind}", node) from None

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, yaml.MappingNode):
            return super().construct_mapping(node, deep)  # it refuses the node
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise _fault(f"key {key!r} appears twice", key_node)
                seen.add(key)
        return super().construct_mapping(node, deep)


# YAML 1.1 reads 1.0e+9 as a number, and 1e9 as a text; YAML 1.2 and JSON read both as numbers.
_Loader.add_implicit_resolver(
    f"{_YAML}float",
    re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)
# A date is a text, as in JSON: PyYAML would make an object of it, and drop its nanoseconds.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != f"{_YAML}timestamp"]
    for first, known in _Loader.yaml_implicit_resolvers.items()
}


def _fault(text: str, place: Any) -> yaml.YAMLError:
    """An error at the place of an event or a node."""
    return yaml.constructor.ConstructorError(None, None, text, place.start_mark)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"key {key!r} appears twice")
        mapping[key] = value
    return mapping


def read_mapping(
    path: Path,
    what: str,
    *,
    error: type[ConfigurationError] = ConfigurationError,
    whole_keys: bool = False,
) -> dict[str, Any]:
    """Read a file whose content is one mapping.

    :param path: JSON if its name ends so, otherwise YAML; aliases become copies
    :param what: kind of file, for messages; may be empty
    :param error: class of the error to raise
    :param whole_keys: whether keys may be whole numbers as well as texts
    :raises ConfigurationError: (or ``error``) it cannot be read, is malformed or too large, or
        holds something else
    """
    place = f"{what} {path}".lstrip()
    is_json = path.suffix == ".json"
    text = _text(path, _MAXIMUM_JSON if is_json else _MAXIMUM_YAML, place, error)
    if is_json:
        data = _parsed(lambda: json.loads(text, object_pairs_hook=_unique), place, error)
    else:
        data = _parsed(lambda: _last_yaml(text), place, error)
    if not isinstance(data, dict):
        found = "nothing" if data is None else type(data).__name__
        raise error(f"{place}: found {found}, not a mapping")
    try:
        return plain_copy(data, place, whole_keys=whole_keys)
    except ConfigurationError as fault:
        raise error(str(fault)) from None


def read_record(path: Path) -> Any:
    """Read a JSON file that a program wrote, whatever it holds.

    :raises OSError: it cannot be read, is too large, or is not an ordinary file
    :raises ValueError: it is malformed, see :func:`json_value`
    """
    return json_value(read_bounded(path, _MAXIMUM_RECORD))


def json_value(text: str | bytes) -> Any:
    """Read one value, written as JSON.

    :raises ValueError: it is malformed, nested too deeply, or holds a number that JSON lacks
    """
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_value(text: str, place: str) -> Any:
    """Read one value, written as YAML.

    :raises ConfigurationError: it is malformed or too large
    """
    if len(text) > _MAXIMUM_YAML:
        raise ConfigurationError(
            f"{place[:60]}: found {len(text)} characters; allowed are {_MAXIMUM_YAML}"
        )
    return _parsed(lambda: _from_yaml(text), place, ConfigurationError)


def _from_yaml(text: str) -> Any:
    # A SafeLoader: it makes plain data and nothing else.
    return yaml.load(text, _Loader)


#: A report reads the metadata of its bag four times. The caller copies what it gets.
_last_yaml = lru_cache(maxsize=1)(_from_yaml)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def _text(path: Path, maximum: int, place: str, error: type[ConfigurationError]) -> str:
    try:
        return read_bounded(path, maximum).decode("utf-8")
    except OSError as fault:
        raise error(f"{place}: {cause_of(fault)}") from None
    except UnicodeDecodeError as fault:
        raise error(f"{place}: not UTF-8 text ({fault.reason})") from None


def _parsed(read: Callable[[], Any], place: str, error: type[ConfigurationError]) -> Any:
    try:
        return read()
    except RecursionError:
        raise error(f"{place}: not readable: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as fault:
        text = one_line(fault).replace(' in "<unicode string>",', " in")
        raise error(f"{place}: not readable: {text}") from None


def plain_copy(data: Mapping[str, Any], place: str, *, whole_keys: bool = False) -> dict[str, Any]:
    """Copy a mapping; nothing in the copy is shared, so that changing one place changes one.

    :param whole_keys: whether keys may be whole numbers as well as texts
    :raises ConfigurationError: it holds what is not plain data, or far too much of it
    """
    left = _MAXIMUM_VALUES
    kinds = (str, int) if whole_keys else (str,)

    def copy(value: Any, path: str, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > _MAXIMUM_DEPTH:
            raise ConfigurationError(
                f"{place}: {printable(path)}: too large; allowed are {_MAXIMUM_VALUES} values and "
                f"{_MAXIMUM_DEPTH} levels (does an alias contain itself?)"
            )
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, kinds) or isinstance(key, bool):
                    raise ConfigurationError(
                        f"{place}: {printable(path) or 'top level'}: found key {key!r}; "
                        "allowed are texts"
                    )
            return {k: copy(v, f"{path}.{k}" if path else k, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [copy(v, f"{path}.{i}", depth + 1) for i, v in enumerate(value)]
        if value is None or isinstance(value, (str, int)):
            return value
        if isinstance(value, float) and isfinite(value):
            return value
        raise ConfigurationError(
            f"{place}: {printable(path)}: found {value!r}; allowed are texts, finite "
            "numbers, true and false, null, lists and mappings"
        )

    copied: dict[str, Any] = copy(data, "", 0)
    return copied


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings key by key, ``over`` before ``base``; null in ``over`` takes a key of ``base`` away.

    Lists are not merged: one replaces the other.
    """
    result = dict(base)
    for key, value in over.items():
        below = base.get(key)
        if value is None and key in base:
            del result[key]
        elif isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(below, value)
        else:
            result[key] = value
    return result
