# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of OpenSCENARIO that vary another one (ParameterValueDistribution), as rows of a sweep.

Distributions of single parameters and of sets of them are combined, each with each, the last one
fastest. Of stochastic ones there are as many rows as the file has test runs; each parameter has its
own random stream, by the seed of the file and that of the sweep's design.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import exp, log
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.driving.openscenario.document import Element, Findings, as_text, read_document
from ros2_cosim.driving.openscenario.passed_over import refuse_unread
from ros2_cosim.lab.sweep.search import Point
from ros2_cosim.lab.sweep.varied import MAX_RUNS

#: How the scenario calls a parameter of a file of OpenSCENARIO.
_PLACE: Final = "openscenario.parameters."
_WHOLE: Final = ("int", "integer", "unsignedInt", "unsignedShort")
#: So many draws in turn beside the range of a distribution mean that it has hardly anything there.
_MOST_DRAWS: Final = 10_000
#: Largest expected value of a Poisson distribution: exp(-value) must not vanish.
_MOST_EVENTS: Final = 500.0

_Draw = Callable[[RandomStream], float | str]


def is_distribution(path: Path) -> bool:
    """Whether a file is a readable one of OpenSCENARIO that varies another one."""
    try:
        return read_document(path).find("ParameterValueDistribution") is not None
    except ConfigurationError:
        return False


