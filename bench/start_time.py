# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether runs that start at 0 and at a late time of ROS's clock are equal except for their stamps.

``python -m bench.start_time`` runs the whole library twice in shape ``inproc``; names choose. Each
message is compared with its times counted from the start; verdicts and figures by the summary.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag, start_of
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.library import NAMES, library_file

PLAIN: Final = "0"
#: No number of seconds, and one that a float cannot hold to the nanosecond.
START: Final = "2023-11-14T22:13:20.123456789Z"
START_NS: Final = 1_700_000_000_123_456_789
#: Of the wall clock.
_MEASURED = {"wall_time_s", "startup_time_s", "rtf", "breakdown", "participants"}


def run_at(scenario: Path, start: str, out: Path, *changes: str, **options: Any) -> None:
    """Run a scenario in shape ``inproc`` from a time of ROS's clock on."""
    changed = (*changes, f"start_time={start}")
    run_request(RunRequest(scenario, set=changed, shape="inproc", out=out, **options))


def differences(
    scenario: Path, directory: Path, *changes: str, later: tuple[str, ...] = ()
) -> list[str]:
    """Run a scenario at 0 and at ``START``; what is different, in words.

    :param directory: gets both runs
    :param later: further changes of the second run
    """
    first, second = directory / "first", directory / "second"
    run_at(scenario, PLAIN, first, *changes)
    run_at(scenario, START, second, *changes, *later)
    one, other = (json.loads((run / "summary.json").read_text()) for run in (first, second))
    found = []
    if one.pop("trace_sha256") == other.pop("trace_sha256"):
        found.append("the traces are equal")
    found += [key for key in one.keys() | other.keys() - _MEASURED
              if key not in _MEASURED and one.get(key) != other.get(key)]  # fmt: skip
    activations = [(run / "activations.json").read_bytes() for run in (first, second)]
    if activations[0] != activations[1]:
        found.append("activations")
    topics = {topic for topic, pair in _messages(first, second) if pair[0] != pair[1]}
    return sorted(found) + sorted(topics)


def _messages(first: Path, second: Path) -> Any:
    """(topic, [message of the first run, that of the second]), as if both had begun at 0."""
    bags = [run / "bag" for run in (first, second)]
    starts = [start_of(bag) for bag in bags]
    codecs: dict[tuple[str, int], Any] = {}
    for pair in zip_longest(*map(read_bag, bags)):
        decoded = []
        for message, start in zip(pair, starts, strict=True):
            if message is None:
                decoded.append(None)
                continue
            key = message.type_name, start
            if key not in codecs:
                codecs[key] = CATALOGUE.codec(message.type_name, start_ns=start)
            stamp, seq, value = codecs[key].decode(message.data)
            plain = codecs.setdefault((message.type_name, 0), CATALOGUE.codec(message.type_name))
            data = plain.encode(stamp if plain.has_stamp else 0, seq or 0, value)
            decoded.append((message.topic, message.stamp, data))
        yield (pair[0] or pair[1]).topic, decoded


def main(words: list[str]) -> int:
    """Compare scenarios; the exit code is 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of the library; default: all")
    parser.add_argument("--duration", help="of each; default: its own")
    options = parser.parse_args(words)
    changes = [f"duration={options.duration}"] if options.duration else []
    wrong = False
    for name in options.names or NAMES:
        with TemporaryDirectory() as directory:
            found = differences(library_file(name), Path(directory), *changes)
        print(f"{name}: {', '.join(found) or 'equal'}", flush=True)
        wrong = wrong or bool(found)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
