# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Junctions: which road leads over which road inside to which other road."""

from __future__ import annotations

from typing import NamedTuple

from ros2_cosim.world.map.elements import RoadElement


class JunctionConnection(NamedTuple):
    """A way into a junction.

    From ``incoming_road`` onto ``connecting_road``, at its start (``at_start``) or its end;
    ``lanes`` holds pairs (lane of the incoming road, lane of the connecting road).
    """

    incoming_road: int
    connecting_road: int
    at_start: bool
    lanes: tuple[tuple[int, int], ...]


class Junction(NamedTuple):
    """A junction; ``controllers`` are the ids of those that switch its traffic lights."""

    id: int
    name: str
    connections: tuple[JunctionConnection, ...]
    controllers: tuple[str, ...]


def read_junction(element: RoadElement) -> Junction:
    """One junction.

    :raises RoadError: an attribute is missing or malformed
    """
    connections = []
    for connection in element.each("connection"):
        contact = connection.attribute("contactPoint")
        if contact not in ("start", "end"):
            raise connection.error(f"contactPoint={contact!r} must be 'start' or 'end'")
        connections.append(
            JunctionConnection(
                connection.integer("incomingRoad"),
                connection.integer("connectingRoad"),
                contact == "start",
                tuple(
                    (link.integer("from"), link.integer("to"))
                    for link in connection.each("laneLink")
                ),
            )
        )
    return Junction(
        element.integer("id"),
        element.get("name", ""),
        tuple(connections),
        tuple(controller.attribute("id") for controller in element.each("controller")),
    )
