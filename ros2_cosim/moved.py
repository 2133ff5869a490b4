# SPDX-License-Identifier: Apache-2.0
"""Former names of modules that users and their FMUs import: they still work, with a note."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

#: Former name -> present one.
MOVED = {
    "ros2_cosim.carla_bridge.simulator": "ros2_cosim.interfaces.simulator",
    "ros2_cosim.dcp.declare": "ros2_cosim.dcp.slave.declare",
    "ros2_cosim.dcp.model": "ros2_cosim.dcp.slave.slave_model",
    "ros2_cosim.dcp.slave.model": "ros2_cosim.dcp.slave.slave_model",
    "ros2_cosim.dcp.slave_server": "ros2_cosim.dcp.slave.server",
    "ros2_cosim.run.fmu_law": "ros2_cosim.run.law_as_fmu",  # in FMUs written before
    "ros2_cosim.kernel.virtual_time": "ros2_cosim.realtime.virtual_time",
}


class MovedFinder(MetaPathFinder):
    """Finds a module by its former name."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Find the present module; the others are left to the finders behind this one."""
        present = MOVED.get(fullname)
        if present is None:
            return None
        from ros2_cosim.kernel.errors import OutdatedWarning

        warnings.warn(
            f"the module {fullname} is outdated; import {present}", OutdatedWarning, stacklevel=2
        )
        return spec_from_loader(fullname, _Present(present))


class _Present(Loader):
    """Gives the present module in place of a new one."""

    def __init__(self, name: str) -> None:
        self._module = import_module(name)
        self._spec = self._module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        # The import machinery has written the former name's specification into it.
        module.__spec__ = self._spec


def install() -> None:
    """Let former names be found, once."""
    if not any(isinstance(finder, MovedFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedFinder())
