# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the project: one root, subclasses by cause.

Errors found while a scenario is loaded (``ConfigurationError`` and below) are kept apart
from errors of a run (``RunError`` and below). Every message names the place (participant,
file or line), what was found and what is allowed.
"""

from __future__ import annotations

from enum import Enum


class CosimError(Exception):
    """Root of every error that this project raises on purpose."""


class WithoutEffectWarning(UserWarning):
    """Something that a document says has no effect here."""


class ConfigurationError(CosimError):
    """The scenario, a parameter file or the wiring is wrong; the run has not started."""


class MissingWingError(ConfigurationError):
    """A part of this package is needed, but not installed here."""


class ZeroDelayLoopError(ConfigurationError):
    """Participants form a cycle of connections without any delay."""


class DeadEndError(ConfigurationError):
    """Participants wait for each other's first message: none of them can ever run."""


class RunError(CosimError):
    """A run could not continue."""


class StorageError(RunError):
    """Results of a run cannot be written: the disk is full, or a limit is reached."""


class ParticipantError(RunError):
    """A participant failed in one of its activations."""


class ModelError(RunError):
    """What a model reports about its failure; the run adds participant, activation and time."""


class CausalityError(RunError):
    """A message broke an order that the protocol promises (loss, order or timing)."""


class DeadlockError(RunError):
    """No participant can ever advance again."""


class AbortOrigin(Enum):
    """Where an abort of the run began."""

    #: A participant, in an activation or a handler.
    PARTICIPANT = "participant"
    #: A request to the run.
    REQUEST = "request"
    #: Another process, which reports the cause.
    ELSEWHERE = "elsewhere"
    #: Another process, which cannot be reached any more to report the cause.
    UNREACHABLE = "unreachable"


class Aborted(RunError):
    """The run is aborted for all participants; passes through an activation that is open.

    A model raises it, in an activation or a handler, to abort the whole run.

    :param reason: why, for a human reader
    """

    def __init__(self, reason: str, origin: AbortOrigin = AbortOrigin.PARTICIPANT) -> None:
        super().__init__(reason)
        self.origin = origin


#: The older name, for models that were written with it.
RunAbortedError = Aborted


class Cancelled(Exception):
    """This process, or this job, was asked to end; passes through an activation that is open.

    Not a ``RunError``: a handler of failures must not take it for one.
    """


def begun_elsewhere(error: BaseException) -> bool:
    """Whether an error only passes on an end that began outside of the process."""
    if isinstance(error, Aborted):
        return error.origin in (AbortOrigin.ELSEWHERE, AbortOrigin.UNREACHABLE)
    return isinstance(error, Cancelled)


def reported_elsewhere(error: BaseException) -> bool:
    """Whether another process reports the cause of an error."""
    unreachable = isinstance(error, Aborted) and error.origin is AbortOrigin.UNREACHABLE
    return begun_elsewhere(error) and not unreachable


class LifecycleError(RunError):
    """The requested state must not follow the present one."""


class ConnectionFailedError(RunError):
    """Another process (simulator, DCP peer) cannot be reached or went away."""


class ProtocolError(RunError):
    """A peer sent something that its protocol does not allow."""
