# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Publishers whose quality of service users may override, by the parameters that ROS has for it.

They are ``qos_overrides.TOPIC.publisher.POLICY``, with the full name of the topic. A policy that a
run needs to lose no message cannot be overridden: that is an error, not a run with another result.
"""

from __future__ import annotations

from copy import copy
from enum import Enum
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import (
    InvalidQosOverridesError,
    QosCallbackResult,
    QoSOverridingOptions,
    QoSPolicyKind,
)

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import inside

_POLICIES = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)


class Overridable(Enum):
    """What may be overridden of a publisher."""

    #: Anything: only onlookers read it.
    FREELY = "freely"
    #: What gives readers more than the run needs: participants read it by DDS.
    UPWARDS = "upwards"
    #: Nothing: it is part of the coordination protocol.
    NOT = "not"


def make_publisher(
    node: Node,
    kind: Any,
    topic: str,
    qos: QoSProfile | int,
    *,
    overridable: Overridable = Overridable.FREELY,
    event_callbacks: PublisherEventCallbacks | None = None,
) -> Any:
    """Make a publisher of a topic of the run.

    :param kind: the message class
    :param topic: as in a run without a namespace
    :param qos: unless it is overridden; a number is the depth of a reliable one
    :raises ConfigurationError: an override is none, or would break the run
    """
    name = inside(node, topic)
    wanted = QoSProfile(depth=qos) if isinstance(qos, int) else qos
    profile = copy(wanted)

    def check(found: QoSProfile) -> QosCallbackResult:
        reason = _fault(wanted, found, overridable)
        result = QosCallbackResult()
        result.successful, result.reason = not reason, reason
        return result

    place = f"qos_overrides.{name}.publisher"
    try:
        return node.create_publisher(
            kind,
            name,
            profile,
            event_callbacks=event_callbacks,
            qos_overriding_options=QoSOverridingOptions(_POLICIES, callback=check),
        )
    except InvalidQosOverridesError:
        raise ConfigurationError(f"{place}: {_fault(wanted, profile, overridable)}") from None
    except InvalidParameterTypeException as error:
        raise ConfigurationError(f"{place}: {error}") from None
    except RuntimeError as error:
        if "QoS override" not in str(error):
            raise
        # rclpy has no class of its own for a word that is not a policy.
        raise ConfigurationError(
            f"{place}: {error}; allowed are reliable, best_effort; volatile, transient_local; "
            "keep_last, keep_all"
        ) from None


def _fault(wanted: QoSProfile, found: QoSProfile, overridable: Overridable) -> str:
    """Why an override is refused; empty: it is not."""
    if overridable is Overridable.FREELY:
        return ""
    keeps_all = found.history == HistoryPolicy.KEEP_ALL
    deep = keeps_all or found.depth >= wanted.depth
    reliable = found.reliability == ReliabilityPolicy.RELIABLE
    latched = DurabilityPolicy.TRANSIENT_LOCAL
    durable = wanted.durability != latched or found.durability == latched
    said = (
        f"found {found.reliability.name.lower()}, {found.durability.name.lower()}, "
        f"{found.history.name.lower()}, depth {found.depth}; "
    )
    if overridable is Overridable.NOT:
        same = _policies(found) == _policies(wanted)
        return "" if same else f"{said}the protocol of the run cannot be overridden"
    if deep and reliable and durable:
        return ""
    durability = ", transient_local" if wanted.durability == latched else ""
    return (
        f"{said}participants read this topic by DDS; allowed is reliable{durability}, depth "
        f"{wanted.depth} or more"
    )


def _policies(profile: QoSProfile) -> tuple[Any, ...]:
    """What can be overridden."""
    return profile.history, profile.depth, profile.reliability, profile.durability
