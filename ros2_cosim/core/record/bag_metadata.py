# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a bag says of itself: its topics, its files, and ``metadata.yaml`` as rosbag2 has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.messages.protocol import HISTORY_DEPTH
from ros2_cosim.core.record.mcap import McapWriter

#: The bag of a run, in its output directory.
BAG: Final = "bag"
METADATA_FILE: Final = "metadata.yaml"
LIBRARY: Final = "ros2_cosim"
#: Key of the whole scenario in the metadata record of a storage file. It is not in the metadata
#: file: that of a fleet is larger than what readers of YAML take.
SCENARIO_KEY: Final = "scenario_json"
#: Key of the start of the run, as ROS counts [ns]; 0 where it lacks.
START_KEY: Final = "start_time_ns"
#: Key of the hash of the trace in the metadata of a bag whose run is complete.
TRACE_KEY: Final = "trace_sha256"
#: Behind the name of a bag, in the name of its first storage file.
_FIRST = "_0.mcap"
_FOREVER = {"sec": 9223372036, "nsec": 854775807}


class Qos(NamedTuple):
    """The offered quality of service that a bag states for a topic; by default that of a run."""

    depth: int = HISTORY_DEPTH
    reliable: bool = True
    transient_local: bool = False


class BagTopic(NamedTuple):
    """A topic to record."""

    name: str
    type_name: str
    qos: Qos = Qos()


class StoredTopic(NamedTuple):
    """A topic as it is in the file: the number of its channel, and the hash of its type."""

    channel: int
    topic: BagTopic
    type_hash: str


class FileFacts(NamedTuple):
    """What is in one storage file: stamps [ns] of the first and the last message, and channel ->
    messages; ``first`` is None where there are none.
    """

    first: int | None
    last: int
    counts: Mapping[int, int]


def file_facts(mcap: McapWriter) -> FileFacts:
    """What the whole chunks of a file hold."""
    return FileFacts(mcap.first_stamp, mcap.last_stamp, dict(mcap.counts))


def mcap_path(bag: Path, number: int = 0) -> Path:
    """A storage file of a bag, counted from 0, named as rosbag2 would.

    Where the directory was renamed since, the file still has the former name.
    """
    name = bag.name
    if not (bag / f"{name}{_FIRST}").is_file():
        others = [path.name.removesuffix(_FIRST) for path in bag.glob(f"*{_FIRST}")]
        name = others[0] if len(others) == 1 else name
    return bag / f"{name}_{number}.mcap"


def finish_file(
    path: Path,
    mcap: McapWriter,
    topics: Sequence[StoredTopic],
    custom_data: Mapping[str, str],
) -> None:
    """Write the index behind the chunks of a storage file, and metadata as if it were alone.

    :param topics: all topics, in the order of their channels
    :raises OSError: there is no room for them
    """
    information = _information({path.name: file_facts(mcap)}, topics, custom_data)
    mcap.finish({"rosbag2": {"serialized_metadata": to_yaml(information)}})


def write_metadata(
    bag: Path,
    files: Sequence[FileFacts],
    topics: Sequence[StoredTopic],
    custom_data: Mapping[str, str],
) -> None:
    """Write the metadata file of a bag.

    :param files: at least one; only one that is alone may be empty
    :param topics: all topics, in the order of their channels
    :raises OSError: there is no room for it
    """
    named = {mcap_path(bag, number).name: facts for number, facts in enumerate(files)}
    information = _information(named, topics, custom_data)
    text = to_yaml({"rosbag2_bagfile_information": information})
    write_atomically(bag / METADATA_FILE, text)


def _information(
    files: Mapping[str, FileFacts],
    topics: Sequence[StoredTopic],
    custom_data: Mapping[str, str],
) -> dict[str, Any]:
    """The content of the metadata file, as rosbag2 has it."""
    every = list(files.values())
    counts: Counter[int] = Counter()
    for facts in every:
        counts.update(facts.counts)
    return {
        "version": 9,
        "storage_identifier": "mcap",
        **_extent(every[0].first, every[-1].last, sum(counts.values())),
        "topics_with_message_count": [
            {
                "topic_metadata": {
                    "name": topic.name,
                    "type": topic.type_name,
                    "serialization_format": "cdr",
                    "offered_qos_profiles": [qos_profile(topic.qos)],
                    "type_description_hash": type_hash,
                },
                "message_count": counts[channel],
            }
            for channel, topic, type_hash in topics
        ],
        # Chunks are compressed by the storage format, of which rosbag2's keys do not tell.
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": list(files),
        "files": [
            {"path": name} | _file_extent(facts, sum(facts.counts.values()))
            for name, facts in files.items()
        ],
        "custom_data": dict(sorted(custom_data.items())) or None,
        "ros_distro": "jazzy",
    }


def _extent(first: int | None, last: int, count: int) -> dict[str, Any]:
    return {
        "duration": {"nanoseconds": last - first if first is not None else 0},
        "starting_time": {"nanoseconds_since_epoch": first if first is not None else 2**63 - 1},
        "message_count": count,
    }


def _file_extent(facts: FileFacts, count: int) -> dict[str, Any]:
    extent = _extent(facts.first, facts.last, count)
    return {key: extent[key] for key in ("starting_time", "duration", "message_count")}


def qos_profile(qos: Qos) -> dict[str, Any]:
    """A quality of service, as rosbag2 writes it."""
    return {
        "history": "keep_last",
        "depth": qos.depth,
        "reliability": "reliable" if qos.reliable else "best_effort",
        "durability": "transient_local" if qos.transient_local else "volatile",
        "deadline": _FOREVER,
        "lifespan": _FOREVER,
        "liveliness": "automatic",
        "liveliness_lease_duration": _FOREVER,
        "avoid_ros_namespace_conventions": False,
    }


@lru_cache(maxsize=64)
def offered_profiles(qos: Qos) -> str:
    """What a topic offers, as YAML: many topics of a run offer the same."""
    return to_yaml([qos_profile(qos)])


class _PlainDumper(yaml.CSafeDumper):
    """YAML without anchors: equal parts are written out each time."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def to_yaml(content: Any) -> str:
    """Plain data as YAML, each part written out."""
    return yaml.dump(content, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
