# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The adapter's side of leading a foreign Python node; see :mod:`.led_program` for the other one.

Where the node cannot be led, the adapter hands its messages over in DDS, with the barrier.
"""

from __future__ import annotations

import json
import socket
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from shutil import which
from time import monotonic, sleep
from typing import Any

from ros2_cosim.ros.foreign import led_program
from ros2_cosim.ros.foreign.foreign_topics import COMMON, ForeignMessage, ForeignWriting
from ros2_cosim.ros.foreign.led_program import Frames

_POLL_S = 0.02
#: The kernel reads so much of a script to find its interpreter.
_LONGEST_LINE = 256


class Lead:
    """Leads a node from one activation to the next.

    :param inputs: full names of the topics that the node may be given something on
    :param received: full name of an output's topic -> where its messages go
    :param check: called while waiting; raises if waiting makes no sense any more
    """

    def __init__(
        self,
        inputs: Sequence[str],
        received: Mapping[str, list[ForeignMessage]],
        check: Callable[[], None],
    ) -> None:
        here, self.there = socket.socketpair()
        self._frames = Frames(here, _POLL_S)
        self._places = {topic: place for place, topic in enumerate(inputs)}
        self._outputs = list(received)
        self._received = list(received.values())
        self._check = check
        #: Whether the node is led.
        self.leads = False
        #: Wall time [ns] at which the callbacks of the last activation had returned.
        self.done_ns = 0
        self._account: dict[str, Any] = {}
        self._asked: dict[str, str] = {}
        #: Topic -> how often it was written, when the program has ended; None: it has not said so.
        self.written: dict[str, int] | None = None

    def command(self, command: Sequence[str], seed: int, *, leads: bool = True) -> list[str]:
        """The command line that runs a Python program with seeds, and so that it can be led.

        :param command: as it would be run otherwise
        :param seed: of its random numbers
        :param leads: whether it may be led
        :returns: empty: another interpreter runs it
        """
        words = _python_program(command)
        if not words:
            return []
        outputs = self._outputs if leads else None
        given = {"stream": self.there.fileno(), "seed": seed, "outputs": outputs}
        return [sys.executable, led_program.__file__, json.dumps(given), *words]

    def introduced(self) -> bool:
        """Whether the node has said what it reads and writes; waited for a little."""
        return bool(self._account or (self._take() and self._account))

    @property
    def timers(self) -> list[tuple[int, bool]]:
        """Period [ns] of each timer, and whether it follows simulated time when the node does."""
        return [(period_ns, follows) for period_ns, follows in self._account["timers"]]

    def fits(
        self,
        node: str,
        reads: Mapping[str, tuple[str, bool]],
        writes: Mapping[str, ForeignWriting],
        later: Collection[str] = (),
    ) -> bool:
        """Whether the node can be led: it has what is declared, and nothing calls back else.

        If it cannot, DDS shows what is wrong with it.

        :param node: its full name
        :param reads: topic that it has to read -> type, and whether it may do so unreliably
        :param writes: topic that it has to write -> how
        :param later: topics that it may read later
        """
        account = self._account
        read = {topic: ends for topic, *ends in account["reads"]}
        written = {topic: ends for topic, *ends in account["writes"]}
        return (
            not account["hindrance"]
            and node in account["nodes"]
            and read.keys() - self.inner.keys() <= reads.keys() <= {*read, *later}
            and all(
                read[topic][0] == kind and (read[topic][1] or unreliable)
                for topic, (kind, unreliable) in reads.items()
                if topic in read
            )
            and all(
                (ends := written.get(topic, ()))
                and ends[0] == writing.type_name
                and ends[1] >= (not writing.best_effort)
                and ends[2] >= writing.latched
                and [end[0] for end in account["writes"]].count(topic) == 1
                for topic, writing in writes.items()
            )
        )

    @property
    def inner(self) -> dict[str, int]:
        """Topic by which nodes of the program talk to each other -> how many write it."""
        reads, writes = self._account["reads"], self._account["writes"]
        written = Counter(end[0] for end in writes)
        fits = {
            topic: all(_serves(w, r) for w in writes for r in reads if w[0] == r[0] == topic)
            for topic in {end[0] for end in reads} & written.keys() - set(COMMON)
        }
        return {topic: written[topic] for topic, each in sorted(fits.items()) if each}

    @property
    def latched(self) -> set[str]:
        """Topics that the node writes to readers of any time."""
        return {topic for topic, _, _, latched in self._account["writes"] if latched}

    @property
    def read_types(self) -> dict[str, str]:
        """Topic that the node reads, or has read -> its type."""
        return {topic: kind for topic, kind, *_ in self._account["reads"]}

    def begin(self, *, leads: bool) -> None:
        """Lead the node from now on, or leave it alone."""
        self._frames.send({"topics": list(self._places), "leads": leads})
        self._account["timers"] = self._answer().get("timers", self._account["timers"])
        self.leads = leads
        if not leads:
            for messages in self._received:
                messages.clear()  # they come in DDS, too

    def step(self, messages: Sequence[tuple[str, bytes]]) -> bool:
        """Hand messages over, one after the other; return when their callbacks have returned.

        :param messages: topic and bytes
        :returns: False: the node cannot be led any more, and has been given nothing
        """
        self._frames.send(None, [(self._places[topic], 0, 0, data) for topic, data in messages])
        self.leads = not self._answer().get("hindrance")
        return self.leads

    def wait_until(self, condition: Callable[[], bool], seconds: float = inf) -> None:
        """Take what the node publishes by itself until a condition holds.

        :param seconds: longest wait
        """
        deadline = monotonic() + seconds
        while not condition() and monotonic() < deadline:
            self._check()
            self._take()

    def _answer(self) -> dict[str, Any]:
        while (answer := self._take()) is None or answer.get("free", "account" in answer):
            self._check()
        return answer

    def _take(self) -> dict[str, Any] | None:
        """Take one frame, if one comes within a little time."""
        document, blocks = self._frames.receive() or (None, ())
        if document is None:
            if self._frames.is_over:
                sleep(_POLL_S)
            return None
        self._account = document.get("account", self._account)
        self._asked |= document.get("asked", {})
        if "come" in document:
            self._account["reads"] += document["come"]
        if "ended" in document:
            self.written = dict(zip(self._outputs, document["ended"], strict=True))
            return None
        for place, number, time_ns, data in blocks:
            if place < len(self._received):
                self._received[place].append(ForeignMessage(data, number, time_ns))
            else:
                self.done_ns = time_ns
        return document

    @property
    def asked(self) -> Mapping[str, str]:
        """What the program has asked the machine for -> the place in its source."""
        deadline = monotonic() + _POLL_S  # a program may say more and more
        while self._take() is not None and monotonic() < deadline:
            pass
        return self._asked

    def hear_out(self) -> None:
        """Take the last that a program has said, which has ended."""
        while self.written is None and not self._frames.is_over:
            self._check()
            self._take()

    def close(self) -> None:
        """Close both ends."""
        self._frames.stream.close()
        self.there.close()


def _serves(writer: Sequence[Any], reader: Sequence[Any]) -> bool:
    """Whether they have one type, and a writer is as reliable and latched as a reader wants."""
    return bool(writer[1] == reader[1] and writer[2] >= reader[2] and writer[3] >= reader[3])


def _python_program(command: Sequence[str]) -> Sequence[str]:
    """A program of this interpreter in a command line, and its arguments; empty: none is."""
    first = which(command[0]) or ""
    if _is_own(first):
        named = len(command) > 2 and command[1] == "-m"
        is_file = len(command) > 1 and command[1][:1] != "-" and Path(command[1]).is_file()
        return command[1:] if named or is_file else ()
    return (first, *command[1:]) if first and _is_own(_interpreter(Path(first))) else ()


def _is_own(interpreter: str) -> bool:
    """Whether an interpreter is this one, under any of its names in its own directory."""
    own, path = Path(sys.executable), Path(interpreter)
    return bool(interpreter) and path.parent == own.parent and path.samefile(own)


def _interpreter(script: Path) -> str:
    """The interpreter in the first line of a script, if it is given nothing but the script."""
    with script.open("rb") as file:
        first = file.readline(_LONGEST_LINE).decode(errors="replace").split()
    if first[:1] == ["#!/usr/bin/env"] and len(first) == 2:
        return which(first[1]) or ""
    found = first[0][2:] if len(first) == 1 and first[0].startswith("#!") else ""
    return found if Path(found).is_file() else ""
