# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a user changes during a run: taken, sent to its processes, and recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.files import cause_of, read_bounded, write_atomically
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.documents.run_files import CHANGES_FILE
from ros2_cosim.core.documents.settings import Section, Whole, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND, format_ns
from ros2_cosim.core.messages.protocol import RunChange
from ros2_cosim.core.scenario.changes import (
    MAX_BY_HAND,
    changed,
    due_changes,
    reset_of,
    target_of,
)
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario, with_made

_MAX_BYTES: Final = 10_000_000


class ChangesByHand:
    """Takes what is to be changed in a run whose participants are elsewhere, or busy.

    :param scenario: the run's
    :param earliest: gives the simulated time [ns] before which participants may have been activated
    :param make: takes all changes so far, in the order in which they were made, after each one
    """

    def __init__(
        self,
        scenario: Scenario,
        earliest: Callable[[], int],
        make: Callable[[Sequence[ChangeSettings]], None],
    ) -> None:
        #: With all changes so far.
        self._scenario = scenario
        self._earliest = earliest
        self._make = make
        self._made: list[ChangeSettings] = []
        self._by: list[str] = []

    def take(self, path: str, value: str, at_ns: int, by: str = "this process") -> str:
        """Make a change.

        :param path: ``participants.NAME.parameters.KEY``, ``faults.NAME.active``, or
            ``faults.NAME`` of a new fault
        :param value: the new value, as JSON
        :param at_ns: from when on it holds [ns of simulated time]; 0: as soon as it can
        :param by: where it came in, and what the client said of itself
        :returns: what becomes different and when, in one line
        :raises ConfigurationError: it may not be changed, not to that, or not then
        """
        scenario = self._scenario
        if reset_of(path) is not None:
            raise ConfigurationError(
                f"set: found '{path}'; by hand a participant is reset as a managed node: "
                "deactivate, cleanup, configure, activate (ros2 lifecycle set)"
            )
        try:
            to = json_value(value)
        except ValueError as error:
            raise ConfigurationError(
                f"value: found {value[:100]!r}; allowed is JSON: {error}"
            ) from None
        earliest = max(self._earliest(), 0)
        if at_ns and at_ns < earliest:
            raise ConfigurationError(
                f"at: found {format_ns(at_ns)}; participants may have passed that, allowed is a "
                f"time from {format_ns(earliest)} on"
            )
        at = max(at_ns, earliest)
        if at >= scenario.duration:
            raise ConfigurationError(
                f"at: found {format_ns(at)}; the run ends at {format_ns(scenario.duration)}"
            )
        if len(self._made) >= MAX_BY_HAND:
            raise ConfigurationError(f"found more than {MAX_BY_HAND} changes of one run by hand")
        # It also refuses a change that declared changes, or those for later, make impossible.
        changed(scenario, path, to, at=at)
        change = ChangeSettings(at=at, set=path, to=to)
        with_it = with_made(scenario, [change], "set")
        # Those before have been checked.
        due_changes(with_it, target_of(with_it, path), lambda each: each is change or each.at > at)
        self._scenario = with_it
        self._made.append(change)
        self._by.append(by)
        self._make(self._made)
        return f"{path}: {json.dumps(to)} from {format_ns(at)} on"

    def note_resets(self, name: str, times: Iterable[int]) -> None:
        """Take note of resets that a participant has taken on itself.

        :param times: from which on it is as at its start [ns], all of the run so far
        """
        path = f"participants.{name}.reset"
        known = {change.at for change in self._made if change.set == path}
        for at in times:
            if at not in known:
                change = ChangeSettings(at=at, set=path, to=True)
                self._scenario = with_made(self._scenario, [change], "set")
                self._made.append(change)
                self._by.append("lifecycle services: not told")
                self._make(self._made)

    def told(self) -> list[dict[str, Any]]:
        """What was changed, and when, with its origin: for the summary."""
        return [told_change(change, by) for change, by in zip(self._made, self._by, strict=True)]


def told_change(change: ChangeSettings, by: str) -> dict[str, Any]:
    """A change by hand as the summary has it.

    :param by: see :meth:`ChangesByHand.take`
    """
    return {"time_s": change.at / SECOND, "set": change.set, "to": change.to, "by": by}


def messages_of(changes: Iterable[ChangeSettings]) -> tuple[RunChange, ...]:
    """Changes as they are sent."""
    return tuple(RunChange(each.at, each.set, json.dumps(each.to)) for each in changes)


def settings_of(messages: Iterable[RunChange]) -> list[ChangeSettings]:
    """Changes that have been received."""
    return [
        ChangeSettings(at=each.at_ns, set=each.path, to=json_value(each.value)) for each in messages
    ]


class _Record(Section):
    format: Whole = 1
    changes: tuple[ChangeSettings, ...]


def write_changes(directory: Path, changes: Sequence[ChangeSettings]) -> None:
    """Write what a user has changed during a run."""
    content = _Record(changes=tuple(changes)).model_dump(mode="json")
    write_atomically(directory / CHANGES_FILE, json.dumps(content, indent=1) + "\n")


def recorded_changes(directory: Path) -> tuple[ChangeSettings, ...]:
    """What a user has changed during a run, in the order in which it was made.

    :raises ConfigurationError: the record cannot be read
    """
    path = directory / CHANGES_FILE
    if not path.exists():
        return ()
    try:
        data = json_value(read_bounded(path, _MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {cause_of(error)}") from None
    return read_section(_Record, data, origin=str(path)).changes


def with_recorded_changes(scenario: Scenario, directory: Path) -> Scenario:
    """The scenario with what a user has changed during a run, if anything.

    :raises ConfigurationError: the record cannot be read
    """
    where = f"{directory / CHANGES_FILE}: changes.{{}}.to"
    return with_made(scenario, recorded_changes(directory), where)
