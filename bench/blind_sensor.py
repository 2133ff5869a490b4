# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""No contact while an object sensor is blind: all scenarios of the library x kinds x drawn times.

``python -m bench.blind_sensor --seeds 5 --out FILE`` runs each combination that FILE does not have
yet and prints a table of all of them; it ends with code 1 if there was a contact that could be
avoided, or a brake of minimal risk while V2V told of the vehicle ahead. With ``--seconds`` it
stops in time: call it again to go on.

Each seed draws which follower is blind, from when, and for 1 to 5 s. A run ends 8 s after that.

A contact is one that no controller avoids if :func:`least_gap` says so: the vehicle ahead brakes
while nothing reports it (no list, no V2V), and when the follower finds out, its brakes are too
weak.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

from bench.combinations import parser_of, rows_of
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.messages.records import CONTROLLER_MODES
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.library import NAMES, library_file
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

#: How the list of objects of follower N is lost.
KINDS: Final = {
    "empty": "port: sensorN.objects, kind: replace, field: objects, value: []",
    "silent": "port: caccN.objects, kind: drop",
    "frozen": "port: sensorN.objects, side: output, kind: freeze",
}
#: Scenarios that have a CACC controller.
SCENARIOS: Final = tuple(name for name in NAMES if name != "car_following")
#: What follows the blindness [s].
AFTER: Final = 8.0
V2V_TIMEOUT_NS: Final = 250_000_000
#: Hardest deceleration of a follower, as the controller limits it [m/s^2].
FULL: Final = 8.0
#: Deceleration at which a vehicle counts as braking [m/s^2].
BRAKES: Final = 1.0
#: From what the follower knows to its full brake [s]: period of the sensor, control step, brake.
REACTION: Final = 0.2
_MINIMAL_RISK: Final = CONTROLLER_MODES.index("minimal_risk")


@dataclass(frozen=True)
class Combination:
    """One run."""

    scenario: str
    kind: str
    seed: int


@dataclass(frozen=True)
class Blindness:
    """Whose sensor is blind, and when [s]."""

    follower: int
    begin: float
    end: float


def blindness_of(chosen: Combination, scenario: Scenario) -> Blindness:
    """The draw of a combination: uniform in the time that the scenario lasts."""
    draws = random.Random(f"blind {chosen.scenario} {chosen.kind} {chosen.seed}")
    assert scenario.scene is not None
    follower = draws.randrange(1, len(scenario.scene["platoon"]))
    length = draws.uniform(1.0, 5.0)
    begin = draws.uniform(1.0, scenario.duration * 1e-9 - length)
    return Blindness(follower, round(begin, 3), round(begin + length, 3))


def prepared(chosen: Combination) -> tuple[Scenario, Blindness]:
    """The scenario with the fault of a combination."""
    file = library_file(chosen.scenario)
    whole = load_scenario(file)
    blind = blindness_of(chosen, whole)
    fault = KINDS[chosen.kind].replace("N", str(blind.follower))
    until = min(whole.duration * 1e-9, blind.end + AFTER)
    changes = [
        f"seed={chosen.seed}",
        f"duration={until:.3f}s",
        "platoon.status=true",
        f"faults={{blind: {{{fault}, from: {blind.begin}s, until: {blind.end}s}}}}",
    ]
    return load_scenario(file, changes), blind


def least_gap(
    gap: float, speed: float, ahead: float, braking: float, knows: float, full: float = FULL
) -> float:
    """The smallest gap that remains if a follower brakes as hard as it can once it knows [m].

    The vehicle ahead brakes from now on to a standstill; the follower keeps its speed until it
    knows, then brakes fully. The gap is a parabola between the times at which one of them changes
    its deceleration, so that its least value is at one of these times or at equal speeds.

    :param gap: now [m]
    :param speed: of the follower now [m/s]
    :param ahead: of the vehicle ahead now [m/s]
    :param braking: deceleration of the vehicle ahead, above 0 [m/s^2]
    :param knows: when the follower begins to brake [s from now]
    :param full: its deceleration then [m/s^2]
    """
    stands, stops = ahead / braking, knows + speed / full
    times = [0.0, knows, stands, stops]
    if full != braking:
        times.append((speed + full * knows - ahead) / (full - braking))  # both brake
    times.append((ahead - speed) / braking)  # the follower does not know yet

    def at(time: float) -> float:
        t, own = min(time, stands), max(0.0, min(time, stops) - knows)
        ahead_by = ahead * t - 0.5 * braking * t * t
        return gap + ahead_by - speed * min(time, stops) + 0.5 * full * own * own

    return min(at(time) for time in times if time >= 0.0)


