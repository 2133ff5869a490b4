# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a participant computes: the interface of all models.

A model depends on neither clock nor transport. It is a class derived from :class:`Model`, with a
method ``activate``. The class declares what a scenario needs before it makes a model: parameters,
ports, traits and needs. A model that takes part in more than activations (states of the run, single
messages, services, checkpoints, the summary) is a :class:`FullModel`. No method is found by its
name alone.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Literal, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import check_names, public_names
from ros2_cosim.core.kernel.listening import Listening
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step


class Repeatability(Enum):
    """How far two runs of a model agree to the bit.

    ``EVERYWHERE``: on any machine. ``SAME_MACHINE``: it uses foreign numerics (an FMU, a solver)
    that may differ from machine to machine. ``NO``: it depends on more than its inputs.
    """

    EVERYWHERE = "everywhere"
    SAME_MACHINE = "same_machine"
    NO = "no"

    @classmethod
    def weakest(cls, parts: Iterable["Repeatability"]) -> "Repeatability":
        """How far two runs of a whole with these parts agree."""
        found = set(parts)
        return next((scope for scope in reversed(cls) if scope in found), cls.EVERYWHERE)


class BeginsAnew(Enum):
    """How a model takes part in another run of the same process.

    ``MADE_AGAIN``: a new one is made. ``RESET``: it is kept, and its method ``reset`` called.
    ``CANNOT``: it holds something open, and has no ``reset``.
    """

    MADE_AGAIN = "made again"
    RESET = "reset"
    CANNOT = "cannot"


Schedule = Literal["every", "sparse", "once"]


@dataclass(frozen=True)
class Port:
    """One declared port of a model.

    ``type`` is the message type (``package/msg/Name``), None if any will do. A ``required``
    input must be in the scenario (and a required output, which the model always sends).
    ``schedule`` says when an output sends; a scenario may declare that or ``sparse``, and
    anything if it is None.
    ``open`` says whether something may sit between the port and its peer, as the injection of
    faults does. An output that passes on ``whole`` messages, with the header that another program
    has written, may be ``header_stamped``: its latency then follows from that header.
    ``frame_id`` is that of an output's messages where the scenario names none; empty: ``map``.
    """

    name: str
    type: str | None = None
    required: bool = True
    description: str = ""
    schedule: Schedule | None = "every"
    open: bool = True
    whole: bool = False
    header_stamped: bool = False
    frame_id: str = ""


@dataclass(frozen=True)
class Service:
    """One declared service of a model: requests that it answers, each at its stamp.

    ``request`` and ``answer`` are message types (``package/msg/Name``).
    """

    name: str
    request: str
    answer: str
    description: str = ""


@dataclass(frozen=True)
class Ports:
    """All ports of a model, as its parameters and the scene make them.

    With ``others`` a scenario may have further ports of any type: the model decides about them
    when it is made.
    """

    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    others: bool = False


_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def expanded(port: Port, names: Mapping[str, Sequence[str]]) -> list[Port]:
    """The ports that a pattern stands for: one for each name of its placeholder."""
    found = _PLACEHOLDER.search(port.name)
    if found is None:
        return [port]
    return [replace(port, name=port.name.replace(found[0], name)) for name in names[found[1]]]


@dataclass(frozen=True)
class Traits:
    """Traits of every participant of a model, for any parameters.

    :param repeatable: how far two runs agree
    :param shapes: the run shapes that it can take part in
    :param foreign: it stands for a program that does not use this project
    :param needs_graph: it stands between its ports and something else, and looks at the graph
    :param law: its parameter that names a control law, which ``controllers`` replaces; the
        parameter of that name with ``_parameters`` holds the law's own
    :param cost_ns: typical wall time of one activation [ns], for plans; None: not known. A model
        that declares it computes and returns, without waiting for other participants: it may share
        a thread with them
    :param changeable: its parameters that ``change_parameters`` takes during a run
    :param exact_records: each part of its records is of the type of its field, as decoded (float,
        int, bool, str, tuple; no number of numpy): readers in its process then get the record
        itself. Of any other model they get what a reader in another process gets
    """

    repeatable: Repeatability = Repeatability.EVERYWHERE
    shapes: tuple[str, ...] = ("ros", "composed", "inproc")
    foreign: bool = False
    needs_graph: bool = False
    law: str | None = None
    cost_ns: int | None = None
    changeable: tuple[str, ...] = ()
    exact_records: bool = False


