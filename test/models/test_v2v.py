# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The V2V channel: what a beacon says, what is lost, independence of the links."""

from collections.abc import Iterable
from typing import Any

import pytest
from support.models import made, scene_of

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Acceleration, ControlCommand, Odometry, V2VMessage
from ros2_cosim.driving.v2v.packet_loss import (
    GilbertElliottLoss,
    GilbertElliottParameters,
    make_loss,
)
from ros2_cosim.driving.v2v.v2v import V2VChannel, link_port
from ros2_cosim.world.map.vehicle_info import VehicleInfo

VEHICLES = {
    "leader": VehicleInfo(1, 4.5, 1.8),
    "follower1": VehicleInfo(2, 4.7, 1.9),
    "follower2": VehicleInfo(3, 4.9, 2.0),
}
LINKS = [("leader", "follower1"), ("leader", "follower2"), ("follower1", "follower2")]


def channel(
    links: Iterable[tuple[str, str]] = LINKS, seed: int = 1, loss: object = 0.0
) -> V2VChannel:
    parameters = {"links": list(links), "loss": loss}
    context = {"scene": scene_of(VEHICLES), "run_seed": seed}
    return made(V2VChannel, parameters, name="v2v", context=context)


def step(time: int = 50_000_000, **changes: Any) -> Step:
    odometry = Odometry(10.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    values = {
        "odometry/leader": odometry,
        "acceleration/leader": Acceleration(-1.0, 0.0, 0.0),
        "odometry/follower1": odometry._replace(x=-10.0),
        "acceleration/follower1": Acceleration(-0.5, 0.0, 0.0),
        "control/follower1": ControlCommand(-0.9, 0.0, 0.2, 0.0),
        **changes,
    }
    return Step(
        time, {}, {port: None if v is None else Sample(0, 0, v) for port, v in values.items()}
    )


def test_a_beacon_carries_the_senders_state_and_intent() -> None:
    outputs = channel().activate(step())
    assert set(outputs) == {link_port(*link) for link in LINKS}
    # The leader has no controller node: its measured acceleration stands for the demand.
    assert outputs["leader_to_follower1"] == V2VMessage(
        1, 50_000_000, 10.0, 2.0, 20.0, -1.0, -1.0, 4.5, True
    )
    assert outputs["leader_to_follower2"] == outputs["leader_to_follower1"]
    assert outputs["follower1_to_follower2"] == V2VMessage(
        2, 50_000_000, -10.0, 2.0, 20.0, -0.5, -0.9, 4.7, True
    )


def test_before_the_first_odometry_a_link_is_silent() -> None:
    silent: dict[str, Any] = {"odometry/leader": None, "control/follower1": None}
    quiet = step(**silent)
    outputs = channel().activate(quiet)
    assert set(outputs) == {"follower1_to_follower2"}
    assert outputs["follower1_to_follower2"].commanded_acceleration == -0.5
    assert not outputs["follower1_to_follower2"].braking


def pattern(model: V2VChannel, port: str, count: int = 400) -> list[bool]:
    return [port in model.activate(step()) for _ in range(count)]


def test_losses_differ_per_link_and_seed_but_not_with_other_links() -> None:
    port = "leader_to_follower2"
    alone = pattern(channel([LINKS[1]], loss=0.3), port)
    model = channel(loss=0.3)
    assert pattern(model, port) == alone
    assert pattern(channel(loss=0.3), "leader_to_follower1") != alone
    assert pattern(channel([LINKS[1]], seed=2, loss=0.3), port) != alone
    assert 240 < sum(alone) < 320
    assert 240 < model.lost < 480


def test_bursts_have_the_predicted_rate_and_length() -> None:
    p_gb, p_bg = 0.05, 0.25
    loss = GilbertElliottLoss(
        RandomStream(1, "t", "burst"), GilbertElliottParameters(p_gb=p_gb, p_bg=p_bg)
    )
    lost = [loss.next_is_lost() for _ in range(20_000)]
    bursts = sum(1 for before, now in zip([False, *lost], lost, strict=False) if now > before)
    assert sum(lost) / len(lost) == pytest.approx(p_gb / (p_gb + p_bg), rel=0.1)
    assert sum(lost) / bursts == pytest.approx(1 / p_bg, rel=0.1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (1.5, "found 1.5; allowed is a number of at most 1"),
        (True, "found true; allowed is a number"),
        ("10%", "allowed is a number"),
        ({"p_gb": 0.1}, "p_bg: missing"),
        ({"p_gb": 0.1, "p_bg": 2}, "p_bg: found 2"),
        (
            {"p_gb": 0.1, "p_bg": 0.2, "loss": 1},
            "loss: unknown key",
        ),
        ({"burst": {}}, "burst: unknown key"),
    ],
)
def test_wrong_losses_are_refused_with_their_place(spec: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=r"v2v\.parameters\.loss.*" + message):
        channel(loss=spec)


def test_losses_in_their_other_forms() -> None:
    stream = RandomStream(1, "t", "s")
    assert not any(make_loss(0.0, stream).next_is_lost() for _ in range(100))
    bad = make_loss(GilbertElliottParameters(p_gb=1.0, p_bg=0.0), stream)
    assert all(bad.next_is_lost() for _ in range(100))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([("leader", "stranger")], "found vehicle 'stranger'; allowed are follower1, follower2"),
        ([["leader", 3]], "links.0.1: found 3"),
        (["leader"], "links.0: found 'leader'; allowed is a list"),
        ([("leader", "leader")], "to itself"),
        ([LINKS[0], LINKS[0]], "twice"),
    ],
)
def test_wrong_links_are_refused(links: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        channel(links)
