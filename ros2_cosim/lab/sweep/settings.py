# SPDX-License-Identifier: Apache-2.0
"""The sweep file: which scenario, which values, how they are chosen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, model_validator
from typing_extensions import Self

import ros2_cosim
from ros2_cosim.core.documents.plain_data import plain_copy, read_mapping
from ros2_cosim.core.documents.settings import Whole, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.composition import ValueChange, read_whole, resolved
from ros2_cosim.lab.sweep.distributions import with_distribution
from ros2_cosim.lab.sweep.search import Search, read_search
from ros2_cosim.lab.sweep.varied import Count, Varied


class SweepSettings(Varied):
    """A whole sweep file."""

    version: Literal[1] = Field(default=1, description="of the format")
    scenario: str = Field(
        description="scenario file, relative to the sweep file; or the name of one of the library"
    )
    set: dict[str, Any] = Field(
        default_factory=dict, description="changes to all runs: key -> value"
    )
    search: SerializeAsAny[Search] | None = Field(
        default=None, description="an adaptive search instead of a design alone"
    )
    seeds: Count | Annotated[tuple[Annotated[Whole, Field(ge=0, lt=2**63)], ...],
                             Field(min_length=1)] | None = Field(
        default=None,
        description="seeds with which each point is run: 1 to a number, or a list; "
        "default: that of the scenario",
    )  # fmt: skip
    bag: bool = Field(default=False, description="keep bag and report of each run")
    retries: Annotated[Whole, Field(ge=0, le=10)] = Field(
        default=2, description="how often to repeat a run whose worker or machine failed"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        chosen = set(self.parameters)
        if self.search is not None:
            self.search.check(self)
            chosen = self.search.designed(self)
        for name, parameter in self.parameters.items():
            if (
                self.design.kind in ("grid", "rows")
                and name in chosen
                and parameter.values is None
                and (parameter.steps is None)
            ):
                raise ValueError(f"parameters.{name}: a grid needs values, or a range with steps")
        return self


@dataclass(frozen=True)
class Sweep:
    """A sweep that can be begun.

    ``scenario`` is the scenario's file as plain data, not yet resolved, ``changes`` what the sweep
    sets in it, ``origin`` its file for messages, ``seeds`` those of each point, and ``digest``
    names all that results depend on.
    """

    settings: SweepSettings
    scenario: Mapping[str, Any]
    changes: tuple[ValueChange, ...]
    origin: str
    seeds: tuple[int, ...]
    digest: str


def load_sweep(path: Path) -> Sweep:
    """Read a sweep file and its scenario.

    A file of OpenSCENARIO stands for a sweep of it alone; see :mod:`.distributions`.

    :raises ConfigurationError: a file cannot be read, or something in it is wrong
    """
    origin = f"sweep {path}"
    alone = path.suffix == ".xosc"
    data = with_distribution(
        {"scenario": path.name} if alone else read_mapping(path, "sweep"), path.parent
    )
    if isinstance(data.get("search"), Mapping):
        data["search"] = read_search(data["search"], origin)
    settings = read_section(SweepSettings, data, origin=origin)
    file = path.parent / settings.scenario
    scenario = read_whole(Path(settings.scenario), path.parent)
    changes = tuple(
        ValueChange(key, value, f"sweep {path}: set: {key}") for key, value in settings.set.items()
    )
    origin = f"scenario {file}"
    # Checked here once, so that a wrong place is reported before anything begins.
    whole = resolved(plain_copy(scenario, origin), changes, origin)
    seeds = settings.seeds
    if isinstance(seeds, int):
        seeds = tuple(range(1, seeds + 1))
    if seeds is not None and len(set(seeds)) < len(seeds):
        raise ConfigurationError(f"sweep {path}: seeds: each may appear once")
    for name, parameter in settings.parameters.items():
        if "seed" in (parameter.places or (name,)):
            raise ConfigurationError(
                f"sweep {path}: parameters.{name}: found seed; runs get theirs by the key 'seeds'"
            )
    said = settings.model_dump(mode="json", exclude={"retries", "scenario"})
    # With what the scenario becomes: a file of OpenSCENARIO is in that alone.
    what = json.dumps([ros2_cosim.__version__, scenario, whole, said], sort_keys=True)
    return Sweep(
        settings,
        scenario,
        changes,
        str(file),
        (whole.get("seed", 1),) if seeds is None else seeds,
        hashlib.sha256(what.encode()).hexdigest(),
    )
