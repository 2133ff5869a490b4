# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the project: one root, subclasses by cause.

Errors found while a scenario is loaded (``ConfigurationError`` and below) are kept apart
from errors of a run (``RunError`` and below). Every message names the place (participant,
file or line), what was found and what is allowed.
"""


class CosimError(Exception):
    """Root of every error that this project raises on purpose."""


class Interruption(Exception):  # noqa: N818 - no fault of whom it reaches
    """The run ends for a reason that lies elsewhere: passes through whatever is going on."""


class ConfigurationError(CosimError):
    """The scenario, a parameter file or the wiring is wrong; nothing has run yet."""


class ZeroDelayLoopError(ConfigurationError):
    """Participants form a cycle of connections without any delay."""


class DeadEndError(ConfigurationError):
    """Participants wait for each other's first message: none of them can ever run."""


class RunError(CosimError):
    """A run could not go on."""


class ParticipantError(RunError):
    """A participant failed in one of its activations."""


class CausalityError(RunError):
    """A message broke an order that the protocol promises (loss, order or timing)."""


class DeadlockError(RunError):
    """No participant can ever advance again."""


class RunAbortedError(RunError, Interruption):
    """Raised by a participant, in an activation or a handler, to abort the whole run."""


class LifecycleError(RunError):
    """A state was asked for that must not follow the present one."""


class ConnectionFailedError(RunError):
    """Another process (simulator, DCP peer) cannot be reached or went away."""


class ProtocolError(RunError):
    """A peer sent something that its protocol does not allow."""