@dataclass(frozen=True)
class Companion:
    """A process that runs beside a participant's own.

    ``node`` names an executable of this project, which gets the name of the participant.
    ``command`` is any other program; the run fills in ``{host}`` and ``{port}`` in its words.
    ``address`` is the place, within the participant's parameters, of the mapping whose ``host`` and
    ``port`` it listens at: a free port is found before anything is started. A command that
    ``inherits`` takes the open sockets over, as executables of this project do; any other program
    gets only the number.
    """

    name: str
    node: str = ""
    command: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    inherits: bool = False


@dataclass(frozen=True)
class Needs:
    """What a participant needs beside it.

    :param companions: processes that are started with it
    :param simulator: whether it needs the scenario's simulator
    :param alone: why it cannot share a process with other participants; empty if it can
    """

    companions: tuple[Companion, ...] = ()
    simulator: bool = False
    alone: str = ""


class Sector(NamedTuple):
    """A field of view, for drawing: the vehicle that has it, angle [rad], range [m]."""

    vehicle: str
    angle: float
    range: float


class Report(NamedTuple):
    """What a model reports about a run that is over; None where it has no report.

    ``figures`` go to the summary, ``verdicts`` are its oracles, ``realtime`` reports deadlines and
    estimates, ``not_repeatable`` since when [ns] and why another run may differ. ``changes`` are
    those from outside that it has seen, each with ``time_s``, ``set``, ``to`` and ``by`` as in the
    summary. ``transport_ns`` is the wall time of activations that was spent on another process.
    """

    figures: Mapping[str, Any] | None = None
    verdicts: Sequence[Any] | None = None
    realtime: Mapping[str, Any] | None = None
    not_repeatable: tuple[int, str] | None = None
    changes: Sequence[Mapping[str, Any]] | None = None
    transport_ns: int = 0


#: The names that the interface of a model declares; known when the classes below are made.
DECLARED: frozenset[str] = frozenset()


class Model(ABC):
    """The model of a participant: ``activate`` is the only method that it must have. The class
    methods are called before a model is made, and have no side effects.

    A model ends the run by setting ``stop_reason`` to a text during an activation: the run then
    ends a fixed, declared latency later. A model with a ``dynamic_step`` sets ``next_time`` (None:
    a period later) to the time [ns] of its next periodic activation.
    """

    #: Class of the parameters, which the scenario room validates; None: the mapping as it is.
    Parameters: ClassVar[Any] = None
    #: The ports. A name may have a placeholder, as ``odometry/{vehicle}``: there is then one
    #: port for each of the names that ``port_names`` gives for it.
    input_ports: ClassVar[tuple[Port, ...]] = ()
    output_ports: ClassVar[tuple[Port, ...]] = ()
    #: Whether a scenario may have further ports, of any type: the model decides about them when
    #: it is made.
    other_ports: ClassVar[bool] = True
    #: The services that it answers, by :meth:`FullModel.answer_service`.
    offered_services: ClassVar[tuple[Service, ...]] = ()
    traits: ClassVar[Traits] = Traits()
    stop_reason: str | None = None
    next_time: int | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        check_names(cls.__name__, public_names(cls), DECLARED)
        for name in public_names(cls):
            if name in DECLARED and not (hasattr(Model, name) or issubclass(cls, FullModel)):
                raise ConfigurationError(
                    f"{cls.__name__}: found '{name}', which nothing calls of a Model; allowed is "
                    "it in a class derived from FullModel"
                )

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        """Make the model of one participant.

        :param context: what is known about it
        :param parameters: an instance of ``Parameters``
        """

    @classmethod
    def port_names(cls, context: ModelContext, parameters: Any) -> Mapping[str, Sequence[str]]:
        """Placeholder in the names of ports -> what stands for it, in order."""
        return {}

    @classmethod
    def declared_ports(cls, context: ModelContext, parameters: Any) -> Ports:
        """The ports that a participant of this model has, placeholders filled in."""
        names = cls.port_names(context, parameters)
        return Ports(
            tuple(port for pattern in cls.input_ports for port in expanded(pattern, names)),
            tuple(port for pattern in cls.output_ports for port in expanded(pattern, names)),
            cls.other_ports,
        )

    @classmethod
    def needs_beside(cls, context: ModelContext, parameters: Any) -> Needs:
        """What a participant of this model needs beside it."""
        return Needs()

    @classmethod
    def listens_at(cls, context: ModelContext, parameters: Any) -> tuple[Listening, ...]:
        """Where the process of a participant of this model listens, for ``cosim plan``."""
        return ()

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: Any) -> None:
        """Find what neither parameters nor ports say, without making a model.

        :raises ConfigurationError: something is wrong; the message names its place
        """

    @classmethod
    def declared_repeatability(cls, context: ModelContext, parameters: Any) -> Repeatability:
        """How far two runs of a participant agree; by default as the traits say."""
        return cls.traits.repeatable

    @classmethod
    def drawn_sectors(cls, context: ModelContext, parameters: Any) -> tuple[Sector, ...]:
        """Fields of view to be drawn."""
        return ()

    @abstractmethod
    def activate(self, step: Step) -> Mapping[str, Any]:
        """Compute one activation.

        :param step: activation time and inputs
        :returns: output port name -> record; a port left out (or None) stays silent
        """


