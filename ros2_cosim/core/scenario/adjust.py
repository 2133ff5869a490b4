# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Changes to a scenario that command line and launch arguments ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.composition import with_overrides
from ros2_cosim.core.scenario.executables import find_node, is_own
from ros2_cosim.core.scenario.law_files import law_of_file
from ros2_cosim.core.scenario.registry import find_model
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scenario.templates import find_template, is_template


def adjusted(
    scenario: Scenario,
    *,
    seed: int | None = None,
    simulator: str | None = None,
    controllers: str | None = None,
    overrides: Sequence[str] = (),
) -> Scenario:
    """A scenario with the given things changed; None leaves a thing unchanged.

    :param controllers: control law of all controllers: a name, ``package.module:Class``,
        ``path/to/file.py:Class``, an FMU or a C file (relative to the working directory); or the
        controllers' node, ``path/to/script.py`` or ``package/executable``
    :param overrides: the ``dotted.key=value`` texts that the scenario was read with. Parameters of
        a law that are among them are for the law of ``controllers``
    :raises ConfigurationError: a value is not allowed
    """
    if (seed, simulator) == (None, None) and not controllers:
        return scenario
    # Without defaults: a large system has far more of them than of anything else.
    data: dict[str, Any] = scenario.model_dump(by_alias=True, exclude_unset=True)
    settings = data.setdefault("simulator", {})
    if seed is not None:
        data["seed"] = seed
    if simulator is not None:
        settings["kind"] = simulator
        if simulator == "carla" and scenario.simulator.port == 0:
            settings["port"] = 2000
    if controllers:
        changed: dict[str, str] = {}
        for name, participant in data["participants"].items():
            law = find_model(participant["model"], f"participants.{name}.model").kind.traits.law
            if law is not None:
                change_controller(participant, law, controllers)
                changed[name] = f"{law}_parameters"
        if not changed:
            raise ConfigurationError(
                f"controllers: '{controllers}' was given, but the scenario '{scenario.name}' has "
                "no participant whose model takes a control law"
            )
        given = list(_law_parameters(data["participants"], changed, overrides))
        data = with_overrides(data, given, scenario.name)
    return make_scenario(data, scenario.name)


def _law_parameters(
    participants: dict[str, Any], changed: dict[str, str], overrides: Sequence[str]
) -> Iterator[str]:
    """The overrides that give a law parameters, for each participant that has another law now.

    :param changed: name of the participant -> its key of the law's parameters
    :raises ConfigurationError: a node of the user's own makes the law
    """
    for text in overrides:
        key, _, value = text.partition("=")
        section = key.partition(".")[0]
        templated = find_template(section, "--set").law_places if is_template(section) else ()
        for name, parameters in changed.items():
            place = f"participants.{name}.parameters.{parameters}"
            for own in (place, *(f"{short}.{parameters}" for short in templated)):
                if key != own and not key.startswith(f"{own}."):
                    continue
                if "node" in participants[name]:
                    raise ConfigurationError(
                        f"--set {text}: controllers names the node "
                        f"'{participants[name]['node']}', which makes its law itself; parameters "
                        "are allowed for a law, as in file.py:Class"
                    )
                participants[name]["parameters"].setdefault(parameters, {})
                yield f"{place}{key.removeprefix(own)}={value}"


def change_controller(participant: dict[str, Any], key: str, controllers: str) -> None:
    """Give a participant, as plain data, another control law, or a node of the user's own.

    :param key: its parameter that names the law
    """
    if law_of_file(controllers) is not None:
        controllers = str(Path(controllers).absolute())
    elif ":" not in controllers and is_own(controllers):
        # Nodes run elsewhere: a file of the working directory is named in full.
        package, name = find_node(controllers, Path.cwd(), "controllers")
        participant["node"] = f"{package}/{name}" if package else name
        return
    path, separator, law = controllers.rpartition(":")
    if separator and path.endswith(".py"):
        controllers = f"{Path(path).resolve()}:{law}"
    parameters = participant.setdefault("parameters", {})
    parameters[key] = controllers
    parameters.pop(f"{key}_parameters", None)
