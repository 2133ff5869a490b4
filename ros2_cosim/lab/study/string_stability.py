# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Study of string stability: how a disturbance of the leader passes down a platoon.

For each setting (law, time gap, loss) and each seed the platoon of a scenario is run twice, in
shape inproc: behind a leader whose speed is a sum of sines, which gives the gain of each pair of
vehicles over frequency and the ratio of the energies (L2); and behind one that brakes, which
gives the ratio of the peaks. The smallest string-stable time gap is found by bisection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.message_types import COLLISION
from ros2_cosim.core.scenario.composition import read_whole
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.driving.controllers.law_loop import (
    CONTROLLER,
    LONGEST,
    LawInUse,
    controllers_of,
    declares,
    law_in_use,
)
from ros2_cosim.driving.controllers.theory import linearised, smallest_time_gap, transfer
from ros2_cosim.lab.study.watched import Watched, run_watched

Numbers = NDArray[np.float64]
RESULT_FILE: Final = "string_stability.json"
#: What the study changes beside the controller, by the parameters that a model declares: of a V2V
#: channel, of a referee, and the noise of a sensor.
V2V: Final = ("links", "loss")
REFEREE: Final = ("expect_standstill", "time_limit")
NOISE: Final = ("distance_noise", "speed_noise", "lateral_noise")
#: The leader's sines: multiples of one per period [s], the period, and how long the platoon
#: settles before it is measured [s]: start-up transients have died out by then.
HARMONICS: Final = (1, 2, 3, 4, 6, 9, 13, 20)
PERIOD_S: Final = 40.0
SETTLE_S: Final = 20.0
#: Of the acceleration of each sine [m/s^2]: all together below what a limit would clip.
AMPLITUDE: Final = 0.15
#: The braking: from this time on [s], with this deceleration [m/s^2], by this speed [m/s].
BRAKE_AT_S: Final = 5.0
BRAKE: Final = 3.0
BRAKE_BY: Final = 9.0
BRAKE_RUN_S: Final = 30.0
#: Slower platoons cannot make these manoeuvres [m/s].
LEAST_SPEED: Final = 12.0
#: A gain counts as growth if it is above 1 by more: what pedals, tyres and steps leave over.
TOLERANCE: Final = 5e-3
#: Noise and distortion at a sine are what is at so many frequencies near it that are not excited.
NOISE_LINES: Final = 4
#: A gain is reported where they are at most this share of the amplitude of the vehicle ahead.
LARGEST_NOISE: Final = 0.1
#: Lower limit and end of the bisection [s].
SHORTEST, RESOLUTION = 0.1, 0.02
#: No vehicle starts nearer to the begin of the road [m].
ROOM_M: Final = 10.0
#: Student's t for 95 %, two-sided, by degrees of freedom from 1; beyond, that of the normal
#: distribution.
_STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL: Final = 1.960


@dataclass(frozen=True)
class Setting:
    """What is changed in the scenario; None leaves a thing unchanged."""

    law: str | None = None
    time_gap: float | None = None
    loss: float | None = None


@dataclass(frozen=True)
class StabilityOptions:
    """What is studied: each combination of ``laws``, ``time_gaps`` and ``losses``."""

    scenario: Path
    output: Path
    laws: tuple[str, ...] = ()
    vehicles: int | None = None
    time_gaps: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    seeds: int = 3
    changes: tuple[str, ...] = ()
    bisect: bool = True

    def settings(self) -> list[Setting]:
        """All combinations, in order."""
        return [
            Setting(law, time_gap, loss)
            for law in self.laws or (None,)
            for time_gap in self.time_gaps or (None,)
            for loss in self.losses or (None,)
        ]


class Measured(NamedTuple):
    """One seed: gain and share of noise over frequency, L2 and peak ratio, of each pair.

    :ivar contacts: how often vehicles began to touch in its runs
    """

    gain: list[list[float]]
    noise: list[list[float]]
    l2: list[float]
    peak: list[float]
    contacts: int


