# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The platoon at factor 1 with a plant that is late in 1, 5 and 20 % of its steps.

Each line is one run in shape inproc, followed by its repetition from the arrival record as fast
as possible. ``stream``: which steps are late is drawn (the same on every machine); ``clock``: the
plant really sleeps, and the wall clock decides.

    python bench/realtime_platoon.py [--quick] [--hard] [--by stream clock] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# Run as a file: the project lies beside this directory.
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from ros2_cosim.core.kernel.participant import ModelContext, Step  # noqa: E402
from ros2_cosim.core.kernel.random_streams import RandomStream  # noqa: E402
from ros2_cosim.core.realtime.run_settings import realtime_run  # noqa: E402
from ros2_cosim.core.record.summary import Summary  # noqa: E402
from ros2_cosim.core.run.inproc import run_inproc  # noqa: E402
from ros2_cosim.core.run.replay import prepare_replay  # noqa: E402
from ros2_cosim.core.scenario.schema import Scenario, load_scenario  # noqa: E402
from ros2_cosim.world.carla.scene_settings import WorldParameters  # noqa: E402
from ros2_cosim.world.carla.world import CarlaWorld  # noqa: E402

PLATOON = _HERE.parent / "config" / "platoon.yaml"
SHARES = (0.01, 0.05, 0.2)
#: A result has so long; a late one takes this.
BUDGET, SHORTEST_S, LONGEST_S = "5ms", 0.008, 0.015
ESTIMATE = "[{fields: x, order: 2, adapt: 0.2}, {order: 1}]"
COLUMNS = ("by", "share", "late", "estimates", "longest ms", "missed", "collisions", "same again")


class SleepyParameters(WorldParameters):
    """Those of the world, and the share of its activations that take longer."""

    share: float


class SleepyPlant(CarlaWorld):
    """The model of the runs by ``clock``: a world that takes longer now and then."""

    Parameters = SleepyParameters

    def __init__(self, context: ModelContext, parameters: SleepyParameters) -> None:
        super().__init__(context, parameters)
        self._sleep = RandomStream(context.run_seed, context.name, "sleep")
        self._share = parameters.share

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Take one's time."""
        if self._sleep.bernoulli(self._share):
            time.sleep(self._sleep.uniform_between(SHORTEST_S, LONGEST_S))
        return super().activate(step)


def scenario_of(by: str, share: float, duration: str | None) -> Scenario:
    """The platoon with a late plant and deadlines of its controllers."""
    coupling = f"budget: {BUDGET}, estimate: {ESTIMATE}"
    settings = [f"participants.{n}.overrun={{deadline: 9ms}}" for n in ("cacc1", "cacc2")]
    if by == "stream":
        low, high = round(1e3 * SHORTEST_S), round(1e3 * LONGEST_S)
        delay = f"{{uniform: [{low}ms, {high}ms]}}"
        coupling += f", lateness: {{probability: {share}, delay: {delay}}}"
    else:
        settings.append("participants.world.model=realtime_platoon:SleepyPlant")
        settings.append(f"participants.world.parameters.share={share}")
    if duration is not None:
        settings.append(f"duration={duration}")
    return load_scenario(PLATOON, [*settings, f"participants.world.coupling={{{coupling}}}"])


def measure(by: str, share: float, options: argparse.Namespace) -> dict[str, Any]:
    """One run at the wanted rate and its repetition."""
    scenario = scenario_of(by, share, "2s" if options.quick else None)
    with tempfile.TemporaryDirectory() as directory:
        first, again = Path(directory, "first"), Path(directory, "again")
        first.mkdir()
        again.mkdir()
        realtime = realtime_run(options.rate, hard=options.hard, arrivals=None)
        summary: Summary = run_inproc(scenario, first, record=False, realtime=realtime)
        loaded, arrivals, former = prepare_replay(first)
        replay = realtime_run(None, hard=False, arrivals=arrivals)
        repeated = run_inproc(loaded, again, record=False, realtime=replay)
    found = summary.realtime
    assert found is not None
    coupling = found.couplings["world"]
    controllers = [found.deadlines[name] for name in ("cacc1", "cacc2")]
    return {
        "by": by,
        "share": share,
        "late": coupling.late / coupling.exchanges,
        "estimates": coupling.estimates,
        "longest ms": 1e3 * coupling.longest_lateness_s,
        "missed": sum(deadline.overruns for deadline in controllers),
        "collisions": summary.collisions,
        "same again": former.trace_sha256 == repeated.trace_sha256,
        "repeatable": summary.repeatable,
        "min_gap_m": summary.min_gap_m,
        "jitter_s": max(deadline.jitter.largest_s for deadline in controllers),
        "errors": coupling.errors[:3],
        "hard": found.hard,
    }


def main() -> int:
    """Run all cases, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 s each, for a smoke test")
    parser.add_argument("--hard", action="store_true", help="ask for hard real time")
    parser.add_argument("--rate", type=float, default=1.0, help="real-time factor")
    parser.add_argument("--by", nargs="+", choices=("stream", "clock"), default=["stream", "clock"])
    parser.add_argument("--out", type=Path, help="write JSON, too")
    options = parser.parse_args()
    results = []
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for by in options.by:
        for share in SHARES:
            result = measure(by, share, options)
            results.append(result)
            cells = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in result.values()]
            print("| " + " | ".join(cells[: len(COLUMNS)]) + " |", flush=True)
    if options.hard:
        print(results[-1]["hard"])
    if options.out:
        machine = {"cores": os.cpu_count(), "python": platform.python_version()}
        text = json.dumps({"machine": machine, "results": results}, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0 if all(result["same again"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
