# SPDX-License-Identifier: Apache-2.0
"""What can be done to a run while it goes on, whoever drives it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ros2_cosim.kernel.errors import ConfigurationError

RUNNING, PAUSED, ENDED = "running", "paused", "ended"
#: Real-time factors that may be asked for.
SLOWEST, FASTEST = 0.001, 1000.0
#: So many steps may be asked for at once.
MOST_STEPS = 1_000_000


class RunStatus(NamedTuple):
    """Where a run is: ``state`` is running, paused or ended, ``time`` [ns] and ``steps`` simulated.

    ``rate`` is the wanted real-time factor (None: as fast as possible); ``may_change_rate``
    is false where somebody else sets the pace.
    """

    state: str
    time: int
    steps: int
    rate: float | None
    may_change_rate: bool = True


class Controllable(Protocol):
    """A run that can be controlled; any thread may call, every method returns at once."""

    def pause(self) -> None:
        """Stop before the next step."""

    def resume(self) -> None:
        """Go on."""

    def step(self, count: int = 1) -> None:
        """Pause if running, and take so many steps."""

    def set_rate(self, rate: float | None) -> None:
        """Change the real-time factor; None: as fast as possible.

        :raises ConfigurationError: the rate is out of range, or cannot be changed
        """

    def status(self) -> RunStatus:
        """Where the run is now."""


def checked_rate(rate: float | None) -> float | None:
    """The rate itself.

    :raises ConfigurationError: it is out of range
    """
    if rate is not None and not SLOWEST <= rate <= FASTEST:
        raise ConfigurationError(
            f"rate: found {rate!r}; allowed is {SLOWEST:g} to {FASTEST:g}, or none (max)"
        )
    return rate


def checked_steps(count: int) -> int:
    """The number of steps itself.

    :raises ConfigurationError: it is out of range
    """
    if not 1 <= count <= MOST_STEPS:
        raise ConfigurationError(f"step: found {count!r}; allowed is 1 to {MOST_STEPS}")
    return count
