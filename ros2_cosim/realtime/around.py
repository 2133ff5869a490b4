# SPDX-License-Identifier: Apache-2.0
"""What stands around a model and passes on everything that it does not do itself."""

from __future__ import annotations

from typing import Any

from ros2_cosim.kernel.participant import Behaviour


class Around:
    """A behaviour around another one: figures, verdicts, stop_reason, close, ... are the model's.

    :param behaviour: the model
    """

    #: What the model can do, but not together with what stands around it.
    _not_passed_on = frozenset({"reset"})

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in self._not_passed_on:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
        return getattr(self._behaviour, name)