def run_string_stability(
    options: StabilityOptions, *, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Run the study and write its result.

    :param tell: called with a line on what is under way
    :returns: the content of the result file
    :raises CosimError: the scenario is wrong or not suited, or a run failed
    """
    if options.seeds < 1:
        raise ConfigurationError(f"--seeds: found {options.seeds}; allowed is 1 or more")
    for name, values, least in (
        ("--time-gap", options.time_gaps, 1e-9),
        ("--loss", options.losses, 0.0),
    ):
        for value in values:
            if not least <= value <= (1.0 if name == "--loss" else 60.0):
                raise ConfigurationError(f"{name}: found {value:g}; allowed is {_ALLOWED[name]}")
    base = _platoon(options)
    results = []
    for setting in options.settings():
        used = _changed(base, setting, 1, [], 1.0)[1]
        runs = "1 seed" if options.seeds == 1 else f"{options.seeds} seeds"
        tell(f"{used.law}, time gap {used.following.time_gap:g} s: {runs}")
        results.append(_study(base, setting, options, tell))
    found = {**results[0], "settings": results}
    options.output.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output / RESULT_FILE, json.dumps(found, indent=1) + "\n")
    return found


_ALLOWED: Final = {"--time-gap": "a time above 0 s, up to 60 s", "--loss": "a share from 0 to 1"}


def _study(
    base: Scenario,
    setting: Setting,
    options: StabilityOptions,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    seeds = [base.seed + i for i in range(options.seeds)]
    runs = [_measure(base, setting, seed) for seed in seeds]
    changed, used = _changed(base, setting, 1, [], 1.0)
    pairs = len(runs[0].l2)
    contacts = sum(run.contacts for run in runs)
    names = base.scene["platoon"]
    told = [_told([run.noise[i] for run in runs]) for i in range(pairs)]
    worst = [[max(run.gain[i][f] for f in told[i]) for run in runs] if told[i] else []
             for i in range(pairs)]  # fmt: skip
    gains, gain_ci = _statistics(worst)
    l2, l2_ci = _statistics([[run.l2[i] for run in runs] for i in range(pairs)])
    peak, peak_ci = _statistics([[run.peak[i] for run in runs] for i in range(pairs)])
    smallest = None
    if options.bisect:
        tell(f"{used.law}: smallest time gap")
        smallest = _smallest(base, setting)
    return {
        "scenario": base.name,
        "law": used.law,
        "law_parameters": dict(used.law_parameters),
        "vehicles": len(names),
        "time_gap_s": used.following.time_gap,
        "loss": _loss(changed),
        "seeds": seeds,
        "pairs": [f"{a} to {b}" for a, b in zip(names, names[1:], strict=False)],
        "frequency_hz": [k / PERIOD_S for k in HARMONICS],
        "gain_over_frequency": [
            [
                fmean([run.gain[i][f] for run in runs]) if f in told[i] else None
                for f in range(len(HARMONICS))
            ]
            for i in range(pairs)
        ],
        "gain": gains,
        "l2": l2,
        "peak": peak,
        "min_time_gap_s": smallest,
        "ci": {"level": 0.95, "gain": gain_ci, "l2": l2_ci, "peak": peak_ci},
        "contacts": contacts,
        # A disturbance that ends in a crash has grown, whatever the speeds say.
        "string_stable": False if contacts else string_stable(gains, gain_ci),
        "theory": _theory(used),
    }


def _told(noise: Sequence[Sequence[float]]) -> list[int]:
    """The frequencies, as indices, at which the vehicle ahead moves enough in each run."""
    return [f for f, shares in enumerate(zip(*noise, strict=True)) if max(shares) <= LARGEST_NOISE]


def string_stable(
    gains: Sequence[float | None], intervals: Sequence[Sequence[float] | None]
) -> bool | None:
    """Whether no disturbance grows; None: the runs do not determine it.

    :param gains: the largest of each pair of vehicles; None: the one ahead moves too little
    :param intervals: of confidence, None for one seed
    """
    answers: set[bool | None] = set()
    for gain, interval in zip(gains, intervals, strict=True):
        if gain is None:
            answers.add(None)
            continue
        low, high = interval or (gain, gain)
        grows = low > 1.0 + TOLERANCE
        answers.add(not grows if grows or high <= 1.0 + TOLERANCE else None)
    if False in answers:
        return False
    return None if None in answers else True


def _platoon(options: StabilityOptions) -> Scenario:
    """The scenario that the runs are made from."""
    path = options.scenario
    changes = list(options.changes)
    if options.vehicles is not None:
        if options.vehicles < 2:
            raise ConfigurationError(f"--vehicles: found {options.vehicles}; allowed is 2 or more")
        if "platoon" in read_whole(path):
            changes.append(f"platoon.vehicles={options.vehicles}")
    scenario = load_scenario(path, changes)
    names = scenario.scene.get("platoon") or []
    vehicles = scenario.scene.get("vehicles") or {}
    if options.vehicles is not None and len(names) != options.vehicles:
        raise ConfigurationError(
            f"--vehicles: found {options.vehicles}; the scenario {path} has no section 'platoon', "
            f"allowed is the number of its vehicles, {len(names)}"
        )
    if len(names) < 2 or not controllers_of(scenario):
        raise ConfigurationError(
            f"scenario {path}: scene.platoon: found {len(names)} vehicles and "
            f"{len(controllers_of(scenario))} controllers; allowed is a platoon of two or more "
            f"with controllers, whose models have the parameters {', '.join(CONTROLLER)}"
        )
    leader = vehicles[names[0]]
    if leader.get("driver") is None:
        raise ConfigurationError(
            f"scenario {path}: scene.vehicles.{names[0]}.driver: missing; the study gives the "
            "leader its motion"
        )
    speed = float(leader.get("speed") or 0.0)
    if speed < LEAST_SPEED:
        raise ConfigurationError(
            f"scenario {path}: scene.vehicles.{names[0]}.speed: found {speed:g}; allowed is at "
            f"least {LEAST_SPEED:g} m/s"
        )
    return scenario


def _changed(
    base: Scenario, setting: Setting, seed: int, manoeuvre: list[Any], seconds: float
) -> tuple[Scenario, LawInUse]:
    """The scenario of one run, and what the setting comes to."""
    data = base.model_dump(by_alias=True)
    scene = data["scene"]
    scene["roadblock"], scene["objects"] = None, {}
    leader = scene["platoon"][0]
    if setting.time_gap is not None:
        _spread(base, scene, setting.time_gap)
    scene["vehicles"][leader]["driver"] = {"manoeuvre": manoeuvre}
    data["seed"] = seed
    data["duration"] = round(seconds * 1e9)
    for participant in data["participants"].values():
        parameters = participant["parameters"]
        model = participant["model"]
        if declares(model, CONTROLLER):
            if setting.law is not None:
                parameters["law"] = setting.law
                parameters.pop("law_parameters", None)
            if setting.time_gap is not None:
                parameters["time_gap"] = setting.time_gap
        elif declares(model, V2V):
            if setting.loss is not None:
                parameters["loss"] = setting.loss
        elif declares(model, REFEREE):
            parameters["expect_standstill"] = False
            parameters["time_limit"] = format_ns(data["duration"])
    contacts = {"type": COLLISION, "topic": "/collisions", "schedule": "sparse"}
    data["participants"][_world(base)]["outputs"].setdefault("collision", contacts)
    scenario = make_scenario(data, base.name)
    return scenario, law_in_use(scenario, controllers_of(scenario)[0])


def _spread(base: Scenario, scene: dict[str, Any], time_gap: float) -> None:
    """Start the followers with the gaps that the time gap asks for."""
    first = base.participants[controllers_of(base)[0]].parameters
    names, vehicles = scene["platoon"], scene["vehicles"]
    direction = 1.0 if vehicles[names[0]]["s"] >= vehicles[names[1]]["s"] else -1.0
    place = vehicles[names[0]]["s"]
    gap = first.get("standstill_gap", 2.0) + time_gap * _speed(base)
    for ahead, own in zip(names, names[1:], strict=False):
        length = 0.5 * (vehicles[ahead]["length"] + vehicles[own]["length"])
        place -= direction * (gap + length)
        vehicles[own]["s"] = round(place, 6)


def _fits(base: Scenario, time_gap: float) -> bool:
    """Whether the road has room for the platoon behind its leader."""
    scene = base.model_dump(by_alias=True)["scene"]
    _spread(base, scene, time_gap)
    return all(scene["vehicles"][name]["s"] > ROOM_M for name in scene["platoon"])


def _loss(scenario: Scenario) -> Any:
    """Of the V2V channel; None: there is none."""
    for participant in scenario.participants.values():
        if declares(participant.model, V2V):
            return participant.parameters.get("loss", 0.0)
    return None


def _measure(base: Scenario, setting: Setting, seed: int) -> Measured:
    """Both runs of one seed."""
    gain, noise, l2, contacts = _sines(base, setting, seed)
    brake = [
        {"constant": f"{BRAKE_AT_S:f}s"},
        {"ramp": {"speed": _speed(base) - BRAKE_BY, "acceleration": BRAKE}},
    ]
    scenario, _ = _changed(base, setting, seed, brake, BRAKE_RUN_S)
    seen = _run(scenario)
    peaks = [-min(values) for values in seen.accelerations]
    ratios = [b / a for a, b in zip(peaks, peaks[1:], strict=False)]
    return Measured(gain, noise, l2, ratios, contacts + len(seen.contacts))


def _speed(base: Scenario) -> float:
    return float(base.scene["vehicles"][base.scene["platoon"][0]]["speed"])


def _sines(
    base: Scenario, setting: Setting, seed: int
) -> tuple[list[list[float]], list[list[float]], list[float], int]:
    """Gain and noise over frequency, L2 ratio of each pair, behind the sum of sines; contacts."""
    cycles = 1 + math.ceil(SETTLE_S / PERIOD_S)
    multisine = {
        "amplitude": AMPLITUDE,
        "period": f"{PERIOD_S:f}s",
        "harmonics": list(HARMONICS),
        "cycles": cycles,
    }
    scenario, _ = _changed(base, setting, seed, [{"multisine": multisine}], SETTLE_S + PERIOD_S)
    seen = _run(scenario)
    count = round(PERIOD_S / (scenario.participants[_world(base)].period or 1) * 1e9)
    last = np.array([values[-count:] for values in seen.speeds])
    spectra = amplitudes(last)
    excited = spectra[:, list(HARMONICS)]
    noise = np.stack([_noise(spectra, k) for k in HARMONICS], axis=1)
    deviations = last.std(axis=1)
    return (
        _over(excited[1:], excited[:-1]),
        _over(np.maximum(noise[:-1], noise[1:]), excited[:-1]),
        _over(deviations[1:], deviations[:-1]),
        len(seen.contacts),
    )


def _over(above: Numbers, below: Numbers) -> list[Any]:
    """The quotients; infinite where there is nothing to divide by."""
    found = np.divide(above, below, out=np.full_like(above, np.inf), where=below > 0.0)
    return list(found.tolist())


_NOT_EXCITED: Final = [k for k in range(1, HARMONICS[-1] + 5) if k not in HARMONICS]


def _noise(spectra: Numbers, harmonic: int) -> Numbers:
    """Of each vehicle: the mean of the nearest frequencies that are not excited.

    The error that a drift leaves falls with the frequency.
    """
    nearest = sorted(_NOT_EXCITED, key=lambda k: abs(k - harmonic))[:NOISE_LINES]
    near = np.array(sorted(nearest))
    return np.mean(spectra[:, near] * np.maximum(1.0, near / harmonic), axis=1)


def amplitudes(values: Numbers) -> Numbers:
    """Of each row, of the harmonics of its length, by their number."""
    levelled = values - values.mean(axis=-1, keepdims=True)
    return 2.0 / values.shape[-1] * np.abs(np.fft.rfft(levelled))


class _Seen(NamedTuple):
    """What a run shows: of each vehicle, front to rear, and of each contact that begins."""

    speeds: list[list[float]]
    accelerations: list[list[float]]
    contacts: list[float]


def _run(scenario: Scenario) -> _Seen:
    names, world = scenario.scene["platoon"], _world(scenario)
    seen = _Seen([[] for _ in names], [[] for _ in names], [])
    watch: Watched = {(world, "collision"): _keep(seen.contacts, attrgetter("value.impulse"))}
    for i, name in enumerate(names):
        watch[world, f"odometry/{name}"] = _keep(seen.speeds[i], attrgetter("value.vx"))
        watch[world, f"acceleration/{name}"] = _keep(seen.accelerations[i], attrgetter("value.ax"))
    run_watched(scenario, watch)
    return seen


def _world(scenario: Scenario) -> str:
    """The participant that tells where the vehicles are."""
    odometry = f"odometry/{scenario.scene['platoon'][0]}"
    return next(n for n, p in scenario.participants.items() if odometry in p.outputs)


def _keep(values: list[float], field: Callable[[Sample], float]) -> Callable[[Sample], None]:
    return lambda sample: values.append(field(sample))


def _smallest(base: Scenario, setting: Setting) -> float | None:
    """The smallest string-stable time gap [s], by bisection without sensor noise.

    None: it is above ``LONGEST``, or above what the road has room for.
    """
    quiet = base.model_dump(by_alias=True)
    for participant in quiet["participants"].values():
        if declares(participant["model"], NOISE):
            participant["parameters"] |= dict.fromkeys(NOISE, 0.0)
    silent = make_scenario(quiet, base.name)

    def stable(time_gap: float) -> bool:
        changed = replace(setting, time_gap=time_gap)
        gains, noise, _, contacts = _sines(silent, changed, base.seed)
        told = [_told([pair]) for pair in noise]
        largest = [
            max((pair[f] for f in of), default=None) for pair, of in zip(gains, told, strict=True)
        ]
        return not contacts and string_stable(largest, [None] * len(largest)) is True

    low, high = SHORTEST, _changed(base, setting, 1, [], 1.0)[1].following.time_gap
    while not stable(high):
        low, high = high, 2.0 * high
        if high > LONGEST or not _fits(base, high):
            return None
    while high - low > RESOLUTION:
        middle = 0.5 * (low + high)
        if stable(middle):
            high = middle
        else:
            low = middle
    return round(high, 3)


def _theory(used: LawInUse) -> dict[str, Any] | None:
    """What linear theory says, with what surrounds the law; None: the law follows nothing.

    A law that holds its demand for longer than a period is looked at as if it did not.
    """
    linear = linearised(used.make, used.following, used.loop.period)
    if linear is None or linear.gap == linear.rate == linear.forward == 0.0:
        return None
    return {
        "gain_over_frequency": [
            abs(transfer(linear, used.loop, 2.0 * math.pi * k / PERIOD_S)) for k in HARMONICS
        ],
        "min_time_gap_s": smallest_time_gap(used.make, used.loop, used.following, 1e-2, LONGEST),
        "loop": used.loop._asdict(),
    }


def _statistics(
    samples: Sequence[Sequence[float]],
) -> tuple[list[float | None], list[list[float] | None]]:
    """Mean and 95 % confidence interval of each row of ratios, which are never below 0.

    None: no value has no mean, and one has no interval.
    """
    means = [fmean(row) if row else None for row in samples]
    intervals: list[list[float] | None] = []
    for mean, row in zip(means, samples, strict=True):
        n = len(row)
        if mean is None or n < 2:
            intervals.append(None)
            continue
        t = _STUDENT[n - 2] if n - 2 < len(_STUDENT) else _NORMAL
        half = t * stdev(row) / math.sqrt(n)
        intervals.append([max(0.0, mean - half), mean + half])
    return means, intervals
