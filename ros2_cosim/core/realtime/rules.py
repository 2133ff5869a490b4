# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From the rules of a scenario to estimators; files with the values of earlier runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.realtime.estimators import (
    CharacteristicMap,
    Curve,
    EarlierRun,
    Extrapolation,
    Limits,
    Method,
    Rate,
)
from ros2_cosim.core.realtime.estimators_of_records import Rule
from ros2_cosim.core.realtime.settings import RuleSettings

VALUES_FILE = "values.json"
FORMAT = "ros2_cosim values 1"

#: ``port.field`` -> (times [ns], values).
Values = Mapping[str, tuple[Sequence[int], Sequence[float]]]


def make_rules(
    rules: Sequence[RuleSettings], where: str, participant: str, base_directory: Path
) -> list[Rule]:
    """The rules of one participant.

    :param where: place in the scenario, for messages
    :param participant: whose values are taken from a file of an earlier run
    :raises ConfigurationError: points out of order, or a file that cannot be used
    """
    made = []
    for number, rule in enumerate(rules):
        place = f"{where}[{number}]"
        try:
            method = _method(rule, participant, base_directory)
        except ConfigurationError as error:
            raise ConfigurationError(f"{place}: {error}") from None
        limits = Limits(rule.min, rule.max, rule.max_rate)
        made.append(Rule(rule.ports, rule.fields, method, limits, rule.adapt))
    return made


def write_values(directory: Path, values: Mapping[str, Values]) -> Path:
    """Write the calculated values of a run, for estimates in later ones.

    :param values: by participant
    """
    path = directory / VALUES_FILE
    content = {"format": FORMAT, "participants": {n: dict(v) for n, v in sorted(values.items())}}
    write_atomically(path, json.dumps(content, allow_nan=False) + "\n")
    return path


def read_values(path: Path, participant: str) -> dict[str, EarlierRun]:
    """The values that a participant calculated in an earlier run, by ``port.field``.

    :raises ConfigurationError: the file cannot be read, or does not hold them
    """
    try:
        content: Any = read_record(path)
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        series = content["participants"][participant]
        return {name: EarlierRun(times, values) for name, (times, values) in series.items()}
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {cause_of(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError, ConfigurationError) as error:
        raise ConfigurationError(
            f"{path} does not hold values of '{participant}' from an earlier run: {error}"
        ) from None


def _method(
    rule: RuleSettings, participant: str, base_directory: Path
) -> Callable[[str, str], Method]:
    if rule.method == "extrapolate":
        return lambda port, field: Extrapolation(rule.order)
    if rule.method == "rate":
        return lambda port, field: Rate(rule.of[0], rule.gain)
    shared: Method
    if rule.method == "curve":
        shared = Curve(rule.of[0], rule.points)
        return lambda port, field: shared
    if rule.method == "map":
        shared = CharacteristicMap(rule.of, rule.x, rule.y, rule.values)
        return lambda port, field: shared
    earlier = read_values(base_directory / str(rule.file), participant)
    # A number that the earlier run did not have is extrapolated.
    return lambda port, field: earlier.get(f"{port}.{field}", Extrapolation(rule.order))
