# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a study leaves behind: ``study.json`` with every run, ``tracks.json`` with the tracks."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import ros2_cosim
from ros2_cosim.core.documents.files import in_words, write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import format_ns

STUDY_FILE = "study.json"
TRACKS_FILE = "tracks.json"


#: In the order in which they are listed.
PURPOSES = ("synchronised", "stepped", "repetition", "sweep", "beyond")


class RunKey(NamedTuple):
    """The identity of a run within its study; the fields are those of :class:`StudyRun`."""

    mode: str
    purpose: str
    factor: float | None
    repetition: int
    step_ns: int | None = None

    @property
    def setting(self) -> str:
        """What is varied: the factor, or the step width."""
        if self.step_ns is not None:
            return f"{format_ns(self.step_ns)} steps"
        # Exactly, so that no two have the same.
        return "max" if self.factor is None else repr(self.factor).removesuffix(".0")

    @property
    def label(self) -> str:
        """The run in a few words."""
        text = f"{self.mode} {self.setting}"
        return f"{text}, {self.purpose} {self.repetition}" if self.repetition else text

    @property
    def place(self) -> tuple[int, float, int, int, bool]:
        """Sorts the runs as they are listed, whichever was done first."""
        return (
            PURPOSES.index(self.purpose),
            self.factor or 0.0,
            self.step_ns or 0,
            self.repetition,
            self.mode == "HDE",
        )


@dataclass(frozen=True)
class StudyRun:
    """One run.

    ``mode`` is HDE (synchronised), TSS (time-stepped synchronisation, ``step_ns`` wide) or PRT
    (paced real time, not synchronised), ``purpose`` one of ``PURPOSES``. ``factor`` is the wanted
    real-time factor (None: as fast as possible), ``rtf`` the one reached. ``messages`` counts
    each message once per reader, as ``timing``, ``order`` and ``loss`` do; ``tied`` of those out of
    order had the stamp of the message before them; ``wrong`` of the
    ``activations`` of a PRT or TSS run were given other messages than in the synchronised run.
    ``load`` is what the machine did when the run began (processes that want to run, mean of a
    minute), ``beside`` the largest sum of the factors of other runs of the study at one time
    during this one, ``starts`` how many of them came up meanwhile. ``track`` holds ``times`` [s]
    and ``way`` [m] of the ego vehicle.
    """

    mode: str
    purpose: str
    repetition: int
    factor: float | None
    timing: int
    order: int
    loss: int
    messages: int
    rtf: float
    wall_time_s: float
    trace_sha256: str
    late: int = 0
    early: int = 0
    wrong: int = 0
    tied: int = 0
    activations: int = 0
    max_lag_s: float | None = None
    kept_up: bool = True
    load: float | None = None
    beside: float = 0.0
    starts: int = 0
    readers: dict[str, dict[str, int]] = field(default_factory=dict)
    track: dict[str, list[float]] = field(default_factory=dict)
    step_ns: int | None = None

    def share(self, count: int) -> float:
        """A count as share of the messages."""
        return count / self.messages if self.messages else 0.0

    @property
    def wrong_share(self) -> float:
        """The activations that were given other messages, as share of all."""
        return self.wrong / self.activations if self.activations else 0.0

    @property
    def violations(self) -> int:
        """All violations together."""
        return self.timing + self.order + self.loss

    @property
    def key(self) -> RunKey:
        """What run it is."""
        return RunKey(self.mode, self.purpose, self.factor, self.repetition, self.step_ns)


@dataclass
class Study:
    """All runs of a study, in the order in which they are listed.

    ``together`` is the largest sum of the factors of runs under way at once (0: one after the
    other), ``reference_sha256`` the trace of the sequential reference of the kernel (shape
    ``inproc``).
    """

    scenario: str
    seed: int
    duration_s: float
    runs: list[StudyRun] = field(default_factory=list)
    complete: bool = False
    reference_sha256: str = ""
    together: float = 0.0

    def add(self, run: StudyRun) -> None:
        """Put a run in its place; the same run of an earlier attempt is replaced."""
        self.runs = [other for other in self.runs if other.key != run.key]
        self.runs.append(run)
        self.runs.sort(key=lambda run: run.key.place)

    def broke_at(self, mode: str) -> float | None:
        """The first factor that the runs of a mode did not keep up with."""
        return min(
            (run.factor for run in self.sweep(mode) if run.factor and not run.kept_up),
            default=None,
        )

    @property
    def hde_is_clean(self) -> bool:
        """Whether the synchronised runs have no violation and the trace of the reference."""
        return all(
            run.violations == 0 and run.trace_sha256 == self.reference_sha256 for run in self.hde
        )

    @property
    def hde(self) -> list[StudyRun]:
        """The synchronised runs, those as fast as possible first."""
        return [run for run in self.runs if run.mode == "HDE"]

    @property
    def unpaced(self) -> list[StudyRun]:
        """The synchronised runs as fast as possible."""
        return [run for run in self.runs if run.purpose == "synchronised"]

    @property
    def stepped(self) -> list[StudyRun]:
        """The runs with time-stepped synchronisation, by step width."""
        return [run for run in self.runs if run.purpose == "stepped"]

    @property
    def repetitions(self) -> list[StudyRun]:
        """The runs without synchronisation at one factor."""
        return [run for run in self.runs if run.purpose == "repetition"]

    def sweep(self, mode: str) -> list[StudyRun]:
        """The runs of a mode over the factor, those beyond the last one included."""
        return [run for run in self.runs if run.mode == mode and run.purpose in ("sweep", "beyond")]

    def save(self, output: Path) -> None:
        """Write both files; each is replaced in one go."""
        runs: list[dict[str, Any]] = []
        tracks = []
        for run in self.runs:
            entry = asdict(run)
            tracks.append(entry.pop("track"))
            entry["share"] = run.share(run.violations)
            runs.append(entry)
        content = {
            "study": "causality",
            "scenario": self.scenario,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "complete": self.complete,
            "broke_at": self.broke_at("PRT"),
            "hde_broke_at": self.broke_at("HDE"),
            "together": self.together,
            "reference_trace_sha256": self.reference_sha256,
            "versions": {"ros2_cosim": ros2_cosim.__version__, "python": platform.python_version()},
            "processors": os.cpu_count(),
            "runs": runs,
        }
        write_atomically(output / TRACKS_FILE, json.dumps(tracks, allow_nan=False) + "\n")
        text = json.dumps(content, allow_nan=False, indent=1)
        write_atomically(output / STUDY_FILE, text + "\n")


def read_study(output: Path) -> Study:
    """Read a study again, for its report.

    :raises ConfigurationError: a file is missing, or not of a study
    """
    try:
        content = read_record(output / STUDY_FILE)
        tracks = read_record(output / TRACKS_FILE)
        runs = []
        for entry, track in zip(content["runs"], tracks, strict=True):
            entry.pop("share")
            runs.append(StudyRun(**entry, track=track))
        return Study(
            content["scenario"],
            content["seed"],
            content["duration_s"],
            runs,
            content["complete"],
            content["reference_trace_sha256"],
            # Not there in studies that ran one after the other only.
            content.get("together", 0.0),
        )
    except OSError as error:
        raise ConfigurationError(in_words(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{output}: not the output of a study ({error!r})") from None
