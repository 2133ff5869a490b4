# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The two kinds of step handlers cannot be mixed: one is set, once."""

from __future__ import annotations

from itertools import product

import pytest
from support.step_systems import context

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.realtime.virtual_time import VirtualTime

SETTERS = ["set_step_handler", "set_step_handler_async"]


@pytest.mark.parametrize(("first", "second"), list(product(SETTERS, SETTERS)))
def test_a_second_one_is_refused(first, second):
    time = VirtualTime(context("motor"))
    getattr(time, first)(lambda step: None)
    with pytest.raises(ConfigurationError, match="'motor' has a step handler already"):
        getattr(time, second)(lambda step: None)
