# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a template that gives topics to vehicles finds in the rest of a scenario."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeVar

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Port

_WORLD_MODEL: Final = "carla_world"
_WORLD: Final = "world"
_HEADLESS: Final = "headless"

_Key = TypeVar("_Key")


class TopicPort(NamedTuple):
    """A topic of another system: port that stands for it, message type, when it is sent.

    ``latched``: viewers that come later get it, too, as they do of what is sent once.
    """

    port: str
    type: str
    topic: str
    schedule: Literal["every", "sparse", "once"] = "every"
    description: str = ""
    latched: bool = False
    frame_id: str = ""
    child_frame_id: str = ""

    @property
    def output(self) -> Port:
        """The output of a model; a scenario may leave it out."""
        return Port(
            self.port,
            self.type,
            required=False,
            schedule=self.schedule,
            description=self.description,
        )

    @property
    def input(self) -> Port:
        """The input of a model; a scenario may leave it out."""
        return Port(self.port, self.type, required=False, description=self.description)

    def settings(self, **words: str) -> dict[str, Any]:
        """The output of a scenario; ``words`` stand for the placeholders of the topic."""
        settings: dict[str, Any] = {
            "type": self.type,
            "topic": self.topic.format(**words),
            "schedule": self.schedule,
        }
        for key in ("latched", "frame_id", "child_frame_id"):
            if value := self._asdict()[key]:
                settings[key] = value
        return settings


class ScenarioParts:
    """World, vehicles and writers of a scenario, as plain data.

    :ivar present: the vehicles that are there
    :param key: of the template, for messages
    :param origin: how messages call the scenario
    :raises ConfigurationError: there is no world, or a part is not a mapping
    """

    def __init__(self, rest: Mapping[str, Any], key: str, origin: str) -> None:
        self._key, self._origin = key, origin
        self.participants = self.mapping(rest, "participants")
        self.world_name = self._find_world()
        self.world = self.mapping(self.participants, self.world_name)
        self.scene = self.mapping(rest, "scene")
        self.vehicles = self.mapping(self.scene, "vehicles")
        self._simulator = self.mapping(rest, "simulator").get("kind", _HEADLESS)
        count = self.mapping(self.world, "parameters").get("vehicles")
        present = list(self.vehicles)
        self.present = present[:count] if isinstance(count, int) else present

    def mapping(self, owner: Mapping[str, Any], key: str) -> dict[str, Any]:
        """A mapping within another one, empty if it is not there."""
        found = owner.get(key)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise ConfigurationError(
                f"{self._origin}: {key}: found {found!r}; allowed is a mapping"
            )
        return found

    def _find_world(self) -> str:
        """The participant with the vehicles: the only ``carla_world``, or the one called so."""
        worlds = [
            name
            for name, settings in self.participants.items()
            if isinstance(settings, dict) and settings.get("model") == _WORLD_MODEL
        ]
        if len(worlds) == 1:
            return worlds[0]
        if _WORLD in self.participants:
            return _WORLD
        raise ConfigurationError(
            f"{self._origin}: {self._key}: found {len(worlds)} participants with the model "
            f"{_WORLD_MODEL}; allowed is one, or a participant '{_WORLD}' with the vehicles"
        )

    def check_vehicle(self, name: str, field: str) -> None:
        """Check that a vehicle is there; ConfigurationError names the field of the template."""
        if name not in self.present:
            raise ConfigurationError(
                f"{self._origin}: {self._key}.{field}: found '{name}'; allowed are the vehicles of "
                f"the scene that are there, {', '.join(self.present) or 'none'}"
            )

    def topics(self) -> Iterator[tuple[str, str]]:
        """``participant.port`` and topic of all outputs that the file has."""
        for name in self.participants:
            settings = self.mapping(self.participants, name)
            for port, output in self.mapping(settings, "outputs").items():
                if isinstance(output, dict):
                    yield f"{name}.{port}", str(output.get("topic"))

    def writers(
        self, known: Mapping[str, _Key], refused: Collection[str], obeyed_by: str, allowed: str
    ) -> dict[_Key, list[str]]:
        """Key of a command -> outputs with its topic.

        :param known: topic -> key
        :param refused: topics that nothing here obeys, though ``obeyed_by`` does
        :raises ConfigurationError: an output has such a topic
        """
        found: dict[_Key, list[str]] = {}
        for source, topic in self.topics():
            if topic in refused:
                raise ConfigurationError(
                    f"{self._origin}: participants.{source.replace('.', '.outputs.')}.topic: found "
                    f"{topic}, which {obeyed_by} would obey; allowed are {allowed}"
                )
            if topic in known:
                found.setdefault(known[topic], []).append(source)
        return found

    def is_driven(self, vehicle: str) -> bool:
        """Whether the file itself says what drives a vehicle."""
        driver = self.mapping(self.vehicles, vehicle).get("driver")
        return driver is not None or f"control/{vehicle}" in self.mapping(self.world, "inputs")

    def check_masters(self, vehicles: Iterable[str], topics: str) -> None:
        """Check that vehicles with commands on topics have no other ones, and no driver."""
        inputs = self.mapping(self.world, "inputs")
        for name in vehicles:
            place = f"participants.{self.world_name}.inputs.control/{name}"
            if f"control/{name}" not in inputs:
                if not self.is_driven(name):
                    continue
                place = f"scene.vehicles.{name}.driver"
            raise ConfigurationError(
                f"{self._origin}: {place}: found beside a participant that publishes on "
                f"{topics.format(vehicle=name)}; allowed is one of them"
            )

    def timing(self) -> dict[str, Any]:
        """When the world is activated."""
        return {key: self.world[key] for key in ("period", "offset") if key in self.world}

    @property
    def is_carla_world(self) -> bool:
        """Whether it has the outputs of the model ``carla_world``."""
        return self.world.get("model") == _WORLD_MODEL

    @property
    def has_own_lights(self) -> bool:
        """Whether the traffic lights are those of the headless server, which only time changes."""
        return self.is_carla_world and self._simulator == _HEADLESS