def with_distribution(data: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """A sweep file whose scenario may be a distribution: the rows and the file that it varies.

    :param data: the sweep file; its ``design.seed`` is that of the draws
    :param directory: from which the file names its scenario
    :returns: the same, or with ``scenario``, ``parameters`` and ``design.rows`` of the distribution
    :raises ConfigurationError: the distribution is wrong; the message names file, line and element
    """
    name, design = data.get("scenario"), data.get("design", {})
    if not isinstance(name, str) or not name.endswith(".xosc") or not isinstance(design, Mapping):
        return dict(data)
    root = read_document(directory / name)
    distribution = root.find("ParameterValueDistribution")
    if distribution is None:
        return dict(data)
    seed = design.get("seed", 1)
    reader = _Reader(distribution, seed if isinstance(seed, int) else 1)
    rows = reader.rows()
    root.one("FileHeader").leave()
    findings = Findings()
    refuse_unread(root, findings)
    if findings.faults:
        raise ScenarioError(findings.faults)
    values: dict[str, dict[str, Any]] = {}
    for parameter, value in (pair for row in rows for pair in row.items()):
        values.setdefault(parameter, {})[as_text(value)] = value
    parameters = {
        parameter: {"places": [_PLACE + parameter], "values": [*found.values()]}
        for parameter, found in values.items()
    }
    return {
        **data,
        "scenario": str(Path(name).parent / reader.file),
        # What the sweep file says of a parameter goes before the rows.
        "parameters": {**parameters, **data.get("parameters", {})},
        "design": {**design, "kind": "rows", "rows": rows},
    }


class _Reader:
    """Reads one ParameterValueDistribution.

    :param seed: of the draws, beside that of the file
    """

    def __init__(self, element: Element, seed: int) -> None:
        self._element = element
        self._seed = seed
        scenario = element.one("ScenarioFile")
        #: The file that is varied, from the directory of this one.
        self.file = scenario.text("filepath")
        base = Path(element.source).parent / self.file
        if not base.is_file():
            raise scenario.error(f"filepath: found '{self.file}'; there is no file {base}")
        declarations = read_document(base).find("ParameterDeclarations")
        found = declarations.each("ParameterDeclaration") if declarations is not None else []
        #: Parameter -> its type.
        self._types = {each.raw("name"): each.raw("parameterType") for each in found}

    def rows(self) -> list[Point]:
        """All sets of values, in order.

        :raises ConfigurationError: a distribution is wrong, or there are too many rows
        """
        kinds = [child for child in self._element.children() if child.tag != "ScenarioFile"]
        if len(kinds) != 1 or kinds[0].tag not in ("Deterministic", "Stochastic"):
            raise self._element.error("allowed is one of Deterministic and Stochastic")
        if kinds[0].tag == "Stochastic":
            return self._drawn(self._element.one("Stochastic"))
        axes = [self._axis(each) for each in self._element.one("Deterministic").children()]
        count = math.prod(len(axis) for axis in axes)
        self._require_count(count, kinds[0])
        rows: list[Point] = []
        for chosen in product(*axes):
            row: dict[str, Any] = {}
            for part in chosen:
                row.update(part)
            rows.append(row)
        return rows

    def _require_count(self, count: int, where: Element) -> None:
        if not 1 <= count <= MAX_RUNS:
            raise where.error(f"found {count} sets of values; allowed are 1 to {MAX_RUNS}")

    def _name(self, element: Element, attribute: str) -> str:
        """The parameter that an attribute names."""
        name = element.text(attribute).removeprefix("$")
        if name not in self._types:
            known = ", ".join(self._types) or "none"
            raise element.error(f"{attribute}: found '{name}'; {self.file} declares {known}")
        return name

    # Deterministic -----------------------------------------------------------------------

    def _axis(self, element: Element) -> list[dict[str, Any]]:
        if element.tag == "DeterministicMultiParameterDistribution":
            sets = element.one("ValueSetDistribution").each("ParameterValueSet")
            return [
                {
                    self._name(each, "parameterRef"): _value(each.text("value"))
                    for each in one.each("ParameterAssignment")
                }
                for one in sets
            ]
        if element.tag != "DeterministicSingleParameterDistribution":
            raise _not_supported(element, "DeterministicSingleParameterDistribution",
                                 "DeterministicMultiParameterDistribution")  # fmt: skip
        name, kind = self._name(element, "parameterName"), element.choice()
        if kind.tag == "DistributionSet":
            values = [_value(each.text("value")) for each in kind.each("Element")]
        elif kind.tag == "DistributionRange":
            values = self._steps(kind)
        else:
            raise _not_supported(kind, "DistributionSet", "DistributionRange")
        return [{name: value} for value in values]

    def _steps(self, kind: Element) -> list[Any]:
        """From the lower limit on in steps, as far as the upper one; exact as they are written."""
        limits = kind.one("Range")
        step = _decimal(kind, "stepWidth")
        low, high = _decimal(limits, "lowerLimit"), _decimal(limits, "upperLimit")
        if step <= 0:
            raise kind.error(f"stepWidth: found {step}; allowed is a number above 0")
        count = int((high - low) / step) + 1 if high >= low else 0
        self._require_count(count, kind)
        values = (low + number * step for number in range(count))
        return [int(value) if value == int(value) else float(value) for value in values]

    # Stochastic --------------------------------------------------------------------------

    def _drawn(self, element: Element) -> list[Point]:
        count = element.whole("numberOfTestRuns")
        self._require_count(count, element)
        seed = element.text("randomSeed", "0")
        rows: list[dict[str, Any]] = [{} for _ in range(count)]
        for each in element.each("StochasticDistribution"):
            name, kind = self._name(each, "parameterName"), each.choice()
            if kind.tag not in _DRAWS:
                raise _not_supported(kind, *_DRAWS)
            draw = _DRAWS[kind.tag](kind)
            stream = RandomStream(self._seed, "ParameterValueDistribution", f"{seed} {name}")
            whole = self._types[name] in _WHOLE
            for row in rows:
                value = draw(stream)
                row[name] = value if isinstance(value, str) else _rounded(value, whole)
        return [{name: _value(value) for name, value in row.items()} for row in rows]


def _rounded(value: float, whole: bool) -> float:
    return math.floor(value + 0.5) if whole else value


def _normal(kind: Element) -> _Draw:
    mean, variance = kind.number("expectedValue"), kind.amount("variance")
    return _within(kind, lambda stream: mean + math.sqrt(variance) * stream.normal())


def _log_normal(kind: Element) -> _Draw:
    """Its expected value and variance are those of the value, not of its logarithm."""
    mean, variance = kind.amount("expectedValue", positive=True), kind.amount("variance")
    square = log(1.0 + variance / (mean * mean))
    middle, width = log(mean) - 0.5 * square, math.sqrt(square)
    return _within(kind, lambda stream: exp(middle + width * stream.normal()))


def _uniform(kind: Element) -> _Draw:
    low, high = _limits(kind.one("Range"))
    return lambda stream: stream.uniform_between(low, high)


def _poisson(kind: Element) -> _Draw:
    """By the share of each number, from 0 on."""
    mean = kind.amount("expectedValue", positive=True)
    if mean > _MOST_EVENTS:
        raise kind.error(f"expectedValue: found {mean:g}; allowed is at most {_MOST_EVENTS:g}")

    def draw(stream: RandomStream) -> float:
        left, number, share = stream.uniform(), 0, exp(0.0 - mean)
        while left >= share > 0.0:
            left -= share
            number += 1
            share *= mean / number
        return number

    return _within(kind, draw)


def _histogram(kind: Element) -> _Draw:
    bins = kind.each("Bin") + kind.each("HistogramBin")
    limits = [_limits(each.one("Range")) for each in bins]
    choose = _weighted(kind, bins)
    return lambda stream: stream.uniform_between(*limits[choose(stream)])


def _probability_set(kind: Element) -> _Draw:
    elements = kind.each("Element")
    values = [each.text("value") for each in elements]
    choose = _weighted(kind, elements)
    return lambda stream: values[choose(stream)]


_DRAWS: Final[dict[str, Callable[[Element], _Draw]]] = {
    "NormalDistribution": _normal,
    "LogNormalDistribution": _log_normal,
    "UniformDistribution": _uniform,
    "PoissonDistribution": _poisson,
    "Histogram": _histogram,
    "ProbabilityDistributionSet": _probability_set,
}


def _weighted(kind: Element, parts: list[Element]) -> Callable[[RandomStream], int]:
    """From a stream to the number of a part, by the weights."""
    weights = [each.amount("weight") for each in parts]
    whole = math.fsum(weights)
    if whole <= 0.0:
        raise kind.error("weight: found none above 0; allowed is a sum above 0")

    def choose(stream: RandomStream) -> int:
        left = stream.uniform() * whole
        for number, weight in enumerate(weights):
            if left < weight:
                return number
            left -= weight
        return max(number for number, weight in enumerate(weights) if weight > 0.0)

    return choose


def _within(kind: Element, draw: Callable[[RandomStream], float]) -> _Draw:
    """Draws again as long as a value is beside the range of the distribution, if it has one."""
    limits = kind.find("Range")
    if limits is None:
        return draw
    low, high = _limits(limits)

    def again(stream: RandomStream) -> float:
        for _ in range(_MOST_DRAWS):
            value = draw(stream)
            if low <= value <= high:
                return value
        raise kind.error(f"found no value of {low:g} to {high:g} in {_MOST_DRAWS} draws")

    return again


def _limits(limits: Element) -> tuple[float, float]:
    low, high = limits.number("lowerLimit"), limits.number("upperLimit")
    if low > high:
        raise limits.error(f"lowerLimit: found {low:g}; allowed is at most upperLimit, {high:g}")
    return low, high


def _decimal(element: Element, name: str) -> Decimal:
    element.number(name)  # it says what is wrong
    try:
        return Decimal(element.text(name).strip())
    except InvalidOperation:  # "1_0", which is a number of Python's alone
        raise element.error(f"{name}: found '{element.text(name)}'; allowed is a number") from None


def _value(found: str | float) -> Any:
    """A value as plain data; a number or truth only if that is written back as it was."""
    if not isinstance(found, str):
        return found
    plain: Any = {"true": True, "false": False}.get(found)
    if plain is None:
        for kind in (int, float):
            try:
                plain = kind(found)
                break
            except ValueError:
                pass
    return plain if plain is not None and as_text(plain) == found else found


def _not_supported(element: Element, *supported: str) -> Exception:
    return element.error(f"not supported; supported are {', '.join(supported)}")
