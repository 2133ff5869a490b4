# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Documents from strangers: each is read, or refused in one line, in bounded time and memory."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from ros2_cosim.core.documents import archives, plain_data
from ros2_cosim.core.documents.archives import opened_archive
from ros2_cosim.core.documents.plain_data import json_value, parse_value, read_mapping
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.building import needed_packages
from ros2_cosim.core.messages.packages import find_packages
from ros2_cosim.core.realtime.arrivals import read_arrivals
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.results import load_activations
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.scenario.messages import offer_messages
from ros2_cosim.dcp.master.cosimulation import load_cosimulation
from ros2_cosim.dcp.slave.fmu_description import read_fmu
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.vds.replay import replay
from ros2_cosim.world.headless.maps import MapLibrary

MERGES = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)
)
ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)
)


def refusal(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_value(text, "--set a")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MERGES, "too large; allowed are 300000 values"),
        (ALIASES, "too large; allowed are 300000 values"),
        ("\n".join(f"k{i}: v" for i in range(300_001)), "too large"),
        ("&a [*a]", "alias 'a' contains itself"),
        ("&a {<<: *a}", "alias 'a' contains itself"),
        ("[" * 100_000, "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("? " * 100_000, "nested too deeply"),
        (" " * 4_000_001, "found 4000001 characters; allowed are 4000000"),
        ("!!bool x", "found 'x', not of type bool"),
        ('!!int ""', "found '', not of type int"),
        ("!!float x", "found 'x', not of type float"),
        ("1:30", "found '1:30', a number to base 60; allowed are a decimal number, as 90s"),
        ("-190:20:30.15", "a number to base 60"),
        ("!!timestamp x", "tag 'tag:yaml.org,2002:timestamp'; allowed are plain values"),
        ("!!set {a}", "tag 'tag:yaml.org,2002:set'"),
        ("!!binary aGk=", "tag 'tag:yaml.org,2002:binary'"),
        ("!!python/object/apply:os.getcwd []", "allowed are plain values"),
        ("!mine x", "found tag '!mine'"),
        ("%TAG ! tag:yaml.org,2002:\n--- !bool x", "not of type bool"),
        ("0x" + "f" * 100_000, "found a number of 100002 characters"),
        ("1:" * 100_000 + "1", "found a number of 200001 characters"),
        ("9" * 5_000, "found a number of 5000 characters"),
        ("!!map [a]", "expected a mapping node"),
        ("{a: 1, a: 2}", "key 'a' appears twice"),
        ("x: *nothing", "undefined alias"),
        ("\0", "control characters are not allowed"),
    ],
)
def test_a_value_that_is_too_large_or_odd_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_what_is_in_bounds_is_read() -> None:
    assert parse_value("!!str 5", "a") == "5"
    assert parse_value("2026-01-31T12:00:00.123456789Z", "a") == "2026-01-31T12:00:00.123456789Z"
    assert parse_value("{a: &x {b: 1}, c: {<<: *x, d: 2}}", "a") == {
        "a": {"b": 1},
        "c": {"b": 1, "d": 2},
    }
    many = "[" + "1," * 90_000 + "]"
    assert len(parse_value(many, "a")) == 90_000
    depth = plain_data._MAXIMUM_DEPTH
    assert parse_value("[" * depth + "]" * depth, "a")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e9", 1e9), ("-2E-3", -2e-3), ("1.5e3", 1.5e3), (".5e+1", 5.0), ("1.0e+3", 1e3), ("7", 7)],
)
def test_numbers_are_those_of_json(text: str, number: float) -> None:
    assert parse_value(text, "a") == number
    assert parse_value(f"[{text}, x{text}, '{text}']", "a") == [number, f"x{text}", text]


@pytest.mark.parametrize("name", ["pipe.yaml", "pipe.json"])
def test_pipes_and_devices_are_not_read(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for path in (tmp_path / name, Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match="pipes and devices are not read"):
            read_mapping(path, "scenario")
    with pytest.raises(DescriptionError, match="pipes and devices are not read"):
        load_cosimulation(tmp_path / name)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_arrivals(tmp_path / name)
    with pytest.raises(DescriptionError, match="pipes and devices are not read"):
        read_description(tmp_path / name)
    with pytest.raises(ConfigurationError, match="pipes and devices are not read"):
        replay(tmp_path / name)
    with pytest.raises(ConfigurationError, match="pipes and devices are not read"):
        MapLibrary([tmp_path / name])


@pytest.mark.parametrize("name", ["msg/A.msg", "package.xml"])
def test_pipes_among_the_definitions_of_messages_are_not_read(tmp_path: Path, name: str) -> None:
    package = tmp_path / "some_msgs"
    (package / "msg").mkdir(parents=True)
    (package / "msg" / "B.msg").write_text("int32 b\n")
    os.mkfifo(package / name)
    with pytest.raises(ConfigurationError, match="pipes and devices are not read"):
        offer_messages(["some_msgs"], tmp_path)
    with pytest.raises(ConfigurationError, match="pipes and devices are not read"):
        for found in find_packages(package, "there"):
            needed_packages(found)


def test_a_file_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_data, "_MAXIMUM_YAML", 1000)
    monkeypatch.setattr(plain_data, "_MAXIMUM_JSON", 1000)
    for name in ("long.yaml", "long.json"):
        (tmp_path / name).write_text(" " * 1001)
        with pytest.raises(ConfigurationError, match="more than 1000 bytes, which is the most"):
            read_mapping(tmp_path / name, "scenario")


