# SPDX-License-Identifier: Apache-2.0
"""Reads YAML and JSON as plain data: a tree of mappings, lists, texts and finite numbers.

Stricter than the parsers: a repeated key of a mapping is an error. What the two formats cannot
both hold (dates, NaN, keys that are no texts) is refused, because a resolved scenario is
exchanged as JSON and must not change.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from ros2_cosim.kernel.errors import ConfigurationError

_MAXIMUM_DEPTH = 32
_MAXIMUM_VALUES = 100_000


class _Loader(yaml.SafeLoader):
    """YAML without repeated keys."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key!r} stands twice", key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"key {key!r} stands twice")
        mapping[key] = value
    return mapping


def read_mapping(path: Path, what: str) -> dict[str, Any]:
    """Read a file whose content is one mapping.

    :param path: JSON if its name ends so, otherwise YAML; aliases become copies
    :param what: kind of file, for messages
    :raises ConfigurationError: it cannot be read, is malformed, or holds something else
    """
    place = f"{what} {path}"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{place}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{place}: not UTF-8 text ({error.reason})") from None
    try:
        if path.suffix == ".json":
            data = json.loads(text, object_pairs_hook=_unique)
        else:
            # A SafeLoader: it makes plain data and nothing else.
            data = yaml.load(text, _Loader)
    except RecursionError:
        raise ConfigurationError(f"{place}: not readable: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        found = " ".join(str(error).split())
        raise ConfigurationError(f"{place}: not readable: {found}") from None
    if not isinstance(data, dict):
        raise ConfigurationError(f"{place}: found {type(data).__name__}, not a mapping")
    return plain_copy(data, place)


def parse_value(text: str, place: str) -> Any:
    """Read one value, written as YAML.

    :raises ConfigurationError: it is malformed
    """
    try:
        return yaml.load(text, _Loader)
    except RecursionError:
        raise ConfigurationError(f"{place}: not readable: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError(f"{place}: not readable: {' '.join(str(error).split())}") from None


def plain_copy(data: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Copy a mapping; nothing in the copy is shared, so that changing one place changes one.

    :raises ConfigurationError: it holds what is not plain data, or far too much of it
    """
    left = _MAXIMUM_VALUES

    def copy(value: Any, path: str, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0 or depth > _MAXIMUM_DEPTH:
            raise ConfigurationError(
                f"{place}: {path}: too large; allowed are {_MAXIMUM_VALUES} values and "
                f"{_MAXIMUM_DEPTH} levels (does an alias contain itself?)"
            )
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise ConfigurationError(
                        f"{place}: {path or 'top level'}: found key {key!r}; allowed are texts"
                    )
            return {k: copy(v, f"{path}.{k}" if path else k, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [copy(v, f"{path}.{i}", depth + 1) for i, v in enumerate(value)]
        if value is None or isinstance(value, (str, int)):
            return value
        if isinstance(value, float) and isfinite(value):
            return value
        raise ConfigurationError(
            f"{place}: {path}: found {value!r}; allowed are texts, finite numbers, true and "
            "false, null, lists and mappings"
        )

    copied: dict[str, Any] = copy(data, "", 0)
    return copied