def run(chosen: Combination) -> dict[str, Any]:
    """Run a combination: contacts, smallest gap, and braking with minimal risk for no reason."""
    scenario, blind = prepared(chosen)
    assert scenario.scene is not None
    ahead, follower = scenario.scene["platoon"][blind.follower - 1 : blind.follower + 1]
    controller = f"cacc{blind.follower}"
    #: Sender and time of the newest message of the vehicle ahead; which object was ahead.
    heard = [-1, -V2V_TIMEOUT_NS]
    near = [-2]
    modes: dict[str, int] = defaultdict(int)
    needless = [0]
    #: When the vehicle ahead began to brake in the blindness [s], and all that counts then.
    onset: list[float] = []
    state = {"gap": math.nan, "speed": math.nan, "ahead": math.nan, "braking": 0.0}
    #: When something told of the braking [s].
    told = [blind.end]

    def keep_speed(sample: Sample) -> None:
        if not onset:
            state["speed"] = sample.value.vx

    def keep_ahead(sample: Sample) -> None:
        if not onset:
            state["ahead"] = sample.value.vx

    def keep_braking(sample: Sample) -> None:
        now, braking = sample.stamp * 1e-9, -sample.value.ax
        if braking > BRAKES and blind.begin <= now < blind.end:
            if not onset:
                onset.append(now)
            state["braking"] = max(state["braking"], braking)

    def keep_gap(sample: Sample) -> None:
        if not onset:
            state["gap"] = sample.value.gaps[blind.follower - 1]

    def keep_heard(sample: Sample) -> None:
        heard[:] = sample.value.sender, sample.value.generation_time
        if onset and heard[1] * 1e-9 >= onset[0]:
            told[0] = min(told[0], sample.stamp * 1e-9)

    def keep_seen(sample: Sample) -> None:
        if sample.stamp < blind.begin * 1e9:
            lane = [item for item in sample.value.objects if abs(item.lateral_offset) <= 1.75]
            near[0] = min(lane, key=lambda item: item.distance).id if lane else -2

    def keep_mode(sample: Sample) -> None:
        modes[CONTROLLER_MODES[sample.value.mode]] += 1
        fresh = sample.stamp - heard[1] <= V2V_TIMEOUT_NS and near[0] == heard[0]
        risk = sample.value.mode == _MINIMAL_RISK
        needless[0] += risk and fresh
        if risk:  # it brakes for whatever may be there
            told[0] = min(told[0], sample.stamp * 1e-9)

    watch = {
        (f"sensor{blind.follower}", "objects"): keep_seen,
        (controller, "status"): keep_mode,
        ("world", f"odometry/{follower}"): keep_speed,
        ("world", f"odometry/{ahead}"): keep_ahead,
        ("world", f"acceleration/{ahead}"): keep_braking,
        ("referee", "status"): keep_gap,
    }
    link = f"{ahead}_to_{follower}"
    if link in scenario.outputs_of("v2v"):
        watch["v2v", link] = keep_heard
    with tempfile.TemporaryDirectory() as directory:
        request = RunRequest(scenario, shape="inproc", out=Path(directory) / "run", record=False)
        with bring_up(request) as ready, InprocRun(ready, watch=watch) as under_way:
            summary = under_way.finish()
    least = math.inf
    if onset:
        least = least_gap(
            state["gap"], state["speed"], state["ahead"], state["braking"],
            max(0.0, told[0] - onset[0]) + REACTION,
        )  # fmt: skip
    gap = next((v for v in summary.verdicts if v.name == "min_gap_m"), None)
    return {
        **asdict(chosen),
        **asdict(blind),
        "name": follower,
        "contacts": summary.collisions or 0,
        "gap": summary.min_gap_m,
        "pair": None if gap is None else gap.pair,
        "at": None if gap is None else gap.time_s,
        "least": None if math.isinf(least) else least,
        "needless": needless[0],
        "modes": dict(modes),
    }


def all_of(scenarios: list[str], seeds: int) -> Iterator[Combination]:
    """All combinations; seed after seed, so that a part of them says something of all."""
    for seed, name, kind in product(range(1, seeds + 1), scenarios, KINDS):
        yield Combination(name, kind, seed)


def is_avoidable(row: dict[str, Any]) -> bool:
    """Whether a contact of a run could have been avoided."""
    return bool(row["contacts"]) and (row["least"] is None or row["least"] > 0.0)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of a Markdown table: one for each scenario."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["scenario"]].append(row)
    lines = [
        "| Scenario | Runs | Contact | Avoidable | Smallest gap [m] | Needless brake |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, some in sorted(groups.items()):
        contacts = sum(bool(row["contacts"]) for row in some)
        gap = min(row["gap"] for row in some if row["gap"] is not None)
        needless = sum(bool(row["needless"]) for row in some)
        avoidable = sum(map(is_avoidable, some))
        lines.append(
            f"| `{name}` | {len(some)} | {contacts} | {avoidable} | {gap:.2f} | {needless} |"
        )
    return lines


def main() -> int:
    """Run what is left, and print the table."""
    parser = parser_of(__doc__, 5)
    parser.add_argument("--scenarios", nargs="*", default=list(SCENARIOS), choices=SCENARIOS)
    options = parser.parse_args()
    rows = rows_of(
        all_of(options.scenarios, options.seeds),
        run,
        lambda row: bool(row["contacts"] or row["needless"]),
        options,
    )
    print("\n".join(table(rows)))
    bad = [row for row in rows if is_avoidable(row) or row["needless"]]
    print(f"{len(rows)} runs, {len(bad)} with a contact that is avoidable or a needless brake")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
