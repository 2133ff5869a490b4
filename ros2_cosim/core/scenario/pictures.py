# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run as messages: what draws them, and which ones are installed.

A distribution offers them as entry points of the group ``ros2_cosim.pictures``: functions that
take a scenario and return its :class:`Picture`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ros2_cosim.core.documents.offered import functions_of
from ros2_cosim.core.scenario.schema import Scenario

PICTURE_GROUP = "ros2_cosim.pictures"


class Picture:
    """Draws a run from its messages; this base class draws nothing.

    :ivar topics: topic -> type of what is drawn
    :ivar wanted: topics of the run that it is made of
    :ivar latched: those that are drawn and hold until they are replaced
    """

    topics: Mapping[str, str] = {}
    wanted: Collection[str] = ()
    latched: frozenset[str] = frozenset()

    def take(self, topic: str, data: bytes) -> None:
        """Take a message of the run."""

    def begin(self) -> Iterator[tuple[str, bytes]]:
        """(topic, message) of what does not change."""
        yield from ()

    def draw(self, stamp_ns: int) -> Iterator[tuple[str, bytes]]:
        """(topic, message) of what has changed since the last time.

        :param stamp_ns: the present simulated time [ns]
        """
        yield from ()


class _Several(Picture):
    """Pictures of one run."""

    def __init__(self, pictures: Sequence[Picture]) -> None:
        self._pictures = pictures
        self.topics = {topic: kind for p in pictures for topic, kind in p.topics.items()}
        self.wanted = {topic for picture in pictures for topic in picture.wanted}
        self.latched = frozenset(topic for picture in pictures for topic in picture.latched)

    def take(self, topic: str, data: bytes) -> None:
        for picture in self._pictures:
            picture.take(topic, data)

    def begin(self) -> Iterator[tuple[str, bytes]]:
        for picture in self._pictures:
            yield from picture.begin()

    def draw(self, stamp_ns: int) -> Iterator[tuple[str, bytes]]:
        for picture in self._pictures:
            yield from picture.draw(stamp_ns)


def picture_of(scenario: Scenario) -> Picture:
    """What all installed pictures draw of a scenario; nothing if there are none.

    :raises ConfigurationError: one cannot be loaded
    """
    return _Several([function(scenario) for function in functions_of(PICTURE_GROUP).values()])


def draws() -> bool:
    """Whether any picture is installed.

    :raises ConfigurationError: one cannot be loaded
    """
    return bool(functions_of(PICTURE_GROUP))
