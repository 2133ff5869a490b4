# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models and laws with a state, for checkpoints."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ros2_cosim.core.kernel.model import FullModel, Model
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.records import Acceleration

MS = 1_000_000
#: How often a model below was activated, by the name of its participant.
ACTIVATIONS: dict[str, int] = {}


class Hopper(FullModel):
    """Draws when it is activated next, sends at once and at the end, and ends the run."""

    def __init__(self, context, parameters):
        self._name = context.name
        self._stream = RandomStream(context.run_seed, context.name, "hops")
        self._ends_at = int(parameters.get("ends_at_ms", 1500)) * MS

    def attach(self, host):
        """Keep the host."""
        self._send = host.send

    def activate(self, step):
        """Hop on."""
        ACTIVATIONS[self._name] = ACTIVATIONS.get(self._name, 0) + 1
        self.next_time = step.time + (1 + self._stream.integers(40)) * MS
        for _ in range(self._stream.integers(3)):
            self._send("many", Acceleration(self._stream.normal(), 0.0, 0.0))
        if step.time >= self._ends_at:
            self.stop_reason = "far enough"
        return {"one": Acceleration(self._stream.uniform(), 0.0, 0.0)}

    def save_state(self):
        """The stream, and the two that the kernel looks at."""
        return _STATE.save(self)

    def restore_state(self, state):
        """Go back."""
        _STATE.restore(self, state)


class Collector(FullModel):
    """The sum of the last messages, handled and triggered."""

    def __init__(self, context, parameters):
        self._last = deque(maxlen=5)
        self._handled = 0

    def activate(self, step):
        """Send a sum."""
        self._last += [sample.value.ax for sample in step.samples["one"]]
        return {"sum": Acceleration(sum(self._last), float(self._handled), 0.0)}

    def handle_message(self, port, step):
        """Count."""
        self._handled += 1
        return {}

    def save_state(self):
        """Both."""
        return {"last": list(self._last), "handled": self._handled}

    def restore_state(self, state):
        """Go back."""
        self._last.extend(state["last"])
        self._handled = state["handled"]


class Forgetful(Model):
    """Has no state to speak of, and does not say so."""

    def activate(self, step):
        """Send the time."""
        return {"out": Acceleration(step.time * 1e-9, 0.0, 0.0)}


class SlowLaw:
    """A law with a state that it keeps itself."""

    needs_v2v = ()

    def __init__(self):
        self._demand = 0.0

    def acceleration(self, measurement):
        """Follow the gap slowly."""
        wanted = 0.3 * (measurement.gap - 30.0) + measurement.gap_rate
        self._demand += 0.05 * (wanted - self._demand)
        return self._demand

    def save_state(self):
        """What it demanded last."""
        return self._demand

    def restore_state(self, state):
        """Go back."""
        self._demand = state


@dataclass
class Filter:
    """A part of a law."""

    gain: float
    value: float = 0.0


class PlainLaw:
    """A law with a state of plain attributes, and no method to keep it."""

    needs_v2v = ()

    def __init__(self):
        self._filter = Filter(0.05)
        self._window = np.zeros(4)
        self._noise = RandomStream(7, "law", "noise")
        self._modes = {"seen": [], "pair": (0.0, "none")}

    def acceleration(self, measurement):
        """Follow the gap slowly, with a mean of what was wanted and some noise."""
        wanted = 0.3 * (measurement.gap - 30.0) + measurement.gap_rate
        self._window = np.append(self._window[1:], wanted)
        mean = sum(float(value) for value in self._window) / 4.0
        self._filter.value += self._filter.gain * (mean - self._filter.value)
        self._modes["seen"] = [*self._modes["seen"][-3:], wanted]
        self._modes["pair"] = (wanted, "far" if wanted > 0.0 else "near")
        self._last = self._modes["seen"][0]  # only from the first call on
        return self._filter.value + 0.001 * self._last + 0.01 * self._noise.normal()


class ForgetfulLaw:
    """A law with a state that cannot be saved."""

    needs_v2v = ()

    def __init__(self):
        self._demands = (0.001 * number for number in range(1_000_000))

    def acceleration(self, measurement):
        """Creep."""
        return next(self._demands)


_STATE = SavedAttributes()
