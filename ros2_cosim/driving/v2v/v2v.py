# SPDX-License-Identifier: Apache-2.0
"""A V2V channel: beacons from vehicle to vehicle, some of them lost.

The latency of a link is declared on its output port and applied by the kernel, so that
receivers know how far they may look ahead; this model decides only what is sent and what
is lost. A lost beacon is silence on the port.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import ACCELERATION, BYTES, CONTROL, ODOMETRY, V2V
from ros2_cosim.core.messages.records import V2VMessage
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.v2v.beacons import Sender
from ros2_cosim.driving.v2v.cam import check_installation, decoded, encoded
from ros2_cosim.driving.v2v.cam_contents import CamPlace, CamWriter, PathHistory
from ros2_cosim.driving.v2v.cam_triggering import T_GEN_CAM_MIN_NS, CamTriggering, dcc_interval
from ros2_cosim.driving.v2v.packet_loss import (
    NO_LOSS,
    BernoulliLoss,
    GilbertElliottLoss,
    Loss,
    PacketLoss,
    make_loss,
)
from ros2_cosim.driving.v2v.radio import Radio, RadioFrame, RadioSettings, SharedChannel, air_time
from ros2_cosim.world.geometry.earth import MapOrigin
from ros2_cosim.world.geometry.scene import scene_vehicles
from ros2_cosim.world.geometry.vehicle_info import VehicleInfo


def link_port(sender: str, receiver: str) -> str:
    """Return the name of the output port of a link."""
    return f"{sender}_to_{receiver}"


class ChannelParameters(Section):
    """Parameters of a V2V channel."""

    links: tuple[Annotated[tuple[str, str], Field(description="[sender, receiver]")], ...] = Field(
        default=(), description="pairs [sender, receiver] of vehicles"
    )
    loss: Loss = Field(
        default=NO_LOSS,
        description="probability [1], {bernoulli: p} or {gilbert_elliott: {p_gb, p_bg, loss_good, "
        "loss_bad}}; each link has its own state",
    )
    contents: Literal["beacon", "cam"] = Field(
        default="beacon",
        description="what a vehicle sends: all that a V2V message has, or a CAM of ETSI EN "
        "302 637-2 in bytes, of which a receiver gets what a CAM can say; needs the extra v2x",
    )
    origin: MapOrigin = Field(
        default=MapOrigin(), description="where the map lies on the earth, with contents cam"
    )
    triggering: Literal["periodic", "cam"] = Field(
        default="periodic",
        description="when a vehicle sends: at each activation, or at those that ETSI EN 302 637-2 "
        "asks for (motion, at most every 0.1 s, at least every second)",
    )
    radio: RadioSettings | None = Field(
        default=None,
        description="range, fading and a channel that all share; default: only loss decides",
    )
    congestion_control: bool = Field(
        default=False,
        strict=True,
        description="whether a busy channel stretches the interval of CAMs (ETSI TS 102 687, "
        "reactive); needs radio and triggering cam",
    )


class V2VChannel(FullModel):
    """All links between vehicles, to be activated at the beacon period.

    Inputs, all latched, for each sender: ``odometry/<sender>``, ``acceleration/<sender>``,
    and ``control/<sender>`` if it is driven by a controller node (delayed, or a loop without
    delay arises). Outputs: ``<sender>_to_<receiver>`` (V2VMessage) for each link; silent while
    the sender's odometry is missing and when the beacon is lost.

    Without a control command the measured acceleration stands for the commanded one.

    With ``radio`` a beacon also has to get through the air: the distance to the receiver decides,
    fading, and what others send at the same time. The odometry of all receivers is needed then.

    With ``contents: cam`` a vehicle sends a CAM: what a receiver gets is what its bytes say, the
    radio's frames have their length, and the outputs ``cam/<sender>``, if the scenario has them,
    are the bytes (UInt8MultiArray).

    With ``triggering: cam`` a vehicle sends, on all its links at once, when its motion asks for it;
    it is activated at least every 100 ms for that.

    :raises ConfigurationError: unknown vehicle, a link twice or to its sender, a period too long
    """

    Parameters = ChannelParameters
    traits: ClassVar[Traits] = Traits(cost_ns=50_000)

    input_ports: ClassVar[tuple[Port, ...]] = (
        Port("odometry/{sender}", ODOMETRY),
        Port("acceleration/{sender}", ACCELERATION),
        Port("control/{sender}", CONTROL, required=False, description="delayed"),
        Port("odometry/{other}", ODOMETRY, required=False, description="with radio: of a receiver"),
        Port("acceleration/{other}", ACCELERATION, required=False, description="not used"),
        Port("control/{other}", CONTROL, required=False, description="not used"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("{link}", V2V, schedule="sparse", description="sender_to_receiver"),
        Port(
            "cam/{encoder}",
            BYTES,
            required=False,
            schedule="sparse",
            description="with contents cam: the bytes of each CAM of a sender",
        ),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: ChannelParameters
    ) -> Mapping[str, Sequence[str]]:
        """Senders of the links, the other vehicles, the links, and senders of encoded CAMs."""
        cls.check_settings(context, parameters)
        senders = tuple(dict.fromkeys(sender for sender, _ in parameters.links))
        others = tuple(name for name in scene_settings(context).vehicles if name not in senders)
        links = tuple(link_port(*link) for link in parameters.links)
        encoders = senders if parameters.contents == "cam" else ()
        return {"sender": senders, "other": others, "link": links, "encoder": encoders}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: ChannelParameters) -> None:
        """Check whether each link is one, between two vehicles of the scene.

        :raises ConfigurationError: one is not
        """
        period = context.period_ns
        if parameters.triggering == "cam" and period is not None and period > T_GEN_CAM_MIN_NS:
            raise ConfigurationError(
                f"{context.where}.triggering: found 'cam' with period {format_ns(period)}; allowed "
                f"are periods up to {format_ns(T_GEN_CAM_MIN_NS)}"
            )
        if parameters.congestion_control and (
            parameters.radio is None or parameters.triggering != "cam"
        ):
            raise ConfigurationError(
                f"{context.where}.congestion_control: found without radio or triggering cam; "
                "allowed is to give both"
            )
        if parameters.radio is not None and period is None:
            raise ConfigurationError(
                f"{context.where}.radio: found without a period of the participant; allowed is one"
            )
        if parameters.contents == "cam":
            check_installation(f"{context.where}.contents: cam")
        scene = scene_settings(context)
        scene_vehicles(context)
        ports: set[str] = set()
        for number, link in enumerate(parameters.links):
            where = f"{context.where}.links.{number}"
            for vehicle in link:
                scene.require_vehicle(vehicle, where)
            sender, receiver = link
            port = link_port(sender, receiver)
            if sender == receiver or port in ports:
                raise ConfigurationError(
                    f"{where}: found link '{sender}' to '{receiver}'"
                    f" {'twice' if port in ports else 'to itself'}; allowed is each pair of two"
                    " vehicles once"
                )
            ports.add(port)
            heard_at = f"odometry/{receiver}"
            if parameters.radio and context.input_types and heard_at not in context.input_types:
                raise ConfigurationError(
                    f"{where}: found no input {heard_at}; allowed is to connect it: the radio "
                    "needs the place of the receiver"
                )

    def __init__(self, context: ModelContext, parameters: ChannelParameters) -> None:
        self.check_settings(context, parameters)
        vehicles = scene_vehicles(context)
        self._senders = {sender: Sender(sender, vehicles[sender]) for sender, _ in parameters.links}
        self._links: list[tuple[str, str, PacketLoss]] = []
        for sender, receiver in parameters.links:
            stream = RandomStream(context.run_seed, context.name, f"loss/{sender}/{receiver}")
            loss = make_loss(parameters.loss, stream)
            self._links.append((sender, link_port(sender, receiver), loss))
        self._triggering: dict[str, CamTriggering] = {}
        if parameters.triggering == "cam":
            self._triggering = {sender: CamTriggering() for sender in self._senders}
        self._congestion_control = parameters.congestion_control
        self._cams: _Cams | None = None
        if parameters.contents == "cam":
            infos = {sender: vehicles[sender] for sender in self._senders}
            self._cams = _Cams(parameters.origin, infos, context.output_types)
        self._vehicles = tuple(vehicles)
        self._air: _Air | None = None
        if parameters.radio is not None:
            self._air = _Air(context, parameters.radio, parameters.links)
        #: Beacons that never arrive, so far, and those that do.
        self.lost: int = 0
        self.received: int = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send one beacon on each link whose sender is due."""
        time, latest = step.time, step.latest
        messages: dict[str, V2VMessage] = {}
        for name, vehicle in self._senders.items():
            if not self._triggering or self._is_due(step, name, vehicle):
                beacon = vehicle.beacon(time, latest)
                if beacon is not None:
                    messages[name] = beacon
        outputs: dict[str, Any] = {}
        sizes: Mapping[str, int | None] = dict.fromkeys(messages)
        if self._cams is not None:
            messages, sizes = self._cams.encode(step, messages, outputs)
        if self._air is not None:
            self._air.begin(step, self._vehicles, sizes)
        for index, (sender, port, loss) in enumerate(self._links):
            message = messages.get(sender)
            if message is None:
                continue
            lost = loss.next_is_lost()
            if self._air is not None and not self._air.carries(index):
                lost = True
            if lost:
                self.lost += 1
            else:
                self.received += 1
                outputs[port] = message
        return outputs

    def report(self) -> Report:
        """With a radio or CAMs: beacons that arrived and that did not; how busy, and how long."""
        figures: dict[str, Any] = {}
        if self._air is not None or self._cams is not None:
            figures = {"received": self.received, "lost": self.lost}
        if self._air is not None:
            figures["busy_ratio"] = self._air.mean_busy
        if self._cams is not None:
            figures |= {"cams": self._cams.count, "cam_bytes": self._cams.mean_bytes}
        return Report(figures=figures)

    def save_state(self) -> Any:
        """Beacons that were lost, and the state of each link."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def _is_due(self, step: Step, name: str, sender: Sender) -> bool:
        """Whether the motion of a vehicle asks for a beacon."""
        triggering = self._triggering.get(name)
        odometry = step.latest[sender.odometry]
        if triggering is None or odometry is None:
            return True
        least = T_GEN_CAM_MIN_NS
        if self._congestion_control and self._air is not None:
            least = dcc_interval(self._air.channel.busy[name])
        return triggering.is_due(step.time, odometry.value, least)


class _Cams:
    """What vehicles say in encoded CAMs."""

    def __init__(
        self, origin: MapOrigin, senders: Mapping[str, VehicleInfo], ports: Container[str]
    ) -> None:
        self._writers = {sender: CamWriter(info, origin) for sender, info in senders.items()}
        self._place = CamPlace(origin)
        self._ports = {s: f"cam/{s}" for s in senders if f"cam/{s}" in ports}
        #: CAMs so far, and their bytes.
        self.count = self._bytes = 0

    @property
    def mean_bytes(self) -> float:
        """Length of a CAM, the mean of all [byte]."""
        return self._bytes / self.count if self.count else 0.0

    def encode(
        self, step: Step, beacons: Mapping[str, V2VMessage], outputs: dict[str, Any]
    ) -> tuple[dict[str, V2VMessage], dict[str, int | None]]:
        """What receivers get instead of the beacons, and the bytes of each CAM.

        :param outputs: of the channel; the bytes that the scenario asks for are added
        """
        found: dict[str, V2VMessage] = {}
        sizes: dict[str, int | None] = {}
        for sender, beacon in beacons.items():
            odometry = step.latest[f"odometry/{sender}"]
            assert odometry is not None
            cam = self._writers[sender].cam(
                step.time, odometry.value, beacon.acceleration, beacon.braking
            )
            data = encoded(cam)
            said = decoded(data)
            message = None if said is None else self._place.beacon(said, step.time)
            assert message is not None  # a CamWriter gives place, heading and speed
            found[sender] = message
            sizes[sender] = len(data)
            self.count += 1
            self._bytes += len(data)
            port = self._ports.get(sender)
            if port is not None:
                outputs[port] = DEFAULT.record(BYTES)(data=data)
        return found, sizes


class _Air:
    """The radio channel below the links."""

    def __init__(
        self, context: ModelContext, radio: RadioSettings, links: Sequence[tuple[str, str]]
    ) -> None:
        assert context.period_ns is not None
        self._links = tuple(links)
        senders = tuple(dict.fromkeys(sender for sender, _ in links))
        stream = partial(RandomStream, context.run_seed, context.name)
        self.channel = SharedChannel(radio, senders, context.period_ns, stream)
        self._usual_bytes = radio.frame_bytes
        self._overhead = radio.cam_overhead
        self._draws = [stream(f"radio/{sender}/{receiver}") for sender, receiver in links]
        self._busy_sum = 0.0
        self._periods = 0

    def begin(self, step: Step, vehicles: Sequence[str], sizes: Mapping[str, int | None]) -> None:
        """Let all that have a beacon send it.

        :param sizes: sender -> bytes of its CAM, None: it is a beacon of the usual size
        """
        places = {}
        for name in vehicles:
            sample = step.latest.get(f"odometry/{name}")
            if sample is not None:
                places[name] = (sample.value.x, sample.value.y)
        lengths = {
            sender: air_time(self._usual_bytes if size is None else size + self._overhead)
            for sender, size in sizes.items()
        }
        self.channel.begin(places, lengths)
        busy = self.channel.busy.values()
        self._busy_sum += total(busy) / len(busy) if busy else 0.0
        self._periods += 1

    def carries(self, index: int) -> bool:
        """Whether a beacon of this period gets through to the receiver of a link."""
        return self._draws[index].bernoulli(self.channel.reception(*self._links[index]))

    @property
    def mean_busy(self) -> float:
        """Channel busy ratio, the mean of all vehicles that send and of all periods [1]."""
        return self._busy_sum / self._periods if self._periods else 0.0


_STATE = SavedAttributes(
    parts=(BernoulliLoss, GilbertElliottLoss, CamTriggering, SharedChannel, _Air, _Cams)
    + (CamWriter, PathHistory),
    values=(RadioFrame,),
    constants=(Radio, Section, Sender, VehicleInfo, CamPlace),
)