def test_a_cosimulation_is_read_by_the_same_reader(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    slaves = "slaves: {a: {model: m:M}}\n"
    path.write_text(slaves + "steps: 5\ntune: {3: {a.gain: 2}}\n")
    assert load_cosimulation(path).tune == {3: {"a.gain": 2}}
    for text, message in (
        (MERGES, "too large"),
        (slaves + "steps: 5\nsteps: 6\n", "key 'steps' appears twice"),
        (slaves + "steps: !!bool x\n", "not of type bool"),
        ("[]", "found list, not a mapping"),
    ):
        path.write_text(text)
        with pytest.raises(DescriptionError, match=message):
            load_cosimulation(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "NaN", "[Infinity]", "", "{"])
def test_odd_json_is_refused_where_programs_wrote_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_value(text)
    for name in ("summary.json", "arrivals.json", "activations.json"):
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match="is not a run summary"):
        read_summary(tmp_path)
    with pytest.raises(ConfigurationError, match="is not an arrival record"):
        read_arrivals(tmp_path / "arrivals.json")
    with pytest.raises(ConfigurationError, match="not a table of activation times"):
        load_activations(tmp_path / "activations.json")


def archive(path: Path, *entries: tuple[str, bytes], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            file.writestr(info, data)
    return path


def refused_archive(path: Path) -> str:
    for read in (read_fmu, read_description):
        with pytest.raises(DescriptionError) as caught:
            read(path)
        assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_archive_that_unpacks_to_far_too_much_is_refused(tmp_path: Path) -> None:
    bomb = archive(tmp_path / "bomb.dcp", ("v1.0/x", bytes(40 << 20)))
    assert bomb.stat().st_size < 100_000
    assert "allowed is the 100-fold" in refused_archive(bomb)


def test_an_archive_with_too_many_files_or_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "a.dcp", *((f"f{i}", b"12") for i in range(11)))
    monkeypatch.setattr(archives, "MAX_ENTRIES", 10)
    assert "found 11 files in the archive; allowed are 10" in refused_archive(path)
    monkeypatch.setattr(archives, "MAX_ENTRIES", 11)
    monkeypatch.setattr(archives, "MAX_BYTES", 21)
    assert "found 22 bytes when unpacked; allowed are 21" in refused_archive(path)


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "a\\x", "C:/x", "a\0b"])
def test_an_archive_with_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "a.dcp", (name, b""))
    assert "in the archive; allowed are paths inside it" in refused_archive(path)


def test_an_archive_with_a_link_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.dcp", ("link", b"/etc/passwd"), mode=0o120777)
    assert "found 'link', which is not an ordinary file" in refused_archive(path)


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dcp")
    assert "no ordinary file" in refused_archive(tmp_path / "pipe.dcp")
    (tmp_path / "text.dcp").write_text("no archive")
    assert "no readable zip archive" in refused_archive(tmp_path / "text.dcp")
    good = archive(tmp_path / "good.dcp", ("v1.0/x", b"1" * 100), ("v1.0/", b""))
    with opened_archive(good, DescriptionError) as opened:
        assert opened.read("v1.0/x") == b"1" * 100
    damaged = bytearray(good.read_bytes())
    damaged[40] ^= 0xFF
    (tmp_path / "damaged.dcp").write_bytes(damaged)
    with (
        pytest.raises(DescriptionError, match=r"damaged\.dcp"),
        opened_archive(tmp_path / "damaged.dcp", DescriptionError) as opened,
    ):
        opened.read("v1.0/x")


def test_metadata_of_a_bag_is_read_in_bounds(tmp_path: Path) -> None:
    (tmp_path / "metadata.yaml").write_text(MERGES)
    with pytest.raises(ConfigurationError, match=r"metadata\.yaml: not readable: too large"):
        next(read_bag(tmp_path))


def test_a_summary_with_numbers_beyond_all_charts_is_no_traceback(tmp_path: Path) -> None:
    summary = {
        "scenario": "a",
        "shape": "ros",
        "seed": 1,
        "steps": 1,
        "sim_time_s": 1e308,
        "wall_time_s": 1e308,
        "rtf": 1.0,
        "trace_sha256": "0" * 64,
        "repeatable": True,
        "causality": {"timing": 0, "order": 0, "loss": 0},
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(ConfigurationError, match=r"wall_time_s: found 1e\+308; allowed is"):
        read_summary(tmp_path)
