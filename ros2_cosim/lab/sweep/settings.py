# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sweep file: which scenario, which values, how they are chosen; and scenarios without one."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import abspath
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SerializeAsAny, model_validator
from typing_extensions import Self

import ros2_cosim
from ros2_cosim.core.documents.plain_data import plain_copy, read_mapping
from ros2_cosim.core.documents.settings import Whole, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.composition import ValueChange, read_whole, resolved
from ros2_cosim.core.scenario.templates import imported_suffixes
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

    ``scenario`` is the scenario's file as plain data, not yet resolved, ``changes`` what the
    sweep sets in it, ``origin`` its file for messages, ``seeds`` those of each point, and
    ``digest`` names all that results depend on. ``name`` is in its rows: that of its file without
    suffix, whatever the working directory. ``given`` says whether it is a scenario that was given
    instead of a sweep file; ``refused`` says why no run of that can begin, and is empty if one can.
    """

    settings: SweepSettings
    scenario: Mapping[str, Any]
    changes: tuple[ValueChange, ...]
    origin: str
    seeds: tuple[int, ...]
    digest: str
    name: str = ""
    given: bool = False
    refused: str = ""


def load_sweeps(paths: Sequence[Path]) -> list[Sweep]:
    """Read sweep files, scenarios, and all that are in directories, in the order of their names.

    A file with the key ``scenario`` is a sweep file. Any other is a scenario: one run without
    changes. A scenario that cannot be read is ``refused``, and does not keep others from running.

    :raises ConfigurationError: a sweep file is wrong, a path is not there, a directory has no such
        file, or two of them have one name or a search
    """
    suffixes = (*_PLAIN, *imported_suffixes())
    sweeps: list[Sweep] = []
    places: list[Path] = []
    for path in paths:
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in suffixes)
            if not files:
                raise ConfigurationError(
                    f"{path}: found no scenario; allowed are files with {', '.join(suffixes)}"
                )
        sweeps += [load_sweep(file) if _is_sweep_file(file) else _given(file) for file in files]
        places += files
    names = _told_apart(places)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ConfigurationError(f"{twice[0]}: found twice; allowed are different names")
    sweeps = [replace(sweep, name=name) for sweep, name in zip(sweeps, names, strict=True)]
    searching = [sweep.name for sweep in sweeps if sweep.settings.search is not None]
    if len(searching) > 1:
        raise ConfigurationError(f"search: found in {' and '.join(searching)}; allowed is one")
    return sweeps


def _told_apart(files: Sequence[Path]) -> list[str]:
    """The names of files without suffix; equal ones with as many directories as tell them apart.

    A table of an earlier sweep has the same names, from whatever directory it was started.
    """
    ways = [Path(abspath(file)).with_suffix("").parts[1:] for file in files]
    names = {way: way[-1:] for way in ways}
    while True:
        found = Counter(names.values())
        alike = [way for way, name in names.items() if found[name] > 1 and name != way]
        if not alike:
            return ["/".join(names[way]) for way in ways]
        for way in alike:
            names[way] = way[-len(names[way]) - 1 :]


#: Suffixes of files that may be sweep files; other formats are scenarios.
_PLAIN: Final = (".yaml", ".yml", ".json")


def _is_sweep_file(path: Path) -> bool:
    """Whether a file has the key that a sweep needs, and no scenario has."""
    if path.suffix not in _PLAIN:
        return False
    try:
        return "scenario" in read_mapping(path, "sweep")
    except ConfigurationError:
        return False  # as a scenario it is refused with the reason


def _given(path: Path) -> Sweep:
    """A scenario as it is.

    :raises ConfigurationError: there is no such file
    """
    if not path.exists():
        read_whole(path)  # a name of the library, or an error that tells names like it
    data = {"scenario": path.name}
    try:
        return replace(_sweep_of(data, path), given=True)
    except ConfigurationError as error:
        digest = hashlib.sha256(f"{ros2_cosim.__version__} {error}".encode()).hexdigest()
        settings = SweepSettings(scenario=path.name)
        return Sweep(settings, {}, (), str(path), (1,), digest, path.stem, True, str(error))


def load_sweep(path: Path) -> Sweep:
    """Read a sweep file and its scenario; a file of OpenSCENARIO is a sweep of it alone.

    :raises ConfigurationError: a file cannot be read, or something in it is wrong
    """
    alone = path.suffix == ".xosc"
    return _sweep_of({"scenario": path.name} if alone else read_mapping(path, "sweep"), path)


def _sweep_of(data: dict[str, Any], path: Path) -> Sweep:
    """The sweep that the content of a file describes; see also :mod:`.distributions`.

    :param path: from which the scenario is named
    :raises ConfigurationError: the scenario cannot be read, or something is wrong
    """
    place, directory = f"sweep {path}", path.parent
    data = with_distribution(data, directory)
    if isinstance(data.get("search"), Mapping):
        data["search"] = read_search(data["search"], place)
    settings = read_section(SweepSettings, data, origin=place)
    file = directory / settings.scenario
    scenario = read_whole(Path(settings.scenario), directory)
    changes = tuple(
        ValueChange(key, value, f"{place}: set: {key}") for key, value in settings.set.items()
    )
    origin = f"scenario {file}"
    # Checked here once, so that a wrong place is reported before anything begins.
    whole = resolved(plain_copy(scenario, origin), changes, origin)
    seeds = settings.seeds
    if isinstance(seeds, int):
        seeds = tuple(range(1, seeds + 1))
    if seeds is not None and len(set(seeds)) < len(seeds):
        raise ConfigurationError(f"{place}: seeds: each may appear once")
    for name, parameter in settings.parameters.items():
        if "seed" in (parameter.places or (name,)):
            raise ConfigurationError(
                f"{place}: parameters.{name}: found seed; runs get theirs by the key 'seeds'"
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
        path.stem,
    )
