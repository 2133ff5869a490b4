# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The law of a controller node that is its own Python script.

In shape ``ros`` such a script is started as a process. Where there are no processes it is run
up to the point at which it would start its node with ``run_controller(law)``: that law drives.
So one file gives the same law, made in the same way, in every run shape.
"""

from __future__ import annotations

import runpy
import sys
from contextvars import ContextVar
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import refuse_code
from ros2_cosim.driving.controllers.measurement import LongitudinalLaw

_wanted: ContextVar[bool] = ContextVar("a law is wanted, not a node", default=False)


class _HandedOver(BaseException):  # ends the script, and passes its except clauses
    def __init__(self, law: LongitudinalLaw) -> None:
        self.law = law


def hand_over(law: LongitudinalLaw) -> None:
    """Called by ``run_controller``: does not return if the law alone is wanted."""
    if _wanted.get():
        raise _HandedOver(law)


def law_of_script(path: Path) -> LongitudinalLaw:
    """Run a controller script until it hands its law over.

    :raises ConfigurationError: it fails, or ends without having called ``run_controller``
    """
    refuse_code(f"controller script {path}")
    arguments, search_path = sys.argv, sys.path
    token = _wanted.set(True)
    # As if it had been started: its own directory first, so that it may import its neighbours.
    sys.argv, sys.path = [str(path)], [str(path.parent), *search_path]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except _HandedOver as handed_over:
        return handed_over.law
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"controller script {path}: failed before it called run_controller: "
            f"{type(error).__name__}: {error}"
        ) from error
    finally:
        _wanted.reset(token)
        sys.argv, sys.path = arguments, search_path
    raise ConfigurationError(
        f"controller script {path}: ended without calling run_controller(law), of "
        "ros2_cosim.ros.programs.cacc_controller; "
        f"a file with a law only is named {path.name}:Class"
    )
