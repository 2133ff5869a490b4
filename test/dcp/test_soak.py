# SPDX-License-Identifier: Apache-2.0
"""A short soak of a live slave; ``bench/dcp_soak.py`` is the long one."""

from __future__ import annotations

import pytest

from bench.dcp_soak import soak
from ros2_cosim.dcp.wire.enums import State


@pytest.mark.usefixtures("nothing_left")
def test_a_live_slave_survives_fuzzing_and_answers_as_the_engine() -> None:
    seen = soak(pdus=20_000, sequences=50, seed=3)
    reached = {name.split()[1] for name in seen if name.startswith("NTF_state_changed")}
    assert {"RUNNING", "COMPUTED", "STOPPED", "INITIALIZED"} <= reached <= {s.name for s in State}
    assert sum(count for name, count in seen.items() if name.startswith("RSP_nack")) > 1000
