# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Services and calls of a scenario, as the ports that they stand for.

A call is nothing but two connections: the requests go from a sparse output of the caller to a
handled input of the participant that answers, the answers the other way. So the kernel has no
rule of its own for them: stamps, order, lookahead and the refusal of loops are those of messages.

``calls: {route: {service: map.find}}`` of participant ``car`` becomes

- the output ``route`` and the handled input ``route`` of ``car``;
- the handled input and the output ``find/car/route`` of ``map``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import did_you_mean


class ServiceSettings(Section):
    """One service that a participant answers: its message types, and how long an answer takes."""

    request: str = Field(description="message type")
    answer: str = Field(description="message type")
    latency: Any = Field(
        default=0,
        description="from the stamp of the request to that of the answer, as of an output",
    )


class CallSettings(Section):
    """A service that a participant calls, and how long a request is on its way."""

    service: str = Field(pattern=r"^[^.]+\.[^.]+$", description="`participant.service`")
    latency: Any = Field(
        default=0,
        description="from the activation to the stamp of the request, as of an output",
    )


class Caller(Protocol):
    """What is needed of the settings of a participant."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    services: dict[str, ServiceSettings]
    calls: dict[str, CallSettings]


class AddedPort(NamedTuple):
    """One port, input and output, that a call gives a participant."""

    participant: str
    port: str
    input: dict[str, Any]
    output: dict[str, Any]


def ports_of_calls(participants: Mapping[str, Caller]) -> Iterator[AddedPort]:
    """The ports of all calls, two for each, in the order of the scenario.

    :raises ConfigurationError: a call names no service, or a port has its name already
    """
    for name, participant in participants.items():
        for call, settings in participant.calls.items():
            place = f"participants.{name}.calls.{call}"
            if call in participant.inputs or call in participant.outputs:
                raise ConfigurationError(
                    f"{place}: found a port of the same name; allowed is any other name, for a "
                    "call is a port, too"
                )
            server, _, service = settings.service.partition(".")
            offered = _service(participants, server, service, f"{place}.service")
            port = f"{service}/{name}/{call}"
            topic = f"/{name}/{call}"
            yield AddedPort(
                name,
                call,
                {"from": [f"{server}.{port}"], "handled": True, "call": call},
                {
                    "type": offered.request,
                    "topic": f"{topic}/request",
                    "latency": settings.latency,
                    "schedule": "sparse",
                    "call": call,
                },
            )
            yield AddedPort(
                server,
                port,
                {"from": [f"{name}.{call}"], "handled": True, "service": service},
                {
                    "type": offered.answer,
                    "topic": f"{topic}/answer",
                    "latency": offered.latency,
                    "schedule": "sparse",
                    "service": service,
                },
            )


def _service(
    participants: Mapping[str, Caller], server: str, service: str, place: str
) -> ServiceSettings:
    known = {
        f"{name}.{offered}": settings
        for name, participant in participants.items()
        for offered, settings in participant.services.items()
    }
    name = f"{server}.{service}"
    found = known.get(name)
    if found is None:
        raise ConfigurationError(
            f"{place}: found '{name}'; {did_you_mean(name, known)}services are "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    return found