class FullModel(Model):
    """A model that takes part in more than activations; everything has a default.

    The run calls the methods in this order.
    """

    def attach(self, host: Host) -> None:
        """Receive the process; called once, before all other methods."""

    def on_communication_ready(self) -> None:
        """Called when all participants can be reached; returns when the model is ready."""

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """The same, but the model is ready when any thread calls ``complete()``."""
        self.on_communication_ready()
        complete()

    def on_starting(self) -> None:
        """Called before the transition to RUNNING."""

    def on_stop(self) -> None:
        """Collect results; no activation follows."""

    def finish(self) -> None:
        """End what runs beside the model, after the last activation and ``on_stop``."""

    def report(self) -> Report:
        """The model's part of the summary; called after ``finish``, without side effects."""
        return Report()

    def on_shutdown(self) -> None:
        """The last call, after an orderly end or an error."""

    def on_abort(self, before: Any) -> None:
        """Called when the run was aborted; ``before`` is the former state of the participant."""

    def close(self) -> None:
        """Release what the model holds, whatever happened."""

    def reset(self) -> None:
        """Reset the model, for a run that starts again in the same process."""

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Handle one message of a handled input port, in its own activation at its stamp.

        The answers to a call arrive in this way, on the port of the call's name.

        :param step: ``samples[port]`` has the message alone, ``latest`` all inputs at that time
        :returns: sparse output port -> record; a call's name -> request
        :raises ConfigurationError: the model handles no messages
        """
        raise ConfigurationError(
            f"found a message to be handled on port '{port}'; the model has no method "
            "handle_message(port, step)"
        )

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Answer a request to a service, at its stamp; exactly once.

        :param name: of the service
        :param step: the time, and all inputs at that time
        :returns: the answer
        :raises ConfigurationError: it offers no such service
        """
        offered = ", ".join(service.name for service in self.offered_services) or "none"
        raise ConfigurationError(f"found a request to service '{name}'; it offers {offered}")

    def save_state(self) -> Any:
        """The state as plain data."""
        return None

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""

    @property
    def unsaved(self) -> str | None:
        """Why a checkpoint cannot hold its state; empty: no ``save_state``; None: it can."""
        return "" if type(self).save_state is FullModel.save_state else None

    def change_parameters(self, parameters: Any) -> None:
        """Use other parameters from the next activation on.

        :param parameters: an instance of ``Parameters``; only those that the traits name as
            ``changeable`` differ from the former ones
        """

    @property
    def begins_anew(self) -> BeginsAnew:
        """How it takes part in another run of the same process."""
        own = type(self)
        if own.reset is not FullModel.reset:
            return BeginsAnew.RESET
        return BeginsAnew.MADE_AGAIN if own.close is FullModel.close else BeginsAnew.CANNOT

    @property
    def ready_handlers(self) -> int:
        """How many of the two communication-ready handlers it defines; one at most is allowed."""
        own = type(self)
        return (own.on_communication_ready is not FullModel.on_communication_ready) + (
            own.on_communication_ready_async is not FullModel.on_communication_ready_async
        )


#: The handlers of the lifecycle.
HANDLERS = (
    "on_communication_ready",
    "on_communication_ready_async",
    "on_starting",
    "on_stop",
    "on_shutdown",
    "on_abort",
)
DECLARED |= {name for kind in (Model, FullModel) for name in public_names(kind)}


class Onlooker(FullModel):
    """A model that goes through the lifecycle but is never activated, such as a recorder."""

    def __init__(self) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send nothing."""
        return {}
