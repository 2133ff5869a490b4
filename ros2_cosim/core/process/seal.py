# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The seal of coordination messages: only processes of a run can make one.

DDS delivers what any program in the ROS domain publishes. A message that moves the time, the
horizon or the state of a run must come from a process of that run. Each of these messages ends with
a seal: a keyed BLAKE2b hash of topic and message, with a secret that the processes of the run get
in their environment. Other readers see the plain message: a CDR decoder does not look beyond the
last field.

The seal also carries the number of the message on its writer, so that a message that was read
from the network cannot be sent again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from collections.abc import Mapping

#: Environment variable that holds the secret of a run.
RUN_SECRET = "COSIM_RUN_SECRET"
#: Writer and number of the message on it, then the hash.
_ORIGIN = struct.Struct("<8sQ")
_HASH_BYTES = 16
SEAL_BYTES = _ORIGIN.size + _HASH_BYTES
#: Longest key of BLAKE2b.
_KEY_BYTES = 64


def new_secret() -> str:
    """A secret for a run."""
    return secrets.token_hex(16)


def secret_of(environment: Mapping[str, str] = os.environ) -> str:
    """The secret of the run that a process belongs to; empty: it belongs to none."""
    return environment.get(RUN_SECRET, "")


class _Keyed:
    """The hash of the messages of one topic."""

    def __init__(self, secret: str, topic: str) -> None:
        key = hashlib.blake2b(secret.encode(), digest_size=_KEY_BYTES).digest()
        self._begun = hashlib.blake2b(topic.encode() + b"\0", key=key, digest_size=_HASH_BYTES)

    def digest(self, data: bytes) -> bytes:
        hashed = self._begun.copy()
        hashed.update(data)
        return hashed.digest()


class Sealer:
    """Seals the messages of one writer.

    :param secret: of the run
    :param topic: that they are published on
    """

    def __init__(self, secret: str, topic: str) -> None:
        self._keyed = _Keyed(secret, topic)
        self._writer = secrets.token_bytes(8)
        self._count = 0

    def sealed(self, data: bytes) -> bytes:
        """The message with its seal."""
        self._count += 1
        # Aligned: else a transport would pad behind the seal.
        told = data + bytes(-len(data) & 3) + _ORIGIN.pack(self._writer, self._count)
        return told + self._keyed.digest(told)


class SealCheck:
    """Checks the messages that one reader gets, from any number of writers.

    :param secret: of the run
    :param topic: that they are read from
    """

    def __init__(self, secret: str, topic: str) -> None:
        self._keyed = _Keyed(secret, topic)
        #: Writer -> number of the newest message from it. Only processes of the run add to it.
        self._newest: dict[bytes, int] = {}

    def fault(self, data: bytes) -> str | None:
        """What is wrong with the seal of a message; None: it is good, and the message is new."""
        body, tag = data[:-_HASH_BYTES], data[-_HASH_BYTES:]
        if len(data) < SEAL_BYTES or not secrets.compare_digest(self._keyed.digest(body), tag):
            return "has no seal of this run"
        writer, count = _ORIGIN.unpack(body[-_ORIGIN.size :])
        if count <= self._newest.get(writer, 0):
            return "was received before"
        self._newest[writer] = count
        return None
