# SPDX-License-Identifier: Apache-2.0
"""The V2V channel: what a beacon says, what is lost, independence of the links."""

from collections.abc import Iterable
from typing import Any

import pytest

from ros2_cosim.interfaces.records import Acceleration, ControlCommand, Odometry, V2VMessage
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import Sample, Step
from ros2_cosim.kernel.random_streams import RandomStream
from ros2_cosim.models.packet_loss import GilbertElliottLoss, make_loss
from ros2_cosim.models.v2v import V2VChannel, link_port
from ros2_cosim.models.vehicle_info import VehicleInfo

VEHICLES = {
    "leader": VehicleInfo(1, 4.5, 1.8),
    "follower1": VehicleInfo(2, 4.7, 1.9),
    "follower2": VehicleInfo(3, 4.9, 2.0),
}
LINKS = [("leader", "follower1"), ("leader", "follower2"), ("follower1", "follower2")]


def channel(
    links: Iterable[tuple[str, str]] = LINKS, seed: int = 1, loss: object = 0.0
) -> V2VChannel:
    return V2VChannel(links=links, vehicles=VEHICLES, run_seed=seed, loss=loss)


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
        RandomStream(1, "t", "burst"), p_gb=p_gb, p_bg=p_bg, loss_good=0.0, loss_bad=1.0
    )
    lost = [loss.next_is_lost() for _ in range(20_000)]
    bursts = sum(1 for before, now in zip([False, *lost], lost, strict=False) if now > before)
    assert sum(lost) / len(lost) == pytest.approx(p_gb / (p_gb + p_bg), rel=0.1)
    assert sum(lost) / bursts == pytest.approx(1 / p_bg, rel=0.1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (1.5, "probability is 1.5"),
        (True, "allowed are a probability"),
        ("10%", "allowed are a probability"),
        ({"bernoulli": "x"}, "bernoulli is 'x'"),
        ({"gilbert_elliott": {"p_gb": 0.1}}, "allowed are a probability"),
        ({"gilbert_elliott": {"p_gb": 0.1, "p_bg": 2}}, "p_bg is 2"),
        ({"gilbert_elliott": {"p_gb": 0.1, "p_bg": 0.2, "loss": 1}}, "allowed are"),
        ({"burst": {}}, "allowed are"),
    ],
)
def test_wrong_losses_are_refused_with_their_place(spec: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=r"v2v: loss.*" + message):
        channel(loss=spec)


def test_losses_in_their_other_forms() -> None:
    stream = RandomStream(1, "t", "s")
    assert not any(make_loss({"bernoulli": 0}, stream).next_is_lost() for _ in range(100))
    bad = make_loss({"gilbert_elliott": {"p_gb": 1, "p_bg": 0}}, stream)
    assert all(bad.next_is_lost() for _ in range(100))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([("leader", "nobody")], "found vehicle 'nobody'; allowed are follower1, follower2"),
        ([["leader", 3]], "found vehicle 3"),
        (["leader"], r"found link 'leader'; allowed is \[sender, receiver\]"),
        ([("leader", "leader")], "to itself"),
        ([LINKS[0], LINKS[0]], "twice"),
    ],
)
def test_wrong_links_are_refused(links: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        channel(links)
