# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers see the same values whether or not they share a process with the writer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import ROOT, cosim, user_environment

from ros2_cosim.core.kernel.layers import Layer, LayeredModel, gives_exact_records
from ros2_cosim.core.kernel.model import Model, Traits
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.core.scenario.system import build_graph

INEXACT = ROOT / "test" / "support" / "inexact.yaml"
#: Together they have each model whose records readers in its process get as they are.
SCENARIOS = (
    "platoon.yaml",
    "car_following.yaml",
    "library/cut_in.yaml",
    "library/mixed_traffic.yaml",
    "library/merge.yaml",
    "library/town.yaml",
)
SECONDS = 2


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "logs") as found:
        yield found


def test_numbers_of_any_kind_give_one_trace_in_every_shape(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment["PYTHONPATH"] = str(ROOT / "test")
    traces = {}
    for shape in ("inproc", "composed", "ros", "ros --processes own"):
        out = tmp_path / shape.replace(" ", "_")
        result = cosim(environment, INEXACT, "--shape", *shape.split(), "--out", out)
        assert result.code == 0, result
        traces[shape] = read_summary(out).trace_sha256
    assert len(set(traces.values())) == 1, traces


def _same(given: Any, read: Any) -> bool:
    """Whether a value and all its parts have the types that a reader elsewhere sees."""
    if type(given) is not type(read):
        return False
    if isinstance(given, tuple):
        return len(given) == len(read) and all(map(_same, given, read))
    return bool(given == read or given != given)


@pytest.mark.parametrize("name", SCENARIOS)
def test_models_that_say_so_give_records_as_they_are_decoded(name: str, tmp_path: Path) -> None:
    path, set_ = ROOT / "config" / name, (f"duration={SECONDS}s",)
    request = RunRequest(path, set=set_, shape="inproc", out=tmp_path / "out")
    graph = build_graph(adjusted_scenario(request))
    wrong: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()

    def compare(place: tuple[str, str], sample: Sample) -> None:
        codec = wire_codec(graph.output(*place))
        seen.add(place)
        if not _same(sample.value, codec.decode(codec.encode(0, 0, sample.value))[2]):
            wrong.add(place)

    places = [(n, p.name) for n, spec in graph.participants.items() for p in spec.outputs]
    watch = {place: partial(compare, place) for place in places}
    with bring_up(request) as prepared, InprocRun(prepared, watch=watch) as run:
        run.finish()
    assert seen
    assert not wrong


class Exact(Model):
    traits = Traits(exact_records=True)

    def activate(self, step: Step) -> dict[str, Any]:
        return {}


class Derived(Exact):
    def activate(self, step: Step) -> dict[str, Any]:
        return {"out": 1}


class Keeps(Layer):
    keeps_records = True


def test_neither_a_derived_class_nor_a_layer_is_trusted() -> None:
    model, derived = Exact.__new__(Exact), Derived.__new__(Derived)
    assert gives_exact_records(model)
    assert gives_exact_records(LayeredModel(model, [Keeps()]))
    assert not gives_exact_records(LayeredModel(model, [Keeps(), Layer()]))
    assert not gives_exact_records(derived)


def test_a_run_without_faults_converts_nothing(tmp_path: Path) -> None:
    """The layers that each participant of a run has keep its records."""
    request = RunRequest(ROOT / "config" / "platoon.yaml", shape="inproc", out=tmp_path / "out")
    with bring_up(request) as prepared, InprocRun(prepared) as run:
        models = [runtime.model for runtime in run.runtimes.values()]
        assert len(models) == 7 and all(gives_exact_records(model) for model in models)
