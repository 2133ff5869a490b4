# SPDX-License-Identifier: Apache-2.0
"""The layers of a participant: which there are, in which order, and why.

Those of a run, which are about all participants alike, come next to the ports: what a branch plays
(:mod:`ros2_cosim.run.branch`) and what a checkpoint notes (:mod:`ros2_cosim.run.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from ros2_cosim.documents.settings import read_section
from ros2_cosim.kernel.layers import Layer, LayeredModel
from ros2_cosim.kernel.model import Model
from ros2_cosim.realtime.layers import coupling_layer, deadline_layer, estimates_layer
from ros2_cosim.realtime.renewal import Reset
from ros2_cosim.realtime.run_settings import RealtimeRun
from ros2_cosim.scenario.changing import changes_layer
from ros2_cosim.scenario.entry import loaded
from ros2_cosim.scenario.faults import faults_layer
from ros2_cosim.scenario.schema import Scenario
from ros2_cosim.scenario.seams import seams_layer

LAYER_GROUP = "ros2_cosim.layers"
