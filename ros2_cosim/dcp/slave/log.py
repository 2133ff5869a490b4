# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Log entries of a slave: stored until requested, or sent at once."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from ros2_cosim.dcp.standard.enums import LogMode
from ros2_cosim.dcp.standard.errors import PduError
from ros2_cosim.dcp.standard.pdu import encode_log_arguments
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

_ENTRY = struct.Struct("<qB")
MAX_STORED = 10_000
"""Greatest number of entries kept for INF_log; the oldest are dropped."""


class SlaveLog:
    """Takes the entries of a model and returns them by category.

    :param now: UNIX time in seconds, for the entries' time stamps
    :param notify: sends a finished NTF_log body (time, template id, arguments)
    """

    def __init__(
        self,
        description: SlaveDescription,
        now: Callable[[], float],
        notify: Callable[[bytes], None],
    ) -> None:
        self._templates = {t.id: t for t in description.log_templates}
        self._categories = {c.id for c in description.log_categories}
        self._now = now
        self._notify = notify
        self._stored: deque[tuple[int, bytes]] = deque(maxlen=MAX_STORED)
        self.modes: dict[tuple[int, int], LogMode] = {}

    def write(self, template_id: int, *arguments: Any) -> None:
        """One log entry; dropped unless CFG_logging switched its category and level on.

        :raises PduError: unknown template or arguments that do not fit it
        """
        template = self._templates.get(template_id)
        if template is None:
            raise PduError(f"log template {template_id} is not in the description")
        mode = self.modes.get((template.category, template.level), LogMode.NONE)
        if mode is LogMode.NONE:
            return
        body = _ENTRY.pack(int(self._now()), template_id)
        body += encode_log_arguments(template.arguments, arguments)
        if mode is LogMode.ON_NOTIFICATION:
            self._notify(body)
        else:
            self._stored.append((template.category, body))

    def knows(self, category: int) -> bool:
        """Whether INF_log may ask for the category."""
        return category == 0 or category in self._categories

    def take(self, category: int, most: int, room: int) -> bytes:
        """Remove and return up to ``most`` of the oldest entries within ``room`` bytes."""
        taken: list[bytes] = []
        kept: list[tuple[int, bytes]] = []
        full = False
        while self._stored:
            entry = self._stored.popleft()
            wanted = category in (0, entry[0])
            if wanted and not taken and len(entry[1]) > room:
                continue  # it can never be sent
            full = full or (wanted and (len(taken) >= most or len(entry[1]) > room))
            if wanted and not full:
                taken.append(entry[1])
                room -= len(entry[1])
            else:
                kept.append(entry)
        self._stored.extend(kept)
        return b"".join(taken)

    def clear(self) -> None:
        """Forget all entries and switch all logging off."""
        self._stored.clear()
        self.modes = {}
