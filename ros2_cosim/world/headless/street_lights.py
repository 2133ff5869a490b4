# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The street lights of a map, as clients switch them by ``LightManager``.

A client keeps a copy of all lights. It sends what its user changes with its next frame, and asks
for all anew in a frame whose snapshot says that another has changed them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.things import MapPart, Thing, Things
from ros2_cosim.world.headless.wire_types import Vector

STREET: Final = 2
"""The protocol's group of street lights; others are 0 none, 1 vehicle, 3 building, 4 other."""
_MOST_GROUP: Final = 4

#: Of a lamp for a street of two lanes [lm], and its warm white.
USUAL_INTENSITY: Final = 8000.0
MOST_INTENSITY: Final = 1.0e7
"""More [lm] no lamp has."""
_WARM: Final[Colour] = (255, 214, 168)


class LightState(NamedTuple):
    """A light of the protocol: place [m] of the lamp, intensity [lm]."""

    id: int
    location: Vector
    intensity: float
    group: int
    color: Colour
    active: bool


class StreetLights:
    """The lights of a map by their numbers.

    While ``day_night_cycle`` is on, sunset switches all on and sunrise all off, as in CARLA.

    :param make: finds the lamps of the scenery, at the first use of the lights
    :ivar is_told: whether the clients know the present state
    :ivar are_windows_lit: whether the lamps of rooms are on, which follow the sun, too
    :ivar version: grows with every change
    """

    def __init__(self, things: Things, make: Callable[[], Iterable[MapPart]]) -> None:
        self.day_night_cycle = True
        self.is_told = True
        self.are_windows_lit = False
        self.version = 0
        self._is_night = False
        self._things = things
        self._make: Callable[[], Iterable[MapPart]] | None = make
        self._lights: dict[int, LightState] = {}
        self._lamps: dict[int, Thing] = {}

    def complete(self) -> None:
        """Name the lamps of the scenery among the things of the map, if that has not been done."""
        if self._make is None:
            return
        self._things.take_lamps(self._make())
        self._make = None
        for lamp in self._things.lamps():
            if lamp.lamp is not None:
                burns = self._is_night and self.day_night_cycle
                self._lamps[lamp.id] = lamp
                self._lights[lamp.id] = LightState(
                    lamp.id, lamp.lamp, USUAL_INTENSITY, STREET, _WARM, active=burns
                )

    def states(self) -> list[LightState]:
        """All lights."""
        self.complete()
        return list(self._lights.values())

    def burning(self) -> list[LightState]:
        """The lights that shine: on, and on a lamp that is not hidden."""
        return [s for s in self.states() if s.active and self._lamps[s.id].is_shown]

    def update(self, states: list[LightState], *, tell: bool) -> None:
        """Take over lights as a client has set them; where they are does not change.

        :param tell: whether the clients are to ask anew
        :raises CosimError: there is no such light or group; then nothing is changed
        """
        self.complete()
        for state in states:
            if state.id not in self._lights:
                raise CosimError(f"no street light {state.id}: the map has {len(self._lights)}")
            if state.group > _MOST_GROUP:
                raise CosimError(
                    f"street light {state.id}: found group {state.group}; "
                    f"allowed is 0 to {_MOST_GROUP}"
                )
            if not 0.0 <= state.intensity <= MOST_INTENSITY:
                raise CosimError(
                    f"street light {state.id}: found intensity {state.intensity:g}; "
                    f"allowed is 0 to {MOST_INTENSITY:g}"
                )
        for state in states:
            place = self._lights[state.id].location
            self._set(state._replace(location=place), tell)

    def follow_sun(self, altitude: float) -> None:
        """Switch the lights at sunset and sunrise.

        :param altitude: of the sun above the horizon [deg]
        """
        is_night = altitude < 0.0
        if is_night != self._is_night and self.day_night_cycle:
            self.are_windows_lit = is_night
            self.version += 1
            # Lamps that are not known yet burn from the first question on.
            for state in list(self._lights.values()):
                self._set(state._replace(active=is_night), tell=True)
        self._is_night = is_night

    def _set(self, state: LightState, tell: bool) -> None:
        if state != self._lights[state.id]:
            self._lights[state.id] = state
            self.version += 1
            self.is_told = self.is_told and not tell
