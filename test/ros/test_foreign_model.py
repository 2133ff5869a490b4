# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a foreign node is refused before it is started."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.foreign.foreign_model import ForeignNode


def check(period_ns: int | None = None, *, enters_freely: bool = False, **settings: Any) -> None:
    context = ModelContext(
        "relay", {}, {}, 0, Path(), period_ns=period_ns, enters_freely=enters_freely
    )
    ForeignNode.check_settings(context, ForeignSettings(**settings))


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_two_ports_of_one_topic_are_refused(kind: str) -> None:
    attached: dict[str, Any] = {"attach": True, "node_name": "/cars/mine"}
    check(**attached, **{kind: {"a": "n", "b": "/n"}})
    with pytest.raises(ConfigurationError) as caught:
        check(**attached, **{kind: {"a": "n", "b": "/cars/n"}})
    assert str(caught.value) == (
        f"participants.relay.parameters.{kind}.b: found '/cars/n', the topic of 'a'; "
        "allowed is one port for each topic"
    )


def test_a_program_that_is_not_there_is_refused() -> None:
    check(command=[sys.executable])
    with pytest.raises(ConfigurationError, match=r"command: found 'no-such-program'; allowed is"):
        check(command=["no-such-program"])


def test_a_program_may_be_where_the_environment_of_the_node_says(tmp_path: Path) -> None:
    program = tmp_path / "my-node"
    program.touch()
    program.chmod(0o755)
    check(command=["my-node"], environment={"PATH": str(tmp_path)})
    with pytest.raises(ConfigurationError, match="found 'my-node'"):
        check(command=["my-node"])


def test_its_ports_are_those_that_are_tied_to_topics() -> None:
    settings = ForeignSettings(
        command=["node"],
        inputs={"n": "number"},  # type: ignore[dict-item]
        outputs={"any": {"topic": "a", "expect": "any"}, "one": {"topic": "b", "stamp": "header"}},  # type: ignore[dict-item]
    )
    context = ModelContext("relay", {}, {}, 0, Path())
    ports = ForeignNode.declared_ports(context, settings)
    assert [(port.name, port.description) for port in ports.inputs] == [
        ("n", "given to the node on number")
    ]
    assert [(p.name, p.schedule, p.whole, p.header_stamped) for p in ports.outputs] == [
        ("any", "sparse", True, False),
        ("one", None, True, True),
    ]
    assert ForeignNode.needs_beside(context, settings).alone == "a foreign node"
    traits = ForeignNode.traits
    assert traits.foreign and traits.needs_graph and not ForeignNode.other_ports


def test_timers_of_simulated_time_need_the_time_of_entry() -> None:
    timed: dict[str, Any] = {"use_sim_time": True, "command": [sys.executable]}
    check(10, **timed)
    check(None, enters_freely=True, **timed)
    check(10, enters_freely=True, clock_start="1s", **timed)
    with pytest.raises(ConfigurationError, match=r"participants\.relay\.enter: missing"):
        check(10, enters_freely=True, **timed)


def test_a_component_that_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    component: dict[str, Any] = {"package": "parts", "executable": "parts::Relay"}
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"no component 'parts::Relay' .* it has none: so"):
        check(**component)
    index = tmp_path / "share/ament_index/resource_index/rclcpp_components/parts"
    index.parent.mkdir(parents=True)
    index.write_text("parts::Front;lib/libparts.so\nparts::Back;lib/libparts.so\n")
    with pytest.raises(ConfigurationError) as caught:
        check(**component)
    assert str(caught.value) == (
        "participants.relay.parameters: executable: found no component 'parts::Relay' of package "
        "'parts'; it has parts::Front, parts::Back: source its workspace"
    )
    if find_spec("composition_interfaces") is None:
        with pytest.raises(ConfigurationError, match="needs the package composition_interfaces"):
            check(package="parts", executable="parts::Back")
    for wrong in ("--ros-args", "a:=", "a:=[", "a:={b: 1}x"):
        with pytest.raises(ValueError, match="allowed for a component is NAME:=VALUE, an extra"):
            ForeignSettings(**component, arguments=[wrong])
    with pytest.raises(ValueError, match="allowed are a text, an integer"):
        ForeignSettings(**component, arguments=["a:=[1, x]"])
    extra = ForeignSettings(**component, arguments=["a:=true", "b:=[1, 2]", "c:=x:=y"])
    assert extra.extra_arguments == {"a": True, "b": [1, 2], "c": "x:=y"}
