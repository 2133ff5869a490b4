# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages to all processes of a run, carried from the channel of one host to that of another."""

from __future__ import annotations

from ros2_cosim.ros.bringup.far_link import FarLink
from ros2_cosim.ros.bringup.starter_channel import EarlyLeave, Required, Starter


class News:
    """One end of the bridge between two channels.

    :param starter: this host's channel
    :param link: to the other host
    """

    def __init__(self, starter: Starter, link: FarLink) -> None:
        self._starter = starter
        self._link = link
        self._left: set[str] = set()
        self._named: frozenset[str] | None = None

    def take(self, message: EarlyLeave | Required) -> None:
        """Pass on to the processes of this host what those of the other host have received."""
        if isinstance(message, EarlyLeave):
            self._left.add(message.participant)
            self._starter.leave_early(message.participant, message.how)
        else:
            self._named = frozenset(message.participants)
            self._starter.require(self._named)

    def pass_on(self) -> None:
        """Send what is new here.

        :raises LinkEnd: the other side has gone
        """
        for participant, how in self._starter.early_leaves.items():
            if participant not in self._left:
                self._left.add(participant)
                self._link.send(EarlyLeave(participant=participant, how=how))
        named = self._starter.required
        if named is not None and named != self._named:
            self._named = named
            self._link.send(Required(participants=tuple(sorted(named))))
