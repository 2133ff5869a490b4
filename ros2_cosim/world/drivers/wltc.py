# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The drive cycle WLTC, class 3b, from the package that the European Commission publishes.

The table of UN GTR No. 15, Annex 1, is not part of this project. The Joint Research Centre of the
Commission has it in its package ``wltp`` (EUPL 1.1), in a module of plain numbers. That package
asks for old releases of others, which its table does not need; so it is not an extra.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError

COMMAND: Final = "pip install --no-deps wltp==0.1.2a0"
_MODULE: Final = "wltp.cycles.class3"


def wltc_speeds() -> list[float]:
    """The speeds at 0 s, 1 s, ... 1800 s [km/h].

    :raises ConfigurationError: the package is not there, or has no such table
    """
    try:
        table = import_module(_MODULE).class_data_b()["cycle"]
        return [float(speed) for speed in table]
    except ModuleNotFoundError:
        raise ConfigurationError(
            "cycle: found 'wltc_3b', whose table comes with the package wltp of the European "
            f"Commission, which is not installed; run '{COMMAND}', or name a file with csv"
        ) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"cycle: found another content of {_MODULE} ({error}); run '{COMMAND}'"
        ) from None
