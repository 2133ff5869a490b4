# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a participant that is an unmodified ROS node (model ``foreign_node``)."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BeforeValidator, Field, field_validator, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Duration, Number, Section, Whole

#: What travels between a caller and a service or an action of foreign nodes.
BUNDLE_TYPE: Final = "std_msgs/msg/UInt8MultiArray"


def _topic(value: object) -> object:
    """A text stands for a mapping with that topic."""
    return {"topic": value} if isinstance(value, str) else value


class ForeignInput(Section):
    """How an input port reaches the node."""

    topic: str = Field(description="topic that the node reads")
    best_effort: bool = Field(
        default=False, description="whether its subscription may be one that is not reliable"
    )


def full_topic(topic: str, node_name: str) -> str:
    """The full name of a topic, as ROS makes it of the name in a node's source.

    :param topic: ``scan``, ``/scan`` or ``~/scan``
    :param node_name: full name of the node
    """
    if topic.startswith("/"):
        return topic
    if topic == "~" or topic.startswith("~/"):
        return node_name + topic[1:]
    return f"{node_name.rpartition('/')[0]}/{topic}"


def flat_parameters(given: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """ROS parameters by their full names: ``{gain: {p: 1.0}}`` is ``gain.p``, as in launch files.

    :raises ValueError: a ROS parameter cannot have this value
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            found |= flat_parameters(value, f"{before}{name}.")
            continue
        parts = value if isinstance(value, (list, tuple)) else [value]
        kinds = {type(part) for part in parts}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            raise ValueError(
                f"{before}{name}: found {value!r}; allowed are a text, an integer, a number with a "
                "point, true and false, and lists of one of these kinds"
            )
        found[f"{before}{name}"] = value
    return found


class HeaderDelay:
    """The delay of a message that its own header states; set before each message is sent."""

    def __init__(self) -> None:
        self.delay_ns = 0

    def __call__(self) -> int:
        """The delay [ns] between activation and stamp of the message that is being sent."""
        return self.delay_ns


class ForeignOutput(Section):
    """What is expected on one of the node's topics in each activation."""

    topic: str = Field(description="topic that the node publishes")
    expect: Literal["any"] | Whole = Field(
        default=1, description="messages in each activation; any: as many as the node likes"
    )
    take: Literal["only", "last"] = Field(
        default="only", description="which one is sent on; of several the last one"
    )
    stamp: Literal["activation", "header"] = Field(
        default="activation",
        description="activation time + latency, or the node's own stamp",
    )
    window: Duration = Field(
        default=0, description="how far the node's own stamp may be above activation time + latency"
    )
    best_effort: bool = Field(
        default=False, description="whether its publisher may be one that is not reliable"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.expect != "any" and self.expect < 1:
            raise ValueError("expect must be at least 1, or any")
        if self.expect != "any" and self.expect > 1 and self.take == "only":
            raise ValueError("a port sends one message in an activation: add take: last")
        if self.window and self.stamp != "header":
            raise ValueError("window goes with stamp: header")
        return self


class ForeignService(Section):
    """A service or an action of the node, whose requests and answers are messages of the run."""

    service: str | None = Field(None, description="name of a service")
    action: str | None = Field(None, description="name of an action, instead")
    type: str = Field(
        pattern=r"^\w+/(srv|action)/\w+$", description="as `example_interfaces/srv/AddTwoInts`"
    )

    @property
    def called(self) -> str:
        """The name in the source of the node."""
        return self.service or self.action or ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.service is None) == (self.action is None):
            raise ValueError("allowed is either service or action")
        if ("/action/" in self.type) == (self.action is None):
            raise ValueError(f"found the type {self.type}; allowed is one of its kind")
        return self


class ForeignSettings(Section):
    """Parameters of a participant that is an unmodified ROS node."""

    command: tuple[str, ...] | None = Field(None, description="program and arguments")
    script: str | None = Field(None, description="Python file, relative to the scenario")
    module: str | None = Field(None, description="Python module, as python -m")
    package: str | None = Field(None, description="ROS package of the executable")
    executable: str | None = Field(
        None,
        description="ROS executable of a sourced workspace, or the class of a component "
        "(`my_package::Relay`)",
    )
    attach: bool | Annotated[str, Field(pattern=r"^(/[A-Za-z_]\w*)+$")] = Field(
        False,
        description="whether the node is started elsewhere, which needs node_name; or the "
        "container that runs elsewhere and takes the component (`/container`)",
    )
    arguments: tuple[str, ...] = Field(
        (),
        description="plain arguments, before the ROS arguments; of a component its extra arguments "
        "(`use_intra_process_comms:=true`)",
    )
    environment: dict[str, str | None] = Field(
        default_factory=dict, description="variables to set; null removes one"
    )
    node_name: str | None = Field(None, description="name of the node; default: PARTICIPANT_node")
    ros_parameters: dict[str, Any] = Field(
        default_factory=dict,
        description="the node's ROS parameters; mappings are names with dots in between",
    )
    remap: dict[str, str] = Field(default_factory=dict, description="further remappings")
    inputs: dict[str, Annotated[ForeignInput, BeforeValidator(_topic)]] = Field(
        default_factory=dict, description="port: topic, or {topic, best_effort}"
    )
    outputs: dict[str, Annotated[ForeignOutput, BeforeValidator(_topic)]] = Field(
        default_factory=dict,
        description="port: topic, or {topic, expect, take, stamp, window, best_effort}",
    )
    calls: dict[str, ForeignService] = Field(
        default_factory=dict,
        description="port, an input and an output: service or action that the node calls",
    )
    offers: dict[str, ForeignService] = Field(
        default_factory=dict,
        description="port, an input and an output: service or action of the node",
    )
    ordered: bool = Field(
        True,
        description="whether samples are handed over one at a time, in order of stamp, "
        "channel and number",
    )
    barrier: Literal["lead", "parameters", "none"] = Field(
        "lead",
        description="how it is known that a callback has returned: the node is led (if that is "
        "not possible: parameters), its parameter service answers, or not at all",
    )
    lifecycle: Literal["manage", "own"] = Field(
        "manage",
        description="a lifecycle node: whether it is configured and activated here, or by itself "
        "or another program",
    )
    threads: Literal["watch", "accept"] = Field(
        "watch",
        description="whether a node that runs callbacks in several threads makes the run not "
        "repeatable, or its threads change no result",
    )
    acknowledge: bool = Field(False, description="whether the middleware must confirm each sample")
    use_sim_time: bool = Field(
        False, description="whether the node runs on a clock that is set to the activation time"
    )
    clock_start: Duration | None = Field(
        None,
        description="what the node's clock shows before the first activation; default: a "
        "period before it",
    )
    allow_topics: tuple[str, ...] = Field(
        (),
        description="topics that the node may read beside its inputs; an input of it that is named "
        "here, too, may be read later than from the start on",
    )
    allow_services: tuple[str, ...] = Field(
        (),
        description="services and actions of other nodes whose answers to the node change no "
        "result",
    )
    allow_reads: tuple[Literal["machine", "random_numbers", "wall_clock"], ...] = Field(
        (),
        description="what the node may read because it changes no result: state of the machine, "
        "random numbers of the operating system, wall clock",
    )
    patience_s: Number | None = Field(
        default=None,
        gt=0,
        description="silence of the node in an activation that ends the run, wall time; "
        "default: 2/3 of watchdog_s [s]",
    )

    @field_validator("ros_parameters")
    @classmethod
    def _full_names(cls, given: dict[str, Any]) -> dict[str, Any]:
        return flat_parameters(given)

    @model_validator(mode="after")
    def _check(self) -> Self:
        ways = {
            "command": self.command is not None,
            "script": self.script is not None,
            "module": self.module is not None,
            "package and executable": self.package is not None or self.executable is not None,
            "attach": self.attach is True,
        }
        if isinstance(self.attach, str) and not self.is_component:
            raise ValueError(
                f"attach: found '{self.attach}'; a container goes with the package and executable "
                "of a component"
            )
        chosen = [name for name, given in ways.items() if given]
        if len(chosen) != 1:
            found = ", ".join(chosen) or "none"
            raise ValueError(f"found {found}; allowed is one of {', '.join(ways)}")
        if (self.package is None) != (self.executable is None):
            raise ValueError("package and executable go together")
        if self.is_component:
            flat_parameters(self.extra_arguments)
        if self.command is not None and not self.command:
            raise ValueError("command is empty")
        if self.attach is True and self.node_name is None and self.barrier != "none":
            raise ValueError("attach needs the node_name of the running node")
        if self.clock_start is not None and not self.use_sim_time:
            raise ValueError("clock_start goes with use_sim_time")
        if self.exchanged and self.barrier == "none":
            raise ValueError("calls and offers need a barrier")
        if self.barrier == "none":
            if self.ordered and len(self.inputs) > 1:
                raise ValueError(
                    "without a barrier it is not known when a callback has run: several "
                    "inputs cannot be handed over in order"
                )
            if any(output.expect == "any" for output in self.outputs.values()):
                raise ValueError("expect: any needs a barrier to know that nothing more comes")
        return self

    @property
    def is_component(self) -> bool:
        """Whether it is loaded into a container."""
        return "::" in (self.executable or "")

    @property
    def exchanged(self) -> dict[str, ForeignService]:
        """Port -> service or action, of both directions."""
        return {**self.calls, **self.offers}

    @property
    def extra_arguments(self) -> dict[str, Any]:
        """What the container of a component gets beside its parameters.

        :raises ValueError: an argument has another form
        """
        found = {}
        for given in self.arguments:
            name, _, value = given.partition(":=")
            with suppress(yaml.YAMLError):
                found[name] = yaml.safe_load(value)
            if not value or name not in found:
                raise ValueError(
                    f"arguments: found {given!r}; allowed for a component is NAME:=VALUE, an extra "
                    "argument"
                )
        return found

    def full_name(self, participant: str) -> str:
        """The full name of the node in a run without a namespace."""
        base = self.node_name or f"{participant}_node"
        return base if base.startswith("/") else f"/{base}"

    def remappings(
        self, input_topic: Callable[[str], str], output_topic: Callable[[str], str]
    ) -> dict[str, str]:
        """The node's topics -> those that stand for them.

        :param input_topic: gives the one of an input port
        :param output_topic: gives the one of an output port
        """
        read = {tied.topic: input_topic(port) for port, tied in self.inputs.items()}
        return read | {tied.topic: output_topic(port) for port, tied in self.outputs.items()}

    def read_and_written(self, node_name: str) -> dict[str, str]:
        """Output port -> input port that is tied to the same topic, as of ``/tf``.

        :param node_name: full name of the node
        """
        read = {full_topic(tied.topic, node_name): port for port, tied in self.inputs.items()}
        written = {port: full_topic(tied.topic, node_name) for port, tied in self.outputs.items()}
        return {port: read[topic] for port, topic in written.items() if topic in read}
